//! One token by two operations.

use crate::ir::{Builder, Op, Program};
use crate::tensor::DType;

use super::argmax::Argmax;
use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct TokenTwoWays;

impl BuiltIn for TokenTwoWays {
    fn name(&self) -> &'static str {
        "token_two_ways"
    }

    fn doc(&self) -> &'static str {
        "token = argmax(x), greedy = the index of lax.top_k(x, 1), x [rows, n]: the same token, but for signed zeros, \
         subnormals and -NaN (FACTS 4)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[DTYPE]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", parameters.float("dtype")?, &[rows, n])?;
        let token = b.argmax(x, 1)?;
        let top = b.op(Op::TopK { k: 1, largest: true }, &[x])?;
        let index = b.tuple_element(top, 1)?;
        let greedy = b.op_of_shape(Op::Reshape, &[index], crate::ir::Shape::array(DType::S32, &[rows]))?;
        Ok(b.finish(&[("token", token), ("greedy", greedy)])?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        Argmax.scores(parameters, n, rows)
    }
}
