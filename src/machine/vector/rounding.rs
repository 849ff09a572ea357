//! Rounding of working values to a narrower type.

use crate::num::{Direction, bf16_nearest, round_f64};
use crate::tensor::DType;

/// Rounds each value once, to nearest even, to `dtype`; f32 stays as it is.
pub fn round_to(dtype: DType, values: &mut [f32]) {
    match (dtype, dtype.format()) {
        (DType::F32 | DType::F64, _) | (_, None) => {}
        (DType::BF16, _) => values.iter_mut().for_each(|v| *v = bf16_nearest(*v)),
        (_, Some(format)) => {
            values.iter_mut().for_each(|v| *v = round_f64(format, f64::from(*v), Direction::NearestEven) as f32);
        }
    }
}

/// `reduce-precision` (FACTS 1.4): to nearest even in a format of these field widths; what overflows becomes an
/// infinity, NaN stays, and what lies below the format's smallest normal number becomes a zero of its sign. With eight
/// exponent bits f32's own subnormals stay subnormal.
pub fn reduce_precision(exponent_bits: u32, mantissa_bits: u32, values: &mut [f32]) {
    let dropped = 23u32.saturating_sub(mantissa_bits);
    let exponent_bits = exponent_bits.min(8);
    let emax = (1i32 << (exponent_bits - 1)) - 1;
    for value in values {
        if !value.is_finite() {
            continue;
        }
        let bits = value.to_bits();
        let rounded = if dropped == 0 {
            bits
        } else {
            // Adding just under half, plus the last kept bit, carries exactly when nearest-even rounds up.
            let half = (1u32 << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
            bits.wrapping_add(half) & !((1 << dropped) - 1)
        };
        let sign = bits & 0x8000_0000;
        let exponent = ((rounded >> 23) & 0xff) as i32 - 127;
        *value = f32::from_bits(if exponent > emax {
            sign | 0x7f80_0000
        } else if exponent_bits < 8 && exponent < 1 - emax {
            sign
        } else {
            rounded
        });
    }
}

#[cfg(test)]
mod tests {
    use super::reduce_precision;

    fn reduced(exponent_bits: u32, mantissa_bits: u32, value: f32) -> f32 {
        let mut values = [value];
        reduce_precision(exponent_bits, mantissa_bits, &mut values);
        values[0]
    }

    /// Measured on XLA:CPU (FACTS 1.4).
    #[test]
    fn measured_values() {
        assert_eq!(reduced(8, 7, 3.4e38), f32::INFINITY);
        assert_eq!(reduced(5, 10, 65519.0), 65504.0);
        assert_eq!(reduced(5, 10, 65520.0), f32::INFINITY);
        assert_eq!(reduced(5, 10, 6.1e-5), 0.0);
        assert!(reduced(5, 10, -6.0e-5).is_sign_negative());
        assert!(reduced(8, 7, f32::NAN).is_nan());
        let subnormal = f32::from_bits(0x0012_0000);
        assert_eq!(reduced(8, 7, subnormal), subnormal);
    }

    #[test]
    fn with_the_fields_of_bf16_it_is_rounding_to_bf16() {
        for bits in (0..=u32::MAX).step_by(65_521) {
            let value = f32::from_bits(bits);
            if !value.is_nan() {
                assert_eq!(reduced(8, 7, value), crate::num::bf16_nearest(value), "{value:e}");
            }
        }
    }
}
