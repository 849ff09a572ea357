//! The answer of one pass, and the union of the answers of all passes so far.

use std::cmp::Ordering;

use crate::ir::{Program, Shape};
use crate::num::{self, Direction, Format, Specials};
use crate::tensor::DType;

use super::arithmetic::{Arithmetic, Field};
use super::comparison::Comparison;
use super::demand::{Demand, FloatTruth, Stats, Top, Truth, TruthTensor};
use super::elements::{FloatArray, Identities, Value};
use super::evaluate::Pass;
use super::plan::Need;

/// Format of rounded margins: the significand of bf16 with the exponents of f64.
static EIGHT_BITS: Format =
    Format { name: "eight bits", exponent_bits: 11, fraction_bits: 7, bias: 1023, specials: Specials::Ieee };

impl<A: Arithmetic> Pass<'_, A> {
    /// The demanded results, as far as they are proven.
    pub(super) fn answer(&mut self, results: &[Option<&Value<A>>], shapes: &[&Shape], demands: &[Demand]) -> Truth {
        let mut outputs = Vec::new();
        for ((result, shape), demand) in results.iter().zip(shapes).zip(demands) {
            let dims = shape.dims().to_vec();
            let format = shape.dtype().and_then(DType::format).unwrap_or(&num::F64);
            outputs.push(match (result, demand) {
                (None, _) | (_, Demand::None) => TruthTensor::Skipped,
                (Some(Value::Float(array)), Demand::Order) => TruthTensor::Float(self.ordered(array, dims, format)),
                (Some(Value::Float(array)), demand) => {
                    let target = match demand {
                        Demand::Stored | Demand::Near => format,
                        Demand::RoundedTo(dtype) => dtype.format().unwrap_or(&num::F64),
                        _ => &num::F64,
                    };
                    TruthTensor::Float(match demand {
                        // Between neighbours of f64 lies no f64 that a number could be compared with.
                        _ if *target == num::F64 => self.round(array, dims),
                        Demand::Near => self.each(array, dims, |number| self.near(number, target)),
                        _ => self.each(array, dims, |number| self.round_to(number, target)),
                    })
                }
                (Some(value), _) if shape.dtype() == Some(DType::Pred) => {
                    let values = value.integers().values.iter().map(|v| v.map(|v| v != 0)).collect();
                    TruthTensor::Predicate { dims, values }
                }
                (Some(value), _) => TruthTensor::Integer { dims, values: value.integers().values.to_vec() },
            });
        }
        Truth { outputs, stats: self.world.arithmetic.stats() }
    }

    /// Every element correctly rounded to f64, as far as that is proven; the open ones in ascending order.
    pub(super) fn round(&self, array: &FloatArray<A>, dims: Vec<usize>) -> FloatTruth {
        let (rounded, open) = match &array.rounded {
            Some(certified) => (certified.to_vec(), Vec::new()),
            None => {
                let rounded = self.world.arithmetic.rounded_all(&array.numbers);
                // A NaN stands for an open element, too.
                let is_open = |at: &usize| rounded[*at].is_nan() && !self.is_nan(array, *at);
                let open = (0..array.len).filter(is_open).collect();
                (rounded, open)
            }
        };
        FloatTruth { dims, rounded, open, tops: Vec::new() }
    }

    /// Applies `find` to every element; elements for which it returns `None` stay open.
    fn each(&self, array: &FloatArray<A>, dims: Vec<usize>, find: impl Fn(&A::Number) -> Option<f64>) -> FloatTruth {
        let (mut rounded, mut open) = (Vec::with_capacity(array.len), Vec::new());
        for at in 0..array.len {
            let found = find(&self.world.number(array, at));
            rounded.push(found.unwrap_or(f64::NAN));
            if found.is_none() {
                open.push(at);
            }
        }
        FloatTruth { dims, rounded, open, tops: Vec::new() }
    }

    /// A number within 2^-10 of an ulp of `format`; beyond the largest of the format, the result of rounding.
    fn near(&self, number: &A::Number, format: &Format) -> Option<f64> {
        let arithmetic = &self.world.arithmetic;
        if arithmetic.as_exact(number).is_some() || !arithmetic.is_number(number) {
            return arithmetic.as_exact(number);
        }
        let (lo, hi) = arithmetic.bounds(number);
        let least = if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
        if least > format.max_finite() {
            return self.round_to(number, format);
        }
        (hi - lo <= format.ulp(least) / 512.0).then_some(0.5 * lo + 0.5 * hi)
    }

    /// The number rounded to nearest even in `format`, where its enclosure decides it.
    pub(super) fn round_to(&self, number: &A::Number, format: &Format) -> Option<f64> {
        let arithmetic = &self.world.arithmetic;
        let nearest = |value: f64| num::round_f64(format, value, Direction::NearestEven);
        if let Some(exact) = arithmetic.as_exact(number) {
            return Some(nearest(exact));
        }
        if !arithmetic.is_number(number) {
            return None;
        }
        let (lo, hi) = arithmetic.bounds(number);
        let (low, high) = (nearest(lo), nearest(hi));
        // Beyond both ends of a format is NaN, but not between them.
        let same_side = lo > 0.0 || hi < 0.0 || hi <= 0.0 && !format.has_negative_numbers();
        let is_one = if low.is_nan() { high.is_nan() && same_side } else { low.to_bits() == high.to_bits() };
        if is_one {
            return Some(low);
        }
        // The bounds are f64, and may lie on a tie on whose other side the number is known to be.
        let tie = 0.5 * low + 0.5 * high;
        if low == 0.0 && high == 0.0 || nearest(tie) != low && nearest(tie) != high {
            return None;
        }
        match arithmetic.compare(number, &arithmetic.exact(tie))? {
            Ordering::Less if nearest(tie.next_down()).to_bits() == low.to_bits() => Some(low),
            Ordering::Greater if nearest(tie.next_up()).to_bits() == high.to_bits() => Some(high),
            _ => None,
        }
    }

    fn is_nan(&self, array: &FloatArray<A>, at: usize) -> bool {
        self.world.arithmetic.is_nan(&self.world.number(array, at))
    }

    fn ordered(&mut self, array: &FloatArray<A>, dims: Vec<usize>, format: &Format) -> FloatTruth {
        let n = dims.last().copied().unwrap_or(1).max(1);
        let mut tops = Vec::with_capacity(array.len / n);
        for start in (0..array.len).step_by(n) {
            tops.push(self.top(array, start, n, format));
        }
        FloatTruth { dims, rounded: Vec::new(), open: Vec::new(), tops }
    }

    /// The top of the row of `n` elements from `start` on.
    fn top(&mut self, array: &FloatArray<A>, start: usize, n: usize, format: &Format) -> Top {
        let (mut nans, mut unknown) = (Vec::new(), Vec::new());
        for i in 0..n {
            let number = self.world.number(array, start + i);
            if self.world.arithmetic.is_nan(&number) {
                nans.push(i);
            } else if !self.world.arithmetic.is_number(&number) {
                unknown.push(i);
            }
        }
        if !nans.is_empty() || !unknown.is_empty() {
            // What is unknown may be NaN, too.
            return Top { best: nans, runner_up: None, margin_ulp: None, decided: unknown.is_empty(), rivals: unknown };
        }
        let all: Vec<usize> = (0..n).collect();
        let (leader, mut decided) = self.leader(array, start, &all);
        let (mut best, mut below, mut rivals) = (Vec::new(), Vec::with_capacity(n), Vec::new());
        let Some(leader) = leader else { return Top { best, runner_up: None, margin_ulp: None, decided, rivals } };
        for i in all {
            match self.versus(array, start + i, start + leader) {
                Comparison::Is(Ordering::Equal) => best.push(i),
                Comparison::Is(Ordering::Less) => below.push(i),
                Comparison::Open => rivals.push(i),
                _ => {}
            }
        }
        decided &= rivals.is_empty();
        let (runner_up, known) = self.leader(array, start, &below);
        let margin_ulp = runner_up.and_then(|r| self.margin(array, start + leader, start + r, format));
        // A best that is infinite, or beyond all f64, has no margin in ulps; any other must have one.
        let bounds = |at: usize| self.world.arithmetic.bounds(&self.world.number(array, start + at));
        let (lo, hi) = bounds(leader);
        let exponent = self.world.arithmetic.exponent(&self.world.number(array, start + leader));
        let is_beyond = (lo == hi && lo.is_infinite()) || exponent.is_some_and(|e| e > num::F64.emax());
        let has_margin = runner_up.is_none() || margin_ulp.is_some() || is_beyond;
        let runner_is_finite = runner_up.is_none_or(|r| bounds(r).1 != f64::NEG_INFINITY);
        Top { best, runner_up, margin_ulp, decided: decided && known && (has_margin || !runner_is_finite), rivals }
    }

    /// The comparison of two numbers of one array: by their keys if they are of one class.
    fn versus(&mut self, array: &FloatArray<A>, a: usize, b: usize) -> Comparison {
        if let Identities::Known { classes, keys } = &array.identities
            && classes.at(a) == classes.at(b)
            && let Some(ordering) = keys.at(a).partial_cmp(keys.at(b))
        {
            return Comparison::Is(ordering);
        }
        self.world.compare_at((array, a), (array, b))
    }

    /// The lowest position of a largest element among the `eligible`, and whether every comparison was decided.
    fn leader(&mut self, array: &FloatArray<A>, start: usize, eligible: &[usize]) -> (Option<usize>, bool) {
        let mut leader: Option<usize> = None;
        let mut decided = true;
        for i in eligible {
            let Some(current) = leader else {
                leader = Some(*i);
                continue;
            };
            match self.versus(array, start + i, start + current) {
                Comparison::Is(Ordering::Greater) => leader = Some(*i),
                Comparison::Is(_) => {}
                Comparison::Unordered | Comparison::Open => decided = false,
            }
        }
        (leader, decided)
    }

    /// The gap of two elements in ulps at the first, rounded to eight bits where the enclosures agree on that.
    fn margin(&mut self, array: &FloatArray<A>, best: usize, next: usize, format: &Format) -> Option<f64> {
        let (best, next) = (self.world.number(array, best), self.world.number(array, next));
        if self.world.arithmetic.as_exact(&next).is_some_and(f64::is_infinite) {
            return None;
        }
        let exponent = match self.world.arithmetic.as_exact(&best) {
            Some(0.0) => format.emin(),
            _ => self.world.arithmetic.exponent(&best).filter(|e| *e <= num::F64.emax())?.max(format.emin()),
        };
        let ulp = num::exp2i(exponent - format.fraction_bits as i32);
        let gap = self.world.arithmetic.binary(Field::Subtract, &best, &next);
        let (gap_lo, gap_hi) = self.world.arithmetic.bounds(&gap);
        let eight_bits = |v: f64| num::round_f64(&EIGHT_BITS, v, Direction::NearestEven);
        let (low, high) = (eight_bits(gap_lo / ulp), eight_bits(gap_hi / ulp));
        (low == high).then_some(low)
    }
}

/// The answers of all passes so far.
pub(super) struct PassAnswers {
    demands: Vec<Demand>,
    elements: Vec<usize>,
    outputs: Option<Vec<TruthTensor>>,
}

impl PassAnswers {
    /// No answers yet to these demands, one a result.
    pub fn new(program: &Program, demands: &[Demand]) -> PassAnswers {
        let entry = program.entry();
        let elements = program.outputs().iter().map(|o| entry.instructions[*o].shape.elements()).collect();
        PassAnswers { demands: demands.to_vec(), elements, outputs: None }
    }

    /// The demands on the outputs that are still open.
    pub fn demands(&self) -> Vec<Demand> {
        let Some(outputs) = &self.outputs else { return self.demands.clone() };
        let open = |(demand, output): (&Demand, &TruthTensor)| if output.open() > 0 { *demand } else { Demand::None };
        self.demands.iter().zip(outputs).map(open).collect()
    }

    /// The elements of each output that are still demanded.
    pub fn needs(&self) -> Vec<Need> {
        let Some(outputs) = &self.outputs else { return vec![Need::All; self.demands.len()] };
        let wanted = |output: &TruthTensor| match output {
            TruthTensor::Float(float) if !float.open.is_empty() => {
                let mut wanted = vec![false; float.rounded.len()];
                float.open.iter().for_each(|at| wanted[*at] = true);
                Need::Some(wanted)
            }
            _ => Need::All,
        };
        outputs.iter().map(wanted).collect()
    }

    /// Whether all that is open is to be rounded.
    pub fn only_roundings_open(&self) -> bool {
        let wanted = self.needs();
        self.demands().iter().zip(&wanted).all(|(d, w)| *d == Demand::None || matches!(w, Need::Some(_)))
    }

    /// Adds the answers of a later pass; returns the number of elements that they decided.
    pub fn add(&mut self, truth: Vec<TruthTensor>) -> u64 {
        let before = self.open_elements();
        match &mut self.outputs {
            None => self.outputs = Some(truth),
            Some(outputs) => outputs.iter_mut().zip(truth).for_each(|(known, later)| known.fill(later)),
        }
        before - self.open_elements()
    }

    /// Elements that are still open; all those of a row whose top is.
    fn open_elements(&self) -> u64 {
        let of = |(i, demand): (usize, &Demand)| match (&self.outputs, demand) {
            (_, Demand::None) => 0,
            (None, _) => self.elements[i] as u64,
            (Some(outputs), _) => match &outputs[i] {
                TruthTensor::Float(f) if !f.tops.is_empty() => {
                    outputs[i].open() * (self.elements[i] / f.tops.len()) as u64
                }
                other => other.open(),
            },
        };
        self.demands.iter().enumerate().map(of).sum()
    }

    /// Elements and rows that are still open.
    pub fn open(&self) -> u64 {
        self.outputs.iter().flatten().map(TruthTensor::open).sum()
    }

    /// All answers, with what is still open counted among the figures.
    pub fn finish(self, stats: Stats) -> Truth {
        let undecided = self.open();
        Truth { outputs: self.outputs.unwrap_or_default(), stats: Stats { undecided, ..stats } }
    }
}
