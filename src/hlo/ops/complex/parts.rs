//! Complex numbers as pairs of arrays, and the operations on arrays that their formulas are made of.

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ir::{Binary, Compare, CompareOrder, Op, Unary, ValueId};

type Result<T> = std::result::Result<T, LowerError>;

/// The real and the imaginary part.
pub type Parts = [ValueId; 2];

pub fn binary(e: &mut Emitter, binary: Binary, x: ValueId, y: ValueId) -> Result<ValueId> {
    e.emit(Op::Binary(binary), vec![x, y], None)
}

pub fn unary(e: &mut Emitter, unary: Unary, x: ValueId) -> Result<ValueId> {
    e.emit(Op::Unary(unary), vec![x], None)
}

pub fn compare(e: &mut Emitter, direction: Compare, x: ValueId, y: ValueId) -> Result<ValueId> {
    e.emit(Op::Compare { direction, order: CompareOrder::Partial }, vec![x, y], None)
}

pub fn select(e: &mut Emitter, which: ValueId, x: ValueId, y: ValueId) -> Result<ValueId> {
    e.emit(Op::Select, vec![which, x, y], None)
}
