//! The functions that XLA:CPU computes in its own way, in fusions and outside of them (FACTS 3.5).

use crate::ir::{Binary, Unary};
use crate::machine::Name;
use crate::machine::vector::{Estimate, FunctionLibrary, FunctionPromise, FunctionSteps};
use crate::num::{F32, flush_f32};
use crate::tensor::DType;

use super::{fdlibm, glibc_power, half_steps, polynomials};

/// Polynomials of XLA:CPU's own, and the functions that it calls in the C library.
pub struct OwnFunctions;

impl Name for OwnFunctions {
    fn name(&self) -> &'static str {
        "xla"
    }
}

impl FunctionLibrary for OwnFunctions {
    fn doc(&self) -> &'static str {
        "exp, expm1, log, log1p, tanh and logistic by XLA:CPU's own polynomials with fused multiply-adds, bit for \
         bit as measured on jaxlib 0.10.2 on x86-64 (FACTS 3.5); the others correctly rounded"
    }

    fn unary(&self, unary: Unary, values: &mut [f32], estimate: Estimate) -> bool {
        polynomials::apply(unary, values, estimate)
    }

    fn unary_in_steps(&self, unary: Unary, dtype: DType, values: &mut [f32], estimate: Estimate) -> bool {
        dtype == DType::F16 && half_steps::apply(unary, values, estimate)
    }

    fn binary(&self, binary: Binary) -> Option<fn(f32, f32) -> f32> {
        // Calls of the C library take subnormals as they are.
        match binary {
            Binary::Atan2 => Some(fdlibm::arc_tangent_of_quotient),
            Binary::Power => Some(|x, y| flush_f32(glibc_power::power(x, y))),
            _ => None,
        }
    }

    fn keeps_subnormals(&self, unary: Unary) -> bool {
        matches!(unary, Unary::Cbrt | Unary::Sine | Unary::Tan)
    }

    fn steps(&self, unary: Unary, dtype: DType) -> FunctionSteps {
        match unary {
            Unary::Rsqrt => FunctionSteps::OfEstimate,
            Unary::ExponentialMinusOne if dtype == DType::F16 => FunctionSteps::Rounded,
            _ => FunctionSteps::Plain,
        }
    }

    fn promise(&self, unary: Unary) -> Option<FunctionPromise> {
        match unary {
            Unary::Sqrt => Some(FunctionPromise { relative: 0.0, floor: 0.0 }),
            // Measured over all arguments with a normal result: 2.76 eps just below overflow, 1 eps elsewhere. Results
            // below the normal ones are zeros on any chip.
            Unary::Exponential => {
                Some(FunctionPromise { relative: 3.0 * f64::from(f32::EPSILON), floor: F32.min_normal() })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::probe::{hash, of_all_sizes};

    /// As many as the probe gave XLA.
    const COUNT: usize = 20_000;

    /// The bits that jaxlib 0.10.2 computed with glibc 2.36 on an AMD EPYC with AVX-512.
    #[test]
    fn functions_of_one_operand() {
        let expected = [
            (Unary::Cbrt, 0x12ae_7a4f_f42c_06e8),
            (Unary::Erf, 0x12f2_e6ca_a2cd_3e0c),
            (Unary::Rsqrt, 0xd73e_b969_9146_d6f9),
            (Unary::Tan, 0x847f_a213_8bd6_f750),
        ];
        for (function, bits) in expected {
            let mut values = of_all_sizes(COUNT);
            if function == Unary::Rsqrt {
                values.iter_mut().for_each(|v| *v = v.abs());
            }
            // The machine's part.
            let flush = |values: &mut [f32]| {
                if !OwnFunctions.keeps_subnormals(function) {
                    values.iter_mut().for_each(|v| *v = flush_f32(*v));
                }
            };
            flush(&mut values);
            assert!(OwnFunctions.unary(function, &mut values, Estimate::Zen4));
            flush(&mut values);
            assert_eq!(hash(values), bits, "{}", function.name());
        }
    }

    #[test]
    fn functions_of_two_operands() {
        for (function, bits) in [(Binary::Atan2, 0xa71b_cccd_273e_4fa7), (Binary::Power, 0xb643_8990_3391_4100)] {
            let mut values = of_all_sizes(COUNT);
            let mut others = values.clone();
            others.rotate_right(7);
            if function == Binary::Power {
                values.iter_mut().for_each(|v| *v = v.abs());
            }
            let of = OwnFunctions.binary(function).unwrap();
            assert_eq!(hash(values.iter().zip(&others).map(|(a, b)| of(*a, *b))), bits, "{}", function.name());
        }
    }

    /// Zeros, infinities, NaN, negative bases and subnormals, which are not flushed on their way in.
    #[test]
    fn powers_of_special_numbers() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let expected = [
            (1e-40, 0.5, 2.646_978e-23),
            (1e-40, -1.0, inf),
            (-1e-40, 3.0, -0.0),
            (0.0, 1e-40, 0.0),
            (-0.0, -3.0, -inf),
            (0.0, -2.0, inf),
            (-1.0, inf, 1.0),
            (-1.0, 0.5, nan),
            (-inf, 3.0, -inf),
            (nan, 0.0, 1.0),
            (1.0, nan, 1.0),
            (2.0, -126.5, 0.0),
            (2.0, 128.0, inf),
        ];
        let power_of = OwnFunctions.binary(Binary::Power).unwrap();
        for (x, y, power) in expected {
            assert_eq!(hash([power_of(x, y)]), hash([power]), "{x:e}^{y:e}");
        }
    }
}
