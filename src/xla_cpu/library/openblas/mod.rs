//! SciPy's OpenBLAS in f32 on a processor with AVX-512, as jaxlib calls it (FACTS 3.10): the blocks into which a matrix
//! is cut, and the order of each sum.
//!
//! Source: OpenMathLib/OpenBLAS at 72461f1, `driver/level3`, `lapack` and the kernels of `KERNEL.SKYLAKEX`. Their
//! result for one row does not depend on the rows beside it, so a system is solved vector by vector.

mod chains;
mod cholesky;
mod decomposition;
mod elimination;
mod reflectors;
mod triangular;
mod vectors;

use crate::ir::{Shape, TriangularSystem};
use crate::num::flush_f32;
use crate::tensor::DType;

use crate::machine::Value;

pub use decomposition::decompose;
use triangular::System;

/// Rows and columns of a block of `sgemm_kernel` (`SGEMM_DEFAULT_UNROLL_M` and `_N`).
const ROWS: usize = 16;
const COLUMNS: usize = 4;

/// `spotrf` for the lower half of each matrix: the factors, beside what the other halves held, and what failed.
pub fn cholesky(matrices: &Value, shape: &Shape) -> Value {
    let mut matrices = matrices.f32s().to_vec();
    let rows = rows(shape);
    let failures =
        matrices.chunks_mut((rows * rows).max(1)).map(|matrix| cholesky::factor(matrix, rows) as i64).collect();
    Value::Tuple(vec![floats(matrices), Value::integer(DType::S32, failures)])
}

/// `strsm`: the unknowns of each matrix, for its right-hand sides.
pub fn solve(system: &TriangularSystem, matrices: &Value, sides: &Value, shape: &Shape) -> Value {
    let rows = rows(shape);
    let (matrices, mut unknowns) = (matrices.f32s(), sides.f32s().to_vec());
    let each = unknowns.len() / (matrices.len() / (rows * rows).max(1)).max(1);
    for (matrix, unknowns) in matrices.chunks((rows * rows).max(1)).zip(unknowns.chunks_mut(each.max(1))) {
        solve_one(system, matrix, unknowns, rows);
    }
    floats(unknowns)
}

fn solve_one(system: &TriangularSystem, matrix: &[f32], unknowns: &mut [f32], rows: usize) {
    let &TriangularSystem { is_left, is_lower, is_transposed, has_ones } = system;
    // x a = b is a' x' = b'.
    let is_transposed = is_transposed == is_left;
    let factor = |row: usize, column: usize| {
        flush_f32(if is_transposed { matrix[column * rows + row] } else { matrix[row * rows + column] })
    };
    let inverse = |row| if has_ones { 1.0 } else { flush_f32(1.0 / factor(row, row)) };
    let forward = is_lower != is_transposed;
    let system = System {
        factor: &factor,
        inverses: (0..rows).map(inverse).collect(),
        forward,
        block: if is_left { ROWS } else { COLUMNS },
        from_last: is_left && !forward,
    };
    let count = unknowns.len() / rows.max(1);
    let place = |vector: usize, row: usize| if is_left { row * count + vector } else { vector * rows + row };
    for vector in 0..count {
        let mut own: Vec<f32> = (0..rows).map(|row| flush_f32(unknowns[place(vector, row)])).collect();
        system.solve(&mut own);
        own.into_iter().enumerate().for_each(|(row, x)| unknowns[place(vector, row)] = x);
    }
}

/// Rows of each square matrix.
fn rows(shape: &Shape) -> usize {
    shape.dims().last().copied().unwrap_or(0)
}

/// Numbers, every NaN the same one.
fn floats(mut values: Vec<f32>) -> Value {
    values.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = f32::NAN);
    Value::float(DType::F32, values)
}

#[cfg(test)]
mod tests;
