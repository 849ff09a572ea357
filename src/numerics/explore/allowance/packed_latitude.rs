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
