//! Arithmetic on enclosures, behind one trait: f64 intervals, or MPFR intervals of any precision.

use std::cmp::Ordering;

use crate::ir::{Binary, Unary};

use super::demand::Stats;
use super::dot::certified_dots;
use super::elementary;
use super::interval::Interval;

/// Results of a batch of exact dots, in the arithmetic's own numbers.
pub(super) struct Dots<N> {
    pub numbers: Vec<N>,
    /// The exact values correctly rounded to f64, where the arithmetic has them.
    pub rounded: Option<Vec<f64>>,
}

/// Proven operations on enclosures of extended reals. NaN and the infinities are definite values, as in IEEE 754.
pub(super) trait Arithmetic {
    type Number: Clone;

    /// Whether these are the f64 intervals of the first pass.
    const IS_FAST: bool;

    fn exact(&self, value: f64) -> Self::Number;

    /// A number that is only known to be no NaN.
    fn unknown(&self) -> Self::Number;

    /// Any of the real functions; `Not` and `IsFinite` are none.
    fn unary(&mut self, unary: Unary, x: &Self::Number) -> Self::Number;

    /// Add, subtract, multiply or divide.
    fn binary(&mut self, binary: Binary, x: &Self::Number, y: &Self::Number) -> Self::Number;

    fn sum(&mut self, terms: &[&Self::Number]) -> Self::Number;

    /// `[m,k] x [k,n]` of exact operands, row-major.
    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], sizes: [usize; 3]) -> Dots<Self::Number>;

    /// The smallest enclosure of both.
    fn hull(&self, x: &Self::Number, y: &Self::Number) -> Self::Number;

    /// The order of two numbers that are not NaN, where the enclosures decide it.
    fn compare(&self, x: &Self::Number, y: &Self::Number) -> Option<Ordering>;

    fn is_nan(&self, x: &Self::Number) -> bool;

    /// The value, where it is known exactly and f64 holds it.
    fn as_exact(&self, x: &Self::Number) -> Option<f64>;

    /// The largest f64 below or at the number, and the smallest above or at it.
    fn bounds(&self, x: &Self::Number) -> (f64, f64);

    /// The number rounded to nearest even in f64, where the enclosure decides it.
    fn rounded(&self, x: &Self::Number) -> Option<f64>;

    /// Counts for the statistics.
    fn stats(&self) -> Stats;
}

/// f64 intervals.
#[derive(Default)]
pub(super) struct Fast {
    stats: Stats,
}

impl Arithmetic for Fast {
    type Number = Interval;
    const IS_FAST: bool = true;

    fn exact(&self, value: f64) -> Interval {
        Interval::exact(value)
    }

    fn unknown(&self) -> Interval {
        Interval::UNKNOWN
    }

    fn unary(&mut self, unary: Unary, x: &Interval) -> Interval {
        match unary {
            Unary::Abs => x.abs(),
            Unary::Ceil => x.ceil(),
            Unary::Exponential => elementary::exp(*x),
            Unary::ExponentialMinusOne => elementary::expm1(*x),
            Unary::Floor => x.floor(),
            Unary::Log => elementary::log(*x),
            Unary::LogPlusOne => elementary::log1p(*x),
            Unary::Logistic => elementary::logistic(*x),
            Unary::Negate => x.neg(),
            Unary::Rsqrt => x.rsqrt(),
            Unary::Sign => x.sign(),
            Unary::Sqrt => x.sqrt(),
            Unary::Tanh => elementary::tanh(*x),
            Unary::IsFinite | Unary::Not => Interval::UNKNOWN,
        }
    }

    fn binary(&mut self, binary: Binary, x: &Interval, y: &Interval) -> Interval {
        match binary {
            Binary::Add => x.add(*y),
            Binary::Subtract => x.sub(*y),
            Binary::Multiply => x.mul(*y),
            Binary::Divide => x.div(*y),
            _ => Interval::UNKNOWN,
        }
    }

    fn sum(&mut self, terms: &[&Interval]) -> Interval {
        super::interval::sum(terms.iter().map(|t| **t))
    }

    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3]) -> Dots<Interval> {
        let dots = certified_dots(lhs, rhs, m, k, n);
        self.stats.dots_grid += dots.counts.grid;
        self.stats.dots_sliced += dots.counts.sliced;
        self.stats.dots_dot2 += dots.counts.dot2;
        self.stats.dots_superaccumulator += dots.counts.superaccumulator;
        self.stats.dots_mpfr += dots.counts.mpfr;
        Dots { numbers: dots.enclosure, rounded: Some(dots.rounded) }
    }

    fn hull(&self, x: &Interval, y: &Interval) -> Interval {
        Interval { lo: x.lo.min(y.lo), hi: x.hi.max(y.hi) }
    }

    fn compare(&self, x: &Interval, y: &Interval) -> Option<Ordering> {
        super::interval::compare(*x, *y)
    }

    fn is_nan(&self, x: &Interval) -> bool {
        x.lo.is_nan()
    }

    fn as_exact(&self, x: &Interval) -> Option<f64> {
        (x.lo.is_nan() || x.lo == x.hi).then_some(x.lo)
    }

    fn bounds(&self, x: &Interval) -> (f64, f64) {
        (x.lo, x.hi)
    }

    fn rounded(&self, x: &Interval) -> Option<f64> {
        self.as_exact(x)
    }

    fn stats(&self) -> Stats {
        self.stats
    }
}
