//! Rows of a case in every view: as computed, as declared, and exactly.

use std::ops::Range;

use crate::input::Argument;
use crate::ir::Program;
use crate::oracle::{self, Demand, Oracle, TruthTensor};
use crate::record::Record;
use crate::subject::{self, Call};
use crate::suite::{Case, Problem};
use crate::tensor::Tensor;

use super::judge::{arguments_of, drawn_for, evaluate};
use super::shared::{Group, Prepared, Programs, input_key};
use super::{CaseError, Outcome, RunError};

/// A batch of rows of a case, evaluated in every way.
pub struct CloseUp {
    /// The rows of the batch.
    pub rows: Range<usize>,
    /// The declared program over the rows of the batch.
    pub program: Program,
    /// The subject's results.
    pub computed: Vec<Tensor>,
    /// The results of the program that is the truth, in the subject's arithmetic, every operation rounded.
    pub declared: Vec<Tensor>,
    /// The truth of these results: floats to 2^-10 of an ulp of their type. Of a program from a file, which may be a
    /// whole network, only of the results whose truth the case asks for.
    pub exact: Vec<TruthTensor>,
    /// The scores that rank the tokens, if there are any.
    pub scores: Option<Scores>,
}

/// The scores `[rows, n]` that rank the tokens.
pub struct Scores {
    /// As the declared program gives them, every operation rounded.
    pub declared: Tensor,
    /// As they are over the real numbers, to 2^-10 of an ulp of their type; of a program from a file only where the
    /// case asks for their order.
    pub exact: TruthTensor,
}

/// Evaluates one case by itself.
///
/// # Errors
/// If it does not fit in memory, or cannot be evaluated or judged.
pub fn record_of(case: &Case, oracle: &Oracle) -> Result<Record, RunError> {
    let group = Group { cases: vec![case] };
    group.check_memory()?;
    let Outcome { mut records, .. } = evaluate(&group, oracle)?;
    Ok(records.swap_remove(0))
}

/// The numbers that are drawn for a case's arguments of one element, each with its name: one of another sign or size than the
/// program is meant for decides all rows.
///
/// # Errors
/// If they cannot be drawn.
pub fn drawn_scalars(case: &Case) -> Result<Vec<(String, f64)>, RunError> {
    let Problem { program, input, n, .. } = &case.problem;
    let rows = program.batch(*n);
    let fail = |source: CaseError| RunError::of(case, source);
    let declared = program.build(*n, rows).map_err(|error| fail(error.into()))?;
    let taken = Argument::of_program(&declared);
    let is_scalar = |argument: &Argument| argument.dims.is_empty();
    // Most programs have none, and the arrays of files are not read for them.
    if !taken.iter().any(is_scalar) {
        return Ok(Vec::new());
    }
    let fixed = input.fixed_tensors(&input_key(&case.problem), &taken).map_err(|error| fail(error.into()))?;
    let drawn = drawn_for(&case.problem, &taken, &fixed, &(0..rows)).map_err(fail)?;
    let arguments = taken.iter().zip(&fixed).zip(&drawn);
    let scalars = arguments.filter(|((argument, fixed), _)| is_scalar(argument) && fixed.is_none());
    Ok(scalars.map(|((argument, _), tensor)| (argument.name.clone(), tensor.data().get_f64(0))).collect())
}

impl CloseUp {
    /// The batch that holds a row of a case, from 0, as a run has it; for a program without rows of its own the whole
    /// case.
    ///
    /// # Errors
    /// If the case cannot be evaluated.
    pub fn of(case: &Case, with: &Oracle, row: usize) -> Result<CloseUp, RunError> {
        let (spec, n) = (&case.problem.program, case.problem.n);
        let size = spec.batch(n);
        // A program without rows of its own has those of its result.
        let start = if row < spec.rows { row / size * size } else { 0 };
        let rows = start..(start + size).min(spec.rows).max(start + 1);
        let group = Group { cases: vec![case] };
        let programs = Programs::new(&group, rows.len())?;
        let prepared = Prepared::new(&group, &programs)?;
        let fail = |source: CaseError| RunError::of(case, source);
        let arguments = arguments_of(&case.problem, &prepared, &rows).map_err(fail)?;
        let places = &programs.cases[0];
        let program = &programs.problems[places.problem].1;
        let call = Call { program, arguments: &arguments, first_row: start };
        let computed = subject::results(case.subject.as_ref(), &call).map_err(|e| fail(e.into()))?;
        let promise = case.subject.promise();
        let declared = |program: &Program| {
            subject::evaluate_declared(program, promise, &arguments).map_err(|e| fail(CaseError::from(e)))
        };
        let exact = |program: &oracle::Prepared, is_asked: &dyn Fn(usize) -> bool| {
            let near = |output| if spec.file().is_none() || is_asked(output) { Demand::Near } else { Demand::None };
            let demands: Vec<Demand> = (0..program.outputs()).map(near).collect();
            if demands.iter().all(|demand| *demand == Demand::None) {
                return Ok(vec![TruthTensor::Skipped; demands.len()]);
            }
            let truth = with.truth(program, &arguments, &demands).map_err(|e| fail(CaseError::from(e)))?;
            Ok::<_, RunError>(truth.outputs)
        };
        let is_ranked = |_| case.checks.iter().any(|check| check.judge.needs_scores());
        let demanded: Vec<usize> = case
            .checks
            .iter()
            .flat_map(|check| check.judge.demands())
            .map(|(output, _)| output)
            .chain(case.measured_output())
            .collect();
        let meant = case.problem.truth.as_ref().unwrap_or(spec);
        let scores = match meant.scores(n, rows.len()).map_err(|e| fail(e.into()))? {
            Some(ranking) => {
                let (declared, exact) = (declared(&ranking)?, exact(&oracle::Prepared::new(&ranking), &is_ranked)?);
                let both = declared.into_iter().next().zip(exact.into_iter().next());
                both.map(|(declared, exact)| Scores { declared, exact })
            }
            None => None,
        };
        Ok(CloseUp {
            declared: declared(&programs.truths[places.truth].program)?,
            exact: exact(&prepared.truths[places.truth], &|output| demanded.contains(&output))?,
            program: program.clone(),
            rows,
            computed,
            scores,
        })
    }
}
