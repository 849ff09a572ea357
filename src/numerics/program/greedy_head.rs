//! The last layer of a language model, decoded greedily.

use crate::ir::{Binary, Builder, Precision, Program, ValueId};

use super::matmul::K_BLOCK;
use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct GreedyHead;

impl BuiltIn for GreedyHead {
    fn name(&self) -> &'static str {
        "greedy_head"
    }

    fn doc(&self) -> &'static str {
        "logits = h . w, token = argmax(logits), max = max(logits), with h [rows, d] and w [d, n]; logits in the operands' \
         type. Rows are evaluated together, because a dot may change with the batch."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[DTYPE, ParameterDoc { name: "d", default: "64", choices: &[], doc: "width of the hidden state" }, K_BLOCK]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let (mut b, logits) = head(parameters, n, rows)?;
        let token = b.argmax(logits, 1)?;
        let max = b.reduce(Binary::Maximum, logits, f64::NEG_INFINITY, &[1])?;
        Ok(b.finish(&[("logits", logits), ("token", token), ("max", max)])?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        let (b, logits) = head(parameters, n, rows)?;
        Ok(Some(b.finish(&[("logits", logits)])?))
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// The head up to its logits.
fn head(parameters: &Parameters, n: usize, rows: usize) -> Result<(Builder, ValueId), BuildError> {
    let d = parameters.size("d")?;
    sized(&[("n", n), ("rows", rows), ("d", d)])?;
    let dtype = parameters.float("dtype")?;
    let mut b = Builder::new("greedy_head");
    let h = b.parameter("h", dtype, &[rows, d])?;
    let w = b.parameter("w", dtype, &[d, n])?;
    let logits = b.matmul(h, w, Precision::Default, dtype)?;
    b.cut_k(logits, parameters.size("k_block")?);
    let logits = b.rename(logits, "logits");
    Ok((b, logits))
}
