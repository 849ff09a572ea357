//! Codes of floats: a NaN keeps its sign, its payload and whether it signals (IEEE 754-2019 6.2.1), which casts between
//! float types do not.
//!
//! In f64 the fraction of a narrower NaN stands in the leading bits.

use crate::num::{F64, Format, Specials};
use crate::tensor::Data;

/// The elements of a float tensor.
pub(super) fn values(data: &Data) -> Vec<f64> {
    let mut values = data.to_f64s();
    if let Some(format) = data.dtype().format() {
        for (at, x) in values.iter_mut().enumerate().filter(|(_, x)| x.is_nan()) {
            *x = value(format, data.bits(at));
        }
    }
    values
}

/// The value of a code.
pub(super) fn value(format: &Format, code: u64) -> f64 {
    let value = format.decode(code);
    if !value.is_nan() || format.specials != Specials::Ieee {
        return value;
    }
    let sign = (code >> (format.width() - 1) & 1) << 63;
    let fraction = (code & ((1 << format.fraction_bits) - 1)) << (F64.fraction_bits - format.fraction_bits);
    f64::from_bits(sign | f64::INFINITY.to_bits() | fraction)
}

/// The code of a value; `None` if the format does not have it.
pub(super) fn code(format: &Format, value: f64) -> Option<u64> {
    if !value.is_nan() || format.specials != Specials::Ieee {
        return format.contains(value).then(|| format.encode(value));
    }
    let bits = value.to_bits();
    let sign = (bits >> 63) << (format.width() - 1);
    let fraction = bits << 12 >> (64 - format.fraction_bits);
    let exponent = ((1u64 << format.exponent_bits) - 1) << format.fraction_bits;
    // A payload that lies below the format's bits leaves the quiet NaN.
    let fraction = if fraction == 0 { 1 << (format.fraction_bits - 1) } else { fraction };
    Some(sign | exponent | fraction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::FORMATS;

    #[test]
    fn every_code_comes_back() {
        for format in FORMATS.iter().filter(|f| f.width() <= 19) {
            for bits in 0..1u64 << format.width() {
                assert_eq!(code(format, value(format, bits)), Some(bits), "{} {bits:x}", format.name);
            }
        }
        for bits in [0x7f80_0001u64, 0xffbf_ffff, 0x7fc0_0000, 0x8000_0000, 0x0000_0001] {
            assert_eq!(code(&crate::num::F32, value(&crate::num::F32, bits)), Some(bits), "{bits:x}");
        }
        for bits in [0x7ff0_0000_0000_0001u64, 0xfff7_ffff_ffff_ffff] {
            assert_eq!(code(&F64, value(&F64, bits)), Some(bits), "{bits:x}");
        }
    }

    /// A NaN whose payload a narrower format does not have is its quiet NaN there, with the sign.
    #[test]
    fn a_payload_below_all_bits_leaves_the_quiet_nan() {
        for (bits, expected) in [(0x7ff0_0000_0000_0001u64, 0x7fc0), (0xfff0_0000_0000_0001, 0xffc0)] {
            assert_eq!(code(&crate::num::BF16, f64::from_bits(bits)), Some(expected), "{bits:x}");
        }
        assert_eq!(code(&crate::num::F32, f64::from_bits(0x7ff0_0000_1000_0000)), Some(0x7fc0_0000));
    }
}
