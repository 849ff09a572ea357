//! LU decompositions with partial pivoting: `getrf`, `LuDecomposition`.
//!
//! Modelling choice: one outer product after the other (Golub and Van Loan, algorithm 3.4.1), each column divided by its pivot. The
//! pivot is the first of the largest magnitudes, as LAPACK's `isamax` has it, a NaN above all numbers; a column without one other
//! than zero is left as it is. In truth a pivot whose choice is open leaves open all that follows.

use crate::ir::{Binary, Compare, GatherDims, Op, Shape, Unary, ValueId};
use crate::tensor::DType;

use super::rows::{join, matrix, part};
use super::{Emitter, Result, binary, block, compare, integer, spread};

/// A decomposition: L below the diagonal, without its ones, and U.
pub(super) struct Lu {
    pub packed: ValueId,
    /// For each step the row that changes places with it, from zero.
    pub pivots: ValueId,
    /// For each row the one of the matrix that stands there.
    pub permutation: ValueId,
    /// LAPACK's `info`: the first column, from one, whose pivot is zero; zero if there is none.
    pub info: ValueId,
}

/// The decomposition of each matrix.
pub(super) fn decompose(e: &mut Emitter, a: ValueId) -> Result<Lu> {
    let (batch, [rows, columns]) = matrix(e, a)?;
    let (dtype, rank) = (e.shape(a).element_type(), batch.len() + 2);
    let mut rest = Some(a);
    let mut order = if rows == 0 { None } else { Some(count(e, &batch, rows)?) };
    let (mut done, mut permutation, mut pivots, mut are_zero) = (vec![], vec![], vec![], vec![]);
    for step in 0..rows.min(columns) {
        let (Some(open), Some(numbers)) = (rest, order) else { break };
        let left = rows - step;
        let (open, numbers, pivot) = exchange(e, open, numbers, step)?;
        let own = integer(e, DType::S32, step as i64, &[&batch[..], &[1]].concat())?;
        pivots.push(Some(binary(e, Binary::Add, pivot, own)?));
        let first = block(e, open, [0, 1], [0, columns])?;
        done.push(Some(first));
        permutation.push(Some(leading(e, numbers, [0, 1])?));
        let pivot = block(e, first, [0, 1], [step, step + 1])?;
        let zero = e.zeros(dtype, &[&batch[..], &[1, 1]].concat())?;
        let is_zero = compare(e, Compare::Eq, pivot, zero)?;
        are_zero.push(e.emit(Op::Reshape, vec![is_zero], Some(Shape::array(DType::Pred, &batch)))?);
        rest = None;
        order = None;
        if left == 1 {
            continue;
        }
        order = Some(leading(e, numbers, [1, left])?);
        let below = [1, left];
        let own = block(e, open, below, [step, step + 1])?;
        let dims = e.shape(own).dims().to_vec();
        let divisor = spread(e, pivot, rank - 2, &dims)?;
        let quotients = binary(e, Binary::Divide, own, divisor)?;
        let is_zero = spread(e, is_zero, rank - 2, &dims)?;
        let factors = e.emit(Op::Select, vec![is_zero, own, quotients], None)?;
        let mut behind = part(e, open, below, [step + 1, columns])?;
        if let Some(others) = behind {
            let dims = e.shape(others).dims().to_vec();
            let row = block(e, first, [0, 1], [step + 1, columns])?;
            let (factors, row) = (spread(e, factors, rank - 1, &dims)?, spread(e, row, rank - 2, &dims)?);
            let products = binary(e, Binary::Multiply, factors, row)?;
            behind = Some(binary(e, Binary::Subtract, others, products)?);
        }
        let before = part(e, open, below, [0, step])?;
        rest = join(e, rank - 1, [before, Some(factors), behind])?;
    }
    done.push(rest);
    permutation.push(order);
    let mut info = integer(e, DType::S32, 0, &batch)?;
    for (step, is_zero) in are_zero.into_iter().enumerate().rev() {
        let number = integer(e, DType::S32, step as i64 + 1, &batch)?;
        info = e.emit(Op::Select, vec![is_zero, number, info], None)?;
    }
    let none = |e: &mut Emitter, extent| e.zeros(DType::S32, &[&batch[..], &[extent]].concat());
    let (packed, pivots) = (join(e, rank - 2, done)?, join(e, rank - 2, pivots)?);
    let permutation = join(e, rank - 2, permutation)?;
    Ok(Lu {
        packed: packed.unwrap_or(a),
        pivots: pivots.map_or_else(|| none(e, 0), Ok)?,
        permutation: permutation.map_or_else(|| none(e, rows), Ok)?,
        info,
    })
}

/// The rows that are left, and their numbers, with the row of the pivot of a column and the first one in each other's place; and by how
/// many rows the pivot's lies below the first.
fn exchange(e: &mut Emitter, rows: ValueId, numbers: ValueId, column: usize) -> Result<(ValueId, ValueId, ValueId)> {
    let dims = e.shape(rows).dims().to_vec();
    let [batch @ .., left, columns] = &dims[..] else { return Err(e.fail("matrices are needed")) };
    let rank = dims.len();
    let along = [batch, &[*left]].concat();
    let own = block(e, rows, [0, *left], [column, column + 1])?;
    let own = e.emit(Op::Reshape, vec![own], Some(Shape::array(e.shape(own).element_type(), &along)))?;
    let magnitudes = e.emit(Op::Unary(Unary::Abs), vec![own], None)?;
    let largest = e.emit(Op::TopK { k: 1, largest: true }, vec![magnitudes], None)?;
    let pivot = e.emit(Op::GetTupleElement(1), vec![largest], None)?;
    let places = count(e, batch, *left)?;
    let zeros = integer(e, DType::S32, 0, &along)?;
    let chosen = spread(e, pivot, rank - 2, &along)?;
    let [is_first, is_pivot] = [compare(e, Compare::Eq, places, zeros)?, compare(e, Compare::Eq, places, chosen)?];
    let others = e.emit(Op::Select, vec![is_pivot, zeros, places], None)?;
    let from = e.emit(Op::Select, vec![is_first, chosen, others], None)?;
    let batching: Vec<usize> = (0..batch.len()).collect();
    let gather = |is_whole: bool| {
        let mut slice_sizes = vec![1; rank - 1];
        slice_sizes.extend(is_whole.then_some(*columns));
        GatherDims {
            offset_dims: if is_whole { vec![rank - 1] } else { vec![] },
            collapsed_slice_dims: vec![rank - 2],
            start_index_map: vec![rank - 2],
            operand_batching_dims: batching.clone(),
            start_indices_batching_dims: batching.clone(),
            index_vector_dim: rank - 1,
            slice_sizes,
        }
    };
    let rows = e.emit(Op::Gather(gather(true)), vec![rows, from], None)?;
    Ok((rows, e.emit(Op::Gather(gather(false)), vec![numbers, from], None)?, pivot))
}

/// 0, 1, 2, ... along a last dim.
fn count(e: &mut Emitter, batch: &[usize], extent: usize) -> Result<ValueId> {
    let shape = Shape::array(DType::S32, &[batch, &[extent]].concat());
    e.emit(Op::Iota { dim: batch.len() }, vec![], Some(shape))
}

/// Elements of the last dim, from, to.
fn leading(e: &mut Emitter, x: ValueId, [from, to]: [usize; 2]) -> Result<ValueId> {
    let mut limit = e.shape(x).dims().to_vec();
    let last = limit.len() - 1;
    let (mut start, stride) = (vec![0; limit.len()], vec![1; limit.len()]);
    (start[last], limit[last]) = (from, to);
    e.emit(Op::Slice { start, limit, stride }, vec![x], None)
}
