//! Packed code of bf16 that tpu7x may have for a program as written (FACTS 3.3): the fusions that its compiler will make are not known.

use crate::ir::{Binary, Op};
use crate::machine::vector::packed_errors;
use crate::num::{BF16, F32};
use crate::oracle::{Latitude, Rounding};

/// A latitude of an operation of bf16 that allows its packed code as well. Where the operation is followed by its rounding to bf16, it
/// may be in f32.
pub fn or_packed(latitude: Latitude, op: &Op) -> Latitude {
    let Latitude::Rounded(rounding) = latitude else { return latitude };
    Latitude::Rounded(match op {
        Op::Unary(unary) => {
            let [operand, relative] = packed_errors(*unary).unwrap_or_default();
            let (operand, relative) = (rounding.operand.max(operand), rounding.relative.max(relative));
            Rounding { operand, relative, ..rounding }
        }
        Op::Binary(Binary::Divide) => {
            let mut others = rounding.others;
            others.push((vec![F32, BF16], F32.min_normal()));
            Rounding { others, ..rounding }
        }
        _ => rounding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Unary;

    /// A latitude with packed code holds what it held, the errors of packed functions and a reciprocal that is rounded to bf16.
    #[test]
    fn packed_code_is_permitted_as_well() {
        let given = Rounding { operand: 1e-9, relative: 1e-9, ..Rounding::default() };
        let packed = |op: Op| match or_packed(Latitude::Rounded(given.clone()), &op) {
            Latitude::Rounded(rounding) => rounding,
            other => panic!("{other:?}"),
        };
        for unary in Unary::ALL.iter().copied() {
            let [operand, relative] = packed_errors(unary).unwrap_or_default();
            let expected = Rounding { operand: operand.max(1e-9), relative: relative.max(1e-9), ..given.clone() };
            assert_eq!(packed(Op::Unary(unary)), expected, "{}", unary.name());
        }
        let quotient = packed(Op::Binary(Binary::Divide));
        assert_eq!(quotient.others, [(vec![F32, BF16], F32.min_normal())]);
        assert_eq!(packed(Op::Binary(Binary::Multiply)), given);
        let product = Op::Binary(Binary::Divide);
        assert!(matches!(or_packed(Latitude::Unknown, &product), Latitude::Unknown));
    }
}
