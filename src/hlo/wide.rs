//! Integers of 64 bits as two halves of 32, as the TPU compiler takes them apart.

use crate::ir::{Binary, Op, Shape, ValueId};
use crate::tensor::DType;

use super::emit::Emitter;
use super::error::LowerError;
use super::fill::integer;

type Result<T> = std::result::Result<T, LowerError>;

/// Bits of a half.
const HALF: i64 = 32;

/// `X64Combine(low, high)`: integers of two halves.
pub(super) fn combine(e: &mut Emitter, operands: &[ValueId], claimed: &Shape) -> Result<ValueId> {
    let is_wide = matches!(claimed.dtype(), Some(DType::U64 | DType::S64));
    let halves = [DType::U32, DType::S32].map(Some);
    let [low, high] = operands[..] else { return Err(e.fail("X64Combine takes two halves")) };
    if !is_wide || [low, high].iter().any(|half| !halves.contains(&e.shape(*half).dtype())) {
        return Err(e.fail("X64Combine joins halves of 32 bits to integers of 64, no other numbers"));
    }
    let dims = claimed.dims().to_vec();
    let mut wide = [low, high];
    for half in &mut wide {
        if e.shape(*half).dtype() == Some(DType::S32) {
            *half = e.emit(Op::BitcastConvert, vec![*half], Some(Shape::array(DType::U32, &dims)))?;
        }
        *half = e.emit(Op::Convert, vec![*half], Some(Shape::array(DType::U64, &dims)))?;
    }
    let half = integer(e, DType::U64, HALF, &dims)?;
    let upper = e.emit(Op::Binary(Binary::ShiftLeft), vec![wide[1], half], None)?;
    let both = e.emit(Op::Binary(Binary::Or), vec![upper, wide[0]], None)?;
    match claimed.dtype() {
        Some(DType::S64) => e.emit(Op::BitcastConvert, vec![both], Some(claimed.clone())),
        _ => Ok(both),
    }
}

/// `X64SplitLow` or `X64SplitHigh`: a half of each integer.
pub(super) fn split(e: &mut Emitter, operands: &[ValueId], is_high: bool) -> Result<ValueId> {
    let [whole] = operands[..] else { return Err(e.fail("one operand is needed")) };
    let dims = e.shape(whole).dims().to_vec();
    let whole = match e.shape(whole).dtype() {
        Some(DType::U64) => whole,
        Some(DType::S64) => e.emit(Op::BitcastConvert, vec![whole], Some(Shape::array(DType::U64, &dims)))?,
        _ => return Err(e.fail("integers of 64 bits are taken apart, no other numbers")),
    };
    let half = if is_high {
        let half = integer(e, DType::U64, HALF, &dims)?;
        e.emit(Op::Binary(Binary::ShiftRightLogical), vec![whole, half], None)?
    } else {
        let mask = integer(e, DType::U64, i64::from(u32::MAX), &dims)?;
        e.emit(Op::Binary(Binary::And), vec![whole, mask], None)?
    };
    e.emit(Op::Convert, vec![half], Some(Shape::array(DType::U32, &dims)))
}
