//! Nothing judged is no pass: what was not judged is told with its count, and the exit code is 2.

use half::bf16;
use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, SOFTMAX, TINY, edited};

fn bf16s(values: &[f32]) -> Tensor {
    Tensor::new(&[values.len()], Data::BF16(values.iter().map(|value| bf16::from_f32(*value)).collect()))
}

fn write(folder: &Folder, name: &str, tensors: &[(&str, Tensor)]) {
    let named: Vec<(String, Tensor)> =
        tensors.iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
    safetensors::write(&folder.path(name), &named).unwrap();
}

/// A quotient of what a compiler may make zero: it may be anything then.
#[test]
fn results_that_may_be_anything_are_not_permitted() {
    let folder = Folder::new(&[]);
    folder.write(
        "f.hlo",
        "HloModule m\nENTRY e {\n  a = bf16[2] parameter(0)\n  b = bf16[2] parameter(1)\n  c = bf16[2] parameter(2)\n  \
         s = bf16[2] add(a, b)\n  d = bf16[2] subtract(s, c)\n  ROOT q = bf16[2] divide(a, d)\n}\n",
    );
    let inputs = |b: [f32; 2]| [("arg0", bf16s(&[1.0, 1.0])), ("arg1", bf16s(&b)), ("arg2", bf16s(&[1.0, 1.0]))];
    let small = 1.0 / 512.0;
    write(&folder, "results.safetensors", &[("out0", bf16s(&[1.0, 1.0]))]);
    let against = ["explore", "f.hlo", "--inputs", "in.safetensors", "--against", "results.safetensors"];
    for (b, open) in [([small, small], 2), ([small, 1.0], 1)] {
        write(&folder, "in.safetensors", &inputs(b));
        let ran = folder.exits(2, &against);
        assert!(ran.out.contains(&format!("out0: 0 of 2 elements outside, {open} not known")), "{}", ran.out);
        assert!(ran.err.contains(&format!("{open} of 2 elements were not judged")), "{}", ran.err);
    }
    // What is known is permitted, and what is outside is found whatever else is open.
    write(&folder, "in.safetensors", &inputs([1.0, 1.0]));
    folder.exits(0, &against);
    write(&folder, "in.safetensors", &inputs([small, 1.0]));
    write(&folder, "results.safetensors", &[("out0", bf16s(&[1.0, 2.0]))]);
    folder.exits(1, &against);
}

/// A tie that nothing decides: e^x e^-x beside 1.
#[test]
fn a_row_whose_truth_is_open_is_not_right() {
    let folder = Folder::new(&[]);
    folder.write(
        "f.hlo",
        "HloModule m\nENTRY e {\n  x = f32[1,1] parameter(0)\n  one = f32[] constant(1)\n  o = f32[1,1] broadcast(one), \
         dimensions={}\n  p = f32[1,1] exponential(x)\n  n = f32[1,1] negate(x)\n  q = f32[1,1] exponential(n)\n  m = f32[1,1] \
         multiply(p, q)\n  ROOT s = f32[1,2] concatenate(o, m), dimensions={1}\n}\n",
    );
    write(&folder, "in.safetensors", &[("arg0", Tensor::new(&[1, 1], Data::F32(vec![0.3])))]);
    let ran = folder.exits(2, &["hlo", "why", "f.hlo", "--inputs", "in.safetensors"]);
    assert!(ran.out.contains("0 of 1 rows name another token than the truth; 1 are undecided"), "{}", ran.out);
    assert!(ran.err.contains("1 of 1 rows were not judged"), "{}", ran.err);
}

/// A kept set has no largest score: the command that asks of its rows is named.
#[test]
fn why_of_a_kept_set_names_explore() {
    let folder = Folder::new(&[]);
    let text = "HloModule m\nENTRY e {\n  x = f32[2,4] parameter(0)\n  y = f32[2,4] exponential(x)\n  ROOT k = pred[2,4] \
                compare(y, x), direction=GT\n}\n";
    folder.write("f.hlo", text);
    write(&folder, "in.safetensors", &[("arg0", Tensor::new(&[2, 4], Data::F32(vec![0.5; 8])))]);
    let err = folder.exits(2, &["hlo", "why", "f.hlo", "--inputs", "in.safetensors"]).err;
    assert!(err.contains("ranks no tokens") && err.contains("`ulpgate explore` says which rows may change"), "{err}");
}

/// One size has no growth.
#[test]
fn checks_that_all_abstain_are_no_pass() {
    let one = edited(SOFTMAX, &[("n = [8, 16, 32, 64]", "n = [8]"), ("\n[[matrix.check]]\nkind = \"bound\"\n", "")]);
    let folder = Folder::new(&[("softmax", &one)]);
    // Beside how far it is.
    let ran = folder.ran(&["run"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.out.contains("Not judged: 2 checks abstained") && !ran.out.contains("As expected"), "{}", ran.out);
    assert!(ran.err.contains("nothing was judged: 2 checks of 2 cases abstained"), "{}", ran.err);
    folder.exits(2, &["report"]);
    folder.exits(2, &["merge", "reports", "--out", "merged"]);
    // A finding that is expected, and of which nothing is said, is missing.
    let missing = edited(&one, &[("expect = \"report\"", "expect = \"finding\"")]);
    let ran = Folder::new(&[("softmax", &missing)]).exits(1, &["run"]);
    assert!(ran.out.contains("missing"), "{}", ran.out);
    // Beside a check that judges, it is told.
    let both = Folder::new(&[("softmax", &one), ("tiny", TINY)]);
    let ran = both.exits(0, &["run"]);
    assert!(ran.out.contains("Not judged: 2 checks abstained") && ran.out.contains("As expected"), "{}", ran.out);
}

/// Figures without a question are measured, and no pass, wherever they are told.
#[test]
fn a_suite_that_only_measures_is_not_as_expected() {
    let measured = SOFTMAX.split("[[matrix.check]]").next().unwrap();
    let folder = Folder::new(&[("softmax", measured)]);
    let ran = folder.ran(&["run", "--junit", "junit.xml"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("nothing was judged: 8 cases measured, and no check was asked"), "{}", ran.err);
    assert!(ran.out.contains("Measured: nothing was judged.") && !ran.out.contains("expected"), "{}", ran.out);
    let report = folder.read("reports/softmax.csv");
    let verdicts: Vec<&str> = report.lines().skip(1).filter_map(|row| row.split(',').nth(1)).collect();
    assert_eq!(verdicts, ["measured"; 8], "{report}");
    assert!(folder.read("reports/SUMMARY.md").contains("| measured |"));
    let junit = quick_junit::Report::deserialize_from_str(&folder.read("junit.xml")).unwrap();
    assert_eq!((junit.tests, junit.failures, junit.errors), (8, 0, 0));
    let is_skipped = |case: &quick_junit::TestCase| matches!(case.status, quick_junit::TestCaseStatus::Skipped { .. });
    assert!(junit.test_suites[0].test_cases.iter().all(is_skipped), "{}", folder.read("junit.xml"));
    let page = folder.read("reports/index.html");
    assert!(page.contains("<strong>Measured: nothing was judged.</strong>") && !page.contains("As expected"), "{page}");
    assert!(page.contains("title=\"measured\""), "{page}");
    let json: serde_json::Value = serde_json::from_str(&folder.ran(&["run", "--json"]).out).unwrap();
    assert_eq!(json[0]["verdict"], "measured");
    folder.exits(2, &["report"]);
    folder.exits(2, &["merge", "reports", "--out", "merged"]);
    // A gate judges them by the committed reports.
    folder.exits(0, &["gate"]);
    // A growth judges the cases of its series, and a suite beside it its own.
    let growth = SOFTMAX.replace("[[matrix.check]]\nkind = \"bound\"\n\n", "");
    let ran = Folder::new(&[("softmax", &growth)]).exits(0, &["run"]);
    assert!(ran.out.contains("As expected") && !ran.out.contains("Measured"), "{}", ran.out);
    let ran = Folder::new(&[("softmax", measured), ("tiny", TINY)]).exits(0, &["run"]);
    assert!(ran.out.contains("Measured, not judged: 8 cases") && ran.out.contains("As expected"), "{}", ran.out);
}

/// A row of a check that is gone is another question, not a better one.
#[test]
fn a_check_that_is_gone_is_no_improvement() {
    let folder = Folder::new(&[(
        "tiny",
        &TINY
            .replace("check = [", "metric = [\"max_ulp\"]\ncheck = [")
            .replace("\"argmax\"", "\"softmax\"")
            .replace("dropped_token", "bound"),
    )]);
    folder.exits(0, &["run"]);
    let only = folder.read("suites/tiny.toml").replace("check = [{ kind = \"bound\" }]\n", "");
    folder.write("suites/tiny.toml", &only);
    let ran = folder.exits(1, &["gate"]);
    assert!(ran.out.contains("changed: tiny.csv") && ran.out.contains("pass -> measured"), "{}", ran.out);
}

/// An evaluation over the real numbers that decides nothing is no success.
#[test]
fn elements_that_exact_leaves_undecided_are_told() {
    let folder = Folder::new(&[]);
    folder.write(
        "f.hlo",
        "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  p = f32[2] exponential(x)\n  n = f32[2] negate(x)\n  q = f32[2] \
         exponential(n)\n  m = f32[2] multiply(p, q)\n  one = f32[] constant(1)\n  o = f32[2] broadcast(one), dimensions={}\n  \
         ROOT e = pred[2] compare(m, o), direction=GT\n}\n",
    );
    let exact = ["hlo", "eval", "f.hlo", "--inputs", "in.safetensors", "--out", "out.safetensors", "--exact"];
    for (x, code, said) in [
        ([0.3, 0.7], 2, "f.hlo: nothing was decided: 2 of 2 elements are undecided at 4096 bits"),
        ([0.0, 0.7], 1, "f.hlo: 1 of 2 elements are undecided"),
        ([0.0, 0.0], 0, ""),
    ] {
        write(&folder, "in.safetensors", &[("arg0", Tensor::new(&[2], Data::F32(x.to_vec())))]);
        for form in [&exact[..], &[&exact[..], &["--json"]].concat()] {
            let ran = folder.exits(code, form);
            assert!(ran.err.contains(said) && ran.err.is_empty() == said.is_empty(), "{x:?}: {}", ran.err);
        }
    }
}

/// An outcome without a row has nothing that a compiler could change: that is no proof.
#[test]
fn an_outcome_without_rows_is_not_proven() {
    let folder = Folder::new(&[]);
    folder
        .write("none.hlo", "HloModule m\nENTRY e {\n  x = f32[0,4] parameter(0)\n  ROOT i = s32[0,4] convert(x)\n}\n");
    for json in [&[][..], &["--json"]] {
        let ran = folder.exits(2, &[&["explore", "none.hlo"], json].concat());
        assert!(ran.err.contains("the outcome has no row, so that nothing was judged"), "{}", ran.err);
    }
}

/// A release of tomorrow writes an attribute of which nobody knows what it does: whatever is printed, a note says so.
#[test]
fn an_attribute_that_is_not_known_is_told() {
    let folder = Folder::new(&[]);
    let program = "HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  \
                   y = f32[4]{0} add(x, x), tuning={fast=1}\n  ROOT z = f32[4]{0} multiply(y, y), indices_are_sorted=true\n}\n";
    folder.write("m.hlo", program);
    let told = "note: m.hlo: attribute `tuning` of y is not known, and what it changes is not computed";
    write(&folder, "in.safetensors", &[("arg0", Tensor::new(&[4], Data::F32(vec![1.0, 2.0, 3.0, 4.0])))]);
    let eval = ["hlo", "eval", "m.hlo", "--inputs", "in.safetensors", "--out", "out.safetensors"];
    for command in [&["hlo", "show", "m.hlo"][..], &eval] {
        let ran = folder.exits(0, command);
        let notes: Vec<&str> = ran.err.lines().filter(|line| line.contains("is not known")).collect();
        assert_eq!(notes, [told], "{command:?}");
    }
    folder.write("m.hlo", &program.replace(", tuning={fast=1}", ""));
    assert!(!folder.exits(0, &["hlo", "show", "m.hlo"]).err.contains("is not known"));
}

/// A program that takes nothing is evaluated without a file of inputs; one that takes something says what.
#[test]
fn a_program_without_arguments_needs_no_inputs() {
    let folder = Folder::new(&[]);
    folder.write("none.hlo", "HloModule m\nENTRY e {\n  x = f32[] constant(3)\n  ROOT y = f32[] add(x, x)\n}\n");
    folder.write(
        "two.hlo",
        "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  i = s32[2] parameter(1)\n  f = f32[2] convert(i)\n  ROOT y = \
         f32[2] add(x, f)\n}\n",
    );
    for form in [&[][..], &["--exact"]] {
        folder.exits(0, &[&["hlo", "eval", "none.hlo", "--out", "out.safetensors"], form].concat());
        let found = safetensors::read(&folder.path("out.safetensors")).unwrap();
        assert_eq!(found[0].1.data().get_f64(0), 6.0);
        let ran = folder.exits(2, &[&["hlo", "eval", "two.hlo", "--out", "two.safetensors"], form].concat());
        assert_eq!(
            ran.err,
            "ulpgate: two.hlo: the program takes arg0 f32[2], arg1 s32[2]: give a safetensors file of them as --inputs\n"
        );
    }
    assert!(!folder.names(".").contains(&"two.safetensors".to_string()));
}

/// A compiler makes a choice of a product with ones and zeros: where the factor is negative, +0 stands for -0. That is told, and no
/// error of ulpgate's.
#[test]
fn a_difference_of_zero_signs_is_told_as_such() {
    let folder = Folder::new(&[]);
    let text = |body: &str| {
        format!(
            "HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  i = s32[4] iota(), iota_dimension=0\n  j = s32[4] parameter(1)\n  \
             p = pred[4] compare(i, j), direction=EQ\n  {body}\n}}\n"
        )
    };
    folder.write("product.hlo", &text("m = f32[4] convert(p)\n  ROOT r = f32[4] multiply(m, x)"));
    folder.write(
        "choice.hlo",
        &text("z = f32[] constant(0)\n  n = f32[4] broadcast(z), dimensions={}\n  ROOT r = f32[4] select(p, x, n)"),
    );
    let places = Tensor::new(&[4], Data::S32(vec![0, 0, 0, 0]));
    let diff = ["hlo", "diff", "product.hlo", "choice.hlo", "--inputs", "in.safetensors"];
    for (x, code, said) in [(-1.0, 1, "signs of zeros alone differ"), (1.0, 0, "1 of 1 equal, bit for bit")] {
        let x = Tensor::new(&[4], Data::F32(vec![x; 4]));
        write(&folder, "in.safetensors", &[("arg0", x), ("arg1", places.clone())]);
        let ran = folder.exits(code, &diff);
        assert!(ran.out.contains(said) && !ran.err.contains("error of ulpgate"), "{} {}", ran.out, ran.err);
    }
}
