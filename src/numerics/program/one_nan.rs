//! One chip of several that returns NaN.

use crate::ir::{Binary, Builder, Compare, Op, Precision, Program, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::keep_max::at_max;
use super::piece::{eight_bits, fill, with_number};
use super::softmax::{DTYPE, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct OneNan;

impl BuiltIn for OneNan {
    fn name(&self) -> &'static str {
        "one_nan"
    }

    fn doc(&self) -> &'static str {
        "out = through(x), x [n, width], each row one chip's; with nan=true the middle chip's element at width / 3 is NaN. \
         `nans` counts the NaN of each row of out, as f32: what shows the NaN. `token` is out where `through` picks one, as \
         f32. Rows do not count here."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "width", default: "96", choices: &[], doc: "elements of a chip" },
            ParameterDoc { name: "nan", default: "true", choices: &["true", "false"], doc: "whether there is one" },
            ParameterDoc {
                name: "through",
                default: "psum",
                choices: &[
                    "psum",
                    "int8",
                    "pmax",
                    "matmul",
                    "softmax",
                    "relu",
                    "where",
                    "clip",
                    "clip_norm",
                    "skip",
                    "argmax",
                    "top_k",
                    "filter",
                ],
                doc: "the sum over chips; that of integers of 8 bits with a step for each chip; the maximum over chips; x . w; \
                      softmax of a row; max(x, 0); where(x > 0, x, 0); lax.clamp(-1, x, 1); optax.clip_by_global_norm(1); \
                      0 unless all is finite (optax.apply_if_finite); the best token of a vocabulary that lies on n chips \
                      by argmax, by lax.top_k, or by argmax(where(p >= max(p), p, 0)) of its softmax p",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, _rows: usize) -> Result<Program, BuildError> {
        let width = parameters.size("width")?;
        sized(&[("n", n), ("width", width)])?;
        let dtype = parameters.float("dtype")?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", dtype, &[n, width])?;
        let through = parameters.text("through");
        let w = if through == "matmul" { Some(b.parameter("w", dtype, &[width, width])?) } else { None };
        let x = if parameters.flag("nan")? { plant(&mut b, x, n / 2, width / 3)? } else { x };
        let out = match w {
            Some(w) => b.matmul(x, w, Precision::Default, dtype)?,
            None => follow(&mut b, x, through)?,
        };
        let out = b.rename(out, "out");
        let is_nan = b.compare(Compare::Ne, out, out)?;
        let one = b.convert(is_nan, DType::F32)?;
        let nans = b.reduce(Binary::Add, one, 0.0, &[1])?;
        Ok(b.finish(&[("out", out), ("nans", nans)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// `x` with NaN at one place.
fn plant(b: &mut Builder, x: ValueId, row: usize, column: usize) -> Result<ValueId, ShapeError> {
    let (dims, dtype) = (b.shape(x).dims().to_vec(), b.shape(x).element_type());
    let mut here = Vec::new();
    for (dim, at) in [row, column].into_iter().enumerate() {
        let place = b.iota(DType::S32, &dims, dim)?;
        let at = fill(b, DType::S32, at as f64, &dims)?;
        here.push(b.compare(Compare::Eq, place, at)?);
    }
    let here = b.binary(Binary::And, here[0], here[1])?;
    let nan = fill(b, dtype, f64::NAN, &dims)?;
    b.select(here, nan, x)
}

/// The function `through` of `x` `[n, width]`: an array of two dims.
fn follow(b: &mut Builder, x: ValueId, through: &str) -> Result<ValueId, ShapeError> {
    let (dims, dtype) = (b.shape(x).dims().to_vec(), b.shape(x).element_type());
    let (n, width) = (dims[0], dims[1]);
    match through {
        "softmax" => softmax(b, x),
        "relu" => with_number(b, Binary::Maximum, x, 0.0),
        "where" => {
            let zero = fill(b, dtype, 0.0, &dims)?;
            let positive = b.compare(Compare::Gt, x, zero)?;
            b.select(positive, x, zero)
        }
        "clip" => {
            let low = b.constant(dtype, -1.0)?;
            let high = b.constant(dtype, 1.0)?;
            b.op(Op::Clamp, &[low, x, high])
        }
        "clip_norm" => {
            let square = b.binary(Binary::Multiply, x, x)?;
            let flat = b.reshape(square, &[n * width])?;
            let sum = b.reduce(Binary::Add, flat, 0.0, &[0])?;
            let norm = b.unary(Unary::Sqrt, sum)?;
            let norm = b.splat(norm, &dims)?;
            let one = fill(b, dtype, 1.0, &dims)?;
            let within = b.compare(Compare::Lt, norm, one)?;
            let scaled = b.binary(Binary::Divide, x, norm)?;
            b.select(within, x, scaled)
        }
        "skip" => {
            let finite = b.unary(Unary::IsFinite, x)?;
            let flat = b.reshape(finite, &[n * width])?;
            let all = b.reduce(Binary::And, flat, 1.0, &[0])?;
            let zero = fill(b, dtype, 0.0, &dims)?;
            b.select(all, x, zero)
        }
        "argmax" | "top_k" | "filter" => {
            let flat = b.reshape(x, &[1, n * width])?;
            let token = match through {
                "argmax" => b.argmax(flat, 1)?,
                "top_k" => {
                    let best = b.op(Op::TopK { k: 1, largest: true }, &[flat])?;
                    b.tuple_element(best, 1)?
                }
                _ => {
                    let p = softmax(b, flat)?;
                    let keep = at_max(b, p, Compare::Ge)?;
                    let zero = fill(b, dtype, 0.0, &[1, n * width])?;
                    let kept = b.select(keep, p, zero)?;
                    b.argmax(kept, 1)?
                }
            };
            let token = b.reshape(token, &[1, 1])?;
            b.convert(token, DType::F32)
        }
        over_chips => {
            let (binary, init) =
                if over_chips == "pmax" { (Binary::Maximum, f64::NEG_INFINITY) } else { (Binary::Add, 0.0) };
            let x = if over_chips == "int8" { eight_bits(b, x)? } else { x };
            let one = b.reduce(binary, x, init, &[0])?;
            b.reshape(one, &[1, width])
        }
    }
}
