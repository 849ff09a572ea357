//! Operations on complex numbers, which XLA's simplifier rewrites as wholes (FACTS 9.1).
//!
//! A program has the parts of complex numbers. Rules that take constants, exponents or roots of complex numbers together look through
//! what operations on parts do not show, and some are true of positive numbers alone: sqrt(z*z) becomes |z|, log(exp(z)) becomes z. So
//! nothing is known of what may have been rewritten.

use crate::ir::{Binary, Instruction, LibraryFunction, Op, ValueId};
use crate::oracle::Latitude;
use crate::tensor::DType;

use super::groups::Groups;

/// Lets each part of a complex number that a rule may give be anything.
pub(super) fn forget(latitudes: &mut [Latitude], groups: &Groups) {
    let mut is_scaled = vec![false; groups.instructions.len()];
    for (id, instruction) in groups.instructions.iter().enumerate() {
        let is_rewritten = match factors(groups, id) {
            _ if instruction.of_complex_function() => true,
            Some(factors) => {
                let is_spread = |factor: &[ValueId; 2]| factor.iter().all(|part| groups.known[*part].is_spread);
                let any_part =
                    |test: &dyn Fn(ValueId) -> bool| factors.iter().flatten().any(|part| test(groups.roots[*part]));
                let (by_constant, of_scaled) = (factors.iter().any(is_spread), any_part(&|part| is_scaled[part]));
                is_scaled[id] = by_constant || of_scaled;
                by_constant && of_scaled || any_part(&|part| is_flag(groups, part))
            }
            None => adds_products_of_one(groups, instruction),
        };
        if is_rewritten {
            latitudes[id] = Latitude::Unknown;
        }
    }
}

/// The real and the imaginary part of both factors of a complex product, of which this is a part.
fn factors(groups: &Groups, id: ValueId) -> Option<[[ValueId; 2]; 2]> {
    let instruction = &groups.instructions[id];
    if instruction.library() != Some(&LibraryFunction::ComplexProduct) {
        return None;
    }
    // ac - bd, and bc + ad: parts of one factor stand on one side.
    let of = |operand: ValueId| match groups.instructions[groups.roots[operand]].operands[..] {
        [one, other] => Some([one, other]),
        _ => None,
    };
    let &[first, second] = &instruction.operands[..] else { return None };
    let ([a, c], [b, d]) = (of(first)?, of(second)?);
    Some([[a, b], [c, d]])
}

/// Whether a value is a predicate as a number.
fn is_flag(groups: &Groups, id: ValueId) -> bool {
    let Instruction { op, operands, .. } = &groups.instructions[id];
    *op == Op::Convert && groups.instructions[operands[0]].shape.dtype() == Some(DType::Pred)
}

/// Whether two complex products with a common factor are added: `x z + y z` becomes `(x + y) z`.
fn adds_products_of_one(groups: &Groups, instruction: &Instruction) -> bool {
    let (Op::Binary(Binary::Add), &[a, b]) = (&instruction.op, &instruction.operands[..]) else { return false };
    let roots = |id: ValueId| -> Option<[[ValueId; 2]; 2]> {
        Some(factors(groups, groups.roots[id])?.map(|factor| factor.map(|part| groups.roots[part])))
    };
    match (roots(a), roots(b)) {
        (Some(one), Some(other)) => one.iter().any(|factor| other.contains(factor)),
        _ => false,
    }
}
