//! The page of `examples/rust_kernels` shows the table that its program prints, for the crates that it depends on.

use std::collections::BTreeSet;
use std::fs;

use super::root;

fn text(file: &str) -> String {
    fs::read_to_string(root().join("examples/rust_kernels").join(file)).unwrap()
}

/// Strings between quotes in the part of a source between two marks.
fn quoted<'a>(source: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let part = &source[source.find(from).unwrap()..];
    let part = &part[..part.find(to).unwrap()];
    part.split('"').skip(1).step_by(2).collect()
}

#[test]
fn the_table_of_kernels_has_the_head_the_cases_and_the_libraries_of_the_code() {
    let (page, main) = (text("README.md"), text("src/main.rs"));
    let head = quoted(&main, "const HEAD", ";")[0].replace("\\n", "\n");
    let rows = page.split_once(&format!("{head}\n")).expect("the head of the table").1;
    let rows: Vec<Vec<&str>> =
        rows.lines().map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect();
    let shown: BTreeSet<String> = rows.iter().map(|row| row[0].to_string()).collect();

    let cases = main.split("const CASES").nth(1).unwrap();
    let cases = &cases[..cases.find("];").unwrap()];
    let of_line = |line: &str| {
        let quoted: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let n = line.split("\", ").nth(1)?.split(',').next()?.parse().unwrap_or(1024);
        Some(format!("`{}` n={n} {}", quoted.first()?, quoted.get(1)?))
    };
    let asked: BTreeSet<String> = cases.lines().filter_map(of_line).collect();
    assert!(asked.len() > 20, "{asked:?}");
    assert_eq!(shown, asked);

    let libraries: BTreeSet<&str> = rows.iter().flat_map(|row| row[1].split(", ")).collect();
    let manifest = text("Cargo.toml");
    for library in &libraries {
        assert!(manifest.contains(library), "{library} is no dependency");
    }
    let named = text("src/libraries.rs");
    let named: BTreeSet<&str> =
        named.lines().filter_map(|line| line.split("name: \"").nth(1)?.split('"').next()).collect();
    assert_eq!(libraries, named.into_iter().filter(|name| !name.is_empty()).collect());
}
