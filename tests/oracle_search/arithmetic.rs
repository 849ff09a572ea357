//! Arithmetic and order of the judge's numbers, as IEEE 754-2019 has them with unbounded precision and range.

use std::cmp::Ordering;
use std::rc::Rc;

use rug::{Float, Rational};

use super::number::{Made, NAN, Nan, Num, Poly, Range, Real, TERMS, World, product, sum};

impl World {
    pub fn negate(&mut self, x: &Num) -> Num {
        match x {
            Num::Nan(nan) => Num::Nan(Nan { neg: nan.neg.map(|n| !n), ..*nan }),
            Num::Inf { neg } => Num::Inf { neg: !neg },
            Num::Zero { neg } => Num::Zero { neg: neg.map(|n| !n) },
            Num::Unknown(_) => x.clone(),
            Num::Real(real) => {
                let poly = real.poly.iter().map(|(m, c)| (m.clone(), Rational::from(-c))).collect();
                let range = real.range.clone().negated();
                Num::Real(Rc::new(Real { poly, range, nonzero: real.nonzero }))
            }
        }
    }

    pub fn add(&mut self, x: &Num, y: &Num) -> Num {
        match (x, y) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => NAN,
            (Num::Unknown(_), _) => x.clone(),
            (_, Num::Unknown(_)) => y.clone(),
            (Num::Inf { neg: a }, Num::Inf { neg: b }) if a != b => NAN,
            (Num::Inf { .. }, _) => x.clone(),
            (_, Num::Inf { .. }) => y.clone(),
            (Num::Zero { neg: a }, Num::Zero { neg: b }) => Num::Zero {
                neg: match (a, b) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                },
            },
            (Num::Zero { .. }, _) => y.clone(),
            (_, Num::Zero { .. }) => x.clone(),
            (Num::Real(a), Num::Real(b)) => {
                let total = sum(&a.poly, &b.poly);
                self.real(total, false)
            }
        }
    }

    pub fn subtract(&mut self, x: &Num, y: &Num) -> Num {
        let minus = self.negate(y);
        self.add(x, &minus)
    }

    pub fn multiply(&mut self, x: &Num, y: &Num) -> Num {
        let signs = x.is_negative().zip(y.is_negative()).map(|(a, b)| a != b);
        match (x, y) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => NAN,
            (Num::Unknown(_), _) => x.clone(),
            (_, Num::Unknown(_)) => y.clone(),
            (Num::Inf { .. }, Num::Zero { .. }) | (Num::Zero { .. }, Num::Inf { .. }) => NAN,
            (Num::Inf { .. }, other) | (other, Num::Inf { .. }) => match signs {
                Some(neg) => Num::Inf { neg },
                None if other.is_known_nonzero() => Num::Unknown("infinity of unknown sign"),
                None => Num::Unknown("infinity times what may be zero"),
            },
            (Num::Zero { .. }, _) | (_, Num::Zero { .. }) => Num::Zero { neg: signs },
            (Num::Real(a), Num::Real(b)) => {
                let nonzero = a.nonzero && b.nonzero;
                if a.poly.len() * b.poly.len() > TERMS {
                    let both = if a.poly <= b.poly {
                        vec![a.poly.clone(), b.poly.clone()]
                    } else {
                        vec![b.poly.clone(), a.poly.clone()]
                    };
                    let range = a.range.times(&b.range, self.bits);
                    return self.atom(Made::Product, both, nonzero, |_, _| range);
                }
                let poly = product(&a.poly, &b.poly);
                self.real(poly, nonzero)
            }
        }
    }

    pub fn divide(&mut self, x: &Num, y: &Num) -> Num {
        let signs = x.is_negative().zip(y.is_negative()).map(|(a, b)| a != b);
        match (x, y) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => NAN,
            (Num::Unknown(_), _) => x.clone(),
            (_, Num::Unknown(_)) => y.clone(),
            (Num::Inf { .. }, Num::Inf { .. }) | (Num::Zero { .. }, Num::Zero { .. }) => NAN,
            (_, Num::Real(real)) if !real.nonzero => Num::Unknown("division by what may be zero"),
            (Num::Inf { .. }, _) => signs.map_or(Num::Unknown("infinity of unknown sign"), |neg| Num::Inf { neg }),
            (Num::Real(real), Num::Zero { .. }) if !real.nonzero => Num::Unknown("what may be zero over zero"),
            (_, Num::Zero { .. }) => signs.map_or(Num::Unknown("infinity of unknown sign"), |neg| Num::Inf { neg }),
            (_, Num::Inf { .. }) | (Num::Zero { .. }, _) => Num::Zero { neg: signs },
            (Num::Real(_), Num::Real(divisor)) => {
                let inverse = self.reciprocal(divisor);
                self.multiply(x, &inverse)
            }
        }
    }

    /// One over a real that is not zero.
    fn reciprocal(&mut self, x: &Real) -> Num {
        if let [(monomial, coefficient)] = x.poly.as_slice() {
            let monomial = monomial.iter().map(|(atom, exponent)| (*atom, -exponent)).collect();
            return self.real(vec![(monomial, Rational::from(coefficient.recip_ref()))], true);
        }
        // Multiples of one sum have one atom.
        let leading = x.poly[0].1.clone();
        let scaled: Poly = x.poly.iter().map(|(m, c)| (m.clone(), Rational::from(c / &leading))).collect();
        let bits = self.bits;
        // The sum's own range, not the polynomial's: what is known not to be zero may not show it there.
        let range = x.range.inverted(bits);
        let scale = self.enclose_rational(&leading);
        let inverse = self.atom(Made::Reciprocal, vec![scaled], true, |_, _| range.times(&scale, bits));
        let factor = self.number(leading.recip());
        self.multiply(&inverse, &factor)
    }

    /// The order of two numbers by IEEE; `Some(None)` if they are unordered, `None` if it is not known.
    pub fn compare(&mut self, x: &Num, y: &Num) -> Option<Option<Ordering>> {
        let by_sign = |neg: bool| Some(Some(if neg { Ordering::Less } else { Ordering::Greater }));
        match (x, y) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => Some(None),
            (Num::Unknown(_), _) | (_, Num::Unknown(_)) => None,
            (Num::Inf { neg: a }, Num::Inf { neg: b }) => Some(Some(b.cmp(a))),
            (Num::Inf { neg }, _) => by_sign(*neg),
            (_, Num::Inf { neg }) => by_sign(!*neg),
            (Num::Zero { .. }, Num::Zero { .. }) => Some(Some(Ordering::Equal)),
            (Num::Real(a), Num::Zero { .. }) => by_sign(a.is_negative()?),
            (Num::Zero { .. }, Num::Real(b)) => by_sign(!b.is_negative()?),
            (Num::Real(a), Num::Real(b)) => {
                if a.poly == b.poly {
                    return Some(Some(Ordering::Equal));
                }
                if let (Some(a), Some(b)) = (a.rational(), b.rational()) {
                    return Some(Some(a.cmp(b)));
                }
                if a.range.hi < b.range.lo {
                    return Some(Some(Ordering::Less));
                }
                if a.range.lo > b.range.hi {
                    return Some(Some(Ordering::Greater));
                }
                match self.subtract(x, y) {
                    Num::Zero { .. } => Some(Some(Ordering::Equal)),
                    Num::Real(gap) => by_sign(gap.is_negative()?),
                    _ => None,
                }
            }
        }
    }

    /// The order of two numbers by IEEE 754-2019 5.10 totalOrder.
    pub fn total_compare(&mut self, x: &Num, y: &Num) -> Option<Ordering> {
        match (x, y) {
            (Num::Nan(a), Num::Nan(b)) => {
                let (a_neg, b_neg) = (a.neg?, b.neg?);
                if a_neg != b_neg {
                    return Some(b_neg.cmp(&a_neg));
                }
                let order = a.payload?.cmp(&b.payload?);
                Some(if a_neg { order.reverse() } else { order })
            }
            // Which may be a NaN too.
            (Num::Unknown(_), _) | (_, Num::Unknown(_)) => None,
            (Num::Nan(a), _) => Some(if a.neg? { Ordering::Less } else { Ordering::Greater }),
            (_, Num::Nan(b)) => Some(if b.neg? { Ordering::Greater } else { Ordering::Less }),
            (Num::Zero { neg: a }, Num::Zero { neg: b }) => Some((*b)?.cmp(&(*a)?)),
            _ => self.compare(x, y)?,
        }
    }

    /// The larger or the smaller: a NaN prevails, +0 is above -0.
    pub fn extreme(&mut self, x: &Num, y: &Num, largest: bool) -> Num {
        let made = if largest { Made::Larger } else { Made::Smaller };
        match (x, y) {
            (Num::Nan(_), _) | (_, Num::Nan(_)) => NAN,
            (Num::Unknown(_), _) => x.clone(),
            (_, Num::Unknown(_)) => y.clone(),
            (Num::Zero { neg: a }, Num::Zero { neg: b }) => {
                // The sign that prevails, and the one that needs both.
                let prevails = Some(!largest);
                let neg = if *a == prevails || *b == prevails {
                    prevails
                } else if *a == Some(largest) && *b == Some(largest) {
                    Some(largest)
                } else {
                    None
                };
                Num::Zero { neg }
            }
            _ => match self.compare(x, y) {
                Some(Some(Ordering::Less)) => if largest { y } else { x }.clone(),
                Some(Some(_)) => if largest { x } else { y }.clone(),
                _ => {
                    let parts = |num: &Num| match num {
                        Num::Real(real) => (real.poly.clone(), real.range.clone(), real.nonzero),
                        _ => (Poly::new(), Range::new(Float::new(2), Float::new(2)), false),
                    };
                    let ((a, a_range, a_nonzero), (b, b_range, b_nonzero)) = (parts(x), parts(y));
                    // Not `Float::min`, which rounds to the precision of its first operand.
                    let extreme = |a: Float, b: Float| if (a > b) == largest { a } else { b };
                    let (lo, hi) = (extreme(a_range.lo, b_range.lo), extreme(a_range.hi, b_range.hi));
                    let both = if a <= b { vec![a, b] } else { vec![b, a] };
                    self.atom(made, both, a_nonzero && b_nonzero, |_, _| Range::new(lo, hi))
                }
            },
        }
    }

    /// One of two, nobody knows which.
    pub fn either(&mut self, x: &Num, y: &Num) -> Num {
        match (x, y) {
            (Num::Nan(a), Num::Nan(b)) if a == b => x.clone(),
            (Num::Inf { neg: a }, Num::Inf { neg: b }) if a == b => x.clone(),
            (Num::Zero { neg: a }, Num::Zero { neg: b }) => Num::Zero { neg: if a == b { *a } else { None } },
            (Num::Real(a), Num::Real(b)) if a.poly == b.poly => x.clone(),
            _ => Num::Unknown("a choice that is not known"),
        }
    }

    pub fn abs(&mut self, x: &Num) -> Num {
        match x {
            Num::Nan(nan) => Num::Nan(Nan { neg: Some(false), ..*nan }),
            Num::Inf { .. } => Num::Inf { neg: false },
            Num::Zero { .. } => Num::zero(false),
            Num::Unknown(_) => x.clone(),
            Num::Real(real) => match real.is_negative() {
                Some(false) => x.clone(),
                Some(true) => self.negate(x),
                None => {
                    let bits = self.bits;
                    let top = real.range.clone().negated().hull(&real.range).hi;
                    let range = Range::new(Float::new(bits), top);
                    self.atom(Made::Abs, vec![real.poly.clone()], real.nonzero, |_, _| range)
                }
            },
        }
    }
}
