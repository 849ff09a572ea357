//! Rounding of working values to a narrower type.

use crate::num::{Direction, Format, Specials, bf16_nearest, flush_f32, round_f64};
use crate::tensor::DType;

use super::simd::{self, Work};

/// Rounds each value once, to nearest even, to `dtype`; f32 stays as it is.
pub fn round_to(dtype: DType, values: &mut [f32]) {
    match (dtype, dtype.format()) {
        (DType::F32 | DType::F64, _) | (_, None) => {}
        (DType::BF16, _) => simd::widest(ToBf16(values)),
        // The other narrow types are rare, and one rounding from f64 is right for all of them.
        (_, Some(format)) => {
            values.iter_mut().for_each(|v| *v = round_f64(format, f64::from(*v), Direction::NearestEven) as f32);
        }
    }
}

struct ToBf16<'a>(&'a mut [f32]);

impl Work for ToBf16<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.iter_mut().for_each(|v| *v = bf16_nearest(*v));
    }
}

/// A number of f32 as a TPU takes it to a narrower float. bf16 to f32 and back is the identity, as compilers take it to be (modelling
/// choice).
pub fn narrow_f32(value: f32) -> f32 {
    // A number that bf16 holds stays, subnormal or not: compilers take bf16 to f32 and back for the identity
    // (FACTS 3.4).
    if value.to_bits() & 0xffff == 0 { value } else { flush_f32(value) }
}

/// `reduce-precision` of values of f32 or bf16, in place, bit for bit as XLA does it (FACTS 1.4): the fraction is rounded
/// to nearest even as an integer; only if the exponent range shrinks too, values beyond the target's range become
/// infinite and values below its normal ones zero. NaN stays where there is a fraction bit.
pub fn reduce_precision(exponent_bits: u32, mantissa_bits: u32, values: &mut [f32]) {
    let reduction = Reduction::new(8, 23, exponent_bits, mantissa_bits);
    for value in values {
        *value = f32::from_bits(reduction.apply(u64::from(value.to_bits())) as u32);
    }
}

/// [`reduce_precision`] of one code of any IEEE-like format.
pub fn reduce_precision_code(format: &Format, exponent_bits: u32, mantissa_bits: u32, code: u64) -> u64 {
    Reduction::new(format.exponent_bits, format.fraction_bits, exponent_bits, mantissa_bits).apply(code)
}

/// Format to which `reduce-precision` rounds values of `source`, and the magnitude below which it makes them zero;
/// `None` if it keeps every value.
pub fn reduced_format(source: &Format, exponent_bits: u32, mantissa_bits: u32) -> Option<(Format, f64)> {
    let narrower = exponent_bits < source.exponent_bits;
    let format = Format {
        name: "reduce-precision",
        exponent_bits: exponent_bits.clamp(1, source.exponent_bits),
        fraction_bits: mantissa_bits.min(source.fraction_bits),
        bias: (1 << (exponent_bits.clamp(1, source.exponent_bits) - 1)) - 1,
        specials: Specials::Ieee,
    };
    // With the exponents of its source it keeps subnormals: only a smaller range flushes (FACTS 1.4).
    let floor = if narrower { format.min_normal() } else { 0.0 };
    (narrower || mantissa_bits < source.fraction_bits).then_some((format, floor))
}

struct Reduction {
    sign: u64,
    exponent_ones: u64,
    /// Fraction bits that go.
    dropped: u32,
    /// A format without fraction bits has no NaN: XLA makes plus infinity of it (`hlo_evaluator_typed_visitor.h`).
    keeps_nan: bool,
    /// Codes without sign: above the first, overflow; at the second and below, underflow.
    limits: Option<(u64, u64)>,
}

impl Reduction {
    fn new(from_exponent: u32, from_fraction: u32, exponent_bits: u32, mantissa_bits: u32) -> Reduction {
        let bias = |bits: u32| (1u64 << (bits.max(1) - 1)) - 1;
        let exponent_ones = ((1 << from_exponent) - 1) << from_fraction;
        let limits = (exponent_bits < from_exponent).then(|| {
            let highest = bias(from_exponent) + bias(exponent_bits);
            let lowest = bias(from_exponent) - bias(exponent_bits);
            (highest << from_fraction, lowest << from_fraction)
        });
        Reduction {
            sign: 1 << (from_exponent + from_fraction),
            exponent_ones,
            dropped: from_fraction.saturating_sub(mantissa_bits),
            keeps_nan: mantissa_bits > 0,
            limits,
        }
    }

    #[inline(always)]
    fn apply(&self, code: u64) -> u64 {
        let (sign, magnitude) = (code & self.sign, code & (self.sign - 1));
        if magnitude > self.exponent_ones {
            // Without a fraction no code of a NaN is left: it becomes an infinity.
            return if self.keeps_nan { code } else { self.exponent_ones };
        }
        // Ties go to even: the last kept bit is added to just below half a place.
        let half = ((1 << self.dropped) >> 1) + ((magnitude >> self.dropped) & 1);
        // Nothing dropped leaves no half to add.
        let rounded = if self.dropped == 0 { magnitude } else { (magnitude + half - 1) & !((1 << self.dropped) - 1) };
        // Limits are asked after rounding, which may carry into the exponent.
        let exponent = rounded & self.exponent_ones;
        sign | match self.limits {
            Some((highest, _)) if exponent > highest => self.exponent_ones,
            Some((_, lowest)) if exponent <= lowest => 0,
            _ => rounded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{reduce_precision, reduce_precision_code};
    use crate::num;

    fn reduced(exponent_bits: u32, mantissa_bits: u32, value: f32) -> f32 {
        let mut values = [value];
        reduce_precision(exponent_bits, mantissa_bits, &mut values);
        values[0]
    }

    /// Measured on jaxlib (FACTS 1.4).
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
                assert_eq!(reduced(8, 7, value), num::bf16_nearest(value), "{value:e}");
            }
        }
    }

    /// f16 keeps its own subnormals while its exponent range is kept; no exponent bits at all leave no number but zero.
    #[test]
    fn codes_of_other_formats() {
        assert_eq!(reduce_precision_code(&num::F16, 5, 10, 0x0201), 0x0201);
        assert_eq!(reduce_precision_code(&num::F16, 5, 9, 0x0203), 0x0204);
        assert_eq!(reduce_precision_code(&num::F16, 4, 3, 0x7bff), 0x7c00);
        let one = reduce_precision_code(&num::F64, 11, 10, (1.0 + 2f64.powi(-20)).to_bits());
        assert_eq!(f64::from_bits(one), 1.0);
        assert_eq!(reduced(0, 3, 1.0), 0.0);
    }

    #[test]
    fn only_what_is_narrower_is_reduced() {
        let of = |exponent: u32, mantissa: u32| {
            super::reduced_format(&crate::num::F32, exponent, mantissa)
                .map(|(f, floor)| (f.exponent_bits, f.fraction_bits, floor))
        };
        assert_eq!([of(8, 23), of(9, 24), of(11, 52)], [None; 3]);
        // Subnormals of the source stay, those of a narrower exponent are zeros.
        assert_eq!([of(8, 7), of(9, 22)], [Some((8, 7, 0.0)), Some((8, 22, 0.0))]);
        assert_eq!([of(5, 10), of(5, 52)], [Some((5, 10, 2f64.powi(-14))), Some((5, 23, 2f64.powi(-14)))]);
        assert_eq!(of(7, 23), Some((7, 23, 2f64.powi(-62))));
    }
}
