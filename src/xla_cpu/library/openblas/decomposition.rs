//! LU and QR decompositions of as many matrices as there are, which LAPACK has column by column.

use crate::ir::{Decomposition, Shape};
use crate::tensor::DType;

use super::{elimination, floats, reflectors};
use crate::machine::Value;

/// LAPACK's decomposition of these arrays.
pub fn decompose(function: Decomposition, operands: &[Value], shapes: &[&Shape]) -> Value {
    let sizes: Vec<[usize; 2]> = shapes.iter().map(|shape| sizes(shape)).collect();
    let matrices = each(&operands[0], sizes[0]);
    match function {
        Decomposition::Lu => {
            let (mut packed, mut pivots, mut failures) = (Vec::new(), Vec::new(), Vec::new());
            for mut matrix in matrices {
                let (own, info) = elimination::decompose(&mut matrix, sizes[0]);
                pivots.extend(own.into_iter().map(|row| row as i64));
                failures.push(info as i64);
                packed.extend(turned(&matrix, sizes[0]));
            }
            let [pivots, failures] = [pivots, failures].map(|integers| Value::integer(DType::S32, integers));
            Value::Tuple(vec![floats(packed), pivots, failures])
        }
        Decomposition::Qr => {
            let (mut packed, mut taus) = (Vec::new(), Vec::new());
            for mut matrix in matrices {
                taus.extend(reflectors::decompose(&mut matrix, sizes[0]));
                packed.extend(turned(&matrix, sizes[0]));
            }
            Value::Tuple(vec![floats(packed), floats(taus)])
        }
        Decomposition::Reflectors => {
            let products = matrices.enumerate().flat_map(|(number, mut matrix)| {
                reflectors::product(&mut matrix, sizes[0], &taus(&operands[1], shapes[1], number));
                turned(&matrix, sizes[0])
            });
            floats(products.collect())
        }
        Decomposition::Multiplication { is_left, is_transposed } => {
            let products = matrices.zip(each(&operands[2], sizes[2])).enumerate().flat_map(|(number, (own, mut c))| {
                let taus = taus(&operands[1], shapes[1], number);
                reflectors::multiply([is_left, is_transposed], &own, &taus, &mut c, sizes[2]);
                turned(&c, sizes[2])
            });
            floats(products.collect())
        }
    }
}

/// Rows and columns of each matrix.
fn sizes(shape: &Shape) -> [usize; 2] {
    match shape.dims() {
        [.., rows, columns] => [*rows, *columns],
        _ => [0, 0],
    }
}

/// Each matrix, column by column.
fn each(matrices: &Value, [rows, columns]: [usize; 2]) -> impl Iterator<Item = Vec<f32>> {
    let column_by_column = move |matrix: &[f32]| {
        let at = |place: usize| matrix[place % rows * columns + place / rows];
        (0..matrix.len()).map(at).collect()
    };
    matrices.f32s().chunks((rows * columns).max(1)).map(column_by_column)
}

/// A matrix, row by row.
fn turned(matrix: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    (0..matrix.len()).map(|place| matrix[place % columns * rows + place / columns]).collect()
}

/// The taus of a matrix.
fn taus(taus: &Value, shape: &Shape, matrix: usize) -> Vec<f32> {
    let count = shape.dims().last().copied().unwrap_or(0);
    taus.f32s()[matrix * count..][..count].to_vec()
}
