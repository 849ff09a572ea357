//! The licences that the notice names for linked crates, and the files that packages are made of.

use std::collections::BTreeSet;
use std::fs;

use super::root;

#[test]
fn the_notice_names_the_versions_that_are_linked() {
    let notice = fs::read_to_string(root().join("NOTICE.md")).unwrap();
    for lock in ["Cargo.lock", "python/Cargo.lock"] {
        let packages: toml::Table = fs::read_to_string(root().join(lock)).unwrap().parse().unwrap();
        for name in ["gmp-mpfr-sys", "rug"] {
            let all = packages["package"].as_array().unwrap();
            let package = all.iter().find(|package| package["name"].as_str() == Some(name)).unwrap();
            let version = package["version"].as_str().unwrap();
            let says = |line: &str| line.starts_with(&format!("| {name},")) && line.contains(&format!("| {version} |"));
            assert!(notice.lines().any(says), "{lock} has {name} {version}, NOTICE.md another");
        }
    }
}

/// The files of the sources that a line with `cp` names: no option, no variable, nothing of the image's own folders.
fn copied(script: &str) -> Vec<&str> {
    let lines = script.lines().filter_map(|line| line.split_once("cp ").map(|(_, rest)| rest));
    let words = lines.flat_map(|rest| rest.split_whitespace());
    words.filter(|word| !word.contains(['"', '$', '\\']) && !word.starts_with(['-', '/'])).collect()
}

#[test]
fn packages_are_made_of_files_that_are_there() {
    let ignored = fs::read_to_string(root().join(".dockerignore")).unwrap();
    for package in ["Dockerfile", ".github/workflows/release.yml"] {
        let script = fs::read_to_string(root().join(package)).unwrap().replace("${{ matrix.target }}", "$");
        let files = copied(&script).into_iter().collect::<BTreeSet<_>>();
        for needed in ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE.md"] {
            assert!(files.contains(needed), "{package} does not copy {needed}: {files:?}");
        }
        for file in files {
            assert!(root().join(file).exists(), "{package} copies {file}, which is not there");
            let reaches = |line: &str| !file.starts_with(line.trim_end_matches('/'));
            assert!(ignored.lines().filter(|line| !line.is_empty()).all(reaches), ".dockerignore keeps {file} out");
        }
    }
    // The profile and the compression that keep the wheel small.
    let release = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    let manifest: toml::Table = fs::read_to_string(root().join("python/Cargo.toml")).unwrap().parse().unwrap();
    assert!(
        release.contains("--profile wheel --locked --strip --manifest-path python/Cargo.toml --compression-level 9")
    );
    assert_eq!(manifest["profile"]["wheel"]["lto"].as_str(), Some("fat"));
}
