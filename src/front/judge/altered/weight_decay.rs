//! Weight decay that is added to the gradient in the place of the update: L2 regularisation where the program has the decoupled decay
//! of I. Loshchilov and F. Hutter, "Decoupled weight decay regularization" (2019), section 2.

use crate::ir::{Binary, Op, ValueId};
use crate::tensor::{Data, Tensor};

use super::super::arguments::parameter_names;
use super::super::evidence::{Pattern, Runner};
use super::numbers::fit_number;
use super::{LARGEST, constant_number, keep, result_with_all};

/// A product of an argument and a constant, as a decay of weights is.
struct Decay {
    product: ValueId,
    argument: usize,
    rate: f64,
}

/// The decay of one argument that is left out of the update and added to another argument of the same dims, the gradient; its rate is
/// fitted, because the update may have the learning rate in it.
pub(super) fn weight_decay(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let (program, arguments) = (evidence.ground.program, evidence.ground.arguments);
    let names = parameter_names(program);
    let mut best = None;
    for decay in decays(runner) {
        let weights = &arguments[decay.argument];
        let dims = program.entry().instructions[decay.product].shape.dims().to_vec();
        let Some(zeros) = Data::from_f64s(weights.dtype(), &vec![0.0; weights.len()]) else { continue };
        let zeros = Tensor::new(&dims, zeros);
        let numbers = weights.data().to_f64s();
        for (at, other) in program.entry().instructions.iter().enumerate() {
            let Op::Parameter(number) = other.op else { continue };
            let gradient = &arguments[number];
            let is_alike = (gradient.dims(), gradient.dtype()) == (weights.dims(), weights.dtype());
            if number == decay.argument || !is_alike {
                continue;
            }
            let own = gradient.data().to_f64s();
            let mut with = |rate: f64| -> Option<Vec<f64>> {
                let sums: Vec<f64> = own.iter().zip(&numbers).map(|(g, p)| g + rate * p).collect();
                let sums = Tensor::new(gradient.dims(), Data::from_f64s(gradient.dtype(), &sums)?);
                result_with_all(runner, &[(at, sums), (decay.product, zeros.clone())])
            };
            let Some((rate, values)) = fit_number(evidence, decay.rate, &mut with) else { continue };
            let says = format!(
                "{rate:.4} times {} is added to {}, and not to the update: L2 regularisation in the place of a decoupled decay",
                names[decay.argument], names[number]
            );
            keep(&mut best, evidence, &values, "formula", says, Some(rate));
        }
    }
    best
}

/// The products of an argument of floats and a constant.
fn decays(runner: &Runner) -> Vec<Decay> {
    let ground = runner.evidence.ground;
    let entry = ground.program.entry();
    let of = |product: ValueId| -> Option<Decay> {
        let instruction = &entry.instructions[product];
        let (Op::Binary(Binary::Multiply), [a, b]) = (&instruction.op, instruction.operands.as_slice()) else {
            return None;
        };
        let both = |argument: ValueId, constant: ValueId| -> Option<Decay> {
            let Op::Parameter(argument) = entry.instructions[argument].op else { return None };
            let rate = constant_number(entry, constant).filter(|rate| rate.is_finite() && *rate != 0.0)?;
            let is_large = ground.arguments.get(argument)?.len() > LARGEST;
            (!is_large).then_some(Decay { product, argument, rate })
        };
        both(*a, *b).or_else(|| both(*b, *a))
    };
    (0..entry.instructions.len()).filter_map(of).collect()
}
