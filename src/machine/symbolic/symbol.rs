//! Symbols: fingerprints of how numbers are computed.

use crate::num::{bf16_nearest, flush_f32};
use crate::tensor::DType;

/// Symbol of one number. If no argument decides the number, it is the number itself. Otherwise it is a fingerprint of
/// 118 bits of the operation that computes it and of the symbols of its operands. Two numbers with one symbol are
/// computed by the same operations from the same numbers, unless two different expressions share a fingerprint.
///
/// The ten lowest bits hold the facts known of the number. They are a function of the expression, too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(u128);

/// A narrow float type that the number belongs to; 0 where that is not known.
const FORMAT: u128 = 0xf;
/// The number is no subnormal of f32.
const NORMAL: u128 = 1 << 4;
/// The number is the opposite of the fingerprint's number; a predicate is its negation.
const OPPOSITE: u128 = 1 << 5;
/// The number itself stands in the other bits.
const KNOWN: u128 = 1 << 6;
/// The fingerprint's number is positive, +0 or NaN.
const NOT_NEGATIVE: u128 = 1 << 7;
/// A subnormal of f32 counts as the zero of its sign.
const FLUSHED: u128 = 1 << 8;
/// The fingerprint's number is not -0.
const NOT_MINUS_ZERO: u128 = 1 << 9;
const FLAGS: u32 = 10;

/// A number that no argument decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A float up to f32.
    Float(f32),
    /// An f64.
    Double(f64),
    /// An integer, or a predicate as 0 or 1.
    Integer(i64),
}

/// Facts that follow from an operation about every number that it gives.
#[derive(Clone, Copy, Default)]
pub struct Facts {
    /// No subnormals of f32.
    pub normal: bool,
    /// Positive numbers, +0 and NaN alone.
    pub not_negative: bool,
    /// Anything but -0.
    pub not_minus_zero: bool,
}

impl Symbol {
    /// The symbol of a number.
    pub fn of(number: Number) -> Symbol {
        let (class, bits) = match number {
            Number::Float(v) => (0, u64::from(v.to_bits())),
            Number::Double(v) => (1, v.to_bits()),
            Number::Integer(v) => (2, v as u64),
        };
        Symbol((class << 72 | u128::from(bits)) << FLAGS | KNOWN)
    }

    /// The number, where no argument decides it.
    pub fn number(self) -> Option<Number> {
        if self.0 & KNOWN == 0 {
            return None;
        }
        let (class, bits) = (self.0 >> (72 + FLAGS), (self.0 >> FLAGS) as u64);
        Some(match class {
            0 => Number::Float(f32::from_bits(bits as u32)),
            1 => Number::Double(f64::from_bits(bits)),
            _ => Number::Integer(bits as i64),
        })
    }

    /// Whether this is the number itself.
    pub fn is_known(self) -> bool {
        self.0 & KNOWN != 0
    }

    /// The float up to f32 that this is, where it is known.
    pub fn float(self) -> Option<f32> {
        match self.number() {
            Some(Number::Float(v)) => Some(v),
            _ => None,
        }
    }

    /// The integer that this is, where it is known.
    pub fn integer(self) -> Option<i64> {
        match self.number() {
            Some(Number::Integer(v)) => Some(v),
            _ => None,
        }
    }

    /// The opposite number, or the negation of a predicate.
    pub fn opposite(self) -> Symbol {
        match self.number() {
            None => Symbol(self.0 ^ OPPOSITE),
            Some(Number::Float(v)) => Symbol::of(Number::Float(-v)),
            Some(Number::Double(v)) => Symbol::of(Number::Double(-v)),
            Some(Number::Integer(v)) => Symbol::of(Number::Integer(1 - v)),
        }
    }

    /// The number without its sign change, and whether there was one.
    pub fn split_sign(self) -> (Symbol, bool) {
        if self.is_known() { (self, false) } else { (Symbol(self.0 & !OPPOSITE), self.0 & OPPOSITE != 0) }
    }

    /// The opposite if asked for.
    pub fn with_sign(self, opposite: bool) -> Symbol {
        if opposite { self.opposite() } else { self }
    }

    /// Whether arithmetic that flushes takes the number as it is.
    pub fn is_normal(self) -> bool {
        match self.number() {
            Some(Number::Float(v)) => !v.is_subnormal(),
            _ => self.0 & (NORMAL | FLUSHED) != 0,
        }
    }

    /// The number as arithmetic that flushes takes it.
    pub fn flush(self) -> Symbol {
        match self.number() {
            Some(Number::Float(v)) => Symbol::of(Number::Float(flush_f32(v))),
            _ if self.is_normal() => self,
            _ => Symbol(self.0 | FLUSHED),
        }
    }

    /// The same for arithmetic that flushes it anyway.
    pub fn unflush(self) -> Symbol {
        if self.is_known() { self } else { Symbol(self.0 & !FLUSHED) }
    }

    /// Whether the number is a float that bf16 holds.
    pub fn is_bf16(self) -> bool {
        match self.number() {
            Some(Number::Float(v)) => v.is_nan() || bf16_nearest(v) == v,
            _ => self.is_of(DType::BF16),
        }
    }

    /// Whether the number is positive, +0 or NaN.
    pub fn is_not_negative(self) -> bool {
        match self.number() {
            Some(Number::Float(v)) => v.is_sign_positive(),
            _ => self.0 & (NOT_NEGATIVE | OPPOSITE) == NOT_NEGATIVE,
        }
    }

    /// Whether the number is no -0, nor flushed to it.
    pub fn is_not_minus_zero(self) -> bool {
        match self.number() {
            Some(Number::Float(v)) => v.is_sign_positive() || v.is_normal() || !v.is_finite(),
            Some(Number::Double(v)) => v.is_sign_positive() || v.is_normal() || !v.is_finite(),
            _ => self.0 & (NOT_MINUS_ZERO | OPPOSITE | FLUSHED) == NOT_MINUS_ZERO || self.is_not_negative(),
        }
    }

    /// Whether the number is known to belong to a float type narrower than f32.
    pub fn is_of(self, dtype: DType) -> bool {
        self.0 & KNOWN == 0 && format(dtype) != 0 && self.0 & FORMAT == format(dtype)
    }

    /// The same number, known to belong to `dtype`.
    pub fn in_type(self, dtype: DType) -> Symbol {
        if self.is_known() { self } else { Symbol(self.0 & !FORMAT | format(dtype)) }
    }

    /// The same number, with what an operation says about it.
    pub fn with(self, facts: Facts) -> Symbol {
        let flag = |holds: bool, flag: u128| if holds { flag } else { 0 };
        let signs = flag(facts.not_negative, NOT_NEGATIVE) | flag(facts.not_minus_zero, NOT_MINUS_ZERO);
        Symbol(self.0 | flag(facts.normal, NORMAL) | signs)
    }

    /// Adds the facts known of `of` to this number.
    pub fn like(self, of: Symbol) -> Symbol {
        Symbol(self.0 | of.0 & (FORMAT | NORMAL | NOT_NEGATIVE))
    }

    /// Adds the facts known of both numbers to this one, which is one of them.
    pub fn one_of(self, a: Symbol, b: Symbol) -> Symbol {
        let facts = Facts {
            normal: a.is_normal() && b.is_normal(),
            not_negative: a.is_not_negative() && b.is_not_negative(),
            not_minus_zero: a.is_not_minus_zero() && b.is_not_minus_zero(),
        };
        let picked = self.with(facts);
        match (a.is_bf16() && b.is_bf16(), a.0 & FORMAT == b.0 & FORMAT && !a.is_known() && !b.is_known()) {
            (true, _) => picked.in_type(DType::BF16),
            (false, true) => Symbol(picked.0 | a.0 & FORMAT),
            _ => picked,
        }
    }

    /// Whether this is a float other than zero, so that no zero ties with it.
    pub fn is_no_zero(self) -> bool {
        self.float().is_some_and(|v| v.is_nan() || v.abs() >= f32::MIN_POSITIVE)
    }
}

/// The code of a narrow float type; those of eight bits at most and f16 lie among the normal numbers of f32.
fn format(dtype: DType) -> u128 {
    match dtype {
        DType::BF16 => 1,
        DType::F16 => 2,
        DType::F4E2M1FN => 3,
        DType::F8E3M4 => 4,
        DType::F8E4M3 => 5,
        DType::F8E4M3B11FNUZ => 6,
        DType::F8E4M3FNUZ => 7,
        DType::F8E5M2FNUZ => 8,
        DType::F8E5M2 => 9,
        DType::F8E4M3FN => 10,
        _ => 0,
    }
}

/// Absorbs words one after the other. Each step is a bijection of the state for a given word and of the word for a given
/// state, so that words that differ in one place never meet; the end is that of MurmurHash3 (Appleby), twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mixer(u64, u64);

impl Mixer {
    /// One that has absorbed nothing; [`super::symbol_key::Key::mixer`] begins with an operation and all that decides what it
    /// computes.
    pub fn empty() -> Mixer {
        Mixer(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344)
    }

    /// Both halves of the state mixed with each other.
    pub fn stir(self) -> Mixer {
        Mixer(finish(self.0 ^ self.1.rotate_left(17)), finish(self.1))
    }

    /// Half of the state.
    pub fn half(self) -> u64 {
        self.0
    }

    /// One more word.
    #[inline(always)]
    pub fn absorb(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(27).wrapping_add(self.1);
        self.1 = (self.1 ^ word.rotate_left(32)).wrapping_mul(0x4cf5_ad43_2745_937f).rotate_left(31);
        self.1 = self.1.wrapping_add(self.0).wrapping_mul(5).wrapping_add(0x38495ab5);
    }

    /// One more number.
    #[inline(always)]
    pub fn and(mut self, symbol: Symbol) -> Mixer {
        self.absorb(symbol.0 as u64);
        self.absorb((symbol.0 >> 64) as u64);
        self
    }

    /// One more count.
    #[inline(always)]
    pub fn and_count(mut self, count: usize) -> Mixer {
        self.absorb(count as u64);
        self
    }

    /// More numbers, in this order, and how many they are.
    pub fn and_all(self, symbols: impl IntoIterator<Item = Symbol>) -> Mixer {
        let (mixer, count) =
            symbols.into_iter().fold((self, 0usize), |(mixer, count), symbol| (mixer.and(symbol), count + 1));
        mixer.and_count(count)
    }

    /// The symbol of what was absorbed.
    #[inline(always)]
    pub fn symbol(self) -> Symbol {
        let (a, b) = (finish(self.0), finish(self.1 ^ self.0.rotate_left(32)));
        Symbol((u128::from(a.wrapping_add(b)) << 64 | u128::from(b)) >> FLAGS << FLAGS)
    }
}

#[inline(always)]
fn finish(mut word: u64) -> u64 {
    word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}
