//! The licences that the notice names for linked crates.

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
