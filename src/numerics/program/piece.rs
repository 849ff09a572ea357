//! Pieces that several programs are built of.

use crate::ir::{Binary, Builder, Compare, Op, Precision, Shape, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::{BuildError, ParameterDoc, Parameters};

/// The rounding of values between the first operation and the last.
pub(super) const ROUND: ParameterDoc = ParameterDoc {
    name: "round",
    default: "each",
    choices: &["each", "end"],
    doc: "each: every operation's result is rounded to the dtype, as operation by operation; end: f32 is kept until the \
          last one, as in one fusion",
};

/// The type that [`ROUND`] holds values in.
pub(super) fn between(parameters: &Parameters) -> Result<DType, BuildError> {
    Ok(if parameters.text(ROUND.name) == "each" { parameters.float("dtype")? } else { DType::F32 })
}

/// A number in every place of an array.
pub(super) fn fill(b: &mut Builder, dtype: DType, value: f64, dims: &[usize]) -> Result<ValueId, ShapeError> {
    let scalar = b.constant(dtype, value)?;
    b.splat(scalar, dims)
}

/// `x` in another type, or `x` itself where it has that type.
pub(super) fn cast(b: &mut Builder, x: ValueId, dtype: DType) -> Result<ValueId, ShapeError> {
    if b.shape(x).dtype() == Some(dtype) { Ok(x) } else { b.convert(x, dtype) }
}

/// A binary operation of each element of `x` and one number, in the type of `x`.
pub(super) fn with_number(b: &mut Builder, binary: Binary, x: ValueId, number: f64) -> Result<ValueId, ShapeError> {
    let dims = b.shape(x).dims().to_vec();
    let dtype = b.shape(x).element_type();
    let number = fill(b, dtype, number, &dims)?;
    b.binary(binary, x, number)
}

/// A binary operation of each row of `x` `[rows, n]` and the row's own number, `[rows]`.
pub(super) fn with_column(b: &mut Builder, binary: Binary, x: ValueId, column: ValueId) -> Result<ValueId, ShapeError> {
    let dims = b.shape(x).dims().to_vec();
    let column = b.broadcast(column, &dims, &[0])?;
    b.binary(binary, x, column)
}

/// A binary operation of each row of `x` `[rows, n]` and one vector `[n]`.
pub(super) fn with_vector(b: &mut Builder, binary: Binary, x: ValueId, vector: ValueId) -> Result<ValueId, ShapeError> {
    let dims = b.shape(x).dims().to_vec();
    let vector = b.broadcast(vector, &dims, &[1])?;
    b.binary(binary, x, vector)
}

/// `jnp.mean` over the last dim of `x` `[rows, n]`: summed and divided in f32, then rounded to the type of `x`.
pub(super) fn mean(b: &mut Builder, x: ValueId) -> Result<ValueId, ShapeError> {
    let (n, dtype) = (b.shape(x).dims()[1], b.shape(x).element_type());
    let wide = cast(b, x, DType::F32)?;
    let sum = b.reduce(Binary::Add, wide, 0.0, &[1])?;
    let mean = with_number(b, Binary::Divide, sum, n as f64)?;
    cast(b, mean, dtype)
}

/// `lhs . rhs^T`, `[m,k] x [n,k]`, as `dtype`.
pub(super) fn matmul_transposed(
    b: &mut Builder,
    lhs: ValueId,
    rhs: ValueId,
    dtype: DType,
) -> Result<ValueId, ShapeError> {
    let rhs = b.op(Op::Transpose { permutation: vec![1, 0] }, &[rhs])?;
    b.matmul(lhs, rhs, Precision::Default, dtype)
}

/// `x` `[rows, n]` as integers of eight bits hold it, back in f32: each row as whole multiples, -127 to 127, of its own
/// step, the largest magnitude / 127.
///
/// A quotient is rounded to a whole number by adding and taking away 1.5 * 2^23 in f32. Over the reals that is nothing,
/// so the truth of a program is that of numbers which were never quantised, and bounds count the rounding as one of the
/// addition. A row of zeros has a step that is tiny, not zero.
pub(super) fn eight_bits(b: &mut Builder, x: ValueId) -> Result<ValueId, ShapeError> {
    const WHOLE: f64 = 12_582_912.0;
    let x = cast(b, x, DType::F32)?;
    let magnitude = b.unary(Unary::Abs, x)?;
    let peak = b.reduce(Binary::Maximum, magnitude, 1e-30, &[1])?;
    let step = with_number(b, Binary::Divide, peak, 127.0)?;
    let step = b.rename(step, "step");
    let quotient = with_column(b, Binary::Divide, x, step)?;
    let shifted = with_number(b, Binary::Add, quotient, WHOLE)?;
    let whole = with_number(b, Binary::Subtract, shifted, WHOLE)?;
    let whole = b.rename(whole, "codes");
    with_column(b, Binary::Multiply, whole, step)
}

/// Row `at` of `x` `[rows, n]`, as `[n]`.
pub(super) fn row(b: &mut Builder, x: ValueId, at: usize) -> Result<ValueId, ShapeError> {
    let n = b.shape(x).dims()[1];
    let slice = b.op(Op::Slice { start: vec![at, 0], limit: vec![at + 1, n], stride: vec![1, 1] }, &[x])?;
    b.reshape(slice, &[n])
}

/// The row of `x` `[rows, n]` that the scalar s32 `at` counts, as `[n]`.
pub(super) fn row_at(b: &mut Builder, x: ValueId, at: ValueId) -> Result<ValueId, ShapeError> {
    let n = b.shape(x).dims()[1];
    let zero = b.constant(DType::S32, 0.0)?;
    let slice = b.op(Op::DynamicSlice { sizes: vec![1, n] }, &[x, at, zero])?;
    b.reshape(slice, &[n])
}

/// `lax.fori_loop`: the values that `body` gives after so many trips, from `start` on. `body` is given the trip's number
/// from 0, s32, and the values; it gives as many, of the same shapes.
pub(super) fn repeat(
    b: &mut Builder,
    trips: usize,
    start: &[ValueId],
    body: impl FnOnce(&mut Builder, ValueId, &[ValueId]) -> Result<Vec<ValueId>, ShapeError>,
) -> Result<Vec<ValueId>, ShapeError> {
    let first = b.constant(DType::S32, 0.0)?;
    let state: Vec<ValueId> = [&[first], start].concat();
    let shapes: Vec<Shape> = state.iter().map(|value| b.shape(*value).clone()).collect();
    let take = |b: &mut Builder| -> Result<Vec<ValueId>, ShapeError> {
        let each = shapes.iter().enumerate();
        each.map(|(at, shape)| b.parameter(&format!("state{at}"), shape.element_type(), shape.dims())).collect()
    };
    let condition = b.region("condition", |b| {
        let values = take(b)?;
        let end = b.constant(DType::S32, trips as f64)?;
        b.compare(Compare::Lt, values[0], end)
    })?;
    let body = b.region("body", |b| {
        let values = take(b)?;
        let next = body(b, values[0], &values[1..])?;
        let count = with_number(b, Binary::Add, values[0], 1.0)?;
        b.op(Op::Tuple, &[&[count], &next[..]].concat())
    })?;
    let shape = Shape::Tuple(shapes.clone());
    let last = b.op_of_shape(Op::While { condition, body }, &state, shape)?;
    (1..state.len()).map(|at| b.tuple_element(last, at)).collect()
}
