//! Lowering of HLO text: every reference file becomes a program.

use std::fs;
use std::path::{Path, PathBuf};

use ulpgate::hlo::{lower, parse};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "hlo") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_reference_file_is_a_program() {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo"));
    assert_eq!(files.len(), 315);
    let mut failed = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let module = parse(&text).unwrap();
        if let Err(error) = lower(&module) {
            failed.push(format!("{}: {error}", path.display()));
        }
    }
    assert!(failed.is_empty(), "{} files:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn unknown() {
    use ulpgate::ir::{Op, comparator, reducer};
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo"));
    for path in files {
        let Ok(import) = lower(&parse(&fs::read_to_string(&path).unwrap()).unwrap()) else { continue };
        let p = import.program;
        for i in &p.entry().instructions {
            for c in i.op.callees() {
                let c = &p.computations[c];
                let known = match i.op {
                    Op::Sort { .. } => comparator(c).is_some(),
                    _ => reducer(c).is_some(),
                };
                if !known {
                    println!("UNKNOWN {} {} {}", path.display(), i.op.opcode(), ulpgate::ir::express(c, c.root));
                }
            }
        }
    }
}
