//! Files of `examples/` for users, on the small decoder that is part of the project.

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
        } else if path.extension().is_some_and(|extension| extension == "hlo" || extension == "safetensors") {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// The column `lost` of the case whose id has both texts. Ids have no commas.
fn lost(report: &str, [program, subject]: [&str; 2]) -> String {
    let column = report.lines().next().unwrap().split(',').position(|name| name == "lost").unwrap();
    let mut lines = report.lines().filter(|line| line.contains(program) && line.contains(subject));
    let line = lines.next().unwrap_or_else(|| panic!("no {program} on {subject}: {report}"));
    assert_eq!(lines.next(), None, "{program} on {subject}");
    line.split(',').nth(column).unwrap().to_string()
}

/// `examples/llama.py` writes a folder in the form of `tests/data/language_model`, and its suite beside it, over as many rows as
/// there are: it finds what the suite `language-model` finds.
#[test]
fn the_suite_for_any_decoder_judges_the_small_one() {
    let root = Path::new(ROOT);
    let suite = fs::read_to_string(root.join("examples/llama.toml")).unwrap();
    let folder = Folder::new(&[("llama", &suite.replace("rows = [64]", "rows = [192]"))]);
    copy(&root.join("tests/data/language_model"), &folder.path(""));
    let ran = folder.exits(0, &["run"]);
    assert!(ran.out.contains("12 cases"), "{}", ran.out);
    let (ours, own) = (folder.read("reports/llama.csv"), root.join("reports/language-model.csv"));
    let own = fs::read_to_string(own).unwrap();
    for flag in ["on", "off"] {
        for chip in ["xla-cpu", "v5e", "v6e", "tpu7x"] {
            let case = [&format!("/prefill.excess_{flag}.hlo[rows=192]/"), &format!("/{chip}/default/as-compiled/")];
            let case = case.map(String::as_str);
            assert_ne!(lost(&ours, case), "0", "{case:?}");
            assert_eq!(lost(&ours, case), lost(&own, case), "{case:?}");
        }
    }
    for mode in ["v5e/default", "v5e/high/", "v5e/highest/", "cpu/f32"] {
        let case = ["/prefill_f32.before.hlo[rows=192]/", mode];
        assert_eq!(lost(&ours, case), lost(&own, case), "{mode}");
    }
    assert_eq!(lost(&ours, ["/prefill_f32.", "cpu/f32"]), "0");
}
