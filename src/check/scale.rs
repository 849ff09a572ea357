//! The magnitudes that the error of a dot product is measured against.

use std::cell::OnceCell;

use crate::ir::{Program, ValueId, plain_matmul};
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
    pub fn new(program: &'a Program, arguments: &'a [Tensor]) -> Scale<'a> {
        Scale { program, arguments, known: OnceCell::new() }
    }

    /// The exact sums rounded to f64, row-major; `None` for any other program.
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
