//! The results of a program in both worlds, side by side.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::subject;
use ulpgate::tensor::Tensor;

/// The program of an HLO text.
#[track_caller]
pub fn program(text: &str) -> Program {
    lower(&parse(text).unwrap()).unwrap_or_else(|error| panic!("{error} in\n{text}")).program
}

/// The results in f64: on the machine in this mode, and over the real numbers, where all must be decided.
#[track_caller]
pub fn both(mode: &str, program: &Program, arguments: &[Tensor]) -> [Vec<Vec<f64>>; 2] {
    let machine = subject::evaluate(program, &mode.parse::<Mode>().unwrap(), arguments).unwrap();
    let demands = vec![Demand::Rounded; machine.len()];
    let truth = Oracle::default().evaluate(program, arguments, &demands).unwrap();
    let real = |truth: &TruthTensor| match truth {
        TruthTensor::Float(float) => float.rounded.clone(),
        TruthTensor::Integer { values, .. } => values.iter().map(|v| v.unwrap() as f64).collect(),
        TruthTensor::Predicate { values, .. } => values.iter().map(|v| f64::from(u8::from(v.unwrap()))).collect(),
        TruthTensor::Skipped => panic!("a result without truth"),
    };
    [machine.iter().map(|t| t.data().to_f64s()).collect(), truth.outputs.iter().map(real).collect()]
}
