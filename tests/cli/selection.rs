//! Parts of the cases, shards and threads.

use std::collections::BTreeMap;
use std::process::Command;

use super::{Folder, KEEP, SOFTMAX, TINY, edited};

#[test]
fn part_of_the_cases_writes_no_report_unless_told_where() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    let before = folder.bytes("reports");
    for part in [&["--filter", "/cpu/"][..], &["--shard", "1/2"], &["--slow", "--filter", "/8/"]] {
        let ran = folder.exits(0, &[&["run"], part].concat());
        assert!(ran.out.contains("no report was written"), "{}", ran.out);
    }
    assert_eq!(folder.bytes("reports"), before);
    folder.exits(0, &["run", "--filter", "/cpu/", "--out", "part"]);
    assert_eq!(folder.bytes("reports"), before);
    assert_eq!(folder.read("part/softmax.csv").lines().count(), 5);
    // More parts than subjects leave some empty.
    folder.exits(0, &["run", "--shard", "99/99"]);
}

#[test]
fn one_suite_leaves_the_reports_over_all_suites_alone() {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("tiny", TINY)]);
    assert!(!folder.exits(0, &["run"]).out.contains("stay as they are"));
    let before = folder.bytes("reports");
    folder.write("reports/tiny.csv", "");
    let out = folder.exits(0, &["run", "tiny"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("SUMMARY.md cover all suites and stay as they are: `ulpgate run` writes them)"), "{out}");
    assert_eq!(folder.bytes("reports"), before);
    assert!(folder.exits(0, &["gate", "tiny"]).out.contains("1 case: "));
}

#[test]
fn shards_cover_every_case_once() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run", "--out", "whole"]);
    folder.exits(0, &["run", "--shard", "1/2", "--out", "first"]);
    folder.exits(0, &["run", "--shard", "2/2", "--out", "second"]);
    let rows = |name: &str| -> Vec<String> {
        folder.read(&format!("{name}/softmax.csv")).lines().skip(1).map(str::to_string).collect()
    };
    let mut parts = [rows("first"), rows("second")];
    assert!(parts.iter().all(|rows| !rows.is_empty()));
    let mut joined = std::mem::take(&mut parts[0]);
    joined.append(&mut parts[1]);
    joined.sort();
    assert_eq!(joined, rows("whole"));
}

#[test]
fn a_case_stays_in_its_part_whatever_others_there_are() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    let cases = |out: &str| -> Vec<String> {
        let ran = folder.ran(&["run", "--shard", "2/3", "--out", out]);
        assert!(ran.code < 2, "{}", ran.err);
        let rows = folder.read(&format!("{out}/softmax.csv"));
        rows.lines().skip(1).map(|row| row.split(',').next().unwrap().to_string()).collect()
    };
    let before = cases("before");
    assert!(!before.is_empty() && before.len() < 8, "{before:?}");
    // Suites and sizes that sort before, between and behind the cases that were there.
    folder.write("suites/a.toml", TINY);
    folder.write(
        "suites/softmax.toml",
        &edited(SOFTMAX, &[("n = [8, 16, 32, 64]", "n = [4, 8, 12, 16, 24, 32, 64, 96]")]),
    );
    let mut after = cases("after");
    after.retain(|case| ["/8/", "/16/", "/32/", "/64/"].iter().any(|n| case.contains(n)));
    assert_eq!(after, before);
}

#[test]
fn an_engine_says_which_part_a_process_is() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    let ran = |variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
        // The engine that runs this test counts for nothing.
        command.env_clear().envs(variables.iter().copied()).current_dir(folder.path("."));
        command.args(["run", "--shard", "auto", "--out", "auto"]).output().unwrap()
    };
    assert!(ran(&[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "3")]).status.success());
    folder.exits(0, &["run", "--shard", "2/3", "--out", "given"]);
    assert_eq!(folder.bytes("auto"), folder.bytes("given"));
    let refused = ran(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("SLURM_ARRAY_TASK_ID (Slurm array)"));
}

#[test]
fn reports_do_not_depend_on_threads() {
    let keep = edited(KEEP, &[("EXCESS", "cpu"), ("rows = [64]", "rows = [64]\nseed = [0, 1, 2]")]);
    let folder = Folder::new(&[("softmax", SOFTMAX), ("keep", &keep), ("tiny", TINY)]);
    folder.exits(1, &["run", "--jobs", "1", "--out", "one"]);
    folder.exits(1, &["run", "--jobs", "4", "--out", "four"]);
    assert_eq!(folder.bytes("one").len(), 11, "three suites with their records, five files over all");
    assert_eq!(folder.bytes("one"), folder.bytes("four"));
}

/// All programs take `bf16[rows,n]`, two of them without a parameter that differs.
const SAMPLERS: &str = r#"claim = "Programs are judged as alone"
why = "They share their arguments"
source = "FACTS 1.5"

[[matrix]]
program = ["prob_max"]
chip = ["v5e"]
excess = ["cpu", "tpu"]
input = ["normal[scale=4]"]
n = [64]
rows = [32]
metric = ["max_ulp"]

[[matrix]]
program = ["keep_max", "keep_max[compare=eq]", "argmax"]
chip = ["v5e"]
excess = ["cpu"]
input = ["normal[scale=4]"]
n = [64]
rows = [32]

[[matrix.check]]
kind = "dropped_token"
expect = "report"
because = "The figures count."
"#;

/// The cells of a report's row for each case, by column: without empty ones.
fn figures(report: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let mut reader = csv::Reader::from_reader(report.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let rows = reader.records().map(|row| row.expect("a row"));
    let said = |row: &csv::StringRecord| {
        let columns = header.iter().zip(row).filter(|(_, value)| !value.is_empty());
        columns.map(|(column, value)| (column.to_string(), value.to_string())).collect()
    };
    rows.map(|row| (row[0].to_string(), said(&row))).collect()
}

#[test]
fn programs_that_take_the_same_arguments_are_judged_as_each_alone() {
    let folder = Folder::new(&[("samplers", SAMPLERS)]);
    let suites = ulpgate::suite::load_folder(&folder.path("suites")).expect("a suite");
    let cases: Vec<_> = suites.iter().flat_map(|suite| &suite.cases).collect();
    assert_eq!(ulpgate::run::groups(&cases).len(), 1, "all in one group");
    folder.exits(0, &["run", "--out", "together"]);
    let together = figures(&folder.read("together/samplers.csv"));
    for case in &cases {
        // A case alone that only measures is judged by nothing.
        let judged = if together[&case.id].contains(&("verdict".to_string(), "measured".to_string())) { 2 } else { 0 };
        let ran = folder.ran(&["run", "--filter", &case.id, "--out", "alone"]);
        assert_eq!(ran.code, judged, "{}", ran.err);
        let alone = figures(&folder.read("alone/samplers.csv"));
        assert_eq!(alone[&case.id], together[&case.id], "{}", case.id);
    }
}
