//! Exact top-k.

use crate::ir::{Builder, Op, Program};

use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct TopK;

impl BuiltIn for TopK {
    fn name(&self) -> &'static str {
        "top_k"
    }

    fn doc(&self) -> &'static str {
        "values, indices = lax.top_k(x, k) over the last dim of x [rows, n]: IEEE totalOrder on the bits, ties to the \
         lower index (FACTS 4)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[DTYPE, ParameterDoc { name: "k", default: "16", choices: &[], doc: "how many" }]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let k = parameters.size("k")?;
        sized(&[("n", n), ("rows", rows), ("k", k)])?;
        if k > n {
            return Err(BuildError::TooFewValues { k, n });
        }
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", parameters.float("dtype")?, &[rows, n])?;
        let top = b.op(Op::TopK { k, largest: true }, &[x])?;
        let values = b.tuple_element(top, 0)?;
        let indices = b.tuple_element(top, 1)?;
        Ok(b.finish(&[("values", values), ("indices", indices)])?)
    }
}
