//! What `examples/` has for users, on the small decoder that is part of the project.

use std::fs;
use std::path::Path;

use super::Folder;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else if path.extension().is_some_and(|extension| extension != "txt") {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// `examples/llama.py` writes a folder in the form of `tests/data/language_model`, and its suite beside it.
#[test]
fn the_suite_for_any_decoder_judges_the_small_one() {
    let suite = fs::read_to_string(Path::new(ROOT).join("examples/llama.toml")).unwrap();
    let folder = Folder::new(&[("llama", &suite)]);
    copy(&Path::new(ROOT).join("tests/data/language_model"), &folder.path(""));
    let ran = folder.exits(0, &["run"]);
    assert!(ran.out.contains("12 cases"), "{}", ran.out);
    let report = folder.read("reports/llama.csv");
    let lost = |case: &str| {
        let mut lines = report.lines();
        let column = lines.next().unwrap().split(',').position(|name| name == "lost").unwrap();
        // The first column is quoted, as ids hold commas or not.
        let line = report.lines().find(|line| line.contains(case)).unwrap_or_else(|| panic!("{case}: {report}"));
        let fields: Vec<&str> = line.rsplit(',').collect();
        let count = report.lines().next().unwrap().split(',').count();
        fields[count - 1 - column].parse::<u32>().unwrap()
    };
    assert_eq!(["cpu/f32/off", "v5e/high/off", "v5e/highest/off"].map(lost), [0; 3]);
    let modes = ["xla-cpu", "v5e", "v6e", "tpu7x"];
    let flipped = modes.map(|chip| lost(&format!("excess_on.hlo as {chip}/default/as-compiled")));
    assert_eq!(flipped, [0, 0, 0, 0]);
}
