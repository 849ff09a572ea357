//! The dropped token in its smallest form.

use crate::ir::{Binary, Builder, Compare, Op, Program, ShapeError, ValueId};
use crate::tensor::DType;

use super::softmax::{DTYPE, Softmax, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct KeepMax;

/// The guard that pins the probabilities before they are used twice.
pub(super) const GUARD: ParameterDoc = ParameterDoc {
    name: "guard",
    default: "none",
    choices: &["none", "reduce_precision", "barrier"],
    doc: "what stands between p and both its uses: nothing, lax.reduce_precision to p's own type, or an \
          optimization barrier (FACTS 1.4)",
};

impl BuiltIn for KeepMax {
    fn name(&self) -> &'static str {
        "keep_max"
    }

    fn doc(&self) -> &'static str {
        "p = softmax(x), x [rows, n]; keep = f32(p) >= f32(max(p)) (or == with compare=eq): a filter that must keep the \
         most probable token, written so that it reads p twice (FACTS 1.5)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            GUARD,
            ParameterDoc { name: "compare", default: "ge", choices: &["ge", "eq"], doc: "how p meets its maximum" },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let dtype = parameters.float("dtype")?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", dtype, &[rows, n])?;
        let p = softmax(&mut b, x)?;
        let p = guard(&mut b, p, parameters.text("guard"))?;
        let compare = if parameters.text("compare") == "eq" { Compare::Eq } else { Compare::Ge };
        let keep = at_max(&mut b, p, compare)?;
        Ok(b.finish(&[("keep", keep)])?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        Softmax.build(parameters, n, rows).map(Some)
    }
}

/// `p` behind the guard of this name.
pub(super) fn guard(b: &mut Builder, p: ValueId, name: &str) -> Result<ValueId, ShapeError> {
    let format = b.shape(p).dtype().and_then(DType::format);
    let op = match (name, format) {
        ("reduce_precision", Some(format)) => {
            Op::ReducePrecision { exponent_bits: format.exponent_bits, mantissa_bits: format.fraction_bits }
        }
        ("barrier", _) => Op::OptimizationBarrier,
        _ => return Ok(p),
    };
    let guarded = b.op(op, &[p])?;
    Ok(b.rename(guarded, "p_guarded"))
}

/// The mask of the values that meet the row's maximum, both sides compared in f32.
pub(super) fn at_max(b: &mut Builder, p: ValueId, compare: Compare) -> Result<ValueId, ShapeError> {
    let dims = b.shape(p).dims().to_vec();
    let max = b.reduce(Binary::Maximum, p, f64::NEG_INFINITY, &[1])?;
    let max = b.rename(max, "p_max");
    let max = b.convert(max, DType::F32)?;
    let max = b.broadcast(max, &dims, &[0])?;
    let wide = b.convert(p, DType::F32)?;
    let keep = b.compare(compare, wide, max)?;
    Ok(b.rename(keep, "keep"))
}
