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
    let json: serde_json::Value = serde_json::from_str(&folder.exits(0, &["gate", "--json"]).out).unwrap();
    assert_eq!(json, serde_json::json!({"version": 1, "cases": 8, "differences": [], "findings": []}));
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
        let differences = json["differences"].as_array().unwrap();
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0]["change"], expected);
        assert_eq!(differences[0]["row"], case.as_str());
    };
    // The baseline is what is edited: a larger old error means that the new one is better.
    gate("max_ulp", "1000", "better");
    gate("max_ulp", "0.001", "worse");
    gate("verdict", "unexpected-finding", "better");
    gate("rows", "5", "changed");
    let mixed = with_cell(&with_cell(&report, 1, "max_ulp", "1000"), 1, "mean_ulp", "0.001");
    folder.write("reports/softmax.csv", &mixed);
    assert!(folder.exits(1, &["gate"]).out.starts_with("worse: softmax.csv "));
}

/// The compiler's program is exchanged by one that loses no token: the row is better, though what showed the finding is empty
/// now, the suite still expects it, and the file is another one.
#[test]
fn a_complete_repair_is_better() {
    let suite = edited(
        KEEP,
        &[
            ("\"keep_max\"", "\"../keep_max.hlo\""),
            ("chip = [\"v5e\"]", "chip = [\"xla-cpu\"]\nresults = [\"p\", \"keep\"]\nscores = \"arg0\""),
            ("EXCESS", "as-compiled"),
            ("n = [256]\n", ""),
            ("rows = [64]", "rows = [512]"),
            ("\"dropped_token\"", "\"dropped_token\"\nexpect = \"finding\"\nbecause = \"what the flag does\""),
        ],
    );
    let folder = Folder::new(&[("keep", &suite)]);
    folder.write("keep_max.hlo", include_str!("../../src/cli/init_files/keep_max.excess_on.hlo"));
    folder.exits(0, &["run"]);
    assert!(folder.read("reports/keep.csv").contains(",expected-finding,"), "{}", folder.read("reports/keep.csv"));
    folder.write("keep_max.hlo", include_str!("../../src/cli/init_files/keep_max.excess_off.hlo"));
    let out = folder.exits(1, &["gate"]).out;
    let told = out.lines().next().unwrap();
    assert!(told.starts_with("better: keep.csv "), "{out}");
    for cell in ["verdict: expected-finding -> missing-finding", " -> 0 (better)", " cells that follow"] {
        assert!(told.contains(cell), "{cell} in {out}");
    }
    assert!(out.contains("\nchanged: fingerprints.csv ") && !out.contains("worse: "), "{out}");
    assert!(out.contains(" 1 better, 0 worse, 0 new, 0 gone, 2 changed against "), "{out}");
    // The suite expects it no longer, which was reviewed as well.
    folder
        .write("suites/keep.toml", &edited(&suite, &[("expect = \"finding\"\nbecause = \"what the flag does\"", "")]));
    let out = folder.exits(1, &["gate"]).out;
    assert!(out.starts_with("better: keep.csv ") && !out.contains("worse: "), "{out}");
}

/// A table without some of its columns.
fn without(text: &str, names: &[&str]) -> String {
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let header = rows.headers().unwrap().clone();
    let mut kept = csv::Writer::from_writer(Vec::new());
    for row in [header.clone()].into_iter().chain(rows.records().map(Result::unwrap)) {
        let cells = row.iter().zip(&header).filter(|(_, name)| !names.contains(name));
        kept.write_record(cells.map(|(cell, _)| cell)).unwrap();
    }
    String::from_utf8(kept.into_inner().unwrap()).unwrap()
}

#[test]
fn reports_of_an_earlier_version_are_compared_by_the_columns_that_they_have() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    let report = folder.read("reports/softmax.csv");
    let old = without(&report, &["program", "mode", "input", "size", "seed"]);
    folder.write("reports/softmax.csv", &old);
    fs::remove_file(folder.path("reports/growth-points.csv")).unwrap();
    let told = folder.exits(1, &["gate"]).out;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 4, "{told}");
    assert!(lines[3].starts_with("Next: "), "{told}");
    assert_eq!(
        lines[0],
        "new: softmax.csv: the baseline has no `input`, `mode`, `program`, `seed`, `size`: an earlier version made it, and \
         `gate --bless` adds them"
    );
    assert_eq!(lines[1], "new: growth-points.csv: the baseline has no such report");
    // What they do have is compared.
    folder.write("reports/softmax.csv", &with_cell(&old, 1, "max_ulp", "0.001"));
    assert!(folder.exits(1, &["gate"]).out.contains("\nworse: softmax.csv softmax/softmax[rows=4]/cpu/default/off/"));
    folder.exits(0, &["gate", "--bless"]);
    assert_eq!(folder.read("reports/softmax.csv"), report);
    folder.exits(0, &["gate"]);
}

/// Points and fits of all seeds repeat what cases and fits of one seed say.
#[test]
fn what_follows_from_other_rows_is_one_difference() {
    let folder = Folder::new(&[("softmax", &edited(SOFTMAX, &[("rows = [4]", "rows = [4]\nseed = [0, 1]")]))]);
    folder.exits(0, &["run"]);
    let (fits, points) = (folder.read("reports/growth.csv"), folder.read("reports/growth-points.csv"));
    // Two seeds and all of them, of two chips; a point a size.
    assert_eq!([fits.lines().count(), points.lines().count()], [1 + 2 * 3, 1 + 2 * 3 * 4]);
    let pooled: Vec<&str> = fits.lines().filter(|line| line.contains("/n/all,")).collect();
    assert!(pooled.iter().all(|line| line.contains(",max_ulp,,,softmax[rows=4],")), "no verdict: {pooled:?}");
    assert!(folder.read("reports/softmax.csv").contains("normal,8,1,"), "{}", pooled.len());
    let values = |text: &str| {
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let header = rows.headers().unwrap().clone();
        let at = |name: &str| header.iter().position(|column| column == name).unwrap();
        let [seed, value, low, fitted, high] = ["seed", "value", "fitted_low", "fitted", "fitted_high"].map(at);
        for row in rows.records().map(Result::unwrap) {
            let number = |at: usize| row[at].parse::<f64>().unwrap();
            assert!(number(low) <= number(fitted) && number(fitted) <= number(high), "{row:?}");
            assert_eq!(row[value].is_empty(), &row[seed] == "all", "{row:?}");
        }
    };
    values(&points);
    let told = |edit: &dyn Fn(usize) -> String, change: &str| {
        let lines = points.lines().enumerate();
        let edited: Vec<String> = lines
            .map(|(at, line)| {
                let mut cells: Vec<String> = line.split(',').map(str::to_string).collect();
                if at > 0 && !cells[7].is_empty() {
                    cells[7] = edit(at);
                }
                cells.join(",")
            })
            .collect();
        folder.write("reports/growth-points.csv", &(edited.join("\n") + "\n"));
        let told = folder.exits(1, &["gate"]).out;
        let begins = format!("{change}: growth-points.csv: 16 rows that follow from other reports, such as softmax/");
        assert!(told.starts_with(&begins) && told.lines().count() == 3, "{told}");
    };
    // The baseline is what is edited, and its metric is an error.
    told(&|_| "1000".to_string(), "better");
    told(&|_| "0.001".to_string(), "worse");
    told(&|at| if at % 2 == 0 { "1000" } else { "0.001" }.to_string(), "worse");
    folder.write("reports/growth-points.csv", &points);
    folder.write("reports/growth.csv", &fits.lines().filter(|l| !l.contains("/n/all,")).collect::<Vec<_>>().join("\n"));
    let told = folder.exits(1, &["gate"]).out;
    assert!(told.starts_with("new: growth.csv: 2 rows that follow") && told.lines().count() == 3, "{told}");
}

#[test]
fn the_gate_tells_new_from_gone_and_bless_accepts() {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("tiny", TINY)]);
    assert!(folder.exits(1, &["gate"]).out.contains("new: tiny.csv: the baseline has no such report"));
    assert_eq!(folder.names("."), ["suites"]);
    folder.exits(0, &["gate", "--bless"]);
    let good = folder.bytes("reports");
    assert_eq!(
        folder.names("reports"),
        ["SUMMARY.md", "fingerprints.csv", "growth-points.csv", "growth.csv", "softmax.csv", "tiny.csv"]
    );
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
    mends("SUMMARY.md", "edited\n", "changed: SUMMARY.md: line 1: `edited` -> `# Summary`");
    let page = folder.read("reports/SUMMARY.md");
    mends("SUMMARY.md", page.trim_end(), "changed: SUMMARY.md: the last line ends otherwise");
    // What editors and version control do to a text.
    let windows = report.replace('\n', "\r\n");
    mends("softmax.csv", &windows, "worse: softmax.csv: its lines end in CR LF");
    mends("softmax.csv", &format!("\u{feff}{report}"), "worse: softmax.csv: it begins with a byte order mark");
    mends("softmax.csv", &format!("{report}=======\n{report}"), "worse: softmax.csv: line 10 is the marker of a merge");
    let twice = format!(
        "worse: softmax.csv: the baseline is no report: line 10 is a second row of `{}`",
        last.split(',').next().unwrap()
    );
    mends("softmax.csv", &format!("{report}{last}\n"), &twice);
    mends("softmax.csv", &format!("{report}half a li"), "worse: softmax.csv: the baseline is no report");
    mends("softmax.csv", "", "new: softmax.csv ");
    mends("old.csv", &report, "gone: old.csv: no suite gives this report");
    // What is no report is told, and nothing depends on it.
    folder.write("reports/notes.csv", "a,b\n1,2\n");
    assert!(folder.exits(0, &["gate"]).out.starts_with("stray: notes.csv: it is no report\n"));
    assert!(folder.exits(0, &["gate", "--bless"]).out.contains("0 differences accepted"));
    assert_eq!(folder.read("reports/notes.csv"), "a,b\n1,2\n");
    // A suite that is gone takes its report and its lines of others along, and no other file.
    fs::remove_file(folder.path("suites/tiny.toml")).unwrap();
    let out = folder.exits(1, &["gate"]).out;
    assert!(out.contains("\ngone: tiny.csv: no suite gives this report") && out.contains("gone: SUMMARY.md"), "{out}");
    folder.exits(0, &["gate", "--bless"]);
    assert_eq!(
        folder.names("reports"),
        ["SUMMARY.md", "fingerprints.csv", "growth-points.csv", "growth.csv", "notes.csv", "softmax.csv"]
    );
    folder.exits(0, &["gate"]);
}

#[test]
fn bless_does_not_excuse_an_unexpected_finding() {
    let folder = Folder::new(&[("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let blessed = folder.exits(1, &["gate", "--bless"]).out;
    assert!(
        blessed.contains("1 finding not expected: --bless accepts reports, and no finding.\nNext: `ulpgate explain "),
        "{blessed}"
    );
    let out = folder.exits(1, &["gate"]).out;
    assert!(out.contains("0 better, 0 worse, 0 new, 0 gone") && out.contains("1 finding not expected"), "{out}");
    let named = "unexpected-finding: dropped_token in keep/keep_max";
    let finding = out.lines().position(|line| line.starts_with(named)).expect("the finding is named");
    assert!(out.lines().nth(finding + 1).unwrap().starts_with("  "), "with its evidence: {out}");
    let json: serde_json::Value = serde_json::from_str(&folder.exits(1, &["gate", "--json"]).out).unwrap();
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["check"], "dropped_token");
    assert_eq!(findings[0]["verdict"], "unexpected-finding");
    assert!(!findings[0]["evidence"].as_array().unwrap().is_empty());
}

/// A suite whose key changes and whose figures do not.
#[test]
fn an_exchanged_suite_is_noticed_though_its_figures_stay() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.exits(0, &["run"]);
    folder.write("suites/tiny.toml", &format!("# Comments do not count.\n\n{TINY}"));
    folder.exits(0, &["gate"]);
    folder
        .write("suites/tiny.toml", &edited(TINY, &[("\"dropped_token\" }", "\"dropped_token\", expect = \"pass\" }")]));
    for gate in [&["gate"][..], &["gate", "tiny"]] {
        let out = folder.exits(1, gate).out;
        assert!(out.starts_with("changed: fingerprints.csv tiny tiny.toml: fingerprint: "), "{out}");
        assert_eq!(out.lines().count(), 3, "{out}");
    }
}

#[test]
fn a_part_of_the_cases_is_held_against_its_own_rows() {
    let slow = edited(SOFTMAX, &[("rows = [4]", "rows = [4]\nslow = true")]);
    let folder = Folder::new(&[("softmax", SOFTMAX), ("tiny", TINY)]);
    folder.exits(0, &["run"]);
    let report = folder.read("reports/softmax.csv");
    let parts: [&[&str]; 4] =
        [&["--filter", "/cpu/"], &["--shard", "1/2"], &["--shard", "2/2"], &["softmax", "--filter", "v5e"]];
    for part in parts {
        let out = folder.exits(0, &[&["gate"], part].concat()).out;
        assert!(out.contains("0 better, 0 worse, 0 new, 0 gone"), "{out}");
        let refused = folder.exits(2, &[&["gate", "--bless"], part].concat()).err;
        assert!(refused.contains("leave out --filter and --shard"), "{refused}");
    }
    // A row that no suite gives any more is missed by the part that it would belong to.
    let last = report.lines().last().unwrap();
    folder.write("reports/softmax.csv", &format!("{report}{}\n", last.replace("normal/8/0", "normal/9/0")));
    assert!(
        folder.exits(1, &["gate", "--filter", "v5e"]).out.starts_with("gone: softmax.csv softmax/softmax[rows=4]/v5e")
    );
    folder.exits(0, &["gate", "--filter", "/cpu/"]);
    folder.write("reports/softmax.csv", &report);
    // Slow cases have reports of their own.
    folder.write("suites/softmax.toml", &slow);
    assert!(folder.exits(2, &["gate", "--slow"]).err.contains("reports/slow does not exist"));
    folder.exits(0, &["gate", "--slow", "--bless"]);
    assert_eq!(folder.read("reports/slow/softmax.csv"), report);
    folder.exits(0, &["gate", "--slow"]);
}

/// A column or row of a committed report that is of no case is told, whatever it says.
#[test]
fn the_gate_tells_columns_and_rows_that_no_run_writes() {
    let slow = "[[matrix]]\nprogram = [\"softmax\"]\nchip = [\"v5e\"]\ninput = [\"normal\"]\nn = [12]\nrows = [4]\n\
                slow = true\nmetric = [\"max_ulp\"]\n";
    let folder = Folder::new(&[("softmax", &format!("{SOFTMAX}\n{slow}"))]);
    folder.exits(0, &["run"]);
    folder.exits(0, &["gate", "--slow", "--bless"]);
    let report = folder.read("reports/softmax.csv");
    let with_column = |name: &str, cells: &dyn Fn(&str) -> String| {
        let lines = report.lines().enumerate();
        let lines =
            lines.map(|(at, line)| format!("{line},{}\n", if at == 0 { name.to_string() } else { cells(line) }));
        lines.collect::<String>()
    };
    let tells = |text: &str, gates: &[&[&str]], told: &str| {
        folder.write("reports/softmax.csv", text);
        for gate in gates {
            let out = folder.exits(1, &[&["gate"], *gate].concat()).out;
            assert!(out.starts_with(told), "{out} does not start with {told}");
        }
        folder.exits(0, &["gate", "--bless"]);
        assert_eq!(folder.read("reports/softmax.csv"), report);
    };
    // Of a column that stands twice the second one was taken, and the first overlooked.
    let twice = "worse: softmax.csv: the baseline is no report: the column `max_ulp` stands twice";
    let all: &[&[&str]] = &[&[], &["softmax"], &["--filter", "/cpu/"], &["--shard", "1/2"]];
    tells(&with_column("max_ulp", &|_| "0".to_string()), all, twice);
    let at = report.lines().next().unwrap().split(',').position(|column| column == "max_ulp").unwrap();
    tells(&with_column("max_ulp", &|line| line.split(',').nth(at).unwrap().to_string()), all, twice);
    // A column without a cell, and columns in another order.
    let otherwise = "worse: softmax.csv: the same rows, written otherwise: line 1: ";
    tells(&with_column("mine", &|_| String::new()), &[&[], &["softmax"]], otherwise);
    let turned = |line: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        cells[1..].reverse();
        cells.join(",") + "\n"
    };
    tells(&report.lines().map(turned).collect::<String>(), &[&[], &["softmax"]], otherwise);
    tells(
        report.trim_end(),
        &[&[]],
        "worse: softmax.csv: the same rows, written otherwise: the last line ends otherwise",
    );
    // A row of a slow case, which this report cannot have: of the run of slow cases, and made up.
    let row = folder.read("reports/slow/softmax.csv");
    let row = row.lines().find(|line| line.contains("/normal/12/0,")).unwrap().to_string();
    let gone = "gone: softmax.csv softmax/softmax[rows=4]/v5e/default/off/normal/12/0";
    tells(&format!("{report}{row}\n"), &[&[], &["softmax"], &["--filter", "v5e"]], gone);
    folder.write("reports/softmax.csv", &format!("{report}{}\n", row.replace("pass", "finding")));
    for gate in [&["gate"][..], &["gate", "--filter", "v5e"], &["gate", "--shard", "1/2"]] {
        assert!(folder.exits(1, gate).out.starts_with(gone), "{gate:?}");
    }
    folder.exits(0, &["gate", "--filter", "/cpu/"]);
    folder.write("reports/softmax.csv", &report);
    folder.exits(0, &["gate"]);
    folder.exits(0, &["gate", "--slow"]);
}
