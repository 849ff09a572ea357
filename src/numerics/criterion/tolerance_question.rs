//! The question whether a tolerance is fit for a test, and its answer.

use serde::Serialize;

use crate::input::InputSpec;
use crate::num::Format;
use crate::tensor::Tensor;

use super::drawn_trial::{HonestProgram, Reference, TrialError};
use super::tolerance::{Tolerance, ToleranceReport, ToleranceVerdict};

/// Honest runs that a tolerance is held to.
pub enum HonestRuns {
    /// So many runs on arguments of a distribution, drawn for a size.
    Drawn {
        /// The distribution.
        distribution: InputSpec,
        /// The size.
        n: usize,
        /// The number of runs.
        runs: u64,
    },
    /// A run on these arguments in each order of sums.
    On(Vec<Tensor>),
}

/// A tolerance and all that is known of the test that has it.
pub struct ToleranceQuestion {
    /// The tolerance.
    pub tolerance: Tolerance,
    /// The format of the results, where no program says it.
    pub format: &'static Format,
    /// Largest magnitude of the results: a rounding there is held against the tolerance.
    pub magnitude: Option<f64>,
    /// Honest runs, or elements, that were seen to fail, and all that were seen.
    pub counts: Option<[u64; 2]>,
    /// The values that the test expects.
    pub reference: Reference,
    /// The program and its honest runs.
    pub program: Option<(HonestProgram, HonestRuns)>,
}

/// Runs that are counted at most: an interval for the rate of more takes minutes, and no test runs as often.
const MOST_RUNS: u64 = 1_000_000_000;

/// Why a tolerance cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// A tolerance that is no finite number from 0 on.
    #[error("a tolerance of {0} is none: it is a finite number, not below 0")]
    Tolerance(f64),
    /// A magnitude that is no finite number above 0.
    #[error("a magnitude of {0} is none: it is a finite number above 0")]
    Magnitude(f64),
    /// Counts that are no part of a whole.
    #[error("{failed} failures of {runs} runs are no counts: 0 to all of 1 to {MOST_RUNS} runs")]
    Counts {
        /// Runs that failed.
        failed: u64,
        /// All runs.
        runs: u64,
    },
    /// Nothing is given to judge by.
    #[error("nothing to judge by: a program, K, a magnitude, or counts of failures")]
    Nothing,
    /// No run is asked for.
    #[error("0 runs: at least one is needed")]
    NoRun,
    /// The runs cannot be made.
    #[error(transparent)]
    Trial(Box<TrialError>),
}

impl From<TrialError> for QuestionError {
    fn from(error: TrialError) -> QuestionError {
        QuestionError::Trial(Box::new(error))
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToleranceAnswer {
    /// The version of this form: 1.
    pub version: u32,
    /// The tolerance in words: `atol=1e-5 rtol=0.0`, `ulp=2.0`, `nmse=0.0005`.
    pub tolerance: String,
    /// The word for the verdict: `unsatisfiable`, `flaky`, `blind` or `fine`.
    pub verdict: &'static str,
    /// The verdict with its reasons.
    pub why: String,
    /// The honest runs, where the verdict is by these.
    pub drawn: Option<AnswerOfRuns>,
}

/// The part of an answer that honest runs say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerOfRuns {
    /// The mode of the honest runs.
    pub mode: String,
    /// Honest runs that fail.
    pub failed: u64,
    /// Honest runs.
    pub runs: u64,
    /// The largest error of an honest run over what is allowed; `None` where nothing is.
    pub largest: Option<f64>,
    /// Smaller faults that pass in most runs.
    pub unseen: Vec<String>,
    /// A tolerance of the same kind that honest runs keep to.
    pub proposal: String,
    /// The derivation of the proposal.
    pub derivation: String,
}

impl ToleranceQuestion {
    /// The answer.
    ///
    /// # Errors
    /// If a number is none that a tolerance, a magnitude or a count can be, if there is nothing to judge by, or the program cannot be
    /// run.
    pub fn answer(&self) -> Result<ToleranceAnswer, QuestionError> {
        if let Some(value) = self.tolerance.unfit_part() {
            return Err(QuestionError::Tolerance(value));
        }
        let (verdict, report) = self.judge()?;
        let mode = self.program.as_ref().map(|(program, _)| program.mode.to_string()).unwrap_or_default();
        let drawn = report.map(|report| AnswerOfRuns {
            mode,
            failed: report.failed,
            runs: report.runs,
            largest: report.largest.is_finite().then_some(report.largest),
            unseen: report.unseen,
            proposal: report.proposal.to_string(),
            derivation: report.derivation,
        });
        let (tolerance, why) = (self.tolerance.to_string(), verdict.to_string());
        Ok(ToleranceAnswer { version: 1, tolerance, verdict: verdict.name(), why, drawn })
    }

    fn judge(&self) -> Result<(ToleranceVerdict, Option<ToleranceReport>), QuestionError> {
        if let Some(magnitude) = self.magnitude {
            if !(magnitude.is_finite() && magnitude > 0.0) {
                return Err(QuestionError::Magnitude(magnitude));
            }
            let format = match &self.program {
                Some((program, _)) => program.format()?,
                None => self.format,
            };
            if let Some(why) = self.tolerance.misfit(format, magnitude, self.reference != Reference::Truth) {
                return Ok((ToleranceVerdict::Unsatisfiable(why), None));
            }
        }
        if let Some([failed, runs]) = self.counts {
            if runs == 0 || runs > MOST_RUNS || failed > runs {
                return Err(QuestionError::Counts { failed, runs });
            }
            if let Some(verdict) = ToleranceVerdict::of_counts(failed, runs) {
                return Ok((verdict, None));
            }
        }
        let Some((program, runs)) = &self.program else {
            return match self.magnitude.is_some() || self.counts.is_some() {
                true => Ok((ToleranceVerdict::Fine, None)),
                false => Err(QuestionError::Nothing),
            };
        };
        let trials = match runs {
            HonestRuns::Drawn { distribution, n, runs } => program.over_draws(distribution, *n, *runs)?,
            HonestRuns::On(arguments) => program.on(arguments)?,
        };
        let report = ToleranceReport::new(&self.tolerance, &trials).ok_or(QuestionError::NoRun)?;
        Ok((report.verdict.clone(), Some(report)))
    }
}

impl ToleranceAnswer {
    /// Whether honest runs keep to the tolerance, and nothing else that was tried does.
    pub fn is_fine(&self) -> bool {
        self.verdict == ToleranceVerdict::Fine.name()
    }

    /// The answer as `ulpgate tolerance` prints it.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.tolerance, self.why)];
        if let Some(AnswerOfRuns { mode, failed, runs, largest, unseen, proposal, derivation }) = &self.drawn {
            let largest = largest.map_or("infinitely much".to_string(), |largest| format!("{largest:.3}"));
            lines.push(format!(
                "  {failed} of {runs} honest runs fail in {mode}; the largest error is {largest} of what is allowed"
            ));
            if !unseen.is_empty() {
                lines.push(format!("  smaller faults that pass: {}", unseen.join(", ")));
            }
            lines.push(format!("  proposal: {proposal}"));
            lines.push(format!("  because: {derivation}"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::F32;

    /// The type of the results counts, whatever type is named beside the program.
    #[test]
    fn the_program_says_in_which_type_a_rounding_counts() {
        let answer = |program: Option<&str>| {
            let honest = |spec: &str| {
                let mode = "v5e/highest/off".parse().unwrap();
                let honest = HonestProgram::of_spec(&spec.parse().unwrap(), 8, mode, Reference::Truth).unwrap();
                (honest, HonestRuns::Drawn { distribution: "normal".parse().unwrap(), n: 8, runs: 1 })
            };
            let question = ToleranceQuestion {
                tolerance: Tolerance::Close { atol: 0.06, rtol: 0.0 },
                format: &F32,
                magnitude: Some(32.0),
                counts: None,
                reference: Reference::Truth,
                program: program.map(honest),
            };
            question.answer().unwrap().verdict
        };
        assert_eq!(answer(None), "fine");
        assert_eq!(answer(Some("matmul[dtype=bf16,lhs=2xn,out=bf16,rhs=nx2]")), "unsatisfiable");
    }
}
