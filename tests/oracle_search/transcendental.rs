//! Waves, powers and angles. A wave is enclosed by its slope, which is at most 1; the others are made of functions that
//! are monotone, by their definitions.

use rug::float::{Constant, Round};
use rug::{Float, Rational};
use ulpgate::ir::Unary;

use super::number::{Made, NAN, Num, Range, World, down, up};

impl World {
    pub fn wave(&mut self, function: Unary, x: &Num) -> Num {
        let is_cosine = function == Unary::Cosine;
        match x {
            Num::Zero { .. } if is_cosine => self.integer(1),
            Num::Inf { .. } | Num::Nan(_) => NAN,
            Num::Zero { .. } | Num::Unknown(_) => x.clone(),
            Num::Real(real) => {
                let range = self.around(is_cosine, &real.range);
                let made = if is_cosine { Made::Cosine } else { Made::Sine };
                // Of a rational number that is not zero both are transcendental (Lindemann).
                let nonzero = real.rational().is_some();
                self.atom(made, vec![real.poly.clone()], nonzero, |_, _| range)
            }
        }
    }

    fn around(&self, is_cosine: bool, range: &Range) -> Range {
        let bits = self.bits;
        let (one, Range { lo, hi }) = (Float::with_val(bits, 1), range);
        let far = |end: &Float| !end.is_finite() || end.get_exp().is_some_and(|exponent| exponent > 1 << 12);
        if far(lo) || far(hi) {
            return Range::new(-one.clone(), one);
        }
        let middle = Float::with_val(lo.prec().max(hi.prec()) + 2, lo + hi) / 2u32;
        let reach = up(bits, hi - &middle).max(&up(bits, &middle - lo));
        let at = |round| match is_cosine {
            true => Float::with_val_round(bits, middle.cos_ref(), round).0,
            false => Float::with_val_round(bits, middle.sin_ref(), round).0,
        };
        let (low, high) = (down(bits, at(Round::Down) - &reach), up(bits, at(Round::Up) + &reach));
        Range::new(low.max(&-one.clone()), high.min(&one))
    }

    pub fn tangent(&mut self, x: &Num) -> Num {
        match x {
            Num::Zero { .. } => x.clone(),
            _ => {
                let (sine, cosine) = (self.wave(Unary::Sine, x), self.wave(Unary::Cosine, x));
                self.divide(&sine, &cosine)
            }
        }
    }

    /// C's `pow`.
    pub fn power(&mut self, x: &Num, y: &Num) -> Num {
        let one = self.integer(1);
        let is_one = |v: &Num| matches!(v, Num::Real(real) if real.rational().is_some_and(|r| *r == 1));
        if matches!(y, Num::Zero { .. }) || is_one(x) {
            return one;
        }
        // The exponent as an integer: it may be none, and it may be that this is not known.
        let whole = match y {
            Num::Real(real) => real.rational().map(|r| r.is_integer().then(|| r.numer().clone())),
            _ => None,
        };
        let is_odd = whole.clone().map(|whole| whole.is_some_and(|n| n.is_odd()));
        let (grows, infinity) = (y.is_negative().map(|neg| !neg), matches!(y, Num::Inf { .. }));
        match (x, y) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => NAN,
            (Num::Unknown(_), _) => x.clone(),
            (_, Num::Unknown(_)) => y.clone(),
            (Num::Zero { .. } | Num::Inf { .. }, _) => {
                let Some(grows) = grows else { return Num::Unknown("a power of unknown sign") };
                let negative = match (x.is_negative(), if infinity { Some(false) } else { is_odd }) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                };
                let Some(negative) = negative else { return Num::Unknown("a power whose sign is unknown") };
                let is_zero = matches!(x, Num::Zero { .. }) == grows;
                if is_zero { Num::zero(negative) } else { Num::Inf { neg: negative } }
            }
            (Num::Real(_), Num::Inf { neg }) => {
                let size = self.abs(x);
                match self.compare(&size, &one).flatten() {
                    Some(std::cmp::Ordering::Equal) => one,
                    Some(order) if (order == std::cmp::Ordering::Less) == *neg => Num::Inf { neg: false },
                    Some(_) => Num::zero(false),
                    None => Num::Unknown("an infinite power of what may be 1"),
                }
            }
            (Num::Real(base), _) => match (base.is_negative(), whole) {
                (_, Some(Some(n))) if n.clone().abs() <= 40 => {
                    let mut product = self.integer(1);
                    for _ in 0..n.to_i32().map_or(0, |n| n.abs()) {
                        product = self.multiply(&product, x);
                    }
                    if n < 0 { self.divide(&one, &product) } else { product }
                }
                (Some(false), _) => {
                    let log = self.unary(Unary::Log, x);
                    let exponent = self.multiply(y, &log);
                    self.unary(Unary::Exponential, &exponent)
                }
                (Some(true), Some(None)) => NAN,
                _ => Num::Unknown("a power of what may be negative"),
            },
        }
    }

    /// So many quarters of pi.
    fn quarters(&mut self, count: i32) -> Num {
        let bits = self.bits;
        let pi = |round| Float::with_val_round(bits, Constant::Pi, round).0;
        let pi = self.atom(Made::Pi, Vec::new(), true, |_, _| Range::new(pi(Round::Down), pi(Round::Up)));
        let part = self.number(Rational::from((count, 4)));
        self.multiply(&pi, &part)
    }

    /// C's `atan2(y, x)`.
    pub fn angle(&mut self, y: &Num, x: &Num) -> Num {
        match (y, x) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => return NAN,
            (Num::Unknown(_), _) => return y.clone(),
            (_, Num::Unknown(_)) => return x.clone(),
            _ => {}
        }
        let (below, left) = (y.is_negative(), x.is_negative());
        let unknown = Num::Unknown("an angle beside the cut");
        let signed = |count: i32| below.map(|below| if below { -count } else { count });
        let quarters = match (y, x, left) {
            (Num::Inf { .. }, Num::Inf { .. }, Some(left)) => signed(if left { 3 } else { 1 }),
            (Num::Inf { .. }, ..) | (Num::Real(_), Num::Zero { .. }, _) => signed(2),
            (Num::Zero { .. } | Num::Real(_), Num::Inf { neg: true }, _) => signed(4),
            (Num::Zero { .. }, _, Some(true)) => signed(4),
            (Num::Zero { .. }, _, Some(false)) => return y.clone(),
            (Num::Real(_), Num::Inf { neg: false }, _) => return Num::Zero { neg: below },
            (Num::Zero { .. }, _, None) => None,
            (Num::Real(_), Num::Real(_), _) => return self.angle_of_reals(y, x),
            (Num::Nan(_) | Num::Unknown(_), ..) | (_, Num::Nan(_) | Num::Unknown(_), _) => None,
        };
        quarters.map_or(unknown, |count| self.quarters(count))
    }

    fn angle_of_reals(&mut self, y: &Num, x: &Num) -> Num {
        let arctangent = |world: &mut World, over: &Num, under: &Num| {
            let ratio = world.divide(over, under);
            world.increasing(&ratio, Made::Arctangent, |v, bits, round| {
                Float::with_val_round(bits, v.atan_ref(), round).0
            })
        };
        if x.is_negative() == Some(false) {
            return arctangent(self, y, x);
        }
        let Some(below) = y.is_negative() else { return Num::Unknown("an angle beside the cut") };
        let right = self.quarters(if below { -2 } else { 2 });
        let rest = arctangent(self, x, y);
        self.subtract(&right, &rest)
    }
}
