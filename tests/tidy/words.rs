//! Doc comments begin with a noun phrase or a verb, not with a question word.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::{files, root};

/// Words that put a clause in the place of a noun.
const QUESTIONS: [&str; 7] = ["What", "Who", "Whose", "Whoever", "Which", "Where", "How"];

/// Rooms that still have doc lines of this kind, and how many: only ever fewer.
const LEFT: &[(&str, usize)] = &[];

/// Whether a line is a doc comment that begins with a question word.
fn asks(line: &str) -> bool {
    let line = line.trim_start();
    let doc = line.strip_prefix("/// ").or(line.strip_prefix("//! "));
    let first = doc.and_then(|doc| doc.split(|c: char| !c.is_alphanumeric()).next());
    first.is_some_and(|word| QUESTIONS.contains(&word))
}

/// Folders of Rust sources, beside `src/`, whose doc comments are held to the same.
const FOLDERS: [&str; 6] = ["tests", "mutate", "fuzz", "benches", "examples", "python/src"];

/// The Rust files of a folder of the project, without those that builds left there.
fn written(folder: &str) -> Vec<PathBuf> {
    let is_built = |path: &PathBuf| path.iter().any(|part| part == "target" || part == "venv");
    files(&root().join(folder), "rs").into_iter().filter(|path| !is_built(path)).collect()
}

#[test]
fn doc_comments_begin_with_what_they_name() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut docs = 0;
    for folder in ["src"].into_iter().chain(FOLDERS) {
        let before = docs;
        for path in written(folder) {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            let below = name.strip_prefix("src/").map(|name| name.strip_prefix("numerics/").unwrap_or(name));
            let room = below.unwrap_or(folder).split('/').next().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            for (at, line) in text.lines().enumerate() {
                docs += usize::from(line.trim_start().starts_with("/// ") || line.trim_start().starts_with("//! "));
                if asks(line) {
                    found.entry(room.to_string()).or_default().push(format!("{name}:{}: {}", at + 1, line.trim()));
                }
            }
        }
        assert!(docs > before, "{folder} has no doc comment");
    }
    for (room, lines) in &found {
        let left = LEFT.iter().find(|(name, _)| name == room).map_or(0, |(_, count)| *count);
        assert!(lines.len() <= left, "{room} has {}, of which {left} are known: {lines:#?}", lines.len());
    }
    for (room, left) in LEFT {
        let lines = found.get(*room).map_or(0, Vec::len);
        assert_eq!(lines, *left, "{room} has fewer than the list says: lower the number");
    }
    let all: usize = found.values().map(Vec::len).sum();
    assert!(docs > 10_000 && all * 100 <= docs, "{all} of {docs} doc lines");
}

#[test]
fn question_words_are_found() {
    assert!(asks("    /// What it reads.") && asks("//! Where: there."));
    assert!(!asks("/// Whether it is.") && !asks("// What it reads.") && !asks("/// Whatever."));
}
