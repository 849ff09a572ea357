//! Probabilities and three views of them.

use crate::ir::{Binary, Builder, Program};
use crate::tensor::DType;

use super::softmax::{DTYPE, Softmax, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct ProbMax;

impl BuiltIn for ProbMax {
    fn name(&self) -> &'static str {
        "prob_max"
    }

    fn doc(&self) -> &'static str {
        "p = softmax(x), x [rows, n]; max = max(f32(p)), token = argmax(p), sum = sum(f32(p))."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[DTYPE]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", parameters.float("dtype")?, &[rows, n])?;
        let p = softmax(&mut b, x)?;
        let wide = b.convert(p, DType::F32)?;
        let max = b.reduce(Binary::Maximum, wide, f64::NEG_INFINITY, &[1])?;
        let token = b.argmax(p, 1)?;
        let sum = b.reduce(Binary::Add, wide, 0.0, &[1])?;
        Ok(b.finish(&[("p", p), ("max", max), ("token", token), ("sum", sum)])?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        Softmax.build(parameters, n, rows).map(Some)
    }
}
