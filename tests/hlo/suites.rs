//! Suites over HLO files from outside: what a suite may say of a file, and what is refused, where.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

/// Picks the token of the largest of 2 x, four rows of eight at a time.
const PICK: &str = r#"HloModule pick

pick_max {
  value.1 = bf16[] parameter(0)
  index.1 = s32[] parameter(1)
  value.2 = bf16[] parameter(2)
  index.2 = s32[] parameter(3)
  gt = pred[] compare(value.1, value.2), direction=GT
  ne = pred[] compare(value.1, value.1), direction=NE
  better = pred[] or(gt, ne)
  value = bf16[] select(better, value.1, value.2)
  eq = pred[] compare(value.1, value.2), direction=EQ
  lt = pred[] compare(index.1, index.2), direction=LT
  earlier = pred[] and(eq, lt)
  chosen = pred[] or(better, earlier)
  index = s32[] select(chosen, index.1, index.2)
  ROOT best = (bf16[], s32[]) tuple(value, index)
}

ENTRY main {
  x = bf16[4,8]{1,0} parameter(0)
  two = bf16[] constant(2)
  twos = bf16[4,8]{1,0} broadcast(two), dimensions={}
  scaled = bf16[4,8]{1,0} multiply(x, twos)
  ids = s32[4,8]{1,0} iota(), iota_dimension=1
  least = bf16[] constant(-inf)
  zero = s32[] constant(0)
  best = (bf16[4]{0}, s32[4]{0}) reduce(scaled, ids, least, zero), dimensions={1}, to_apply=pick_max
  max = bf16[4]{0} get-tuple-element(best), index=0
  token = s32[4]{0} get-tuple-element(best), index=1
  ROOT results = (bf16[4]{0}, s32[4]{0}) tuple(max, token)
}
"#;

/// A suite over it. Tests change single lines of it.
const SUITE: &str = r#"claim = "The most probable token survives"
why = "A token that is lost is never sampled"
source = "FACTS 1.5"

[[matrix]]
program = ["dumps/pick.hlo"]
results = ["max", "token"]
chip = ["v5e"]
excess = ["as-compiled"]
input = ["normal"]
rows = [40]
check = [{ kind = "dropped_token" }]
"#;

struct Folder(TempDir);

impl Folder {
    fn new(suite: &str, file: &str) -> Folder {
        let folder = Folder(TempDir::new().unwrap());
        fs::create_dir_all(folder.0.path().join("suites/dumps")).unwrap();
        fs::write(folder.0.path().join("suites/pick.toml"), suite).unwrap();
        fs::write(folder.0.path().join("suites/dumps/pick.hlo"), file).unwrap();
        folder
    }

    /// Runs and holds the exit code to `code`: what was printed, or the error.
    #[track_caller]
    fn exits(&self, code: i32, arguments: &[&str]) -> String {
        let ran = Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).current_dir(&self.0).output().unwrap();
        let (out, err) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
        assert!(!err.contains("panicked"), "{err}");
        if code == 2 {
            assert_eq!(err.lines().count(), 1, "{err}");
            return err;
        }
        out
    }
}

#[track_caller]
fn edited(text: &str, (from, to): (&str, &str)) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` must stand there once");
    text.replace(from, to)
}

/// Refused with exit code 2, all of `said` in the message, and nothing left behind.
#[track_caller]
fn refused(in_suite: (&str, &str), in_file: (&str, &str), said: &[&str]) {
    let folder = Folder::new(&edited(SUITE, in_suite), &edited(PICK, in_file));
    let err = folder.exits(2, &["run"]);
    said.iter().for_each(|said| assert!(err.contains(said), "{err} does not contain {said}"));
    assert!(!folder.0.path().join("reports").exists());
}

const SAME: (&str, &str) = ("claim = ", "claim = ");
const SAME_FILE: (&str, &str) = ("HloModule pick\n", "HloModule pick\n");

#[test]
fn a_file_beside_the_suite_runs_lists_explains_and_gates() {
    let folder = Folder::new(SUITE, PICK);
    folder.exits(0, &["run"]);
    let report = fs::read_to_string(folder.0.path().join("reports/pick.csv")).unwrap();
    let id = "pick/pick.hlo[rows=40]/v5e/default/as-compiled/normal/8/0";
    let row: Vec<&str> = report.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((row[0], row[1]), (id, "pass"), "{report}");
    assert!(folder.exits(0, &["explain", "pick"]).contains(id));
    let explained = folder.exits(0, &["explain", id]);
    let told: String = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("takes bf16[4,8] and gives max bf16[4], token s32[4]"), "{explained}");
    folder.exits(0, &["gate"]);
    // The journal belongs to the file's text, too: a changed program is gone into anew.
    fs::write(folder.0.path().join("suites/dumps/pick.hlo"), edited(PICK, ("constant(2)", "constant(-2)"))).unwrap();
    folder.exits(0, &["run", "--resume"]);
}

#[test]
fn the_worst_token_is_found_lost() {
    // The smallest of x wins where the argmax's region asks for it, while tokens are ranked by x itself.
    let suite = edited(SUITE, ("results = [\"max\", \"token\"]", "results = [\"max\", \"token\"]\nscores = \"arg0\""));
    let folder = Folder::new(&suite, &edited(PICK, ("constant(2)", "constant(-2)")));
    let out = folder.exits(1, &["run"]);
    assert!(out.contains("of 40 rows"), "{out}");
    let report = fs::read_to_string(folder.0.path().join("reports/pick.csv")).unwrap();
    assert!(report.lines().nth(1).unwrap().contains(",finding,"), "{report}");
}

#[test]
fn a_file_that_is_missing_or_no_hlo_is_refused_at_its_place() {
    let place = "suites/pick.toml:6:12: ";
    refused(("pick.hlo", "gone.hlo"), SAME_FILE, &[place, "failed to read suites/dumps/gone.hlo"]);
    refused(SAME, ("ROOT results = ", "ROOT results "), &[place, "suites/dumps/pick.hlo:31:16: "]);
    refused(
        SAME,
        ("multiply(x, twos)", "all-reduce(x)"),
        &[place, "suites/dumps/pick.hlo:24:3: scaled of opcode `all-reduce`: "],
    );
    refused(
        SAME,
        ("scaled = bf16[4,8]{1,0} multiply", "scaled = bf16[4,9]{1,0} multiply"),
        &[place, "suites/dumps/pick.hlo:24:3: scaled of opcode `multiply`"],
    );
}

#[test]
fn inputs_that_do_not_fit_are_refused_at_the_parameter() {
    let file = "suites/dumps/pick.hlo:21:3: ";
    refused(("rows = [40]", "rows = [42]"), SAME_FILE, &["suites/pick.toml:11:9: ", "takes 4 at a time"]);
    refused(("rows = [40]", "rows = [40]\nn = [16]"), SAME_FILE, &["suites/pick.toml:12:6: ", "4 rows of 8 values"]);
    refused(
        ("\"normal\"", "\"ill-conditioned\""),
        SAME_FILE,
        &["suites/pick.toml:10:10: ", file, "input ill-conditioned"],
    );
    let integers = PICK.replace("bf16[4,8]{1,0} parameter(0)", "s32[4,8]{1,0} parameter(0)");
    let integers = integers.replace("multiply(x, twos)", "convert(x)");
    let err = Folder::new(SUITE, &integers).exits(2, &["run"]);
    assert!(err.contains("the rows of `x` are integers, such as token ids"), "{err}");
    let predicates = integers.replace("s32[4,8]{1,0} parameter(0)", "pred[4,8]{1,0} parameter(0)");
    let err = Folder::new(SUITE, &predicates).exits(2, &["run"]);
    assert!(err.contains(&format!("{file}the first parameter is pred[4,8]")), "{err}");
}

#[test]
fn results_and_scores_are_refused_where_they_do_not_fit() {
    let place = "suites/pick.toml:7:11: suites/dumps/pick.hlo";
    refused(("[\"max\", \"token\"]", "[\"token\"]"), SAME_FILE, &[place, "names 1 results, but the program has 2"]);
    refused(
        ("[\"max\", \"token\"]", "[\"token\", \"max\"]"),
        SAME_FILE,
        &[place, "checks take `token` for one integer"],
    );
    refused(("[\"max\", \"token\"]", "[\"a\", \"a\"]"), SAME_FILE, &[place, "names a twice"]);
    let scores = |name: &str| format!("results = [\"max\", \"token\"]\nscores = \"{name}\"");
    let line = "results = [\"max\", \"token\"]";
    let place = "suites/pick.toml:8:10: suites/dumps/pick.hlo";
    refused((line, &scores("arg1")), SAME_FILE, &[place, "`arg1`, which is no result and no argument", "`arg0`"]);
    refused((line, &scores("max")), SAME_FILE, &[place, "which is bf16[4]: it must be floats [4, n]"]);
    refused(("dumps/pick.hlo", "argmax"), SAME_FILE, &["suites/pick.toml:7:11: ", "argmax is built in"]);
    let wanted = "pick.hlo[rows=40] ranks no tokens: say which does, `scores = \"...\"` of arg0";
    refused((line, ""), SAME_FILE, &["suites/pick.toml", wanted]);
    refused(
        ("{ kind = \"dropped_token\" }", "{ kind = \"agreement\", against = \"alone\" }"),
        SAME_FILE,
        &["no row stands alone: suites/dumps/pick.hlo computes over 4 rows"],
    );
}

/// Each value once as it is and once as the square of its root: equal, but nothing proves it.
#[test]
fn a_case_that_stays_open_says_between_which() {
    let scaled = "scaled = bf16[4,8]{1,0} multiply(x, twos)";
    let doubled = "half = bf16[4,4]{1,0} slice(x), slice={[0:4], [0:4]}
  values = bf16[4,4]{1,0} abs(half)
  roots = bf16[4,4]{1,0} sqrt(values)
  squares = bf16[4,4]{1,0} multiply(roots, roots)
  scaled = bf16[4,8]{1,0} concatenate(values, squares), dimensions={1}";
    let folder = Folder::new(&edited(SUITE, ("rows = [40]", "rows = [4]")), &edited(PICK, (scaled, doubled)));
    let ran = folder.exits(1, &["run"]);
    assert!(ran.contains("undecided") && ran.contains("row 0: nothing told token"), "{ran}");
}

#[test]
fn what_is_compiled_is_not_compiled_again() {
    let compiled = PICK.replacen("HloModule pick", "HloModule pick, is_scheduled=true", 1);
    assert_ne!(compiled, PICK);
    let suite = SUITE.replace("\"as-compiled\"", "\"tpu\"");
    let err = Folder::new(&suite, &compiled).exits(2, &["run"]);
    assert!(err.contains("suites/pick.toml:9:11: ") && err.contains("is compiled already"), "{err}");
    Folder::new(&suite, PICK).exits(0, &["run"]);
}
