//! Arithmetic on enclosures, behind one trait: f64 intervals, pairs of f64, or MPFR intervals of any precision.

use std::cmp::Ordering;
use std::ops::Range;

use crate::ir::{Binary, Unary};
use crate::tensor::Data;

use super::column::{Column, Mover};
use super::demand::Stats;
use super::pair::Pair;

/// Results of a batch of exact dots, in the arithmetic's own numbers.
pub(super) struct Dots<N> {
    pub numbers: Vec<N>,
    /// The exact values correctly rounded to f64, where the arithmetic has them.
    pub rounded: Option<Vec<f64>>,
}

/// The elements of an array that are asked for; `None` for all.
pub(super) type Wanted<'a> = Option<&'a [bool]>;

/// Proven operations on enclosures of extended reals. NaN and the infinities are definite values, as in IEEE 754.
///
/// Arrays of numbers have operations of their own, which give for each element what the operation on one gives, or a
/// narrower enclosure.
pub(super) trait Arithmetic {
    type Number: Clone;
    type Numbers: Clone;

    fn exact(&self, value: f64) -> Self::Number;

    /// A number that nothing is known of.
    fn unknown(&self) -> Self::Number;

    /// Any of the real functions; `Not` and `IsFinite` are none.
    fn unary(&mut self, unary: Unary, x: &Self::Number) -> Self::Number;

    /// Add, subtract, multiply or divide.
    fn binary(&mut self, binary: Binary, x: &Self::Number, y: &Self::Number) -> Self::Number;

    fn sum(&mut self, terms: &[Self::Number]) -> Self::Number;

    /// `[m,k] x [k,n]` of exact operands, row-major.
    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], sizes: [usize; 3]) -> Dots<Self::Number>;

    /// [`Arithmetic::exact_dots`] of operands as they lie in tensors, where a copy in f64 can be spared.
    fn tensor_dots(&mut self, lhs: &Data, rhs: &Data, sizes: [usize; 3]) -> Dots<Self::Number> {
        self.exact_dots(&lhs.to_f64s(), &rhs.to_f64s(), sizes)
    }

    /// The smallest enclosure of both.
    fn hull(&self, x: &Self::Number, y: &Self::Number) -> Self::Number;

    /// The order of two numbers that are not NaN, where the enclosures decide it.
    fn compare(&self, x: &Self::Number, y: &Self::Number) -> Option<Ordering>;

    fn is_nan(&self, x: &Self::Number) -> bool;

    /// The value, where it is known exactly and f64 holds it.
    fn as_exact(&self, x: &Self::Number) -> Option<f64>;

    /// An f64 not above the number, and one not below it; neighbours of it where the arithmetic can tell.
    fn bounds(&self, x: &Self::Number) -> (f64, f64);

    /// The number rounded to nearest even in f64, where the enclosure decides it.
    fn rounded(&self, x: &Self::Number) -> Option<f64>;

    /// Counts for the statistics.
    fn stats(&self) -> Stats;

    /// Exactly these values.
    /// The number as a pair, where it is one.
    fn as_pair(&self, _: &Self::Number) -> Option<Pair> {
        None
    }

    /// An enclosure of a pair's, where the arithmetic takes one from another rung.
    fn enclose_pair(&self, _: Pair) -> Option<Self::Number> {
        None
    }

    fn exacts(&self, values: &Column<f64>) -> Self::Numbers;

    fn collect(&self, numbers: Vec<Self::Number>) -> Self::Numbers;

    fn at(&self, numbers: &Self::Numbers, element: usize) -> Self::Number;

    fn moved(&self, operands: &[&Self::Numbers], mover: &Mover) -> Option<Self::Numbers>;

    /// The elements at these positions, in this order.
    fn picked(&self, numbers: &Self::Numbers, positions: &[usize]) -> Self::Numbers;

    /// [`Arithmetic::unary`] of the elements wanted; the others are unknown.
    fn unary_all(&mut self, unary: Unary, x: &Self::Numbers, wanted: Wanted) -> Self::Numbers;

    /// [`Arithmetic::binary`] of the elements wanted; the others are unknown.
    fn binary_all(&mut self, binary: Binary, x: &Self::Numbers, y: &Self::Numbers, wanted: Wanted) -> Self::Numbers;

    /// The sum of an initial value and neighbouring elements.
    fn sum_range(&mut self, init: &Self::Number, terms: &Self::Numbers, range: Range<usize>) -> Self::Number;

    /// Along each lane of `length` elements that stand `stride` apart, the sums of an initial value and all elements so
    /// far.
    fn running_sums(
        &mut self,
        init: &Self::Number,
        terms: &Self::Numbers,
        [count, length, stride]: [usize; 3],
    ) -> Self::Numbers {
        let mut sums = vec![self.unknown(); count];
        for lane in 0..count / length.max(1) {
            let start = lane / stride * stride * length + lane % stride;
            let mut total = init.clone();
            for at in (0..length).map(|i| start + i * stride) {
                total = self.binary(Binary::Add, &total, &self.at(terms, at));
                sums[at] = total.clone();
            }
        }
        self.collect(sums)
    }

    fn has_nan(&self, numbers: &Self::Numbers) -> bool;

    /// Every element as [`Arithmetic::rounded`] gives it; NaN for an undecided one, too.
    fn rounded_all(&self, numbers: &Self::Numbers) -> Vec<f64>;
}
