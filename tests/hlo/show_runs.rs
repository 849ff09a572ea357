//! The account that `ulpgate hlo show` gives of every value of every reference file, held against the numbers that the value really
//! has when the file runs.

use std::fs;
use std::path::PathBuf;

use ulpgate::file::safetensors;
use ulpgate::flow::{self, FindingKind, Flow};
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Instruction, Op, Program, Shape};
use ulpgate::machine::{self, Mode};
use ulpgate::num::find_format;
use ulpgate::tensor::Tensor;

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo")
}

/// The program with these values of the entry as its results.
fn with_results(program: &Program, values: &[usize]) -> Program {
    let mut changed = program.clone();
    let entry = &mut changed.computations[program.entry];
    let shape = Shape::Tuple(values.iter().map(|id| entry.instructions[*id].shape.clone()).collect());
    let tuple = Instruction::new("all.values", Op::Tuple, values.to_vec(), shape);
    entry.instructions.push(tuple);
    entry.root = entry.instructions.len() - 1;
    changed.output_names = values.iter().map(|id| program.entry().instructions[*id].name.clone()).collect();
    changed
}

/// The flow of a compiled or uncompiled file, and the numbers of each float array in it, by name.
fn run(name: &str, chip: &str) -> (Flow, Vec<(String, Tensor)>) {
    let text = fs::read_to_string(data().join(format!("{name}.hlo"))).unwrap();
    let module = parse(&text).unwrap();
    let import = lower(&module).unwrap();
    let flow = flow::flow(&import, module.is_compiled(), &[]);
    let program = &import.program;
    let is_float = |id: &usize| {
        let shape = &program.entry().instructions[*id].shape;
        shape.dtype().is_some_and(|dtype| dtype.is_float())
    };
    let floats: Vec<usize> = (0..program.entry().instructions.len()).filter(is_float).collect();
    let stem = name.rsplit('/').next().unwrap().split('.').next().unwrap();
    let given = safetensors::read(&data().join(format!("cpu/{stem}.inputs.safetensors"))).unwrap();
    let arguments: Vec<Tensor> = (0..program.entry().parameter_shapes().len())
        .map(|at| given.iter().find(|(n, _)| *n == format!("arg{at}")).unwrap().1.clone())
        .collect();
    let mode: Mode = format!("{chip}/default/as-compiled").parse().unwrap();
    let changed = with_results(program, &floats);
    let results = machine::evaluate(&changed, &mode, &arguments).unwrap_or_else(|e| panic!("{name}: {e}"));
    (flow, changed.output_names.into_iter().zip(results).collect())
}

fn numbers_in(tensor: &Tensor, format: &str) -> bool {
    let format = find_format(format).unwrap();
    (0..tensor.len()).all(|at| format.contains(tensor.data().get_f64(at)))
}

/// All files of a folder: each value has only numbers of the format that it is said to hold; and where readers are said
/// to see a value in different precisions, the wider view really has numbers that the narrower does not.
fn hold(folder: &str, chip: &str, files: usize) {
    let mut names: Vec<String> = fs::read_dir(data().join(folder))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().into_string().unwrap().strip_suffix(".hlo")?.to_string()))
        .collect();
    names.sort();
    assert_eq!(names.len(), files);
    let (mut narrow, mut differing) = (0, 0);
    for name in names.iter().map(|name| format!("{folder}/{name}")) {
        let (flow, numbers) = run(&name, chip);
        let of = |value: &str| numbers.iter().find(|(n, _)| n == value).map(|(_, tensor)| tensor);
        for value in &flow.values {
            let (Some(tensor), Some(holds)) = (of(&value.name), value.holds) else { continue };
            if holds.name() != "any" {
                assert!(numbers_in(tensor, &holds.name()), "{name}: {} does not hold {holds}", value.name);
            }
            narrow += usize::from(value.is_narrow_in_wide());
        }
        for finding in flow.findings.iter().filter(|f| f.kind == FindingKind::TwoViews) {
            let narrowest = finding.views.last().unwrap().holds;
            let wide = finding.values.iter().filter_map(|value| of(value)).any(|t| !numbers_in(t, &narrowest.name()));
            assert!(wide, "{name}: {} has no number that {narrowest} has not", finding.subject);
            differing += 1;
        }
    }
    assert!(narrow > 50 && differing > 5, "{folder}: {narrow} narrow values, {differing} seen differently");
}

#[test]
fn cpu_values_hold_what_is_said() {
    hold("cpu", "xla-cpu", 63);
}

#[test]
fn v4_values_hold_what_is_said() {
    hold("tpu/v4", "v4", 63);
}

#[test]
fn v6e_values_hold_what_is_said() {
    hold("tpu/v6e", "v6e", 63);
}

#[test]
fn v5e_values_hold_what_is_said() {
    hold("tpu/v5e", "v5e", 63);
}

#[test]
fn tpu7x_values_hold_what_is_said() {
    hold("tpu/tpu7x", "tpu7x", 63);
}
