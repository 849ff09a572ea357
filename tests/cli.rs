//! The command line from outside: exit codes, messages, reports, gate and journal, each in a folder of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A suite of one case in which nothing is found. Tests change single lines of it.
const TINY: &str = r#"claim = "The most probable token survives"
why = "A token that is lost is never sampled"
source = "FACTS 1.5"

[[matrix]]
program = ["argmax"]
chip = ["v5e"]
input = ["normal"]
n = [8]
rows = [2]
check = [{ kind = "dropped_token" }]
"#;

/// A suite whose mask loses tokens under the CPU compiler's excess precision, and none without it.
const KEEP: &str = r#"claim = "The mask keeps the most probable token"
why = "A token that is lost is never sampled"
source = "FACTS 1.5"

[[matrix]]
program = ["keep_max"]
chip = ["v5e"]
excess = ["EXCESS"]
input = ["normal"]
n = [256]
rows = [64]

[[matrix.check]]
kind = "dropped_token"
"#;

/// A suite with several subjects, metrics, a bound and a fit.
const SOFTMAX: &str = r#"claim = "Softmax stays inside its bound"
why = "Samplers decide on it"
source = "FACTS 4"

[[matrix]]
program = ["softmax"]
chip = ["v5e", "cpu"]
input = ["normal"]
n = [8, 16, 32, 64]
rows = [4]
metric = ["max_ulp", "mean_ulp"]

[[matrix.check]]
kind = "bound"

[[matrix.check]]
kind = "growth"
metric = "max_ulp"
slope = 0.0
expect = "report"
because = "Sizes are too small to say much."
"#;

/// A working directory with suites of its own, removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run of the program left.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Folder {
    fn new(suites: &[(&str, &str)]) -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ulpgate-cli-{}-{number}", std::process::id()));
        let folder = Folder(path);
        fs::create_dir_all(folder.0.join("suites")).unwrap();
        suites.iter().for_each(|(name, text)| folder.write(&format!("suites/{name}.toml"), text));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names in a folder, sorted; none if it does not exist.
    fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).into_iter().flatten();
        let names: BTreeSet<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.into_iter().collect()
    }

    /// All files below a folder with their bytes.
    fn bytes(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let read = |file: String| (file.clone(), fs::read(self.path(name).join(file)).unwrap());
        self.names(name).into_iter().map(read).collect()
    }

    fn ran(&self, arguments: &[&str]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).current_dir(&self.0).output();
        let Output { status, stdout, stderr } = output.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }

    /// Runs and holds the exit code to `code`; an error is one line on standard error.
    #[track_caller]
    fn exits(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.ran(arguments);
        assert_eq!(ran.code, code, "{arguments:?}\n{}\n{}", ran.out, ran.err);
        if code == 2 {
            assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
            assert!(ran.err.starts_with("ulpgate: ") && ran.err.ends_with('\n'), "{}", ran.err);
        }
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }
}

/// A suite with single texts replaced, each of which must be there once.
#[track_caller]
fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_string(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    })
}

/// The tiny suite with one edit must be refused at `place` with all of `said`.
#[track_caller]
fn refused(edit: (&str, &str), place: &str, said: &[&str]) {
    let folder = Folder::new(&[("tiny", &edited(TINY, &[edit]))]);
    let Ran { err, .. } = folder.exits(2, &["run"]);
    let place = format!("ulpgate: {}{place}: ", Path::new("suites").join("tiny.toml").display());
    assert!(err.starts_with(&place), "{err} does not start with {place}");
    said.iter().for_each(|said| assert!(err.contains(said), "{err} does not contain {said}"));
    assert_eq!(folder.names("."), ["suites"], "a refused suite leaves nothing behind");
}

#[test]
fn what_is_expected_exits_with_0_and_reports() {
    let folder = Folder::new(&[("tiny", TINY), ("softmax", SOFTMAX)]);
    let ran = folder.exits(0, &[]);
    assert!(ran.out.contains("9 cases") && ran.out.contains("0 not expected"), "{}", ran.out);
    assert_eq!(folder.names("reports"), ["SUMMARY.md", "growth.csv", "softmax.csv", "tiny.csv"]);
    let report = folder.read("reports/tiny.csv");
    assert!(report.starts_with("case,verdict,dropped_token,"), "{report}");
    assert!(report.contains("\ntiny/argmax[rows=2]/v5e/default/off/normal/8/0,pass,pass,0,"), "{report}");
    let report = folder.read("reports/softmax.csv");
    assert_eq!(report.lines().count(), 9, "{report}");
    assert!(report.lines().skip(1).is_sorted(), "{report}");
    assert_eq!(folder.read("reports/growth.csv").lines().count(), 3);
    assert!(folder.read("reports/SUMMARY.md").contains("| tiny |"));
    // A second run changes nothing and says so.
    let before = folder.bytes("reports");
    assert!(folder.exits(0, &["run"]).out.contains("reports is unchanged"));
    assert_eq!(folder.bytes("reports"), before);
}

#[test]
fn an_unexpected_finding_exits_with_1_and_shows_its_evidence() {
    let folder = Folder::new(&[("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let ran = folder.exits(1, &["run"]);
    assert!(
        ran.out.contains("unexpected-finding: dropped_token in keep/keep_max[rows=64]/v5e/default/cpu/"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("is the most probable") && ran.out.contains("(0x"), "{}", ran.out);
    assert!(folder.read("reports/keep.csv").contains(",unexpected-finding,finding,"));
    let folder = Folder::new(&[("keep", &edited(KEEP, &[("EXCESS", "off")]))]);
    folder.exits(0, &["run"]);
}

#[test]
fn an_expected_finding_must_occur() {
    let expected = format!("{KEEP}expect = \"finding\"\nbecause = \"rule B (FACTS 1.3)\"\n");
    let folder = Folder::new(&[("keep", &edited(&expected, &[("EXCESS", "cpu")]))]);
    folder.exits(0, &["run"]);
    assert!(folder.read("reports/keep.csv").contains(",expected-finding,finding,"));
    let folder = Folder::new(&[("keep", &edited(&expected, &[("EXCESS", "off")]))]);
    let ran = folder.exits(1, &["run"]);
    assert!(ran.out.contains("missing-finding") && ran.out.contains("expected because rule B"), "{}", ran.out);
}

#[test]
fn what_is_only_reported_exits_with_0() {
    let reported = format!("{KEEP}expect = \"report\"\nbecause = \"read in the source, not measured\"\n");
    for excess in ["off", "cpu"] {
        Folder::new(&[("keep", &edited(&reported, &[("EXCESS", excess)]))]).exits(0, &["run"]);
    }
}

#[test]
fn malformed_suites_are_refused_where_they_are_wrong() {
    refused(("n = [8]", "n = [8"), ":10:1", &["comma"]);
    refused(("n = [8]", "n = [8]\nmetrics = [\"max_ulp\"]"), ":10:1", &["unknown field `metrics`", "`metric`"]);
    refused(("source =", "sauce ="), ":3:1", &["unknown field `sauce`", "`source`"]);
    refused(("claim = \"The most probable token survives\"\n", ""), ":1:1", &["missing field `claim`"]);
    refused(("chip = [\"v5e\"]\n", ""), ":5:1", &["missing field `chip`"]);
    refused(("[\"argmax\"]", "\"argmax\""), ":6:11", &["string", "sequence"]);
    refused(("n = [8]", "n = [-8]"), ":9:6", &["-8"]);
    refused(("n = [8]", "n = [8.5]"), ":9:6", &["8.5"]);
    refused(("n = [8]", "n = [nan]"), ":9:6", &["NaN"]);
    refused(("kind =", "kindly ="), ":11:12", &["unknown field `kindly`"]);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    refused(("argmax", "argmx"), ":6:12", &["unknown program `argmx`", "did you mean `argmax`?"]);
    refused(("argmax", "argmax[dtipe=f32]"), ":6:12", &["no parameter `dtipe`", "did you mean `dtype`?"]);
    refused(("argmax", "argmax[dtype=f33]"), ":6:12", &["dtype = `f33`", "bf16, f16, f32"]);
    refused(("v5e", "v5f"), ":7:9", &["unknown chip `v5f`", "did you mean `v5e`?"]);
    refused(
        ("n = [8]", "n = [8]\nprecision = [\"hihg\"]"),
        ":10:14",
        &["unknown precision `hihg`", "did you mean `high`?"],
    );
    refused(("n = [8]", "n = [8]\nexcess = [\"off\", \"cpi\"]"), ":10:18", &["unknown excess", "did you mean `cpu`?"]);
    refused(
        ("n = [8]", "n = [8]\nrefinement = [\"ac=chain\"]"),
        ":10:15",
        &["unknown refinement", "did you mean `acc`?"],
    );
    refused(("n = [8]", "n = [8]\nrefinement = [\"acc=chan\"]"), ":10:15", &["`chan` of acc", "did you mean `chain`?"]);
    refused(("n = [8]", "n = [8]\nrefinement = [\"acc\"]"), ":10:15", &["`acc` is not of the form key=value"]);
    refused(("normal", "nromal"), ":8:10", &["unknown input `nromal`", "did you mean `normal`?"]);
    refused(("normal", "normal[scal=2]"), ":8:10", &["no parameter `scal`", "did you mean `scale`?"]);
    refused(("normal", "normal[scale=nan]"), ":8:10", &["`scale=nan` is not a number"]);
    refused(("n = [8]", "n = [8]\nmetric = [\"max_upl\"]"), ":10:11", &["unknown metric", "did you mean `max_ulp`?"]);
    refused(("n = [8]", "n = [8]\noutput = \"tokn\""), ":10:10", &["no result `tokn`", "did you mean `token`?"]);
    refused(("dropped_token", "droped_token"), ":11:10", &["unknown check", "did you mean `dropped_token`?"]);
    refused(("\"dropped_token\"", "\"dropped_token\", expect = \"fail\""), ":11:45", &["`fail`", "`finding`"]);
}

#[test]
fn contradictory_settings_are_refused() {
    refused(("n = [8]", "n = [8, 8]"), ":5:1", &["a second time", "tiny/argmax[rows=2]/v5e/default/off/normal/8/0"]);
    refused(("argmax", "argmax[rows=4]"), ":10:9", &["rows are given here and in argmax[rows=4]"]);
    refused(("argmax", "argmax[dtype=f32,dtype=bf16]"), ":6:12", &["`dtype` is given twice"]);
    refused(("n = [8]", "n = [8]\nrefinement = [\"acc=chain+acc=block\"]"), ":10:15", &["acc is given twice"]);
    refused(("n = [8]", "n = [8]\nmetric = [\"max_ulp\"]"), ":10:11", &["no float result to measure"]);
    let check = |check: &'static str| ("\"dropped_token\"", check);
    refused(
        check("\"growth\", metric = \"max_ulp\", slope = 1"),
        ":11:10",
        &["not measured", "add `metric = [\"max_ulp\"]`"],
    );
    refused(check("\"growth\", slope = 1"), ":11:10", &["needs `metric`"]);
    refused(check("\"growth\", metric = \"max_ulp\""), ":11:10", &["needs the expected `slope`"]);
    refused(check("\"growth\", metric = \"max_ulp\", slope = nan"), ":11:10", &["slope = NaN"]);
    refused(check("\"dropped_token\", expect = \"finding\""), ":11:10", &["needs a `because`"]);
    refused(check("\"dropped_token\", expect = \"report\", because = \"\""), ":11:10", &["needs a `because`"]);
    refused(check("\"dropped_token\", because = \"known\""), ":11:10", &["`because`", "`expect`"]);
    refused(check("\"ties\", allowance = 0.5"), ":11:10", &["check ties takes no `allowance`", "equals"]);
    refused(check("\"dropped_token\", allowance = nan"), ":11:10", &["allowance = NaN is no share"]);
    refused(check("\"dropped_token\", allowance = -0.5"), ":11:10", &["allowance = -0.5 is no share"]);
    refused(check("\"dropped_token\", output = \"tokens\""), ":11:10", &["no result `tokens`", "token"]);
    refused(check("\"self_consistency\""), ":11:10", &["check self_consistency"]);
    refused(check("\"agreement\""), ":11:10", &["`against` is needed"]);
    refused(check("\"nucleus\""), ":11:10", &["check nucleus"]);
}

#[test]
fn growth_and_metrics_are_asked_for_once() {
    let growth = "kind = \"growth\"\nmetric = \"max_ulp\"\n";
    let twice = format!("{SOFTMAX}\n[[matrix.check]]\n{growth}slope = 1.0\n");
    let err = Folder::new(&[("softmax", &twice)]).exits(2, &["run"]).err;
    assert!(err.contains("softmax.toml:23:1: growth of `max_ulp` is asked for twice"), "{err}");
    let twice = edited(SOFTMAX, &[("\"mean_ulp\"", "\"max_ulp\"")]);
    let err = Folder::new(&[("softmax", &twice)]).exits(2, &["run"]).err;
    assert!(err.contains("softmax.toml:11:11: metric `max_ulp` is listed twice"), "{err}");
    let misspelt = edited(SOFTMAX, &[("metric = \"max_ulp\"", "metric = \"max_upl\"")]);
    let err = Folder::new(&[("softmax", &misspelt)]).exits(2, &["run"]).err;
    assert!(err.contains("which is not measured; did you mean `max_ulp`?"), "{err}");
}

#[test]
fn sizes_that_make_no_case_are_refused() {
    refused(("n = [8]", "n = [0]"), ":9:6", &["n is 0"]);
    refused(("rows = [2]", "rows = [0]"), ":10:9", &["rows is 0"]);
    refused(("rows = [2]", "rows = [9000000000000000000]"), ":10:9", &["rows is 9000000000000000000"]);
    refused(("argmax", "top_k[k=9]"), ":9:6", &["k = 9 is above the 8 values"]);
    refused(("argmax", "top_k[k=0]"), ":9:6", &["k is 0"]);
    refused(("argmax", "top_k[k=x]"), ":9:6", &["k = `x` is not a whole number"]);
    for (key, list) in [("program", "[\"argmax\"]"), ("chip", "[\"v5e\"]"), ("input", "[\"normal\"]"), ("n", "[8]")] {
        let (from, to) = (format!("{key} = {list}"), format!("{key} = []"));
        refused((&from, &to), ":5:1", &[&format!("`{key}` is an empty list")]);
    }
    for key in ["precision", "excess", "refinement", "seed"] {
        refused(("n = [8]", &format!("n = [8]\n{key} = []")), ":5:1", &[&format!("`{key}` is an empty list")]);
    }
    let head = TINY.split("[[matrix]]").next().unwrap();
    let err = Folder::new(&[("tiny", &format!("{head}matrix = []\n"))]).exits(2, &["run"]).err;
    assert!(err.contains("no cases"), "{err}");
}

#[test]
fn sizes_beyond_memory_are_refused() {
    for n in ["1000000000000000", "4611686018427387904"] {
        let folder = Folder::new(&[("tiny", &edited(TINY, &[("n = [8]", &format!("n = [{n}]"))]))]);
        let err = folder.exits(2, &["run"]).err;
        assert!(err.contains(&format!("/normal/{n}/0")) && err.contains("memory"), "{err}");
    }
}

#[test]
fn folders_and_files_that_cannot_be_used_are_refused() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let below_a_file = folder.exits(2, &["run", "--out", "suites/tiny.toml/reports"]).err;
    assert!(below_a_file.contains("suites/tiny.toml/reports") && below_a_file.contains("--out"), "{below_a_file}");
    folder.exits(2, &["run", "--out", "suites/tiny.toml"]);
    folder.exits(2, &["gate", "--baseline", "suites/tiny.toml"]);
    folder.exits(2, &["gate", "--baseline", "suites/tiny.toml", "--bless"]);
    assert!(folder.exits(2, &["gate", "--baseline", "missing"]).err.contains("does not exist"));
    assert!(folder.exits(2, &["hlo"]).err.contains("a subcommand is missing"));
    assert_eq!(folder.read("suites/tiny.toml"), TINY);
    fs::write(folder.path("suites/tiny.toml"), [0xff, 0xfe]).unwrap();
    assert!(folder.exits(2, &["run"]).err.contains("tiny.toml"));
    fs::remove_file(folder.path("suites/tiny.toml")).unwrap();
    assert!(folder.exits(2, &["run"]).err.contains("no suites"));
    folder.write("suites/growth.toml", TINY);
    assert!(folder.exits(2, &["run"]).err.contains("no suite may be called growth"));
    fs::remove_dir_all(folder.path("suites")).unwrap();
    for command in ["run", "gate"] {
        assert!(folder.exits(2, &[command]).err.contains("run from the folder that holds `suites`"));
    }
    assert_eq!(folder.names("."), [""; 0]);
}

#[test]
fn wrong_arguments_are_refused_in_one_line() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let says = |arguments: &[&str], said: &str| {
        let err = folder.exits(2, arguments).err;
        assert!(err.contains(said), "{arguments:?}: {err}");
    };
    says(&["run", "tinny"], "unknown suite `tinny`; did you mean `tiny`?");
    says(&["gate", "tinny"], "unknown suite `tinny`; did you mean `tiny`?");
    for shard in ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "", "-1/2"] {
        says(&["run", &format!("--shard={shard}")], "is not K/N");
    }
    for jobs in ["0", "1000000"] {
        says(&["run", "--jobs", jobs], &format!("--jobs {jobs}"));
        says(&["gate", "--jobs", jobs], &format!("--jobs {jobs}"));
    }
    says(&["run", "--jobs", "many"], "many");
    says(&["run", "--filter", "nothing has this"], "no case matches");
    says(&["run", "--fliter", "x"], "--filter");
    says(&["rnu"], "rnu");
    says(&["list", "chip"], "chips");
    says(&["explain"], "<NAME>");
    assert_eq!(folder.names("."), ["suites"], "a refused run leaves nothing behind");
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        assert!(folder.exits(0, arguments).out.contains("ulpgate"));
    }
}

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
    assert_eq!(folder.names("one").len(), 5);
    assert_eq!(folder.bytes("one"), folder.bytes("four"));
}

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

/// A folder with a finished run, and a journal of the same run.
fn journaled() -> (Folder, String) {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("tiny", TINY)]);
    folder.exits(0, &["run"]);
    // A part with --resume keeps its journal for the whole.
    folder.exits(0, &["run", "--resume", "--filter", "/", "--jobs", "1"]);
    let journal = folder.read("reports/.journal.jsonl");
    assert_eq!(journal.lines().count(), 10, "{journal}");
    fs::remove_file(folder.path("reports/.journal.jsonl")).unwrap();
    (folder, journal)
}

#[test]
fn a_journal_resumes_after_its_last_whole_line() {
    let (folder, journal) = journaled();
    let expected = folder.bytes("reports");
    let ends: Vec<usize> = journal.match_indices('\n').map(|(at, _)| at + 1).collect();
    let mut cuts =
        vec![0, 1, ends[0] - 1, ends[0], ends[0] + 1, ends[4], ends[4] - 1, journal.len() - 1, journal.len()];
    cuts.extend((0..journal.len()).step_by(487));
    for cut in cuts {
        fs::remove_dir_all(folder.path("reports")).unwrap();
        fs::create_dir(folder.path("reports")).unwrap();
        folder.write("reports/.journal.jsonl", &journal[..cut]);
        folder.exits(0, &["run", "--resume"]);
        assert_eq!(folder.bytes("reports"), expected, "cut at {cut}; the journal is removed at the end");
    }
    // Half of a character is cut off like half of a line.
    fs::remove_dir_all(folder.path("reports")).unwrap();
    fs::create_dir(folder.path("reports")).unwrap();
    let cut = [&journal.as_bytes()[..ends[2]], b"{\"case\":\"\xc3"].concat();
    fs::write(folder.path("reports/.journal.jsonl"), cut).unwrap();
    folder.exits(0, &["run", "--resume"]);
    assert_eq!(folder.bytes("reports"), expected);
}

#[test]
fn records_of_a_journal_are_taken_and_not_evaluated_again() {
    let (folder, journal) = journaled();
    let planted = journal.replacen("\"rows\":2", "\"rows\":7", 1);
    assert_ne!(planted, journal);
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run", "--resume"]);
    assert!(folder.read("reports/tiny.csv").contains(",7,"));
    // Without --resume a journal is of no account.
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run"]);
    assert!(!folder.read("reports/tiny.csv").contains(",7,"));
}

#[test]
fn a_damaged_journal_is_refused_where_it_is_damaged() {
    let (folder, journal) = journaled();
    let before = folder.bytes("reports");
    let mut lines: Vec<&str> = journal.lines().collect();
    lines[4] = "{\"case\": 5";
    let damaged = lines.join("\n") + "\n";
    folder.write("reports/.journal.jsonl", &damaged);
    let err = folder.exits(2, &["run", "--resume"]).err;
    assert!(err.contains(".journal.jsonl:5: the journal is damaged") && err.contains("without --resume"), "{err}");
    assert_eq!(folder.read("reports/.journal.jsonl"), damaged, "nothing is lost");
    folder.write("reports/.journal.jsonl", "no journal\n");
    assert!(folder.exits(2, &["run", "--resume"]).err.contains(".journal.jsonl:1: the journal is damaged"));
    folder.exits(0, &["run"]);
    assert_eq!(folder.bytes("reports"), before);
}

#[test]
fn a_journal_of_other_suites_is_begun_anew() {
    let (folder, journal) = journaled();
    let planted = journal.replacen("\"rows\":2", "\"rows\":7", 1);
    // Another text of a suite of the same name.
    folder.write("suites/tiny.toml", &format!("{TINY}# changed\n"));
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run", "--resume"]);
    assert!(!folder.read("reports/tiny.csv").contains(",7,"));
    // Another choice of suites.
    folder.write("suites/tiny.toml", TINY);
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run", "--resume", "tiny"]);
    assert!(!folder.read("reports/tiny.csv").contains(",7,"));
}

#[test]
fn everything_listed_is_explained() {
    let folder = Folder::new(&[("tiny", TINY), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let text = folder.exits(0, &["list"]).out;
    let all: serde_json::Value = serde_json::from_str(&folder.exits(0, &["list", "--json"]).out).unwrap();
    let entries = all.as_array().unwrap();
    let mut kinds = BTreeSet::new();
    for entry in entries {
        let [kind, name, doc] = ["kind", "name", "doc"].map(|key| entry[key].as_str().unwrap());
        kinds.insert(kind.to_string());
        assert!(text.contains(name) && !doc.is_empty(), "{kind} {name}");
        let explained = folder.exits(0, &["explain", name]).out;
        assert!(explained.contains(doc), "{kind} {name}: {explained}");
    }
    assert_eq!(kinds.len(), 10, "{kinds:?}");
    for kind in kinds {
        let listed: serde_json::Value = serde_json::from_str(&folder.exits(0, &["list", &kind, "--json"]).out).unwrap();
        let of_kind: Vec<_> = entries.iter().filter(|e| e["kind"] == kind.as_str()).cloned().collect();
        assert_eq!(listed, serde_json::Value::Array(of_kind));
        assert!(folder.exits(0, &["list", &kind]).out.starts_with(&format!("{kind}\n")));
    }
}

#[test]
fn modes_programs_and_cases_are_explained() {
    let folder = Folder::new(&[("tiny", TINY), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let mode = folder.exits(0, &["explain", "v5e/default/tpu+acc=pairwise"]).out;
    assert!(mode.contains("chip v5e: ") && mode.contains("acc=pairwise: "), "{mode}");
    let rewritten = folder.exits(0, &["explain", "keep_max/v5e/default/cpu"]).out;
    assert!(rewritten.contains("As the compiler leaves it:") && rewritten.contains("bf16["), "{rewritten}");
    let kept = folder.exits(0, &["explain", "keep_max/v5e/default/off"]).out;
    assert!(kept.contains("leaves the program as it is declared"), "{kept}");
    let case = folder.exits(0, &["explain", "keep/keep_max[rows=64]/v5e/default/cpu/normal/256/0"]).out;
    assert!(case.contains("Why it matters: ") && case.contains("check: dropped_token (expected: pass)"), "{case}");
    for (wrong, said) in [
        ("v5e/defalt/cpu", "default"),
        ("keep_max/v5e/defalt/cpu", "default"),
        ("keep_max[guard=foo]/v5e/default/cpu", "guard"),
        ("keep/keep_max/v5e/default/cpu", "the nearest case is keep/keep_max[rows=64]"),
    ] {
        let err = folder.exits(2, &["explain", wrong]).err;
        assert!(err.contains(said) && (wrong.starts_with("keep/") || !err.contains("nearest case")), "{err}");
    }
    // No suites are needed for what is not in them.
    fs::remove_dir_all(folder.path("suites")).unwrap();
    for name in ["keep_max", "v5e/default/off", "top_k[k=4]", "top_k[k=4]/cpu/f32/off"] {
        folder.exits(0, &["explain", name]);
    }
    folder.exits(0, &["list"]);
    folder.exits(2, &["list", "suites"]);
}

#[test]
fn unknown_names_are_not_explained() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let says = |name: &str, said: &str| {
        let ran = folder.exits(2, &["explain", name]);
        assert!(ran.err.contains(said), "{name}: {}", ran.err);
        assert_eq!(ran.out, "", "{name}");
    };
    says("argmx", "did you mean `argmax`?");
    says("tinny", "did you mean `tiny`?");
    says("v5e/default/of", "did you mean `off`?");
    says("tiny/argmax[rows=2]/v5e/default/off/normal/9/0", "tiny/argmax[rows=2]/v5e/default/off/normal/8/0");
    says("xyzzy-plugh-frotz", "`ulpgate list`");
    says("", "`ulpgate list`");
    says("two\nlines", "two lines");
    says("/", "no mode");
    says("top_k[k=5000]", "failed to build top_k[k=5000] for n = 1024");
    says("top_k[k=5000]/v5e/default/off", "failed to build top_k[k=5000] for n = 1024");
}
