//! The router of a mixture of experts.

use crate::ir::{Builder, Compare, CompareOrder, Op, Precision, Program, Shape, ValueId};
use crate::tensor::DType;

use super::softmax::{DTYPE, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Router;

impl BuiltIn for Router {
    fn name(&self) -> &'static str {
        "router"
    }

    fn doc(&self) -> &'static str {
        "p = softmax(h . w), h [rows, d], w [d, n]: which k of n experts a token goes to. `experts` [rows, k] are the \
         indices of lax.top_k(p, k) in ascending order, so the set; `weights` [rows, k] their p in falling order; \
         `token` [rows] is the first expert, called so for the check of lost tokens. Rows are evaluated together."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "d", default: "256", choices: &[], doc: "width of the hidden state" },
            ParameterDoc { name: "k", default: "2", choices: &[], doc: "experts of a token" },
            ParameterDoc {
                name: "logits",
                default: "f32",
                choices: &["f32", "own"],
                doc: "type of logits and softmax: f32 (selective precision, Fedus et al. 2021, 2.4), or the dtype",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let k = parameters.size("k")?;
        sized(&[("k", k)])?;
        if k > n {
            return Err(BuildError::TooFewValues { k, n });
        }
        let (mut b, logits) = head(parameters, n, rows)?;
        let p = softmax(&mut b, logits)?;
        let best = b.op(Op::TopK { k, largest: true }, &[p])?;
        let weights = b.tuple_element(best, 0)?;
        let indices = b.tuple_element(best, 1)?;
        let experts = b.sort(&[indices], 1, true, Compare::Lt, CompareOrder::Partial)?;
        let first = Op::Slice { start: vec![0, 0], limit: vec![rows, 1], stride: vec![1, 1] };
        let first = b.op(first, &[indices])?;
        let token = b.op_of_shape(Op::Reshape, &[first], Shape::array(DType::S32, &[rows]))?;
        Ok(b.finish(&[("weights", weights), ("experts", experts), ("token", token)])?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        let (b, logits) = head(parameters, n, rows)?;
        Ok(Some(b.finish(&[("logits", logits)])?))
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// The router up to its logits.
fn head(parameters: &Parameters, n: usize, rows: usize) -> Result<(Builder, ValueId), BuildError> {
    let d = parameters.size("d")?;
    sized(&[("n", n), ("rows", rows), ("d", d)])?;
    let dtype = parameters.float("dtype")?;
    let mut b = Builder::new("router");
    let h = b.parameter("h", dtype, &[rows, d])?;
    let w = b.parameter("w", dtype, &[d, n])?;
    let held = if parameters.text("logits") == "f32" { DType::F32 } else { dtype };
    let logits = b.matmul(h, w, Precision::Default, held)?;
    let logits = b.rename(logits, "logits");
    Ok((b, logits))
}
