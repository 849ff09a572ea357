//! The order of the crates, which Cargo holds: each manifest names those that DESIGN gives its crate.

use std::collections::BTreeSet;
use std::fs;

use crate::{HOMES, root, sources};

/// The crates below `src/`, each with those that it may use. `oracle` and `machine` do not see each other.
const ARROWS: [(&str, &[&str]); 7] = [
    ("fingerprint", &[]),
    ("ir", &[]),
    ("hlo", &["ir"]),
    ("oracle", &["ir"]),
    ("machine", &["ir"]),
    ("xla_cpu", &["ir", "machine"]),
    ("numerics", &["hlo", "ir", "machine", "oracle", "xla_cpu"]),
];

/// Crates that emulate, and crates that prove: none is used in the other world.
const WORLDS: [(&str, &str); 2] = [("oracle", "core-math"), ("machine", "rug")];

/// The names of a manifest's dependencies, without those of tests.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("src").join(folder).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    manifest
        .get("dependencies")
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(|table| table.keys().cloned())
        .collect()
}

#[test]
fn crates_use_those_that_design_names() {
    assert_eq!(BTreeSet::from(HOMES), ARROWS.iter().map(|(name, _)| *name).collect());
    for (folder, below) in ARROWS {
        let used: BTreeSet<String> =
            dependencies(folder).into_iter().filter(|name| name.starts_with("ulpgate-")).collect();
        let allowed = below.iter().map(|name| format!("ulpgate-{}", name.replace('_', "-"))).collect();
        assert_eq!(used, allowed, "src/{folder}/Cargo.toml");
    }
}

#[test]
fn the_oracle_computes_without_core_math_and_the_machine_without_mpfr() {
    for (folder, forbidden) in WORLDS {
        assert!(!dependencies(folder).contains(forbidden), "src/{folder}/Cargo.toml: {forbidden}");
    }
}

/// The one place that picks the backend: the list of chips names the row of each.
#[test]
fn one_file_names_the_crate_of_the_backend() {
    let mut naming: Vec<String> = Vec::new();
    for source in sources() {
        if source.code().any(|(_, line)| line.contains("ulpgate_xla_cpu")) {
            naming.push(format!("{}/{}", source.home, source.path));
        }
    }
    assert_eq!(naming, ["numerics/mode/chips.rs"]);
}
