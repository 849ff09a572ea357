//! The loop over the elements of an operation that may be computed in any form: their enclosures, and their spans.

use crate::ir::{Binary, Op, Unary};

use super::super::fast::{Intervals, ManyKernel, apply_many};
use super::super::interval::{Interval, regular};
use super::widening::{Forms, NORMAL, span, span_of_result, widen_to_forms};

/// An operation with its operands, for each way in which it may be computed itself.
pub(super) struct FormLoop<'a> {
    pub op: &'a Op,
    /// The number of operands: with one, both places below hold it.
    pub operands: usize,
    /// The enclosures of the operands.
    pub given: [&'a Intervals; 2],
    /// The spans of operands that are expressions themselves.
    pub known: [Option<&'a Intervals>; 2],
    pub forms: &'a Forms,
}

impl FormLoop<'_> {
    /// The enclosures of `way`, the results over the real numbers, in every form; and their spans.
    pub fn enclose(&self, way: &Intervals) -> [Intervals; 2] {
        match self.op {
            Op::Binary(Binary::Multiply) => self.apply(way, |[a, b], _| Interval { lo: a.lo + b.lo, hi: a.hi + b.hi }),
            Op::Binary(Binary::Divide) => self.apply(way, |[a, b], _| Interval { lo: a.lo + b.hi, hi: a.hi + b.hi }),
            Op::Binary(Binary::Add | Binary::Subtract) => self.apply(way, |[a, b], own| {
                let reach = a.lo.max(b.lo) + 1.0;
                Interval { lo: reach, hi: own.hi + reach }
            }),
            Op::Unary(Unary::Sqrt) => self.apply(way, |[a, _], _| a),
            Op::Unary(Unary::Rsqrt) => self.apply(way, |[a, _], _| Interval { lo: a.hi, hi: a.hi }),
            // An exponential's exponent says nothing of its operand's: only its own size does.
            Op::Unary(Unary::Exponential) => self.apply(way, |_, own| {
                let is_far = own.hi > NORMAL;
                let or_far = |end: f64| if is_far { f64::INFINITY } else { end };
                Interval { lo: or_far(own.lo), hi: or_far(own.hi) }
            }),
            // Powers ask which exponent it is, one by one.
            Op::Binary(Binary::Power) => self.apply(way, |_, _| Interval::NAN),
            _ => self.apply(way, |_, own| own),
        }
    }

    fn apply(&self, way: &Intervals, combine: impl Fn([Interval; 2], Interval) -> Interval) -> [Intervals; 2] {
        let adds = matches!(self.op, Op::Binary(Binary::Add | Binary::Subtract));
        let is_known = self.known.map(|known| known.is_some());
        let whole = |[x, a, b, of_a, of_b]: [Interval; 5]| {
            let spans = [(a, of_a, is_known[0]), (b, of_b, is_known[1])];
            // What is known of the exponents on the way to an operand is wider than what its own numbers show.
            let spans = spans.map(|(given, known, is_known)| if is_known { known } else { span(given) });
            let given = [a, b];
            let span = span_of_result(self.op, &spans[..self.operands.min(2)], &given, x);
            let magnitudes = (a.abs().hi + b.abs().hi).next_up();
            [widen_to_forms(x, span.lo, self.forms, adds.then_some(magnitudes)), span]
        };
        let [a, b] = self.given;
        let [of_a, of_b] = [self.known[0].unwrap_or(a), self.known[1].unwrap_or(b)];
        let Forms { share, absolute, .. } = *self.forms;
        let kernel = Widened { combine, is_known, adds, share, absolute };
        apply_many(kernel, whole, [way, a, b, of_a, of_b])
    }
}

/// [`widen_to_forms`] and [`span_of_result`] of finite numbers other than zero whose forms stay normal numbers.
struct Widened<F> {
    combine: F,
    is_known: [bool; 2],
    adds: bool,
    share: f64,
    absolute: f64,
}

/// The binary exponent of [`span`]: a number of eleven bits, as a float without a conversion.
#[inline(always)]
fn exponent(x: f64) -> f64 {
    const WHOLE: f64 = (1u64 << 52) as f64;
    let bits = x.to_bits() >> 52 & 0x7ff;
    let exponent = f64::from_bits(WHOLE.to_bits() | bits) - WHOLE - 1022.0;
    if x == 0.0 { 0.0 } else { exponent }
}

/// [`span`] without branches.
#[inline(always)]
fn span_of(x: Interval) -> Interval {
    let is_nan = x.is_nan();
    let (lo, hi) = (x.lo.abs(), x.hi.abs());
    let largest = if lo > hi { lo } else { hi };
    let smallest = if lo > hi { hi } else { lo };
    let least = if (x.lo > 0.0) | (x.hi < 0.0) { smallest } else { 0.0 };
    let (largest_exponent, least_exponent) = (exponent(largest), exponent(least).abs() + 1.0);
    let magnitude = largest_exponent.abs();
    let as_divisor = if magnitude > least_exponent { magnitude } else { least_exponent };
    // A divisor that may be zero reaches every exponent.
    let is_open = (least == 0.0) & (largest > 0.0);
    let as_divisor = if is_open { f64::INFINITY } else { as_divisor };
    let as_factor = if largest_exponent > 0.0 { largest_exponent } else { 0.0 };
    Interval { lo: if is_nan { 0.0 } else { as_factor }, hi: if is_nan { 0.0 } else { as_divisor } }
}

/// The next of the numbers that are not negative.
#[inline(always)]
fn next(x: f64) -> f64 {
    f64::from_bits(x.to_bits().wrapping_add(1))
}

/// Two to a whole power from -1022 to 1023.
#[inline(always)]
fn power_of_two(exponent: f64) -> f64 {
    const WHOLE: f64 = (1u64 << 52) as f64;
    f64::from_bits((exponent + 1023.0 + WHOLE).to_bits() << 52)
}

impl<F: Fn([Interval; 2], Interval) -> Interval> ManyKernel<5, 2> for Widened<F> {
    #[inline(always)]
    fn apply(&self, [x, a, b, of_a, of_b]: [Interval; 5]) -> [Interval; 2] {
        let of = |given: Interval, known: Interval, is_known: bool| {
            let own = span_of(given);
            Interval { lo: if is_known { known.lo } else { own.lo }, hi: if is_known { known.hi } else { own.hi } }
        };
        let spans = [of(a, of_a, self.is_known[0]), of(b, of_b, self.is_known[1])];
        let span = (self.combine)(spans, span_of(x));
        let lost = power_of_two((span.lo - NORMAL).ceil());
        let larger = |x: Interval| if x.lo.abs() > x.hi.abs() { x.lo.abs() } else { x.hi.abs() };
        let magnitudes = next(larger(a) + larger(b));
        let error = |end: f64| {
            let base = if self.adds { magnitudes } else { end.abs() };
            next(next(next(self.share * base) + self.absolute) + lost)
        };
        let (lo, hi) = (x.lo - error(x.lo), x.hi + error(x.hi));
        let is_number = |end: f64| (end.abs() > 0.0) & (end.abs() < f64::INFINITY);
        // Operands that are NaN give NaN, which is no number.
        let is_regular = is_number(x.lo) & is_number(x.hi) & is_number(lo) & is_number(hi) & (span.lo <= NORMAL);
        let is_same = self.share == 0.0;
        let (lo, hi) = (regular::below(lo), regular::above(hi));
        let wider = Interval { lo: if is_same { x.lo } else { lo }, hi: if is_same { x.hi } else { hi } };
        [if is_regular { wider } else { regular::IRREGULAR }, span]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Arithmetic;
    use crate::fast::Fast;

    /// Numbers of every magnitude and sign, zeros, infinities and NaN among them, alone and as intervals.
    fn intervals(seed: u64) -> Vec<Interval> {
        let drawn = (0..1000u64).map(|at| {
            let bits = (at * 5 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let exponent = if at % 16 == 0 { bits >> 53 } else { 1023 - 70 + bits % 140 };
            let x = f64::from_bits((bits & 1) << 63 | (exponent & 0x7ff) << 52 | bits >> 12);
            let wide = Interval { lo: x - x.abs() / 3.0, hi: x + x.abs() * [0.0, 1e-9, 0.5, 2.0][at as usize % 4] };
            if at % 3 == 0 || !wide.lo.is_finite() || !wide.hi.is_finite() { Interval::exact(x) } else { wide }
        });
        let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0].map(Interval::exact);
        let open = [Interval::UNKNOWN, Interval::SIGNLESS_ZERO, Interval { lo: 0.0, hi: 1.0 }];
        let all: Vec<Interval> = special.into_iter().chain(open).chain(drawn).collect();
        let shift = seed as usize * 7 % all.len();
        all[shift..].iter().chain(&all[..shift]).copied().collect()
    }

    /// The loop gives the bits that the functions of one element give.
    #[test]
    fn the_loop_gives_what_elements_give_one_by_one() {
        let world = Fast::default();
        let [x, a, b, of_a, of_b] = [1, 2, 3, 4, 5].map(intervals);
        let spans = |of: Vec<Interval>| of.into_iter().map(span).collect::<Vec<_>>();
        let (of_a, of_b) = (spans(of_a), spans(of_b));
        let columns = [&x, &a, &b, &of_a, &of_b].map(|numbers| world.collect(numbers.clone()));
        let binary = [Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide, Binary::Power].map(Op::Binary);
        let unary = [Unary::Sqrt, Unary::Rsqrt, Unary::Exponential, Unary::Log].map(Op::Unary);
        for (op, operands) in binary.iter().map(|op| (op, 2)).chain(unary.iter().map(|op| (op, 1))) {
            for (known, share) in [(true, 1e-6), (false, 1e-6), (true, 0.0)] {
                let forms = Forms { share, absolute: share / 4.0, forgets_signs: share == 0.0 };
                let second = if operands == 2 { 2 } else { 1 };
                let given = [&columns[1], &columns[second]];
                let known_spans = [&columns[3], &columns[second + 2]];
                let loops =
                    FormLoop { op, operands, given, known: known_spans.map(|k| known.then_some(k)), forms: &forms };
                let [numbers, own] = loops.enclose(&columns[0]);
                for at in 0..x.len() {
                    let given = [a[at], if operands == 2 { b[at] } else { a[at] }];
                    let spans = if known { [of_a[at], of_b[at]] } else { given.map(span) };
                    let expected = span_of_result(op, &spans[..operands], &given, x[at]);
                    let adds = matches!(op, Op::Binary(Binary::Add | Binary::Subtract));
                    let magnitudes = adds.then(|| (given[0].abs().hi + given[1].abs().hi).next_up());
                    let wider = widen_to_forms(x[at], expected.lo, &forms, magnitudes);
                    let bits = |x: Interval| [x.lo, x.hi].map(|end| if end.is_nan() { 0 } else { end.to_bits() });
                    let case = format!("{op:?} {known} {share} {:?} {given:?} {spans:?}", x[at]);
                    assert_eq!(bits(world.at(&numbers, at)), bits(wider), "{case}");
                    assert_eq!(bits(world.at(&own, at)), bits(expected), "{case}");
                }
            }
        }
    }
}
