//! `ulpgate tolerance` of programs with inputs, and its JSON.

use serde_json::Value;

use super::schema::Schema;
use super::{Folder, Ran};

/// A matmul of the recordings, and its arguments.
fn file(name: &str) -> String {
    format!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/judge/{}"), name)
}

fn run(folder: &Folder, code: i32, more: &[&str]) -> Ran {
    let mut arguments = vec!["tolerance"];
    arguments.extend(more);
    folder.exits(code, &arguments)
}

/// Of a program with inputs each order of sums is a run, and the verdict is by these.
#[test]
fn a_file_with_inputs_is_run_in_each_order_of_sums() {
    let folder = Folder::new(&[]);
    let (program, inputs) = (file("matmul_f32.hlo"), file("matmul_f32.inputs.npz"));
    let of = |code, more: &[&str]| {
        let mut arguments = vec!["--program", &program, "--inputs", &inputs, "--json"];
        arguments.extend(more);
        serde_json::from_str::<Value>(&run(&folder, code, &arguments).out).unwrap()
    };
    let schema = Schema::new(include_str!("../../docs/schema/tolerance.json"));
    for (code, verdict, more) in [
        (0, "fine", &["--atol", "1e-4"][..]),
        (1, "unsatisfiable", &["--atol", "1e-9"]),
        (1, "blind", &["--atol", "1e6"]),
        (1, "unsatisfiable", &["--atol", "1e-4", "--mode", "v5e/default/off"]),
        (0, "fine", &["--ulp", "512", "--mode", "v5e/default/off", "--reference", "v5e/default/off"]),
        (1, "unsatisfiable", &["--atol", "1e-9", "--magnitude", "8"]),
    ] {
        let mut said = of(code, more);
        assert_eq!(schema.errors(&said), Vec::<String>::new(), "{said}");
        assert_eq!(said["verdict"], verdict, "{said}");
        // By the magnitude alone nothing is run.
        let runs = said["drawn"]["runs"].as_u64();
        assert_eq!(runs.is_some_and(|runs| runs > 3), !more.contains(&"--magnitude"), "{said}");
        said["more"] = Value::Null;
        assert!(!schema.errors(&said).is_empty());
    }
    // One order of sums errs more than another, and so an allowance between them is kept by some runs.
    let drawn = &of(0, &["--atol", "1e-4"])["drawn"];
    let largest = 1e-4 * drawn["largest"].as_f64().unwrap();
    let between = format!("{}", 0.95 * largest);
    let flaky = of(1, &["--atol", &between]);
    assert!(flaky["drawn"]["failed"].as_u64().unwrap() > 0, "{flaky}");
    // A chip whose dots are f32 in every precision has no lower one: those of a matrix unit count.
    for (code, verdict, atol) in [(0, "fine", "1e-4"), (1, "blind", "0.3")] {
        let told = of(code, &["--atol", atol, "--mode", "cpu/default/off"]);
        assert_eq!((&told["verdict"], &told["drawn"]["mode"]), (&verdict.into(), &"cpu/default/off".into()), "{told}");
    }
    // Without inputs the arguments are drawn, of a file as of a built-in program.
    for program in [&program[..], "matmul[lhs=8xn,rhs=nx8]"] {
        let said = run(&folder, 0, &["--program", program, "--n", "64", "--runs", "3", "--atol", "1e-4"]).out;
        assert!(said.contains("0 of 3 honest runs fail"), "{said}");
    }
}

#[test]
fn a_tolerance_that_cannot_be_judged_says_why() {
    let folder = Folder::new(&[]);
    let program = file("matmul_f32.hlo");
    for (more, why) in [
        (&["--program", "matmul_f33.hlo", "--atol", "1"][..], "matmul_f33.hlo: "),
        (&["--inputs", "in.npz", "--atol", "1"], "--program names it"),
        (&["--program", &program, "--inputs", "in.npz", "--atol", "1"], "in.npz: "),
        (&["--program", &program, "--inputs", "in.txt", "--atol", "1"], "it is no .safetensors, .npz or .npy file"),
        (&["--program", &program, "--runs", "0", "--atol", "1"], "at least one is needed"),
        (&["--program", &program], "no tolerance is given"),
        (&["--atol=-1", "--k", "8"], "it is a finite number, not below 0"),
        (&["--atol", "nan", "--k", "8"], "it is a finite number, not below 0"),
        (&["--atol", "1"], "nothing to judge by"),
        (&["--atol", "1", "--failed", "3", "--of", "2"], "are no counts"),
        (&["--atol", "1", "--failed", "1", "--of", "1000000001"], "1 to 1000000000 runs"),
        (&["--atol", "1", "--magnitude", "inf"], "a finite number above 0"),
        (&["--atol", "1", "--dtype", "f33", "--k", "8"], "unknown float type `f33`"),
        (&["--program", &program, "--inputs", &program, "--k", "8", "--atol", "1"], "cannot be used with"),
    ] {
        let said = run(&folder, 2, more);
        assert!(said.err.contains(why) && said.out.is_empty(), "{more:?}: {}", said.err);
    }
}

/// A compiler's rewrites are in its file already: a mode that rewrites it once more is refused, also of drawn runs.
#[test]
fn a_compiled_program_is_not_compiled_again() {
    let folder = Folder::new(&[]);
    let compiled = format!("{}/tests/data/hlo/cpu/softmax_f32.excess_on.hlo", env!("CARGO_MANIFEST_DIR"));
    for mode in ["xla-cpu/default/cpu", "v5e/default/tpu"] {
        let Ran { err, .. } = run(&folder, 2, &["--program", &compiled, "--atol", "1", "--runs", "2", "--mode", mode]);
        assert!(err.contains("it is compiled already") && err.contains("use as-compiled"), "{err}");
    }
}
