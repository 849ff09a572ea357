//! Operations on arrays that formulas are made of, and slices along one dim.

use crate::error::LowerError;
use crate::ir::{Binary, Compare, CompareOrder, Op, Unary, ValueId};

use super::Emitter;

type Result<T> = std::result::Result<T, LowerError>;

/// `x op y`, element by element.
pub fn binary(e: &mut Emitter, binary: Binary, x: ValueId, y: ValueId) -> Result<ValueId> {
    e.emit(Op::Binary(binary), vec![x, y], None)
}

/// A function of each element.
pub fn unary(e: &mut Emitter, unary: Unary, x: ValueId) -> Result<ValueId> {
    e.emit(Op::Unary(unary), vec![x], None)
}

/// Whether `x` stands in this relation to `y`, element by element.
pub fn compare(e: &mut Emitter, direction: Compare, x: ValueId, y: ValueId) -> Result<ValueId> {
    e.emit(Op::Compare { direction, order: CompareOrder::Partial }, vec![x, y], None)
}

/// Elements of `x` where `which` is true, of `y` elsewhere.
pub fn select(e: &mut Emitter, which: ValueId, x: ValueId, y: ValueId) -> Result<ValueId> {
    e.emit(Op::Select, vec![which, x, y], None)
}

/// The elements of an array from one place along a dim to another.
pub fn slice(e: &mut Emitter, array: ValueId, dim: usize, [from, to]: [usize; 2]) -> Result<ValueId> {
    let dims = e.shape(array).dims().to_vec();
    let (mut start, mut limit) = (vec![0; dims.len()], dims);
    (start[dim], limit[dim]) = (from, to);
    let stride = vec![1; start.len()];
    e.emit(Op::Slice { start, limit, stride }, vec![array], None)
}
