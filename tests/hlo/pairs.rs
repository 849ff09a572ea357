//! f64 on TPUs: what the compiler writes computes with pairs of f32 (FACTS 9.3), files in `tests/data/f64`; a program as written
//! that computes in f64 is refused in every mode of a TPU, by every command.

use std::path::{Path, PathBuf};
use std::process::Command;

use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::rewrite::POLICIES;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

const MODE: &str = "v5e/default/as-compiled";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/f64")
}

fn program(name: &str) -> Program {
    let text = std::fs::read_to_string(folder().join(format!("v5e/{name}.hlo"))).unwrap();
    lower(&parse(&text).unwrap()).unwrap().program
}

fn inputs(name: &str) -> Vec<Tensor> {
    safetensors::read(&folder().join(format!("{name}.inputs.safetensors")))
        .unwrap()
        .into_iter()
        .map(|(_, t)| t)
        .collect()
}

fn evaluate(program: &Program, mode: &str, arguments: &[Tensor]) -> Result<Tensor, String> {
    let mode: Mode = mode.parse().unwrap();
    subject::evaluate(program, &mode, arguments).map(|mut results| results.swap_remove(0)).map_err(|e| e.to_string())
}

fn exact(program: &Program, arguments: &[Tensor]) -> Vec<f64> {
    match Oracle::default().evaluate(program, arguments, &[Demand::Rounded]).unwrap().outputs.swap_remove(0) {
        TruthTensor::Float(float) => float.rounded,
        _ => panic!("the result is one of floats"),
    }
}

/// The size of an element's terms, by which cancellation is no error of its own.
fn sizes(name: &str, arguments: &[Tensor], exact: &[f64]) -> Vec<f64> {
    let of = |at: usize| arguments[at].data().to_f64s().into_iter().map(f64::abs).collect::<Vec<f64>>();
    match name {
        "add" => of(0).iter().zip(of(1)).map(|(x, y)| x + y).collect(),
        "total" => of(0).chunks(64).map(|row| row.iter().sum()).collect(),
        "dot" => {
            let (x, y) = (of(0), of(1));
            let one = |at: usize| (0..8).map(|k| x[at / 4 * 8 + k] * y[k * 4 + at % 4]).sum();
            (0..16).map(one).collect()
        }
        _ => exact.iter().map(|number| number.abs()).collect(),
    }
}

/// The largest error of each compiled file against what the program means, in bits below the terms' size. Pairs hold 48 bits; of
/// `2 exp(x)` alone, of a scalar, the compiler's own file loses half of them, which a TPU printed (Reactant.jl PR #2497).
#[test]
fn compiled_files_compute_with_pairs() {
    let two = Tensor::new(&[], Data::F64(vec![2.0]));
    let (mut table, mut failed) = (Vec::new(), false);
    for (name, bits) in [
        ("multiply", 48),
        ("add", 47),
        ("divide", 46),
        ("exponential", 48),
        ("logistic", 46),
        ("total", 50),
        ("dot", 47),
        ("twice_exponential", 25),
    ] {
        let arguments = if name == "twice_exponential" { vec![two.clone()] } else { inputs(name) };
        let got = evaluate(&program(&format!("{name}.excess_on")), MODE, &arguments).unwrap().data().to_f64s();
        let exact = exact(&program(&format!("{name}.before")), &arguments);
        let sizes = sizes(name, &arguments, &exact);
        let errors = got.iter().zip(&exact).zip(sizes).map(|((got, exact), size)| (got - exact).abs() / size);
        let largest = errors.fold(0.0, f64::max);
        table.push(format!("{name}: 2^{:.1}", largest.log2()));
        let (least, most) = (2f64.powi(-bits - 1), 2f64.powi(-bits));
        failed |= !(least < largest && largest <= most);
    }
    assert!(!failed, "{}", table.join("\n"));
}

/// A TPU printed 14.778112436279883 of 2 exp(2); the number is 14.7781121978613 (FACTS 2.5).
#[test]
fn a_printed_f64_is_that_of_pairs() {
    let two = Tensor::new(&[], Data::F64(vec![2.0]));
    let got = evaluate(&program("twice_exponential.excess_on"), MODE, &[two]).unwrap();
    assert_eq!(got.data().to_f64s(), [14.778112436279883]);
}

/// A pair is the number rounded to f32 and what that loses, rounded to f32.
fn pair(x: f64) -> [f32; 2] {
    let leading = x as f32;
    let rest = if leading.is_infinite() || leading.is_nan() { 0.0 } else { (x - leading as f64) as f32 };
    [leading, rest]
}

#[test]
fn numbers_are_parted_and_joined_as_xla_does() {
    let parts = |target: &str, from: &str, to: &str| {
        let text =
            format!("x = {from}[8] parameter(0)\n  ROOT r = {to}[8] custom-call(x), custom_call_target=\"{target}\"");
        lower(&parse(&format!("HloModule m\n\nENTRY e {{\n  {text}\n}}\n")).unwrap()).unwrap().program
    };
    let third = 1.0 / 3.0;
    let xs =
        [third, 1.0 + 2f64.powi(-30), -1e300, 16777217.0, f64::NEG_INFINITY, f64::NAN, 1e-42, 1.0 + 2f64.powi(-24)];
    let argument = [Tensor::new(&[8], Data::F64(xs.to_vec()))];
    for (at, target) in ["X64SplitLow", "X64SplitHigh"].into_iter().enumerate() {
        let expected: Vec<u32> = xs.iter().map(|x| pair(*x)[at].to_bits()).collect();
        // No policy leaves out the rounding that the pair is made of.
        for policy in POLICIES {
            let got =
                evaluate(&parts(target, "f64", "f32"), &format!("v5e/default/{}", policy.name), &argument).unwrap();
            let got: Vec<u32> = got.data().to_f32s().iter().map(|x| x.to_bits()).collect();
            assert_eq!(got, expected, "{target} as {}", policy.name);
        }
    }
    let text = "HloModule m\n\nENTRY e {\n  a = f32[3] parameter(0)\n  b = f32[3] parameter(1)\n  ROOT r = f64[3] custom-call(a, b), \
                custom_call_target=\"X64Combine\"\n}\n";
    let join = lower(&parse(text).unwrap()).unwrap().program;
    let f32s = |values: [f32; 3]| Tensor::new(&[3], Data::F32(values.to_vec()));
    let got = evaluate(&join, MODE, &[f32s([1.0, f32::INFINITY, 3.0]), f32s([2f32.powi(-40), 0.0, 1.0])]).unwrap();
    assert_eq!(got.data().to_f64s(), [1.0 + 2f64.powi(-40), f64::INFINITY, 4.0]);
    // Over the real numbers nothing is lost: the leading part is the number, the rest 0.
    let whole = "HloModule m\n\nENTRY e {\n  x = f64[8] parameter(0)\n  a = f32[8] custom-call(x), custom_call_target=\"X64SplitLow\"\n  \
                 b = f32[8] custom-call(x), custom_call_target=\"X64SplitHigh\"\n  ROOT r = f64[8] custom-call(a, b), \
                 custom_call_target=\"X64Combine\"\n}\n";
    let whole = lower(&parse(whole).unwrap()).unwrap().program;
    let numbers = [0.1, 1.0 + 2f64.powi(-50), -3.5, 1e30, 2.0, 7.0, 1e-30, 0.0];
    assert_eq!(exact(&whole, &[Tensor::new(&[8], Data::F64(numbers.to_vec()))]), numbers);
}

#[test]
fn what_is_no_part_of_a_pair_is_refused() {
    for (given, why) in [
        ("x = f32[2] parameter(0)\n  ROOT r = f32[2] custom-call(x), custom_call_target=\"X64SplitLow\"", "not f32[2]"),
        (
            "x = f64[2] parameter(0)\n  ROOT r = f64[2] custom-call(x, x), custom_call_target=\"X64Combine\"",
            "two f32 to an f64, not f64[2] and f64[2] to f64[2]",
        ),
    ] {
        let text = format!("HloModule m\n\nENTRY e {{\n  {given}\n}}\n");
        let refused = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

/// Numbers that a TPU only moves, picks or converts without loss are the same as written and as compiled, bit for bit, and come out as
/// the pair that it was there.
#[test]
fn what_is_only_moved_is_as_compiled() {
    for name in ["moved", "picked", "narrowed", "of_integers"] {
        let arguments = inputs(name);
        let [written, compiled] = ["before", "excess_on"]
            .map(|stage| evaluate(&program(&format!("{name}.{stage}")), MODE, &arguments).unwrap());
        assert_eq!((written.dims(), written.data()), (compiled.dims(), compiled.data()), "{name}");
        let ieee = evaluate(&program(&format!("{name}.before")), "cpu/f32/off", &arguments).unwrap();
        assert_eq!(written.data() == ieee.data(), matches!(name, "narrowed" | "of_integers"), "{name}");
    }
}

/// `{name}: {opcode}` in f64, for every mode of a TPU and no other.
#[test]
fn arithmetic_as_written_has_no_mode_of_a_tpu() {
    for (name, opcode) in [
        ("multiply", "multiply"),
        ("total", "add"),
        ("dot", "dot"),
        ("logistic", "negate"),
        ("exponential", "exponential"),
    ] {
        let (program, arguments) = (program(&format!("{name}.before")), inputs(name));
        for chip in ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"] {
            let refused = evaluate(&program, &format!("{chip}/highest/off"), &arguments).unwrap_err();
            let all = refused.contains("TPUs have no f64") && refused.contains(&format!("compiled for {chip}"));
            assert!(all && refused.contains(&format!(": {opcode} of f64")), "{name}: {refused}");
        }
        for mode in ["cpu/f32/off", "xla-cpu/default/off"] {
            assert_eq!(evaluate(&program, mode, &arguments).unwrap().dtype(), DType::F64, "{name}");
        }
    }
    // F64 that a lowering works in is not the program's; complex numbers of f64 are.
    let of = |element: &str, part: &str| {
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  a = {part}[2] parameter(0)\n  z = {element}[2] complex(a, a)\n  y = {element}[2] \
             exponential-minus-one(z)\n  ROOT r = {part}[2] real(y)\n}}\n"
        );
        let argument = match part {
            "f32" => Data::F32(vec![0.5, 1.0]),
            _ => Data::F64(vec![0.5, 1.0]),
        };
        let program = lower(&parse(&text).unwrap()).unwrap().program;
        evaluate(&program, MODE, &[Tensor::new(&[2], argument)])
    };
    assert!(of("c64", "f32").is_ok());
    assert!(of("c128", "f64").unwrap_err().contains("y: exponential-minus-one of f64"));
}

/// A reduction of f64 to an index, which `explore` and `why` ask about.
const RANKED: &str = "HloModule m

ENTRY e {
  x = f64[2,3] parameter(0)
  y = f64[2,3] multiply(x, x)
  n = f32[2,3] convert(y)
  t = (f32[2,1], s32[2,1]) topk(n), k=1, largest=true
  i = s32[2,1] get-tuple-element(t), index=1
  token = s32[2] reshape(i)
  ROOT r = (f32[2,3], s32[2]) tuple(n, token)
}
";

#[test]
fn every_command_refuses_it_alike() {
    let folder = tempfile::TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::create_dir(place("suites")).unwrap();
    std::fs::write(place("ranked.hlo"), RANKED).unwrap();
    // One program twice, too large to be followed.
    let large =
        "HloModule m\n\nENTRY e {\n  x = f64[8192,8192] parameter(0)\n  ROOT y = f64[8192,8192] multiply(x, x)\n}\n";
    std::fs::write(place("large.hlo"), large).unwrap();
    let x = Tensor::new(&[2, 3], Data::F64(vec![1.0, 2.0, 3.0, -1.0, 0.5, 0.25]));
    safetensors::write(&place("in.safetensors"), &[("arg0".to_string(), x)]).unwrap();
    let suite = "claim = \"c\"\nwhy = \"w\"\nsource = \"s\"\n\n[[matrix]]\nprogram = [\"../ranked.hlo\"]\nresults = [\"p\", \
                 \"token\"]\nscores = \"p\"\nchip = [\"v5e\"]\nexcess = [\"off\"]\ninput = [\"normal\"]\nrows = [2]\ncheck = [{ kind = \
                 \"dropped_token\" }]\n";
    std::fs::write(place("suites/ranked.toml"), suite).unwrap();
    for command in [
        "hlo eval ranked.hlo --inputs in.safetensors --out out.safetensors",
        "hlo diff ranked.hlo ranked.hlo --inputs in.safetensors",
        "hlo why ranked.hlo --inputs in.safetensors",
        "explore ranked.hlo --inputs in.safetensors",
        "same ranked.hlo ranked.hlo",
        "same large.hlo large.hlo",
        "run ranked --out reports",
    ] {
        let mode = if command.starts_with("run") { "" } else { " --mode v5e/default/off" };
        let words = format!("{command}{mode}");
        let run = Command::new(env!("CARGO_BIN_EXE_ulpgate"))
            .args(words.split_whitespace())
            .current_dir(folder.path())
            .output();
        let ran = run.unwrap();
        let text = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        let tells = text.contains("multiply of f64 is not evaluated as v5e computes it: TPUs have no f64");
        assert!(tells && !ran.status.success(), "{command}: {text}");
    }
}
