//! QR decompositions by reflectors, and what reflectors do: `geqrf`, `orgqr`, `ormqr`, `Qr`,
//! `ProductOfElementaryHouseholderReflectors`.
//!
//! Modelling choice: one reflector after the other, as LAPACK's `geqr2` and XLA's `QrExpander` have them. What a column x becomes is
//! beta, of the other sign than its first element and of its length, which is the root of a sum of squares; H = 1 - tau v v' with
//! tau = (beta - x0) / beta and v = x / (x0 - beta) behind a one. A column of zeros below its first element stays as it is: tau = 0.

use crate::ir::{Binary, Compare, CompareOrder, Op, Shape, Unary, ValueId};
use crate::tensor::DType;

use super::rows::{join, matrix, part};
use super::{Emitter, Result, binary, block, compare, spread, sums, transpose};
use crate::builder::fill::number;

/// Whether the first element's zero has a sign: LAPACK's has (Fortran's SIGN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignedZero(pub bool);

/// The reflectors below the diagonal and R, and the taus.
pub(super) fn decompose(e: &mut Emitter, a: ValueId, signed: SignedZero) -> Result<[ValueId; 2]> {
    let (batch, [rows, columns]) = matrix(e, a)?;
    let rank = batch.len() + 2;
    let mut rest = Some(a);
    let (mut done, mut taus) = (vec![], vec![]);
    for step in 0..rows.min(columns) {
        let Some(open) = rest else { break };
        let left = rows - step;
        let own = block(e, open, [0, left], [step, step + 1])?;
        let reflector = reflector(e, own, signed)?;
        taus.push(Some(reflector.tau));
        let mut behind = part(e, open, [0, left], [step + 1, columns])?;
        if let (Some(others), Some(v)) = (behind, reflector.v) {
            behind = Some(reflect(e, v, reflector.tau, others)?);
        }
        let column = match reflector.v {
            Some(v) => {
                let v = block(e, v, [1, left], [0, 1])?;
                join(e, rank - 2, [Some(reflector.beta), Some(v)])?
            }
            None => Some(reflector.beta),
        };
        let before = part(e, open, [0, left], [0, step])?;
        let Some(now) = join(e, rank - 1, [before, column, behind])? else { break };
        done.push(Some(block(e, now, [0, 1], [0, columns])?));
        rest = part(e, now, [1, left], [0, columns])?;
    }
    done.push(rest);
    let dtype = e.shape(a).element_type();
    let of_taus = [&batch[..], &[rows.min(columns)]].concat();
    let taus = match join(e, rank - 2, taus)? {
        Some(taus) => e.emit(Op::Reshape, vec![taus], Some(Shape::array(dtype, &of_taus)))?,
        None => e.zeros(dtype, &of_taus)?,
    };
    Ok([join(e, rank - 2, done)?.unwrap_or(a), taus])
}

struct Reflector {
    /// New value of the column's first element.
    beta: ValueId,
    tau: ValueId,
    /// The vector, one at first; none of a column of one element, which stays as it is.
    v: Option<ValueId>,
}

/// The reflector that leaves of a column its first element alone.
fn reflector(e: &mut Emitter, column: ValueId, signed: SignedZero) -> Result<Reflector> {
    let dims = e.shape(column).dims().to_vec();
    let rank = dims.len();
    let left = dims[rank - 2];
    let alpha = block(e, column, [0, 1], [0, 1])?;
    let (dtype, one) = (e.shape(alpha).element_type(), e.shape(alpha).dims().to_vec());
    let zero = e.zeros(dtype, &one)?;
    let Some(tail) = part(e, column, [1, left], [0, 1])? else {
        return Ok(Reflector { beta: alpha, tau: zero, v: None });
    };
    let squares = binary(e, Binary::Multiply, tail, tail)?;
    let sum = sums(e, squares, rank - 2)?;
    let is_done = compare(e, Compare::Eq, sum, zero)?;
    let square = binary(e, Binary::Multiply, alpha, alpha)?;
    let square = binary(e, Binary::Add, square, sum)?;
    let norm = e.emit(Op::Unary(Unary::Sqrt), vec![square], None)?;
    let opposite = e.emit(Op::Unary(Unary::Negate), vec![norm], None)?;
    let order = if signed.0 { CompareOrder::Total } else { CompareOrder::Partial };
    let is_negative = e.emit(Op::Compare { direction: Compare::Lt, order }, vec![alpha, zero], None)?;
    let beta = e.emit(Op::Select, vec![is_negative, norm, opposite], None)?;
    let difference = binary(e, Binary::Subtract, beta, alpha)?;
    let tau = binary(e, Binary::Divide, difference, beta)?;
    let divisor = binary(e, Binary::Subtract, alpha, beta)?;
    let of_tail = e.shape(tail).dims().to_vec();
    let divisor = spread(e, divisor, rank - 2, &of_tail)?;
    let quotients = binary(e, Binary::Divide, tail, divisor)?;
    let stays = spread(e, is_done, rank - 2, &of_tail)?;
    let v = e.emit(Op::Select, vec![stays, tail, quotients], None)?;
    Ok(Reflector {
        beta: e.emit(Op::Select, vec![is_done, alpha, beta], None)?,
        tau: e.emit(Op::Select, vec![is_done, zero, tau], None)?,
        v: Some(behind_one(e, Some(v), &one, dtype)?),
    })
}

/// A column with a one on top.
fn behind_one(e: &mut Emitter, v: Option<ValueId>, one: &[usize], dtype: DType) -> Result<ValueId> {
    let zeros = e.zeros(dtype, one)?;
    let one = number(e, zeros, 1.0)?;
    let rank = e.shape(one).dims().len();
    Ok(join(e, rank - 2, [Some(one), v])?.unwrap_or(one))
}

/// Applies a reflector to columns.
fn reflect(e: &mut Emitter, v: ValueId, tau: ValueId, columns: ValueId) -> Result<ValueId> {
    let dims = e.shape(columns).dims().to_vec();
    let rank = dims.len();
    let v = spread(e, v, rank - 1, &dims)?;
    let products = binary(e, Binary::Multiply, v, columns)?;
    let sum = sums(e, products, rank - 2)?;
    let of_sums = e.shape(sum).dims().to_vec();
    let tau = spread(e, tau, rank - 1, &of_sums)?;
    let scaled = binary(e, Binary::Multiply, tau, sum)?;
    let scaled = spread(e, scaled, rank - 2, &dims)?;
    let products = binary(e, Binary::Multiply, v, scaled)?;
    binary(e, Binary::Subtract, columns, products)
}

/// Applies one reflector of many to columns with as many rows as it has.
fn one_of_many(e: &mut Emitter, step: usize, [a, taus]: [ValueId; 2], columns: ValueId) -> Result<ValueId> {
    let (batch, [rows, _]) = matrix(e, a)?;
    let one = [&batch[..], &[1, 1]].concat();
    let dtype = e.shape(a).element_type();
    let count = e.shape(taus).dims()[batch.len()];
    let row = e.emit(Op::Reshape, vec![taus], Some(Shape::array(dtype, &[&batch[..], &[1, count]].concat())))?;
    let tau = block(e, row, [0, 1], [step, step + 1])?;
    let v = part(e, a, [step + 1, rows], [step, step + 1])?;
    let v = behind_one(e, v, &one, dtype)?;
    reflect(e, v, tau, columns)
}

/// The number of taus, which must fit the reflectors.
fn count(e: &Emitter, [a, taus]: [ValueId; 2]) -> Result<usize> {
    let (batch, [rows, columns]) = matrix(e, a)?;
    match e.shape(taus).dims() {
        [of_taus @ .., count] if of_taus == batch && *count <= rows.min(columns) => Ok(*count),
        _ => Err(e.fail(format!("taus {} do not fit reflectors {}", e.shape(taus), e.shape(a)))),
    }
}

/// The first columns of the product of the reflectors, as many as `a` has.
pub(super) fn product(e: &mut Emitter, a: ValueId, taus: ValueId) -> Result<ValueId> {
    let (batch, [rows, columns]) = matrix(e, a)?;
    let (count, rank) = (count(e, [a, taus])?, batch.len() + 2);
    let shape = e.shape(a).clone();
    let numbers = Shape::array(DType::S32, shape.dims());
    let row = e.emit(Op::Iota { dim: rank - 2 }, vec![], Some(numbers.clone()))?;
    let column = e.emit(Op::Iota { dim: rank - 1 }, vec![], Some(numbers))?;
    let is_diagonal = compare(e, Compare::Eq, row, column)?;
    let mut q = e.emit(Op::Convert, vec![is_diagonal], Some(shape))?;
    for step in (0..count).rev() {
        let open = block(e, q, [step, rows], [step, columns])?;
        let now = one_of_many(e, step, [a, taus], open)?;
        let before = part(e, q, [step, rows], [0, step])?;
        let below = join(e, rank - 1, [before, Some(now)])?;
        let above = part(e, q, [0, step], [0, columns])?;
        q = join(e, rank - 2, [above, below])?.unwrap_or(q);
    }
    Ok(q)
}

/// The product of the reflectors, or its transpose, times a matrix on its right or left side.
pub(super) fn times(e: &mut Emitter, is_left: bool, is_transposed: bool, operands: [ValueId; 3]) -> Result<ValueId> {
    let [a, taus, c] = operands;
    let count = count(e, [a, taus])?;
    let (batch, [rows, _]) = matrix(e, a)?;
    // c q is q' c', transposed.
    let mut c = if is_left { c } else { transpose(e, c)? };
    let (of_c, [height, width]) = matrix(e, c)?;
    if of_c != batch || height != rows {
        return Err(e.fail(format!("{} does not fit reflectors {}", e.shape(operands[2]), e.shape(a))));
    }
    let from_first = is_transposed == is_left;
    for step in 0..count {
        let step = if from_first { step } else { count - 1 - step };
        let open = block(e, c, [step, rows], [0, width])?;
        let now = one_of_many(e, step, [a, taus], open)?;
        let above = part(e, c, [0, step], [0, width])?;
        c = join(e, batch.len(), [above, Some(now)])?.unwrap_or(c);
    }
    if is_left { Ok(c) } else { transpose(e, c) }
}

/// `CompactWyHelper`: T of reflectors that are put together as 1 + V T V', of what the TPU compiler makes of V' V above the diagonal and
/// of ones on it, each column times its -tau. T of all before a column makes the column of T (`CompactWYRepresentation` of XLA's
/// `QrExpander`).
pub(super) fn compact_wy(e: &mut Emitter, products: ValueId) -> Result<ValueId> {
    let (batch, rows) = super::square(e, products)?;
    let (dtype, rank) = (e.shape(products).element_type(), batch.len() + 2);
    let mut t: Option<ValueId> = None;
    for step in 0..rows {
        let own = block(e, products, [step, step + 1], [step, step + 1])?;
        let Some(before) = t else {
            t = Some(own);
            continue;
        };
        let column = block(e, products, [0, step], [step, step + 1])?;
        let row = transpose(e, column)?;
        let dims = e.shape(before).dims().to_vec();
        let row = spread(e, row, rank - 2, &dims)?;
        let products = binary(e, Binary::Multiply, before, row)?;
        let above = sums(e, products, rank - 1)?;
        let zeros = e.zeros(dtype, &[&batch[..], &[1, step]].concat())?;
        let above = join(e, rank - 1, [Some(before), Some(above)])?;
        let below = join(e, rank - 1, [Some(zeros), Some(own)])?;
        t = join(e, rank - 2, [above, below])?;
    }
    Ok(t.unwrap_or(products))
}
