//! Element types.

use crate::num::{self, Format};

/// Element types, by their HLO names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// `pred`: true or false.
    Pred,
    /// `s1`: a signed integer of 1 bit, 0 or -1.
    S1,
    /// `s2`: a signed integer of 2 bits, in two's complement.
    S2,
    /// `s4`: a signed integer of 4 bits, in two's complement.
    S4,
    /// `s8`: a signed integer of 8 bits, in two's complement.
    S8,
    /// `s16`: a signed integer of 16 bits, in two's complement.
    S16,
    /// `s32`: a signed integer of 32 bits, in two's complement.
    S32,
    /// `s64`: a signed integer of 64 bits, in two's complement.
    S64,
    /// `u1`: an unsigned integer of 1 bit, 0 or 1.
    U1,
    /// `u2`: an unsigned integer of 2 bits.
    U2,
    /// `u4`: an unsigned integer of 4 bits.
    U4,
    /// `u8`: an unsigned integer of 8 bits.
    U8,
    /// `u16`: an unsigned integer of 16 bits.
    U16,
    /// `u32`: an unsigned integer of 32 bits.
    U32,
    /// `u64`: an unsigned integer of 64 bits.
    U64,
    /// `f4e2m1fn`: OCP MX e2m1, four bits without infinities and NaN.
    F4E2M1FN,
    /// `f8e3m4`: eight bits with infinities, 15.5 the largest number.
    F8E3M4,
    /// `f8e4m3`: eight bits with infinities, 240 the largest number.
    F8E4M3,
    /// `f8e4m3b11fnuz`: eight bits with one zero and one NaN, 30 the largest number.
    F8E4M3B11FNUZ,
    /// `f8e4m3fnuz`: eight bits with one zero and one NaN, 240 the largest number.
    F8E4M3FNUZ,
    /// `f8e5m2fnuz`: eight bits with one zero and one NaN, 57344 the largest number.
    F8E5M2FNUZ,
    /// `f8e8m0fnu`: OCP MX e8m0, powers of two.
    F8E8M0FNU,
    /// `f8e5m2`: OCP OFP8 e5m2, eight bits with infinities.
    F8E5M2,
    /// `f8e4m3fn`: OCP OFP8 e4m3, eight bits without infinities.
    F8E4M3FN,
    /// `f16`: IEEE binary16.
    F16,
    /// `bf16`: the upper half of an f32.
    BF16,
    /// `f32`: IEEE binary32.
    F32,
    /// `f64`: IEEE binary64.
    F64,
}

/// All element types.
pub const DTYPES: [DType; 28] = {
    use DType::*;
    [
        Pred,
        S1,
        S2,
        S4,
        S8,
        S16,
        S32,
        S64,
        U1,
        U2,
        U4,
        U8,
        U16,
        U32,
        U64,
        F4E2M1FN,
        F8E3M4,
        F8E4M3,
        F8E4M3B11FNUZ,
        F8E4M3FNUZ,
        F8E5M2FNUZ,
        F8E8M0FNU,
        F8E5M2,
        F8E4M3FN,
        F16,
        BF16,
        F32,
        F64,
    ]
};

impl DType {
    /// The HLO name: `pred`, `s32`, `bf16`, ...
    pub const fn name(self) -> &'static str {
        match self {
            DType::Pred => "pred",
            DType::S1 => "s1",
            DType::S2 => "s2",
            DType::S4 => "s4",
            DType::S8 => "s8",
            DType::S16 => "s16",
            DType::S32 => "s32",
            DType::S64 => "s64",
            DType::U1 => "u1",
            DType::U2 => "u2",
            DType::U4 => "u4",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F4E2M1FN => "f4e2m1fn",
            DType::F8E3M4 => "f8e3m4",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E4M3B11FNUZ => "f8e4m3b11fnuz",
            DType::F8E4M3FNUZ => "f8e4m3fnuz",
            DType::F8E5M2FNUZ => "f8e5m2fnuz",
            DType::F8E8M0FNU => "f8e8m0fnu",
            DType::F8E5M2 => "f8e5m2",
            DType::F8E4M3FN => "f8e4m3fn",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// The type with this HLO name.
    pub fn from_name(name: &str) -> Option<DType> {
        DTYPES.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The format of a floating-point type, `None` for the others.
    #[inline]
    pub fn format(self) -> Option<&'static Format> {
        match self {
            DType::F4E2M1FN => Some(&num::F4E2M1FN),
            DType::F8E3M4 => Some(&num::F8E3M4),
            DType::F8E4M3 => Some(&num::F8E4M3),
            DType::F8E4M3B11FNUZ => Some(&num::F8E4M3B11FNUZ),
            DType::F8E4M3FNUZ => Some(&num::F8E4M3FNUZ),
            DType::F8E5M2FNUZ => Some(&num::F8E5M2FNUZ),
            DType::F8E8M0FNU => Some(&num::F8E8M0FNU),
            DType::F8E5M2 => Some(&num::F8E5M2),
            DType::F8E4M3FN => Some(&num::F8E4M3FN),
            DType::F16 => Some(&num::F16),
            DType::BF16 => Some(&num::BF16),
            DType::F32 => Some(&num::F32),
            DType::F64 => Some(&num::F64),
            _ => None,
        }
    }

    /// Whether it is a floating-point type.
    #[inline]
    pub fn is_float(self) -> bool {
        self.format().is_some()
    }

    /// Whether it and another one are float types, the other of which holds all of its numbers.
    pub fn is_part_of(self, other: DType) -> bool {
        self.format().zip(other.format()).is_some_and(|(own, other)| own.is_part_of(other))
    }

    /// Whether it is an integer type, signed or not; predicates are none.
    #[inline]
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != DType::Pred
    }

    /// Whether it is a signed integer type; floats are none.
    #[inline]
    pub fn is_signed(self) -> bool {
        matches!(self, DType::S1 | DType::S2 | DType::S4 | DType::S8 | DType::S16 | DType::S32 | DType::S64)
    }

    /// The integer that the bits of an i64 are in this type, as [`Data::get_i64`](super::Data::get_i64) gives them: those of a u64 have no
    /// sign.
    #[inline]
    pub fn integer_of(self, bits: i64) -> i128 {
        if self == DType::U64 { i128::from(bits as u64) } else { i128::from(bits) }
    }

    /// The start index that the bits of an i64 are in this type. No array reaches beyond 64 bits: a larger u64 counts as the
    /// largest index, which HLO clamps as it does any other.
    #[inline]
    pub fn start_of(self, bits: i64) -> i64 {
        i64::try_from(self.integer_of(bits)).unwrap_or(i64::MAX)
    }

    /// Whether elements are kept as codes: a float of eight bits at most, or an integer of fewer.
    #[inline]
    pub fn is_coded(self) -> bool {
        self.bits() < 8 || self.bits() == 8 && self.is_float()
    }

    /// Bits of one element; a predicate takes eight.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            DType::S1 | DType::U1 => 1,
            DType::S2 | DType::U2 => 2,
            DType::S4 | DType::U4 => 4,
            DType::Pred | DType::S8 | DType::U8 => 8,
            DType::S16 | DType::U16 => 16,
            DType::S32 | DType::U32 => 32,
            DType::S64 | DType::U64 => 64,
            float => float.format().map_or(0, Format::width),
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::DTYPES;

    /// An HLO name says what a type is: `s4` is signed, of four bits.
    #[test]
    fn types_are_what_their_names_say() {
        for dtype in DTYPES {
            let name = dtype.name();
            let letters = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
            let digits: String = name[letters..].chars().take_while(char::is_ascii_digit).collect();
            let bits = if name == "pred" { 8 } else { digits.parse().unwrap() };
            let (is_float, is_integer) =
                (matches!(&name[..letters], "f" | "bf"), matches!(&name[..letters], "s" | "u"));
            assert_eq!(dtype.bits(), bits, "{dtype}");
            assert_eq!((dtype.is_float(), dtype.is_integer()), (is_float, is_integer), "{dtype}");
            assert_eq!(dtype.is_signed(), &name[..letters] == "s", "{dtype}");
            assert_eq!(dtype.is_coded(), bits < 8 || bits == 8 && is_float, "{dtype}");
            assert_eq!(dtype.format().is_some(), is_float, "{dtype}");
        }
    }
}
