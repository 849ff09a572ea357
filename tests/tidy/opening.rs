//! Figures of README and of docs/findings.md are those of the committed reports.

use std::collections::BTreeMap;
use std::fs;

use super::root;

/// The rows of a report by their case, each with its cells by column.
type Report = BTreeMap<String, BTreeMap<String, String>>;

/// A report below `reports/`.
fn report(name: &str) -> Report {
    let mut reader = csv::Reader::from_path(root().join("reports").join(name)).unwrap();
    let columns: Vec<String> = reader.headers().unwrap().iter().map(str::to_string).collect();
    let rows = reader.records().map(|row| {
        let cells: BTreeMap<_, _> = columns.iter().cloned().zip(row.unwrap().iter().map(str::to_string)).collect();
        (cells["case"].clone(), cells)
    });
    rows.collect()
}

/// A cell of the case whose id begins so.
fn cell<'a>(report: &'a Report, case: &str, column: &str) -> &'a str {
    let mut found = report.range(case.to_string()..).take_while(|(id, _)| id.starts_with(case));
    let (_, cells) = found.next().unwrap_or_else(|| panic!("no case {case}"));
    assert!(found.next().is_none(), "several cases {case}");
    &cells[column]
}

/// The table of docs/findings.md, line by line: what was measured with `--slow`.
fn table() -> Vec<String> {
    let (tokens, ratios) = (report("slow/language-model.csv"), report("slow/training-serving.csv"));
    let mut lines = Vec::new();
    let mut line = |label: &str, flag: &str, prefill: &str, generate: Option<&str>, served: Option<(&str, &str)>| {
        let prefill = format!("language-model/{prefill}/");
        let of = |column| cell(&tokens, &prefill, column);
        let parted = generate.map_or(String::new(), |generate| {
            let generate = format!("language-model/{generate}/");
            match (cell(&tokens, &generate, "diverged"), cell(&tokens, &generate, "median_divergence")) {
                ("0", _) => "0".to_string(),
                (texts, median) => format!("{texts} (after {median})"),
            }
        });
        let share = |program: &str, check: &str| {
            let column = format!("ratios_beyond_0.01{check}");
            let share: f64 = cell(&ratios, &format!("training-serving/{program}"), &column).parse().unwrap();
            format!("{:.1} %", 100.0 * share)
        };
        let [same, other] = match served {
            Some(("v5e", setting)) => {
                let decode = format!("decode.excess_{setting}.hlo[rows=32]/v5e/");
                let other = if setting == "on" { "off" } else { "on" };
                [setting, other].map(|flag| share(&decode, &format!("[against=train.excess_{flag}.hlo]")))
            }
            // Only a training step with the flag is followed there.
            Some(("xla-cpu", "on")) => [share("decode.excess_on.hlo[rows=32]/xla-cpu/", ""), String::new()],
            Some(("xla-cpu", _)) => [String::new(), share("decode.excess_off.hlo[rows=32]/xla-cpu/", "")],
            _ => [String::new(), String::new()],
        };
        let (lost, ties) = (of("lost"), of("tied_tops"));
        lines.push(format!("| {label} | {flag} | {lost} | {ties} | {parted} | {same} | {other} |"));
    };
    for chip in ["v5e", "v6e", "tpu7x", "xla-cpu"] {
        for setting in ["on", "off"] {
            let of = |program: &str, rows: usize| {
                format!("{program}.excess_{setting}.hlo[rows={rows}]/{chip}/default/as-compiled")
            };
            line(chip, setting, &of("prefill", 1536), Some(&of("generate", 64)), Some((chip, setting)));
        }
    }
    let wide = |mode: &str| format!("prefill_f32.before.hlo[rows=1536]/{mode}/off");
    line("f32 activations, v5e, one bf16 pass", "", &wide("v5e/default"), None, None);
    line("... three passes", "", &wide("v5e/high"), None, None);
    line("... six passes", "", &wide("v5e/highest"), None, None);
    let generate = "generate_f32.before.hlo[rows=64]/cpu/f32/off";
    line("f32 activations, plain f32", "", &wide("cpu/f32"), Some(generate), None);
    lines
}

#[test]
fn findings_open_with_the_reports_figures() {
    let page = fs::read_to_string(root().join("docs/findings.md")).unwrap();
    let opening = page.split("\n## ").nth(1).unwrap();
    let written: Vec<&str> = opening.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(written, table());
}

/// README's finding on the filter, row by row: the counts that the summary of `dropped-token` has.
fn filter_rows() -> Vec<String> {
    let summary = fs::read_to_string(root().join("reports/SUMMARY.md")).unwrap();
    let suite = summary.split("\n## dropped-token\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let count = |program: &str, excess: &str| -> String {
        let of = format!("dropped_token of {program} in v5e/default/{excess}, ");
        let line = suite.lines().find(|line| line.contains(&of)).unwrap_or_else(|| panic!("no {of}"));
        let (_, counts) = line.split_once("32000: ").unwrap();
        let (found, rows) = counts.split_once(" of ").unwrap();
        assert!(rows.starts_with("10000 rows"), "{line}");
        found.to_string()
    };
    [
        ("no", count("keep_max", "off")),
        ("yes, as XLA:CPU does", count("keep_max", "cpu")),
        ("yes, as XLA:GPU does", count("keep_max", "gpu")),
        ("yes, with `lax.reduce_precision` on the softmax", count("keep_max[guard=reduce_precision]", "cpu")),
    ]
    .map(|(label, count)| format!("| {label} | {count} |"))
    .to_vec()
}

/// README's finding on a model, row by row, from the table of docs/findings.md.
fn model_rows() -> Vec<String> {
    let rows: Vec<Vec<String>> =
        table().iter().map(|row| row.split('|').map(|cell| cell.trim().to_string()).collect()).collect();
    let cell = |label: &str, flag: &str, column: usize| {
        let row = rows.iter().find(|row| row[1] == label && row[2] == flag).unwrap();
        row[column].clone()
    };
    [
        ("bf16, with the flag", cell("v5e", "on", 3)),
        ("bf16, without it", cell("v5e", "off", 3)),
        ("f32, products in one bf16 pass", cell("f32 activations, v5e, one bf16 pass", "", 3)),
        ("f32, products in three bf16 passes", cell("... three passes", "", 3)),
        ("f32, products in six bf16 passes", cell("... six passes", "", 3)),
    ]
    .map(|(label, count)| format!("| {label} | {count} |"))
    .to_vec()
}

/// The table of two frameworks, row by row: the figures of the suite `frameworks`.
fn framework_rows() -> Vec<String> {
    let report = report("frameworks.csv");
    let row = |chip: &str| {
        let of = |program: &str, rows: usize, column: &str| {
            cell(&report, &format!("frameworks/{program}.hlo[rows={rows}]/{chip}/"), column).to_string()
        };
        let share = |flag: &str| {
            let share: f64 = of(&format!("decode.excess_{flag}"), 4, "ratios_beyond_0.01").parse().unwrap();
            format!("{:.1} %", 100.0 * share)
        };
        let flips = of("prefill.excess_off", 192, "differing_rows");
        format!("| {chip} | {} | {flips} | {} |", share("off"), share("on"))
    };
    ["v5e", "v6e", "tpu7x"].map(row).to_vec()
}

#[test]
fn two_frameworks_are_as_the_report_has_them() {
    let page = fs::read_to_string(root().join("docs/findings.md")).unwrap();
    let section = page.split("\n## ").find(|section| section.starts_with("Two frameworks")).unwrap();
    let written: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(written, framework_rows());
}

#[test]
fn three_findings_of_readme_are_the_reports() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let section = readme.split("\n## ").find(|section| section.starts_with("Three findings")).unwrap();
    let tables = section.split("\n\n").filter(|block| block.starts_with("| "));
    let written: Vec<&str> = tables.flat_map(|table| table.lines().skip(2)).collect();
    assert_eq!(written, [filter_rows(), model_rows(), framework_rows()].concat());
}

/// The figures that every run evaluates stand in the reports of slow runs unchanged.
#[test]
fn slow_reports_hold_those_of_every_run() {
    for name in ["language-model.csv", "training-serving.csv"] {
        let (slow, fresh) = (report(&format!("slow/{name}")), report(name));
        for (case, cells) in &fresh {
            for (column, value) in cells {
                assert_eq!(
                    cell(&slow, case, column),
                    value,
                    "{case}: {column}: run it with --slow, and commit reports/slow"
                );
            }
        }
        assert!(slow.len() > fresh.len());
    }
}
