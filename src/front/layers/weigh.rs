//! One recorded value beside what its part makes of the recorded inputs.

use crate::judge::Verdict;
use crate::num::Format;

use super::explained::{Explained, mean_squares};
use super::{Along, Side};

/// Factor by which the error of a whole value may exceed the explained one.
const WHOLE: f64 = 3.0;

/// The same of one row: a row's few roundings may all be small in one run.
const ROW: f64 = 8.0;

/// The same of one element, over what is explained in its row and at the element.
const ELEMENT: f64 = 16.0;

/// Positions that are listed.
const LISTED: usize = 8;

/// A recorded value.
pub(super) struct Observed<'a> {
    pub values: &'a [f64],
    pub dims: &'a [usize],
    /// The value's type in the program.
    pub format: &'static Format,
    /// Whether any operation of the part rounds.
    pub rounds: bool,
}

impl Observed<'_> {
    fn width(&self) -> usize {
        self.dims.last().copied().unwrap_or(1).max(1)
    }

    /// Weighs the value against the modes whose precision is at least the one at this place of [`crate::machine::PRECISIONS`];
    /// `None` if there is no such mode.
    #[expect(clippy::too_many_lines, reason = "the figures of one value are weighed together")]
    pub fn weigh(&self, explained: &Explained, rank: usize) -> Option<Side> {
        let (width, exact) = (self.width(), &explained.exact);
        let modes: Vec<_> = explained.modes.iter().filter(|mode| mode.rank >= rank).collect();
        let named = modes.iter().min_by_key(|mode| mode.rank)?;
        let rows = self.values.len().div_ceil(width);
        let least: Vec<f64> = (0..rows).map(|row| self.least(&exact[row * width..(row + 1) * width])).collect();
        let honest: Vec<f64> =
            (0..rows).map(|row| modes.iter().map(|mode| mode.rows[row]).fold(least[row], f64::max)).collect();
        let own = mean_squares(self.values, exact, width);
        let size = mean_squares(exact, &vec![0.0; exact.len()], width);
        let mean = |squares: &[f64]| squares.iter().sum::<f64>() / squares.len().max(1) as f64;
        let (error, allowed, all) = (mean(&own).sqrt(), mean(&honest).sqrt(), mean(&size).sqrt());
        let relative = if all > 0.0 { allowed / all } else { 0.0 };
        // A row whose own roundings happen to be small may have those of the others.
        let scale: Vec<f64> =
            honest.iter().zip(&size).map(|(own, size)| own.sqrt().max(relative * size.sqrt())).collect();
        let at_element = |at: usize| {
            let drawn = modes.iter().map(|mode| (mode.on_machine[at] - exact[at]).abs()).filter(|e| e.is_finite());
            let ulp = if self.rounds && exact[at].is_finite() { self.format.ulp(exact[at]) } else { 0.0 };
            drawn.fold(scale[at / width].max(ulp), f64::max)
        };
        let strange = |at: &usize| {
            let value = self.values[*at];
            let is_alike = |other: f64| value == other || value.is_nan() && other.is_nan();
            let is_a_modes = is_alike(exact[*at]) || modes.iter().any(|mode| is_alike(mode.on_machine[*at]));
            !(is_a_modes || value.is_finite() && exact[*at].is_finite())
        };
        let strange: Vec<usize> = (0..self.values.len()).filter(strange).collect();
        let far = |at: &usize| (self.values[*at] - exact[*at]).abs() > ELEMENT * at_element(*at);
        let far: Vec<usize> = (0..self.values.len()).filter(far).collect();
        let bad_rows: Vec<usize> = (0..rows).filter(|row| own[*row].sqrt() > ROW * scale[*row]).collect();
        let ratio = if error == 0.0 { 0.0 } else { error / allowed };
        // A zero of the other sign is another number: its reciprocal and its square root differ.
        let bits = modes.iter().find(|mode| super::explained::is_same(self.values, &mode.on_machine));
        let mut side = Side {
            verdict: Verdict::Conforming,
            because: Vec::new(),
            mode: Some(bits.unwrap_or(named).mode.to_string()),
            judged_from: Vec::new(),
            error: if all > 0.0 { error / all } else { error },
            explained: if all > 0.0 { allowed / all } else { allowed },
            ratio: ratio.is_finite().then_some(ratio),
            rows: bad_rows,
            elements: far.iter().copied().take(LISTED).collect(),
            along: Vec::new(),
            pattern: Vec::new(),
        };
        if bits.is_some() {
            side.verdict = Verdict::Bits;
            (side.rows, side.elements) = (Vec::new(), Vec::new());
            return Some(side);
        }
        if !strange.is_empty() {
            let first = strange[0];
            let (value, right) = (self.values[first], exact[first]);
            side.because.push(format!(
                "{} of {} elements are not finite where they should be, or the reverse: element {first} is {value} and \
                should be about {right:.6}",
                strange.len(),
                self.values.len()
            ));
        }
        if ratio > WHOLE {
            side.because.push(match ratio.is_finite() {
                true => format!("the error is {} times what the roundings explain", told(ratio)),
                false => "no operation of this part rounds, and the values differ".to_string(),
            });
        } else if !side.rows.is_empty() {
            let worst = side.rows.iter().map(|row| own[*row].sqrt() / scale[*row]).fold(0.0, f64::max);
            side.because.push(format!(
                "{} of {rows} rows err up to {} times as much as their roundings explain, the first is row {}",
                side.rows.len(),
                told(worst),
                side.rows[0]
            ));
        } else if let Some(first) = far.first() {
            side.because.push(format!(
                "{} of {} elements err by more than {ELEMENT} times what their row explains, the first is element {first}",
                far.len(),
                self.values.len()
            ));
        }
        if side.because.is_empty() {
            (side.rows, side.elements) = (Vec::new(), Vec::new());
        } else {
            side.verdict = Verdict::Outside;
            side.along = self.along(exact, &scale);
        }
        Some(side)
    }

    /// The mean square that a rounding of the result's type makes in a row; 0 where nothing rounds.
    fn least(&self, exact: &[f64]) -> f64 {
        if !self.rounds {
            return 0.0;
        }
        let squares = exact.iter().map(|value| self.format.ulp(*value).powi(2) / 12.0).filter(|s| s.is_finite());
        squares.sum::<f64>() / exact.len().max(1) as f64
    }

    /// The indices along each dim at which nothing is wrong, of dims that have such and others.
    fn along(&self, exact: &[f64], scale: &[f64]) -> Vec<Along> {
        let mut found = Vec::new();
        let mut stride = self.values.len();
        for (dim, extent) in self.dims.iter().copied().enumerate() {
            stride /= extent.max(1);
            let mut squares = vec![(0.0, 0usize); extent];
            for (at, (value, right)) in self.values.iter().zip(exact).enumerate() {
                let error = (value - right) / scale[at / self.width()];
                let (sum, count) = &mut squares[at / stride.max(1) % extent.max(1)];
                let square = if value == right { 0.0 } else { error * error };
                (*sum, *count) = (*sum + if square.is_nan() { f64::INFINITY } else { square }, *count + 1);
            }
            let is_right = |(sum, count): &(f64, usize)| *sum <= WHOLE * WHOLE * (*count).max(1) as f64;
            let right: Vec<usize> = (0..extent).filter(|index| is_right(&squares[*index])).collect();
            if !right.is_empty() && right.len() < extent {
                let outside = (0..extent).filter(|index| !right.contains(index)).collect();
                found.push(Along { dim, right, outside });
            }
        }
        found
    }
}

/// A factor with three digits or as an integer.
pub(super) fn told(factor: f64) -> String {
    if factor < 100.0 { format!("{factor:.2}") } else { format!("{factor:.0}") }
}

#[cfg(test)]
mod tests {
    use super::super::explained::ModeErrors;
    use super::*;
    use crate::num::F32;

    const ROWS: usize = 64;
    const WIDTH: usize = 16;
    /// The explained root mean square, some ulps of values near 1.
    const SCALE: f64 = 1e-6;

    /// The verdict on a value whose element `at` errs by `of(at)` explained errors.
    fn weighed(of: impl Fn(usize) -> f64) -> Side {
        let exact: Vec<f64> = (0..ROWS * WIDTH).map(|at| 1.0 + (at % 7) as f64 * 0.125).collect();
        let mode = |rank, scale: f64| ModeErrors {
            mode: "cpu/highest/off".parse().unwrap(),
            rank,
            on_machine: exact.clone(),
            rows: vec![scale * scale; ROWS],
        };
        let explained = Explained { exact: exact.clone(), modes: vec![mode(2, SCALE), mode(0, 1e3 * SCALE)] };
        let values: Vec<f64> = exact.iter().enumerate().map(|(at, x)| x + SCALE * of(at)).collect();
        let observed = Observed { values: &values, dims: &[ROWS, WIDTH], format: &F32, rounds: true };
        assert_ne!(observed.weigh(&explained, 0).unwrap().verdict, Verdict::Outside);
        assert!(observed.weigh(&explained, 3).is_none());
        observed.weigh(&explained, 2).unwrap()
    }

    #[test]
    fn a_zero_of_the_other_sign_is_not_the_same_bits() {
        let mode = ModeErrors {
            mode: "cpu/highest/off".parse().unwrap(),
            rank: 0,
            on_machine: vec![0.0, 1.0, f64::NAN],
            rows: vec![SCALE * SCALE],
        };
        let explained = Explained { exact: vec![0.0, 1.0, f64::NAN], modes: vec![mode] };
        for (zero, verdict) in [(0.0, Verdict::Bits), (-0.0, Verdict::Conforming)] {
            let values = [zero, 1.0, -f64::NAN];
            let observed = Observed { values: &values, dims: &[3], format: &F32, rounds: true };
            let side = observed.weigh(&explained, 0).unwrap();
            assert_eq!(side.verdict, verdict, "{zero}");
            assert_eq!(side.ratio, Some(0.0), "{zero}");
        }
    }

    #[test]
    fn a_whole_a_row_and_an_element_have_limits_of_their_own() {
        let sign = |at: usize| if at.is_multiple_of(3) { -1.0 } else { 1.0 };
        for (factor, is_outside) in [(2.9, false), (3.1, true)] {
            assert_eq!(weighed(|at| factor * sign(at)).verdict == Verdict::Outside, is_outside, "{factor}");
        }
        for (factor, is_outside) in [(7.5, false), (8.5, true)] {
            let side = weighed(|at| if at / WIDTH == 5 { factor * sign(at) } else { sign(at) });
            assert_eq!(side.verdict == Verdict::Outside, is_outside, "{factor}");
            assert_eq!(side.rows, if is_outside { vec![5] } else { vec![] });
        }
        for (factor, is_outside) in [(15.0, false), (17.0, true)] {
            let side = weighed(|at| if at == 100 { factor } else { sign(at) });
            assert_eq!(side.verdict == Verdict::Outside, is_outside, "{factor}");
            assert_eq!(side.elements, if is_outside { vec![100] } else { vec![] });
        }
        assert_eq!(weighed(|_| 0.0).verdict, Verdict::Bits);
    }

    /// Any difference is outside if no operation rounds.
    #[test]
    fn a_part_that_only_moves_elements_explains_nothing() {
        let mode = ModeErrors {
            mode: "cpu/highest/off".parse().unwrap(),
            rank: 2,
            on_machine: vec![1.0, 2.0],
            rows: vec![0.0],
        };
        let explained = Explained { exact: vec![1.0, 2.0], modes: vec![mode] };
        let observed = Observed { values: &[1.0, 2.0000002], dims: &[2], format: &F32, rounds: false };
        let side = observed.weigh(&explained, 0).unwrap();
        assert_eq!((side.verdict, side.ratio), (Verdict::Outside, None));
        assert_eq!(side.along, [Along { dim: 0, right: vec![0], outside: vec![1] }]);
        let rounding = Observed { rounds: true, ..observed };
        assert_eq!(rounding.weigh(&explained, 0).unwrap().verdict, Verdict::Conforming);
    }
}
