//! The second rung: pairs of f64 with a bound on their error, an array of each part.

use std::cmp::Ordering;
use std::ops::Range;

use crate::deadline::Pace;
use crate::ir::Unary;

use super::arithmetic::{Arithmetic, AsPairs, Bivariate, Dots, Field, Wanted, dots_by_products};
use super::column::{Column, Mover};
use super::demand::Stats;
use super::dot::{Depth, certified_dots};
use super::fast;
use super::interval::{self, Interval};
use super::isa::{CHUNK, Loop, widest};
use super::mpfr::functions;
use super::pair::kernels::{
    Add, Cosine, Div, Erf, Exp, Expm1, Kernel, Log, Log1p, Logistic, Mul, Neg, One, Power, Rsqrt, Sine, Sqrt, Sub, Tan,
    Tanh,
};
use super::pair::{self, Pair, Tables};
use super::store;
use super::turn::Turn;

/// Pairs of f64.
#[derive(Default)]
pub(super) struct Pairs {
    stats: Stats,
}

/// The parts of many pairs.
#[derive(Clone)]
pub(super) struct PairColumns {
    hi: Column<f64>,
    lo: Column<f64>,
    error: Column<f64>,
}

impl PairColumns {
    #[inline(always)]
    fn at(&self, element: usize) -> Pair {
        Pair { hi: *self.hi.at(element), lo: *self.lo.at(element), error: *self.error.at(element) }
    }

    fn map_columns(&self, function: impl Fn(&Column<f64>) -> Column<f64>) -> PairColumns {
        PairColumns { hi: function(&self.hi), lo: function(&self.lo), error: function(&self.error) }
    }

    /// One pair a run, where all parts have the same runs.
    fn runs(&self) -> Option<(Vec<Pair>, usize)> {
        let run = self.hi.run();
        let same = self.lo.run() == run && self.error.run() == run;
        same.then(|| ((0..self.hi.values().len()).map(|at| self.at(at * run)).collect(), run))
    }
}

fn collected(pairs: &[Pair], run: usize) -> PairColumns {
    PairColumns {
        hi: Column::runs(pairs.iter().map(|x| x.hi).collect(), run),
        lo: Column::runs(pairs.iter().map(|x| x.lo).collect(), run),
        error: Column::runs(pairs.iter().map(|x| x.error).collect(), run),
    }
}

/// A chunk of pairs.
struct PairChunk {
    hi: [f64; CHUNK],
    lo: [f64; CHUNK],
    error: [f64; CHUNK],
}

impl PairChunk {
    const ONES: PairChunk = PairChunk { hi: [1.0; CHUNK], lo: [0.0; CHUNK], error: [0.0; CHUNK] };

    #[inline(always)]
    fn load(&mut self, from: &PairColumns, start: usize) {
        from.hi.load(start, &mut self.hi);
        from.lo.load(start, &mut self.lo);
        from.error.load(start, &mut self.error);
    }

    #[inline(always)]
    fn at(&self, i: usize) -> Pair {
        Pair { hi: self.hi[i], lo: self.lo[i], error: self.error[i] }
    }

    #[inline(always)]
    fn put(&mut self, i: usize, x: Pair) {
        (self.hi[i], self.lo[i], self.error[i]) = (x.hi, x.lo, x.error);
    }
}

/// Applies a kernel to all elements, and the whole operation to those that are irregular.
struct ApplyToPairs<'a, K, W> {
    operands: [&'a PairColumns; 2],
    kernel: K,
    whole: W,
}

impl<K: Kernel, W: Fn(Pair, Pair) -> Pair> Loop for ApplyToPairs<'_, K, W> {
    type Output = PairColumns;

    #[inline(always)]
    fn run(self) -> PairColumns {
        let [x, y] = self.operands;
        let len = x.hi.len();
        let [mut hi, mut lo, mut error] = [0; 3].map(|_| store::vector(len));
        let tables = Tables::ready();
        let [mut a, mut b, mut out] = [PairChunk::ONES; 3];
        let mut pace = Pace::default();
        for start in (0..len).step_by(CHUNK) {
            pace.spend(CHUNK);
            a.load(x, start);
            b.load(y, start);
            for i in 0..CHUNK {
                out.put(i, self.kernel.apply(a.at(i), b.at(i), &tables));
            }
            let count = CHUNK.min(len - start);
            if out.error.iter().fold(false, |any, e| any | e.is_nan()) {
                for i in 0..count {
                    if out.error[i].is_nan() {
                        out.put(i, (self.whole)(x.at(start + i), y.at(start + i)));
                    }
                }
            }
            hi.extend_from_slice(&out.hi[..count]);
            lo.extend_from_slice(&out.lo[..count]);
            error.extend_from_slice(&out.error[..count]);
        }
        PairColumns { hi: Column::new(hi), lo: Column::new(lo), error: Column::new(error) }
    }
}

/// Whether a pair of these parts is a number: it is neither NaN nor [`Pair::UNKNOWN`].
#[inline(always)]
fn is_number(hi: f64, error: f64) -> bool {
    !hi.is_nan() & (error < f64::INFINITY)
}

/// Rounds all elements.
struct Round<'a>(&'a PairColumns);

impl Loop for Round<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let len = self.0.hi.len();
        let mut rounded = Vec::with_capacity(len);
        let mut chunk = PairChunk::ONES;
        for start in (0..len).step_by(CHUNK) {
            chunk.load(self.0, start);
            let mut out = [0.0; CHUNK];
            for (i, out) in out.iter_mut().enumerate() {
                *out = chunk.at(i).round_or_nan();
            }
            rounded.extend_from_slice(&out[..CHUNK.min(len - start)]);
        }
        rounded
    }
}

/// A function where the kernel's proof does not hold: of the interval, or MPFR's, whose pairs are as narrow as others.
fn whole(unary: Unary, x: Pair) -> Pair {
    match unary {
        Unary::Cbrt | Unary::Cosine | Unary::Erf | Unary::Sine | Unary::Tan => functions::of_pair(unary, x),
        _ => Pair::from_interval(fast::of(unary, x.interval())),
    }
}

/// The interval operation where the kernel's proof does not hold.
fn or_interval(regular: Pair, whole: impl Fn() -> Interval) -> Pair {
    if regular.is_irregular() { Pair::from_interval(whole()) } else { regular }
}

impl Arithmetic for Pairs {
    type Number = Pair;
    type Numbers = PairColumns;

    fn exact(&self, value: f64) -> Pair {
        Pair::exact(value)
    }

    fn exact_integer(&self, value: i128) -> Pair {
        let hi = value as f64;
        // Of an integer of 64 bits what hi leaves has at most 11.
        let rest = value - hi as i128;
        let lo = rest as f64;
        Pair { hi, lo, error: if lo as i128 == rest { 0.0 } else { f64::INFINITY } }
    }

    fn unknown(&self) -> Pair {
        Pair::UNKNOWN
    }

    fn unary(&mut self, unary: Unary, x: &Pair) -> Pair {
        let tables = &Tables::ready();
        let regular = match unary {
            Unary::Exponential => pair::exp(*x, tables),
            Unary::ExponentialMinusOne => pair::expm1(*x, tables),
            Unary::Log => pair::log(*x, tables),
            Unary::LogPlusOne => pair::log1p(*x, tables),
            Unary::Cosine => pair::cosine(*x, tables),
            Unary::Erf => pair::erf(*x, tables),
            Unary::Logistic => pair::logistic(*x, tables),
            Unary::Rsqrt => pair::rsqrt(*x),
            Unary::Sine => pair::sine(*x, tables),
            Unary::Sqrt => pair::sqrt(*x),
            Unary::Tan => pair::tan(*x, tables),
            Unary::Tanh => pair::tanh(*x, tables),
            Unary::Negate => return x.neg(),
            Unary::Abs => {
                let Interval { lo, hi } = x.interval();
                return match (lo >= 0.0, hi <= 0.0) {
                    _ if x.as_exact().is_some() => Pair::exact(x.hi.abs()),
                    (true, _) => *x,
                    (_, true) => x.neg(),
                    _ => Pair::from_interval(x.interval().abs()),
                };
            }
            Unary::Cbrt
            | Unary::Ceil
            | Unary::Floor
            | Unary::RoundNearestAfz
            | Unary::RoundNearestEven
            | Unary::Sign
            | Unary::CountLeadingZeros
            | Unary::IsFinite
            | Unary::Not
            | Unary::PopulationCount => pair::IRREGULAR,
        };
        if regular.is_irregular() { whole(unary, *x) } else { regular }
    }

    fn binary(&mut self, operation: Field, x: &Pair, y: &Pair) -> Pair {
        let regular = match operation {
            Field::Add => pair::add(*x, *y),
            Field::Subtract => pair::sub(*x, *y),
            Field::Multiply => pair::mul(*x, *y),
            Field::Divide => pair::div(*x, *y),
        };
        or_interval(regular, || fast::of_field(operation)(x.interval(), y.interval()))
    }

    fn cosine(&mut self, turn: Turn, factor: i32) -> Pair {
        functions::cosine_pair(turn, factor)
    }

    fn bivariate(&mut self, function: Bivariate, x: &Pair, y: &Pair) -> Pair {
        let regular = match function {
            Bivariate::Power => widest(One { kernel: Power, x: *x, y: *y }),
            Bivariate::Atan2 => pair::IRREGULAR,
        };
        if regular.is_irregular() { functions::of_pairs(function, *x, *y) } else { regular }
    }

    fn sum(&mut self, terms: &[Pair]) -> Pair {
        let total = pair::sum(terms.len(), |start, out| {
            *out = [[0.0; CHUNK]; 3];
            for (i, x) in terms[start..].iter().take(CHUNK).enumerate() {
                (out[0][i], out[1][i], out[2][i]) = (x.hi, x.lo, x.error);
            }
        });
        or_interval(total, || interval::sum(terms.iter().map(|x| x.interval())))
    }

    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3]) -> Dots<Pair> {
        let dots = certified_dots(lhs, rhs, m, k, n);
        self.stats.count_dots(&dots.counts);
        let open: Vec<bool> = dots.enclosure.iter().map(|e| !e.is_exact() && !e.is_nan()).collect();
        let [left, right] = [lhs, rhs].map(|values| self.exacts(&Column::new(values.to_vec())));
        let mut numbers = self.dots([&left, &right], [0; 2], [m, k, n], Some(&open));
        for ((number, enclosure), _) in numbers.iter_mut().zip(&dots.enclosure).zip(&open).filter(|(_, open)| !**open) {
            *number = Pair::from_interval(*enclosure);
        }
        Dots { numbers, rounded: Some(dots.rounded) }
    }

    fn dots(
        &mut self,
        operands: [&PairColumns; 2],
        starts: [usize; 2],
        sizes: [usize; 3],
        wanted: Wanted,
    ) -> Vec<Pair> {
        let pairs = AsPairs { pair: PairColumns::at, number: |pair| pair, depth: Depth::Three };
        dots_by_products(self, operands, starts, sizes, wanted, pairs)
    }

    fn hull(&self, x: &Pair, y: &Pair) -> Pair {
        pair::hull(*x, *y)
    }

    fn compare(&self, x: &Pair, y: &Pair) -> Option<Ordering> {
        pair::compare(*x, *y)
    }

    fn is_nan(&self, x: &Pair) -> bool {
        x.hi.is_nan()
    }

    fn is_number(&self, x: &Pair) -> bool {
        is_number(x.hi, x.error)
    }

    fn as_exact(&self, x: &Pair) -> Option<f64> {
        x.as_exact()
    }

    fn truncated(&self, x: &Pair) -> Option<i128> {
        if !self.is_number(x) {
            return None;
        }
        if x.error == 0.0 && x.hi.fract() == 0.0 {
            // An integer and less than half a step of it: `as` would round the sum. Beyond i128 either saturates, and the
            // low one has nothing to say.
            let toward_zero = if x.hi > 0.0 { x.lo.floor() } else { x.lo.ceil() };
            let low = if x.hi.abs() < (1u128 << 126) as f64 { toward_zero as i128 } else { 0 };
            return Some((x.hi as i128).saturating_add(low));
        }
        let Interval { lo, hi } = x.interval();
        (lo as i128 == hi as i128).then_some(lo as i128)
    }

    fn bounds(&self, x: &Pair) -> (f64, f64) {
        let Interval { lo, hi } = x.interval();
        (lo, hi)
    }

    fn round(&self, x: &Pair) -> Option<f64> {
        let rounded = x.round_or_nan();
        (!rounded.is_nan() || x.hi.is_nan()).then_some(rounded)
    }

    fn stats(&self) -> Stats {
        self.stats
    }

    fn as_pair(&self, x: &Pair) -> Option<Pair> {
        (x.hi.is_finite() && x.error.is_finite()).then_some(*x)
    }

    fn exacts(&self, values: &Column<f64>) -> PairColumns {
        let zeros = Column::same(0.0, values.len());
        PairColumns { hi: values.clone(), lo: zeros.clone(), error: zeros }
    }

    fn collect(&self, numbers: Vec<Pair>) -> PairColumns {
        collected(&numbers, 1)
    }

    fn at(&self, numbers: &PairColumns, element: usize) -> Pair {
        numbers.at(element)
    }

    fn rearrange(&self, operands: &[&PairColumns], mover: &Mover) -> PairColumns {
        PairColumns {
            hi: mover.apply(&operands.iter().map(|o| &o.hi).collect::<Vec<_>>()),
            lo: mover.apply(&operands.iter().map(|o| &o.lo).collect::<Vec<_>>()),
            error: mover.apply(&operands.iter().map(|o| &o.error).collect::<Vec<_>>()),
        }
    }

    fn pick(&self, numbers: &PairColumns, positions: &[usize]) -> PairColumns {
        numbers.map_columns(|column| column.pick(positions))
    }

    fn unary_all(&mut self, unary: Unary, x: &PairColumns, _wanted: Wanted) -> PairColumns {
        // Few values for many elements, or a function without a loop of its own.
        if let Some((pairs, run)) = x.runs()
            && run > 1
        {
            let results: Vec<Pair> = pairs.iter().map(|x| self.unary(unary, x)).collect();
            return collected(&results, run);
        }
        let operands = [x, x];
        let whole = |x, _| whole(unary, x);
        match unary {
            Unary::Cosine => widest(ApplyToPairs { operands, kernel: Cosine, whole }),
            Unary::Erf => widest(ApplyToPairs { operands, kernel: Erf, whole }),
            Unary::Exponential => widest(ApplyToPairs { operands, kernel: Exp, whole }),
            Unary::ExponentialMinusOne => widest(ApplyToPairs { operands, kernel: Expm1, whole }),
            Unary::Log => widest(ApplyToPairs { operands, kernel: Log, whole }),
            Unary::LogPlusOne => widest(ApplyToPairs { operands, kernel: Log1p, whole }),
            Unary::Logistic => widest(ApplyToPairs { operands, kernel: Logistic, whole }),
            Unary::Negate => widest(ApplyToPairs { operands, kernel: Neg, whole }),
            Unary::Rsqrt => widest(ApplyToPairs { operands, kernel: Rsqrt, whole }),
            Unary::Sine => widest(ApplyToPairs { operands, kernel: Sine, whole }),
            Unary::Sqrt => widest(ApplyToPairs { operands, kernel: Sqrt, whole }),
            Unary::Tan => widest(ApplyToPairs { operands, kernel: Tan, whole }),
            Unary::Tanh => widest(ApplyToPairs { operands, kernel: Tanh, whole }),
            Unary::Abs
            | Unary::Cbrt
            | Unary::Ceil
            | Unary::CountLeadingZeros
            | Unary::Floor
            | Unary::IsFinite
            | Unary::Not
            | Unary::PopulationCount
            | Unary::RoundNearestAfz
            | Unary::RoundNearestEven
            | Unary::Sign => {
                let results: Vec<Pair> = (0..x.hi.len()).map(|at| self.unary(unary, &x.at(at))).collect();
                collected(&results, 1)
            }
        }
    }

    fn binary_all(&mut self, operation: Field, x: &PairColumns, y: &PairColumns, _wanted: Wanted) -> PairColumns {
        let operands = [x, y];
        let whole = |x: Pair, y: Pair| Pair::from_interval(fast::of_field(operation)(x.interval(), y.interval()));
        match operation {
            Field::Add => widest(ApplyToPairs { operands, kernel: Add, whole }),
            Field::Subtract => widest(ApplyToPairs { operands, kernel: Sub, whole }),
            Field::Multiply => widest(ApplyToPairs { operands, kernel: Mul, whole }),
            Field::Divide => widest(ApplyToPairs { operands, kernel: Div, whole }),
        }
    }

    fn sum_range(&mut self, init: &Pair, terms: &PairColumns, range: Range<usize>) -> Pair {
        let total = pair::sum(range.len() + 1, |start, out| {
            terms.hi.load_range(&range, start, init.hi, &mut out[0]);
            terms.lo.load_range(&range, start, init.lo, &mut out[1]);
            terms.error.load_range(&range, start, init.error, &mut out[2]);
        });
        let whole =
            || interval::sum(std::iter::once(*init).chain(range.clone().map(|at| terms.at(at))).map(Pair::interval));
        or_interval(total, whole)
    }

    fn all_numbers(&self, numbers: &PairColumns) -> bool {
        numbers.hi.all_with(&numbers.error, is_number)
    }

    fn around(&self, numbers: &PairColumns, value: f64) -> Vec<usize> {
        // Twice the error covers what the low part adds to the high one's distance, if it adds anything.
        let near = |hi: f64, error: f64| (error > 0.0) & ((hi - value).abs() <= 2.0 * error + hi.abs() * f64::EPSILON);
        numbers.hi.positions_with(&numbers.error, near)
    }

    fn rounded_all(&self, numbers: &PairColumns) -> Vec<f64> {
        widest(Round(numbers))
    }
}

#[cfg(test)]
mod tests;
