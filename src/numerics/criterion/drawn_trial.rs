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
    #[error(
        "{0} has no float result that a tolerance could be put to: `ulpgate hlo diff --inputs` and `ulpgate port` without a tolerance \
         compare integers and predicates"
    )]
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
        let first = [self.first_float()?];
        let of_seed = |seed: u64| {
            let arguments = self.draw_arguments(distribution, n, seed)?;
            self.trials(&first, &self.mode, &arguments, &self.expected_values(&first, &arguments)?)
        };
        let runs: Vec<Vec<ToleranceTrial>> = (0..runs).map(of_seed).collect::<Result<_, _>>()?;
        Ok(runs.into_iter().flatten().collect())
    }

    /// Arguments of a distribution. `n` is the size that they are drawn for.
    ///
    /// # Errors
    /// If the distribution cannot fill them.
    pub fn draw_arguments(&self, distribution: &InputSpec, n: usize, seed: u64) -> Result<Vec<Tensor>, TrialError> {
        let taken = Argument::of_program(&self.program);
        let (suite, input) = ("tolerance".to_string(), distribution.to_string());
        let key = InputKey { suite, input, n: n as u64, seed };
        let rows = 0..taken.first().map_or(0, |argument| argument.rows() as u64);
        Ok(input::generate(distribution, &key, &taken, rows)?)
    }

    /// A run on these arguments in the mode, and one in each other order of sums: all are honest.
    ///
    /// # Errors
    /// As [`HonestProgram::over_draws`].
    pub fn on(&self, arguments: &[Tensor]) -> Result<Vec<ToleranceTrial>, TrialError> {
        let first = [self.first_float()?];
        let expected = self.expected_values(&first, arguments)?;
        let of_mode = |mode: &Mode| self.trials(&first, mode, arguments, &expected);
        let runs: Vec<Vec<ToleranceTrial>> = self.orders().iter().map(of_mode).collect::<Result<_, _>>()?;
        Ok(runs.into_iter().flatten().collect())
    }

    /// The mode, and the same mode in each other order of sums.
    pub fn orders(&self) -> Vec<Mode> {
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
        modes
    }

    /// The float results: the position of each, and its format.
    pub fn floats(&self) -> Vec<(usize, &'static Format)> {
        let entry = self.program.entry();
        let format = |id: &ValueId| entry.instructions[*id].shape.dtype().filter(|dtype| dtype.is_float())?.format();
        self.program.outputs().iter().enumerate().filter_map(|(at, id)| Some((at, format(id)?))).collect()
    }

    fn first_float(&self) -> Result<(usize, &'static Format), TrialError> {
        self.floats().first().copied().ok_or_else(|| TrialError::NoFloat(self.name.clone()))
    }

    /// The format of its first float result.
    ///
    /// # Errors
    /// If there is no float result.
    pub fn format(&self) -> Result<&'static Format, TrialError> {
        Ok(self.first_float()?.1)
    }

    /// The values that the test expects of these float results for these arguments.
    ///
    /// # Errors
    /// If the program cannot be run, or the truth of an element stays open.
    pub fn expected_values(
        &self,
        results: &[(usize, &'static Format)],
        arguments: &[Tensor],
    ) -> Result<Vec<Vec<f64>>, TrialError> {
        let program = &self.program;
        let is_rounded = match &self.reference {
            Reference::Mode(mode) => {
                let given = subject::evaluate(program, mode, arguments)?;
                return Ok(results.iter().map(|(at, _)| values(&given, *at)).collect());
            }
            Reference::Truth => false,
            Reference::Rounded => true,
        };
        let mut demands = vec![Demand::None; program.outputs().len()];
        results.iter().for_each(|(at, _)| demands[*at] = Demand::Rounded);
        let truth = Oracle::default().evaluate(program, arguments, &demands)?;
        let expected = results.iter().map(|(at, format)| {
            let no_float = || TrialError::NoFloat(self.name.clone());
            let Some(TruthTensor::Float(truth)) = truth.outputs.get(*at) else { return Err(no_float()) };
            if !truth.open.is_empty() {
                return Err(TrialError::Open(truth.open.len()));
            }
            let round = |t: &f64| if is_rounded { round_f64(format, *t, Direction::NearestEven) } else { *t };
            Ok(truth.rounded.iter().map(round).collect())
        });
        expected.collect()
    }

    /// The results on these arguments in each lower matmul precision, with its name. A chip without a matrix unit has none: those of a
    /// TPU are taken, as far as it can run the program.
    fn lower_precisions(
        &self,
        mode: &Mode,
        arguments: &[Tensor],
    ) -> Result<Vec<(&'static str, Vec<Tensor>)>, TrialError> {
        let has_unit = mode.chip.matrix_unit;
        let lower: Vec<Mode> = if has_unit {
            PRECISIONS.iter().take(mode.precision.place()).map(|row| mode.clone().with_precision(row)).collect()
        } else {
            let others = mode.others(&PRECISIONS[..BELOW_HIGHEST], &[]).into_iter();
            others.filter(|other| other.chip.name == WITH_PRECISIONS).collect()
        };
        let mut results = Vec::new();
        for other in lower {
            match subject::evaluate(&self.program, &other, arguments) {
                Err(EvalError::Unsupported { .. } | EvalError::NoDouble { .. }) if !has_unit => {}
                found => results.push((other.precision.name, found?)),
            }
        }
        Ok(results)
    }

    /// One honest run on these arguments: a trial for each of these float results, with the values that are expected of it.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn trials(
        &self,
        results: &[(usize, &'static Format)],
        mode: &Mode,
        arguments: &[Tensor],
        expected: &[Vec<f64>],
    ) -> Result<Vec<ToleranceTrial>, TrialError> {
        let program = &self.program;
        let run = |mode: &Mode| subject::evaluate(program, mode, arguments);
        let given = run(mode)?;
        let lower = self.lower_precisions(mode, arguments)?;
        let trial = |(&(at, format), expected): (&(usize, &'static Format), &Vec<f64>)| {
            let computed = values(&given, at);
            let width = given[at].dims().last().copied().unwrap_or(1).max(1);
            let mut faulty = faults(&computed, width);
            faulty.extend(missing_products(program, at, arguments, &computed));
            // Of some operands no precision makes another result.
            let others = lower.iter().map(|(name, results)| (name, values(results, at)));
            faulty.extend(others.filter(|(_, other)| *other != computed).map(|(name, computed)| FaultyRun {
                name: format!("precision {name}"),
                is_gross: true,
                computed,
            }));
            ToleranceTrial { computed, expected: expected.clone(), format, faulty }
        };
        Ok(results.iter().zip(expected).map(trial).collect())
    }
}

/// The chip whose precisions are the lower ones of a chip without a matrix unit: there a dot is f32 in all of them.
const WITH_PRECISIONS: &str = "v5e";

/// The number of precisions that are lower than `highest`.
const BELOW_HIGHEST: usize = 2;

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
