//! The sections of docs/facts: each reference leads to a section, and the index and the lists of contents name them all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{files, root};

/// The numbers of the headings of a page, such as `3` of `## 3. Vector unit` and `3.4` of `### 3.4 Denormals`.
fn sections(page: &str) -> Vec<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix("### ").or(line.strip_prefix("## ")));
    let numbers = headings.filter_map(|heading| heading.split_whitespace().next());
    numbers.map(|number| number.trim_end_matches('.').to_string()).collect()
}

/// The numbers that follow the word FACTS in a text: `3.4`, `4` and `5.1` of "FACTS 3.4, 4 and 5.1".
fn references(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for after in text.split("FACTS").skip(1) {
        let mut rest = after;
        while let Some(number) = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/').split(' ').next() {
            let digits: String = number.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            let digits = digits.trim_end_matches('.');
            if digits.is_empty() {
                break;
            }
            found.push(digits.to_string());
            let at = rest.find(digits).map_or(rest.len(), |at| at + digits.len());
            rest = &rest[at..];
            let Some(next) = rest.strip_prefix(", ").or(rest.strip_prefix(" and ")) else { break };
            rest = next;
        }
    }
    found
}

fn pages() -> BTreeMap<String, String> {
    let all = files(&root().join("docs/facts"), "md");
    let named = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_string();
    all.iter().map(|path| (named(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn references_to_facts_lead_to_sections() {
    let known: BTreeSet<String> = pages().values().flat_map(|page| sections(page)).collect();
    assert!(known.len() > 40, "{known:?}");
    let texts = [("src", "rs"), ("tests", "rs"), ("suites", "toml"), ("docs", "md"), ("scripts", "py")];
    let mut paths: Vec<_> = texts.iter().flat_map(|(folder, ending)| files(&root().join(folder), ending)).collect();
    paths.extend(["DESIGN.md", "README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    // The examples of this file lead nowhere.
    paths.retain(|path| !path.ends_with("tests/tidy/facts.rs"));
    let (mut count, mut lost) = (0, Vec::new());
    for path in paths {
        for number in references(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            if !known.contains(&number) {
                lost.push(format!("{}: FACTS {number}", path.display()));
            }
        }
    }
    assert!(count > 250, "{count}");
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn contents_name_every_section_once() {
    let index = fs::read_to_string(root().join("docs/FACTS.md")).unwrap();
    let mut seen = BTreeSet::new();
    for (name, page) in pages() {
        let entries: Vec<&str> = page.lines().filter_map(|line| line.trim_start().strip_prefix("- [")).collect();
        for number in sections(&page) {
            assert!(seen.insert(number.clone()), "section {number} is there twice");
            let entry = |line: &&&str| line.split(' ').next() == Some(number.as_str()) && line.contains("](#");
            assert_eq!(entries.iter().filter(entry).count(), 1, "{name} does not list {number}");
            let in_index = index.lines().filter(|line| line.starts_with(&format!("| [{number} ")));
            let in_index: Vec<&str> = in_index.collect();
            assert_eq!(in_index.len(), 1, "docs/FACTS.md does not list {number} once");
            assert!(in_index[0].contains(&format!("facts/{name}#")), "{}", in_index[0]);
        }
    }
}

#[test]
fn references_are_found() {
    assert_eq!(references("FACTS 3.4, 4 and 5.1; FACTS.md, FACTS 9)"), ["3.4", "4", "5.1", "9"]);
    assert_eq!(sections("# A\n## 3. Vector unit\n### 3.4 Denormals\n"), ["3", "3.4"]);
}
