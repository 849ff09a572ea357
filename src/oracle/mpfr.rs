//! The last rung: MPFR intervals, rounded outwards at a given precision.

mod digits;
mod error_function;
mod field;
pub(super) mod functions;
mod matrices;
mod middle;
mod products;
mod reals;
mod sum;
mod symmetry;
mod terms;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use rug::Float;
use rug::float::Round;

use crate::deadline::{self, Pace};
use crate::ir::Unary;

use super::arithmetic::{Arithmetic, Bivariate, Dots, Field, Wanted};
use super::between::{Between, Corner};
use super::column::{Column, Mover};
use super::demand::Stats;
use super::form::{self, Form};
use super::pair::Pair;
use super::turn::Turn;
use reals::Reals;
use symmetry::{Named, Names, Symmetry};

/// Arithmetic at one precision.
pub(super) struct Mpfr {
    bits: u32,
    /// Functions of exact arguments: a row of bf16 logits has few distinct ones.
    memo: HashMap<(Unary, u64), Rc<Between>>,
    /// Any value.
    unknown: Rc<Between>,
    /// Atoms of forms so far.
    atoms: Cell<u64>,
    /// Those that results of odd and even functions are.
    names: Names,
}

impl Mpfr {
    /// Arithmetic at this precision, in bits.
    pub fn new(bits: u32) -> Mpfr {
        Mpfr {
            bits,
            memo: HashMap::new(),
            unknown: Rc::new(Between::Unknown),
            atoms: Cell::new(0),
            names: Names::default(),
        }
    }

    /// A result with its form, or else with a name of its own.
    fn with_form(&self, value: Between, form: Option<Form>) -> Between {
        value.with_form(form, || self.atoms.replace(self.atoms.get() + 1))
    }

    /// The form of a function's result at a number that has one.
    fn named(&mut self, function: Named, symmetry: Symmetry, x: &Between) -> Option<Form> {
        let atoms = &self.atoms;
        self.names.form(function, symmetry, x, || atoms.replace(atoms.get() + 1))
    }
}

impl Arithmetic for Mpfr {
    type Number = Rc<Between>;
    type Numbers = Reals;
    fn number_bytes(&self) -> usize {
        size_of::<Rc<Between>>() + size_of::<Between>() + 2 * self.bits as usize / 8
    }
    fn exact(&self, value: f64) -> Rc<Between> {
        Rc::new(Between::exact(value))
    }

    fn exact_integer(&self, value: i128) -> Rc<Between> {
        Rc::new(Between::Exact(Float::with_val(i128::BITS, value)))
    }

    fn unknown(&self) -> Rc<Between> {
        Rc::clone(&self.unknown)
    }

    fn unary(&mut self, unary: Unary, x: &Rc<Between>) -> Rc<Between> {
        // Memoised by the bits of an exact f64 argument.
        let key = Arithmetic::as_exact(self, x).map(|v| (unary, v.to_bits()));
        if let Some(known) = key.and_then(|k| self.memo.get(&k)) {
            return Rc::clone(known);
        }
        let value = if x.is_nan() { Between::nan() } else { self.function(unary, x) };
        let form = match (&value, Symmetry::of(unary)) {
            (Between::Real { .. }, Some(symmetry)) => self.named(Named::Unary(unary), symmetry, x),
            _ => None,
        };
        let value = Rc::new(match form {
            Some(form) => value.known_as(form),
            None => self.with_form(value, None),
        });
        if let Some(key) = key {
            self.memo.insert(key, Rc::clone(&value));
        }
        value
    }

    fn binary(&mut self, operation: Field, x: &Rc<Between>, y: &Rc<Between>) -> Rc<Between> {
        Rc::new(Mpfr::binary(self, operation, x, y))
    }

    fn cosine(&mut self, turn: Turn, factor: i32) -> Rc<Between> {
        Rc::new(Mpfr::cosine(self, turn, factor))
    }

    fn bivariate(&mut self, function: Bivariate, x: &Rc<Between>, y: &Rc<Between>) -> Rc<Between> {
        let value = Mpfr::bivariate(self, function, x, y);
        let form = match (&value, Symmetry::of_first(function, x, y), y.shared_form()) {
            (Between::Real { .. }, Some(symmetry), Some(y)) => {
                let beside = Named::Beside(function, y.key());
                self.named(beside, symmetry, x)
            }
            _ => None,
        };
        Rc::new(self.with_form(value, form))
    }

    fn sum(&mut self, terms: &[Rc<Between>]) -> Rc<Between> {
        Rc::new(Mpfr::sum(self, terms))
    }

    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], sizes: [usize; 3]) -> Dots<Rc<Between>> {
        Dots { numbers: self.exact_products(lhs, rhs, sizes), rounded: None }
    }

    fn dots(
        &mut self,
        operands: [&Reals; 2],
        starts: [usize; 2],
        sizes: [usize; 3],
        wanted: Wanted,
    ) -> Vec<Rc<Between>> {
        self.products(operands, starts, sizes, wanted)
    }

    fn hull(&self, x: &Rc<Between>, y: &Rc<Between>) -> Rc<Between> {
        let mut hull = Corner::default();
        for (lo, hi) in [x, y].into_iter().filter_map(|v| v.ends()) {
            hull.add(lo.clone(), hi.clone());
        }
        Rc::new(hull.between())
    }

    fn with_positive_zero(&self, x: &Rc<Between>) -> Rc<Between> {
        x.with_positive_zero().map_or_else(|| Rc::clone(x), Rc::new)
    }

    fn compare(&self, x: &Rc<Between>, y: &Rc<Between>) -> Option<Ordering> {
        let ((x_lo, x_hi), (y_lo, y_hi)) = (x.ends()?, y.ends()?);
        // One number each: exactly known, or a zero of either sign.
        if x_lo == x_hi && y_lo == y_hi {
            return x_lo.partial_cmp(y_lo);
        }
        // A real number is finite: it lies below an infinity that its unbounded end touches.
        let before = |hi: &Float, lo: &Float| hi < lo || (hi == lo && hi.is_infinite());
        if before(x_hi, y_lo) {
            return Some(Ordering::Less);
        }
        if before(y_hi, x_lo) {
            return Some(Ordering::Greater);
        }
        Some(x.form()?.subtract(&y.form()?)?.as_rational()?.cmp0())
    }

    fn is_nan(&self, x: &Rc<Between>) -> bool {
        x.is_nan()
    }

    fn is_number(&self, x: &Rc<Between>) -> bool {
        x.ends().is_some()
    }

    fn as_exact(&self, x: &Rc<Between>) -> Option<f64> {
        let Between::Exact(value) = &**x else { return None };
        let nearest = value.to_f64();
        (value.is_nan() || *value == nearest).then_some(nearest)
    }

    fn bounds(&self, x: &Rc<Between>) -> (f64, f64) {
        match &**x {
            Between::Unknown => (f64::NEG_INFINITY, f64::INFINITY),
            Between::Exact(value) => (value.to_f64_round(Round::Down), value.to_f64_round(Round::Up)),
            Between::Real { lo, hi, .. } => (lo.to_f64_round(Round::Down), hi.to_f64_round(Round::Up)),
        }
    }

    fn truncated(&self, x: &Rc<Between>) -> Option<i128> {
        let (lo, hi) = x.ends()?;
        let (low, high) = (form::saturate(lo), form::saturate(hi));
        (low == high).then_some(low)
    }

    fn whole(&self, x: &Rc<Between>) -> Option<Rc<Between>> {
        let (lo, hi) = x.ends()?;
        let (low, high) = (lo.clone().trunc(), hi.clone().trunc());
        (low == high).then(|| Rc::new(Between::Exact(low)))
    }

    fn exponent(&self, x: &Rc<Between>) -> Option<i32> {
        let (lo, hi) = x.ends()?;
        // MPFR's significands lie below one; zero and the infinities have no exponent.
        let [low, high] = [lo.get_exp()?, hi.get_exp()?].map(|exponent| exponent - 1);
        (low == high && lo.is_sign_negative() == hi.is_sign_negative()).then_some(low)
    }

    fn round(&self, x: &Rc<Between>) -> Option<f64> {
        if x.is_nan() {
            return Some(f64::NAN);
        }
        let (lo, hi) = x.ends()?;
        let (lo, hi) = (lo.to_f64(), hi.to_f64());
        // Equal bits: a result between -0 and +0 has no sign of its own.
        (lo.to_bits() == hi.to_bits()).then_some(lo)
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }

    fn enclose_pair(&self, x: Pair) -> Option<Rc<Between>> {
        if let Some(value) = x.as_exact() {
            return Some(Arithmetic::exact(self, value));
        }
        // Wide enough for any sum of f64.
        let center = Float::with_val(2200, x.hi) + x.lo;
        let lo = Float::with_val(2200, &center - x.error);
        Some(Rc::new(if x.error == 0.0 {
            Between::of_exact(center, self.bits)
        } else {
            Between::real(lo, center + x.error)
        }))
    }

    fn exacts(&self, values: &Column<f64>) -> Reals {
        Reals::Plain(values.clone())
    }

    fn collect(&self, numbers: Vec<Rc<Between>>) -> Reals {
        Reals::Enclosed(Column::new(numbers))
    }

    fn at(&self, numbers: &Reals, element: usize) -> Rc<Between> {
        numbers.at(element)
    }

    fn rearrange(&self, operands: &[&Reals], mover: &Mover) -> Reals {
        Reals::rearrange(operands, mover)
    }

    fn pick(&self, numbers: &Reals, positions: &[usize]) -> Reals {
        numbers.pick(positions)
    }

    fn unary_all(&mut self, unary: Unary, x: &Reals, wanted: Wanted) -> Reals {
        let of_one = |mpfr: &mut Mpfr, x: &Rc<Between>| {
            deadline::check();
            mpfr.unary(unary, x)
        };
        let Some(wanted) = wanted else { return x.map(|v| of_one(self, v)) };
        let of = |at: usize| if wanted[at] { of_one(self, &x.at(at)) } else { Rc::clone(&self.unknown) };
        Reals::Enclosed(Column::new((0..x.len()).map(of).collect()))
    }

    fn binary_all(&mut self, operation: Field, x: &Reals, y: &Reals, wanted: Wanted) -> Reals {
        let mut pace = Pace::default();
        let of = |at: usize| match wanted.is_none_or(|w| w[at]) {
            true => {
                pace.spend(64);
                Arithmetic::binary(self, operation, &x.at(at), &y.at(at))
            }
            false => Rc::clone(&self.unknown),
        };
        Reals::Enclosed(Column::new((0..x.len()).map(of).collect()))
    }

    fn sum_range(&mut self, init: &Rc<Between>, terms: &Reals, range: Range<usize>) -> Rc<Between> {
        let all: Vec<_> = std::iter::once(Rc::clone(init)).chain(range.map(|at| terms.at(at))).collect();
        Arithmetic::sum(self, &all)
    }

    fn all_numbers(&self, numbers: &Reals) -> bool {
        numbers.all_numbers()
    }

    fn around(&self, numbers: &Reals, value: f64) -> Vec<usize> {
        numbers.around(value)
    }

    fn rounded_all(&self, numbers: &Reals) -> Vec<f64> {
        (0..numbers.len()).map(|at| self.round(&numbers.at(at)).unwrap_or(f64::NAN)).collect()
    }
}
