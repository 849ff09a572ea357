//! Names of files, functions and words.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::{root, sources};

/// Rooms that do one thing each in their own way, and why: files of one stem may stand in several rooms of a line. A file
/// belongs to the room that names most of its path.
const ALIKE: &[(&[&str], &str)] = &[
    (
        &["machine", "oracle", "oracle/elementary", "oracle/interval", "oracle/pair", "check/forward", "hlo/ops"],
        "each meets every operation: two worlds, the rungs of one, the bounds, and the reader",
    ),
    (&["machine", "machine/mxu", "machine/vector"], "what a unit promises stands beside it"),
    (&["check", "input", "metric", "program"], "registries: a file for each name, one for what its text sets"),
    (&["", "cli"], "a command stands in a file of its name"),
    (&["machine", "oracle", "program"], "a scaled dot in each world, and the program of it"),
];

/// Stems that every room may have.
const EVERYWHERE: &[&str] = &["error", "lib", "mod"];

/// Words that end as participles do and are none here.
const NOUNS: &[&str] = &["binding", "padding", "pred", "rounding", "seed", "string", "tiling"];

/// Participles that end otherwise.
const IRREGULAR: &[&str] = &[
    "built",
    "chosen",
    "drawn",
    "forgotten",
    "found",
    "given",
    "held",
    "kept",
    "known",
    "made",
    "sent",
    "shown",
    "taken",
    "written",
];

/// The room of a line of [`ALIKE`] that a file belongs to.
fn room<'a>(path: &str, rooms: &[&'a str]) -> Option<&'a str> {
    let within = |room: &&&str| room.is_empty() || path.strip_prefix(**room).is_some_and(|rest| rest.starts_with('/'));
    rooms.iter().filter(within).max_by_key(|room| room.len()).copied()
}

#[test]
fn no_two_things_have_files_of_one_name() {
    let mut stems: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        let stem = source.path.rsplit('/').next().unwrap().trim_end_matches(".rs").to_string();
        if !EVERYWHERE.contains(&stem.as_str()) {
            stems.entry(stem).or_default().push(source.path);
        }
    }
    for (stem, paths) in stems.into_iter().filter(|(_, paths)| paths.len() > 1) {
        let alike = ALIKE.iter().any(|(rooms, _)| {
            let found: BTreeSet<Option<&str>> = paths.iter().map(|path| room(path, rooms)).collect();
            found.len() == paths.len() && !found.contains(&None)
        });
        assert!(alike, "{stem}: {}", paths.join(", "));
    }
}

/// A name says what is done, or what is inside: `sort` or `order`, not `sorted`.
#[test]
fn no_public_function_is_called_by_a_participle() {
    let is_participle = |word: &str| {
        !NOUNS.contains(&word) && (word.ends_with("ed") || word.ends_with("ing") || IRREGULAR.contains(&word))
    };
    let mut functions = 0;
    for source in sources() {
        for (number, line) in source.code() {
            let Some((before, after)) = line.split_once("fn ") else { continue };
            if !before.trim_start().starts_with("pub") {
                continue;
            }
            functions += 1;
            let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            // Behind a verb it says what of, as in `evaluate_declared`.
            assert!(
                !(is_participle(name) && !name.contains('_') || name.ends_with("_named")),
                "src/{}:{number}: {name}",
                source.path
            );
        }
    }
    assert!(functions > 500, "only {functions} public functions were found");
}

/// The rows of a table `| word | means |`, without the links that documentation has.
fn glossary(text: &str) -> BTreeMap<String, String> {
    let rows = text.lines().map(|line| line.trim_start_matches("//!").trim()).filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| {
        let row = row.replace(['[', ']', '`'], "");
        let (word, means) = row.trim_matches('|').split_once('|')?;
        Some((word.trim().to_string(), means.trim().to_string()))
    });
    cells.collect()
}

#[test]
fn the_library_opens_with_words_of_the_glossary() {
    let front = glossary(&fs::read_to_string(root().join("src/lib.rs")).unwrap());
    let design = fs::read_to_string(root().join("DESIGN.md")).unwrap();
    let words = design.split("\n## ").find(|section| section.starts_with("Words")).unwrap();
    let all = glossary(words);
    assert!(front.len() > 10 && all.len() > front.len());
    for (word, means) in front {
        assert_eq!(all.get(&word), Some(&means), "{word}");
    }
}

/// The types of two or more files, of all types, in per cent: only ever fewer.
const SHARED_TYPES: usize = 9;

#[test]
fn few_types_have_the_name_of_another() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        for (_, line) in source.code() {
            let line = line.strip_prefix("pub").unwrap_or(line);
            let line = line.strip_prefix('(').and_then(|line| line.split_once(')')).map_or(line, |(_, rest)| rest);
            let mut words = line.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_');
            // At the margin: types of a trait or of a function are its own.
            if line.starts_with("    ") || !matches!(words.next(), Some("struct" | "enum" | "trait")) {
                continue;
            }
            if let Some(name) = words.next() {
                places.entry(name.to_string()).or_default().insert(format!("{}/{}", source.home, source.path));
            }
        }
    }
    let shared: Vec<&String> = places.iter().filter(|(_, places)| places.len() > 1).map(|(name, _)| name).collect();
    assert!(places.len() > 900, "only {} types were found", places.len());
    let share = (100 * shared.len()).div_ceil(places.len());
    assert!(share <= SHARED_TYPES, "{} of {} types: {shared:?}", shared.len(), places.len());
    assert!(share + 1 >= SHARED_TYPES, "{share} %: lower the number");
}
