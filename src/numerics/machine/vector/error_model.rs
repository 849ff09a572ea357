//! Published error bounds of transcendental functions, and models that use them up (FACTS 3.3).

use crate::ir::Unary;
use crate::num::F32;

/// A generation of the unit that computes transcendental functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eup {
    /// TPU v2 to v4.
    PreV5,
    /// TPU v5e and v5p ("EUP version 2").
    V5,
    /// TPU v6e and 7x ("EUP version 3").
    V6,
    /// A CPU: correctly rounded, nothing to perturb.
    Exact,
}

/// How far a result may lie from the exact value: within the absolute or within the relative bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ErrorBound {
    /// In the result's own units.
    pub absolute: f64,
    /// In units of the exact value.
    pub relative: f64,
}

/// eps of FACTS 3.3.
const EPS: f64 = f32::EPSILON as f64;

/// What tells functions apart in the hash of an argument. Reports hold results of it: no number may change.
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
    /// XLA's error specification of f32 for TPUs (`exhaustive_unary_test_f32_or_smaller.cc`, 2024).
    pub(super) fn bound(self, unary: Unary) -> ErrorBound {
        let relative = |eps: f64| ErrorBound { absolute: 0.0, relative: eps * EPS };
        let default = relative(20.0);
        match (self, unary) {
            (Eup::Exact, _) => relative(0.0),
            (Eup::V6, Unary::Exponential | Unary::ExponentialMinusOne) => relative(33.0),
            (_, Unary::Exponential) => relative(75.0),
            (_, Unary::ExponentialMinusOne) => ErrorBound { absolute: 1e-5, relative: 100.0 * EPS },
            (Eup::PreV5 | Eup::V5, Unary::Log) | (_, Unary::LogPlusOne) => ErrorBound { absolute: 2e-4, relative: EPS },
            (Eup::PreV5 | Eup::V5, Unary::Tanh) => ErrorBound { absolute: 5e-4, relative: 0.0 },
            (_, Unary::Logistic) => ErrorBound { absolute: 200.0 * EPS, relative: 0.0 },
            (_, Unary::Rsqrt | Unary::Sqrt | Unary::Sine | Unary::Cosine) => relative(2.0),
            (_, Unary::Tan) => relative(4.0),
            _ => default,
        }
    }

    /// The bound of a division of f32 with this quotient: relative before v6, two units in the last place from v6.
    pub(super) fn division_bound(self, quotient: f64) -> ErrorBound {
        let relative = |eps: f64| ErrorBound { absolute: 0.0, relative: eps * EPS };
        match self {
            Eup::PreV5 => relative(136.0),
            Eup::V5 => relative(34.0),
            Eup::V6 => ErrorBound { absolute: 2.0 * F32.ulp(quotient), relative: 0.0 },
            Eup::Exact => relative(0.0),
        }
    }
}

/// How far transcendental functions and quotients are from correctly rounded. Of TPUs only bounds are public, so `Seeded`
/// and `Worst` are models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorModel {
    /// Functions are correctly rounded, and quotients are as [`super::Divide`] says.
    #[default]
    CorrectlyRounded,
    /// Off by a share of the bound, from none to all of it to either side, that a hash of the argument decides.
    Seeded,
    /// Off by the whole bound, to the side that a hash of the argument decides.
    Worst,
    /// XLA:CPU's own polynomials, bit for bit (FACTS 3.5).
    XlaCpu,
}

impl ErrorModel {
    /// All of them, the default first.
    pub const ALL: &'static [ErrorModel] =
        &[ErrorModel::CorrectlyRounded, ErrorModel::Seeded, ErrorModel::Worst, ErrorModel::XlaCpu];

    /// The name in a mode, as in `exp=worst`.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorModel::CorrectlyRounded => "cr",
            ErrorModel::Seeded => "seeded",
            ErrorModel::Worst => "worst",
            ErrorModel::XlaCpu => "xla",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<ErrorModel> {
        ErrorModel::ALL.iter().copied().find(|model| model.name() == name)
    }

    /// What it does, for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            ErrorModel::CorrectlyRounded => "correctly rounded",
            ErrorModel::Seeded => "off by a share of the published bound that a hash of the argument decides",
            ErrorModel::Worst => "off by the whole published bound, to the side that a hash of the argument decides",
            ErrorModel::XlaCpu => {
                "exp, expm1, log, log1p, tanh and logistic by XLA:CPU's own polynomials with fused multiply-adds, bit for \
                 bit as measured on jaxlib 0.10.2 on x86-64 (FACTS 3.5); the others correctly rounded"
            }
        }
    }

    /// Whether it uses up the chip's published bounds.
    pub const fn perturbs(self) -> bool {
        matches!(self, ErrorModel::Seeded | ErrorModel::Worst)
    }

    /// Perturbs a correctly rounded result within the bound; the argument alone decides how.
    pub(super) fn perturb(self, unary: Unary, x: f32, result: f32, bound: ErrorBound) -> f32 {
        // No unit leaves the range of its function.
        let range = match unary {
            Unary::Exponential => (0.0, f64::INFINITY),
            Unary::Logistic => (0.0, 1.0),
            Unary::Tanh | Unary::ExponentialMinusOne => (-1.0, if unary == Unary::Tanh { 1.0 } else { f64::INFINITY }),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        self.moved(u64::from(x.to_bits()) | salt(unary) << 32, result, bound, range)
    }

    /// Perturbs a correctly rounded quotient within the bound; dividend and divisor decide how.
    pub(super) fn perturb_quotient(self, x: f32, y: f32, eup: Eup) -> f32 {
        let key = mixed(u64::from(x.to_bits())) ^ u64::from(y.to_bits());
        let quotient = x / y;
        let bound = eup.division_bound(f64::from(quotient));
        self.moved(key, quotient, bound, (f64::NEG_INFINITY, f64::INFINITY))
    }

    /// `result` moved within the bound and the range, by a share that a hash of `key` decides.
    fn moved(self, key: u64, result: f32, bound: ErrorBound, (low, high): (f64, f64)) -> f32 {
        if !self.perturbs() || !result.is_finite() || result == 0.0 {
            return result;
        }
        let hash = mixed(key);
        let share = match self {
            // 53 random bits in [-1, 1).
            ErrorModel::Seeded => (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0,
            _ if hash >> 63 == 1 => -1.0,
            _ => 1.0,
        };
        let exact = f64::from(result);
        // Half a unit in the last place is spent already, and the final rounding takes as much again.
        let room = bound.absolute.max(bound.relative * exact.abs()) - f64::from(f32::EPSILON) * exact.abs();
        let moved = exact + share * room.max(0.0);
        moved.clamp(low, high) as f32
    }
}

/// SplitMix64's finaliser.
fn mixed(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// eps of FACTS 3.3.
    const EPSILON: f64 = 1.192_092_895_507_812_5e-7;
    const GENERATIONS: [Eup; 3] = [Eup::PreV5, Eup::V5, Eup::V6];

    /// The absolute bound of each generation and the relative one in eps, as FACTS 3.3 has them.
    const PUBLISHED: [(Unary, [(f64, f64); 3]); 13] = [
        (Unary::Exponential, [(0.0, 75.0), (0.0, 75.0), (0.0, 33.0)]),
        (Unary::ExponentialMinusOne, [(1e-5, 100.0), (1e-5, 100.0), (0.0, 33.0)]),
        (Unary::Log, [(2e-4, 1.0), (2e-4, 1.0), (0.0, 20.0)]),
        (Unary::LogPlusOne, [(2e-4, 1.0); 3]),
        (Unary::Tanh, [(5e-4, 0.0), (5e-4, 0.0), (0.0, 20.0)]),
        (Unary::Logistic, [(200.0 * EPSILON, 0.0); 3]),
        (Unary::Rsqrt, [(0.0, 2.0); 3]),
        (Unary::Sqrt, [(0.0, 2.0); 3]),
        (Unary::Sine, [(0.0, 2.0); 3]),
        (Unary::Cosine, [(0.0, 2.0); 3]),
        (Unary::Tan, [(0.0, 4.0); 3]),
        (Unary::Cbrt, [(0.0, 20.0); 3]),
        (Unary::Erf, [(0.0, 20.0); 3]),
    ];

    #[test]
    fn bounds_are_those_that_are_published() {
        for (unary, bounds) in PUBLISHED {
            for (eup, (absolute, relative)) in GENERATIONS.into_iter().zip(bounds) {
                let published = ErrorBound { absolute, relative: relative * EPSILON };
                assert_eq!(eup.bound(unary), published, "{eup:?} {}", unary.name());
            }
            assert_eq!(Eup::Exact.bound(unary), ErrorBound { absolute: 0.0, relative: 0.0 });
        }
        // A quotient of 3 has an ulp of 2^-22.
        let of = |eup: Eup| (eup.division_bound(3.0).absolute, eup.division_bound(3.0).relative / EPSILON);
        assert_eq!(GENERATIONS.map(of), [(0.0, 136.0), (0.0, 34.0), (2f64.powi(-21), 0.0)]);
    }

    #[test]
    fn perturbations_stay_inside_the_bound_and_use_it() {
        for (at, eup) in GENERATIONS.into_iter().enumerate() {
            for unary in [Unary::Exponential, Unary::Log, Unary::Tanh, Unary::Logistic] {
                let bound = eup.bound(unary);
                let published = PUBLISHED.into_iter().find(|(known, _)| *known == unary).map(|(_, bounds)| bounds[at]);
                let (absolute, relative) = published.unwrap();
                let mut largest = 0.0f64;
                for i in 1..2000 {
                    let x = i as f32 * 0.01;
                    let exact = match unary {
                        Unary::Exponential => core_math::exp(f64::from(x)),
                        Unary::Log => core_math::log(f64::from(x)),
                        Unary::Tanh => core_math::tanh(f64::from(x)),
                        _ => 1.0 / (1.0 + core_math::exp(-f64::from(x))),
                    };
                    let allowed = absolute.max(relative * EPSILON * exact.abs());
                    for model in [ErrorModel::Seeded, ErrorModel::Worst] {
                        let off = f64::from(model.perturb(unary, x, exact as f32, bound)) - exact;
                        assert!(off.abs() <= allowed + 1e-300, "{unary:?} {x} {off} {allowed}");
                        largest = largest.max(off.abs() / allowed);
                    }
                }
                assert!(largest > 0.9, "{eup:?} {unary:?}: {largest}");
            }
        }
    }
    #[test]
    fn quotients_stay_inside_their_bounds_and_use_them() {
        for eup in [Eup::PreV5, Eup::V5, Eup::V6, Eup::Exact] {
            let mut largest = 0.0f64;
            for i in 1..4000 {
                let (x, y) = (i as f32 * 0.37, (i * 7919 % 10_007) as f32 + 0.25);
                let exact = f64::from(x) / f64::from(y);
                for model in [ErrorModel::Seeded, ErrorModel::Worst] {
                    let ulp = F32.ulp(exact);
                    let allowed = match eup {
                        Eup::PreV5 => 136.0 * EPSILON * exact,
                        Eup::V5 => 34.0 * EPSILON * exact,
                        Eup::V6 => 2.0 * ulp,
                        Eup::Exact => ulp / 2.0,
                    };
                    let off = (f64::from(model.perturb_quotient(x, y, eup)) - exact).abs();
                    assert!(off <= allowed, "{eup:?}: {x} / {y} is off by {off}, not {allowed}");
                    largest = largest.max(off / allowed);
                }
            }
            // Of two units in the last place, roundings may take one and a half.
            assert!(largest > if eup == Eup::V6 { 0.7 } else { 0.9 }, "{eup:?}: {largest}");
        }
    }
}
