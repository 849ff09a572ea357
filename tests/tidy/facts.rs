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

/// The statements of a page with the line at which each begins: a paragraph, a bullet with its continuation lines, a row of a table.
/// A row has the tags of the table's head, too.
fn statements(page: &str) -> Vec<(usize, String)> {
    let (mut found, mut head, mut is_open): (Vec<(usize, String)>, Option<String>, bool) = (Vec::new(), None, false);
    for (at, line) in page.lines().enumerate() {
        let is_row = line.starts_with('|');
        if !is_row {
            head = None;
        }
        let is_contents = line.trim_start().starts_with("- [") && line.contains("](#");
        if line.is_empty() || line.starts_with('#') || line.starts_with("|---") || is_contents {
            is_open = false;
        } else if is_row {
            match &head {
                None => head = Some(line.to_string()),
                Some(head) => found.push((at + 1, format!("{head}{line}"))),
            }
            is_open = false;
        } else if line.starts_with("- ") || !is_open {
            found.push((at + 1, line.to_string()));
            is_open = true;
        } else if let Some((_, statement)) = found.last_mut() {
            statement.push_str(line);
        }
    }
    found
}

/// The tags of a text that name their source: `SRC XLA` of "[SRC XLA]".
fn tags(text: &str) -> BTreeSet<String> {
    let brackets = text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(inside, _)| inside);
    brackets
        .filter(|tag| ["SRC ", "AOT ", "TPU "].iter().any(|kind| tag.starts_with(kind)))
        .map(str::to_string)
        .collect()
}

#[test]
fn each_statement_about_a_tpu_has_a_tag() {
    let page = fs::read_to_string(root().join("docs/facts/tpu.md")).unwrap();
    // The first paragraph says what the page is.
    let all = statements(&page);
    let untagged = |(_, text): &&(usize, String)| {
        let other = ["[INF]", "[EXP", "modelling choice", "Modelling choice"];
        tags(text).is_empty() && !other.iter().any(|tag| text.contains(tag))
    };
    let untagged: Vec<_> = all.iter().skip(1).filter(untagged).collect();
    assert!(all.len() > 80, "{}", all.len());
    assert!(untagged.is_empty(), "{untagged:#?}");
}

#[test]
fn each_tag_has_a_row_and_each_row_is_used() {
    let index = fs::read_to_string(root().join("docs/FACTS.md")).unwrap();
    let rows: Vec<(usize, String)> = statements(&index);
    let rows = rows.into_iter().filter_map(|(_, row)| row.split("|| [").nth(1).map(|row| format!("[{row}")));
    let rows: BTreeSet<String> = rows.filter_map(|row| tags(row.split('|').next().unwrap_or("")).pop_first()).collect();
    let used = tags(&pages()["tpu.md"]);
    assert!(rows.len() > 8, "{rows:?}");
    assert_eq!(used, rows);
}

#[test]
fn statements_and_tags_are_found() {
    let page = "# T\n\n- [1 a](#1-a)\n\n- one [SRC XLA]\n  more\n- two\n\n| chip [AOT 1] | x |\n|---|---|\n| v4 | 2 |\n\ntext\non\n";
    let found = statements(page);
    let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["- one [SRC XLA]  more", "- two", "| chip [AOT 1] | x || v4 | 2 |", "texton"]);
    assert_eq!(tags(texts[0]), BTreeSet::from(["SRC XLA".to_string()]));
}
