//! Functions of one number, and the two that are not rational: remainder and the rounding to integers.

use rug::float::Round;
use rug::{Float, Integer, Rational};
use ulpgate::ir::Unary;

use super::number::{Made, NAN, Num, Range, Real, World, down, up};

impl World {
    /// A float function of a float; `is-finite` is no such thing, see [`is_finite`].
    pub fn unary(&mut self, function: Unary, x: &Num) -> Num {
        match function {
            Unary::Abs => self.abs(x),
            Unary::Negate => self.negate(x),
            Unary::Sign => self.sign(x),
            Unary::Exponential => self.exp(x),
            Unary::ExponentialMinusOne => match x {
                Num::Inf { neg: true } => self.integer(-1),
                Num::Inf { .. } | Num::Zero { .. } => x.clone(),
                _ => self.increasing(x, Made::ExpMinusOne, |x, bits, round| {
                    Float::with_val_round(bits, x.exp_m1_ref(), round).0
                }),
            },
            Unary::Tanh => match x {
                Num::Inf { neg } => self.integer(if *neg { -1 } else { 1 }),
                Num::Zero { .. } => x.clone(),
                _ => {
                    self.increasing(x, Made::Tanh, |x, bits, round| Float::with_val_round(bits, x.tanh_ref(), round).0)
                }
            },
            Unary::Erf => match x {
                Num::Inf { neg } => self.integer(if *neg { -1 } else { 1 }),
                _ => self.increasing(x, Made::Erf, |x, bits, round| Float::with_val_round(bits, x.erf_ref(), round).0),
            },
            Unary::Cbrt => {
                self.increasing(x, Made::Cbrt, |x, bits, round| Float::with_val_round(bits, x.cbrt_ref(), round).0)
            }
            Unary::Cosine | Unary::Sine => self.wave(function, x),
            Unary::Tan => self.tangent(x),
            Unary::Logistic => self.logistic(x),
            Unary::Log => self.log(x),
            Unary::LogPlusOne => match x {
                Num::Zero { .. } => x.clone(),
                _ => {
                    let one = self.integer(1);
                    self.log_plus_one(x, &one)
                }
            },
            Unary::Sqrt => self.sqrt(x),
            Unary::Rsqrt => match x {
                Num::Zero { neg: Some(neg) } => Num::Inf { neg: *neg },
                Num::Zero { neg: None } => Num::Unknown("rsqrt of a zero of unknown sign"),
                Num::Inf { neg: false } => Num::zero(false),
                _ => {
                    let (one, root) = (self.integer(1), self.sqrt(x));
                    self.divide(&one, &root)
                }
            },
            Unary::Floor => self.round_to_integer(x, |r| r.clone().floor()),
            Unary::Ceil => self.round_to_integer(x, |r| r.clone().ceil()),
            Unary::RoundNearestAfz => self.round_to_integer(x, |r| r.clone().round()),
            Unary::RoundNearestEven => self.round_to_integer(x, nearest_even),
            Unary::CountLeadingZeros | Unary::IsFinite | Unary::Not | Unary::PopulationCount => {
                Num::Unknown("no function between floats")
            }
        }
    }

    /// The part that functions of a real share that increase strictly and have no zero but at zero.
    pub fn increasing(&mut self, x: &Num, made: Made, f: impl Fn(&Float, u32, Round) -> Float) -> Num {
        match x {
            Num::Real(real) => {
                let bits = self.bits;
                let Range { lo, hi } = &real.range;
                let range = Range::new(f(lo, bits, Round::Down), f(hi, bits, Round::Up));
                self.atom(made, vec![real.poly.clone()], real.nonzero, |_, _| range)
            }
            Num::Nan(_) => NAN,
            _ => x.clone(),
        }
    }

    fn exp(&mut self, x: &Num) -> Num {
        match x {
            Num::Zero { .. } => self.integer(1),
            Num::Inf { neg: true } => Num::zero(false),
            Num::Inf { .. } => x.clone(),
            Num::Real(real) => {
                let bits = self.bits;
                let Range { lo, hi } = &real.range;
                let range = Range::new(down(bits, lo.exp_ref()), up(bits, hi.exp_ref()));
                self.atom(Made::Exp, vec![real.poly.clone()], true, |_, _| range)
            }
            Num::Nan(_) => NAN,
            Num::Unknown(_) => x.clone(),
        }
    }

    /// 1 / (1 + exp(-x)), which lies strictly between 0 and 1.
    fn logistic(&mut self, x: &Num) -> Num {
        match x {
            Num::Zero { .. } => self.number(Rational::from((1, 2))),
            Num::Inf { neg: true } => Num::zero(false),
            Num::Inf { .. } => self.integer(1),
            Num::Real(real) => {
                let bits = self.bits;
                let Range { lo, hi } = &real.range;
                let (most, least) = (up(bits, (-lo.clone()).exp_ref()), down(bits, (-hi.clone()).exp_ref()));
                let (bottom, top) = (up(bits, 1 + &most), down(bits, 1 + &least));
                let range = Range::new(down(bits, bottom.recip_ref()), up(bits, top.recip_ref()));
                self.atom(Made::Logistic, vec![real.poly.clone()], true, |_, _| range)
            }
            Num::Nan(_) => NAN,
            Num::Unknown(_) => x.clone(),
        }
    }

    fn log(&mut self, x: &Num) -> Num {
        match x {
            Num::Zero { .. } => Num::Inf { neg: true },
            Num::Inf { neg: true } => NAN,
            Num::Inf { .. } => x.clone(),
            Num::Real(real) => match real.is_negative() {
                Some(true) => NAN,
                None => Num::Unknown("log of what may be zero or negative"),
                Some(false) => {
                    if real.rational().is_some_and(|r| *r == 1) {
                        return Num::zero(false);
                    }
                    if let Some(exponent) = self.exponent(&real.poly) {
                        return exponent;
                    }
                    let bits = self.bits;
                    let Range { lo, hi } = &real.range;
                    let range = Range::new(down(bits, lo.ln_ref()), up(bits, hi.ln_ref()));
                    let nonzero = real.rational().is_some();
                    self.atom(Made::Log, vec![real.poly.clone()], nonzero, |_, _| range)
                }
            },
            Num::Nan(_) => NAN,
            Num::Unknown(_) => x.clone(),
        }
    }

    /// log(1 + x) of what is no zero.
    fn log_plus_one(&mut self, x: &Num, one: &Num) -> Num {
        let Num::Real(real) = x else {
            return match x {
                Num::Inf { neg: false } | Num::Unknown(_) => x.clone(),
                _ => NAN,
            };
        };
        match self.add(x, one) {
            Num::Zero { .. } => Num::Inf { neg: true },
            Num::Real(moved) => match moved.is_negative() {
                Some(true) => NAN,
                None => Num::Unknown("log1p of what may be at or below -1"),
                Some(false) => {
                    let bits = self.bits;
                    let Range { lo, hi } = &real.range;
                    let range = Range::new(down(bits, lo.ln_1p_ref()), up(bits, hi.ln_1p_ref()));
                    self.atom(Made::LogPlusOne, vec![real.poly.clone()], real.nonzero, |_, _| range)
                }
            },
            other => other,
        }
    }

    fn sqrt(&mut self, x: &Num) -> Num {
        match x {
            Num::Zero { .. } | Num::Inf { neg: false } => x.clone(),
            Num::Real(real) => match real.is_negative() {
                Some(true) => NAN,
                None => Num::Unknown("sqrt of what may be zero or negative"),
                Some(false) => {
                    if let Some(root) = real.rational().and_then(exact_root) {
                        return self.number(root);
                    }
                    let bits = self.bits;
                    let Range { lo, hi } = &real.range;
                    let range = Range::new(down(bits, lo.sqrt_ref()), up(bits, hi.sqrt_ref()));
                    self.atom(Made::Sqrt, vec![real.poly.clone()], true, |_, _| range)
                }
            },
            Num::Unknown(_) => x.clone(),
            _ => NAN,
        }
    }

    fn sign(&mut self, x: &Num) -> Num {
        match x {
            Num::Zero { .. } => x.clone(),
            Num::Nan(_) => NAN,
            Num::Unknown(_) => x.clone(),
            Num::Inf { .. } | Num::Real(_) => match x.is_negative() {
                Some(neg) => self.integer(if neg { -1 } else { 1 }),
                None => Num::Unknown("sign of what may be zero"),
            },
        }
    }

    /// Rounding to an integer; what becomes zero keeps its sign.
    fn round_to_integer(&mut self, x: &Num, round: impl Fn(&Rational) -> Rational) -> Num {
        match x {
            Num::Real(real) => match between(real, round) {
                Some(integer) if integer == 0 => Num::Zero { neg: real.is_negative() },
                Some(integer) => self.number(integer),
                None => Num::Unknown("rounding to an integer near a step"),
            },
            Num::Nan(_) => NAN,
            _ => x.clone(),
        }
    }

    /// C's fmod over the reals; a zero result has the sign of the dividend.
    pub fn remainder(&mut self, x: &Num, y: &Num) -> Num {
        match (x, y) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => NAN,
            (Num::Unknown(_), _) => x.clone(),
            (_, Num::Unknown(_)) => y.clone(),
            (Num::Inf { .. }, _) | (_, Num::Zero { .. }) => NAN,
            (_, Num::Real(divisor)) if !divisor.nonzero => Num::Unknown("remainder by what may be zero"),
            (_, Num::Inf { .. }) | (Num::Zero { .. }, _) => x.clone(),
            (Num::Real(dividend), Num::Real(_)) => {
                let neg = dividend.is_negative();
                let quotient = self.divide(x, y);
                let whole = match &quotient {
                    Num::Real(quotient) => between(quotient, |r| r.clone().trunc()),
                    _ => None,
                };
                let Some(whole) = whole else { return Num::Unknown("remainder near a step of the quotient") };
                let whole = self.number(whole);
                let taken = self.multiply(&whole, y);
                match self.subtract(x, &taken) {
                    Num::Zero { .. } => Num::Zero { neg },
                    rest => rest,
                }
            }
        }
    }
}

/// Whether a number is neither NaN nor infinite.
pub fn is_finite(x: &Num) -> Option<bool> {
    match x {
        Num::Nan(_) | Num::Inf { .. } => Some(false),
        Num::Zero { .. } | Num::Real(_) => Some(true),
        Num::Unknown(_) => None,
    }
}

/// The integer that both ends of a real's enclosure are rounded to.
pub fn between(real: &Real, round: impl Fn(&Rational) -> Rational) -> Option<Rational> {
    if let Some(value) = real.rational() {
        return Some(round(value));
    }
    let Range { lo, hi } = &real.range;
    // Far out the ends are integers, and not equal; beyond this many bits nobody wants to write them down.
    let is_small = |end: &Float| end.is_finite() && end.get_exp().is_none_or(|exponent| exponent < 1 << 14);
    if !is_small(lo) || !is_small(hi) {
        return None;
    }
    let (low, high) = (round(&near(lo, real)?), round(&near(hi, real)?));
    (low == high).then_some(low)
}

/// An end of an enclosure as a rational that is rounded to the same integers. What is close to zero goes to a number
/// that is not as close, on its side, and so does a zero that stands for the tiniest numbers.
fn near(end: &Float, real: &Real) -> Option<Rational> {
    let tiny = |neg: bool| Some(Rational::from((if neg { -1 } else { 1 }, 1u64 << 60)));
    match end.get_exp() {
        None => real.is_negative().map_or_else(|| Some(Rational::new()), tiny),
        Some(exponent) if exponent < -(1 << 14) => tiny(end.is_sign_negative()),
        Some(_) => end.to_rational(),
    }
}

fn nearest_even(value: &Rational) -> Rational {
    let floor = value.clone().floor();
    let rest = Rational::from(value - &floor);
    let half = Rational::from((1, 2));
    let up = match rest.cmp(&half) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => floor.numer().is_odd(),
    };
    if up { floor + 1 } else { floor }
}

/// The square root of a positive rational, if it is rational.
fn exact_root(value: &Rational) -> Option<Rational> {
    let (numerator, denominator) = (value.numer(), value.denom());
    let perfect = numerator.is_perfect_square() && denominator.is_perfect_square();
    perfect.then(|| Rational::from((Integer::from(numerator.sqrt_ref()), Integer::from(denominator.sqrt_ref()))))
}
