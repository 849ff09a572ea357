//! The reference files.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ulpgate::hlo::parse;

/// Every reference file: its path below tests/data/hlo, and its text.
pub static FILES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| below("hlo"));

/// Every HLO file below a folder of tests/data: its path from there on, and its text.
fn below(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder);
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "hlo") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                files.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// The file of this name.
pub fn file(name: &str) -> &'static str {
    &FILES.iter().find(|(found, _)| found == name).unwrap().1
}

/// Reads, prints and reads again: the same module, the same text. Returns the text, `None` where the text is no HLO.
pub fn fixed_point(text: &str) -> Option<String> {
    let module = parse(text).ok()?;
    let printed = module.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error} in what was printed:\n{printed}"));
    assert!(again == module, "another module after printing:\n{printed}");
    assert_eq!(again.to_string(), printed);
    Some(printed)
}

/// A text without its white space and comments. No string of the reference files holds a comment.
fn dense(text: &str) -> String {
    let mut dense = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        dense.extend(rest[..start].split_ascii_whitespace());
        rest = &rest[start + rest[start..].find("*/").unwrap() + 2..];
    }
    dense.extend(rest.split_ascii_whitespace());
    dense
}

#[test]
fn every_file_is_a_fixed_point_and_loses_nothing() {
    let more = below("hlo_more");
    assert_eq!((FILES.len(), more.len()), (315, 205));
    for (name, text) in FILES.iter().chain(&more) {
        if let Err(error) = parse(text) {
            panic!("{name}: {error}");
        }
        let printed = fixed_point(text).unwrap();
        // What the comments say, `/*index=5*/`, follows from the text.
        assert!(dense(&printed) == dense(text), "{name}: something was lost or added");
        // The unoptimized form is printed as XLA prints it, to the byte but for comments.
        let commented = text.contains("/*");
        assert!(
            !name.contains(".before.") || commented || printed.trim_end() == text.trim_end(),
            "{name}: printed otherwise"
        );
    }
}

#[test]
fn positions_are_those_of_an_editor() {
    let module = parse("HloModule m, a=1\n\nENTRY e {\n  é=f32[] parameter(0)\n}").unwrap_err();
    assert_eq!((module.line, module.column), (4, 3));
    let text = "HloModule m, a=1,\n b=\"é\", c=2\nx {\n /* ü */ ROOT p = f32[] parameter(0), a=1\n}\nENTRY %e {\n  y = f32[] parameter(0)\n}";
    let module = parse(text).unwrap();
    let place = |line, column| format!("line {line}, column {column}");
    let attributes = module.attributes.iter().map(|a| a.at.to_string());
    assert!(attributes.eq([place(1, 14), place(2, 2), place(2, 9)]));
    let [x, e] = &module.computations[..] else { panic!("{module}") };
    assert_eq!([x.at, e.at].map(|at| at.to_string()), [place(3, 1), place(6, 7)]);
    let instruction = &x.instructions[0];
    assert_eq!(instruction.at.to_string(), place(4, 15));
    assert_eq!(instruction.attributes[0].at.to_string(), place(4, 39));
    assert_eq!(e.instructions[0].at.to_string(), place(7, 3));
}
