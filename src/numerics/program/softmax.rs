//! `jax.nn.softmax` over the last dim.

use crate::ir::{Binary, Builder, Program, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

/// The parameter that most programs share.
pub(super) const DTYPE: ParameterDoc =
    ParameterDoc { name: "dtype", default: "bf16", choices: &["bf16", "f16", "f32"], doc: "type of the logits" };

pub struct Softmax;

impl BuiltIn for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn doc(&self) -> &'static str {
        "p = jax.nn.softmax(x), x [rows, n]. As JAX lowers it: maximum, difference and exponential in the logits' type, \
         the sum in f32, rounded to the logits' type, then the quotient (FACTS 4)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[DTYPE]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", parameters.float("dtype")?, &[rows, n])?;
        let p = softmax(&mut b, x)?;
        Ok(b.finish(&[("p", p)])?)
    }
}

/// Probabilities of `x` `[rows, n]`, in `x`'s type.
pub(super) fn softmax(b: &mut Builder, x: ValueId) -> Result<ValueId, ShapeError> {
    let dims = b.shape(x).dims().to_vec();
    let dtype = b.shape(x).dtype();
    let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1])?;
    let max = b.rename(max, "max");
    let max = b.broadcast(max, &dims, &[0])?;
    let shifted = b.binary(Binary::Subtract, x, max)?;
    let shifted = b.rename(shifted, "shifted");
    let exp = b.unary(Unary::Exponential, shifted)?;
    let exp = b.rename(exp, "exp");
    let sum = match dtype {
        Some(DType::F32 | DType::F64) | None => b.reduce(Binary::Add, exp, 0.0, &[1])?,
        Some(narrow) => {
            let wide = b.convert(exp, DType::F32)?;
            let wide = b.reduce(Binary::Add, wide, 0.0, &[1])?;
            let wide = b.rename(wide, "sum_f32");
            b.convert(wide, narrow)?
        }
    };
    let sum = b.rename(sum, "sum");
    let sum = b.broadcast(sum, &dims, &[0])?;
    let p = b.binary(Binary::Divide, exp, sum)?;
    Ok(b.rename(p, "p"))
}
