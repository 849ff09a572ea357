//! Constants that are decimals: 0.999 of a program in Python, where its f32 is 0.99900001.

use crate::ir::{Computation, Instruction, Op, Program, Shape};
use crate::oracle::TruthTensor;
use crate::tensor::{DType, Data, Tensor};

use super::super::{Ground, truth as truths};

/// Significant digits of a decimal that a person writes.
const DIGITS: usize = 6;

/// The truth of one result whose constants are the decimals that they round: of an optimiser whose decays are numbers of Python, say.
/// `None` where there are none, or the truth is not known.
pub fn truth(ground: &Ground, output: usize) -> Option<Vec<f64>> {
    ground.truth.as_ref()?;
    let decimal = with_decimals(ground.program)?;
    let mut all = truths(&decimal, ground.arguments, &mut Vec::new())?;
    match all.swap_remove(output) {
        TruthTensor::Float(truth) => Some(truth.rounded),
        _ => None,
    }
}

/// The program with the decimals that its constants of f32 round, in f64; `None` if it has none.
fn with_decimals(program: &Program) -> Option<Program> {
    let mut changed = program.clone();
    let mut found = false;
    for computation in &mut changed.computations {
        let constants: Vec<(usize, f64)> = (0..computation.instructions.len())
            .filter_map(|id| Some((id, decimal(&computation.instructions[id])?)))
            .collect();
        found |= !constants.is_empty();
        // The last one first, so that the places of the others stay.
        constants.into_iter().rev().for_each(|(id, number)| insert(computation, id, number));
    }
    found.then_some(changed)
}

/// The short decimal that a constant of f32 rounds, where that is another number.
fn decimal(instruction: &Instruction) -> Option<f64> {
    let Op::Constant(value) = &instruction.op else { return None };
    if value.dtype() != DType::F32 || value.len() != 1 {
        return None;
    }
    let rounded = value.data().get_f64(0);
    let short: f64 = format!("{:.*e}", DIGITS - 1, rounded).parse().ok()?;
    (short != rounded && short as f32 == rounded as f32).then_some(short)
}

/// Puts an f64 before a constant, which becomes its conversion.
fn insert(computation: &mut Computation, id: usize, number: f64) {
    let moved = |other: usize| if other >= id { other + 1 } else { other };
    for instruction in &mut computation.instructions {
        instruction.operands.iter_mut().for_each(|operand| *operand = moved(*operand));
    }
    computation.root = moved(computation.root);
    let old = &mut computation.instructions[id];
    let dims = old.shape.dims().to_vec();
    old.op = Op::Convert;
    old.operands = vec![id];
    let name = format!("{}.decimal", old.name);
    let value = Op::Constant(Tensor::new(&dims, Data::F64(vec![number])));
    computation.instructions.insert(id, Instruction::new(name, value, Vec::new(), Shape::array(DType::F64, &dims)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_decimal_is_told_from_a_number_of_f32() {
        let of = |number: f32| {
            let value = Op::Constant(Tensor::new(&[], Data::F32(vec![number])));
            decimal(&Instruction::new("c", value, Vec::new(), Shape::array(DType::F32, &[])))
        };
        assert_eq!(of(0.999), Some(0.999));
        assert_eq!(of(1e-5), Some(1e-5));
        assert_eq!((of(0.75), of(std::f32::consts::FRAC_1_SQRT_2)), (None, None), "itself, and no short decimal");
    }

    #[test]
    fn operands_follow_the_constants_that_are_put_before() {
        let array = |dims: &[usize]| Shape::array(DType::F32, dims);
        let value = |number: f32| Op::Constant(Tensor::new(&[], Data::F32(vec![number])));
        let mut computation = Computation {
            name: "main".to_string(),
            instructions: vec![
                Instruction::new("a", value(0.9), Vec::new(), array(&[])),
                Instruction::new("b", value(1.0), Vec::new(), array(&[])),
                Instruction::new("c", Op::Binary(crate::ir::Binary::Subtract), vec![1, 0], array(&[])),
            ],
            root: 2,
        };
        insert(&mut computation, 0, 0.9);
        assert_eq!((computation.root, &computation.instructions[3].operands[..]), (3, &[2, 1][..]));
        assert_eq!(
            (&computation.instructions[1].op, &computation.instructions[1].operands[..]),
            (&Op::Convert, &[0][..])
        );
    }
}
