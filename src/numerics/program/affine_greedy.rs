//! Greedy decoding of scaled logits, by two views of them.

use crate::ir::{Binary, Builder, Program, ValueId};
use crate::tensor::DType;

use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct AffineGreedy;

impl BuiltIn for AffineGreedy {
    fn name(&self) -> &'static str {
        "affine_greedy"
    }

    fn doc(&self) -> &'static str {
        "z = 0.7 x + 0.1 in the logits' type, x [rows, n]; max = max(f32(z)), token = argmax(z), token_f32 = \
         argmax(f32(z)). With store=false z itself is not a result."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "store", default: "true", choices: &["true", "false"], doc: "whether z is a result" },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let (mut b, z) = affine(parameters, n, rows)?;
        let wide = b.convert(z, DType::F32)?;
        let max = b.reduce(Binary::Maximum, wide, f64::NEG_INFINITY, &[1])?;
        let token = b.argmax(z, 1)?;
        let token_f32 = b.argmax(wide, 1)?;
        let mut outputs = vec![("max", max), ("token", token), ("token_f32", token_f32)];
        if parameters.flag("store")? {
            outputs.insert(0, ("z", z));
        }
        Ok(b.finish(&outputs)?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        let (b, z) = affine(parameters, n, rows)?;
        Ok(Some(b.finish(&[("z", z)])?))
    }
}

/// 0.7 x + 0.1.
fn affine(parameters: &Parameters, n: usize, rows: usize) -> Result<(Builder, ValueId), BuildError> {
    sized(&[("n", n), ("rows", rows)])?;
    let dtype = parameters.float("dtype")?;
    let mut b = Builder::new("affine_greedy");
    let x = b.parameter("x", dtype, &[rows, n])?;
    let scale = b.constant(dtype, 0.7)?;
    let scale = b.splat(scale, &[rows, n])?;
    let scaled = b.binary(Binary::Multiply, x, scale)?;
    let shift = b.constant(dtype, 0.1)?;
    let shift = b.splat(shift, &[rows, n])?;
    let z = b.binary(Binary::Add, scaled, shift)?;
    let z = b.rename(z, "z");
    Ok((b, z))
}
