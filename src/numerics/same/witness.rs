//! Inputs on which both programs are run, until one shows bits that differ.

use std::fmt;
use std::iter::repeat_n;
use std::time::{Duration, Instant};

use crate::budget::{self, TooLarge};
use crate::deadline::{self, Pace};
use crate::input::{InputKey, Sampler, Streams};
use crate::ir::{Shape, ValueId};
use crate::machine::{EvalError, Permits, Prepared, Replay};
use crate::num::{Direction, round_f64};
use crate::tensor::{DType, Data, Tensor};

use super::alignment::Alignment;
use super::parting::Meeting;
use super::{Parting, SIDES, SameError, Settings};

/// An element that differs, by its bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The value that differs: a result, or a value of each program.
    pub what: String,
    /// The element type.
    pub dtype: DType,
    /// The element's place in the first and in the second program.
    pub index: [Vec<usize>; 2],
    /// Its bits in each.
    pub bits: [u64; 2],
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] =
            self.bits.map(|bits| format!("0x{bits:0width$x}", width = self.dtype.bits().div_ceil(4) as usize));
        write!(f, "{} {}{:?}", self.what, self.dtype, self.index[0])?;
        if self.index[0] != self.index[1] {
            write!(f, " against {:?}", self.index[1])?;
        }
        write!(f, ": {one} against {other}")
    }
}

/// An input that parts two programs.
#[derive(Clone, Debug)]
pub struct Difference {
    inputs: [Vec<Tensor>; 2],
    shown: Shown,
    results: [usize; 2],
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)
    }
}

/// A search for an input.
pub struct Search<'a> {
    prepared: &'a [Prepared<'a>; 2],
    settings: &'a Settings,
    pub(super) alignment: &'a Alignment,
    permits: Permits,
    /// Integers that arguments may have.
    integers: IntegerRange,
    /// Inputs on which both programs were run.
    pub tried: u64,
    /// Those in which a narrow float has numbers in their order.
    pub(super) numbers_tried: u64,
    /// When trying ends, within an input as well.
    pub until: Option<Instant>,
}

impl<'a> Search<'a> {
    pub fn new(
        prepared: &'a [Prepared<'a>; 2],
        settings: &'a Settings,
        alignment: &'a Alignment,
        permits: Permits,
    ) -> Search<'a> {
        let until = Instant::now().checked_add(settings.patience);
        let counts = prepared.iter().any(|one| one.program().has_loop());
        let integers = if counts { IntegerRange::Small } else { IntegerRange::Any };
        Search { prepared, settings, alignment, permits, integers, tried: 0, numbers_tried: 0, until }
    }

    /// Whether the settings allow another input, but for the time.
    pub fn goes_on(&self) -> bool {
        let elements = self.tried.saturating_mul(self.alignment.elements());
        self.tried < self.settings.trials || elements < self.settings.elements
    }

    /// The longest time that inputs are tried, beyond the first few.
    pub fn patience(&self) -> Duration {
        self.settings.patience
    }

    /// Runs both programs on one more input; gives what differs.
    pub fn next(&mut self, block: usize) -> Result<Option<Difference>, SameError> {
        let trial = self.tried;
        // Numbers are drawn as f64 before they are of their type.
        let bytes = u128::from(self.alignment.elements()).saturating_mul(16);
        let too_large =
            |error: TooLarge| SameError::Evaluation { which: SIDES[self.alignment.large()], error: error.into() };
        let held = budget::reserve(bytes, || "an input to try".to_string()).map_err(too_large)?;
        let arguments = self.arguments(trial);
        drop(held);
        Ok(self.try_on(&arguments, trial, block)?.1)
    }

    /// The larger program's arguments of a trial.
    pub fn arguments(&self, trial: u64) -> Vec<Tensor> {
        let large = self.alignment.large();
        let shapes = self.alignment.shapes(large);
        shapes.iter().enumerate().map(|(at, shape)| self.fill(trial, 2 * at + large, shape)).collect()
    }

    /// An argument of a trial ([`fill`]).
    pub fn fill(&self, trial: u64, argument: usize, shape: &Shape) -> Tensor {
        fill(trial, argument, shape, self.integers)
    }

    /// Runs both programs on arguments of the larger one, the smaller one on its part of them; gives their results and what
    /// differs. Arguments of the smaller program alone are those of the trial.
    pub fn try_on(
        &mut self,
        of_large: &[Tensor],
        trial: u64,
        block: usize,
    ) -> Result<(Vec<Vec<Tensor>>, Option<Difference>), SameError> {
        let large = self.alignment.large();
        let of_small = self.alignment.cut(of_large, block, |at, shape| self.fill(trial, 2 * at + 1 - large, shape));
        let of_large = of_large.to_vec();
        let inputs = if large == 1 { [of_small, of_large] } else { [of_large, of_small] };
        let results = [self.results(0, &inputs[0])?, self.results(1, &inputs[1])?];
        self.tried += 1;
        let differs = |a: &Tensor, i: usize, b: &Tensor, j: usize| self.differ(a, i, b, j);
        let found = self.alignment.first_difference([&results[0], &results[1]], block, differs);
        let found = found.map(|(number, places)| {
            let [one, other] = self.alignment.result_numbers()[number];
            let what = if one == other { format!("result {one}") } else { format!("result {one} and result {other}") };
            let shown = shown(what, [&results[0][one], &results[1][other]], places);
            Difference { inputs, shown, results: [one, other] }
        });
        Ok((results.into(), found))
    }

    fn results(&self, side: usize, inputs: &[Tensor]) -> Result<Vec<Tensor>, SameError> {
        let (prepared, mode) = (&self.prepared[side], &self.settings.modes[side]);
        let evaluate = || prepared.evaluate(mode, &prepared.bind(inputs)?);
        evaluate().map_err(|error| SameError::Evaluation { which: SIDES[side], error })
    }

    /// The array that a value of the entry is; none of a tuple.
    fn value(&self, side: usize, inputs: &[Tensor], id: ValueId) -> Result<Option<Tensor>, SameError> {
        let (prepared, mode) = (&self.prepared[side], &self.settings.modes[side]);
        let replay = || -> Result<_, EvalError> { Replay::new(prepared, mode, &prepared.bind(inputs)?) };
        let replay = replay().map_err(|error| SameError::Evaluation { which: SIDES[side], error })?;
        Ok(replay.tensor(id).ok())
    }

    /// Whether two elements have other bits; all NaNs are one.
    fn differ(&self, a: &Tensor, i: usize, b: &Tensor, j: usize) -> bool {
        let (one, other) = (a.data().bits(i), b.data().bits(j));
        if one == other || !a.dtype().is_float() {
            return one != other;
        }
        let [x, y] = [a.data().get_f64(i), b.data().get_f64(j)];
        !(x.is_nan() && y.is_nan() || self.permits.one_zero && x == 0.0 && y == 0.0)
    }

    /// The differing bits of a result, and of a value on the way if `meeting` names two.
    pub fn show(&self, meeting: Option<Meeting>, difference: Difference) -> Result<Parting, SameError> {
        let Difference { inputs, shown: result, results } = difference;
        let mut value = None;
        if let Some(meeting) = &meeting {
            let both = || [0, 1].map(|side| self.value(side, &inputs[side], meeting.places[side].value));
            // Naming it takes no longer than finding it may.
            let until = Instant::now().checked_add(self.settings.patience);
            if let Ok([one, other]) = deadline::until(until, both)
                && let (Some(a), Some(b)) = (&one?, &other?)
                && a.dtype() == b.dtype()
                && a.len() == b.len()
                && let Some(at) = (0..a.len()).find(|at| self.differ(a, *at, b, *at))
            {
                value = Some(shown(meeting.names(), [a, b], [at, at]));
            }
        }
        Ok(Parting { meeting, value, result, results, inputs })
    }
}

fn shown(what: String, [a, b]: [&Tensor; 2], places: [usize; 2]) -> Shown {
    let index = |tensor: &Tensor, mut at: usize| {
        let mut index = vec![0; tensor.dims().len()];
        for (i, extent) in index.iter_mut().zip(tensor.dims()).rev() {
            *i = at % extent.max(&1);
            at /= extent.max(&1);
        }
        index
    };
    Shown {
        what,
        dtype: a.dtype(),
        index: [index(a, places[0]), index(b, places[1])],
        bits: [a.data().bits(places[0]), b.data().bits(places[1])],
    }
}

/// Scales of normal numbers, each for four trials: the last ones reach subnormals of f32 and overflow.
const SCALES: [f64; 8] = [1.0, 4.0, 0.05, 30.0, 1e-3, 1e4, 1e-41, 1e30];
/// Scales of scores, of which a softmax makes neither one token nor all alike: a sampler's pick depends on their last bits.
const SCORES: [f64; 3] = [4.0, 2.0, 1.0];
/// The first trial that may be of scores: before it, every scale has its turn.
const FIRST_SCORES: u64 = 4 * SCALES.len() as u64;
/// Integers that an argument may have, whatever a trial draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntegerRange {
    /// Of either sign, below [`BELOW`] in magnitude: a loop may count to them.
    Small,
    /// All numbers of their type.
    Any,
}

/// Integers below these, one a trial: indices, tokens, lengths.
const BELOW: [u64; 5] = [8, 64, 2, 1024, 50_000];

/// The random numbers of a trial.
pub fn streams(trial: u64) -> Streams {
    Streams::new(&InputKey { suite: "same".to_string(), input: "search".to_string(), n: 0, seed: trial })
}

/// An argument of a trial. Of four trials in a row one has ties, zeros, subnormals and infinities among its numbers, one positive
/// numbers in every other argument, as variances and counts are, and one arguments whose products end near the least normal
/// number of f32, every other time in rows of equal numbers. From the 33rd trial on, three of eight are scores of tokens. One of
/// sixteen has zeros of both signs and subnormals for most of its numbers: only then do two -0 meet.
fn fill(trial: u64, argument: usize, shape: &Shape, integers: IntegerRange) -> Tensor {
    let streams = streams(trial);
    let (mut sampler, mut pace) = (streams.sampler(argument as u64, 0), Pace::default());
    let (dtype, count) = (shape.element_type(), shape.elements());
    let data = if dtype.is_float() {
        // Three of eight trials: a row of other numbers leaves a sampler no choice.
        let is_scores = trial >= FIRST_SCORES && (trial.is_multiple_of(4) || trial % 8 == 3);
        let scale = match trial % 4 {
            _ if is_scores => SCORES[trial as usize / 4 % SCORES.len()],
            2 => {
                let exponent = 80.0 * streams.sampler(u64::MAX, 0).uniform() - 42.0;
                let near = 2.0 * sampler.uniform() - 39.0;
                core_math::pow(10.0, if (argument / 2).is_multiple_of(2) { exponent } else { near - exponent })
            }
            _ => SCALES[trial as usize / 4 % SCALES.len()],
        };
        let positive = (trial + argument as u64 / 2) % 4 == 1;
        let has_specials = trial % 4 == 3 && !is_scores;
        let mut value = |sampler: &mut Sampler| {
            pace.spend(16);
            let value = sampler.normal() * scale;
            let value = if positive { value.abs() } else { value };
            if !has_specials {
                value
            } else if trial % 16 == 7 && sampler.below(4) > 0 {
                small_or_zero(sampler, value)
            } else if sampler.below(16) == 0 {
                special(sampler, value)
            } else {
                value
            }
        };
        let equal = if trial % 8 == 6 { shape.dims().last().copied().unwrap_or(1).max(1) } else { 1 };
        let each = (0..count.div_ceil(equal)).map(|_| value(&mut sampler));
        let values: Vec<f64> = each.flat_map(|value| repeat_n(value, equal)).take(count).collect();
        floats(dtype, &values)
    } else {
        Data::from_i64s(dtype, &(0..count).map(|_| integer(trial, dtype, integers, &mut sampler)).collect::<Vec<i64>>())
    };
    match data.or_else(|| Data::from_i64s(dtype, &vec![0; count])) {
        Some(data) => Tensor::new(shape.dims(), data),
        None => Tensor::new(shape.dims(), Data::Pred((0..count).map(|_| sampler.below(2) == 1).collect())),
    }
}

/// An integer of a trial, most often an index, a token or a length. One trial of eight has them of both signs, one any bits and the numbers
/// around powers of two, which are the ends of a type as well.
fn integer(trial: u64, dtype: DType, integers: IntegerRange, sampler: &mut Sampler) -> i64 {
    let below = BELOW[trial as usize % BELOW.len()];
    match trial % 8 {
        _ if dtype == DType::Pred => sampler.below(2) as i64,
        3 if integers == IntegerRange::Any => match sampler.below(2) {
            0 => sampler.bits() as i64,
            _ => {
                let around = (1i64 << sampler.below(u64::from(dtype.bits()))).wrapping_add(sampler.below(3) as i64 - 1);
                if sampler.below(2) == 0 { around } else { around.wrapping_neg() }
            }
        },
        1 | 3 => sampler.below(2 * below) as i64 - below as i64,
        _ => small(dtype, sampler.below(below)),
    }
}

fn small(dtype: DType, value: u64) -> i64 {
    let most = 1i64 << (dtype.bits().min(32) - u32::from(dtype.is_signed())).max(1);
    value as i64 % most
}

/// Numbers rounded to a float type.
pub fn floats(dtype: DType, values: &[f64]) -> Option<Data> {
    Data::from_f64s(dtype, &values.iter().map(|value| nearest(dtype, *value)).collect::<Vec<f64>>())
}

/// A number rounded to a float type.
pub fn nearest(dtype: DType, value: f64) -> f64 {
    dtype.format().map_or(value, |format| round_f64(format, value, Direction::NearestEven))
}

/// A zero of either sign, or a subnormal of f32.
fn small_or_zero(sampler: &mut Sampler, value: f64) -> f64 {
    match sampler.below(3) {
        0 => 0.0,
        1 => -0.0,
        _ => 1e-40 * value.clamp(-1.0, 1.0),
    }
}

fn special(sampler: &mut Sampler, value: f64) -> f64 {
    match sampler.below(8) {
        0 => 0.0,
        1 => -0.0,
        2 => 1e-40 * value,
        3 => f64::INFINITY * value.signum(),
        4 | 5 => value.round(),
        6 => 1e38 * value,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two arguments that lie two apart one is positive while the other is not: variances are, and what they divide is not.
    #[test]
    fn some_arguments_are_positive_while_others_are_not() {
        let shape = Shape::array(DType::F32, &[64]);
        let is_positive = |trial: u64, at: usize| {
            fill(trial, at, &shape, IntegerRange::Any).data().to_f32s().iter().all(|v| *v >= 0.0)
        };
        for (positive, signed) in [(0, 2), (1, 3), (2, 0), (3, 1)] {
            let tells = |trial: u64| is_positive(trial, positive) && !is_positive(trial, signed);
            assert!((0..4).any(tells), "argument {positive} beside argument {signed}");
        }
    }
}
