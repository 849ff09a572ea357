//! Attention of one decode step over a cache of keys and values.

use crate::ir::{Binary, Builder, Compare, Op, Precision, Program, ShapeError, ValueId};
use crate::tensor::DType;

use super::piece::{cast, eight_bits, fill, matmul_transposed, with_number};
use super::softmax::{DTYPE, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Attention;

impl BuiltIn for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn doc(&self) -> &'static str {
        "out = softmax(q . k^T / sqrt(d)) . v, q [rows, d] (the heads that share a cache), k and v [n, d]: a decode step over \
         a context of n. Scores are f32, probabilities are rounded to the dtype before they meet v, as in \
         jax.nn.dot_product_attention. Rows are evaluated together."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "d", default: "64", choices: &[], doc: "width of a head" },
            ParameterDoc {
                name: "cache",
                default: "own",
                choices: &["own", "bf16", "f8e4m3fn", "f8e5m2", "int8"],
                doc: "what holds k and v: their own type, a narrower float, or integers of 8 bits with an f32 step for each \
                      token, its largest magnitude / 127",
            },
            ParameterDoc {
                name: "softmax",
                default: "f32",
                choices: &["f32", "own"],
                doc: "type of scores and softmax: f32, or the dtype",
            },
            ParameterDoc {
                name: "bucket",
                default: "0",
                choices: &[],
                doc: "the context is padded to a multiple of this and masked; 0 for neither",
            },
            ParameterDoc {
                name: "side",
                default: "right",
                choices: &["left", "right"],
                doc: "where padding stands: before the context or behind it",
            },
            ParameterDoc {
                name: "filler",
                default: "zero",
                choices: &["zero", "other", "nan"],
                doc: "what padding holds: zeros, another sequence's tokens (packing), or NaN (memory never written)",
            },
            ParameterDoc {
                name: "mask",
                default: "lowest",
                choices: &["lowest", "inf", "clean"],
                doc: "scores of masked places: -0.7 times the largest f32 as in jax.nn, -inf, or -inf and their v is 0",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let (d, bucket) = (parameters.size("d")?, parameters.size("bucket")?);
        sized(&[("n", n), ("rows", rows), ("d", d)])?;
        let dtype = parameters.float("dtype")?;
        let mut b = Builder::new(self.name());
        let q = b.parameter("q", dtype, &[rows, d])?;
        let k = b.parameter("k", dtype, &[n, d])?;
        let v = b.parameter("v", dtype, &[n, d])?;
        let mut cached = [k, v];
        for value in &mut cached {
            *value = through_cache(&mut b, *value, parameters.text("cache"))?;
        }
        let window = if bucket == 0 { None } else { Some(AttentionContext::new(parameters, n, bucket)) };
        if let Some(window) = &window {
            for value in &mut cached {
                *value = window.pad(&mut b, *value, parameters.text("filler"))?;
            }
            if parameters.text("mask") == "clean" {
                cached[1] = window.mask(&mut b, cached[1], 0, 0.0)?;
            }
        }
        let [k, v] = cached;
        let held = if parameters.text("softmax") == "f32" { DType::F32 } else { dtype };
        let scores = matmul_transposed(&mut b, q, k, held)?;
        let mut scores = with_number(&mut b, Binary::Multiply, scores, 1.0 / (d as f64).sqrt())?;
        if let Some(window) = &window {
            let low = if parameters.text("mask") == "lowest" { -0.7 * largest(held) } else { f64::NEG_INFINITY };
            scores = window.mask(&mut b, scores, 1, low)?;
        }
        let scores = b.rename(scores, "scores");
        let p = softmax(&mut b, scores)?;
        let p = cast(&mut b, p, dtype)?;
        let out = b.matmul(p, v, Precision::Default, dtype)?;
        Ok(b.finish(&[("out", out)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// The largest finite number of a type.
fn largest(dtype: DType) -> f64 {
    if dtype == DType::F16 { 65504.0 } else { f64::from(f32::MAX) }
}

/// The values of `x` as they are read back from the cache, in the type of `x`.
fn through_cache(b: &mut Builder, x: ValueId, cache: &str) -> Result<ValueId, ShapeError> {
    let dtype = b.shape(x).element_type();
    let held = match cache {
        "own" => return Ok(x),
        "int8" => eight_bits(b, x)?,
        float => cast(b, x, DType::from_name(float).unwrap_or(dtype))?,
    };
    cast(b, held, dtype)
}

/// Position of the context among padded places.
struct AttentionContext {
    /// Tokens of the context.
    n: usize,
    /// Places with padding.
    places: usize,
    /// Places before the context.
    before: usize,
}

impl AttentionContext {
    fn new(parameters: &Parameters, n: usize, bucket: usize) -> AttentionContext {
        let places = n.div_ceil(bucket).saturating_mul(bucket);
        AttentionContext { n, places, before: if parameters.text("side") == "left" { places - n } else { 0 } }
    }

    /// `x` `[n, d]` as `[places, d]`. Tokens of another sequence are those of this one, last first, as often as it takes.
    fn pad(&self, b: &mut Builder, x: ValueId, filler: &str) -> Result<ValueId, ShapeError> {
        let d = b.shape(x).dims()[1];
        let behind = self.places - self.n - self.before;
        if filler != "other" {
            let value = b.constant(b.shape(x).element_type(), if filler == "nan" { f64::NAN } else { 0.0 })?;
            let pad = Op::Pad { low: edge(self.before), high: edge(behind), interior: vec![0, 0] };
            return b.op(pad, &[x, value]);
        }
        let other = b.op(Op::Reverse { dims: vec![0] }, &[x])?;
        let mut parts = vec![x];
        let mut left = self.places - self.n;
        while left > 0 {
            let taken = left.min(self.n);
            let slice = Op::Slice { start: vec![0, 0], limit: vec![taken, d], stride: vec![1, 1] };
            let part = b.op(slice, &[other])?;
            parts.push(part);
            left -= taken;
        }
        if self.before > 0 {
            parts.rotate_left(1);
        }
        if parts.len() == 1 { Ok(x) } else { b.op(Op::Concatenate { dim: 0 }, &parts) }
    }

    /// `x` with `value` where `dim` counts places outside of the context.
    fn mask(&self, b: &mut Builder, x: ValueId, dim: usize, value: f64) -> Result<ValueId, ShapeError> {
        let (dims, dtype) = (b.shape(x).dims().to_vec(), b.shape(x).element_type());
        let place = b.iota(DType::S32, &dims, dim)?;
        let first = fill(b, DType::S32, self.before as f64, &dims)?;
        let end = fill(b, DType::S32, (self.before + self.n) as f64, &dims)?;
        let from = b.compare(Compare::Ge, place, first)?;
        let to = b.compare(Compare::Lt, place, end)?;
        let inside = b.binary(Binary::And, from, to)?;
        let value = fill(b, dtype, value, &dims)?;
        b.select(inside, x, value)
    }
}

/// Padding of the leading dim of two.
fn edge(places: usize) -> Vec<i64> {
    vec![places as i64, 0]
}
