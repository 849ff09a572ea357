//! Error bounds of functions on TPUs, and models that use them up (FACTS 3.3).

mod measured;

use crate::ir::Unary;
use crate::num::F32;

use super::eup::Eup;
use super::f64_function::function_of_f64;
use super::function_library::FunctionLibrary;
use super::seeded::{self, mix};
use super::stated::{ErrorBound, Implementation, StatedBound, statement};
use crate::named::Named;
use measured::{measurement, of_reciprocal};

/// eps of FACTS 3.3.
const EPS: f64 = f32::EPSILON as f64;

/// A quotient by a reciprocal within one unit in the last place: that unit, the product's rounding, and that of the correctly
/// rounded quotient that it is compared with.
const BY_RECIPROCAL: f64 = 2.0 * EPS * (1.0 + EPS);

/// From this divisor on a reciprocal may lack its correction: at 2^100 a subnormal correction is an eighth of its last place.
const UNCORRECTED: f64 = f64::from_bits((1023 + 100) << 52);

/// The compiler makes `1 / (1 + e^-x)` of a logistic function: what was measured on v2 to v5e, and elsewhere the bounds of the
/// exponential, the sum and the quotient, within which what was measured lies.
static LOGISTIC: [[StatedBound; 1]; 3] = [
    [StatedBound::relative(243.0 * EPS)],
    [StatedBound::relative(128.0 * EPS + 42.0 * EPS)],
    [StatedBound::relative(65.0 * EPS + 4.0 * EPS)],
];

static NO_ERROR: [StatedBound; 1] = [StatedBound::relative(0.0)];

/// The number that tells functions apart in the hash of an argument. Reports hold results of it: none may change.
const fn salt(unary: Unary) -> u64 {
    match unary {
        Unary::Abs => 0,
        Unary::Ceil => 1,
        Unary::Exponential => 2,
        Unary::ExponentialMinusOne => 3,
        Unary::Floor => 4,
        Unary::IsFinite => 5,
        Unary::Log => 6,
        Unary::LogPlusOne => 7,
        Unary::Logistic => 8,
        Unary::Negate => 9,
        Unary::Not => 10,
        Unary::RoundNearestAfz => 11,
        Unary::RoundNearestEven => 12,
        Unary::Rsqrt => 13,
        Unary::Sign => 14,
        Unary::Sqrt => 15,
        Unary::Tanh => 16,
        Unary::Cbrt => 17,
        Unary::Cosine => 18,
        Unary::CountLeadingZeros => 19,
        Unary::Erf => 20,
        Unary::PopulationCount => 21,
        Unary::Sine => 22,
        Unary::Tan => 23,
    }
}

impl Eup {
    /// The bound of a function of f32: as the compiler states it of the generation whose functions these are; of logistic, which it
    /// expands, derived from that; of cbrt and erf, and of all of tpu7x, where it states nothing, as measured.
    pub(super) fn bound(self, unary: Unary, implementation: Implementation) -> ErrorBound {
        let functions = self.functions();
        let derived = |tolerances: &'static [StatedBound]| ErrorBound { tolerances, floor: 2.0 * F32.min_normal() };
        match (functions, unary) {
            (Eup::PreV5, Unary::Logistic) => derived(&LOGISTIC[0]),
            (Eup::V5, Unary::Logistic) => derived(&LOGISTIC[1]),
            (Eup::V6 | Eup::V7, Unary::Logistic) => derived(&LOGISTIC[2]),
            _ => statement(functions, unary, implementation)
                .or_else(|| measurement(functions, unary, implementation))
                .or_else(|| measurement(functions, unary, Implementation::Default))
                .unwrap_or(ErrorBound { tolerances: &NO_ERROR, floor: 0.0 }),
        }
    }

    /// The bound of a division of f32 with this quotient by this divisor. On v2 to v4 and v5e a quotient is left times a reciprocal
    /// that is within a unit in the last place, as v2 and v3 printed it. Of a large divisor the reciprocal's correction is subnormal
    /// and lost, so that it errs as was measured (FACTS 3.3). Of v5p it is what was measured of reciprocals, of v6 that of 2024.
    pub(super) fn division_bound(self, quotient: f64, divisor: f64) -> StatedBound {
        match self {
            Eup::PreV5 | Eup::V5e if divisor.abs() < UNCORRECTED => StatedBound::relative(BY_RECIPROCAL),
            Eup::PreV5 | Eup::V5e => StatedBound::relative(of_reciprocal(self) + BY_RECIPROCAL),
            Eup::V5 => StatedBound::relative(of_reciprocal(self)),
            // XLA's own tests of these allow a quotient two units in the last place (FACTS 3.3).
            Eup::V6 | Eup::V7 => StatedBound { absolute: 2.0 * F32.ulp(quotient), relative: 0.0 },
            Eup::Exact => StatedBound::relative(0.0),
        }
    }
}

/// The errors of transcendental functions, powers and quotients. Of TPUs bounds are stated and some values printed, so `Seeded` and
/// `Worst` are models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorModel {
    /// Functions are correctly rounded, and quotients are as [`super::Divide`] says.
    #[default]
    CorrectlyRounded,
    /// Off as a chip might be: one error for all arguments of a reduced argument, smooth but for jumps between pieces, within the
    /// bound and as large as v2 and v3 printed (`seeded`).
    Seeded,
    /// Off by the whole bound, to the side that a hash of the argument decides.
    Worst,
    /// As a library computes them, bit for bit.
    Library(Named<dyn FunctionLibrary>),
}

impl ErrorModel {
    /// Those of any unit, the default first; [`super::super::Chip::functions`] may name a library beside them.
    pub const ALL: &'static [ErrorModel] = &[ErrorModel::CorrectlyRounded, ErrorModel::Seeded, ErrorModel::Worst];

    /// The library that computes functions, if one does.
    pub fn library(self) -> Option<&'static dyn FunctionLibrary> {
        match self {
            ErrorModel::Library(functions) => Some(functions.0),
            ErrorModel::CorrectlyRounded | ErrorModel::Seeded | ErrorModel::Worst => None,
        }
    }

    /// The name in a mode, as in `exp=worst`.
    pub fn name(self) -> &'static str {
        match self {
            ErrorModel::CorrectlyRounded => "cr",
            ErrorModel::Seeded => "seeded",
            ErrorModel::Worst => "worst",
            ErrorModel::Library(functions) => functions.0.name(),
        }
    }

    /// Its description, for listings.
    pub fn doc(self) -> &'static str {
        match self {
            ErrorModel::CorrectlyRounded => "correctly rounded",
            ErrorModel::Seeded => {
                "a plausible chip: one smooth error in pieces of the reduced argument, within the compiler's stated bound, as large as \
                 v2 and v3 printed; power by log and exp"
            }
            ErrorModel::Worst => {
                "off by the whole bound that the compiler states, to the side that a hash of the argument decides; power by log and \
                 exp; tpu7x, of which nothing is stated, by what was measured"
            }
            ErrorModel::Library(functions) => functions.0.doc(),
        }
    }

    /// Whether it errs within the chip's bounds.
    pub const fn perturbs(self) -> bool {
        matches!(self, ErrorModel::Seeded | ErrorModel::Worst)
    }

    /// A reciprocal that is within a unit in the last place; the divisor alone decides how. Where the correction of the unit's first
    /// value is subnormal, that value stays.
    pub(super) fn reciprocal(self, y: f32, eup: Eup) -> f32 {
        let exact = 1.0 / f64::from(y);
        let half = F32.ulp(exact) / 2.0;
        let share = match self {
            ErrorModel::Seeded => seeded::of_divisor(y),
            _ => side(u64::from(y.to_bits())),
        };
        let first = of_reciprocal(eup) / EPS * 2.0 * half * share;
        // The correction of the first value is subnormal, and a unit that flushes loses it (FACTS 3.3).
        let is_lost = (half..F32.min_normal()).contains(&first.abs());
        (exact + if is_lost { first - half.copysign(first) } else { half * share }) as f32
    }

    /// A quotient that is off within the bound of its generation; dividend and divisor decide how.
    pub(super) fn quotient(self, x: f32, y: f32, eup: Eup) -> f32 {
        let exact = f64::from(x) / f64::from(y);
        let half = F32.ulp(exact) / 2.0;
        let off = match self {
            ErrorModel::Seeded => half * seeded::of_divisor(y),
            _ => {
                let key = mix(u64::from(x.to_bits())) ^ u64::from(y.to_bits());
                (eup.division_bound(exact, f64::from(y)).at(exact.abs()) - half).max(0.0) * side(key)
            }
        };
        (exact + off) as f32
    }
}

/// A function that errs.
pub(super) struct Erring {
    model: ErrorModel,
    unary: Unary,
    bound: ErrorBound,
    function: fn(f64) -> f64,
    shares: seeded::Shares,
    /// The values that the function has: no unit leaves them.
    range: [f64; 2],
}

impl Erring {
    /// The function of a generation and an implementation, as a model that perturbs has it.
    pub fn new(model: ErrorModel, eup: Eup, unary: Unary, implementation: Implementation) -> Erring {
        let range = match unary {
            Unary::Exponential => [0.0, f64::INFINITY],
            Unary::Logistic => [0.0, 1.0],
            Unary::Tanh | Unary::Erf | Unary::Sine | Unary::Cosine => [-1.0, 1.0],
            Unary::ExponentialMinusOne => [-1.0, f64::INFINITY],
            _ => [f64::NEG_INFINITY, f64::INFINITY],
        };
        // Looked up once for an array: a table for each element would take most of the time.
        let (bound, function) = (eup.bound(unary, implementation), function_of_f64(unary));
        let shares = seeded::Shares::new(unary, salt(unary), eup, implementation);
        Erring { model, unary, bound, function, shares, range }
    }

    /// The result of an argument whose correctly rounded result is given: off within the bound. Zeros and what is not finite stay.
    pub fn of(&self, x: f32, rounded: f32) -> f32 {
        if !rounded.is_finite() || rounded == 0.0 {
            return rounded;
        }
        let exact = (self.function)(f64::from(x));
        // The final rounding takes half a unit in the last place, of a number that may lie beyond the next power of two.
        let bound = self.bound.at(exact.abs());
        // Nor is the value in f64 quite exact.
        let room = (bound - F32.ulp(exact.abs() + bound) / 2.0).max(0.0) * (1.0 - EPS);
        let off = match self.model {
            ErrorModel::Seeded => self.shares.error(x, exact, self.bound).clamp(-room, room),
            _ => room * side(u64::from(x.to_bits()) | salt(self.unary) << 32),
        };
        (exact + off).clamp(self.range[0], self.range[1]) as f32
    }
}

/// 1 or -1, as a hash of the key decides.
fn side(key: u64) -> f64 {
    if mix(key) >> 63 == 1 { -1.0 } else { 1.0 }
}

#[cfg(test)]
mod tests;
