//! Errors that libraries of functions may have where no chip states its own: those of OpenCL.

use crate::ir::{Binary, Unary};

/// The unit in the last place of a number of f32, relative to the number, at most.
const ULP: f64 = f32::EPSILON as f64;

/// The least subnormal of f32, which is the unit in the last place of all subnormals.
const LEAST: f64 = f32::from_bits(1) as f64;

/// The error of a function's result, relative to it and absolute: the units in the last place that OpenCL C 3.0 (7.4, single
/// precision, full profile) permits. CUDA's functions (CUDA C++ Programming Guide, mathematical functions), SLEEF's and SVML's
/// state less. `None` for a function that is exact.
pub(super) fn unary_error(unary: Unary) -> Option<[f64; 2]> {
    let ulps = match unary {
        Unary::Exponential | Unary::ExponentialMinusOne | Unary::Log | Unary::Sqrt => 3.0,
        Unary::LogPlusOne | Unary::Rsqrt | Unary::Cbrt => 2.0,
        Unary::Sine | Unary::Cosine => 4.0,
        Unary::Tan | Unary::Tanh => 5.0,
        Unary::Erf => 16.0,
        // `1 / (1 + e^-x)`: the exponential, the sum's rounding and the quotient.
        Unary::Logistic => 3.0 + 0.5 + QUOTIENT + 0.5,
        Unary::Abs
        | Unary::Ceil
        | Unary::CountLeadingZeros
        | Unary::Floor
        | Unary::IsFinite
        | Unary::Negate
        | Unary::Not
        | Unary::PopulationCount
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven
        | Unary::Sign => return None,
    };
    Some([ulps * ULP, ulps * LEAST])
}

/// Units in the last place of a quotient.
const QUOTIENT: f64 = 2.5;

/// The same of an operation on two numbers; `None` for one that is correctly rounded.
pub(super) fn binary_error(binary: Binary) -> Option<[f64; 2]> {
    let ulps = match binary {
        Binary::Divide => QUOTIENT,
        Binary::Power => 16.0,
        Binary::Atan2 => 6.0,
        _ => return None,
    };
    Some([ulps * ULP, ulps * LEAST])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OpenCL C 3.0, table 62: units in the last place of f32, `0.5` of a correctly rounded one.
    #[test]
    fn errors_are_those_that_opencl_permits() {
        let units = |error: Option<[f64; 2]>| {
            error.map(|[relative, absolute]| {
                assert_eq!(relative / ULP, absolute / LEAST);
                relative / ULP
            })
        };
        for (name, expected) in [
            ("cbrt", 2.0),
            ("cosine", 4.0),
            ("erf", 16.0),
            ("exponential", 3.0),
            ("exponential-minus-one", 3.0),
            ("log", 3.0),
            ("log-plus-one", 2.0),
            ("rsqrt", 2.0),
            ("sine", 4.0),
            ("sqrt", 3.0),
            ("tan", 5.0),
            ("tanh", 5.0),
            // An exponential, a sum and a quotient, and the rounding of each that has one.
            ("logistic", 3.0 + 0.5 + 2.5 + 0.5),
        ] {
            let unary = Unary::ALL.iter().find(|unary| unary.name() == name).unwrap();
            assert_eq!(units(unary_error(*unary)), Some(expected), "{name}");
        }
        let erring = Unary::ALL.iter().filter(|unary| unary_error(**unary).is_some());
        assert_eq!(erring.count(), 13);
        let binary: Vec<(&str, f64)> =
            Binary::ALL.iter().filter_map(|one| Some((one.name(), units(binary_error(*one))?))).collect();
        assert_eq!(binary, [("atan2", 6.0), ("divide", 2.5), ("power", 16.0)]);
    }
}
