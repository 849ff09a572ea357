//! The magnitudes that the error of a dot product is measured against.

use std::cell::OnceCell;

use crate::analysis::plain_matmul;
use crate::ir::{Program, ValueId};
use crate::oracle::dot::certified_tiles;
use crate::tensor::{Data, Tensor};

/// `sum |a| |b|` for every element of a program whose first result is one plain matmul of its arguments. Worked out once,
/// when it is first asked for.
pub struct Scale<'a> {
    program: &'a Program,
    arguments: &'a [Tensor],
    known: OnceCell<Option<Vec<f64>>>,
}

impl<'a> Scale<'a> {
    /// The magnitudes of a program for these arguments, one a parameter; nothing is computed yet.
    pub fn new(program: &'a Program, arguments: &'a [Tensor]) -> Scale<'a> {
        Scale { program, arguments, known: OnceCell::new() }
    }

    /// The exact sums rounded to f64, row-major; `None` if the first result is no plain matmul of the arguments.
    pub fn get(&self) -> Option<&[f64]> {
        let made = || self.of(*self.program.outputs().first()?);
        self.known.get_or_init(made).as_deref()
    }

    /// The same for a matmul that is not the first result.
    pub(super) fn at(&self, value: ValueId) -> Option<std::borrow::Cow<'_, [f64]>> {
        if self.program.outputs().first() == Some(&value) {
            return self.get().map(Into::into);
        }
        self.of(value).map(Into::into)
    }

    fn of(&self, value: ValueId) -> Option<Vec<f64>> {
        let matmul = plain_matmul(self.program.entry(), value)?;
        let [lhs, rhs] = matmul.parameters.map(|number| self.arguments.get(number));
        Some(match (lhs?.data(), rhs?.data()) {
            (Data::F32(lhs), Data::F32(rhs)) => {
                let magnitudes = |values: &[f32]| values.iter().map(|x| x.abs()).collect::<Vec<_>>();
                product(&magnitudes(lhs), &magnitudes(rhs), matmul.sizes)
            }
            (lhs, rhs) => product(&magnitudes(&lhs.to_f64s()), &magnitudes(&rhs.to_f64s()), matmul.sizes),
        })
    }
}

pub(super) fn magnitudes(values: &[f64]) -> Vec<f64> {
    values.iter().map(|x| x.abs()).collect()
}

/// `[m,k] x [k,n]`, row-major, each exact sum rounded to f64.
pub(super) fn product<T: Copy + Into<f64>>(lhs: &[T], rhs: &[T], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    certified_tiles(lhs, rhs, m, k, n, |tile| {
        for (i, dots) in tile.rows.zip(tile.outputs.chunks_exact(tile.columns.len())) {
            for (to, dot) in out[i * n + tile.columns.start..].iter_mut().zip(dots) {
                *to = dot.rounded;
            }
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Precision};
    use crate::tensor::DType;

    /// More columns than a tile has, so that every place in a row counts.
    #[test]
    fn products_lie_row_by_row() {
        let (m, n, rows) = (3, 5000, [1.0, 2.0, 3.0, 5.0, 7.0, 11.0]);
        let columns: Vec<f64> = (0..2 * n).map(|i| (i % 97) as f64).collect();
        let got = product(&rows, &columns, [m, 2, n]);
        let expected = |i: usize, j: usize| rows[2 * i] * columns[j] + rows[2 * i + 1] * columns[n + j];
        assert!((0..m * n).all(|i| got[i] == expected(i / n, i % n)));
    }

    /// The scale of the first result, and of the second.
    #[test]
    fn magnitudes_are_those_of_the_matmul_that_is_asked_for() {
        let mut b = Builder::new("two");
        let [x, y] = ["x", "y"].map(|name| b.parameter(name, DType::F32, &[1, 2]).unwrap());
        let z = b.parameter("z", DType::F32, &[2, 1]).unwrap();
        let first = b.matmul(x, z, Precision::Highest, DType::F32).unwrap();
        let second = b.matmul(y, z, Precision::Highest, DType::F32).unwrap();
        let program = b.finish(&[("first", first), ("second", second)]).unwrap();
        let tensor = |dims: &[usize], values: [f32; 2]| Tensor::new(dims, Data::F32(values.to_vec()));
        let arguments = [tensor(&[1, 2], [1.0, -2.0]), tensor(&[1, 2], [-4.0, 8.0]), tensor(&[2, 1], [-0.5, 16.0])];
        let scale = Scale::new(&program, &arguments);
        assert_eq!(scale.get(), Some(&[32.5][..]));
        let [first, second] = [0, 1].map(|i| program.outputs()[i]);
        assert_eq!((scale.at(first).as_deref(), scale.at(second).as_deref()), (Some(&[32.5][..]), Some(&[130.0][..])));
        assert_eq!(scale.at(0), None);
    }

    /// Operands of every type count by their magnitudes, on both sides.
    #[test]
    fn magnitudes_of_narrow_operands_have_no_sign() {
        for dtype in [DType::F32, DType::BF16, DType::F16, DType::F8E5M2] {
            let mut b = Builder::new("narrow");
            let x = b.parameter("x", dtype, &[1, 2]).unwrap();
            let y = b.parameter("y", dtype, &[2, 1]).unwrap();
            let product = b.matmul(x, y, Precision::Highest, DType::F32).unwrap();
            let program = b.finish(&[("product", product)]).unwrap();
            let tensor = |dims: &[usize], values| Tensor::new(dims, Data::from_f64s(dtype, values).unwrap());
            let arguments = [tensor(&[1, 2], &[1.0, -2.0]), tensor(&[2, 1], &[-4.0, 8.0])];
            assert_eq!(Scale::new(&program, &arguments).get(), Some(&[20.0][..]), "{dtype}");
        }
    }
}
