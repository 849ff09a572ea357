//! Tridiagonal systems with partial pivoting: `gtsv`.
//!
//! As the reference LAPACK has it: of two rows that of the larger magnitude in front goes first, the upper one if they are equal. What
//! it leaves behind a pivot of zero, where it ends, is not followed.

use crate::ir::{Binary, Compare, Op, Shape, Unary, ValueId};
use crate::tensor::DType;

use super::rows::{join, matrix};
use super::{Emitter, Result, binary, block, compare, integer, spread};

/// Solves a tridiagonal system. Results: the diagonals below, on and above, the unknowns, and LAPACK's `info`. The
/// second diagonal above the main one replaces that below, behind its first element. The first element below and the
/// last one above the diagonal are not read.
#[expect(clippy::too_many_lines, reason = "the steps of one algorithm, in order")]
pub(super) fn solve(e: &mut Emitter, operands: [ValueId; 4]) -> Result<[ValueId; 5]> {
    let (batch, [rows, sides]) = matrix(e, operands[3])?;
    let (dtype, rank) = (e.shape(operands[3]).element_type(), batch.len() + 2);
    let diagonal = Shape::array(dtype, &[&batch[..], &[rows]].concat());
    let wrong = operands[..3].iter().find(|own| *e.shape(**own) != diagonal);
    if let (Some(own), _) | (None, Some(own)) = (wrong, (rows == 0).then_some(&operands[3])) {
        return Err(e.fail(format!("{} is no diagonal of a system of {rows} rows", e.shape(*own))));
    }
    let mut parts: [Vec<ValueId>; 4] = Default::default();
    for (part, operand) in parts.iter_mut().zip(operands) {
        let width = if operand == operands[3] { sides } else { 1 };
        let column = Shape::array(dtype, &[&batch[..], &[rows, width]].concat());
        let column = e.emit(Op::Reshape, vec![operand], Some(column))?;
        for row in 0..rows {
            part.push(block(e, column, [row, row + 1], [0, width])?);
        }
    }
    let [mut below, mut on, mut above, mut unknowns] = parts;
    let one = e.shape(on[0]).dims().to_vec();
    let zero = e.zeros(dtype, &one)?;
    // The second diagonal above.
    let mut second = Vec::new();
    for row in 0..rows - 1 {
        let [magnitude, other] = [on[row], below[row + 1]].map(|x| e.emit(Op::Unary(Unary::Abs), vec![x], None));
        let stays = compare(e, Compare::Ge, magnitude?, other?)?;
        let [first, behind] = exchange(e, stays, [on[row], below[row + 1]])?;
        let factor = binary(e, Binary::Divide, behind, first)?;
        on[row] = first;
        let pair = exchange(e, stays, [above[row], on[row + 1]])?;
        [above[row], on[row + 1]] = eliminate(e, factor, pair)?;
        let pair = exchange(e, stays, [unknowns[row], unknowns[row + 1]])?;
        [unknowns[row], unknowns[row + 1]] = eliminate(e, factor, pair)?;
        if row + 2 < rows {
            let next = above[row + 1];
            second.push(e.emit(Op::Select, vec![stays, zero, next], None)?);
            let product = binary(e, Binary::Multiply, factor, next)?;
            let product = e.emit(Op::Unary(Unary::Negate), vec![product], None)?;
            above[row + 1] = e.emit(Op::Select, vec![stays, next, product], None)?;
        }
    }
    for row in (0..rows).rev() {
        let dims = e.shape(unknowns[row]).dims().to_vec();
        for (coefficients, distance) in [(&above, 1), (&second, 2)] {
            if row + distance < rows {
                let coefficient = spread(e, coefficients[row], rank - 1, &dims)?;
                let product = binary(e, Binary::Multiply, coefficient, unknowns[row + distance])?;
                unknowns[row] = binary(e, Binary::Subtract, unknowns[row], product)?;
            }
        }
        let divisor = spread(e, on[row], rank - 1, &dims)?;
        unknowns[row] = binary(e, Binary::Divide, unknowns[row], divisor)?;
    }
    let mut info = integer(e, DType::S32, 0, &batch)?;
    for (row, pivot) in on.iter().enumerate().rev() {
        let is_zero = compare(e, Compare::Eq, *pivot, zero)?;
        let is_zero = e.emit(Op::Reshape, vec![is_zero], Some(Shape::array(DType::Pred, &batch)))?;
        let number = integer(e, DType::S32, row as i64 + 1, &batch)?;
        info = e.emit(Op::Select, vec![is_zero, number, info], None)?;
    }
    below.splice(1..1 + second.len(), second);
    let whole = |e: &mut Emitter, rows: Vec<ValueId>, shape: &Shape| {
        let joined = join(e, rank - 2, rows.into_iter().map(Some))?.unwrap_or(zero);
        e.emit(Op::Reshape, vec![joined], Some(shape.clone()))
    };
    let of_unknowns = e.shape(operands[3]).clone();
    let [below, on, above] = [below, on, above].map(|rows| whole(e, rows, &diagonal));
    Ok([below?, on?, above?, whole(e, unknowns, &of_unknowns)?, info])
}

/// Two rows in order, or in the opposite one.
fn exchange(e: &mut Emitter, stays: ValueId, [upper, lower]: [ValueId; 2]) -> Result<[ValueId; 2]> {
    let dims = e.shape(upper).dims().to_vec();
    let stays = spread(e, stays, dims.len() - 1, &dims)?;
    let first = e.emit(Op::Select, vec![stays, upper, lower], None)?;
    Ok([first, e.emit(Op::Select, vec![stays, lower, upper], None)?])
}

/// The first row, and the second one less the first times a factor.
fn eliminate(e: &mut Emitter, factor: ValueId, [first, second]: [ValueId; 2]) -> Result<[ValueId; 2]> {
    let dims = e.shape(first).dims().to_vec();
    let factor = spread(e, factor, dims.len() - 1, &dims)?;
    let product = binary(e, Binary::Multiply, factor, first)?;
    Ok([first, binary(e, Binary::Subtract, second, product)?])
}
