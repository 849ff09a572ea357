//! Bad suites, arguments, sizes and folders: exit code 2, one line that says what and where.

use std::fs;
use std::path::Path;

use super::{Folder, Ran, SOFTMAX, TINY, edited};

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
    // The place is that of the part at fault, whatever the name given reads like.
    refused(
        ("n = [8]", "n = [8]\nprecision = [\"unknown chip\"]"),
        ":10:14",
        &["unknown precision `unknown chip`; known: default, high"],
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
    refused(("dropped_token", "droped_token"), ":11:19", &["unknown check", "did you mean `dropped_token`?"]);
    refused(("\"dropped_token\"", "\"dropped_token\", expect = \"fail\""), ":11:45", &["`fail`", "`finding`"]);
}

#[test]
fn contradictory_settings_are_refused() {
    refused(("n = [8]", "n = [8, 8]"), ":5:1", &["a second time", "tiny/argmax[rows=2]/v5e/default/off/normal/8/0"]);
    refused(("argmax", "argmax[rows=4]"), ":10:9", &["rows are given here and in argmax[rows=4]"]);
    refused(("argmax", "argmax[dtype=f32,dtype=bf16]"), ":6:12", &["`dtype` is given twice"]);
    refused(("n = [8]", "n = [8]\nrefinement = [\"acc=chain+acc=block\"]"), ":10:15", &["acc is given twice"]);
    refused(("n = [8]", "n = [8]\nmetric = [\"max_ulp\"]"), ":10:11", &["no float result to measure"]);
    refused(
        ("n = [8]", "n = [8]\noutput = \"token\"\nmetric = [\"max_ulp\"]"),
        ":10:10",
        &["the result `token` is s32[2]: metrics measure floats"],
    );
    let check = |check: &'static str| ("\"dropped_token\"", check);
    refused(
        check("\"growth\", metric = \"max_ulp\", slope = 1"),
        ":11:38",
        &["not measured", "add `metric = [\"max_ulp\"]`"],
    );
    refused(check("\"growth\", slope = 1"), ":11:10", &["check growth: `metric` is needed"]);
    refused(check("\"growth\", metric = \"max_ulp\""), ":11:10", &["check growth: `slope` is needed"]);
    refused(check("\"growth\", metric = \"max_ulp\", slope = nan"), ":11:57", &["slope = NaN"]);
    refused(check("\"dropped_token\", expect = \"finding\""), ":11:10", &["needs a `because`"]);
    refused(check("\"dropped_token\", expect = \"report\", because = \"\""), ":11:10", &["needs a `because`"]);
    refused(check("\"dropped_token\", because = \"known\""), ":11:10", &["`because`", "`expect`"]);
    refused(check("\"ties\", allowance = 0.5"), ":11:39", &["check ties takes no `allowance`", "equals"]);
    refused(check("\"dropped_token\", allowance = nan"), ":11:48", &["allowance = NaN is no share"]);
    refused(check("\"dropped_token\", allowance = -0.5"), ":11:48", &["allowance = -0.5 is no share"]);
    refused(check("\"dropped_token\", output = \"tokens\""), ":11:45", &["no result `tokens`", "token"]);
    refused(check("\"self_consistency\""), ":11:10", &["check self_consistency"]);
    refused(check("\"agreement\""), ":11:10", &["`against` is needed"]);
    refused(check("\"agreement\", against = \"v5e/high/of\""), ":11:42", &["`v5e/high/of`", "did you mean `off`?"]);
    refused(check("\"agreement\", against = \"argmx\""), ":11:42", &["did you mean `argmax`?"]);
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
    assert!(
        err.contains("softmax.toml:18:10: check growth: `max_upl` is not measured; did you mean `max_ulp`?"),
        "{err}"
    );
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
    for key in ["precision", "excess", "refinement", "seed", "recorded"] {
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
        assert!(err.contains(&format!("`n = {n}`")) && err.contains("GiB"), "{err}");
    }
}

#[test]
fn folders_and_files_that_cannot_be_used_are_refused() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let below_a_file = folder.exits(2, &["run", "--out", "suites/tiny.toml/reports"]).err;
    assert!(below_a_file.contains("suites/tiny.toml/reports") && below_a_file.contains("--out"), "{below_a_file}");
    for no_folder in ["suites/tiny.toml", "/dev/null"] {
        assert!(folder.exits(2, &["run", "--out", no_folder]).err.contains(&format!("{no_folder} is no folder")));
    }
    folder.exits(2, &["gate", "--baseline", "suites/tiny.toml"]);
    folder.exits(2, &["gate", "--baseline", "suites/tiny.toml", "--bless"]);
    assert!(folder.exits(2, &["gate", "--baseline", "missing"]).err.contains("does not exist; `gate --bless` writes"));
    assert!(
        folder.exits(2, &["gate", "--slow"]).err.contains("does not exist; `gate --slow --bless` writes a first one")
    );
    assert!(folder.exits(2, &["hlo"]).err.contains("a subcommand is missing: diff, eval, show or why"));
    assert!(folder.exits(2, &["hlo", "diff", "a", "--jsn"]).err.contains("see `ulpgate hlo diff --help`"));
    assert_eq!(folder.read("suites/tiny.toml"), TINY);
    fs::write(folder.path("suites/tiny.toml"), [0xff, 0xfe]).unwrap();
    assert!(folder.exits(2, &["run"]).err.contains("tiny.toml"));
    fs::remove_file(folder.path("suites/tiny.toml")).unwrap();
    assert!(folder.exits(2, &["run"]).err.contains("no suites"));
    folder.write("suites/growth.toml", TINY);
    assert!(folder.exits(2, &["run"]).err.contains("no suite may be called growth"));
    fs::remove_dir_all(folder.path("suites")).unwrap();
    for command in ["run", "gate"] {
        let err = folder.exits(2, &[command]).err;
        assert!(err.contains("run from the folder that holds `suites`, or begin with `ulpgate init`"), "{err}");
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
    let version = concat!("ulpgate ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(folder.exits(0, &["-V"]).out, version);
    let long = folder.exits(0, &["--version"]).out;
    assert!(
        long.starts_with(version) && long.contains("GMP, MPFR") && long.contains("Lesser General Public"),
        "{long}"
    );
}
