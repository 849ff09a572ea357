//! Gradients of microbatches, added up one after the other.

use crate::ir::{Binary, Builder, Program, ShapeError, ValueId};
use crate::tensor::DType;

use super::piece::{cast, fill, repeat, row, row_at, with_number};
use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Microbatches;

impl BuiltIn for Microbatches {
    fn name(&self) -> &'static str {
        "microbatches"
    }

    fn doc(&self) -> &'static str {
        "mean = (g_0 + g_1 + ... + g_(n-1)) / n, added from zero in this order, g [n, width]: the gradients of n \
         microbatches, in the dtype; so is the mean. Rows do not count here."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "width", default: "16", choices: &[], doc: "elements of a gradient" },
            ParameterDoc {
                name: "sum",
                default: "f32",
                choices: &["f32", "own", "compensated"],
                doc: "what the sum is kept in: f32, the dtype, or two numbers of the dtype (Kahan 1965)",
            },
            ParameterDoc {
                name: "divide",
                default: "after",
                choices: &["after", "before"],
                doc: "the sum is divided by n, or each gradient is before it is added",
            },
            ParameterDoc {
                name: "steps",
                default: "loop",
                choices: &["loop", "unrolled"],
                doc: "a loop that carries the sum (lax.scan), or n additions in one program",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, _rows: usize) -> Result<Program, BuildError> {
        let width = parameters.size("width")?;
        sized(&[("n", n), ("width", width)])?;
        let dtype = parameters.float("dtype")?;
        let held = if parameters.text("sum") == "f32" { DType::F32 } else { dtype };
        let before = parameters.text("divide") == "before";
        let mut b = Builder::new(self.name());
        let g = b.parameter("g", dtype, &[n, width])?;
        let g = if before { with_number(&mut b, Binary::Divide, g, n as f64)? } else { g };
        let zero = fill(&mut b, held, 0.0, &[width])?;
        let compensate = parameters.text("sum") == "compensated";
        let mut kept = if compensate { vec![zero, zero] } else { vec![zero] };
        if parameters.text("steps") == "loop" {
            kept.push(g);
            kept = repeat(&mut b, n, &kept, |b, step, kept| {
                let g = kept[kept.len() - 1];
                let next = row_at(b, g, step)?;
                let mut sums = add(b, &kept[..kept.len() - 1], next)?;
                sums.push(g);
                Ok(sums)
            })?;
        } else {
            for step in 0..n {
                let next = row(&mut b, g, step)?;
                kept = add(&mut b, &kept, next)?;
            }
        }
        let sum = kept[0];
        let mean = if before { sum } else { with_number(&mut b, Binary::Divide, sum, n as f64)? };
        let mean = cast(&mut b, mean, dtype)?;
        let mean = b.rename(mean, "mean");
        Ok(b.finish(&[("mean", mean)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// The sum with one more term, and the rounding error of that addition if it is kept (Kahan).
fn add(b: &mut Builder, kept: &[ValueId], next: ValueId) -> Result<Vec<ValueId>, ShapeError> {
    let sum = kept[0];
    let dtype = b.shape(sum).element_type();
    let mut next = cast(b, next, dtype)?;
    let Some(lost) = kept.get(1) else { return Ok(vec![b.binary(Binary::Add, sum, next)?]) };
    next = b.binary(Binary::Subtract, next, *lost)?;
    let total = b.binary(Binary::Add, sum, next)?;
    let added = b.binary(Binary::Subtract, total, sum)?;
    Ok(vec![total, b.binary(Binary::Subtract, added, next)?])
}
