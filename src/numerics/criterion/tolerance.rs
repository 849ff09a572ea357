//! Tolerances of tests: whether honest results keep to them, and the faults that they let pass.

use std::fmt;

use crate::metric::ulp_error;
use crate::num::{Format, exp2i, floor_log2};
use crate::stat::{Interval, clopper_pearson, deviation_limit};

/// A tolerance between computed and expected values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// `|computed - expected| <= atol + rtol |expected|` for each element, as NumPy and PyTorch have it.
    Close {
        /// The absolute part, in the result's unit.
        atol: f64,
        /// The relative part.
        rtol: f64,
    },
    /// So many units in the last place of the result's type for each element.
    Ulp(f64),
    /// `sum (computed - expected)^2 / sum expected^2` over all elements, at most this.
    Nmse(f64),
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Close { atol, rtol } => write!(f, "atol={atol:?} rtol={rtol:?}"),
            Tolerance::Ulp(ulps) => write!(f, "ulp={ulps:?}"),
            Tolerance::Nmse(nmse) => write!(f, "nmse={nmse:?}"),
        }
    }
}

impl Tolerance {
    /// Each element's error over what is allowed, or one number for all elements; beyond 1 it fails. An error of 0 is 0.
    fn ratios(&self, computed: &[f64], expected: &[f64], format: &Format) -> Vec<f64> {
        let over = |error: f64, allowed: f64| match error {
            0.0 => 0.0,
            _ if error.is_nan() || allowed.is_nan() => f64::INFINITY,
            _ => error / allowed,
        };
        let each = computed.iter().zip(expected);
        match self {
            Tolerance::Close { atol, rtol } => {
                each.map(|(y, t)| {
                    if y == t || y.is_nan() && t.is_nan() { 0.0 } else { over((y - t).abs(), atol + rtol * t.abs()) }
                })
                .collect()
            }
            Tolerance::Ulp(ulps) => each.map(|(y, t)| over(ulp_error(format, *y, *t), *ulps)).collect(),
            Tolerance::Nmse(limit) => {
                let errors: f64 = each.map(|(y, t)| (y - t) * (y - t)).sum();
                vec![over(errors, limit * expected.iter().map(|t| t * t).sum::<f64>())]
            }
        }
    }

    /// Its parts: the absolute and the relative one, or the one number.
    pub fn parts(&self) -> Vec<f64> {
        match self {
            Tolerance::Close { atol, rtol } => vec![*atol, *rtol],
            Tolerance::Ulp(value) | Tolerance::Nmse(value) => vec![*value],
        }
    }

    /// The part that is no finite number from 0 on; `None` where all are.
    pub fn unfit_part(&self) -> Option<f64> {
        self.parts().into_iter().find(|value| !(value.is_finite() && *value >= 0.0))
    }

    /// The looser one of two tolerances of one kind, part by part; of two kinds this one.
    pub fn looser(self, other: Tolerance) -> Tolerance {
        match (self, other) {
            (Tolerance::Close { atol, rtol }, Tolerance::Close { atol: a, rtol: r }) => {
                Tolerance::Close { atol: atol.max(a), rtol: rtol.max(r) }
            }
            (Tolerance::Ulp(one), Tolerance::Ulp(other)) => Tolerance::Ulp(one.max(other)),
            (Tolerance::Nmse(one), Tolerance::Nmse(other)) => Tolerance::Nmse(one.max(other)),
            (one, _) => one,
        }
    }

    /// Whether the computed values keep to it.
    pub fn accepts(&self, computed: &[f64], expected: &[f64], format: &Format) -> bool {
        self.ratios(computed, expected, format).iter().all(|ratio| *ratio <= 1.0)
    }

    /// Why not even correctly rounded results of a magnitude up to `magnitude` keep to it; `None` where they do. With
    /// `is_reference_rounded`, the expected values are rounded to the same type, so that both may differ by a whole ulp.
    pub fn misfit(&self, format: &Format, magnitude: f64, is_reference_rounded: bool) -> Option<String> {
        let ulps = if is_reference_rounded { 1.0 } else { 0.5 };
        let what = if is_reference_rounded { "one ulp" } else { "half an ulp" };
        let (low, error, allowed) = match self {
            Tolerance::Close { atol, rtol } if magnitude > 0.0 && magnitude.is_finite() => {
                // The binade below the magnitude, at its least number, where the least is allowed.
                let low = exp2i(floor_log2(magnitude.next_down()));
                (low, ulps * format.ulp(low), atol + rtol * low)
            }
            Tolerance::Ulp(allowed) if *allowed < ulps => (magnitude, ulps, *allowed),
            _ => return None,
        };
        (error > allowed).then(|| {
            format!(
                "{what} of {} at {low:?} is {error:?}, and {allowed:?} is allowed: one rounding misses it",
                format.name
            )
        })
    }
}

/// The verdict on a tolerance.
#[derive(Clone, Debug, PartialEq)]
pub enum ToleranceVerdict {
    /// Honest results fail as a rule, or one rounding of the result may.
    Unsatisfiable(String),
    /// Some honest runs fail: a 95 % Clopper-Pearson interval of their share.
    Flaky(Interval),
    /// Honest runs pass, and so does what is plainly wrong, or another precision.
    Blind(Vec<String>),
    /// Honest runs pass, and nothing else that was tried.
    Fine,
}

impl ToleranceVerdict {
    /// The word for it.
    pub const fn name(&self) -> &'static str {
        match self {
            ToleranceVerdict::Unsatisfiable(_) => "unsatisfiable",
            ToleranceVerdict::Flaky(_) => "flaky",
            ToleranceVerdict::Blind(_) => "blind",
            ToleranceVerdict::Fine => "fine",
        }
    }

    /// The verdict of observed counts: `failed` of `runs` honest runs; `None` where no run failed, or there is none.
    pub fn of_counts(failed: u64, runs: u64) -> Option<ToleranceVerdict> {
        if failed == 0 {
            return None;
        }
        let interval = clopper_pearson(failed, runs, 0.95)?;
        Some(match failed > runs - failed {
            true => ToleranceVerdict::Unsatisfiable(format!("{failed} of {runs} honest runs fail")),
            false => ToleranceVerdict::Flaky(interval),
        })
    }
}

/// A share with two decimals, or as many as show its first two digits: one failed element of 10^4 is some 0.00025 % at least.
fn percent(share: f64) -> String {
    let mut decimals = 2;
    let mut shown = 1000.0 * share;
    while shown < 1.0 && shown > 0.0 && decimals < 12 {
        shown *= 10.0;
        decimals += 1;
    }
    format!("{:.decimals$} %", 100.0 * share)
}

impl fmt::Display for ToleranceVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToleranceVerdict::Unsatisfiable(why) => write!(f, "unsatisfiable: {why}"),
            ToleranceVerdict::Flaky(Interval { low, high }) => {
                write!(f, "flaky: {} to {} of honest runs fail", percent(*low), percent(*high))
            }
            ToleranceVerdict::Blind(to) => write!(f, "blind to {}", to.join(", ")),
            ToleranceVerdict::Fine => write!(f, "fine"),
        }
    }
}

/// Results that a test would see with a fault.
#[derive(Clone, Debug)]
pub struct FaultyRun {
    /// The fault in words.
    pub name: String,
    /// Whether a test that passes it is blind; a smaller fault is only reported.
    pub is_gross: bool,
    /// The results.
    pub computed: Vec<f64>,
}

/// One honest run, and the same with faults.
#[derive(Clone, Debug)]
pub struct ToleranceTrial {
    /// The honest results.
    pub computed: Vec<f64>,
    /// The values that the test expects.
    pub expected: Vec<f64>,
    /// The format of the results.
    pub format: &'static Format,
    /// The results with faults, the same faults in each trial.
    pub faulty: Vec<FaultyRun>,
}

/// All that is known of a tolerance.
#[derive(Clone, Debug, PartialEq)]
pub struct ToleranceReport {
    /// The verdict.
    pub verdict: ToleranceVerdict,
    /// Honest runs that fail.
    pub failed: u64,
    /// Honest runs.
    pub runs: u64,
    /// The largest error of an honest run over what is allowed.
    pub largest: f64,
    /// Smaller faults that pass in most runs.
    pub unseen: Vec<String>,
    /// A tolerance of the same kind that honest runs keep to.
    pub proposal: Tolerance,
    /// The derivation of the proposal.
    pub derivation: String,
}

/// The rate of honest tests that may fail by the proposed tolerance.
const RATE: f64 = 1e-6;

impl ToleranceReport {
    /// The report of some honest runs; `None` without any.
    pub fn new(tolerance: &Tolerance, trials: &[ToleranceTrial]) -> Option<ToleranceReport> {
        let first = trials.first()?;
        let largest_of = |trial: &ToleranceTrial| {
            tolerance.ratios(&trial.computed, &trial.expected, trial.format).into_iter().fold(0.0, f64::max)
        };
        let largest: Vec<f64> = trials.iter().map(largest_of).collect();
        let failed = largest.iter().filter(|ratio| **ratio > 1.0).count() as u64;
        let runs = trials.len() as u64;
        // A fault that changes nothing of a run is not among its faults.
        let passes = |name: &str| {
            let runs =
                trials.iter().filter_map(|trial| Some((trial, trial.faulty.iter().find(|run| run.name == name)?)));
            let accepts = |(trial, run): (&ToleranceTrial, &FaultyRun)| {
                tolerance.accepts(&run.computed, &trial.expected, trial.format)
            };
            let (accepted, all) = runs.map(accepts).fold((0, 0), |(yes, all), is| (yes + usize::from(is), all + 1));
            2 * accepted > all
        };
        let unseen = |is_gross: bool| -> Vec<String> {
            let mut names: Vec<&String> = Vec::new();
            for fault in trials.iter().flat_map(|trial| &trial.faulty).filter(|fault| fault.is_gross == is_gross) {
                if !names.contains(&&fault.name) {
                    names.push(&fault.name);
                }
            }
            names.into_iter().filter(|name| passes(name)).cloned().collect()
        };
        let gross = unseen(true);
        let verdict = match ToleranceVerdict::of_counts(failed, runs) {
            Some(verdict) => verdict,
            None if !gross.is_empty() => ToleranceVerdict::Blind(gross),
            None => ToleranceVerdict::Fine,
        };
        let (proposal, derivation) = propose(tolerance, trials, first.format);
        let largest = largest.into_iter().fold(0.0, f64::max);
        Some(ToleranceReport { verdict, failed, runs, largest, unseen: unseen(false), proposal, derivation })
    }
}

/// A tolerance of the same kind from the errors of honest runs.
fn propose(tolerance: &Tolerance, trials: &[ToleranceTrial], format: &Format) -> (Tolerance, String) {
    let elements = trials.first().map_or(1, |trial| trial.computed.len().max(1)) as f64;
    let limit = deviation_limit(RATE / elements).unwrap_or(f64::INFINITY);
    let pairs = || trials.iter().flat_map(|trial| trial.computed.iter().zip(&trial.expected));
    let count = pairs().count().max(1) as f64;
    let ulp = 2.0 * format.unit_roundoff();
    match tolerance {
        Tolerance::Close { .. } => {
            // Half an ulp of the result and half of the expected value are the relative part; sums err absolutely.
            let excess = pairs().map(|(y, t)| ((y - t).abs() - format.ulp(*t) / 2.0).max(0.0));
            let rms = (excess.map(|e| e * e).sum::<f64>() / count).sqrt();
            let atol = limit * rms;
            let why = format!(
                "rtol is one ulp of {}, atol {limit:.2} times the rms of honest errors beyond half an ulp, {rms:.2e}: one in 10^6 \
                 tests of {elements} elements may fail",
                format.name
            );
            (Tolerance::Close { atol, rtol: ulp }, why)
        }
        Tolerance::Ulp(_) => {
            let errors = pairs().map(|(y, t)| ulp_error(format, *y, *t)).filter(|error| error.is_finite());
            let excess: Vec<f64> = errors.map(|error| (error - 0.5).max(0.0)).collect();
            let rms = (excess.iter().map(|e| e * e).sum::<f64>() / count).sqrt();
            let most = excess.iter().fold(0.0f64, |most, e| most.max(*e));
            let ulps = (0.5 + (limit * rms).max(most)).ceil();
            let why = format!(
                "half an ulp for the result's rounding, and {limit:.2} times the rms of what honest errors exceed it by, {rms:.2e}"
            );
            (Tolerance::Ulp(ulps), why)
        }
        Tolerance::Nmse(_) => {
            let of = |trial: &ToleranceTrial| -> f64 {
                let errors = trial.computed.iter().zip(&trial.expected).map(|(y, t)| (y - t) * (y - t));
                let squares: f64 = trial.expected.iter().map(|t| t * t).sum();
                if squares > 0.0 { errors.sum::<f64>() / squares } else { 0.0 }
            };
            let values: Vec<f64> = trials.iter().map(of).collect();
            let runs = values.len().max(1) as f64;
            let mean = values.iter().sum::<f64>() / runs;
            let deviation = (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / runs).sqrt();
            let why = format!(
                "the mean of honest runs, {mean:.2e}, and {limit:.2} of their standard deviations, {deviation:.2e}"
            );
            (Tolerance::Nmse(mean + limit * deviation), why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn_trial::{HonestProgram, Reference};
    use super::*;
    use crate::num::{BF16, F32};

    fn close(atol: f64, rtol: f64) -> Tolerance {
        Tolerance::Close { atol, rtol }
    }

    fn verdict(tolerance: Tolerance, program: &str, n: usize, input: &str, mode: &str) -> ToleranceVerdict {
        let (spec, mode) = (program.parse().unwrap(), mode.parse().unwrap());
        let honest = HonestProgram::of_spec(&spec, n, mode, Reference::Truth).unwrap();
        ToleranceReport::new(&tolerance, &honest.over_draws(&input.parse().unwrap(), n, 4).unwrap()).unwrap().verdict
    }

    /// The looser of two tolerances is so in each part; of two kinds the first stands.
    #[test]
    fn the_looser_tolerance_is_looser_in_each_part() {
        assert_eq!(close(1.0, 0.5).looser(close(0.25, 2.0)), close(1.0, 2.0));
        assert_eq!(close(0.25, 2.0).looser(close(1.0, 0.5)), close(1.0, 2.0));
        assert_eq!(Tolerance::Ulp(1.0).looser(Tolerance::Ulp(3.0)), Tolerance::Ulp(3.0));
        assert_eq!(Tolerance::Nmse(3.0).looser(Tolerance::Nmse(1.0)), Tolerance::Nmse(3.0));
        assert_eq!(Tolerance::Ulp(1.0).looser(close(2.0, 2.0)), Tolerance::Ulp(1.0));
    }

    /// Tolerances below a rounding of the result's type, from public threads.
    #[test]
    fn tolerances_below_one_rounding_are_unsatisfiable() {
        let misses =
            |atol: f64, rtol: f64, magnitude, rounded| close(atol, rtol).misfit(&BF16, magnitude, rounded).is_some();
        // sglang#35795: atol 0.06, results of 16 to 32.
        assert!(misses(0.06, 0.0, 32.0, false) && !misses(0.0625, 0.0, 32.0, false));
        // vllm#51083: 0.001, and one ulp at 2 to 3 is 0.0156.
        assert!(misses(0.001, 0.001, 3.0, false));
        // pypto#1945: 1e-5, below one ulp of the format.
        assert!(misses(1e-5, 1e-5, 1.0, false));
        // flashinfer#2610: 0.005 between two roundings to bf16; 0.016 is enough up to 4.
        assert!(misses(0.005, 0.0, 2.0, true) && !misses(0.016, 0.0, 4.0, true));
        assert!(Tolerance::Ulp(0.4).misfit(&F32, 1.0, false).is_some());
        assert!(
            Tolerance::Ulp(0.5).misfit(&F32, 1.0, false).is_none()
                && Tolerance::Nmse(0.0).misfit(&F32, 1.0, false).is_none()
        );
    }

    /// Tolerances that somebody has seen fail, from public threads.
    #[test]
    fn tolerances_that_were_seen_to_fail_are_flaky() {
        // flashinfer#3505: 1 of 16,384 elements.
        let Some(ToleranceVerdict::Flaky(rate)) = ToleranceVerdict::of_counts(1, 16_384) else { panic!("no rate") };
        assert!(rate.low < 1.0 / 16_384.0 && 1.0 / 16_384.0 < rate.high);
        let said = ToleranceVerdict::Flaky(rate).to_string();
        assert_eq!(said, "flaky: 0.00015 % to 0.034 % of honest runs fail");
        // llama.cpp#16544: 43 of 100 runs at 5e-4; at 7e-4 an error of 1.409e-3 had been seen in 20,000 runs.
        assert!(matches!(ToleranceVerdict::of_counts(43, 100), Some(ToleranceVerdict::Flaky(_))));
        assert!(matches!(ToleranceVerdict::of_counts(1, 20_000), Some(ToleranceVerdict::Flaky(_))));
        assert!(matches!(ToleranceVerdict::of_counts(3, 4), Some(ToleranceVerdict::Unsatisfiable(_))));
        assert_eq!([ToleranceVerdict::of_counts(0, 9), ToleranceVerdict::of_counts(0, 0)], [None, None]);
    }

    /// Tolerances that are put to honest runs and to faults, from public threads.
    #[test]
    fn tolerances_are_put_to_honest_runs_and_to_faults() {
        // Triton-XDNA#93: 1e-2 for bf16 products of normal operands.
        let bf16 = "matmul[dtype=bf16,lhs=8xn,out=bf16,rhs=nx8]";
        let found = verdict(close(1e-2, 0.0), bf16, 256, "normal", "v5e/default/off");
        assert_eq!(found.name(), "unsatisfiable", "{found}");
        // maxtext#4550: f32 at 1e-5 where one bf16 pass computes.
        let f32s = "matmul[lhs=8xn,rhs=nx8]";
        let found = verdict(close(1e-5, 1e-5), f32s, 128, "normal", "tpu7x/default/off");
        assert_eq!(found.name(), "unsatisfiable", "{found}");
        // mlir-air#1427: atol 0.5 and rtol 0.2, results below one.
        let found = verdict(close(0.5, 0.2), "softmax[rows=4]", 32, "normal", "v5e/default/off");
        assert!(matches!(&found, ToleranceVerdict::Blind(to) if to[0] == "zeros"), "{found}");
        // keras#21887: atol = rtol = 1.
        let found = verdict(close(1.0, 1.0), f32s, 128, "normal", "v5e/highest/off");
        assert!(matches!(&found, ToleranceVerdict::Blind(to) if to.iter().any(|t| t == "zeros")), "{found}");
        // triton#6633: 1e-4 where sums are f32.
        let found = verdict(close(1e-4, 1e-4), f32s, 128, "normal", "v5e/highest/off");
        assert_eq!(found, ToleranceVerdict::Fine);
    }

    #[test]
    fn proposals_hold_for_honest_runs_and_see_other_precisions() {
        let (spec, mode) = ("matmul[lhs=8xn,rhs=nx8]".parse().unwrap(), "v5e/highest/off".parse().unwrap());
        let honest = HonestProgram::of_spec(&spec, 128, mode, Reference::Rounded).unwrap();
        let trials = honest.over_draws(&"normal".parse().unwrap(), 128, 4).unwrap();
        for tolerance in [close(1.0, 1.0), Tolerance::Ulp(1e9), Tolerance::Nmse(2.0)] {
            let blind = ToleranceReport::new(&tolerance, &trials).unwrap();
            assert_eq!(blind.verdict.name(), "blind", "{tolerance}");
            let better = ToleranceReport::new(&blind.proposal, &trials).unwrap();
            assert_eq!((better.failed, better.verdict.name()), (0, "fine"), "{}: {}", blind.proposal, better.verdict);
        }
        assert!(ToleranceReport::new(&close(1.0, 1.0), &[]).is_none());
    }
}
