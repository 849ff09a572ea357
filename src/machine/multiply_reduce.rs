//! Dots as the vector unit does them: f32 products, then sums in its own order. The right operand is read as it lies in memory,
//! whichever of its dims comes first.

use std::convert::Infallible;
use std::ops::Range;

use crate::deadline::Pace;
use crate::ir::{Binary, DotPlan};
use crate::tensor::DType;

use super::vector::{self, Side, StepRounding, SumOrder, VectorUnit, Weighted};

/// Products that are made at a time: they stay in the cache until they are summed.
const TILE: usize = 1 << 14;

/// A right operand, row-major.
#[derive(Clone, Copy)]
pub enum Right<'a> {
    /// `[k, n]`.
    Columns(&'a [f32]),
    /// `[n, k]`.
    Rows(&'a [f32]),
}

/// `[m, k]` times the right operand: `[m, n]`, row-major.
pub fn matmul(lhs: &[f32], right: Right, [m, k, n]: [usize; 3], order: SumOrder, unit: &VectorUnit) -> Vec<f32> {
    let of_row = |row: usize| {
        let row = &lhs[row * k..(row + 1) * k];
        let weighted = |matrix| Weighted { matrix, factors: row, rounded: StepRounding::F32 };
        match right {
            Right::Columns(matrix) if order == SumOrder::Lanes && k > 0 && n > 1 => {
                weighted(matrix).column_sums(n, StepRounding::F32, unit)
            }
            Right::Columns(matrix) | Right::Rows(matrix) if order == SumOrder::Lanes && k > 0 => {
                weighted(matrix).row_sums(StepRounding::F32, unit)
            }
            // Along the rows of the right operand, as memory is read fastest: the sums of a row wait beside each
            // other.
            Right::Columns(matrix) if n > 1 => of_columns(row, matrix, n, order, unit),
            Right::Columns(matrix) | Right::Rows(matrix) => of_rows(row, matrix, n, order, unit),
        }
    };
    vector::over_rows(m, k * n, of_row).concat()
}

/// Each element of `row` with as many of the matrix as `each` says, in turn.
fn products(row: &[f32], each: usize, matrix: &[f32], unit: &VectorUnit) -> Vec<f32> {
    let mut products = Side::broadcast(row, each).write_out(matrix.len());
    vector::binary(Binary::Multiply, DType::F32, &mut products, Side::whole(matrix), unit);
    products
}

fn of_columns(row: &[f32], matrix: &[f32], n: usize, order: SumOrder, unit: &VectorUnit) -> Vec<f32> {
    let (k, at_once) = (row.len(), (TILE / n.max(1)).max(1));
    let rows = |rows: Range<usize>| {
        let matrix = &matrix[rows.start * n..rows.end * n];
        Ok::<_, Infallible>(products(&row[rows], n, matrix, unit))
    };
    // Products are numbers here, each rounded: the vector unit has no fused multiply-add (FACTS 3.3).
    let Ok(sums) = vector::column_sums([k, n], at_once, (order, StepRounding::F32), unit, rows);
    sums
}

fn of_rows(row: &[f32], matrix: &[f32], n: usize, order: SumOrder, unit: &VectorUnit) -> Vec<f32> {
    let (k, at_once) = (row.len(), (TILE / row.len().max(1)).max(1));
    let tile = |tile: usize| {
        let rows = tile * at_once..n.min((tile + 1) * at_once);
        let products = match k {
            0 => Vec::new(),
            _ => products(row, 1, &matrix[rows.start * k..rows.end * k], unit),
        };
        vector::sums(&products, rows.len(), k, order, StepRounding::F32, unit)
    };
    vector::over_rows(n.div_ceil(at_once), at_once * k, tile).concat()
}

/// The dots of f64 that a plan makes of two arrays, each one chain.
pub fn in_f64(lhs: &[f64], rhs: &[f64], plan: &DotPlan) -> Vec<f64> {
    let (m, k, n) = (plan.m, plan.k, plan.n);
    let mut out = vec![0.0; plan.batch * m * n];
    // Row by row of the right operand, so that neighbours are read one after the other.
    let mut pace = Pace::default();
    for (row, sums) in out.chunks_mut(n.max(1)).enumerate() {
        let rhs = &rhs[row / m * k * n..(row / m + 1) * k * n];
        for (a, b) in lhs[row * k..(row + 1) * k].iter().zip(rhs.chunks(n.max(1))) {
            pace.spend(n);
            sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Right, in_f64, matmul};
    use crate::Arithmetic;
    use crate::ir::{Binary, DotDims, DotPlan};
    use crate::probe::numbers;
    use crate::vector::{self, StepRounding, SumOrder};

    /// Every result of every order is the sum of a row of products, whichever way the matrix lies.
    #[test]
    fn every_result_is_a_sum_of_products() {
        let unit = "v5e/default/off".parse::<Arithmetic>().unwrap().vector_unit();
        for sizes @ [m, k, n] in [[1, 0, 3], [2, 1, 5], [1, 40, 1], [3, 130, 17], [1, 1100, 40], [1, 64, 20_000]] {
            let (lhs, rows) = (numbers(&mut 1, m * k), numbers(&mut 2, n * k));
            let columns: Vec<f32> = (0..k * n).map(|at| rows[at % n * k + at / n]).collect();
            for order in SumOrder::ALL {
                let result = |i: usize, j: usize| {
                    let product = |l| vector::binary_scalar(Binary::Multiply, lhs[i * k + l], rows[j * k + l], &unit);
                    let products: Vec<f32> = (0..k).map(product).collect();
                    vector::sum(&products, *order, StepRounding::F32, &unit).to_bits()
                };
                let expected: Vec<u32> = (0..m * n).map(|at| result(at / n, at % n)).collect();
                for right in [Right::Columns(&columns), Right::Rows(&rows)] {
                    let products = matmul(&lhs, right, sizes, *order, &unit);
                    let bits: Vec<u32> = products.iter().map(|v| v.to_bits()).collect();
                    assert_eq!(bits, expected, "{sizes:?} {order:?}");
                }
            }
        }
    }

    /// Each matrix of a batch meets the right operand of its own number.
    #[test]
    fn matrices_of_a_batch_have_their_own_right_operands() {
        let batched =
            DotDims { lhs_contracting: vec![2], rhs_contracting: vec![1], lhs_batch: vec![0], rhs_batch: vec![0] };
        let plan = DotPlan::new(&batched, &[3, 2, 4], &[3, 4, 5]);
        let [lhs, rhs] = [24, 60].map(|count| (0..count).map(|at| f64::from(at % 7 * at + 1)).collect::<Vec<_>>());
        let dot = |at: usize| (0..4).map(|k| lhs[at / 5 * 4 + k] * rhs[at / 10 * 20 + k * 5 + at % 5]).sum();
        let expected: Vec<f64> = (0..30).map(dot).collect();
        assert_eq!(in_f64(&lhs, &rhs, &plan), expected);
    }
}
