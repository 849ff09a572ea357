//! The first rung: f64 intervals, an array of lower and one of upper ends.

mod apply;
mod by_pairs;
mod contenders;

use std::cmp::Ordering;
use std::ops::Range;

use crate::deadline::Pace;
use crate::ir::Unary;
use crate::tensor::Data;

use super::arithmetic::{Arithmetic, AsPairs, Bivariate, Dots, Field, Wanted, dots_by_products};
use super::column::{Column, Mover};
use super::demand::Stats;
use super::dot::{CertifiedDots, Depth, certified_dots};
use super::elementary;
use super::interval::{self, Interval, regular as kernels};
use super::mpfr::functions;
use super::pair::{self, Pair};
use super::store;
use super::turn::Turn;

pub(super) use apply::{Kernel, ManyKernel, apply, apply_many};

/// f64 intervals.
#[derive(Default)]
pub(super) struct Fast {
    stats: Stats,
}

/// Ends of many intervals; one column stands for both ends of exactly known numbers.
#[derive(Clone)]
pub(super) struct Intervals {
    lo: Column<f64>,
    hi: Column<f64>,
}

impl Intervals {
    fn is_exact(&self) -> bool {
        self.lo.is_shared_with(&self.hi)
    }

    #[inline(always)]
    fn at(&self, element: usize) -> Interval {
        Interval { lo: *self.lo.at(element), hi: *self.hi.at(element) }
    }

    /// The numbers that they are, if all are exactly known.
    pub fn exact_values(&self) -> Option<Column<f64>> {
        (self.is_exact() || self.all(|x| (x.lo == x.hi) | x.lo.is_nan())).then(|| self.lo.clone())
    }

    /// Whether a test holds for all of them, of which it is quick for the processor to ask it of all.
    #[inline(always)]
    pub fn all(&self, test: impl Fn(Interval) -> bool) -> bool {
        self.lo.all_with(&self.hi, |lo, hi| test(Interval { lo, hi }))
    }
}

/// `e^x` of narrow intervals.
struct Exp(&'static elementary::Table);

impl Kernel for Exp {
    #[inline(always)]
    fn apply(&self, x: Interval, _: Interval) -> Interval {
        elementary::exp_kernel(x, self.0)
    }
}

/// `e^x` of intervals of any width.
struct ExpEnds(&'static elementary::Table);

impl Kernel for ExpEnds {
    #[inline(always)]
    fn apply(&self, x: Interval, _: Interval) -> Interval {
        elementary::exp_ends_kernel(x, self.0)
    }
}

/// A type for each operation: see the kernels of pairs.
macro_rules! kernels {
    ($($name:ident = $operation:path;)*) => {$(
        struct $name;

        impl Kernel for $name {
            #[inline(always)]
            fn apply(&self, x: Interval, y: Interval) -> Interval {
                $operation(x, y)
            }
        }
    )*};
}

kernels! {
    Add = kernels::add;
    Sub = kernels::sub;
    Mul = kernels::mul;
    Div = kernels::div;
}

/// Each element by the whole operation; one result a run.
pub(super) fn map(x: &Intervals, function: impl Fn(Interval) -> Interval) -> Intervals {
    let mut pace = Pace::default();
    let mut function = |x| {
        pace.spend(64);
        function(x)
    };
    if x.lo.run() == x.hi.run() {
        let ends = x.lo.values().iter().zip(x.hi.values());
        let (lo, hi) = ends.map(|(lo, hi)| function(Interval { lo: *lo, hi: *hi })).map(|r| (r.lo, r.hi)).unzip();
        return Intervals { lo: Column::runs(lo, x.lo.run()), hi: Column::runs(hi, x.lo.run()) };
    }
    let (lo, hi) = (0..x.lo.len()).map(|at| function(x.at(at))).map(|r| (r.lo, r.hi)).unzip();
    Intervals { lo: Column::new(lo), hi: Column::new(hi) }
}

/// The whole operation, for functions of intervals.
fn function(unary: Unary) -> fn(Interval) -> Interval {
    match unary {
        Unary::Abs => Interval::abs,
        Unary::Ceil => Interval::ceil,
        Unary::Exponential => elementary::exp,
        Unary::ExponentialMinusOne => elementary::expm1,
        Unary::Floor => Interval::floor,
        Unary::RoundNearestAfz => |x| x.to_integers(f64::round),
        Unary::RoundNearestEven => |x| x.to_integers(f64::round_ties_even),
        Unary::Log => elementary::log,
        Unary::LogPlusOne => elementary::log1p,
        Unary::Logistic => elementary::logistic,
        Unary::Negate => Interval::neg,
        Unary::Rsqrt => Interval::rsqrt,
        Unary::Sign => Interval::sign,
        Unary::Sqrt => Interval::sqrt,
        Unary::Tanh => elementary::tanh,
        Unary::Cbrt => |x| by_pairs::of(Unary::Cbrt, x),
        Unary::Cosine => |x| by_pairs::of(Unary::Cosine, x),
        Unary::Erf => |x| by_pairs::of(Unary::Erf, x),
        Unary::Sine => |x| by_pairs::of(Unary::Sine, x),
        Unary::Tan => |x| by_pairs::of(Unary::Tan, x),
        Unary::CountLeadingZeros | Unary::IsFinite | Unary::Not | Unary::PopulationCount => |_| Interval::UNKNOWN,
    }
}

/// The whole operation on two intervals.
pub(super) fn of_field(operation: Field) -> fn(Interval, Interval) -> Interval {
    match operation {
        Field::Add => Interval::add,
        Field::Subtract => Interval::sub,
        Field::Multiply => Interval::mul,
        Field::Divide => Interval::div,
    }
}

/// The whole function of one interval.
pub(super) fn of(unary: Unary, x: Interval) -> Interval {
    function(unary)(x)
}

/// Whether an interval of these ends holds numbers only: it is neither NaN nor [`Interval::UNKNOWN`].
#[inline(always)]
fn is_number(lo: f64, hi: f64) -> bool {
    // Of NaN and of the widest interval no end is a number.
    (lo > f64::NEG_INFINITY) | (hi < f64::INFINITY)
}

/// One end of a sum of intervals that are finite, from the sum of their ends.
fn end(ends: &Column<f64>, init: f64, range: Range<usize>) -> Option<Interval> {
    let total = pair::sum(range.len() + 1, |start, out| {
        ends.load_range(&range, start, init, &mut out[0]);
    });
    (!total.is_irregular()).then(|| total.interval())
}

impl Fast {
    fn counted(&mut self, dots: CertifiedDots) -> Dots<Interval> {
        self.stats.count_dots(&dots.counts);
        Dots { numbers: dots.enclosure, rounded: Some(dots.rounded) }
    }
}

impl Arithmetic for Fast {
    type Number = Interval;
    type Numbers = Intervals;

    fn exact(&self, value: f64) -> Interval {
        Interval::exact(value)
    }

    fn exact_integer(&self, value: i128) -> Interval {
        let nearest = value as f64;
        match (nearest as i128).cmp(&value) {
            Ordering::Equal => Interval::exact(nearest),
            Ordering::Less => Interval { lo: nearest, hi: nearest.next_up() },
            Ordering::Greater => Interval { lo: nearest.next_down(), hi: nearest },
        }
    }

    fn unknown(&self) -> Interval {
        Interval::UNKNOWN
    }

    fn unary(&mut self, unary: Unary, x: &Interval) -> Interval {
        of(unary, *x)
    }

    fn binary(&mut self, operation: Field, x: &Interval, y: &Interval) -> Interval {
        of_field(operation)(*x, *y)
    }

    fn cosine(&mut self, turn: Turn, factor: i32) -> Interval {
        functions::cosine_interval(turn, factor)
    }

    fn bivariate(&mut self, function: Bivariate, x: &Interval, y: &Interval) -> Interval {
        by_pairs::of_two(function, *x, *y)
    }

    fn sum(&mut self, terms: &[Interval]) -> Interval {
        interval::sum(terms.iter().copied())
    }

    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3]) -> Dots<Interval> {
        self.counted(certified_dots(lhs, rhs, m, k, n))
    }

    fn tensor_dots(&mut self, lhs: &Data, rhs: &Data, [m, k, n]: [usize; 3]) -> Dots<Interval> {
        let dots = match (lhs, rhs) {
            (Data::F32(lhs), Data::F32(rhs)) => certified_dots(lhs, rhs, m, k, n),
            (Data::BF16(lhs), Data::BF16(rhs)) => certified_dots(lhs, rhs, m, k, n),
            _ => certified_dots(&lhs.to_f64s(), &rhs.to_f64s(), m, k, n),
        };
        self.counted(dots)
    }

    fn dots(
        &mut self,
        operands: [&Intervals; 2],
        starts: [usize; 2],
        sizes: [usize; 3],
        wanted: Wanted,
    ) -> Vec<Interval> {
        let pair = |numbers: &Intervals, at| Pair::from_interval(numbers.at(at));
        let pairs = AsPairs { pair, number: Pair::interval, depth: Depth::One };
        dots_by_products(self, operands, starts, sizes, wanted, pairs)
    }

    fn hull(&self, x: &Interval, y: &Interval) -> Interval {
        x.hull(*y)
    }

    fn compare(&self, x: &Interval, y: &Interval) -> Option<Ordering> {
        interval::compare(*x, *y)
    }

    fn is_nan(&self, x: &Interval) -> bool {
        x.lo.is_nan()
    }

    fn is_number(&self, x: &Interval) -> bool {
        is_number(x.lo, x.hi)
    }

    fn as_exact(&self, x: &Interval) -> Option<f64> {
        (x.lo.is_nan() || x.lo == x.hi).then_some(x.lo)
    }

    fn bounds(&self, x: &Interval) -> (f64, f64) {
        (x.lo, x.hi)
    }

    fn round(&self, x: &Interval) -> Option<f64> {
        self.as_exact(x)
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn exacts(&self, values: &Column<f64>) -> Intervals {
        Intervals { lo: values.clone(), hi: values.clone() }
    }

    fn collect(&self, numbers: Vec<Interval>) -> Intervals {
        Intervals {
            lo: Column::new(numbers.iter().map(|x| x.lo).collect()),
            hi: Column::new(numbers.iter().map(|x| x.hi).collect()),
        }
    }

    fn at(&self, numbers: &Intervals, element: usize) -> Interval {
        numbers.at(element)
    }

    fn rearrange(&self, operands: &[&Intervals], mover: &Mover) -> Intervals {
        let lo = mover.apply(&operands.iter().map(|o| &o.lo).collect::<Vec<_>>());
        if operands.iter().all(|o| o.is_exact()) {
            return Intervals { hi: lo.clone(), lo };
        }
        let hi = mover.apply(&operands.iter().map(|o| &o.hi).collect::<Vec<_>>());
        Intervals { lo, hi }
    }

    fn pick(&self, numbers: &Intervals, positions: &[usize]) -> Intervals {
        let lo = numbers.lo.pick(positions);
        let hi = if numbers.is_exact() { lo.clone() } else { numbers.hi.pick(positions) };
        Intervals { lo, hi }
    }

    fn unary_all(&mut self, unary: Unary, x: &Intervals, _wanted: Wanted) -> Intervals {
        if unary == Unary::Exponential {
            let (table, whole) = (elementary::table(), |x, _| elementary::exp(x));
            return match x.all(elementary::is_narrow) {
                true => apply(Exp(table), whole, [x, x]),
                false => apply(ExpEnds(table), whole, [x, x]),
            };
        }
        let all = (x.lo.run() == 1).then(|| by_pairs::of_all(unary, x)).flatten();
        all.unwrap_or_else(|| map(x, function(unary)))
    }

    fn binary_all(&mut self, operation: Field, x: &Intervals, y: &Intervals, _wanted: Wanted) -> Intervals {
        let (operands, whole) = ([x, y], of_field(operation));
        match operation {
            Field::Add => apply(Add, whole, operands),
            Field::Subtract => apply(Sub, whole, operands),
            Field::Multiply => apply(Mul, whole, operands),
            Field::Divide => apply(Div, whole, operands),
        }
    }

    fn sum_range(&mut self, init: &Interval, terms: &Intervals, range: Range<usize>) -> Interval {
        let ends =
            |lo: Interval, hi: Interval| if lo.is_exact() && lo == hi { lo } else { Interval { lo: lo.lo, hi: hi.hi } };
        let lo = end(&terms.lo, init.lo, range.clone());
        let hi = if terms.is_exact() && init.is_exact() { lo } else { end(&terms.hi, init.hi, range.clone()) };
        match (lo, hi) {
            (Some(lo), Some(hi)) => ends(lo, hi),
            // A zero, infinite or NaN sum: in order, as IEEE has it.
            _ => interval::sum(std::iter::once(*init).chain(range.map(|at| terms.at(at)))),
        }
    }

    fn running_sums(&mut self, init: &Interval, terms: &Intervals, [count, length, stride]: [usize; 3]) -> Intervals {
        let (mut lo, mut hi) = (store::vector(count), store::vector(count));
        lo.resize(count, 0.0);
        hi.resize(count, 0.0);
        for lane in 0..count / length.max(1) {
            let start = lane / stride * stride * length + lane % stride;
            let mut total = *init;
            for at in (0..length).map(|i| start + i * stride) {
                let term = terms.at(at);
                // Each sum waits for the one before: the regular way has no branches to wait for besides.
                let regular = kernels::add(total, term);
                total = if regular.lo <= regular.hi { regular } else { total.add(term) };
                (lo[at], hi[at]) = (total.lo, total.hi);
            }
        }
        Intervals { lo: Column::new(lo), hi: Column::new(hi) }
    }

    fn all_numbers(&self, numbers: &Intervals) -> bool {
        numbers.lo.all_with(&numbers.hi, is_number)
    }

    fn around(&self, numbers: &Intervals, value: f64) -> Vec<usize> {
        if numbers.is_exact() {
            return Vec::new();
        }
        numbers.lo.positions_with(&numbers.hi, |lo, hi| (lo <= value) & (hi >= value) & (lo < hi))
    }

    fn contenders(&self, numbers: &Intervals, range: Range<usize>, largest: bool) -> Option<Vec<usize>> {
        contenders::contenders([&numbers.lo, &numbers.hi], range, largest)
    }

    fn rounded_all(&self, numbers: &Intervals) -> Vec<f64> {
        (0..numbers.lo.len()).map(|at| self.round(&numbers.at(at)).unwrap_or(f64::NAN)).collect()
    }
}

#[cfg(test)]
mod tests;
