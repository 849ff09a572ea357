//! MPFR intervals: directed rounding at a given precision.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use rug::Float;
use rug::float::Round;

use crate::ir::{Binary, Unary};

use super::arithmetic::{Arithmetic, Dots, Wanted};
use super::column::{Column, Mover};
use super::demand::Stats;
use super::dot::exact_dot;
use super::pair::Pair;

/// A real number between two MPFR values, or exactly the first where there is no second.
#[derive(Clone, Debug)]
pub(super) struct Between {
    lo: Float,
    hi: Option<Float>,
}

impl Between {
    fn exact(value: Float) -> Between {
        Between { lo: value, hi: None }
    }

    fn hi(&self) -> &Float {
        self.hi.as_ref().unwrap_or(&self.lo)
    }

    /// The enclosure of a value that MPFR rounded down: it lies below the next number of that precision.
    fn from_down((lo, ternary): (Float, Ordering)) -> Between {
        if ternary == Ordering::Equal {
            return Between::exact(lo);
        }
        let mut hi = lo.clone();
        hi.next_up();
        Between { lo, hi: Some(hi) }
    }

    fn ends(lo: Float, hi: Float) -> Between {
        if lo.is_nan() || hi.is_nan() {
            return Between { lo: Float::with_val(2, f64::NEG_INFINITY), hi: Some(Float::with_val(2, f64::INFINITY)) };
        }
        Between { lo, hi: Some(hi) }
    }
}

/// Arithmetic at one precision.
pub(super) struct Mpfr {
    bits: u32,
    /// Functions of exact arguments: a row of bf16 logits has few distinct ones.
    memo: HashMap<(Unary, u64), Rc<Between>>,
    /// Any value.
    nothing: Rc<Between>,
}

impl Mpfr {
    pub fn new(bits: u32) -> Mpfr {
        let nothing = Between::ends(Float::with_val(2, f64::NEG_INFINITY), Float::with_val(2, f64::INFINITY));
        Mpfr { bits, memo: HashMap::new(), nothing: Rc::new(nothing) }
    }

    /// A function that increases (or, with `falls`, decreases) over the whole enclosure.
    fn monotone(&self, x: &Between, falls: bool, function: impl Fn(&Float, Round) -> (Float, Ordering)) -> Between {
        match &x.hi {
            None => Between::from_down(function(&x.lo, Round::Down)),
            Some(hi) => {
                let (low_end, high_end) = if falls { (hi, &x.lo) } else { (&x.lo, hi) };
                Between::ends(function(low_end, Round::Down).0, function(high_end, Round::Up).0)
            }
        }
    }

    fn function(&mut self, unary: Unary, x: &Between) -> Between {
        let bits = self.bits;
        macro_rules! rounded {
            ($method:ident) => {
                |v: &Float, round| Float::with_val_round(bits, v.$method(), round)
            };
        }
        match unary {
            Unary::Exponential => self.monotone(x, false, rounded!(exp_ref)),
            Unary::ExponentialMinusOne => self.monotone(x, false, rounded!(exp_m1_ref)),
            Unary::Log => self.monotone(x, false, rounded!(ln_ref)),
            Unary::LogPlusOne => self.monotone(x, false, rounded!(ln_1p_ref)),
            Unary::Tanh => self.monotone(x, false, rounded!(tanh_ref)),
            Unary::Sqrt => self.monotone(x, false, rounded!(sqrt_ref)),
            Unary::Rsqrt => self.monotone(x, true, rounded!(recip_sqrt_ref)),
            Unary::RoundNearestAfz => self.monotone(x, false, rounded!(round_ref)),
            Unary::RoundNearestEven => self.monotone(x, false, rounded!(round_even_ref)),
            Unary::Floor => self.monotone(x, false, rounded!(floor_ref)),
            Unary::Ceil => self.monotone(x, false, rounded!(ceil_ref)),
            Unary::Logistic => {
                let one = self.exact(1.0);
                let negated = self.unary(Unary::Negate, x);
                let exp = self.unary(Unary::Exponential, &negated);
                let denominator = self.binary(Binary::Add, &one, &exp);
                self.binary(Binary::Divide, &one, &denominator)
            }
            _ => self.unknown(),
        }
    }

    fn add(&self, x: &Between, y: &Between, negate_y: bool) -> Between {
        let combine = |a: &Float, b: &Float, round| {
            if negate_y {
                Float::with_val_round(self.bits, a - b, round)
            } else {
                Float::with_val_round(self.bits, a + b, round)
            }
        };
        if x.hi.is_none() && y.hi.is_none() {
            let down = combine(&x.lo, &y.lo, Round::Down);
            // An exact zero takes the sign that rounding to nearest gives it.
            if down.0.is_zero() && down.1 == Ordering::Equal {
                return Between::exact(combine(&x.lo, &y.lo, Round::Nearest).0);
            }
            return Between::from_down(down);
        }
        let (y_lo, y_hi) = if negate_y { (y.hi(), &y.lo) } else { (&y.lo, y.hi()) };
        Between::ends(combine(&x.lo, y_lo, Round::Down).0, combine(x.hi(), y_hi, Round::Up).0)
    }

    /// The hull of `combine` over all pairs of ends, for operations that are monotone in each operand over the box.
    fn corners(
        &self,
        x: &Between,
        y: &Between,
        combine: impl Fn(&Float, &Float, Round) -> (Float, Ordering),
    ) -> Between {
        if x.hi.is_none() && y.hi.is_none() {
            return Between::from_down(combine(&x.lo, &y.lo, Round::Down));
        }
        let pairs = [(&x.lo, &y.lo), (&x.lo, y.hi()), (x.hi(), &y.lo), (x.hi(), y.hi())];
        let mut ends: Option<(Float, Float)> = None;
        for (a, b) in pairs {
            let (down, up) = (combine(a, b, Round::Down).0, combine(a, b, Round::Up).0);
            if down.is_nan() || up.is_nan() {
                return self.unknown();
            }
            ends = Some(match ends {
                None => (down, up),
                // Not Float::min: it would round to the precision of its left side.
                Some((lo, hi)) => (if down < lo { down } else { lo }, if up > hi { up } else { hi }),
            });
        }
        ends.map_or_else(|| self.unknown(), |(lo, hi)| Between::ends(lo, hi))
    }

    fn contains_zero(x: &Between) -> bool {
        x.lo <= 0 && *x.hi() >= 0
    }

    fn rounded_outward(&self, value: &Float) -> Between {
        Between::from_down(Float::with_val_round(self.bits, value, Round::Down))
    }

    fn exact(&self, value: f64) -> Between {
        let mut number = Float::with_val(53, value);
        if value.is_nan() {
            // MPFR does not take over the sign of a NaN, by which totalOrder goes.
            number.copysign_mut(&Float::with_val(53, 1f64.copysign(value)));
        }
        Between::exact(number)
    }

    fn unknown(&self) -> Between {
        Between::ends(Float::with_val(2, f64::NEG_INFINITY), Float::with_val(2, f64::INFINITY))
    }

    fn as_exact(&self, x: &Between) -> Option<f64> {
        if x.hi.is_some() {
            return None;
        }
        let value = if x.lo.is_nan() { signed_nan(&x.lo) } else { x.lo.to_f64() };
        (value.is_nan() || x.lo == value).then_some(value)
    }

    fn unary(&mut self, unary: Unary, x: &Between) -> Between {
        match unary {
            Unary::Negate => match &x.hi {
                None => Between::exact(-x.lo.clone()),
                Some(hi) => Between::ends(-hi.clone(), -x.lo.clone()),
            },
            Unary::Abs if x.hi.is_none() => Between::exact(x.lo.clone().abs()),
            Unary::Abs if x.lo >= 0 => x.clone(),
            Unary::Abs if *x.hi() <= 0 => self.unary(Unary::Negate, x),
            Unary::Abs => {
                let (low, high) = (x.lo.clone().abs(), x.hi().clone().abs());
                Between::ends(Float::with_val(2, 0), if low > high { low } else { high })
            }
            Unary::Sign => match (x.lo.cmp0(), x.hi().cmp0()) {
                (Some(a), Some(b)) if a == b && a != Ordering::Equal => self.exact(f64::from(a as i8)),
                (Some(Ordering::Equal), Some(Ordering::Equal)) => x.clone(),
                (None, _) | (_, None) => x.clone(),
                _ => Between::ends(Float::with_val(2, -1), Float::with_val(2, 1)),
            },
            // MPFR has no sign of a zero here; IEEE 754-2019 9.2 has.
            Unary::Rsqrt if x.hi.is_none() && x.lo.is_zero() => self.exact(1.0 / x.lo.to_f64()),
            // Below zero they have no value; an enclosure that reaches there says nothing.
            Unary::Log | Unary::Sqrt | Unary::Rsqrt if x.hi.is_some() && x.lo < 0 => self.unknown(),
            Unary::LogPlusOne if x.hi.is_some() && x.lo < -1 => self.unknown(),
            _ => self.function(unary, x),
        }
    }

    fn binary(&mut self, binary: Binary, x: &Between, y: &Between) -> Between {
        let bits = self.bits;
        match binary {
            Binary::Add => self.add(x, y, false),
            Binary::Subtract => self.add(x, y, true),
            Binary::Multiply => self.corners(x, y, |a, b, round| Float::with_val_round(bits, a * b, round)),
            Binary::Divide if y.hi.is_some() && Mpfr::contains_zero(y) => self.unknown(),
            Binary::Divide => self.corners(x, y, |a, b, round| Float::with_val_round(bits, a / b, round)),
            _ => self.unknown(),
        }
    }

    fn sum(&mut self, terms: &[Rc<Between>]) -> Between {
        let total = |end: fn(&Between) -> &Float, round| {
            Float::with_val_round(self.bits, Float::sum(terms.iter().map(|t| end(t))), round)
        };
        let down = total(|t| &t.lo, Round::Down);
        if terms.iter().all(|t| t.hi.is_none()) {
            if down.0.is_zero() && down.1 == Ordering::Equal {
                // As adding in order from +0 would give it: -0 only if nothing but -0 is added.
                let all_negative = !terms.is_empty() && terms.iter().all(|t| t.lo.is_zero() && t.lo.is_sign_negative());
                return self.exact(if all_negative { -0.0 } else { 0.0 });
            }
            return Between::from_down(down);
        }
        Between::ends(down.0, total(Between::hi, Round::Up).0)
    }
}

/// NaN with the sign of one.
fn signed_nan(nan: &Float) -> f64 {
    f64::NAN.copysign(if nan.is_sign_negative() { -1.0 } else { 1.0 })
}

impl Arithmetic for Mpfr {
    type Number = Rc<Between>;
    type Numbers = Column<Rc<Between>>;

    fn exact(&self, value: f64) -> Rc<Between> {
        Rc::new(Mpfr::exact(self, value))
    }

    fn unknown(&self) -> Rc<Between> {
        Rc::clone(&self.nothing)
    }

    fn unary(&mut self, unary: Unary, x: &Rc<Between>) -> Rc<Between> {
        // Memoised by the bits of an exact f64 argument.
        let key = Mpfr::as_exact(self, x).map(|v| (unary, v.to_bits()));
        if let Some(known) = key.and_then(|k| self.memo.get(&k)) {
            return Rc::clone(known);
        }
        let value = Rc::new(Mpfr::unary(self, unary, x));
        if let Some(key) = key {
            self.memo.insert(key, Rc::clone(&value));
        }
        value
    }

    fn binary(&mut self, binary: Binary, x: &Rc<Between>, y: &Rc<Between>) -> Rc<Between> {
        Rc::new(Mpfr::binary(self, binary, x, y))
    }

    fn sum(&mut self, terms: &[Rc<Between>]) -> Rc<Between> {
        Rc::new(Mpfr::sum(self, terms))
    }

    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3]) -> Dots<Rc<Between>> {
        let mut numbers = Vec::with_capacity(m * n);
        for i in 0..m {
            for j in 0..n {
                let row = lhs[i * k..(i + 1) * k].iter().copied();
                let column = (0..k).map(|l| rhs[l * n + j]);
                numbers.push(Rc::new(self.rounded_outward(&exact_dot(row, column))));
            }
        }
        Dots { numbers, rounded: None }
    }

    fn hull(&self, x: &Rc<Between>, y: &Rc<Between>) -> Rc<Between> {
        // Of two zeros the negative one is below: an enclosure from -0 to +0 claims no sign.
        let below =
            |a: &Float, b: &Float| a < b || a.is_zero() && b.is_zero() && a.is_sign_negative() && b.is_sign_positive();
        let lo = if below(&y.lo, &x.lo) { &y.lo } else { &x.lo };
        let hi = if below(x.hi(), y.hi()) { y.hi() } else { x.hi() };
        Rc::new(Between::ends(lo.clone(), hi.clone()))
    }

    fn compare(&self, x: &Rc<Between>, y: &Rc<Between>) -> Option<Ordering> {
        if x.hi.is_none() && y.hi.is_none() {
            return x.lo.partial_cmp(&y.lo);
        }
        if *x.hi() < y.lo {
            return Some(Ordering::Less);
        }
        (x.lo > *y.hi()).then_some(Ordering::Greater)
    }

    fn is_nan(&self, x: &Rc<Between>) -> bool {
        x.lo.is_nan()
    }

    fn as_exact(&self, x: &Rc<Between>) -> Option<f64> {
        Mpfr::as_exact(self, x)
    }

    fn bounds(&self, x: &Rc<Between>) -> (f64, f64) {
        (x.lo.to_f64_round(Round::Down), x.hi().to_f64_round(Round::Up))
    }

    fn rounded(&self, x: &Rc<Between>) -> Option<f64> {
        let (lo, hi) = (x.lo.to_f64(), x.hi().to_f64());
        // Equal bits: a result between -0 and +0 has no sign of its own.
        (lo.is_nan() || lo.to_bits() == hi.to_bits()).then_some(lo)
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }

    fn enclose_pair(&self, x: Pair) -> Option<Rc<Between>> {
        // Wide enough for any sum of f64.
        let center = Float::with_val(2200, x.hi) + x.lo;
        let lo = Float::with_val(2200, &center - x.error);
        Some(Rc::new(if x.error == 0.0 { Between::exact(center) } else { Between::ends(lo, center + x.error) }))
    }

    fn exacts(&self, values: &Column<f64>) -> Column<Rc<Between>> {
        values.map(|v| Rc::new(Mpfr::exact(self, *v)))
    }

    fn collect(&self, numbers: Vec<Rc<Between>>) -> Column<Rc<Between>> {
        Column::new(numbers)
    }

    fn at(&self, numbers: &Column<Rc<Between>>, element: usize) -> Rc<Between> {
        Rc::clone(numbers.at(element))
    }

    fn moved(&self, operands: &[&Column<Rc<Between>>], mover: &Mover) -> Option<Column<Rc<Between>>> {
        mover.apply(operands)
    }

    fn picked(&self, numbers: &Column<Rc<Between>>, positions: &[usize]) -> Column<Rc<Between>> {
        numbers.picked(positions)
    }

    fn unary_all(&mut self, unary: Unary, x: &Column<Rc<Between>>, wanted: Wanted) -> Column<Rc<Between>> {
        match wanted {
            None => x.map(|v| Arithmetic::unary(self, unary, v)),
            Some(wanted) => {
                let of = |(at, wanted): (usize, &bool)| match wanted {
                    true => Arithmetic::unary(self, unary, x.at(at)),
                    false => Rc::clone(&self.nothing),
                };
                Column::new(wanted.iter().enumerate().map(of).collect())
            }
        }
    }

    fn binary_all(
        &mut self,
        binary: Binary,
        x: &Column<Rc<Between>>,
        y: &Column<Rc<Between>>,
        wanted: Wanted,
    ) -> Column<Rc<Between>> {
        let of = |at: usize| match wanted.is_none_or(|w| w[at]) {
            true => Arithmetic::binary(self, binary, x.at(at), y.at(at)),
            false => Rc::clone(&self.nothing),
        };
        Column::new((0..x.len()).map(of).collect())
    }

    fn sum_range(&mut self, init: &Rc<Between>, terms: &Column<Rc<Between>>, range: Range<usize>) -> Rc<Between> {
        let all = std::iter::once(init).chain(range.map(|at| terms.at(at)));
        Arithmetic::sum(self, &all.cloned().collect::<Vec<_>>())
    }

    fn has_nan(&self, numbers: &Column<Rc<Between>>) -> bool {
        numbers.values().iter().any(|x| x.lo.is_nan())
    }

    fn rounded_all(&self, numbers: &Column<Rc<Between>>) -> Vec<f64> {
        (0..numbers.len()).map(|at| self.rounded(numbers.at(at)).unwrap_or(f64::NAN)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every function's enclosure holds the value that 500 bits give, at low and at working precision.
    #[test]
    fn enclosures_hold_the_value() {
        type Reference = fn(&Float) -> Float;
        let functions: [(Unary, Reference); 8] = [
            (Unary::Exponential, |x| x.clone().exp()),
            (Unary::ExponentialMinusOne, |x| x.clone().exp_m1()),
            (Unary::Log, |x| x.clone().ln()),
            (Unary::LogPlusOne, |x| x.clone().ln_1p()),
            (Unary::Tanh, |x| x.clone().tanh()),
            (Unary::Sqrt, |x| x.clone().sqrt()),
            (Unary::Rsqrt, |x| x.clone().recip_sqrt()),
            (Unary::Negate, |x| -x.clone()),
        ];
        for bits in [8, 24, 53, 128] {
            let mut mpfr = Mpfr::new(bits);
            for i in 1..400 {
                let x = f64::from(i) * 0.0371;
                let wide = Float::with_val(500, x);
                for (unary, reference) in functions {
                    let (exact, got) = (reference(&wide), mpfr.exact(x));
                    let got = mpfr.unary(unary, &got);
                    assert!(got.lo <= exact && exact <= *got.hi(), "{unary:?} of {x} at {bits} bits");
                }
                // An interval's image holds those of its ends.
                let (low, high) = (Float::with_val(bits, x), Float::with_val(bits, x + 0.25));
                let between = Rc::new(Between::ends(low.clone(), high.clone()));
                for (unary, reference) in functions {
                    let got = mpfr.unary(unary, &between);
                    for end in [&low, &high] {
                        let exact = reference(&Float::with_val(500, end));
                        assert!(got.lo <= exact && exact <= *got.hi(), "{unary:?} up to {end} at {bits} bits");
                    }
                }
                let (a, b) = (mpfr.exact(x), mpfr.exact(3.7));
                for (binary, exact) in [
                    (Binary::Add, Float::with_val(500, &wide + 3.7)),
                    (Binary::Subtract, Float::with_val(500, &wide - 3.7)),
                    (Binary::Multiply, Float::with_val(500, &wide * 3.7)),
                    (Binary::Divide, Float::with_val(500, &wide / 3.7)),
                ] {
                    let got = mpfr.binary(binary, &a, &b);
                    assert!(got.lo <= exact && exact <= *got.hi(), "{binary:?} of {x} at {bits} bits");
                }
            }
        }
    }
}
