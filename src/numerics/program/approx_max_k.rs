//! Approximate top-k.

use crate::ir::{ApproxTopK, Builder, Op, Program};
use crate::tensor::DType;

use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct ApproxMaxK;

impl BuiltIn for ApproxMaxK {
    fn name(&self) -> &'static str {
        "approx_max_k"
    }

    fn doc(&self) -> &'static str {
        "values, indices = lax.approx_max_k(x, k, recall_target, aggregate_to_topk) over the last dim of x [rows, n]. On \
         a TPU each of a number of bins keeps its best value (FACTS 5.2, 5.3); elsewhere it is an exact sort."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            ParameterDoc { name: "dtype", default: "f32", choices: &["f32", "bf16"], doc: "type of the values" },
            ParameterDoc { name: "k", default: "40", choices: &[], doc: "how many" },
            ParameterDoc { name: "recall", default: "0.95", choices: &[], doc: "recall_target, in (0, 1]" },
            ParameterDoc {
                name: "aggregate",
                default: "true",
                choices: &["true", "false"],
                doc: "whether the bins' winners are reduced to k",
            },
            ParameterDoc {
                name: "override",
                default: "0",
                choices: &[],
                doc: "reduction_input_size_override: size of the whole vocabulary where x is a shard of it; 0 is none",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let k = parameters.size("k")?;
        sized(&[("n", n), ("rows", rows), ("k", k)])?;
        if k > n {
            return Err(BuildError::TooFewValues { k, n });
        }
        let dtype = parameters.float("dtype")?;
        let whole = parameters.size("override")?;
        let op = Op::ApproxTopK(ApproxTopK {
            k,
            reduction_dim: 1,
            recall_target: parameters.number("recall")? as f32,
            aggregate_to_topk: parameters.flag("aggregate")?,
            reduction_input_size_override: (whole > 0).then_some(whole),
        });
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", dtype, &[rows, n])?;
        let index = b.iota(DType::S32, &[rows, n], 1)?;
        let low = b.constant(dtype, f64::NEG_INFINITY)?;
        let none = b.constant(DType::S32, -1.0)?;
        let top = b.op(op, &[x, index, low, none])?;
        let values = b.tuple_element(top, 0)?;
        let indices = b.tuple_element(top, 1)?;
        Ok(b.finish(&[("values", values), ("indices", indices)])?)
    }

    /// A compiler fault may depend on the batch, so rows are not taken apart below a batch of 128.
    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows.min(128)
    }
}
