//! Matches over all operations: the places that a new opcode has to be put into.

use std::fs;

use crate::{root, sources};

/// Functions that name every variant of `Op`, by file: the number of them is the price of an opcode, and never grows.
const ALL_OPERATIONS: [(&str, &str); 6] = [
    ("diff/graph/express.rs", "express"),
    ("ir/infer.rs", "infer_free"),
    ("ir/jax_text.rs", "attributes"),
    ("ir/op.rs", "row"),
    ("machine/evaluate.rs", "instruction"),
    ("oracle/evaluate.rs", "operation"),
];

/// Names of the variants of an enum that is declared at the margin, one a line.
fn variants(text: &str, name: &str) -> Vec<String> {
    let (_, body) = text.split_once(&format!("pub enum {name}")).unwrap();
    let (_, body) = body.split_once("{\n").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names.map(|line| line.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_string()).collect()
}

/// Whether code names `Op::NAME` for each of these names.
fn names_all(code: &str, names: &[String]) -> bool {
    names.iter().all(|name| {
        code.match_indices(&format!("Op::{name}")).any(|(at, found)| {
            let follows = code[at + found.len()..].chars().next();
            !follows.is_some_and(char::is_alphanumeric)
        })
    })
}

#[test]
fn an_opcode_is_put_into_at_most_six_matches() {
    let names = variants(&fs::read_to_string(root().join("src/ir/ir/op.rs")).unwrap(), "Op");
    assert!(names.len() >= 36 && names.contains(&"DynamicUpdateSlice".to_string()), "{names:?}");
    let mut found = Vec::new();
    for source in sources() {
        // Crates of one room have paths without its name.
        let path = if ["machine", "oracle"].contains(&source.home) && !source.path.starts_with(source.home) {
            format!("{}/{}", source.home, source.path)
        } else {
            source.path.clone()
        };
        let lines: Vec<&str> = source.code().map(|(_, line)| line).collect();
        let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("fn ")).collect();
        for (number, start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).copied().unwrap_or(lines.len());
            let code = lines[*start..end].join("\n");
            if names_all(&code, &names) {
                let (_, after) = lines[*start].split_once("fn ").unwrap();
                let function = after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_string();
                found.push((path.clone(), function));
            }
        }
    }
    found.sort();
    let known: Vec<(String, String)> = ALL_OPERATIONS.map(|(file, function)| (file.into(), function.into())).to_vec();
    assert_eq!(found, known);
}

#[test]
fn a_match_that_names_all_is_told_from_one_that_does_not() {
    let names = ["Slice", "SliceUpdate"].map(String::from);
    assert!(names_all("Op::Slice { .. } | Op::SliceUpdate => 1", &names));
    assert!(!names_all("Op::SliceUpdate => 1, _ => 2", &names));
    assert_eq!(
        variants("pub enum Op {\n    /// A.\n    One,\n    Two {\n        x: u8,\n    },\n}\n", "Op"),
        ["One", "Two"]
    );
}
