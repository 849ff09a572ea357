//! Arithmetic on enclosures, behind one trait: f64 intervals, pairs of f64, or MPFR intervals of any precision.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::ops::Range;

use crate::ir::Unary;
use crate::num::floor_log2;
use crate::tensor::Data;

use super::column::{Column, Mover};
use super::demand::Stats;
use super::dot::{Depth, Entries, enclosed_products};
use super::pair::Pair;
use super::turn::Turn;

/// Results of a batch of exact dots, in the arithmetic's own numbers.
pub(super) struct Dots<N> {
    /// Enclosures of the exact values, in the order of the outputs.
    pub numbers: Vec<N>,
    /// The exact values correctly rounded to f64, where the arithmetic has them.
    pub rounded: Option<Vec<f64>>,
}

/// The elements of an array that are asked for; `None` for all.
pub(super) type Wanted<'a> = Option<&'a [bool]>;

/// The operations of the field of real numbers, which every rung encloses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Field {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Functions of two numbers beside those of the field, which every rung encloses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bivariate {
    Atan2,
    Power,
}

/// Proven operations on enclosures of extended reals. NaN and the infinities are definite values, as in IEEE 754.
///
/// An enclosure is one of three things: exactly one value (a number, a zero with its sign, an infinity, NaN), a finite
/// real number between two ends (where it may be zero, nothing is claimed of that zero's sign), or unknown: any value,
/// NaN and the infinities included. Nothing may be concluded from an unknown one but that it is unknown.
///
/// Arrays of numbers have operations of their own, which give for each element what the operation on one gives, or a
/// narrower enclosure.
pub(super) trait Arithmetic {
    type Number: Clone;
    type Numbers: Clone;

    fn exact(&self, value: f64) -> Self::Number;

    /// An integer, exactly where the arithmetic holds it.
    fn exact_integer(&self, value: i128) -> Self::Number;

    /// A number that nothing is known of.
    fn unknown(&self) -> Self::Number;

    /// Any of the real functions; `Not` and `IsFinite` are none.
    fn unary(&mut self, unary: Unary, x: &Self::Number) -> Self::Number;

    /// Add, subtract, multiply or divide.
    fn binary(&mut self, operation: Field, x: &Self::Number, y: &Self::Number) -> Self::Number;

    /// A multiple of the cosine of a part of a turn.
    fn cosine(&mut self, turn: Turn, factor: i32) -> Self::Number;

    /// `atan2` or `power`, with C's special values.
    fn bivariate(&mut self, function: Bivariate, x: &Self::Number, y: &Self::Number) -> Self::Number;

    /// C's `fmod`: `x - n y` with n the quotient truncated; a zero has the sign of x (IEEE 754-2019 9.2, C17 F.10.7.1).
    fn remainder(&mut self, x: &Self::Number, y: &Self::Number) -> Self::Number {
        if self.is_nan(x) || self.is_nan(y) {
            return self.exact(f64::NAN);
        }
        match (self.as_exact(x), self.as_exact(y)) {
            // The remainder of two f64 is an f64.
            (Some(x), Some(y)) => return self.exact(x % y),
            (Some(x), _) if x.is_infinite() => return self.exact(f64::NAN),
            (_, Some(0.0)) => return self.exact(f64::NAN),
            (_, Some(y)) if y.is_infinite() && self.is_number(x) => return x.clone(),
            _ if !self.is_number(x) || !self.is_number(y) => return self.unknown(),
            _ => {}
        }
        let zero = self.exact(0.0);
        let Some(Ordering::Less | Ordering::Greater) = self.compare(y, &zero) else {
            // The divisor may be zero.
            return self.unknown();
        };
        if self.as_exact(x) == Some(0.0) {
            return x.clone();
        }
        let quotient = self.binary(Field::Divide, x, y);
        let Some(count) = self.whole(&quotient) else {
            let (lo, hi) = self.bounds(y);
            let reach = lo.abs().max(hi.abs());
            return if reach.is_finite() { self.hull(&self.exact(-reach), &self.exact(reach)) } else { self.unknown() };
        };
        let multiple = self.binary(Field::Multiply, &count, y);
        let rest = self.binary(Field::Subtract, x, &multiple);
        if self.as_exact(&rest) != Some(0.0) {
            return rest;
        }
        match self.compare(x, &zero) {
            Some(Ordering::Greater) => rest,
            Some(Ordering::Less) => self.exact(-0.0),
            _ => self.unknown(),
        }
    }

    fn sum(&mut self, terms: &[Self::Number]) -> Self::Number;

    /// `[m,k] x [k,n]`, row-major, of exactly known finite or infinite operands.
    fn exact_dots(&mut self, lhs: &[f64], rhs: &[f64], sizes: [usize; 3]) -> Dots<Self::Number>;

    /// [`Arithmetic::exact_dots`] of tensors' elements.
    fn tensor_dots(&mut self, lhs: &Data, rhs: &Data, sizes: [usize; 3]) -> Dots<Self::Number> {
        self.exact_dots(&lhs.to_f64s(), &rhs.to_f64s(), sizes)
    }

    /// `[m,k] x [k,n]`, row-major, of operands that need not be exactly known: elements of `lhs` and `rhs` from `starts` on.
    /// Outputs that are not wanted are unknown.
    fn dots(
        &mut self,
        operands: [&Self::Numbers; 2],
        starts: [usize; 2],
        sizes: [usize; 3],
        wanted: Wanted,
    ) -> Vec<Self::Number> {
        dots_one_by_one(self, operands, starts, sizes, wanted)
    }

    /// The smallest enclosure of both; neither is NaN, unknown or an infinity.
    fn hull(&self, x: &Self::Number, y: &Self::Number) -> Self::Number;

    /// The number with +0 in the place of a zero of either sign.
    fn with_positive_zero(&self, x: &Self::Number) -> Self::Number {
        if self.as_exact(x) == Some(0.0) { self.exact(0.0) } else { x.clone() }
    }

    /// The order of two numbers, if their enclosures decide it. The two zeros are equal.
    fn compare(&self, x: &Self::Number, y: &Self::Number) -> Option<Ordering>;

    /// Whether this is NaN, for certain.
    fn is_nan(&self, x: &Self::Number) -> bool;

    /// Whether this is a real number or an infinity, for certain: neither NaN nor unknown.
    fn is_number(&self, x: &Self::Number) -> bool;

    /// The value, where it is known exactly and f64 holds it. Of NaN the sign means nothing here.
    fn as_exact(&self, x: &Self::Number) -> Option<f64>;

    /// Bytes that a number takes, what it points to included.
    fn number_bytes(&self) -> usize {
        size_of::<Self::Number>()
    }

    /// An f64 not above the number, and one not below it; neighbours of it where the arithmetic can tell.
    fn bounds(&self, x: &Self::Number) -> (f64, f64);

    /// The number without its fraction, where that is decided; far beyond every integer type it saturates.
    fn truncated(&self, x: &Self::Number) -> Option<i128> {
        if !self.is_number(x) {
            return None;
        }
        let (lo, hi) = self.bounds(x);
        // `as` truncates and saturates.
        let (low, high) = (lo as i128, hi as i128);
        (low == high).then_some(low)
    }

    /// The number without its fraction, as a number.
    fn whole(&self, x: &Self::Number) -> Option<Self::Number> {
        // Where this may have saturated it is not the number.
        let count = self.truncated(x).filter(|count| count.unsigned_abs() < 1 << 100)?;
        Some(self.exact_integer(count))
    }

    /// `floor(log2 |x|)` of a finite number that is not zero, where the enclosure decides it.
    fn exponent(&self, x: &Self::Number) -> Option<i32> {
        let (lo, hi) = self.bounds(x);
        let are_finite = [lo, hi].iter().all(|end| end.is_finite());
        let [low, high] = (are_finite && (lo > 0.0 || hi < 0.0)).then(|| [lo, hi].map(floor_log2))?;
        (low == high).then_some(low)
    }

    /// The number rounded to nearest even in f64, where the enclosure decides it.
    fn round(&self, x: &Self::Number) -> Option<f64>;

    /// Counts for the statistics.
    fn stats(&self) -> Stats;

    /// The number as a pair, where it is one.
    fn as_pair(&self, _: &Self::Number) -> Option<Pair> {
        None
    }

    /// An enclosure of a pair's, where the arithmetic takes one from another rung.
    fn enclose_pair(&self, _: Pair) -> Option<Self::Number> {
        None
    }

    /// Exactly these values.
    fn exacts(&self, values: &Column<f64>) -> Self::Numbers;

    fn collect(&self, numbers: Vec<Self::Number>) -> Self::Numbers;

    fn at(&self, numbers: &Self::Numbers, element: usize) -> Self::Number;

    fn rearrange(&self, operands: &[&Self::Numbers], mover: &Mover) -> Self::Numbers;

    /// The elements at these positions, in this order.
    fn pick(&self, numbers: &Self::Numbers, positions: &[usize]) -> Self::Numbers;

    /// [`Arithmetic::unary`] of the elements wanted; the others are unknown.
    fn unary_all(&mut self, unary: Unary, x: &Self::Numbers, wanted: Wanted) -> Self::Numbers;

    /// [`Arithmetic::binary`] of the elements wanted; the others are unknown.
    fn binary_all(&mut self, operation: Field, x: &Self::Numbers, y: &Self::Numbers, wanted: Wanted) -> Self::Numbers;

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
                total = self.binary(Field::Add, &total, &self.at(terms, at));
                sums[at] = total.clone();
            }
        }
        self.collect(sums)
    }

    /// Whether every element [is a number](Arithmetic::is_number).
    fn all_numbers(&self, numbers: &Self::Numbers) -> bool;

    /// The elements that are not exactly known, but may be this value.
    fn around(&self, numbers: &Self::Numbers, value: f64) -> Vec<usize>;

    /// Of neighbours those that may be the largest, or the smallest: no other one lies beyond them for certain. `None` where all of
    /// them have to be looked at.
    fn contenders(&self, _numbers: &Self::Numbers, _range: Range<usize>, _largest: bool) -> Option<Vec<usize>> {
        None
    }

    /// Every element as [`Arithmetic::round`] gives it; NaN for an undecided one, too.
    fn rounded_all(&self, numbers: &Self::Numbers) -> Vec<f64>;
}

/// [`Arithmetic::dots`], each a sum of products.
fn dots_one_by_one<A: Arithmetic + ?Sized>(
    arithmetic: &mut A,
    operands: [&A::Numbers; 2],
    starts: [usize; 2],
    [m, k, n]: [usize; 3],
    wanted: Wanted,
) -> Vec<A::Number> {
    let mut numbers = Vec::with_capacity(m * n);
    for at in 0..m * n {
        crate::deadline::check();
        numbers.push(match wanted.is_none_or(|wanted| wanted[at]) {
            true => dot(arithmetic, operands, [starts[0] + at / n * k, starts[1] + at % n], [k, n]),
            false => arithmetic.unknown(),
        });
    }
    numbers
}

/// The sum of `k` products, of neighbours on the left and of elements that stand `stride` apart on the right.
pub(super) fn dot<A: Arithmetic + ?Sized>(
    arithmetic: &mut A,
    [lhs, rhs]: [&A::Numbers; 2],
    starts: [usize; 2],
    [k, stride]: [usize; 2],
) -> A::Number {
    let (mut products, mut pace) = (Vec::with_capacity(k), crate::deadline::Pace::default());
    for at in 0..k {
        pace.spend(64);
        let (x, y) = (arithmetic.at(lhs, starts[0] + at), arithmetic.at(rhs, starts[1] + at * stride));
        products.push(arithmetic.binary(Field::Multiply, &x, &y));
    }
    arithmetic.sum(&products)
}

/// Conversion of numbers from and to pairs, for [`dots_by_products`].
pub(super) struct AsPairs<A: Arithmetic> {
    /// The pair that encloses an element.
    pub pair: fn(&A::Numbers, usize) -> Pair,
    /// The number that encloses a pair.
    pub number: fn(Pair) -> A::Number,
    /// The number of parts that operands are split into.
    pub depth: Depth,
}

/// The kind of the sum of a vector's products with numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Number,
    /// Nothing is known of an entry, and so nothing of the sum. In a deep network this is the most frequent kind.
    Unknown,
    /// An infinity or NaN, which may decide the sum.
    Special,
}

/// The fates of an operand's vectors, computed on demand.
struct Fates<'a, A: Arithmetic> {
    numbers: &'a A::Numbers,
    start: usize,
    /// From one vector to the next, and from one entry to the next.
    vector: usize,
    entry: usize,
    known: Vec<Option<Fate>>,
}

/// Whether this is NaN or an infinity, for certain.
fn is_special<A: Arithmetic>(arithmetic: &A, x: &A::Number) -> bool {
    arithmetic.is_nan(x) || arithmetic.as_exact(x).is_some_and(f64::is_infinite)
}

impl<A: Arithmetic> Fates<'_, A> {
    fn of(&mut self, arithmetic: &A, vector: usize, length: usize) -> Fate {
        if let Some(fate) = self.known[vector] {
            return fate;
        }
        let mut fate = Fate::Number;
        for l in 0..length {
            let x = arithmetic.at(self.numbers, self.start + vector * self.vector + l * self.entry);
            if is_special(arithmetic, &x) {
                fate = Fate::Special;
                break;
            }
            if !arithmetic.is_number(&x) {
                fate = Fate::Unknown;
            }
        }
        self.known[vector] = Some(fate);
        fate
    }
}

/// Multiplications for which taking matrices apart does not pay. It may be wider than single products are, too: its bounds
/// are of whole rows and columns.
const FEW: usize = 4096;

/// [`Arithmetic::dots`] by matrix products, and one by one where these do not say.
pub(super) fn dots_by_products<A: Arithmetic>(
    arithmetic: &mut A,
    [lhs, rhs]: [&A::Numbers; 2],
    starts: [usize; 2],
    [m, k, n]: [usize; 3],
    wanted: Wanted,
    pairs: AsPairs<A>,
) -> Vec<A::Number> {
    let asked = wanted.map_or(m * n, |wanted| wanted.iter().filter(|wanted| **wanted).count());
    if asked * k < FEW || 8 * asked < m * n {
        return dots_one_by_one(arithmetic, [lhs, rhs], starts, [m, k, n], wanted);
    }
    let mut fates =
        [(lhs, starts[0], k, 1, m), (rhs, starts[1], 1, n, n)].map(|(numbers, start, vector, entry, count)| Fates {
            numbers,
            start,
            vector,
            entry,
            known: vec![None; count],
        });
    // Where nothing is known any more, nothing is multiplied.
    let is_special = |at: usize| is_special(arithmetic, &arithmetic.at(rhs, starts[1] + at));
    if (0..m).all(|i| fates[0].of(arithmetic, i, k) == Fate::Unknown) && !(0..k * n).any(is_special) {
        return vec![arithmetic.unknown(); m * n];
    }
    let entries =
        |numbers, start, count| (start..start + count).map(|at| (pairs.pair)(numbers, at)).collect::<Entries>();
    let (left, right) = (entries(lhs, starts[0], m * k), entries(rhs, starts[1], k * n));
    let products = enclosed_products(&left, &right, [m, k, n], pairs.depth);
    let mut numbers = Vec::with_capacity(m * n);
    for (at, product) in products.into_iter().enumerate() {
        let is_unknown = product.is_irregular() && {
            let [row, column] = &mut fates;
            let both = [row.of(arithmetic, at / n, k), column.of(arithmetic, at % n, k)];
            both.contains(&Fate::Unknown) && !both.contains(&Fate::Special)
        };
        numbers.push(match product.is_irregular() {
            true if is_unknown => arithmetic.unknown(),
            true => dot(arithmetic, [lhs, rhs], [starts[0] + at / n * k, starts[1] + at % n], [k, n]),
            false => (pairs.number)(product),
        });
    }
    numbers
}
