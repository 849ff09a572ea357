//! docs/rust.md shows the crate `examples/kernel` word for word, so that what a reader copies is what CI builds.

use std::fs;

use super::root;

/// A file of the example, with the checkout where the page has it: beside the reader's crate.
fn shown(file: &str) -> String {
    let text = fs::read_to_string(root().join("examples/kernel").join(file)).unwrap();
    text.replace("../..", "../ulpgate")
}

#[test]
fn the_page_shows_the_kernel_that_is_built() {
    let page = fs::read_to_string(root().join("docs/rust.md")).unwrap();
    let manifest = shown("Cargo.toml");
    let dependencies = &manifest[manifest.find("[dev-dependencies]").unwrap()..];
    for (language, text) in [
        ("toml", dependencies),
        ("toml", &shown(".cargo/config.toml")),
        ("rust", &shown("tests/softmax.rs")),
        ("rust", &shown("tests/norm.rs")),
    ] {
        assert!(text.len() > 50, "{text}");
        let block = format!("```{language}\n{text}```\n");
        assert!(page.contains(&block), "docs/rust.md lacks this block:\n{block}");
    }
}
