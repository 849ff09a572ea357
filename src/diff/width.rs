//! How precise a value is: the bits that can differ from zero.

use std::fmt;

use crate::num::FORMATS;
use crate::tensor::DType;

/// Exponent and fraction bits that a value uses at most. Ordered by neither alone: bf16 and f16 are incomparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width {
    pub fraction_bits: u32,
    pub exponent_bits: u32,
}

impl Width {
    /// Of a value that every format represents.
    pub const NONE: Width = Width { fraction_bits: 0, exponent_bits: 0 };
    /// Of a value before any rounding.
    pub const UNLIMITED: Width = Width { fraction_bits: u32::MAX, exponent_bits: u32::MAX };

    /// What a dtype holds; everything for dtypes that are not floats.
    pub fn of(dtype: Option<DType>) -> Width {
        match dtype.and_then(DType::format) {
            Some(f) => Width { fraction_bits: f.fraction_bits, exponent_bits: f.exponent_bits },
            None => Width::UNLIMITED,
        }
    }

    /// What is left of a value of this width in a format of the other.
    pub fn meet(self, other: Width) -> Width {
        Width {
            fraction_bits: self.fraction_bits.min(other.fraction_bits),
            exponent_bits: self.exponent_bits.min(other.exponent_bits),
        }
    }

    /// What holds values of both widths.
    pub fn join(self, other: Width) -> Width {
        Width {
            fraction_bits: self.fraction_bits.max(other.fraction_bits),
            exponent_bits: self.exponent_bits.max(other.exponent_bits),
        }
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = |row: &&&crate::num::Format| {
            row.exponent_bits == self.exponent_bits && row.fraction_bits == self.fraction_bits
        };
        match FORMATS.iter().find(same) {
            Some(row) => f.write_str(row.name),
            None => write!(f, "e{}m{}", self.exponent_bits, self.fraction_bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_meet_and_join() {
        let [f32, bf16, f16] = [DType::F32, DType::BF16, DType::F16].map(|dtype| Width::of(Some(dtype)));
        assert_eq!((f32.meet(bf16), f32.join(bf16)), (bf16, f32));
        // Neither of bf16 and f16 holds the other.
        assert_eq!(bf16.join(f16), Width { fraction_bits: 10, exponent_bits: 8 });
        assert_eq!(bf16.meet(f16), Width { fraction_bits: 7, exponent_bits: 5 });
        assert_eq!(Width::of(Some(DType::S32)), Width::UNLIMITED);
        for width in [f32, bf16, f16] {
            assert_eq!((width.join(Width::NONE), width.meet(Width::UNLIMITED)), (width, width));
        }
    }

    #[test]
    fn widths_are_named_as_formats() {
        assert_eq!(Width::of(Some(DType::BF16)).to_string(), "bf16");
        assert_eq!(Width { fraction_bits: 7, exponent_bits: 5 }.to_string(), "e5m7");
    }
}
