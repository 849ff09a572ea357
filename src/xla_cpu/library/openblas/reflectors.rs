//! `geqrf`, `orgqr` and `ormqr`, one reflector after the other (`geqr2`, `org2r`, `orm2r` of the reference LAPACK, in which OpenBLAS
//! changes nothing).

use super::chains::{fma, product as times, sum};
use super::vectors::{StridedColumns, norm};
use crate::num::flush_f32;

/// The smallest number whose inverse is finite, over the rounding unit (`SLAMCH('S') / SLAMCH('E')`).
const SMALL: f32 = f32::MIN_POSITIVE * (1 << 24) as f32;

/// Reflectors and R in the place of a matrix, column by column; the taus.
pub fn decompose(elements: &mut [f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    let mut taus = Vec::new();
    for step in 0..rows.min(columns) {
        let start = step * (rows + 1);
        taus.push(reflector(&mut elements[start..][..rows - step]));
        let (own, behind) = elements.split_at_mut((step + 1) * rows);
        let v = behind_one(&own[start..]);
        from_left(
            &v,
            taus[step],
            &mut Part { elements: behind, stride: rows, first: step, columns: columns - step - 1 },
        );
    }
    taus
}

/// The first columns of the product of reflectors, in their place.
pub fn product(elements: &mut [f32], [rows, columns]: [usize; 2], taus: &[f32]) {
    for column in taus.len()..columns {
        let own = &mut elements[column * rows..][..rows];
        own.fill(0.0);
        own[column] = 1.0;
    }
    for (step, tau) in taus.iter().enumerate().rev() {
        let (own, behind) = elements.split_at_mut((step + 1) * rows);
        let own = &mut own[step * rows..];
        let v = behind_one(&own[step..]);
        from_left(&v, *tau, &mut Part { elements: behind, stride: rows, first: step, columns: columns - step - 1 });
        own[..step].fill(0.0);
        own[step] = sum(1.0, -tau);
        own[step + 1..].iter_mut().for_each(|x| *x = times(*x, -tau));
    }
}

/// A matrix times the product of reflectors, or its transpose, which stand column by column.
pub fn multiply(
    [is_left, is_transposed]: [bool; 2],
    reflectors: &[f32],
    taus: &[f32],
    matrix: &mut [f32],
    [rows, columns]: [usize; 2],
) {
    let length = if is_left { rows } else { columns };
    for step in 0..taus.len() {
        let step = if is_left == is_transposed { step } else { taus.len() - 1 - step };
        let v = behind_one(&reflectors[step * length..][step..length]);
        match is_left {
            true => from_left(&v, taus[step], &mut Part { elements: matrix, stride: rows, first: step, columns }),
            false => from_right(&v, taus[step], &mut matrix[step * rows..], rows),
        }
    }
}

/// A column's elements with a one in the place of the first.
fn behind_one(column: &[f32]) -> Vec<f32> {
    [&[1.0], &column[1..]].concat()
}

/// `larfg`: what is left of a column, with the reflector behind it; its tau.
fn reflector(column: &mut [f32]) -> f32 {
    let Some((alpha, tail)) = column.split_first_mut() else { return 0.0 };
    let mut length = norm(tail);
    if length == 0.0 {
        return 0.0;
    }
    let beta = |alpha: f32, length: f32| -hypotenuse(alpha, length).copysign(alpha);
    let mut own = beta(*alpha, length);
    let mut scaled = 0;
    if own.abs() < SMALL {
        while own.abs() < SMALL && scaled < 20 {
            scaled += 1;
            tail.iter_mut().for_each(|x| *x = times(*x, 1.0 / SMALL));
            (own, *alpha) = (times(own, 1.0 / SMALL), times(*alpha, 1.0 / SMALL));
        }
        length = norm(tail);
        own = beta(*alpha, length);
    }
    let tau = flush_f32(sum(own, -*alpha) / own);
    let inverse = flush_f32(1.0 / sum(*alpha, -own));
    tail.iter_mut().for_each(|x| *x = times(*x, inverse));
    *alpha = (0..scaled).fold(own, |x, _| times(x, SMALL));
    tau
}

/// `lapy2`.
fn hypotenuse(x: f32, y: f32) -> f32 {
    let [x, y] = [x, y].map(flush_f32);
    if let Some(nan) = [y, x].into_iter().find(|x| x.is_nan()) {
        return nan;
    }
    let (large, small) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    if small == 0.0 || large.is_infinite() {
        return large;
    }
    let quotient = flush_f32(small / large);
    times(large, sum(1.0, times(quotient, quotient)).sqrt())
}

/// Columns from a row on.
struct Part<'a> {
    elements: &'a mut [f32],
    stride: usize,
    first: usize,
    columns: usize,
}

/// The elements of a vector up to the last one that is not zero.
fn without_zeros(vector: &[f32]) -> &[f32] {
    let end = vector.iter().rposition(|x| flush_f32(*x) != 0.0).map_or(0, |last| last + 1);
    &vector[..end]
}

/// `larf` from the left: zeros at the ends of the vector and of the matrix are left out.
fn from_left(v: &[f32], tau: f32, part: &mut Part) {
    let v = without_zeros(v);
    let stride = part.stride;
    let column = |part: &Part, column: usize| column * stride + part.first..column * stride + part.first + v.len();
    let is_zero = |number: &usize| part.elements[column(part, *number)].iter().all(|x| flush_f32(*x) == 0.0);
    let columns = (0..part.columns).rev().find(|number| !is_zero(number)).map_or(0, |last| last + 1);
    if tau == 0.0 || columns == 0 {
        return;
    }
    let elements = &part.elements[part.first..];
    let sums = StridedColumns { elements, stride, rows: v.len(), columns }.each_times(v);
    for (number, sum) in sums.into_iter().enumerate() {
        let scaled = times(-tau, sum);
        let own = column(part, number);
        part.elements[own].iter_mut().zip(v).for_each(|(x, v)| *x = fma(scaled, *v, *x));
    }
}

/// `larf` from the right, of columns from the reflector's first on.
fn from_right(v: &[f32], tau: f32, elements: &mut [f32], stride: usize) {
    let v = without_zeros(v);
    let is_zero = |row: &usize| (0..v.len()).all(|column| flush_f32(elements[column * stride + row]) == 0.0);
    let rows = (0..stride).rev().find(|row| !is_zero(row)).map_or(0, |last| last + 1);
    if tau == 0.0 || rows == 0 {
        return;
    }
    let sums = StridedColumns { elements, stride, rows, columns: v.len() }.times(v);
    for (own, v) in elements.chunks_mut(stride).zip(v) {
        let scaled = times(-tau, *v);
        own.iter_mut().zip(&sums).for_each(|(x, sum)| *x = fma(scaled, *sum, *x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LAPACK's slapy2: an infinity of either side is the length, and so is one side beside zero; a NaN is told.
    #[test]
    fn an_infinite_side_is_the_length() {
        const INFINITY: f32 = f32::INFINITY;
        for (x, y, expected) in [
            (3.0, 4.0, 5.0),
            (-4.0, 3.0, 5.0),
            (0.0, -2.0, 2.0),
            (INFINITY, 1.0, INFINITY),
            (1.0, -INFINITY, INFINITY),
            (INFINITY, -INFINITY, INFINITY),
            (INFINITY, 0.0, INFINITY),
        ] {
            assert_eq!(hypotenuse(x, y), expected, "{x} {y}");
        }
        assert!(hypotenuse(f32::NAN, INFINITY).is_nan() && hypotenuse(INFINITY, f32::NAN).is_nan());
    }
}
