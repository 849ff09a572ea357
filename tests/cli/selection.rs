//! Parts of the cases, shards and threads.

use std::collections::BTreeMap;

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
    folder.exits(0, &["run"]);
    let before = folder.bytes("reports");
    folder.write("reports/tiny.csv", "");
    folder.exits(0, &["run", "tiny"]);
    assert_eq!(folder.bytes("reports"), before);
    assert!(folder.exits(0, &["gate", "tiny"]).out.contains("1 cases"));
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
fn reports_do_not_depend_on_threads() {
    let keep = edited(KEEP, &[("EXCESS", "cpu"), ("rows = [64]", "rows = [64]\nseed = [0, 1, 2]")]);
    let folder = Folder::new(&[("softmax", SOFTMAX), ("keep", &keep), ("tiny", TINY)]);
    folder.exits(1, &["run", "--jobs", "1", "--out", "one"]);
    folder.exits(1, &["run", "--jobs", "4", "--out", "four"]);
    assert_eq!(folder.bytes("one").len(), 10, "three suites with their records, four files over all");
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

/// What a report says of each case, by column: without what it leaves empty.
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
        folder.exits(0, &["run", "--filter", &case.id, "--out", "alone"]);
        let alone = figures(&folder.read("alone/samplers.csv"));
        assert_eq!(alone[&case.id], together[&case.id], "{}", case.id);
    }
}
