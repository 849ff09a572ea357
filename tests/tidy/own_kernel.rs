//! README "From Rust" shows the crate `examples/kernel` word for word, so that what a reader copies is what CI builds.

use std::fs;

use super::root;

/// A file of the example, with the checkout where README has it: beside the reader's crate.
fn shown(file: &str) -> String {
    let text = fs::read_to_string(root().join("examples/kernel").join(file)).unwrap();
    text.replace("../..", "../ulpgate")
}

#[test]
fn readme_shows_the_kernel_that_is_built() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let section = readme.split("\n## From Rust\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let manifest = shown("Cargo.toml");
    let dependencies = &manifest[manifest.find("[dev-dependencies]").unwrap()..];
    for (language, text) in
        [("toml", dependencies), ("toml", &shown(".cargo/config.toml")), ("rust", &shown("tests/softmax.rs"))]
    {
        assert!(text.len() > 50, "{text}");
        let block = format!("```{language}\n{text}```\n");
        assert!(section.contains(&block), "README \"From Rust\" lacks this block:\n{block}");
    }
}
