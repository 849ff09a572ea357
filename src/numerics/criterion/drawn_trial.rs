//! Honest runs of a program on drawn inputs, and the same with faults, for tolerances.

use crate::analysis::plain_matmul;
use crate::input::{self, Argument, InputError, InputKey, InputSpec};
use crate::ir::Program;
use crate::machine::{EvalError, Mode, PRECISIONS};
use crate::num::{Direction, round_f64};
use crate::oracle::{Demand, Oracle, OracleError, TruthTensor};
use crate::program::{BuildError, ProgramSpec};
use crate::subject;
use crate::tensor::Tensor;

use super::tolerance::{FaultyRun, ToleranceTrial};

/// The values that a test expects.
#[derive(Clone, Debug, PartialEq)]
pub enum Reference {
    /// The exact results.
    Truth,
    /// The exact results, rounded to the result's type.
    Rounded,
    /// The results of another mode.
    Mode(Mode),
}

/// Runs of a program in a mode on inputs of a distribution.
#[derive(Clone)]
pub struct DrawnTrials {
    /// The program; its first float result counts.
    pub program: ProgramSpec,
    /// Its size.
    pub n: usize,
    /// The distribution of its arguments.
    pub input: InputSpec,
    /// The mode whose results are honest.
    pub mode: Mode,
    /// The values that the test expects.
    pub reference: Reference,
}

/// Why runs cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The program cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The arguments cannot be filled.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The machine does not support the program.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// The oracle does not support the program.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// No result is of floats.
    #[error("{0} has no float result that a tolerance could be put to")]
    NoFloat(String),
    /// The truth of elements is not known.
    #[error("the truth of {0} elements stays open")]
    Open(usize),
}

impl DrawnTrials {
    /// So many runs, with seeds from 0 on.
    ///
    /// # Errors
    /// If the program cannot be built or run, or its truth stays open.
    pub fn trials(&self, runs: u64) -> Result<Vec<ToleranceTrial>, TrialError> {
        let program = self.program.build(self.n, self.program.rows)?;
        let taken = Argument::of_program(&program);
        let of_seed = |seed: u64| {
            let (suite, input) = ("tolerance".to_string(), self.input.to_string());
            let key = InputKey { suite, input, n: self.n as u64, seed };
            let rows = 0..taken.first().map_or(0, |argument| argument.rows() as u64);
            self.trial(&program, &input::generate(&self.input, &key, &taken, rows)?)
        };
        (0..runs).map(of_seed).collect()
    }

    /// One run on these arguments.
    ///
    /// # Errors
    /// As [`DrawnTrials::trials`].
    pub fn trial(&self, program: &Program, arguments: &[Tensor]) -> Result<ToleranceTrial, TrialError> {
        let no_float = || TrialError::NoFloat(self.program.to_string());
        let run = |mode: &Mode| subject::evaluate(program, mode, arguments);
        let results = run(&self.mode)?;
        let at = results.iter().position(|tensor| tensor.dtype().is_float()).ok_or_else(no_float)?;
        let format = results[at].dtype().format().ok_or_else(no_float)?;
        let values = |results: &[Tensor]| results.get(at).map(|tensor| tensor.data().to_f64s()).unwrap_or_default();
        let computed = values(&results);
        let expected = match &self.reference {
            Reference::Mode(mode) => values(&run(mode)?),
            Reference::Truth | Reference::Rounded => {
                let mut demands = vec![Demand::None; results.len()];
                demands[at] = Demand::Rounded;
                let truth = Oracle::default().evaluate(program, arguments, &demands)?;
                let Some(TruthTensor::Float(truth)) = truth.outputs.get(at) else { return Err(no_float()) };
                if !truth.open.is_empty() {
                    return Err(TrialError::Open(truth.open.len()));
                }
                let round = |t: &f64| match self.reference {
                    Reference::Rounded => round_f64(format, *t, Direction::NearestEven),
                    _ => *t,
                };
                truth.rounded.iter().map(round).collect()
            }
        };
        let width = results[at].dims().last().copied().unwrap_or(1).max(1);
        let mut faulty = faults(&computed, width);
        faulty.extend(missing_products(program, at, arguments, &computed));
        let passes = self.mode.precision.passes;
        for precision in PRECISIONS.iter().take_while(|row| row.passes != passes) {
            let lower = self.mode.clone().with_precision(precision);
            let other = values(&run(&lower)?);
            // Of some operands no precision makes another result.
            if other != computed {
                let name = format!("precision {}", precision.name);
                faulty.push(FaultyRun { name, is_gross: true, computed: other });
            }
        }
        Ok(ToleranceTrial { computed, expected, format, faulty })
    }
}

/// Faults of results alone: rows of `width` elements.
fn faults(computed: &[f64], width: usize) -> Vec<FaultyRun> {
    let fault = |name: &str, is_gross, computed| FaultyRun { name: name.to_string(), is_gross, computed };
    let times = |factor: f64| computed.iter().map(|y| y * factor).collect::<Vec<_>>();
    let mut shifted = computed.to_vec();
    shifted.rotate_left(if width < computed.len() { width } else { computed.len().min(1) });
    vec![
        fault("zeros", true, vec![0.0; computed.len()]),
        fault("rows of another index", true, shifted),
        fault("a factor of 1.1", true, times(1.1)),
        fault("a factor of 1.001", false, times(1.001)),
    ]
}

/// A matmul's results without some of its products.
fn missing_products(program: &Program, at: usize, arguments: &[Tensor], computed: &[f64]) -> Vec<FaultyRun> {
    let value = program.outputs().get(at).copied();
    let Some(matmul) = value.and_then(|value| plain_matmul(program.entry(), value)) else { return Vec::new() };
    let [Some(lhs), Some(rhs)] = matmul.parameters.map(|number| arguments.get(number)) else { return Vec::new() };
    let ([_, k, n], [lhs, rhs]) = (matmul.sizes, [lhs, rhs].map(|operand| operand.data().to_f64s()));
    let without = |first: usize| -> Vec<f64> {
        let part = |output: usize| -> f64 {
            (first..k).map(|place| lhs[output / n * k + place] * rhs[place * n + output % n]).sum()
        };
        computed.iter().enumerate().map(|(output, y)| y - part(output)).collect()
    };
    if k < 8 {
        return Vec::new();
    }
    let fault = |name: &str, is_gross, first| FaultyRun { name: name.to_string(), is_gross, computed: without(first) };
    vec![fault("an eighth of K missing", true, k - k / 8), fault("one product of K missing", false, k - 1)]
}
