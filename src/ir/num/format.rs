//! Binary floating-point formats, one row each.
//!
//! Sources: IEEE 754-2019 section 3.6 (f16, f32, f64); OCP OFP8 v1.0 (e4m3fn, e5m2); OCP MX v1.0 (e2m1fn, e8m0fnu);
//! ml_dtypes 0.5 (e3m4, e4m3 and the `fnuz` formats); the field layouts of bf16 and tf32 are the top 16 and 19 bits of f32.

/// Use of the codes with the largest exponent field in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// Infinities and NaNs, as IEEE 754 does.
    Ieee,
    /// No infinities; only the all-ones code is NaN, the other codes are finite numbers (`fn` formats).
    OneNan,
    /// No infinities and one zero, the positive one; the code of -0 is the only NaN (`fnuz` formats).
    NegativeZeroNan,
    /// Neither infinities nor NaN: every code is a finite number (`f4e2m1fn`). Beyond the largest number is the largest
    /// number, and a NaN becomes -0 (FACTS 11.2).
    Finite,
    /// Powers of two, without sign, zero or fraction; the all-ones code is NaN (`f8e8m0fnu`).
    PowersOfTwo,
}

/// A binary floating-point format: sign (but for powers of two), exponent field, fraction field, from high bit to low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Its name, which is the HLO name where HLO has the type: `bf16`.
    pub name: &'static str,
    /// Bits of the exponent field.
    pub exponent_bits: u32,
    /// Bits of the fraction field, without the hidden bit.
    pub fraction_bits: u32,
    /// The exponent field minus the exponent.
    pub bias: i32,
    /// The codes that are no finite numbers.
    pub specials: Specials,
}

/// IEEE binary64.
pub static F64: Format = ieee("f64", 11, 52);
/// IEEE binary32.
pub static F32: Format = ieee("f32", 8, 23);
/// The upper 19 bits of an f32, which NVIDIA tensor cores take.
pub static TF32: Format = ieee("tf32", 8, 10);
/// The upper half of an f32.
pub static BF16: Format = ieee("bf16", 8, 7);
/// IEEE binary16.
pub static F16: Format = ieee("f16", 5, 10);
/// OCP OFP8 e5m2.
pub static F8E5M2: Format = ieee("f8e5m2", 5, 2);
/// Eight bits as IEEE 754 would have them, numbers up to 240.
pub static F8E4M3: Format = ieee("f8e4m3", 4, 3);
/// OCP OFP8 e4m3: no infinities, and numbers up to 448.
pub static F8E4M3FN: Format = Format { specials: Specials::OneNan, ..ieee("f8e4m3fn", 4, 3) };
/// Eight bits with one zero, one NaN and a bias of 8: numbers up to 240.
pub static F8E4M3FNUZ: Format = fnuz("f8e4m3fnuz", 4, 3, 8);
/// Eight bits with one zero, one NaN and a bias of 11: numbers up to 30.
pub static F8E4M3B11FNUZ: Format = fnuz("f8e4m3b11fnuz", 4, 3, 11);
/// Eight bits with one zero, one NaN and a bias of 16: numbers up to 57344.
pub static F8E5M2FNUZ: Format = fnuz("f8e5m2fnuz", 5, 2, 16);
/// Eight bits as IEEE 754 would have them, numbers up to 15.5.
pub static F8E3M4: Format = ieee("f8e3m4", 3, 4);
/// OCP MX e8m0, the scale of a block: powers of two from 2^-127 to 2^127.
pub static F8E8M0FNU: Format =
    Format { name: "f8e8m0fnu", exponent_bits: 8, fraction_bits: 0, bias: 127, specials: Specials::PowersOfTwo };
/// OCP MX e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6, with either sign.
pub static F4E2M1FN: Format = Format { specials: Specials::Finite, ..ieee("f4e2m1fn", 2, 1) };
/// Six bits, so that every pair of values can be tried and checked by hand.
pub static TOY6: Format = ieee("toy6", 3, 2);

/// All formats, widest first.
pub static FORMATS: &[&Format] = &[
    &F64,
    &F32,
    &TF32,
    &BF16,
    &F16,
    &F8E5M2,
    &F8E5M2FNUZ,
    &F8E4M3FN,
    &F8E4M3,
    &F8E4M3FNUZ,
    &F8E4M3B11FNUZ,
    &F8E3M4,
    &F8E8M0FNU,
    &TOY6,
    &F4E2M1FN,
];

const fn ieee(name: &'static str, exponent_bits: u32, fraction_bits: u32) -> Format {
    let bias = (1 << (exponent_bits - 1)) - 1;
    Format { name, exponent_bits, fraction_bits, bias, specials: Specials::Ieee }
}

const fn fnuz(name: &'static str, exponent_bits: u32, fraction_bits: u32, bias: i32) -> Format {
    Format { name, exponent_bits, fraction_bits, bias, specials: Specials::NegativeZeroNan }
}

/// The row with this name.
pub fn find_format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

impl Format {
    /// Bits of one code.
    #[inline]
    pub const fn width(&self) -> u32 {
        let sign = if self.has_negative_numbers() { 1 } else { 0 };
        sign + self.exponent_bits + self.fraction_bits
    }

    /// Whether it has infinities.
    #[inline]
    pub const fn has_infinities(&self) -> bool {
        matches!(self.specials, Specials::Ieee)
    }

    /// Whether some code is NaN.
    #[inline]
    pub const fn has_nan(&self) -> bool {
        !matches!(self.specials, Specials::Finite)
    }

    /// Whether it has zeros of both signs.
    #[inline]
    pub const fn has_negative_zero(&self) -> bool {
        !matches!(self.specials, Specials::NegativeZeroNan | Specials::PowersOfTwo)
    }

    /// Whether it has numbers below zero.
    #[inline]
    pub const fn has_negative_numbers(&self) -> bool {
        !matches!(self.specials, Specials::PowersOfTwo)
    }

    /// Exponent of the smallest normal number: `min_normal = 2^emin`.
    #[inline]
    pub const fn emin(&self) -> i32 {
        // The lowest exponent field is that of zero and of subnormal numbers, where there are any.
        if self.has_negative_numbers() { 1 - self.bias } else { -self.bias }
    }

    /// Exponent of the largest finite number: it lies in `[2^emax, 2^(emax+1))`.
    #[inline]
    pub const fn emax(&self) -> i32 {
        let top = (1 << self.exponent_bits) - 1 - self.bias;
        match self.specials {
            Specials::Ieee | Specials::PowersOfTwo => top - 1,
            Specials::OneNan | Specials::NegativeZeroNan | Specials::Finite => top,
        }
    }

    /// Largest finite number.
    #[inline]
    pub fn max_finite(&self) -> f64 {
        let all_ones = (1u64 << (self.fraction_bits + 1)) - 1;
        let significand = if self.specials == Specials::OneNan { all_ones - 1 } else { all_ones };
        significand as f64 * exp2i(self.emax() - self.fraction_bits as i32)
    }

    /// Smallest positive normal number.
    #[inline]
    pub fn min_normal(&self) -> f64 {
        exp2i(self.emin())
    }

    /// Smallest positive number.
    #[inline]
    pub fn min_subnormal(&self) -> f64 {
        exp2i(self.emin() - self.fraction_bits as i32)
    }

    /// `2^-(fraction_bits + 1)`: the largest relative error of one rounding to nearest.
    #[inline]
    pub fn unit_roundoff(&self) -> f64 {
        exp2i(-(self.fraction_bits as i32) - 1)
    }

    /// `2^(max(floor(log2 |t|), emin) - fraction_bits)`: the spacing of the format at `t`, as if exponents had no upper
    /// bound. Zero has the spacing of the subnormals; the result for inf and NaN is NaN.
    #[inline]
    pub fn ulp(&self, t: f64) -> f64 {
        if !t.is_finite() {
            return f64::NAN;
        }
        let exponent = if t == 0.0 { self.emin() } else { floor_log2(t).max(self.emin()) };
        exp2i(exponent - self.fraction_bits as i32)
    }

    /// The bits of `value`, which must belong to the format ([`super::round_f64`] makes it so). A NaN becomes the
    /// quiet one with its sign, where NaNs have signs; an infinity in a format without any becomes NaN. A format without
    /// NaN gives them the code of -0.
    #[inline]
    pub fn encode(&self, value: f64) -> u64 {
        let top = 1u64 << (self.exponent_bits + self.fraction_bits);
        let exponent_ones = top - (1 << self.fraction_bits);
        let sign = if value.is_sign_negative() { top } else { 0 };
        if value.is_nan() || value.is_infinite() && !self.has_infinities() || self.is_beyond_sign(value) {
            return match self.specials {
                Specials::Ieee => sign | exponent_ones | 1 << (self.fraction_bits - 1),
                Specials::OneNan => sign | (top - 1),
                Specials::NegativeZeroNan | Specials::Finite => top,
                Specials::PowersOfTwo => top - 1,
            };
        }
        if value.is_infinite() {
            return sign | exponent_ones;
        }
        if value == 0.0 {
            return if self.has_negative_zero() { sign } else { 0 };
        }
        let exponent = floor_log2(value).max(self.emin());
        // An integer below 2^(fraction_bits + 1), because the value belongs to the format.
        let significand = scale(value.abs(), self.fraction_bits as i32 - exponent) as u64;
        let biased = (exponent + self.bias) as u64;
        // A subnormal's significand lacks the hidden bit, so its field comes out one lower, as it should.
        sign | ((biased << self.fraction_bits) + significand - (1 << self.fraction_bits))
    }

    /// Whether this is zero or below, and the format has no such number.
    #[inline]
    pub(super) fn is_beyond_sign(&self, value: f64) -> bool {
        !self.has_negative_numbers() && value <= 0.0
    }

    /// The value of a code; bits above [`Format::width`] are ignored. The only NaN of a format is positive.
    #[inline]
    pub fn decode(&self, code: u64) -> f64 {
        let fraction = code & ((1 << self.fraction_bits) - 1);
        let biased = (code >> self.fraction_bits) & ((1 << self.exponent_bits) - 1);
        let negative = self.has_negative_numbers() && (code >> (self.width() - 1)) & 1 == 1;
        let top = biased == (1 << self.exponent_bits) - 1;
        let magnitude = match self.specials {
            Specials::Ieee if top && fraction == 0 => f64::INFINITY,
            Specials::Ieee if top => f64::NAN,
            Specials::OneNan if top && fraction == (1 << self.fraction_bits) - 1 => f64::NAN,
            Specials::NegativeZeroNan if negative && biased == 0 && fraction == 0 => return f64::NAN,
            Specials::PowersOfTwo if top => f64::NAN,
            Specials::PowersOfTwo => exp2i(biased as i32 - self.bias),
            _ if biased == 0 => scale(fraction as f64, self.emin() - self.fraction_bits as i32),
            _ => {
                let significand = (fraction | 1 << self.fraction_bits) as f64;
                scale(significand, biased as i32 - self.bias - self.fraction_bits as i32)
            }
        };
        if negative { -magnitude } else { magnitude }
    }

    /// Whether every finite number of this format is one of the other.
    pub fn is_part_of(&self, other: &Format) -> bool {
        self.fraction_bits <= other.fraction_bits && self.emin() >= other.emin() && self.emax() <= other.emax()
    }
}

/// `2^exponent`, exact over the whole range of f64; 0 below it and infinity above.
#[inline]
pub fn exp2i(exponent: i32) -> f64 {
    match exponent {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (exponent + 1074)),
        -1022..1024 => f64::from_bits(((exponent + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
    }
}

/// `value * 2^exponent` for results that f64 holds exactly.
#[inline]
pub fn scale(value: f64, exponent: i32) -> f64 {
    // Two steps keep each factor in range; neither rounds when the result is exact.
    let half = exponent / 2;
    value * exp2i(half) * exp2i(exponent - half)
}

/// `floor(log2 |value|)` of a finite value that is not zero.
#[inline]
pub fn floor_log2(value: f64) -> i32 {
    let bits = value.abs().to_bits();
    match bits >> 52 {
        0 => 63 - bits.leading_zeros() as i32 - 1074,
        biased => biased as i32 - 1023,
    }
}
