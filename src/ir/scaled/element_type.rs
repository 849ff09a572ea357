//! Element types of scaled formats, one row each, and their rounding, exact whatever the scale.
//!
//! Sources: OCP OFP8 1.0 (e4m3, e5m2); OCP MX 1.0, section 5.3 (e3m2, e2m3, e2m1); google/qwix `_src/core/numerics.py` (int8, int4).

use std::sync::OnceLock;

use crate::num::{Format, Specials};
use crate::tensor::DType;

/// Numbers that the codes of an element type stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codes {
    /// A binary floating-point format: sign, exponent field, fraction field.
    Float(Format),
    /// An integer of so many bits in two's complement.
    Integer(u32),
    /// An integer of so many bits without a sign.
    Unsigned(u32),
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name, without the suffixes that tell which numbers it lacks: `e4m3`.
    pub name: &'static str,
    /// The type of tensors that hold it, where there is one.
    pub dtype: Option<DType>,
    codes: Codes,
    numbers: &'static OnceLock<CodeNumbers>,
}

/// Numbers of all codes of a type, so that a tensor's elements are looked up.
#[derive(Clone, Debug)]
struct CodeNumbers {
    /// A number a code; bits above those of the type are ignored.
    of: [f64; 256],
    /// The code of the largest finite number.
    last: u8,
}

/// A table follows from the type's codes, so that those decide whether two types are the same.
impl PartialEq for CodeNumbers {
    fn eq(&self, _: &CodeNumbers) -> bool {
        true
    }
}

impl Eq for CodeNumbers {}

const fn small_float(name: &'static str, exponent_bits: u32, fraction_bits: u32) -> Format {
    let bias = (1 << (exponent_bits - 1)) - 1;
    Format { name, exponent_bits, fraction_bits, bias, specials: Specials::Finite }
}

/// A static [`Element`] with a table of its own.
macro_rules! element {
    ($(#[$doc:meta])* $name:ident, $text:literal, $dtype:expr, $codes:expr) => {
        $(#[$doc])*
        pub static $name: Element = {
            static NUMBERS: OnceLock<CodeNumbers> = OnceLock::new();
            Element { name: $text, dtype: $dtype, codes: $codes, numbers: &NUMBERS }
        };
    };
}

element! {
    /// OCP OFP8 e4m3: numbers up to 448.
    E4M3, "e4m3", Some(DType::F8E4M3FN), Codes::Float(crate::num::F8E4M3FN)
}
element! {
    /// OCP OFP8 e5m2: numbers up to 57344, and infinities.
    E5M2, "e5m2", Some(DType::F8E5M2), Codes::Float(crate::num::F8E5M2)
}
element! {
    /// OCP MX e3m2, six bits: numbers up to 28.
    E3M2, "e3m2", None, Codes::Float(small_float("f6e3m2fn", 3, 2))
}
element! {
    /// OCP MX e2m3, six bits: numbers up to 7.5.
    E2M3, "e2m3", None, Codes::Float(small_float("f6e2m3fn", 2, 3))
}
element! {
    /// OCP MX e2m1, four bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6 with either sign.
    E2M1, "e2m1", Some(DType::F4E2M1FN), Codes::Float(crate::num::F4E2M1FN)
}
element! {
    /// A signed integer of eight bits.
    INT8, "int8", Some(DType::S8), Codes::Integer(8)
}
element! {
    /// A signed integer of four bits.
    INT4, "int4", Some(DType::S4), Codes::Integer(4)
}

element! {
    /// An integer of eight bits without a sign, which takes a zero point.
    UINT8, "uint8", Some(DType::U8), Codes::Unsigned(8)
}
element! {
    /// An integer of four bits without a sign, which takes a zero point.
    UINT4, "uint4", Some(DType::U4), Codes::Unsigned(4)
}

/// All element types, widest first.
pub static ELEMENTS: &[&Element] = &[&E4M3, &E5M2, &INT8, &UINT8, &E3M2, &E2M3, &E2M1, &INT4, &UINT4];

/// The element type with this name.
pub fn find_element(name: &str) -> Option<&'static Element> {
    ELEMENTS.iter().copied().find(|element| element.name == name)
}

/// Choice of a neighbour for a number between two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// The nearer one; of a tie the one with an even code (IEEE 754, OCP MX 1.0).
    NearestEven,
    /// The nearer one; of a tie the one nearer to zero (NVIDIA modelopt's mxfp4).
    TiesTowardZero,
    /// The nearer one; of a tie the one farther from zero.
    TiesAwayFromZero,
    /// The neighbour nearer to zero: truncation.
    TowardZero,
}

impl Rounding {
    /// All of them, the usual one first.
    pub const ALL: [Rounding; 4] =
        [Rounding::NearestEven, Rounding::TiesTowardZero, Rounding::TiesAwayFromZero, Rounding::TowardZero];

    /// Its name in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Rounding::NearestEven => "nearest even",
            Rounding::TiesTowardZero => "nearest, ties toward zero",
            Rounding::TiesAwayFromZero => "nearest, ties away from zero",
            Rounding::TowardZero => "toward zero",
        }
    }

    /// The integer that a number is rounded to.
    fn integer(self, value: f64) -> f64 {
        match self {
            Rounding::NearestEven => value.round_ties_even(),
            Rounding::TiesAwayFromZero => value.round(),
            Rounding::TowardZero => value.trunc(),
            Rounding::TiesTowardZero if (value - value.trunc()).abs() == 0.5 => value.trunc(),
            Rounding::TiesTowardZero => value.round(),
        }
    }
}

/// An element that a number was rounded to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounded {
    /// Its code.
    pub code: u8,
    /// Whether the number lies beyond the largest element by half a step at least, so that it was clamped.
    pub saturated: bool,
}

impl Element {
    /// Bits of a code.
    pub fn bits(&self) -> u32 {
        match &self.codes {
            Codes::Float(format) => format.width(),
            Codes::Integer(bits) | Codes::Unsigned(bits) => *bits,
        }
    }

    /// Bits of the fraction, without the hidden one; `None` of integers.
    pub fn fraction_bits(&self) -> Option<u32> {
        match &self.codes {
            Codes::Float(format) => Some(format.fraction_bits),
            Codes::Integer(_) | Codes::Unsigned(_) => None,
        }
    }

    /// Largest finite number: 448 of e4m3, 127 of int8.
    pub fn max(&self) -> f64 {
        match &self.codes {
            Codes::Float(format) => format.max_finite(),
            Codes::Integer(bits) => f64::from((1i32 << (bits - 1)) - 1),
            Codes::Unsigned(bits) => f64::from((1i32 << bits) - 1),
        }
    }

    /// Least number: -448 of e4m3, -128 of int8, 0 of uint8.
    pub fn min(&self) -> f64 {
        match &self.codes {
            Codes::Float(format) => -format.max_finite(),
            Codes::Integer(_) => -self.max() - 1.0,
            Codes::Unsigned(_) => 0.0,
        }
    }

    /// Whether its numbers are integers, which may lie over a zero point.
    pub fn is_integer(&self) -> bool {
        !matches!(self.codes, Codes::Float(_))
    }

    /// Exponent of the largest number: 8 of e4m3, 15 of e5m2, 4 of e3m2, 2 of e2m3 and e2m1; `None` of integers.
    pub fn max_exponent(&self) -> Option<i32> {
        match &self.codes {
            Codes::Float(format) => Some(format.emax()),
            Codes::Integer(_) | Codes::Unsigned(_) => None,
        }
    }

    /// The table of the type's numbers, made once.
    fn numbers(&self) -> &'static CodeNumbers {
        self.numbers.get_or_init(|| {
            let last = match &self.codes {
                Codes::Float(format) => format.encode(format.max_finite()) as u8,
                Codes::Integer(_) | Codes::Unsigned(_) => self.max() as u8,
            };
            CodeNumbers { of: std::array::from_fn(|code| self.number(code as u8)), last }
        })
    }

    /// Number that a code stands for, exact; bits above [`Element::bits`] are ignored.
    pub fn decode(&self, code: u8) -> f64 {
        self.numbers().of[usize::from(code)]
    }

    fn number(&self, code: u8) -> f64 {
        match &self.codes {
            Codes::Float(format) => format.decode(u64::from(code)),
            Codes::Integer(bits) => f64::from(((code << (8 - bits)) as i8) >> (8 - bits)),
            Codes::Unsigned(bits) => f64::from(code & (0xffu8 >> (8 - bits))),
        }
    }

    /// Code of a NaN: the quiet one of positive sign, -0 in types without NaN (FACTS 11.2), 0 of integers.
    pub fn nan(&self) -> u8 {
        match &self.codes {
            Codes::Float(format) => format.encode(f64::NAN) as u8,
            Codes::Integer(_) | Codes::Unsigned(_) => 0,
        }
    }

    /// Whether a code's magnitude is the largest finite one of its sign.
    pub fn is_largest(&self, code: u8) -> bool {
        self.decode(code).abs() >= self.max()
    }

    /// The element that `value / scale` is rounded to, saturated; the quotient is never computed, so that its own rounding
    /// decides nothing. `scale` is positive and finite, `value` finite, and neither has more than 32 significant bits.
    /// A zero keeps its sign where the type has two.
    pub fn round(&self, value: f64, scale: f64, rounding: Rounding) -> Rounded {
        match &self.codes {
            Codes::Float(format) => {
                let (below, numbers) = (format.fraction_bits + format.exponent_bits, self.numbers());
                let number = |code: u32| numbers.of[code as usize & 255];
                let (code, saturated) = between(value.abs(), scale, numbers.last.into(), rounding, number);
                Rounded { code: code as u8 | u8::from(value.is_sign_negative()) << below, saturated }
            }
            Codes::Integer(bits) => {
                // Two's complement has one number more below zero.
                let last = (1u32 << (bits - 1)) - u32::from(!value.is_sign_negative());
                let (magnitude, saturated) = between(value.abs(), scale, last, rounding, f64::from);
                let code = if value < 0.0 { (magnitude as u8).wrapping_neg() } else { magnitude as u8 };
                Rounded { code: code & (0xffu8 >> (8 - bits)), saturated }
            }
            Codes::Unsigned(bits) => {
                if value < 0.0 {
                    return Rounded { code: 0, saturated: value <= -scale / 2.0 };
                }
                let (code, saturated) = between(value, scale, (1u32 << bits) - 1, rounding, f64::from);
                Rounded { code: code as u8, saturated }
            }
        }
    }

    /// The integer that `value / scale` is rounded to, plus `zero`, clamped to the type's numbers; other types have no zero point, and
    /// none is added. `value` and `scale` are f32 numbers, so that the f64 quotient lies on the side of a tie that the real one does.
    pub fn round_over(&self, value: f64, scale: f64, zero: f64, rounding: Rounding) -> Rounded {
        if !self.is_integer() {
            return self.round(value, scale, rounding);
        }
        let sum = rounding.integer(value / scale) + zero.round();
        let (least, largest) = (self.min(), self.max());
        let code = sum.clamp(least, largest) as i32 as u8 & (0xffu8 >> (8 - self.bits()));
        Rounded { code, saturated: !(least..=largest).contains(&sum) }
    }
}

/// The code up to `last` that a magnitude over `scale` is rounded to, and whether it was clamped. Numbers increase with codes.
fn between(magnitude: f64, scale: f64, last: u32, rounding: Rounding, number: impl Fn(u32) -> f64) -> (u32, bool) {
    // Codes and scales are short, so that these products are exact.
    let (mut low, mut high) = (0, last + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if number(middle) * scale <= magnitude { low = middle } else { high = middle }
    }
    let largest = number(last);
    if low == last {
        let step = largest - number(last - 1);
        return (last, magnitude >= (largest + step / 2.0) * scale);
    }
    if number(low) * scale == magnitude {
        return (low, false);
    }
    let middle = (number(low) + number(low + 1)) / 2.0 * scale;
    let up = match rounding {
        Rounding::TowardZero => false,
        _ if magnitude != middle => magnitude > middle,
        Rounding::NearestEven => low % 2 == 1,
        Rounding::TiesTowardZero => false,
        Rounding::TiesAwayFromZero => true,
    };
    (low + u32::from(up), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_its_own_rounding() {
        for element in ELEMENTS {
            for code in 0..=(0xffu8 >> (8 - element.bits())) {
                let number = element.decode(code);
                if !number.is_finite() {
                    continue;
                }
                for scale in [1.0, 2f64.powi(-127), f64::from(0.11198f32) * 0.5625] {
                    for rounding in Rounding::ALL {
                        let rounded = element.round(number * scale, scale, rounding);
                        assert_eq!(rounded, Rounded { code, saturated: false }, "{} {number} {scale}", element.name);
                    }
                }
            }
        }
    }

    #[test]
    fn ties_and_ends_go_where_each_rounding_sends_them() {
        let of = |value, rounding| E2M1.round(value, 1.0, rounding).code;
        use Rounding::*;
        // 2.5 lies between 2 (code 4) and 3 (code 5), 1.75 between 1.5 (3) and 2 (4).
        assert_eq!(Rounding::ALL.map(|r| of(2.5, r)), [4, 4, 5, 4]);
        assert_eq!(Rounding::ALL.map(|r| of(1.75, r)), [4, 3, 4, 3]);
        assert_eq!(Rounding::ALL.map(|r| of(-2.75, r)), [13, 13, 13, 12]);
        assert_eq!([of(0.25, NearestEven), of(-0.25, NearestEven), of(0.75, NearestEven)], [0, 8, 2]);
        assert_eq!(E2M1.round(6.9, 1.0, NearestEven), Rounded { code: 7, saturated: false });
        assert_eq!(E2M1.round(7.0, 1.0, NearestEven), Rounded { code: 7, saturated: true });
        assert_eq!(E4M3.round(-1e9, 1.0, NearestEven), Rounded { code: 0xfe, saturated: true });
        assert_eq!(INT8.round(-128.0, 1.0, NearestEven), Rounded { code: 0x80, saturated: false });
        assert_eq!(INT8.round(128.0, 1.0, NearestEven), Rounded { code: 0x7f, saturated: true });
        assert_eq!(INT4.round(-0.5, 1.0, TiesAwayFromZero).code, 0xf);
        assert_eq!([E3M2.max(), E2M3.max()], [28.0, 7.5]);
        assert_eq!(UINT8.round(255.5, 1.0, NearestEven), Rounded { code: 0xff, saturated: true });
        assert_eq!(UINT4.round(-0.5, 1.0, NearestEven), Rounded { code: 0, saturated: true });
    }

    #[test]
    fn zero_points_are_added_to_rounded_integers() {
        let of = |value, zero, rounding| INT8.round_over(value, 2.0, zero, rounding).code as i8;
        use Rounding::*;
        // 5 / 2 is a tie: the zero point is added behind the rounding, so that an odd one decides nothing.
        assert_eq!(Rounding::ALL.map(|r| of(5.0, 3.0, r)), [5, 5, 6, 5]);
        assert_eq!(Rounding::ALL.map(|r| of(-3.0, -1.0, r)), [-3, -2, -3, -2]);
        assert_eq!(UINT4.round_over(-30.0, 2.0, 15.0, NearestEven), Rounded { code: 0, saturated: false });
        assert_eq!(UINT4.round_over(-32.0, 2.0, 15.0, NearestEven), Rounded { code: 0, saturated: true });
        assert_eq!(UINT8.round_over(300.0, 2.0, 128.0, NearestEven), Rounded { code: 0xff, saturated: true });
    }
}
