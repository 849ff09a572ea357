//! Greedy decoding of given logits.

use crate::ir::{Builder, Op, Program};

use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Argmax;

impl BuiltIn for Argmax {
    fn name(&self) -> &'static str {
        "argmax"
    }

    fn doc(&self) -> &'static str {
        "token = jnp.argmax(x) over the last dim of x [rows, n], as JAX's variadic reduce: NaN first, then the lowest \
         index (FACTS 4)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[DTYPE]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", parameters.float("dtype")?, &[rows, n])?;
        let token = b.argmax(x, 1)?;
        Ok(b.finish(&[("token", token)])?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let mut b = Builder::new("scores");
        let x = b.parameter("x", parameters.float("dtype")?, &[rows, n])?;
        let scores = b.op(Op::Copy, &[x])?;
        Ok(Some(b.finish(&[("scores", scores)])?))
    }
}
