//! Functions of f64, correctly rounded but for the logistic one.

use crate::ir::Unary;

/// A function of one float, correctly rounded; the logistic one within 2 ulp.
pub(super) fn function_of_f64(unary: Unary) -> fn(f64) -> f64 {
    match unary {
        Unary::Abs => f64::abs,
        Unary::Negate => |v| -v,
        Unary::Ceil => f64::ceil,
        Unary::Floor => f64::floor,
        Unary::RoundNearestAfz => f64::round,
        Unary::RoundNearestEven => f64::round_ties_even,
        Unary::Sign => |v| if v == 0.0 || v.is_nan() { v } else { v.signum() },
        Unary::Cbrt => core_math::cbrt,
        Unary::Cosine => core_math::cos,
        Unary::Erf => core_math::erf,
        Unary::Exponential => core_math::exp,
        Unary::ExponentialMinusOne => core_math::expm1,
        Unary::Log => core_math::log,
        Unary::LogPlusOne => core_math::log1p,
        Unary::Tanh => core_math::tanh,
        Unary::Rsqrt => core_math::rsqrt,
        Unary::Sine => core_math::sin,
        Unary::Sqrt => f64::sqrt,
        Unary::Tan => core_math::tan,
        Unary::Logistic => |v| 1.0 / (1.0 + core_math::exp(-v)),
        Unary::IsFinite => unreachable!("is-finite gives predicates"),
        Unary::CountLeadingZeros | Unary::Not | Unary::PopulationCount => {
            unreachable!("shape checking gives integers to {}", unary.name())
        }
    }
}
