//! Formats as a lattice, ordered by the inclusion of their numbers.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::num::{F32, FORMATS, Format};
use crate::tensor::DType;

/// A binary floating-point format that all numbers of a value belong to, by its bits. Formats form a lattice: neither
/// of bf16 and f16 is within the other, and the narrowest that holds both has 8 exponent and 10 fraction bits (tf32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Precision {
    /// Bits of the fraction, without the hidden bit.
    pub fraction_bits: u32,
    /// Bits of the exponent field.
    pub exponent_bits: u32,
    /// Distinguishes formats of equal bits with different numbers: 0 for those of IEEE 754 and OCP, 1 more than the
    /// position in [`FORMATS`] for other formats of eight bits, which have another bias or other largest numbers.
    pub variant: u8,
}

impl Precision {
    /// Numbers that every format has: 0, 1, infinities.
    pub const ANY: Precision = Precision::bits(0, 0);
    /// Numbers of no format: before any rounding.
    pub const UNLIMITED: Precision = Precision::bits(u32::MAX, u32::MAX);

    /// The numbers of the format with these bits, as IEEE 754 would have it.
    pub const fn bits(fraction_bits: u32, exponent_bits: u32) -> Precision {
        Precision { fraction_bits, exponent_bits, variant: 0 }
    }

    /// The numbers of a format.
    pub fn of(format: &Format) -> Precision {
        let bits = Precision::bits(format.fraction_bits, format.exponent_bits);
        let place = FORMATS.iter().position(|other| *other == format);
        let alike = FORMATS.iter().position(|other| Precision::bits(other.fraction_bits, other.exponent_bits) == bits);
        // The first of several is the one that OCP has.
        let variant = place.filter(|_| place != alike).map_or(0, |place| place as u8 + 1);
        Precision { variant, ..bits }
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

    /// Whether numbers of f32 may lose bits when they are rounded to these.
    pub fn narrows(self) -> bool {
        let wide = Precision::of(&F32);
        self.within(wide) && self != wide
    }

    /// Whether each of these numbers is one of `other`'s. Of different variants, the other must have one more exponent
    /// bit, which leaves room for the bias.
    pub const fn within(self, other: Precision) -> bool {
        let is_any = self.exponent_bits == 0 && self.fraction_bits == 0;
        // Formats of equal bits differ in range at the ends: one that has an exponent bit more holds both.
        let exponents = self.exponent_bits + if self.variant == other.variant { 0 } else { 1 };
        is_any || exponents <= other.exponent_bits && self.fraction_bits <= other.fraction_bits
    }

    /// The narrowest format with the numbers of both.
    pub fn join(self, other: Precision) -> Precision {
        if self.within(other) {
            return other;
        }
        if other.within(self) {
            return self;
        }
        let exponents = |p: Precision| p.exponent_bits + u32::from(p.variant > 0);
        Precision::bits(self.fraction_bits.max(other.fraction_bits), exponents(self).max(exponents(other)))
    }

    /// The widest format whose numbers both have.
    pub fn meet(self, other: Precision) -> Precision {
        if self.within(other) {
            return self;
        }
        if other.within(self) {
            return other;
        }
        let exponents = |p: Precision| p.exponent_bits - u32::from(p.variant > 0);
        Precision::bits(self.fraction_bits.min(other.fraction_bits), exponents(self).min(exponents(other)))
    }

    /// The format of these numbers after they are rounded to `target`.
    pub fn round_to(self, target: Precision) -> Precision {
        // Numbers that the target holds are not rounded, and stay as narrow as they are.
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
