//! Lowering of HLO text: every reference file becomes a program.

use std::fs;
use std::path::{Path, PathBuf};

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Op, comparator_but_for_rounding, reducer_but_for_rounding};

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

/// Reducers and comparators that compilers write are recognised, so that none is interpreted element by element.
#[test]
fn every_region_of_the_reference_files_is_known() {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo"));
    let mut regions = 0;
    for path in files {
        let import = lower(&parse(&fs::read_to_string(&path).unwrap()).unwrap()).unwrap();
        let computations = &import.program.computations;
        for instruction in &import.program.entry().instructions {
            for region in instruction.op.callees().map(|id| &computations[id]) {
                let known = match instruction.op {
                    Op::Sort { .. } => comparator_but_for_rounding(region).is_some(),
                    _ => reducer_but_for_rounding(region).is_some(),
                };
                assert!(known, "{} in {}", region.name, path.display());
                regions += 1;
            }
        }
    }
    assert!(regions > 500, "{regions}");
}
