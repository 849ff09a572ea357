//! Errors of a plausible chip: `exp=seeded`.
//!
//! A function unit reduces its argument and computes one approximation of the reduced one, in pieces. So its error is one function
//! of the reduced argument, smooth within a piece, with jumps between pieces: of a logarithm a function of the mantissa, of an
//! exponential one of the fraction of `x / ln 2`. What v2 and v3 printed has this form (FACTS 3.3). The values at the ends of
//! pieces come from there where they are known, and from a hash elsewhere: a modelling choice.

use std::f64::consts::{FRAC_2_PI, LN_2, LOG2_E};

use crate::ir::Unary;

use super::eup::Eup;
use super::stated::{ErrorBound, Implementation};

/// Pieces of a reduced argument.
const PIECES: usize = 32;

/// The largest error in units of the stated bound: what v2 and v3 printed of log2 and log1p, 9.6e-5 ln 2 and 6.6e-5 of 2^-13.
const LARGEST: f64 = 0.5451;

/// The same of exponentials, whose error in a sigmoid was 2^-18 to 2^-19, where 2^-16 is stated.
const LARGEST_OF_EXPONENTIAL: f64 = 0.27;

/// The errors of log and log1p of v2 to v4 and v5e at both ends of each piece of the mantissa, in units of the stated bound. The
/// pieces with numbers of four digits go through printed values: of log2 at seven mantissas, of 5^1.5 (at 1.25), and of a logarithm at 1.28
/// (FACTS 3.3). The others are a modelling choice of their size; near 1 they are small, as printed.
const LOGARITHM_BEFORE_V5: [[f64; 2]; PIECES] = [
    [0.0, 0.18],
    [0.2, 0.31],
    [0.25, 0.1],
    [-0.12, -0.33],
    [-0.3, -0.41],
    [-0.22, 0.05],
    [0.11, 0.37],
    [0.29, -0.2183],
    [0.2131, -0.473],
    [-0.5394, -0.5394],
    [-0.42, -0.17],
    [0.06, 0.33],
    [0.38, 0.47],
    [0.5, 0.4263],
    [0.5, 0.2476],
    [-0.25, -0.5302],
    [-0.46, -0.28],
    [-0.31, -0.02],
    [-0.1, -0.4484],
    [-0.39, -0.12],
    [0.04, 0.36],
    [0.41, 0.23],
    [0.14, -0.19],
    [-0.27, -0.08],
    [0.02, 0.26],
    [0.3, 0.0551],
    [-0.09, -0.34],
    [-0.36, -0.18],
    [-0.05, 0.21],
    [0.24, 0.32],
    [0.2, 0.12],
    [0.1, -0.05],
];

/// The errors of a function's implementation.
pub(super) struct Shares {
    unary: Unary,
    /// At both ends of each piece, in units of the largest that there is.
    ends: [[f64; 2]; PIECES],
}

impl Shares {
    /// Those of a function, which `salt` tells apart from others.
    pub fn new(unary: Unary, salt: u64, eup: Eup, implementation: Implementation) -> Shares {
        let eup = eup.functions();
        let ends = match (unary, eup, implementation) {
            (Unary::Log | Unary::LogPlusOne, Eup::PreV5, Implementation::Default) => LOGARITHM_BEFORE_V5,
            _ => {
                let largest = match unary {
                    Unary::Exponential | Unary::ExponentialMinusOne => LARGEST_OF_EXPONENTIAL,
                    // Of these the unit is half a unit in the last place.
                    Unary::Sqrt | Unary::Rsqrt | Unary::Sine | Unary::Cosine => 1.0,
                    _ => LARGEST,
                };
                hashed(salt << 8 | (eup as u64) << 4 | implementation as u64, largest)
            }
        };
        Shares { unary, ends }
    }

    /// The error of the result of `x`, whose exact value is given.
    pub fn error(&self, x: f32, exact: f64, bound: ErrorBound) -> f64 {
        let (wide, magnitude) = (f64::from(x), exact.abs());
        // Of expm1(-inf), which is -1, there is no reduced argument.
        if wide.is_infinite() {
            return 0.0;
        }
        let half_ulp = crate::num::F32.ulp(exact) / 2.0;
        match self.unary {
            // An exponential's error goes with the fraction of x / ln 2: the integer part only moves the exponent.
            Unary::Exponential => self.around_zero(wide * LOG2_E) * bound.least_at(1.0).relative * magnitude,
            Unary::ExponentialMinusOne => self.around_zero(wide * LOG2_E) * bound.at(magnitude),
            Unary::Log => self.of_logarithm(wide, bound),
            // Near 0 the result is as small as x: the bound is one of its own size, not that of a logarithm.
            Unary::LogPlusOne if wide.abs() < 0.25 => self.at(mantissa(1.0 + wide)) * bound.at(magnitude),
            Unary::LogPlusOne => self.of_logarithm(1.0 + wide, bound),
            Unary::Sqrt | Unary::Rsqrt => self.at(mantissa_of_square(wide)) * half_ulp,
            // An odd function stays odd: its share is that of the magnitude.
            Unary::Sine => self.around_zero(wide.abs() * FRAC_2_PI) * half_ulp * wide.signum(),
            Unary::Cosine => self.around_zero(wide.abs() * FRAC_2_PI) * half_ulp,
            Unary::Tan => self.around_zero(wide.abs() * FRAC_2_PI) * bound.at(magnitude) * wide.signum(),
            // From 8 on both are 1 to all digits.
            Unary::Tanh | Unary::Erf if wide.abs() < 8.0 => {
                self.at(wide.abs() / 8.0) * bound.at(magnitude) * wide.signum()
            }
            Unary::Cbrt => self.at(mantissa(wide.abs())) * bound.at(magnitude) * wide.signum(),
            _ => 0.0,
        }
    }

    /// The share at a position from 0 to 1.
    fn at(&self, position: f64) -> f64 {
        between(&self.ends, position)
    }

    /// The share of what is reduced to the distance from the nearest integer; 0 at integers, and smooth there.
    fn around_zero(&self, x: f64) -> f64 {
        let rest = x - x.round_ties_even();
        self.at(rest + 0.5) * (8.0 * rest.abs()).min(1.0)
    }

    /// The error of a logarithm: that of the mantissa, whatever the exponent is. It keeps to the bound of the smallest result that
    /// this mantissa has, so it is 0 at powers of two.
    fn of_logarithm(&self, x: f64, bound: ErrorBound) -> f64 {
        let position = mantissa(x);
        let log = core_math::log1p(position);
        // The error depends on the mantissa alone, as v2 and v3 printed it: it is zero at both ends of a binade
        // (FACTS 3.3).
        self.at(position) * bound.at(log.min(LN_2 - log))
    }
}

/// The share of a quotient's or reciprocal's half unit in the last place, by the divisor's mantissa; 0 at powers of two.
pub(super) fn of_divisor(divisor: f32) -> f64 {
    /// Unlike those of all functions.
    const SALT: u64 = 1 << 40;
    piece(SALT, 1.0, mantissa(f64::from(divisor.abs())))
}

/// The mantissa of a positive number, less 1.
fn mantissa(x: f64) -> f64 {
    let fraction = x.to_bits() & ((1 << 52) - 1);
    f64::from_bits(1023 << 52 | fraction) - 1.0
}

/// The position of a number between an even power of two and the next one.
fn mantissa_of_square(x: f64) -> f64 {
    // A root halves the exponent, so that two binades of arguments share a reduced one. The bias is odd: an even code
    // is an odd exponent.
    let odd_exponent = (x.to_bits() >> 52) & 1 == 0;
    (mantissa(x) + f64::from(u8::from(odd_exponent))) / 2.0
}

/// The ends of all pieces by a hash.
fn hashed(salt: u64, largest: f64) -> [[f64; 2]; PIECES] {
    std::array::from_fn(|piece| ends(salt, largest, piece))
}

/// The ends of a piece by a hash; the first piece begins with 0.
fn ends(salt: u64, largest: f64, piece: usize) -> [f64; 2] {
    let random = |end: u64| {
        let bits = mix(mix(salt) ^ (2 * piece as u64 + end));
        // 53 random bits in [-1, 1).
        ((bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * largest
    };
    // Powers of two have no error, as v2 and v3 printed of logarithms (FACTS 3.3).
    [if piece == 0 { 0.0 } else { random(0) }, random(1)]
}

/// The value at a position from 0 to 1, of which only the piece's own ends are found.
fn piece(salt: u64, largest: f64, position: f64) -> f64 {
    let (piece, rest) = place(position);
    line(ends(salt, largest, piece), rest)
}

fn between(all: &[[f64; 2]; PIECES], position: f64) -> f64 {
    let (piece, rest) = place(position);
    line(all[piece], rest)
}

/// The piece of a position and the way through it.
fn place(position: f64) -> (usize, f64) {
    let scaled = position * PIECES as f64;
    let piece = (scaled as usize).min(PIECES - 1);
    (piece, scaled - piece as f64)
}

fn line([left, right]: [f64; 2], rest: f64) -> f64 {
    left + (right - left) * rest
}

/// SplitMix64's finaliser.
pub(super) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
