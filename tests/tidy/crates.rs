//! The order of the crates, which Cargo holds: each manifest names those that DESIGN gives its crate.

use std::collections::BTreeSet;
use std::fs;

use crate::{HOMES, files, root, sources};

/// The crates below `src/`, each with those that it may use. `oracle` and `machine` do not see each other.
const ARROWS: [(&str, &[&str]); 9] = [
    ("fingerprint", &[]),
    ("ir", &[]),
    ("hlo", &["ir"]),
    ("oracle", &["ir"]),
    ("machine", &["ir"]),
    ("xla_cpu", &["ir", "machine"]),
    ("numerics", &["hlo", "ir", "machine", "oracle", "xla_cpu"]),
    ("front", &["hlo", "numerics"]),
    ("cli", &["front"]),
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

/// Words of the backend's compiler and of the libraries that it calls, in lower case.
const BACKEND_WORDS: [&str; 10] =
    ["xla:cpu", "xla-cpu", "xla_cpu", "ynn", "glibc", "eigen", "openblas", "duccfft", "introsort", "llvm"];

/// Files outside of the backend's crate that name it, each with its number of lines: attributes of files that it compiled, and the
/// list of chips.
const NAMING_THE_BACKEND: [(&str, usize); 2] = [("hlo/settings/attribute_table.rs", 2), ("numerics/mode/chips.rs", 6)];

#[test]
fn the_backend_is_named_in_its_crate_and_two_files() {
    let source = root().join("src");
    let mut naming: Vec<(String, usize)> = Vec::new();
    for path in files(&source, "rs").into_iter().filter(|path| !path.starts_with(source.join("xla_cpu"))) {
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        let count = text.lines().filter(|line| BACKEND_WORDS.iter().any(|word| line.contains(word))).count();
        if count > 0 {
            naming.push((path.strip_prefix(&source).unwrap().display().to_string(), count));
        }
    }
    naming.sort();
    assert_eq!(naming, NAMING_THE_BACKEND.map(|(file, lines)| (file.to_string(), lines)));
}
