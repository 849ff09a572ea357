//! Whether a test's tolerance survives the move to another chip.

use serde::Serialize;

use crate::criterion::{
    HonestProgram, QuestionError, Reference, Tolerance, ToleranceReport, ToleranceTrial, ToleranceVerdict, TrialError,
};
use crate::input::InputSpec;
use crate::tensor::Tensor;

use super::{PortError, Side};

/// The verdict on a tolerance that moves to another chip; the later one is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Survival {
    /// Every honest run on the second chip passes.
    Survives,
    /// Some honest runs on the second chip fail.
    Flaky,
    /// Honest runs on the second chip fail as a rule.
    Unsatisfiable,
}

impl Survival {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Survival::Survives => "survives",
            Survival::Flaky => "flaky",
            Survival::Unsatisfiable => "unsatisfiable",
        }
    }

    const fn of(verdict: &ToleranceVerdict) -> Survival {
        match verdict {
            ToleranceVerdict::Unsatisfiable(_) => Survival::Unsatisfiable,
            ToleranceVerdict::Flaky(_) => Survival::Flaky,
            ToleranceVerdict::Blind(_) | ToleranceVerdict::Fine => Survival::Survives,
        }
    }
}

/// Arguments of honest runs.
#[derive(Clone, Debug)]
pub enum HonestInputs {
    /// So many draws of a distribution for a size, with seeds from 0 on.
    Drawn {
        /// The distribution.
        distribution: InputSpec,
        /// The size.
        n: usize,
        /// The number of draws.
        runs: u64,
    },
    /// These arguments; each order of sums is a run.
    Given(Vec<Tensor>),
}

/// Counts of honest runs on one chip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HonestCounts {
    /// Runs that fail.
    pub failed: u64,
    /// All runs.
    pub runs: u64,
    /// The largest error over what is allowed; none where nothing is allowed.
    pub largest: Option<f64>,
}

impl HonestCounts {
    fn of(report: &ToleranceReport) -> HonestCounts {
        let largest = Some(report.largest).filter(|largest| largest.is_finite());
        HonestCounts { failed: report.failed, runs: report.runs, largest }
    }
}

/// The tolerance of one result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptResult {
    /// The result's name.
    pub result: String,
    /// The verdict.
    pub verdict: Survival,
    /// The verdict on the second chip with its reasons, as `ulpgate tolerance` gives it.
    pub why: String,
    /// Honest runs on the first chip.
    pub before: HonestCounts,
    /// Honest runs on the second chip.
    pub after: HonestCounts,
    /// A tolerance of the same kind that honest runs on both chips keep to.
    pub proposal: String,
    /// The derivation of the proposal.
    pub derivation: String,
}

/// The tolerance of a test on both chips.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptTolerance {
    /// The tolerance in words.
    pub tolerance: String,
    /// The values that the test expects, in words.
    pub reference: String,
    /// The worst verdict of its results.
    pub verdict: Survival,
    /// The float results.
    pub results: Vec<KeptResult>,
}

/// Puts a tolerance to honest runs of both sides. The expected values are by the first side's program.
///
/// # Errors
/// If the tolerance is negative or NaN, a program cannot be run, its truth stays open, or no result is of floats.
pub fn kept_tolerance(
    before: Side,
    after: Side,
    tolerance: &Tolerance,
    reference: &Reference,
    inputs: &HonestInputs,
) -> Result<KeptTolerance, PortError> {
    if let Some(value) = tolerance.unfit_part() {
        return Err(QuestionError::Tolerance(value).into());
    }
    let honest = [before, after].map(|side| HonestProgram {
        name: side.name.to_string(),
        program: side.import.program.clone(),
        mode: side.mode.clone(),
        reference: reference.clone(),
    });
    let floats = honest[0].floats();
    if floats.is_empty() {
        return Err(TrialError::NoFloat(before.name.to_string()).into());
    }
    let mut trials = [(); 2].map(|()| vec![Vec::new(); floats.len()]);
    match inputs {
        HonestInputs::Given(arguments) => {
            let expected = honest[0].expected_values(&floats, arguments)?;
            for (side, program) in honest.iter().enumerate() {
                for mode in program.orders() {
                    add(&mut trials[side], program.trials(&floats, &mode, arguments, &expected)?);
                }
            }
        }
        HonestInputs::Drawn { distribution, n, runs } => {
            for seed in 0..*runs {
                let arguments = honest[0].draw_arguments(distribution, *n, seed)?;
                let expected = honest[0].expected_values(&floats, &arguments)?;
                for (side, program) in honest.iter().enumerate() {
                    add(&mut trials[side], program.trials(&floats, &program.mode, &arguments, &expected)?);
                }
            }
        }
    }
    let names = floats.iter().map(|(at, _)| before.import.program.output_names[*at].clone());
    let [one, other] = trials;
    let results = names.zip(one.iter().zip(&other)).map(|(name, (one, other))| kept(name, tolerance, [one, other]));
    let results: Vec<KeptResult> = results.collect::<Option<_>>().ok_or(QuestionError::NoRun)?;
    let verdict = results.iter().map(|result| result.verdict).max().unwrap_or(Survival::Survives);
    let reference = match reference {
        Reference::Truth => "the truth".to_string(),
        Reference::Rounded => "the truth, rounded to each result's type".to_string(),
        Reference::Mode(mode) => format!("{} in {mode}", before.name),
    };
    Ok(KeptTolerance { tolerance: tolerance.to_string(), reference, verdict, results })
}

/// Adds one run's trials, each to those of its result.
fn add(all: &mut [Vec<ToleranceTrial>], run: Vec<ToleranceTrial>) {
    all.iter_mut().zip(run).for_each(|(all, trial)| all.push(trial));
}

/// The verdict on one result; `None` without any run.
fn kept(result: String, tolerance: &Tolerance, trials: [&[ToleranceTrial]; 2]) -> Option<KeptResult> {
    let [one, other] = trials.map(|trials| ToleranceReport::new(tolerance, trials));
    let (one, other) = (one?, other?);
    let verdict = Survival::of(&other.verdict);
    let needs_more = other.proposal.looser(one.proposal) == other.proposal;
    Some(KeptResult {
        result,
        verdict,
        why: other.verdict.to_string(),
        before: HonestCounts::of(&one),
        after: HonestCounts::of(&other),
        proposal: other.proposal.looser(one.proposal).to_string(),
        derivation: if needs_more { other.derivation } else { one.derivation },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::F32;

    /// The proposal and its derivation are those of the chip that errs more, and each chip's counts are its own.
    #[test]
    fn a_proposal_is_of_the_chip_that_needs_more() {
        let tolerance = Tolerance::Ulp(4.0);
        let trials = |ulps: f64| {
            let expected = vec![1.0; 8];
            let computed = expected.iter().map(|x| x + ulps * F32.ulp(*x)).collect();
            vec![ToleranceTrial { computed, expected, format: &F32, faulty: Vec::new() }]
        };
        let (small, large) = (trials(2.0), trials(6.0));
        let [of_small, of_large] = [&small, &large].map(|trials| ToleranceReport::new(&tolerance, trials).unwrap());
        assert_ne!(of_small.derivation, of_large.derivation);
        for (both, verdict) in [([&small, &large], Survival::Unsatisfiable), ([&large, &small], Survival::Survives)] {
            let found = kept("r".to_string(), &tolerance, both.map(|trials| &trials[..])).unwrap();
            let counts = both.map(|trials| HonestCounts::of(&ToleranceReport::new(&tolerance, trials).unwrap()));
            assert_eq!([found.before, found.after], counts);
            assert_eq!(
                (found.proposal, found.derivation),
                (of_large.proposal.to_string(), of_large.derivation.clone())
            );
            assert_eq!(found.verdict, verdict);
        }
    }
}
