//! The documents can be read: README comes to the point, sentences and chapters are short, and the index names each page.

use std::fs;

use super::{files, root};

/// The place behind the first full stop that a space or the end follows.
fn sentence_end(text: &str) -> Option<usize> {
    let mut stops = text.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    stops.find(|at| text[*at..].chars().next().is_none_or(char::is_whitespace))
}

/// The number of words: whatever stands between spaces and has a letter or a digit.
fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// A paragraph without the addresses of links. Code between backquotes counts as one word.
fn plain(paragraph: &str) -> String {
    let parts = paragraph.split('`').enumerate();
    let text: String = parts.map(|(at, part)| if at % 2 == 1 { "code" } else { part }).collect();
    let mut links = text.split("](");
    let first = links.next().unwrap_or_default().to_string();
    links.fold(first, |text, rest| text + "]" + rest.split_once(')').map_or("", |(_, rest)| rest))
}

/// The paragraphs and items of a page: no tables, headings, pictures, comments and code blocks.
fn paragraphs(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut is_open, mut is_code) = (false, false);
    for line in page.lines().map(str::trim) {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let is_prose = !line.is_empty() && !["#", "|", "![", "<!--"].iter().any(|head| line.starts_with(head));
        if is_code || is_fence || !is_prose {
            is_open = false;
            continue;
        }
        let numbered = line.split_once(". ").filter(|(number, _)| number.chars().all(|c| c.is_ascii_digit()));
        let item = line.strip_prefix("- ").or(numbered.map(|(_, rest)| rest));
        match found.last_mut().filter(|_| is_open && item.is_none()) {
            Some(last) => *last += &format!(" {line}"),
            None => found.push(item.unwrap_or(line).to_string()),
        }
        is_open = true;
    }
    found.iter().map(|paragraph| plain(paragraph)).collect()
}

/// The words of each sentence of a page.
fn sentences(page: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for paragraph in paragraphs(page) {
        let mut rest = paragraph.as_str();
        while !rest.is_empty() {
            let (sentence, next) = rest.split_at(sentence_end(rest).unwrap_or(rest.len()));
            found.push(words(sentence));
            rest = next;
        }
    }
    found.retain(|words| *words > 0);
    found
}

fn mean(sentences: &[usize]) -> f64 {
    sentences.iter().sum::<usize>() as f64 / sentences.len() as f64
}

/// Of the pages for users each, and of the book as a whole, a sentence has 20 words on average. Tables of evidence
/// (docs/facts) are no prose.
#[test]
fn sentences_are_short() {
    let (mut all, mut long) = (Vec::new(), Vec::new());
    let pages = files(&root().join("docs"), "md");
    let pages = pages.into_iter().filter(|path| !path.parent().unwrap().ends_with("facts"));
    for path in pages.chain([root().join("README.md")]) {
        let of_page = sentences(&fs::read_to_string(&path).unwrap());
        let is_for_users = !["proofs", "design"].iter().any(|folder| path.parent().unwrap().ends_with(folder));
        if is_for_users && mean(&of_page) > 20.0 {
            long.push(format!("{}: {:.1}", path.display(), mean(&of_page)));
        }
        all.extend(of_page);
    }
    assert!(all.len() > 500, "{} sentences", all.len());
    assert!(long.is_empty(), "mean words of a sentence: {long:#?}");
    assert!(mean(&all) <= 20.0, "mean words of a sentence in README and docs: {:.2}", mean(&all));
}

#[test]
fn readme_comes_to_the_point() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let before = |mark: &str| readme.split(mark).next().unwrap().split_whitespace().count();
    assert!(before("```\n$ ") <= 60, "words before the first command: {}", before("```\n$ "));
    assert!(before("![") <= 150, "words before the first output: {}", before("!["));
}

#[test]
fn chapters_are_short() {
    let size = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    assert!(size("DESIGN.md").len() <= 25_000, "DESIGN.md has {} bytes", size("DESIGN.md").len());
    assert!(size("docs/limits.md").lines().count() <= 60);
    let changelog = size("CHANGELOG.md");
    let first = changelog.split("\n## 0.1.0").nth(1).unwrap();
    assert!(first.lines().count() <= 20, "{} lines", first.lines().count());
}

/// A reader finds each page from docs/README.md, and each proof and chapter from DESIGN.md.
#[test]
fn indexes_name_every_page() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let design = fs::read_to_string(root().join("DESIGN.md")).unwrap();
    let mut lost = Vec::new();
    for path in files(&root().join("docs"), "md") {
        let name = path.strip_prefix(root().join("docs")).unwrap().to_str().unwrap().replace('\\', "/");
        let is_named = match name.split_once('/') {
            Some(("proofs" | "design", _)) => design.contains(&format!("(docs/{name})")),
            // docs/FACTS.md has an index of its own, which facts.rs holds.
            Some(_) => true,
            None => name == "README.md" || index.contains(&format!("({name})")),
        };
        if !is_named {
            lost.push(name);
        }
    }
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn sentences_are_counted() {
    let page = "# A heading. Of words.\n\nOne two `x y z` [four](b.md#c) five. Six\nseven?\n\n- an item of FACTS 3.4, on\n  two lines\n- more\n\
                ```\ncode. code\n```\n| a | b. |\n\n1. numbered item\n";
    assert_eq!(sentences(page), [5, 2, 8, 1, 2]);
}
