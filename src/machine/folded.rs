//! Functions of constants, which a compiler has computed ([`super::backend::Code::Folded`]).

use crate::ir::Unary;
use crate::tensor::DType;

use super::backend::FoldedFunction;
use super::value::Value;
use super::vector;

/// An elementwise operation of one operand, which `own` computes but for the columns that a compiler has computed.
pub fn unary(unary: Unary, operand: Value, folded: FoldedFunction, own: impl Fn(Value) -> Value) -> Value {
    let FoldedFunction { columns, nearest } = folded;
    let Value::Float(DType::F32, arguments) = &operand else { return own(operand) };
    let arguments = arguments.clone();
    let (dtype, mut results) = match own(operand) {
        Value::Float(dtype, results) => (dtype, results.into_vec()),
        other => return other,
    };
    for (at, (result, argument)) in results.iter_mut().zip(arguments.iter()).enumerate() {
        if columns.hold(at) {
            *result = match (unary, nearest) {
                (Unary::Exponential, true) => core_math::exp(f64::from(*argument)) as f32,
                (Unary::Exponential, false) => vector::folded_exponential(*argument),
                (Unary::Log, _) => core_math::log(f64::from(*argument)) as f32,
                (Unary::Sine, _) => core_math::sin(f64::from(*argument)) as f32,
                (Unary::Cosine, _) => core_math::cos(f64::from(*argument)) as f32,
                _ => *result,
            };
        }
    }
    Value::float(dtype, results)
}
