//! Fresh reports against the committed ones.

use std::fs;

use super::{Folder, KEEP, SOFTMAX, TINY, edited};

#[test]
fn the_gate_is_silent_and_writes_nothing_where_all_is_the_same() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    let before = folder.bytes("reports");
    let stamp = |name: &str| fs::metadata(folder.path("reports").join(name)).unwrap().modified().unwrap();
    let stamps: Vec<_> = folder.names("reports").iter().map(|n| stamp(n)).collect();
    let ran = folder.exits(0, &["gate"]);
    assert!(ran.out.contains("0 better, 0 worse, 0 new, 0 gone"), "{}", ran.out);
    assert_eq!(folder.exits(0, &["gate", "--json"]).out.trim(), "[]");
    assert_eq!(folder.bytes("reports"), before);
    assert_eq!(folder.names("reports").iter().map(|n| stamp(n)).collect::<Vec<_>>(), stamps);
    assert_eq!(folder.names("."), ["reports", "suites"]);
}

/// A CSV with one cell replaced.
fn with_cell(text: &str, row: usize, column: &str, value: &str) -> String {
    let at = text.lines().next().unwrap().split(',').position(|c| c == column).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let mut cells: Vec<&str> = lines[row].split(',').collect();
    cells[at] = value;
    lines[row] = cells.join(",");
    lines.join("\n") + "\n"
}

#[test]
fn the_gate_tells_better_from_worse() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    let report = folder.read("reports/softmax.csv");
    let case = report.lines().nth(1).unwrap().split(',').next().unwrap().to_string();
    let gate = |column: &str, value: &str, expected: &str| {
        folder.write("reports/softmax.csv", &with_cell(&report, 1, column, value));
        let ran = folder.exits(1, &["gate"]);
        let line = format!("{expected}: softmax.csv {case}: {column}: {value} -> ");
        assert!(ran.out.starts_with(&line), "{} does not start with {line}", ran.out);
        let json: serde_json::Value = serde_json::from_str(&folder.exits(1, &["gate", "--json"]).out).unwrap();
        assert_eq!(json.as_array().unwrap().len(), 1);
        assert_eq!(json[0]["change"], expected);
        assert_eq!(json[0]["row"], case.as_str());
    };
    // The baseline is what is edited: a larger old error means that the new one is better.
    gate("max_ulp", "1000", "better");
    gate("max_ulp", "0.001", "worse");
    gate("verdict", "unexpected-finding", "better");
    gate("rows", "5", "worse");
    let mixed = with_cell(&with_cell(&report, 1, "max_ulp", "1000"), 1, "mean_ulp", "0.001");
    folder.write("reports/softmax.csv", &mixed);
    assert!(folder.exits(1, &["gate"]).out.starts_with("worse: softmax.csv "));
}

#[test]
fn the_gate_tells_new_from_gone_and_bless_accepts() {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("tiny", TINY)]);
    assert!(folder.exits(1, &["gate"]).out.contains("new: tiny.csv: the baseline has no such report"));
    assert_eq!(folder.names("."), ["suites"]);
    folder.exits(0, &["gate", "--bless"]);
    let good = folder.bytes("reports");
    assert_eq!(folder.names("reports"), ["SUMMARY.md", "growth.csv", "softmax.csv", "tiny.csv"]);
    let report = folder.read("reports/softmax.csv");
    let mends = |file: &str, text: &str, expected: &str| {
        folder.write(&format!("reports/{file}"), text);
        let before = folder.bytes("reports");
        let out = folder.exits(1, &["gate"]).out;
        assert!(out.lines().any(|line| line.starts_with(expected)), "{out} has no line {expected}");
        assert_eq!(folder.bytes("reports"), before, "the gate wrote");
        folder.exits(0, &["gate", "--bless"]);
        assert_eq!(folder.bytes("reports"), good);
        folder.exits(0, &["gate"]);
    };
    let (last, others) = report.trim_end().rsplit_once('\n').map(|(others, last)| (last, others)).unwrap();
    mends("softmax.csv", &format!("{others}\n"), "new: softmax.csv softmax/softmax[rows=4]/v5e/default/off/normal/8/0");
    let extra = last.replace("normal/8/0", "normal/9/0");
    mends(
        "softmax.csv",
        &format!("{report}{extra}\n"),
        "gone: softmax.csv softmax/softmax[rows=4]/v5e/default/off/normal/9/0",
    );
    mends("growth.csv", &folder.read("reports/growth.csv").replacen("max_ulp", "rms", 1), "gone: growth.csv ");
    mends("SUMMARY.md", "edited\n", "worse: SUMMARY.md: the text differs");
    mends("softmax.csv", &format!("{report}half a li"), "worse: softmax.csv: the baseline is no report");
    mends("softmax.csv", "", "new: softmax.csv ");
    mends("old.csv", &report, "gone: old.csv: no suite gives this report");
    // What is no report of ours is nobody's business.
    folder.write("reports/notes.csv", "a,b\n1,2\n");
    folder.exits(0, &["gate"]);
    folder.exits(0, &["gate", "--bless"]);
    assert_eq!(folder.read("reports/notes.csv"), "a,b\n1,2\n");
}

#[test]
fn bless_does_not_excuse_an_unexpected_finding() {
    let folder = Folder::new(&[("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    folder.exits(1, &["gate", "--bless"]);
    let out = folder.exits(1, &["gate"]).out;
    assert!(out.contains("0 better, 0 worse, 0 new, 0 gone") && out.contains("1 findings not expected"), "{out}");
}
