//! Operations on arrays that formulas are made of, and slices along one dim.

use crate::error::LowerError;
use crate::ir::{Binary, Compare, CompareOrder, Mark, Op, Unary, ValueId};
use crate::tensor::{DType, Data, Tensor};

use super::Emitter;
use super::fill::spread;

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

/// `truth` over the real numbers, on a machine `formula`; the arrays are of one shape.
pub fn truth_or_formula(e: &mut Emitter, truth: ValueId, formula: ValueId) -> Result<ValueId> {
    let data = Data::from_i64s(DType::Pred, &[0]).ok_or_else(|| e.fail("predicates are integers"))?;
    let constant = e.emit(Op::Constant(Tensor::new(&[], data)), vec![], None)?;
    e.body.instructions[constant].mark = Some(Mark::TruthAlone);
    let dims = e.shape(truth).dims().to_vec();
    let in_truth = spread(e, constant, &dims)?;
    select(e, in_truth, truth, formula)
}
