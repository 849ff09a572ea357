//! Formats as a lattice: which numbers are among which.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::num::{FORMATS, Format};
use crate::tensor::DType;

/// A binary floating-point format that all numbers of a value belong to, by its bits. A lattice: neither of bf16 and f16
/// is within the other, and what holds both has 8 exponent and 10 fraction bits (tf32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Precision {
    /// Bits of the fraction, without the hidden bit.
    pub fraction_bits: u32,
    /// Bits of the exponent field.
    pub exponent_bits: u32,
}

impl Precision {
    /// Numbers that every format has: 0, 1, infinities.
    pub const ANY: Precision = Precision { fraction_bits: 0, exponent_bits: 0 };
    /// Numbers of no format: before any rounding.
    pub const UNLIMITED: Precision = Precision { fraction_bits: u32::MAX, exponent_bits: u32::MAX };

    /// The numbers of a format.
    pub const fn of(format: &Format) -> Precision {
        Precision { fraction_bits: format.fraction_bits, exponent_bits: format.exponent_bits }
    }

    /// The numbers of a dtype; `None` for integers and predicates.
    pub fn of_dtype(dtype: DType) -> Option<Precision> {
        dtype.format().map(Precision::of)
    }

    /// `bf16`, `f32`, ...; `any` for numbers that every format has; `e5m7` for bits of no named format.
    pub fn name(self) -> Cow<'static, str> {
        match FORMATS.iter().find(|format| Precision::of(format) == self) {
            Some(format) => Cow::Borrowed(format.name),
            None if self == Precision::ANY => Cow::Borrowed("any"),
            None => Cow::Owned(format!("e{}m{}", self.exponent_bits, self.fraction_bits)),
        }
    }

    /// Whether each of these numbers is one of `other`'s.
    pub const fn within(self, other: Precision) -> bool {
        self.exponent_bits <= other.exponent_bits && self.fraction_bits <= other.fraction_bits
    }

    /// The narrowest format with the numbers of both.
    pub fn join(self, other: Precision) -> Precision {
        Precision {
            fraction_bits: self.fraction_bits.max(other.fraction_bits),
            exponent_bits: self.exponent_bits.max(other.exponent_bits),
        }
    }

    /// The widest format whose numbers both have.
    pub fn meet(self, other: Precision) -> Precision {
        Precision {
            fraction_bits: self.fraction_bits.min(other.fraction_bits),
            exponent_bits: self.exponent_bits.min(other.exponent_bits),
        }
    }

    /// What rounding to `target` leaves of these numbers.
    pub fn round_to(self, target: Precision) -> Precision {
        if self.within(target) { self } else { target }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.name())
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}
