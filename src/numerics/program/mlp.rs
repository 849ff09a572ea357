//! Dense layers with a bias and an activation.

use crate::ir::{Binary, Builder, Precision, Program, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::piece::{ROUND, between, cast, with_number, with_vector};
use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Mlp;

impl BuiltIn for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn doc(&self) -> &'static str {
        "out = activation(h . w1 + c1) . w2 + c2, h [rows, n], w1 [n, expand n], w2 [expand n, n], c1 and c2 of their \
         columns; with layers=1 out = activation(h . w1 + c1). What a dot reads is in the dtype in any case. Rows are \
         evaluated together, because a dot may change with the batch."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ROUND,
            ParameterDoc {
                name: "activation",
                default: "gelu",
                choices: &["relu", "gelu", "gelu_erf", "silu"],
                doc: "max(0, x); jax.nn.gelu, which takes tanh for erf; x (1 + erf(x / sqrt(2))) / 2; x logistic(x)",
            },
            ParameterDoc { name: "layers", default: "2", choices: &["1", "2"], doc: "how many dots" },
            ParameterDoc { name: "expand", default: "4", choices: &[], doc: "width of the hidden layer over n" },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let expand = parameters.size("expand")?;
        sized(&[("n", n), ("rows", rows), ("expand", expand)])?;
        let (dtype, held) = (parameters.float("dtype")?, between(parameters)?);
        let hidden = n.saturating_mul(expand);
        let mut b = Builder::new(self.name());
        let h = b.parameter("h", dtype, &[rows, n])?;
        let w1 = b.parameter("w1", dtype, &[n, hidden])?;
        let c1 = b.parameter("c1", dtype, &[hidden])?;
        let sum = affine(&mut b, h, w1, c1, held)?;
        let active = activate(&mut b, sum, parameters.text("activation"))?;
        let active = cast(&mut b, active, dtype)?;
        let active = b.rename(active, "active");
        if parameters.size("layers")? == 1 {
            return Ok(b.finish(&[("out", active)])?);
        }
        let w2 = b.parameter("w2", dtype, &[hidden, n])?;
        let c2 = b.parameter("c2", dtype, &[n])?;
        let out = affine(&mut b, active, w2, c2, held)?;
        let out = cast(&mut b, out, dtype)?;
        Ok(b.finish(&[("out", out)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// `x . w + c`, `[m,k] x [k,n]` and `[n]`, held in `dtype`.
fn affine(b: &mut Builder, x: ValueId, w: ValueId, c: ValueId, dtype: DType) -> Result<ValueId, ShapeError> {
    let dot = b.matmul(x, w, Precision::Default, dtype)?;
    let c = cast(b, c, dtype)?;
    with_vector(b, Binary::Add, dot, c)
}

/// The activation of this name, in the type of `x`.
fn activate(b: &mut Builder, x: ValueId, name: &str) -> Result<ValueId, ShapeError> {
    let weight = match name {
        "relu" => return with_number(b, Binary::Maximum, x, 0.0),
        "silu" => b.unary(Unary::Logistic, x)?,
        "gelu_erf" => {
            let scaled = with_number(b, Binary::Multiply, x, std::f64::consts::FRAC_1_SQRT_2)?;
            let erf = b.unary(Unary::Erf, scaled)?;
            let one_more = with_number(b, Binary::Add, erf, 1.0)?;
            with_number(b, Binary::Multiply, one_more, 0.5)?
        }
        _ => {
            let square = b.binary(Binary::Multiply, x, x)?;
            let cube = b.binary(Binary::Multiply, square, x)?;
            let cubic = with_number(b, Binary::Multiply, cube, 0.044715)?;
            let inner = b.binary(Binary::Add, x, cubic)?;
            // sqrt(2 / pi).
            let scaled = with_number(
                b,
                Binary::Multiply,
                inner,
                std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2,
            )?;
            let tanh = b.unary(Unary::Tanh, scaled)?;
            let one_more = with_number(b, Binary::Add, tanh, 1.0)?;
            with_number(b, Binary::Multiply, one_more, 0.5)?
        }
    };
    b.binary(Binary::Multiply, x, weight)
}
