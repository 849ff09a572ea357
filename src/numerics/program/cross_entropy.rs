//! The loss of a language model and its gradient.

use crate::ir::{Binary, Builder, Compare, Program, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::piece::{ROUND, between, cast, fill, with_column};
use super::softmax::{DTYPE, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct CrossEntropy;

impl BuiltIn for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn doc(&self) -> &'static str {
        "loss = -log_softmax(x)[label], grad = its gradient p - one_hot(label), p = softmax(x); x [rows, n]. log_softmax is \
         jax.nn's, x - max(x) - log(sum(exp(x - max(x)))), and p is its exponential, as in JAX's gradient; with form=naive \
         it is log(softmax(x))."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ROUND,
            ParameterDoc {
                name: "form",
                default: "log_softmax",
                choices: &["log_softmax", "naive"],
                doc: "jax.nn.log_softmax, or the logarithm of softmax",
            },
            ParameterDoc {
                name: "label",
                default: "first",
                choices: &["first", "best"],
                doc: "token 0 (of a model that knows nothing), or the most probable one (of one that has learnt)",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let (dtype, held) = (parameters.float("dtype")?, between(parameters)?);
        let dims = [rows, n];
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", dtype, &dims)?;
        let label =
            if parameters.text("label") == "best" { b.argmax(x, 1)? } else { fill(&mut b, DType::S32, 0.0, &[rows])? };
        let label = b.broadcast(label, &dims, &[0])?;
        let token = b.iota(DType::S32, &dims, 1)?;
        let is_label = b.compare(Compare::Eq, token, label)?;
        let x = cast(&mut b, x, held)?;
        let (log_p, p) = if parameters.text("form") == "naive" {
            let p = softmax(&mut b, x)?;
            (b.unary(Unary::Log, p)?, p)
        } else {
            let log_p = log_softmax(&mut b, x)?;
            (log_p, b.unary(Unary::Exponential, log_p)?)
        };
        let log_p = b.rename(log_p, "log_p");
        let zero = fill(&mut b, held, 0.0, &dims)?;
        let picked = b.select(is_label, log_p, zero)?;
        let loss = b.reduce(Binary::Add, picked, 0.0, &[1])?;
        let loss = b.unary(Unary::Negate, loss)?;
        let loss = cast(&mut b, loss, dtype)?;
        let one_hot = b.convert(is_label, held)?;
        let grad = b.binary(Binary::Subtract, p, one_hot)?;
        let grad = cast(&mut b, grad, dtype)?;
        let grad = b.rename(grad, "grad");
        let p = cast(&mut b, p, dtype)?;
        Ok(b.finish(&[("loss", loss), ("grad", grad), ("p", p)])?)
    }
}

/// `jax.nn.log_softmax` over the last dim, in the type of `x`; the sum is f32.
fn log_softmax(b: &mut Builder, x: ValueId) -> Result<ValueId, ShapeError> {
    let dtype = b.shape(x).element_type();
    let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1])?;
    let shifted = with_column(b, Binary::Subtract, x, max)?;
    let exp = b.unary(Unary::Exponential, shifted)?;
    let wide = cast(b, exp, DType::F32)?;
    let sum = b.reduce(Binary::Add, wide, 0.0, &[1])?;
    let sum = cast(b, sum, dtype)?;
    let log = b.unary(Unary::Log, sum)?;
    with_column(b, Binary::Subtract, shifted, log)
}
