//! Operations that nothing here has a meaning for: `hlo show` and `hlo diff` name them and tell the rest; a command that runs a program refuses it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ulpgate::diff::{Change, DiffError, Difference, difference};
use ulpgate::flow;
use ulpgate::hlo::{Import, lower, lower_with_opaque, parse};
use ulpgate::ir::Op;
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle};
use ulpgate::tensor::{Data, Tensor};

/// A kernel of one's own, random numbers, an array that is left out, and what is understood beside them.
const KERNEL: &str = r#"HloModule m

ENTRY e {
  x = f32[8,16] parameter(0)
  y = bf16[8,16] convert(x)
  k = (bf16[8,16], c64[8], token[]) custom-call(y), custom_call_target="kernel", backend_config="{\"custom_call_config\": {\"body\": \"abc\"}, \"other\": 1}"
  k0 = bf16[8,16] get-tuple-element(k), index=0
  k1 = c64[8] get-tuple-element(k), index=1
  c = c64[8] constant({...})
  s = c64[8] add(k1, c)
  low = f32[] constant(0)
  high = f32[] constant(1)
  r = f32[8,16] rng(low, high), distribution=rng_uniform
  r2 = f32[8,16] rng(low, high), distribution=rng_uniform
  w = f32[8,16] multiply(x, x)
  ROOT t = (bf16[8,16], c64[8], f32[8,16], f32[8,16], f32[8,16]) tuple(k0, s, r, r2, w)
}
"#;

/// The program `text` as those see it who do not run it.
fn seen(text: &str) -> Import {
    lower_with_opaque(&parse(text).unwrap()).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn found(before: &str, after: &str) -> Difference {
    difference(&seen(before), &seen(after), None).unwrap()
}

fn kernel_with(from: &str, to: &str) -> String {
    assert_eq!(KERNEL.matches(from).count(), 1, "{from}");
    KERNEL.replace(from, to)
}

fn lines(found: &Difference) -> Vec<String> {
    found.changes.iter().map(Change::to_string).collect()
}

/// A program of one line over `x`.
fn of_line(shape: &str, line: &str) -> String {
    format!("HloModule m\n\nENTRY e {{\n  x = f32[8] parameter(0)\n  ROOT r = {shape} {line}\n}}\n")
}

#[test]
fn what_is_not_understood_is_named_with_what_follows_from_it() {
    let flow = flow::flow(&seen(KERNEL), false, &["v5e/default/tpu".parse::<Mode>().unwrap()]);
    let named: Vec<(&str, &str, u32, String)> =
        flow.unknown.iter().map(|u| (u.name.as_str(), u.what.as_str(), u.line, u.results.join(" "))).collect();
    let expected = [
        ("k", "kernel", 6, "out0 out1.real out1.imag"),
        ("c", "constant", 9, "out1.real out1.imag"),
        ("r", "rng", 13, "out2"),
        ("r2", "rng", 14, "out3"),
    ];
    assert_eq!(named, expected.map(|(name, what, line, results)| (name, what, line, results.to_string())));
    let text = flow::text(&flow, false).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "Not understood: r (rng), line 13: opcode `rng` is not supported";
    assert!(text.contains(line) && text.contains("out2 follows from it."), "{text}");
    assert!(text.contains("bf16 -> k (kernel)") && text.contains("w multiply f32[8,16]"), "{text}");
    let understood = flow::flow(&seen(&of_line("f32[8]", "negate(x)")), false, &[]);
    assert!(understood.unknown.is_empty() && !flow::text(&understood, false).contains("Not understood"));
}

#[test]
fn equal_opaque_calls_are_equal() {
    // Names and layouts are no matter; what else a compiler writes into the configuration is told, and parts no values.
    let renamed = KERNEL.replace("k = ", "z.3 = ").replace("tuple-element(k)", "tuple-element(z.3)");
    let renamed = renamed.replace("\\\"other\\\": 1", "\\\"more\\\": 2").replace("w = f32[8,16]", "w = f32[8,16]{1,0}");
    assert_ne!(renamed, KERNEL);
    let same = found(KERNEL, &renamed);
    let told = vec!["attribute-changed k: backend_config.other=1 -> backend_config.more=2".to_string()];
    assert_eq!((lines(&same), &same.unmatched), (told, &Default::default()));
    assert_eq!(same.not_understood.apart, [Vec::<String>::new(), Vec::new()]);
    assert_eq!(same.not_understood.alike, ["k (kernel)", "c (constant)", "r (rng)", "r2 (rng)"]);
}

#[test]
fn what_is_understood_beside_is_told() {
    let edited = kernel_with("w = f32[8,16] multiply(x, x)", "w = f32[8,16] add(x, x)");
    assert_eq!(lines(&found(KERNEL, &edited)), ["precision-changed w: multiply -> multiply by 2"]);
    // What it takes counts as well.
    let sooner = kernel_with("y = bf16[8,16] convert(x)", "n = f32[8,16] tanh(x)\n  y = bf16[8,16] convert(n)");
    let told = found(KERNEL, &sooner);
    assert!(!told.not_understood.apart[0].is_empty() || !told.changes.is_empty(), "{told:?}");
    let wide = kernel_with("y = bf16[8,16] convert(x)", "h = f16[8,16] convert(x)\n  y = bf16[8,16] convert(h)");
    let told = lines(&found(KERNEL, &wide));
    assert!(told.iter().any(|line| line.starts_with("rounding-added") && line.contains("for k")), "{told:?}");
}

#[test]
fn opaque_calls_that_differ_are_named() {
    let differs = |before: &str, after: &str| {
        let told = found(before, after);
        assert_eq!(lines(&told), Vec::<String>::new(), "no change is known");
        told.not_understood.apart
    };
    let other = kernel_with("target=\"kernel\"", "target=\"seed\"");
    assert_eq!(differs(KERNEL, &other), [vec!["k (kernel)".to_string()], vec!["k (seed)".to_string()]]);
    assert_eq!(differs(KERNEL, &kernel_with("abc", "abd")), [["k (kernel)"], ["k (kernel)"]]);
    let normal =
        kernel_with("r2 = f32[8,16] rng(low, high), distribution=rng_uniform", "r2 = f32[8,16] rng(low, high)");
    assert_eq!(differs(KERNEL, &normal), [["r2 (rng)"], ["r2 (rng)"]]);
    // Regions count by what they say, not by what they are called.
    let region = |name: &str, opcode: &str| {
        let region = format!("{name} {{\n  a = f32[] parameter(0)\n  ROOT b = f32[] {opcode}(a)\n}}\n\nENTRY");
        of_line("f32[8]", &format!("custom-call(x), custom_call_target=\"each\", called_computations={{{name}}}"))
            .replace("ENTRY", &region)
    };
    let same = found(&region("one", "tanh"), &region("two", "tanh"));
    assert_eq!(same.not_understood.alike, ["r (each)"]);
    assert_eq!(differs(&region("one", "tanh"), &region("one", "exponential")), [["r (each)"], ["r (each)"]]);
}

/// Neither a contradiction nor a missing attribute is something unknown.
#[test]
fn contradictions_stay_refusals() {
    let refused = |shape: &str, line: &str| {
        let module = parse(&of_line(shape, line)).unwrap();
        let [one, other] = [lower(&module), lower_with_opaque(&module)].map(|import| import.unwrap_err().to_string());
        assert_eq!(one, other);
        one
    };
    assert!(refused("f32[9]", "negate(x)").contains("line 5"));
    assert!(refused("f32[8]", "add(x)").contains("operands are needed"));
    assert!(refused("f32[8,8]", "broadcast(x), dimensions={one}").contains("not a list of numbers"));
    assert!(refused("opaque[8]", "convert(x)").contains("element type opaque"));
}

#[test]
fn whatever_runs_a_program_refuses_it() {
    let line = of_line("f32[8]", "custom-call(x), custom_call_target=\"kernel\"");
    let error = lower(&parse(&line).unwrap()).unwrap_err().to_string();
    assert!(error.contains("line 5") && error.contains("custom call `kernel` is not supported"), "{error}");
    let import = seen(&line);
    assert!(matches!(import.program.entry().instructions[1].op, Op::Opaque(_)));
    let x = [Tensor::new(&[8], Data::from_f32s(ulpgate::tensor::DType::F32, vec![1.0; 8]).unwrap())];
    let mode = "v5e/default/as-compiled".parse::<Mode>().unwrap();
    let error = ulpgate::machine::evaluate(&import.program, &mode, &x).unwrap_err().to_string();
    assert!(error.contains("r: opaque is not supported: kernel has no meaning here"), "{error}");
    let error = Oracle::default().evaluate(&import.program, &x, &[Demand::Rounded]).unwrap_err().to_string();
    assert!(error.contains("nothing is known of it"), "{error}");
}

#[test]
fn a_whole_program_and_one_cut_for_devices_are_not_compared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo_devices");
    let of = |name: &str| seen(&fs::read_to_string(folder.join(name)).unwrap());
    let error = difference(&of("a2a.before.hlo"), &of("a2a.compiled.hlo"), None).unwrap_err();
    assert!(matches!(error, DiffError::Devices { before: (4, 1), after: (4, 4) }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("cut for devices") && said.contains("--xla_dump_hlo_pass_re=spmd-partitioning"), "{said}");
}

fn written(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path
}

fn run(arguments: &[&str], files: &[&PathBuf]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
    let Output { status, stdout, stderr } = command.arg("hlo").args(arguments).args(files).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn exit_codes_say_what_could_be_judged() {
    let kernel = written("opaque_kernel.hlo", KERNEL);
    let other = written("opaque_other.hlo", &kernel_with("abc", "abd"));
    let edited = kernel_with("abc", "abd").replace("multiply(x, x)", "add(x, x)");
    let edited = written("opaque_edited.hlo", &edited);
    let (code, shown, _) = run(&["show"], &[&kernel]);
    assert!(code == Some(0) && shown.contains("Not understood: k (kernel), line 6"), "{shown}");
    let (code, told, note) = run(&["diff"], &[&kernel, &kernel]);
    assert_eq!((code, told.as_str()), (Some(0), "changes: none\n"));
    assert!(note.contains("not understood, but the same in both files: k (kernel), c (constant)"), "{note}");
    let (code, told, note) = run(&["diff"], &[&kernel, &other]);
    assert_eq!((code, told.as_str()), (Some(2), ""));
    assert!(note.contains("not understood, and not the same in both files: ") && note.contains("k (kernel)"), "{note}");
    let (code, told, note) = run(&["diff"], &[&kernel, &edited]);
    assert_eq!(code, Some(1));
    assert!(told.starts_with("precision-changed w: multiply -> multiply by 2\nNext: "), "{told}");
    assert!(note.contains("not understood, and not the same in both files: "), "{note}");
    let (code, told, _) = run(&["diff", "--json"], &[&kernel, &edited]);
    assert!(code == Some(1) && told.contains("\"not_understood\""), "{told}");
    // What is run has to be understood.
    let inputs = written("opaque.safetensors", "");
    let inputs = inputs.to_str().unwrap();
    let (code, _, error) = run(&["diff", "--inputs", inputs], &[&kernel, &kernel]);
    assert!(code == Some(2) && error.contains("line 6, column 3"), "{error}");
    let out = written("opaque_out.safetensors", "");
    let out = out.to_str().unwrap();
    let (code, _, error) = run(&["eval", "--inputs", inputs, "--out", out], &[&kernel]);
    assert!(code == Some(2) && error.contains("line 6, column 3"), "{error}");
}
