//! Initial values of reductions. HLO lets a reduction take them any number of times; XLA's simplifier drops them where one element is
//! reduced, and takes them twice where it cuts a reduction in two (FACTS 9.1). Only what changes no result is safe from that.

use crate::analysis::Reducer;
use crate::ir::{Binary, ComputationId, Instruction, Op};
use crate::num::Specials;
use crate::oracle::Latitude;
use crate::tensor::{DType, Tensor};

use super::groups::Groups;

/// Lets the result of a reduction be anything where its initial value may change it.
pub(super) fn forget(latitudes: &mut [Latitude], groups: &Groups, reducer: &dyn Fn(ComputationId) -> Option<Reducer>) {
    for (id, Instruction { op, operands, .. }) in groups.instructions.iter().enumerate() {
        let Op::Reduce { to_apply, .. } = op else { continue };
        let first = match groups.operation(operands[operands.len() / 2]) {
            Op::Constant(value) => Some(value),
            _ => None,
        };
        let is_neutral = match reducer(*to_apply) {
            Some(Reducer::Binary(binary)) => first.is_some_and(|value| is_identity(binary, value)),
            Some(Reducer::ArgMax | Reducer::GreaterKeep) => {
                first.is_some_and(|value| is_identity(Binary::Maximum, value))
            }
            Some(Reducer::ArgMin) => first.is_some_and(|value| is_identity(Binary::Minimum, value)),
            None => false,
        };
        if !is_neutral {
            latitudes[id] = Latitude::Unknown;
        }
    }
}

/// Whether an operation with this value gives its other operand, NaN and the sign of a zero aside.
fn is_identity(binary: Binary, value: &Tensor) -> bool {
    let dtype = value.dtype();
    if let Some(format) = dtype.format() {
        // Types without infinities end at their largest numbers.
        let end = if format.specials == Specials::Ieee { f64::INFINITY } else { format.max_finite() };
        let float = value.data().get_f64(0);
        return match binary {
            Binary::Add => float == 0.0,
            Binary::Multiply => float == 1.0,
            Binary::Maximum => float <= -end,
            Binary::Minimum => float >= end,
            _ => false,
        };
    }
    let integer = value.data().get_i64(0);
    let [least, greatest] = ends(dtype);
    match binary {
        Binary::Add | Binary::Or | Binary::Xor => integer == 0,
        Binary::Multiply => integer == 1,
        Binary::Maximum => integer == least,
        Binary::Minimum => integer == greatest,
        Binary::And => integer == if dtype.is_signed() { -1 } else { greatest },
        _ => false,
    }
}

/// The least and the greatest integer of a type, as [`crate::tensor::Data::get_i64`] gives them.
fn ends(dtype: DType) -> [i64; 2] {
    match (dtype, dtype.bits()) {
        (DType::Pred, _) => [0, 1],
        (_, bits) if dtype.is_signed() => [i64::MIN >> (64 - bits), i64::MAX >> (64 - bits)],
        (_, 64..) => [0, -1],
        (_, bits) => [0, (1 << bits) - 1],
    }
}
