//! Functions of elements by their names in `jax.lax`.

use crate::ir::{Binary, Compare, Unary};

/// The name in `jax.lax`.
pub(super) fn unary_name(unary: Unary) -> &'static str {
    match unary {
        Unary::Cosine => "cos",
        Unary::CountLeadingZeros => "clz",
        Unary::Exponential => "exp",
        Unary::ExponentialMinusOne => "expm1",
        Unary::IsFinite => "is_finite",
        Unary::LogPlusOne => "log1p",
        Unary::Negate => "neg",
        Unary::Not => "bitwise_not",
        Unary::PopulationCount => "population_count",
        Unary::Sine => "sin",
        Unary::RoundNearestAfz | Unary::RoundNearestEven => "round",
        Unary::Abs
        | Unary::Cbrt
        | Unary::Ceil
        | Unary::Erf
        | Unary::Floor
        | Unary::Log
        | Unary::Logistic
        | Unary::Rsqrt
        | Unary::Sign
        | Unary::Sqrt
        | Unary::Tan
        | Unary::Tanh => unary.name(),
    }
}

/// The name in `jax.lax`.
pub(super) fn binary_name(binary: Binary) -> &'static str {
    match binary {
        Binary::Add => "add",
        Binary::And => "bitwise_and",
        Binary::Atan2 => "atan2",
        Binary::Divide => "div",
        Binary::Maximum => "max",
        Binary::Minimum => "min",
        Binary::Multiply => "mul",
        Binary::MultiplyHigh => "mulhi",
        Binary::Or => "bitwise_or",
        Binary::Power => "pow",
        Binary::Remainder => "rem",
        Binary::ShiftLeft => "shift_left",
        Binary::ShiftRightArithmetic => "shift_right_arithmetic",
        Binary::ShiftRightLogical => "shift_right_logical",
        Binary::Subtract => "sub",
        Binary::Xor => "bitwise_xor",
    }
}

/// The name in `jax.lax`.
pub(super) fn compare_name(direction: Compare) -> &'static str {
    match direction {
        Compare::Eq => "eq",
        Compare::Ne => "ne",
        Compare::Ge => "ge",
        Compare::Gt => "gt",
        Compare::Le => "le",
        Compare::Lt => "lt",
    }
}
