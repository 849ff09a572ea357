//! Normalisation of a row by its own mean and deviation.

use crate::ir::{Binary, Builder, Program, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::piece::{cast, mean, with_column, with_number, with_vector};
use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Norm;

impl BuiltIn for Norm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn doc(&self) -> &'static str {
        "out = x / sqrt(mean(x^2) + eps) * gain (RMSNorm, Zhang and Sennrich 2019), or with kind=layer (x - mean(x)) / \
         sqrt(var(x) + eps) * gain + bias (LayerNorm, Ba et al. 2016); x [rows, n], gain and bias [n], mean and variance \
         over n, eps = 1e-6. Sums are f32, as jnp.mean makes them."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "kind", default: "rms", choices: &["rms", "layer"], doc: "which normalisation" },
            ParameterDoc {
                name: "round",
                default: "each",
                choices: &["each", "before_gain", "end"],
                doc: "each: every operation's result is rounded to the dtype; before_gain: the normalised x is, and \
                      before it all is f32 (Llama); end: the result alone is (Gemma, or one fusion)",
            },
            ParameterDoc {
                name: "variance",
                default: "centred",
                choices: &["centred", "fast"],
                doc: "of kind=layer: mean((x - mean(x))^2), or max(0, mean(x^2) - mean(x)^2) (flax use_fast_variance)",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let dtype = parameters.float("dtype")?;
        let (layer, round) = (parameters.text("kind") == "layer", parameters.text("round"));
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", dtype, &[rows, n])?;
        let gain = b.parameter("gain", dtype, &[n])?;
        let bias = if layer { Some(b.parameter("bias", dtype, &[n])?) } else { None };
        let x = cast(&mut b, x, if round == "each" { dtype } else { DType::F32 })?;
        let (x, spread) = match (layer, parameters.text("variance")) {
            (true, "fast") => fast(&mut b, x)?,
            (true, _) => {
                let x = centre(&mut b, x)?;
                (x, mean_square(&mut b, x)?)
            }
            (false, _) => (x, mean_square(&mut b, x)?),
        };
        let spread = with_number(&mut b, Binary::Add, spread, 1e-6)?;
        let inverse = b.unary(Unary::Rsqrt, spread)?;
        let normal = with_column(&mut b, Binary::Multiply, x, inverse)?;
        let normal = b.rename(normal, "normalised");
        let kept = if round == "end" { DType::F32 } else { dtype };
        let normal = cast(&mut b, normal, kept)?;
        let gain = cast(&mut b, gain, kept)?;
        let mut out = with_vector(&mut b, Binary::Multiply, normal, gain)?;
        if let Some(bias) = bias {
            let bias = cast(&mut b, bias, kept)?;
            out = with_vector(&mut b, Binary::Add, out, bias)?;
        }
        let out = cast(&mut b, out, dtype)?;
        Ok(b.finish(&[("out", out)])?)
    }
}

fn mean_square(b: &mut Builder, x: ValueId) -> Result<ValueId, ShapeError> {
    let square = b.binary(Binary::Multiply, x, x)?;
    mean(b, square)
}

/// `x - mean(x)`.
fn centre(b: &mut Builder, x: ValueId) -> Result<ValueId, ShapeError> {
    let mean = mean(b, x)?;
    with_column(b, Binary::Subtract, x, mean)
}

/// `x - mean(x)` and the variance from two sums that need no earlier one.
fn fast(b: &mut Builder, x: ValueId) -> Result<(ValueId, ValueId), ShapeError> {
    let centred = centre(b, x)?;
    let mean = mean(b, x)?;
    let square = b.binary(Binary::Multiply, mean, mean)?;
    let squares = mean_square(b, x)?;
    let variance = b.binary(Binary::Subtract, squares, square)?;
    Ok((centred, with_number(b, Binary::Maximum, variance, 0.0)?))
}
