//! The mutations of `tests/mutations.toml` are about code and tests that are there: an entry that outlives either is found
//! here, not when its turn comes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{files, root};

/// The tables of a list below `tests/`.
fn entries(file: &str, key: &str) -> Vec<toml::Value> {
    let text = fs::read_to_string(root().join("tests").join(file)).unwrap();
    text.parse::<toml::Table>().unwrap()[key].as_array().unwrap().clone()
}

/// The names of the tests below a folder as far as the source tells them: with the path of their file, and with that of a
/// module `tests` in it.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for path in files(folder, "rs") {
        let place = path.strip_prefix(folder).unwrap().with_extension("");
        let place: Vec<&str> = place.iter().map(|part| part.to_str().unwrap()).filter(|part| *part != "mod").collect();
        let place = place.join("::");
        let text = fs::read_to_string(&path).unwrap();
        for after in text.split("#[test]").skip(1) {
            let name = after.split("fn ").nth(1).unwrap();
            let name = &name[..name.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap()];
            names.extend([format!("{place}::{name}"), format!("{place}::tests::{name}")]);
        }
    }
    assert!(names.len() > 10, "{} has no tests", folder.display());
    names
}

/// The folder of the tests that a fault names, and the parts of their names; none where the tests are the cases of the suites.
/// The public path of a test of a library begins with the folder of a crate, or with a room of one (`mutate/project.rs`).
fn folder(test: &[&str]) -> Option<(PathBuf, Vec<String>)> {
    match test {
        ["--lib", filters @ ..] => {
            Some((root().join("src"), filters.iter().map(|filter| filter.to_string()).collect()))
        }
        ["--test", "suites", ..] => None,
        ["--test", name, filters @ ..] => {
            Some((root().join("tests").join(name), filters.iter().map(|filter| filter.to_string()).collect()))
        }
        _ => panic!("{test:?}: --lib or --test"),
    }
}

/// Types that no file has to name before it uses them.
const PRELUDE: [&str; 8] = ["Box", "Default", "None", "Option", "Result", "Some", "String", "Vec"];

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The types whose items a text uses, but for those that it names with their module: `Cost` of `Cost::Free`.
fn types(text: &str) -> Vec<&str> {
    let before = text.match_indices("::").map(|(at, _)| &text[..at]);
    let word = |before: &&str| before.len() - before.rsplit(|c| !is_part_of_name(c)).next().unwrap().len();
    let words = before.map(|before| before.split_at(word(&before)));
    words
        .filter(|(module, word)| word.starts_with(|c: char| c.is_uppercase()) && !module.ends_with("::"))
        .map(|(_, word)| word)
        .collect()
}

#[test]
fn types_of_a_text_are_found() {
    assert_eq!(types("x(Cost::Free, super::Sum::new(), Vec::<u8>::new(), a.b)"), ["Cost", "Vec"]);
}

#[test]
fn each_mutation_stands_in_the_code_and_has_a_test() {
    let mut tests: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mutations = entries("mutations.toml", "mutation");
    for mutation in &mutations {
        let [name, file, from, to] = ["name", "file", "from", "to"].map(|key| mutation[key].as_str().unwrap());
        let text = fs::read_to_string(root().join(file)).unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let has = |line: &str, name: &str| line.split(|c| !is_part_of_name(c)).any(|word| word == name);
        let is_known = |name: &str| text.lines().filter(is_code).any(|line| has(line, name));
        let unknown = types(to).into_iter().filter(|name| !PRELUDE.contains(name) && !is_known(name));
        wrong.extend(unknown.map(|unknown| format!("{name}: {file} knows no {unknown}: the fault does not compile")));
        if text.matches(from).count() != 1 {
            wrong.push(format!("{name}: {file} has {} places for it", text.matches(from).count()));
        }
        let test: Vec<&str> = mutation["test"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
        let Some((folder, filters)) = folder(&test) else { continue };
        let names = tests.entry(folder.clone()).or_insert_with(|| names(&folder));
        if !filters.is_empty() && !names.iter().any(|name| filters.iter().any(|filter| name.contains(filter.as_str())))
        {
            wrong.push(format!("{name}: no test is called {filters:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(mutations.len() > 100);
}

#[test]
fn each_equivalent_mutation_stands_in_the_code() {
    let equivalents = entries("mutations-equivalent.toml", "equivalent");
    let gone: Vec<&str> = equivalents
        .iter()
        .filter(|entry| {
            let text = fs::read_to_string(root().join(entry["file"].as_str().unwrap())).unwrap();
            !text.contains(entry["line"].as_str().unwrap())
        })
        .map(|entry| entry["line"].as_str().unwrap())
        .collect();
    assert!(gone.is_empty(), "{gone:#?}");
    assert!(equivalents.len() > 10);
}
