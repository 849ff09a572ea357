//! A precision forbids: of a dot that asks for six passes neither three passes nor one are permitted, in no order of additions,
//! and what it asks for or more is permitted in every order.

use ulpgate::explore::{Settings, enclose, outside};
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::machine::mxu::Accumulation;
use ulpgate::subject;
use ulpgate::tensor::{Data, Tensor};

/// A dot or convolution in text, with a place for its `operand_precision`.
struct Kind {
    name: &'static str,
    /// Its arguments' dims.
    dims: [Vec<usize>; 2],
    result: Vec<usize>,
    /// All of the program's text behind the header, with `{precision}` where the attribute goes.
    text: String,
    /// The number of products that an element adds up.
    k: usize,
}

fn f32s(dims: &[usize]) -> String {
    let layout: Vec<String> = (0..dims.len()).rev().map(|dim| dim.to_string()).collect();
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("f32[{}]{{{}}}", dims.join(","), layout.join(","))
}

fn entry(dims: &[Vec<usize>; 2], root: &str) -> String {
    let [left, right] = [0, 1].map(|side| f32s(&dims[side]));
    format!("ENTRY main {{\n  a = {left} parameter(0)\n  b = {right} parameter(1)\n  ROOT {root}\n}}\n")
}

fn kind(name: &'static str, [left, right, result]: [&[usize]; 3], k: usize, operation: &str) -> Kind {
    let dims = [left.to_vec(), right.to_vec()];
    let root = format!("out = {} {operation}{{precision}}", f32s(result));
    Kind { name, text: entry(&dims, &root), dims, result: result.to_vec(), k }
}

/// Dots and convolutions as a program has them, with K products an element.
fn kinds(m: usize, k: usize, n: usize) -> Vec<Kind> {
    let plain = "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}";
    let rows = "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}";
    let batched =
        "dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}";
    let two = "dot(a, b), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}";
    let product = "convolution(a, b), dim_labels=bf_io->bf";
    let window = "convolution(a, b), window={size=4}, dim_labels=b0f_0io->b0f";
    vec![
        kind("dot", [&[m, k], &[k, n], &[m, n]], k, plain),
        kind("dot of rows", [&[m, k], &[n, k], &[m, n]], k, rows),
        kind("batched dot", [&[2, m, k], &[2, k, n], &[2, m, n]], k, batched),
        kind("dot of two dims", [&[m, k / 4, 4], &[k / 4, 4, n], &[m, n]], k, two),
        kind("convolution", [&[m, k], &[k, n], &[m, n]], k, product),
        kind("window", [&[m, 4, k / 4], &[4, k / 4, n], &[m, 1, n]], k, window),
    ]
}

/// A dot as a TPU's compiler writes it: a convolution in a fusion.
fn compiled(kind: &Kind, precision: &str) -> Program {
    let [left, right] = [0, 1].map(|side| f32s(&kind.dims[side]));
    let result = f32s(&kind.result);
    let text = format!(
        "HloModule jit_f, is_scheduled=true\n\nfused_computation {{\n  p0 = {left} parameter(0)\n  p1 = {right} parameter(1)\n  \
         ROOT convolution.1 = {result} convolution(p0, p1), dim_labels=bf_io->bf{}\n}}\n\n{}",
        attribute(precision),
        entry(&kind.dims, &format!("out = {result} fusion(a, b), kind=kOutput, calls=fused_computation"))
    );
    lower(&parse(&text).unwrap()).unwrap().program
}

fn attribute(precision: &str) -> String {
    if precision == "default" { String::new() } else { format!(", operand_precision={{{precision},{precision}}}") }
}

fn program(kind: &Kind, precision: &str) -> Program {
    let text = format!("HloModule jit_f\n\n{}", kind.text.replace("{precision}", &attribute(precision)));
    lower(&parse(&text).unwrap()).unwrap().program
}

/// Numbers of either sign with all bits of f32, of sizes as a normal distribution has them: sums of four uniform ones.
fn drawn(dims: &[usize], seed: u64) -> Tensor {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let count = dims.iter().product();
    let numbers = (0..count).map(|_| (0..4).map(|_| uniform()).sum::<f64>() as f32).collect();
    Tensor::new(dims, Data::F32(numbers))
}

/// The precisions, cheapest first.
const PRECISIONS: [&str; 3] = ["default", "high", "highest"];

fn count_outside(program: &Program, arguments: &[Tensor], mode: &str, results: &[Tensor]) -> usize {
    let settings = Settings::new(mode.parse().unwrap());
    let (_, enclosed) = enclose(program, arguments, &settings).unwrap();
    let found = outside(&enclosed, results);
    assert!(found.iter().all(|found| found.unknown == 0), "{found:?}");
    found.iter().map(|found| found.elements.len()).sum()
}

/// `least` has the least share of elements outside that a pass fewer leaves, by the precision given and the one asked for.
fn holds(kind: &Kind, chip: &str, least: impl Fn(usize, usize) -> f64) {
    let arguments = [drawn(&kind.dims[0], 1), drawn(&kind.dims[1], 2)];
    let asked = PRECISIONS.map(|precision| program(kind, precision));
    for (given, precision) in PRECISIONS.iter().enumerate() {
        let accumulations = Accumulation::ALL.iter().map(|accumulation| accumulation.name());
        for accumulation in accumulations {
            let excess = |excess: &str| format!("{chip}/default/{excess}+acc={accumulation}").parse().unwrap();
            let mut results =
                vec![("as written", subject::evaluate(&asked[given], &excess("off"), &arguments).unwrap())];
            if kind.name == "dot" {
                let compiled = compiled(kind, precision);
                let results_of = subject::evaluate(&compiled, &excess("as-compiled"), &arguments).unwrap();
                results.push(("compiled", results_of));
            }
            for (wanted, program) in asked.iter().enumerate() {
                for (form, results) in &results {
                    let count = count_outside(program, &arguments, &format!("{chip}/default/off"), results);
                    let (elements, share) = (results[0].len(), if given < wanted { least(given, wanted) } else { 0.0 });
                    let told = format!(
                        "{} of K = {} on {chip}, {form}: {precision} with acc={accumulation} for {}: {count} of {elements}",
                        kind.name, kind.k, PRECISIONS[wanted]
                    );
                    println!("{told}");
                    match given < wanted {
                        true => assert!(count as f64 >= share * elements as f64, "{told}"),
                        false => assert_eq!(count, 0, "{told}"),
                    }
                }
            }
        }
    }
}

#[test]
fn fewer_passes_than_asked_for_are_not_permitted() {
    for kind in kinds(16, 8, 16) {
        holds(&kind, "v5e", |_, _| 0.2);
    }
    for kind in kinds(8, 64, 8) {
        holds(&kind, "v6e", |given, _| if given == 0 { 0.5 } else { 0.0 });
    }
}

#[test]
fn one_pass_is_not_permitted_in_long_sums_either() {
    for (k, least) in [(1024, 0.5), (4096, 0.2)] {
        let kind = &kinds(4, k, 8)[0];
        holds(kind, "v5e", |given, wanted| if given == 0 && wanted == 2 { least } else { 0.0 });
    }
}
