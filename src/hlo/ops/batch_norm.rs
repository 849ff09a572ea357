//! Batch normalization as XLA expands it before any other pass, with its sums and quotients in its order (openxla/xla,
//! `batchnorm_expander.cc`; FACTS 7.6).

use crate::builder::array_operation::{binary, unary};
use crate::builder::fill::number;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Binary, Op, Shape, Unary, ValueId};
use crate::opcode::BatchNorm;
use crate::tensor::DType;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers each of the three: the result, that with mean and variance, or the gradients of operand, scale and offset.
pub fn lower(e: &mut Emitter, kind: BatchNorm, operands: &[Value]) -> Result<Value> {
    let arrays = operands.iter().map(|operand| match operand {
        Value::Array(id) => Ok(*id),
        _ => Err(e.fail("operands of batch normalization are arrays of floats")),
    });
    let arrays: Vec<ValueId> = arrays.collect::<Result<_>>()?;
    let norm = Normalized::of(e, arrays.first().copied())?;
    match (kind, &arrays[..]) {
        (BatchNorm::BatchNormInference, &[x, scale, offset, mean, variance]) => {
            norm.inference(e, x, [scale, offset, mean, variance])
        }
        (BatchNorm::BatchNormTraining, &[x, scale, offset]) => norm.training(e, x, scale, offset),
        (BatchNorm::BatchNormGrad, &[x, scale, mean, variance, given]) => {
            norm.gradient(e, x, [scale, mean, variance, given])
        }
        (BatchNorm::BatchNormTraining, _) => Err(e.fail("operand, scale and offset are needed")),
        (BatchNorm::BatchNormInference, _) => Err(e.fail("operand, scale, offset, mean and variance are needed")),
        (BatchNorm::BatchNormGrad, _) => {
            Err(e.fail("operand, scale, mean, variance and the result's gradient are needed"))
        }
    }
}

/// An array that is normalized, with one dim of features.
struct Normalized {
    shape: Shape,
    dtype: DType,
    feature: usize,
    /// The other dims.
    others: Vec<usize>,
    /// Number of elements of each feature.
    count: f64,
    epsilon: f64,
}

impl Normalized {
    fn of(e: &Emitter, operand: Option<ValueId>) -> Result<Normalized> {
        let shape = operand.map(|id| e.shape(id).clone()).ok_or_else(|| e.fail("the operand is missing"))?;
        let feature = e.attributes().number("feature_index")?;
        let dtype = shape.dtype().filter(|dtype| dtype.is_float());
        let (Some(dtype), Some(features)) = (dtype, shape.dims().get(feature).copied()) else {
            return Err(e.refuse("feature_index", format!("{shape} is no array of floats with a dim {feature}")));
        };
        let epsilon: Option<f32> = e.attributes().word("epsilon").and_then(|word| word.parse().ok());
        let epsilon = epsilon.ok_or_else(|| e.refuse("epsilon", "epsilon is a number"))?;
        let others = (0..shape.dims().len()).filter(|dim| *dim != feature).collect();
        let count = shape.elements().checked_div(features).unwrap_or_default() as f64;
        Ok(Normalized { shape, dtype, feature, others, count, epsilon: f64::from(epsilon) })
    }

    /// A number of each feature, for all its elements.
    fn spread(&self, e: &mut Emitter, of_feature: ValueId) -> Result<ValueId> {
        e.emit(Op::Broadcast { dims: vec![self.feature] }, vec![of_feature], Some(self.shape.clone()))
    }

    /// The sum of each feature's elements.
    fn sum(&self, e: &mut Emitter, x: ValueId) -> Result<ValueId> {
        let (zero, to_apply) = (e.zero(self.dtype)?, e.adder(self.dtype));
        e.emit(Op::Reduce { dims: self.others.clone(), to_apply }, vec![x, zero], None)
    }

    /// A quotient by the number of elements.
    fn mean(&self, e: &mut Emitter, x: ValueId) -> Result<ValueId> {
        let count = number(e, x, self.count)?;
        binary(e, Binary::Divide, x, count)
    }

    /// A variance and epsilon.
    fn widened(&self, e: &mut Emitter, variance: ValueId) -> Result<ValueId> {
        let epsilon = number(e, variance, self.epsilon)?;
        binary(e, Binary::Add, variance, epsilon)
    }

    /// The reciprocal of the square root of a variance and epsilon.
    fn reciprocal(&self, e: &mut Emitter, variance: ValueId) -> Result<ValueId> {
        let widened = self.widened(e, variance)?;
        unary(e, Unary::Rsqrt, widened)
    }

    /// `x * s + (offset - mean * s)` for `s = scale * rsqrt(variance + epsilon)`.
    fn inference(&self, e: &mut Emitter, x: ValueId, [scale, offset, mean, variance]: [ValueId; 4]) -> Result<Value> {
        let reciprocal = self.reciprocal(e, variance)?;
        let scale = binary(e, Binary::Multiply, scale, reciprocal)?;
        let scaled_mean = binary(e, Binary::Multiply, mean, scale)?;
        let shift = binary(e, Binary::Subtract, offset, scaled_mean)?;
        let (scale, shift) = (self.spread(e, scale)?, self.spread(e, shift)?);
        let scaled = binary(e, Binary::Multiply, x, scale)?;
        Ok(Value::Array(binary(e, Binary::Add, scaled, shift)?))
    }

    /// `(x - mean) * rsqrt(variance + epsilon) * scale + offset`, and the mean and the variance, which is the mean of squares less
    /// the square of the mean.
    fn training(&self, e: &mut Emitter, x: ValueId, scale: ValueId, offset: ValueId) -> Result<Value> {
        let (scale, offset) = (self.spread(e, scale)?, self.spread(e, offset)?);
        let squares = binary(e, Binary::Multiply, x, x)?;
        let (sum, square_sum) = (self.sum(e, x)?, self.sum(e, squares)?);
        let (mean, square_mean) = (self.mean(e, sum)?, self.mean(e, square_sum)?);
        let mean_square = binary(e, Binary::Multiply, mean, mean)?;
        // XLA's expander takes this form, which cancels: bits of the training step depend on it (FACTS 7.6).
        let variance = binary(e, Binary::Subtract, square_mean, mean_square)?;
        let (wide_mean, wide_variance) = (self.spread(e, mean)?, self.spread(e, variance)?);
        let reciprocal = self.reciprocal(e, wide_variance)?;
        let centred = binary(e, Binary::Subtract, x, wide_mean)?;
        let normalized = binary(e, Binary::Multiply, centred, reciprocal)?;
        let scaled = binary(e, Binary::Multiply, normalized, scale)?;
        let result = binary(e, Binary::Add, scaled, offset)?;
        Ok(Value::Tuple([result, mean, variance].map(Value::Array).to_vec()))
    }

    /// The gradients of the operand, the scale and the offset, from that of the result.
    fn gradient(&self, e: &mut Emitter, x: ValueId, [scale, mean, variance, given]: [ValueId; 4]) -> Result<Value> {
        let (wide_scale, wide_mean) = (self.spread(e, scale)?, self.spread(e, mean)?);
        let wide_variance = self.spread(e, variance)?;
        let (wide_reciprocal, reciprocal) = (self.reciprocal(e, wide_variance)?, self.reciprocal(e, variance)?);
        let centred = binary(e, Binary::Subtract, x, wide_mean)?;
        let products = binary(e, Binary::Multiply, given, centred)?;
        let (products, of_offset) = (self.sum(e, products)?, self.sum(e, given)?);
        let of_scale = binary(e, Binary::Multiply, products, reciprocal)?;
        let (wide_offset, wide_products) = (self.spread(e, of_offset)?, self.spread(e, products)?);
        let product = binary(e, Binary::Multiply, wide_products, centred)?;
        let widened = self.widened(e, wide_variance)?;
        let quotient = binary(e, Binary::Divide, product, widened)?;
        let scaled = binary(e, Binary::Multiply, wide_scale, wide_reciprocal)?;
        let scaled = self.mean(e, scaled)?;
        let count = number(e, given, self.count)?;
        let all = binary(e, Binary::Multiply, given, count)?;
        let rest = binary(e, Binary::Subtract, all, wide_offset)?;
        let rest = binary(e, Binary::Subtract, rest, quotient)?;
        let of_operand = binary(e, Binary::Multiply, scaled, rest)?;
        Ok(Value::Tuple([of_operand, of_scale, of_offset].map(Value::Array).to_vec()))
    }
}
