//! Honest runs of a program on drawn or given inputs, and the same with faults, for tolerances.

use crate::analysis::plain_matmul;
use crate::input::{self, Argument, InputError, InputKey, InputSpec};
use crate::ir::{Program, ValueId};
use crate::machine::mxu::Accumulation;
use crate::machine::vector::{ScanOrder, SumOrder};
use crate::machine::{EvalError, Mode, PRECISIONS};
use crate::num::{Direction, Format, round_f64};
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

/// A program whose runs in a mode are honest.
#[derive(Clone)]
pub struct HonestProgram {
    /// The name of the program, for errors.
    pub name: String,
    /// The program; its first float result counts.
    pub program: Program,
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

impl HonestProgram {
    /// A built-in program of a size.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn of_spec(
        spec: &ProgramSpec,
        n: usize,
        mode: Mode,
        reference: Reference,
    ) -> Result<HonestProgram, TrialError> {
        let program = spec.build(n, spec.rows)?;
        Ok(HonestProgram { name: spec.to_string(), program, mode, reference })
    }

    /// So many runs on arguments of a distribution, with seeds from 0 on. `n` is the size that the arguments are drawn for.
    ///
    /// # Errors
    /// If the program cannot be run, or its truth stays open.
    pub fn over_draws(&self, distribution: &InputSpec, n: usize, runs: u64) -> Result<Vec<ToleranceTrial>, TrialError> {
        let taken = Argument::of_program(&self.program);
        let of_seed = |seed: u64| {
            let (suite, input) = ("tolerance".to_string(), distribution.to_string());
            let key = InputKey { suite, input, n: n as u64, seed };
            let rows = 0..taken.first().map_or(0, |argument| argument.rows() as u64);
            let arguments = input::generate(distribution, &key, &taken, rows)?;
            self.trial(&self.mode, &arguments, &self.expected(&arguments)?)
        };
        (0..runs).map(of_seed).collect()
    }

    /// A run on these arguments in the mode, and one in each other order of sums: all are honest.
    ///
    /// # Errors
    /// As [`HonestProgram::over_draws`].
    pub fn on(&self, arguments: &[Tensor]) -> Result<Vec<ToleranceTrial>, TrialError> {
        let expected = self.expected(arguments)?;
        let mut modes = vec![self.mode.clone()];
        let accumulations = Accumulation::ALL.iter().filter(|order| **order != Accumulation::Trunc);
        for (at, accumulation) in accumulations.enumerate() {
            let mut mode = self.mode.clone();
            mode.choices.acc = *accumulation;
            mode.choices.reduce = SumOrder::ALL[at % SumOrder::ALL.len()];
            mode.choices.scan = ScanOrder::ALL[at % ScanOrder::ALL.len()];
            if !modes.contains(&mode) {
                modes.push(mode);
            }
        }
        modes.iter().map(|mode| self.trial(mode, arguments, &expected)).collect()
    }

    /// The position of the first float result, and its format.
    fn float_result(&self) -> Result<(usize, &'static Format), TrialError> {
        let entry = self.program.entry();
        let format = |id: &ValueId| entry.instructions[*id].shape.dtype().filter(|dtype| dtype.is_float())?.format();
        let found = self.program.outputs().iter().enumerate().find_map(|(at, id)| Some((at, format(id)?)));
        found.ok_or_else(|| TrialError::NoFloat(self.name.clone()))
    }

    /// The format of its first float result.
    ///
    /// # Errors
    /// If there is no float result.
    pub fn format(&self) -> Result<&'static Format, TrialError> {
        Ok(self.float_result()?.1)
    }

    /// The values that the test expects for these arguments.
    fn expected(&self, arguments: &[Tensor]) -> Result<Vec<f64>, TrialError> {
        let (program, (at, format)) = (&self.program, self.float_result()?);
        let no_float = || TrialError::NoFloat(self.name.clone());
        Ok(match &self.reference {
            Reference::Mode(mode) => values(&subject::evaluate(program, mode, arguments)?, at),
            Reference::Truth | Reference::Rounded => {
                let mut demands = vec![Demand::None; program.outputs().len()];
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
        })
    }

    /// One honest run on these arguments.
    fn trial(&self, mode: &Mode, arguments: &[Tensor], expected: &[f64]) -> Result<ToleranceTrial, TrialError> {
        let (program, (at, format)) = (&self.program, self.float_result()?);
        let run = |mode: &Mode| subject::evaluate(program, mode, arguments);
        let results = run(mode)?;
        let computed = values(&results, at);
        let width = results[at].dims().last().copied().unwrap_or(1).max(1);
        let mut faulty = faults(&computed, width);
        faulty.extend(missing_products(program, at, arguments, &computed));
        let passes = mode.precision.passes;
        for precision in PRECISIONS.iter().take_while(|row| row.passes != passes) {
            let lower = mode.clone().with_precision(precision);
            let other = values(&run(&lower)?, at);
            // Of some operands no precision makes another result.
            if other != computed {
                let name = format!("precision {}", precision.name);
                faulty.push(FaultyRun { name, is_gross: true, computed: other });
            }
        }
        Ok(ToleranceTrial { computed, expected: expected.to_vec(), format, faulty })
    }
}

/// The numbers of one result.
fn values(results: &[Tensor], at: usize) -> Vec<f64> {
    results.get(at).map(|tensor| tensor.data().to_f64s()).unwrap_or_default()
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
