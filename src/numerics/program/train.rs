//! Gradient descent on a small network.

use crate::ir::{Binary, Builder, Op, Precision, Program, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::piece::{cast, fill, matmul_transposed, repeat, with_number};
use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Train;

impl BuiltIn for Train {
    fn name(&self) -> &'static str {
        "train"
    }

    fn doc(&self) -> &'static str {
        "n steps of gradient descent on mean((tanh(x . w1) . w2 - y)^2) from the given weights, x [rows, d], y [rows, outputs], \
         w1 [d, hidden], w2 [hidden, outputs], all f32: `loss` [1] before the last step, and the weights w1 and w2 after it. \
         What is in between is in the dtype, the mean of the loss f32. Rows are evaluated together."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            ParameterDoc { doc: "type that a step computes in", ..DTYPE },
            ParameterDoc { name: "d", default: "8", choices: &[], doc: "features of an example" },
            ParameterDoc { name: "hidden", default: "16", choices: &[], doc: "width of the hidden layer" },
            ParameterDoc { name: "outputs", default: "4", choices: &[], doc: "targets of an example" },
            ParameterDoc {
                name: "weights",
                default: "f32",
                choices: &["f32", "own"],
                doc: "what weights are kept in between steps: f32 (master weights, Micikevicius et al. 2018), or the dtype",
            },
            ParameterDoc { name: "rate", default: "0.05", choices: &[], doc: "step size" },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        let [d, hidden, outputs] = [parameters.size("d")?, parameters.size("hidden")?, parameters.size("outputs")?];
        sized(&[("n", n), ("rows", rows), ("d", d), ("hidden", hidden), ("outputs", outputs)])?;
        let dtype = parameters.float("dtype")?;
        let kept = if parameters.text("weights") == "f32" { DType::F32 } else { dtype };
        let rate = parameters.number("rate")?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", DType::F32, &[rows, d])?;
        let y = b.parameter("y", DType::F32, &[rows, outputs])?;
        let w1 = b.parameter("w1", DType::F32, &[d, hidden])?;
        let w2 = b.parameter("w2", DType::F32, &[hidden, outputs])?;
        let loss = fill(&mut b, DType::F32, 0.0, &[1])?;
        let [w1, w2] = [cast(&mut b, w1, kept)?, cast(&mut b, w2, kept)?];
        let [x, y] = [cast(&mut b, x, dtype)?, cast(&mut b, y, dtype)?];
        let last = repeat(&mut b, n, &[loss, w1, w2, x, y], |b, _, values| {
            let (loss, w1, w2) = descend(b, [values[1], values[2]], [values[3], values[4]], rate)?;
            Ok(vec![loss, w1, w2, values[3], values[4]])
        })?;
        let w1 = cast(&mut b, last[1], DType::F32)?;
        let w2 = cast(&mut b, last[2], DType::F32)?;
        Ok(b.finish(&[("loss", last[0]), ("w1", w1), ("w2", w2)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// The loss `[1]`, and the weights after one step.
fn descend(
    b: &mut Builder,
    weights: [ValueId; 2],
    [x, y]: [ValueId; 2],
    rate: f64,
) -> Result<(ValueId, ValueId, ValueId), ShapeError> {
    let dtype = b.shape(x).element_type();
    let [w1, w2] = [cast(b, weights[0], dtype)?, cast(b, weights[1], dtype)?];
    let sum = b.matmul(x, w1, Precision::Default, dtype)?;
    let active = b.unary(Unary::Tanh, sum)?;
    let out = b.matmul(active, w2, Precision::Default, dtype)?;
    let error = b.binary(Binary::Subtract, out, y)?;
    let count = b.shape(error).elements();
    let wide = cast(b, error, DType::F32)?;
    let square = b.binary(Binary::Multiply, wide, wide)?;
    let flat = b.reshape(square, &[1, count])?;
    let sum = b.reduce(Binary::Add, flat, 0.0, &[1])?;
    let loss = with_number(b, Binary::Divide, sum, count as f64)?;
    let slope = with_number(b, Binary::Multiply, error, 2.0 / count as f64)?;
    let from_active = b.op(Op::Transpose { permutation: vec![1, 0] }, &[active])?;
    let g2 = b.matmul(from_active, slope, Precision::Default, dtype)?;
    let back = matmul_transposed(b, slope, w2, dtype)?;
    let square = b.binary(Binary::Multiply, active, active)?;
    let passed = b.binary(Binary::Multiply, back, square)?;
    let inner = b.binary(Binary::Subtract, back, passed)?;
    let from_x = b.op(Op::Transpose { permutation: vec![1, 0] }, &[x])?;
    let g1 = b.matmul(from_x, inner, Precision::Default, dtype)?;
    let mut updated = Vec::new();
    for (weight, gradient) in weights.into_iter().zip([g1, g2]) {
        let kept = b.shape(weight).element_type();
        let gradient = cast(b, gradient, kept)?;
        let change = with_number(b, Binary::Multiply, gradient, rate)?;
        updated.push(b.binary(Binary::Subtract, weight, change)?);
    }
    Ok((loss, updated[0], updated[1]))
}
