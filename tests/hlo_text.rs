//! HLO text: every file of tests/data/hlo is read and printed.

use std::path::{Path, PathBuf};

use ulpgate::hlo::parse;

/// Every reference file: its path below tests/data/hlo, and its text.
fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo");
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
    assert_eq!(files.len(), 315);
    files
}

#[test]
fn every_file_is_a_fixed_point() {
    for (name, text) in files() {
        let module = parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let printed = module.to_string();
        let again = parse(&printed).unwrap_or_else(|error| panic!("{name}, printed: {error}"));
        assert!(again == module, "{name}: another module after printing");
        assert!(again.to_string() == printed, "{name}: another text after printing");
    }
}
