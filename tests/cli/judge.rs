//! Results from elsewhere, with a key: honest ones in other orders and precisions, and faulty ones.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use ulpgate::hlo::{lower_with_libraries, parse};
use ulpgate::judge::{Judged, Recording, Settings, Verdict, bind, judge};

use super::schema::Schema;
use super::{Folder, Ran};

/// A recording of `tests/data/judge`.
#[derive(Deserialize)]
struct Case {
    program: String,
    array: String,
    outside: bool,
    what: String,
    mode: Option<String>,
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/judge")).join(name)
}

fn cases() -> Vec<Case> {
    serde_json::from_str(&std::fs::read_to_string(file("key.json")).unwrap()).unwrap()
}

fn judged(case: &Case) -> Judged {
    let text = std::fs::read_to_string(file(&format!("{}.hlo", case.program))).unwrap();
    let import = lower_with_libraries(&parse(&text).unwrap()).unwrap();
    let inputs = Recording::open(&file(&format!("{}.inputs.npz", case.program))).unwrap();
    let arguments = bind(&import.program, &import.argument_names, &inputs).unwrap();
    let recording = Recording::open(&file(&format!("{}.results.npz", case.program))).unwrap();
    let recording = recording.map(vec![(case.array.clone(), "out0".to_string())]);
    let mode = case.mode.as_ref().map(|mode| mode.parse().unwrap());
    judge(&import.program, &arguments, &recording, &Settings { mode, ..Settings::default() }).unwrap()
}

/// NumPy's results of `tests/data/judge/key.json`: no honest one is outside, and every faulty one is.
#[test]
fn recordings_are_judged_as_their_key_says() {
    let (mut wrong, mut seen) = (Vec::new(), [0, 0]);
    for case in cases() {
        let found = judged(&case);
        let verdict = found.verdict();
        seen[usize::from(case.outside)] += 1;
        let is_right = match case.outside {
            true => verdict == Verdict::Outside,
            false => matches!(verdict, Verdict::Bits | Verdict::Conforming),
        };
        if !is_right {
            wrong.push(format!("{} {} ({}): {:?}", case.program, case.array, case.what, found.results));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen[0] > 40 && seen[1] > 30, "{seen:?}");
}

/// Each fault is named with its place.
#[test]
fn faults_are_named() {
    for (program, array, kind, says) in [
        ("matmul_f32", "x_blas_drop", "dropped", "of the 64 terms of dot_general.1, 21 is dropped"),
        ("matmul_f32", "x_one_doubled", "doubled", "32 to 35 are doubled"),
        ("matmul_f32", "x_blas_scale", "factor", "1.001000"),
        ("matmul_f32", "x_one_scale", "factor", "1.001"),
        ("matmul_f32", "x_blas_stale", "scaled", "0 to 31 have a factor of 1.25"),
        ("matmul_f32", "x_blas_permuted", "permuted", "one place earlier in dim 1"),
        ("matmul_f32", "x_blas_rowswap", "other-row", "row 0 has the values of row 7"),
        ("matmul_bf16", "x_blas_doubled", "doubled", "32 to 35 are doubled"),
        ("attention_f32", "x_blas_maskrow", "rows", "1 of 32 rows: 16"),
        ("attention_f32", "x_blas_vroll", "permuted", "one place earlier in dim 0"),
        ("layer_norm_f32", "x_roll", "permuted", "one place earlier in dim 0"),
        ("softmax_bf16", "x_swap", "other-row", "row 1 has the values of row 2"),
    ] {
        let case = cases().into_iter().find(|case| case.program == program && case.array == array).unwrap();
        let found = judged(&case).results.remove(0);
        let first = found.pattern.first().unwrap_or_else(|| panic!("{program} {array}: {found:?}"));
        assert!(first.kind == kind && first.says.contains(says), "{program} {array}: {:?}", found.pattern);
    }
}

/// A precision below the named one is outside although it is a mode's own bits; one above conforms.
#[test]
fn the_named_mode_restricts_what_is_permitted() {
    let of = |array: &str, mode: Option<&str>| {
        let mode = mode.map(str::to_string);
        judged(&Case {
            program: "matmul_f32".to_string(),
            array: array.to_string(),
            outside: false,
            what: String::new(),
            mode,
        })
    };
    let (highest, default) = (Some("v5e/highest/off"), Some("v5e/default/off"));
    assert_ne!(of("h_one", None).verdict(), Verdict::Outside);
    assert_ne!(of("h_one", default).verdict(), Verdict::Outside);
    assert_eq!(of("h_one", highest).verdict(), Verdict::Outside);
    assert_ne!(of("h_f64", default).verdict(), Verdict::Outside);
    // An honest result errs about as much as the mode that it is of, a more accurate one far less.
    let ratio = |array, mode| of(array, mode).results.remove(0).ratio.unwrap();
    assert!((0.3..3.0).contains(&ratio("h_pair", highest)), "{}", ratio("h_pair", highest));
}

fn run(folder: &Folder, code: i32, more: &[&str]) -> Ran {
    let (program, inputs) = (file("matmul_f32.hlo"), file("matmul_f32.inputs.npz"));
    let results = file("matmul_f32.results.npz");
    let mut arguments = vec!["judge", results.to_str().unwrap(), "--program", program.to_str().unwrap()];
    arguments.extend(["--inputs", inputs.to_str().unwrap()]);
    arguments.extend(more);
    folder.exits(code, &arguments)
}

#[test]
fn exit_codes_and_json_say_the_verdict() {
    let folder = Folder::new(&[]);
    let schema = Schema::new(include_str!("../../docs/schema/judge.json"));
    for (array, code, verdict) in [("h_seq", 0, "conforming"), ("x_blas_drop", 1, "outside")] {
        let mapping = format!("{array}=out0");
        let said = run(&folder, code, &["--map", &mapping, "--json"]).out;
        let mut said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(schema.errors(&said), Vec::<String>::new(), "{said}");
        assert!([verdict, "bits"].contains(&said["verdict"].as_str().unwrap()), "{said}");
        said["results"][0]["more"] = Value::Null;
        assert!(!schema.errors(&said).is_empty());
    }
    let told = run(&folder, 1, &["--map", "x_blas_drop=out0", "--junit", "judged.xml", "--github"]).out;
    assert!(told.contains("OUTSIDE") && told.contains("21 is dropped") && told.contains("::error file="), "{told}");
    assert!(folder.read("judged.xml").contains("<failure"));
    assert!(run(&folder, 2, &[]).err.contains("none of its arrays"));
    assert!(run(&folder, 2, &["--map", "nothing=out0"]).err.contains("has no array `nothing`"));
    assert!(run(&folder, 2, &["--map", "h_seq=out7"]).err.contains("the program has no result `out7`"));
    assert!(run(&folder, 2, &["--map", "h_seq=out0", "--tokens", "out0"]).err.contains("tokens are integers"));
}
