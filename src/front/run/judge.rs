//! Evaluates the cases of one subject together: one input, one truth, every mode.

use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use crate::check::{Batch, Scale, Tally, Witness, float_hex};
use crate::deadline;
use crate::input::Argument;
use crate::ir::Program;
use crate::machine;
use crate::metric::{Accumulator, Sample, Unit};
use crate::oracle::{self, Demand, Oracle, OracleError, Stats, Truth, TruthTensor};
use crate::record::{CheckRecord, Figure, Key, Record};
use crate::subject::{self, Call};
use crate::suite::{Case, Problem, TruthType};
use crate::tensor::Tensor;

use super::cost::{Cost, operations};
use super::shared::{Group, Prepared, Programs, TruthProgram, input_key};
use super::{CaseError, Outcome, RunError};

/// The state of one case after the batches so far.
struct Progressing {
    metrics: Vec<Accumulator>,
    worst: Option<Witness>,
    tallies: Vec<Tally>,
}

/// Evaluates a group, its rows in batches that run in parallel and merge in order: one record a case, in the group's
/// order.
///
/// # Errors
/// Names the case, and says what could not be built, evaluated, measured or judged.
pub fn evaluate(group: &Group, oracle: &Oracle) -> Result<Outcome, RunError> {
    let Some(first) = group.cases.first() else { return Ok(Outcome::default()) };
    let spec = &first.problem.program;
    let size = spec.batch(first.problem.n);
    let batches: Vec<Range<usize>> =
        (0..spec.rows).step_by(size).map(|start| start..(start + size).min(spec.rows)).collect();
    let programs = Programs::new(group, size)?;
    let prepared = Prepared::new(group, &programs)?;
    let part = |rows: Range<usize>| {
        if rows.len() == size {
            batch(group, &prepared, rows, oracle)
        } else {
            // The last rows are fewer, and a program's shapes are fixed: they have one of their own.
            batch(group, &Prepared::new(group, &Programs::new(group, rows.len())?)?, rows, oracle)
        }
    };
    let deadline = deadline::current();
    // Collected in the order of rows, so that sums of figures do not depend on threads.
    let parts: Vec<Result<Part, RunError>> =
        batches.into_par_iter().map(|rows| deadline.within(|| part(rows))).collect();
    let mut whole: Option<Vec<Progressing>> = None;
    let mut stats = Stats::default();
    let cases = group.cases.iter().map(|case| case.id.clone()).collect();
    let mut cost = Cost { suite: first.problem.suite.clone(), cases, work: 0.0, seconds: 0.0 };
    for part in parts {
        let Part { states, stats: more, work, seconds } = part?;
        stats.merge(&more);
        cost.work += work;
        cost.seconds += seconds;
        whole = Some(match whole {
            None => states,
            Some(earlier) => earlier.into_iter().zip(states).map(|(a, b)| merged(a, b)).collect(),
        });
    }
    let states = whole.unwrap_or_default();
    let records = group.cases.iter().zip(states).map(|(case, state)| record(case, state)).collect();
    Ok(Outcome { records, stats, resumed: 0, costs: vec![cost] })
}

fn merged(mut earlier: Progressing, later: Progressing) -> Progressing {
    for (a, b) in earlier.metrics.iter_mut().zip(later.metrics) {
        a.merge(b);
    }
    // The first metric names the worst element: the witness is that of the batch that it came from.
    let place = earlier.metrics.first().and_then(Accumulator::worst).map(|w| w.index as u64);
    earlier.worst = [earlier.worst.take(), later.worst].into_iter().flatten().find(|w| Some(w.index) == place);
    for (a, b) in earlier.tallies.iter_mut().zip(later.tallies) {
        a.merge(b);
    }
    earlier
}

/// The outcome of a batch: a state a case, and the cost.
struct Part {
    states: Vec<Progressing>,
    stats: Stats,
    work: f64,
    seconds: f64,
}

/// The exact knowledge of one subject over one batch.
struct Known<'a> {
    truth: Truth,
    scale: Scale<'a>,
}

/// One batch of rows in every mode.
#[expect(clippy::too_many_lines, reason = "the steps of one batch, in order")]
fn batch(group: &Group, prepared: &Prepared, rows: Range<usize>, oracle: &Oracle) -> Result<Part, RunError> {
    let started = Instant::now();
    let first = group.cases[0];
    let n = &first.problem.n;
    let fail = |source: CaseError| RunError::of(first, source);
    let programs = prepared.programs;
    let arguments = arguments_of(&first.problem, prepared, &rows).map_err(fail)?;
    let mut stats = Stats::default();
    let mut work = 0.0;
    let mut known = Vec::new();
    for (at, TruthProgram { program, .. }) in programs.truths.iter().enumerate() {
        let cases = programs.cases_of(group, at);
        let fail = |source: CaseError| RunError::of(cases.first().unwrap_or(&first), source);
        let (truth, more) = truth_of(&cases, &prepared.truths[at], &arguments, oracle).map_err(|e| fail(e.into()))?;
        stats.merge(&more);
        known.push(Known { truth, scale: Scale::new(program, &arguments) });
        work += operations(program) * (1 + cases.len()) as f64;
    }
    let mut scores = Vec::new();
    for program in &prepared.scores {
        let truth = oracle.truth(program, &arguments, &[Demand::Order]).map_err(|e| fail(e.into()))?;
        stats.merge(&truth.stats);
        scores.push(truth.outputs.into_iter().next());
    }
    let mut computed = ComputedBatch::new(prepared, &arguments);
    let mut states = Vec::new();
    for (case, at) in group.cases.iter().zip(&programs.cases) {
        let fail = |source: CaseError| RunError::of(case, source);
        let (program, known) = (&programs.problems[at.problem].1, &known[at.truth]);
        let scores = match at.scores.map(|at| &scores[at]) {
            Some(Some(TruthTensor::Float(scores))) => Some(scores),
            _ => None,
        };
        for at in at.compiled.iter().chain(at.against.iter().chain(&at.beside).flatten()) {
            computed.evaluate(*at).map_err(|e| fail(e.into()))?;
        }
        let own;
        let got = match at.compiled {
            Some(at) => computed.results(at),
            None => {
                let call = Call { program, arguments: &arguments, first_row: rows.start };
                own = subject::results(case.subject.as_ref(), &call).map_err(|e| fail(e.into()))?;
                own.as_slice()
            }
        };
        let mut state = Progressing {
            metrics: case.metrics.iter().map(|m| Accumulator::new(m.metric)).collect(),
            worst: None,
            tallies: vec![Tally::default(); case.checks.len()],
        };
        let against = at.against.iter().map(|at| at.map(|at| computed.results(at))).collect();
        let measured = Measured { against, truth: &known.truth, scale: &known.scale };
        measure(case, program, &measured, got, rows.start, &mut state).map_err(fail)?;
        let seen = Batch {
            spec: &case.problem.program,
            n: *n,
            subject: case.subject.as_ref(),
            program,
            arguments: &arguments,
            got,
            truth: &known.truth,
            scale: &known.scale,
            scores,
            beside: None,
            first_row: rows.start,
        };
        for ((check, tally), beside) in case.checks.iter().zip(&mut state.tallies).zip(&at.beside) {
            let seen = Batch { beside: beside.map(|at| computed.results(at)), ..seen };
            let check_error = |source| fail(CaseError::Check { check: check.check.name(), source });
            check.judge.observe(&seen, tally).map_err(check_error)?;
        }
        states.push(state);
    }
    Ok(Part { states, stats, work, seconds: started.elapsed().as_secs_f64() })
}

/// The arguments of a group's programs for these rows.
pub(super) fn arguments_of(
    problem: &Problem,
    prepared: &Prepared,
    rows: &Range<usize>,
) -> Result<Vec<Tensor>, CaseError> {
    let taken = Argument::of_program(&prepared.programs.problems[0].1);
    drawn_for(problem, &taken, &prepared.fixed, rows)
}

/// The arguments that a program takes for these rows; those that are `fixed` as they are.
pub(super) fn drawn_for(
    problem: &Problem,
    taken: &[Argument],
    fixed: &[Option<Tensor>],
    rows: &Range<usize>,
) -> Result<Vec<Tensor>, CaseError> {
    // A program that has no rows of its own, such as a matmul, takes its first argument whole.
    let leading = taken.first().and_then(|a| a.dims.first()).map_or(rows.len(), |d| *d);
    let range = rows.start as u64..(rows.start + leading) as u64;
    Ok(problem.input.tensors(&input_key(problem), taken, fixed, range)?)
}

/// The machine's results over one batch, each compiled program evaluated when it is first asked for.
struct ComputedBatch<'a> {
    prepared: &'a Prepared<'a>,
    arguments: &'a [Tensor],
    /// All programs of a group take the same arguments.
    bound: Option<machine::Bound>,
    results: Vec<Option<Vec<Tensor>>>,
}

impl<'a> ComputedBatch<'a> {
    fn new(prepared: &'a Prepared<'a>, arguments: &'a [Tensor]) -> ComputedBatch<'a> {
        ComputedBatch { prepared, arguments, bound: None, results: prepared.compiled.iter().map(|_| None).collect() }
    }

    fn evaluate(&mut self, at: usize) -> Result<(), machine::EvalError> {
        if self.results[at].is_some() {
            return Ok(());
        }
        let (compiled, mode) = (&self.prepared.compiled[at], self.prepared.programs.compiled[at].1);
        let bound = match &mut self.bound {
            Some(bound) => bound,
            unbound => unbound.insert(compiled.bind_beside(&self.prepared.held, self.arguments)?),
        };
        self.results[at] = Some(compiled.evaluate(mode, bound)?);
        Ok(())
    }

    /// The results of a program that was evaluated.
    fn results(&self, at: usize) -> &[Tensor] {
        match &self.results[at] {
            Some(results) => results,
            None => unreachable!("what a case looks at is evaluated first"),
        }
    }
}

/// The truth that the metrics and checks of one subject's cases ask for.
fn truth_of(
    cases: &[&Case],
    program: &oracle::Prepared,
    arguments: &[Tensor],
    oracle: &Oracle,
) -> Result<(Truth, Stats), OracleError> {
    let mut demands = vec![Demand::None; program.outputs()];
    for case in cases {
        if let Some(output) = case.measured_output() {
            demands[output] = match case.rounded {
                TruthType::F64 => Demand::Rounded,
                TruthType::Stored => Demand::Stored,
            };
        }
        for (output, demand) in case.checks.iter().flat_map(|c| c.judge.demands()) {
            // What is rounded can be ordered; nothing asks for both of one float.
            if !matches!(demands[output], Demand::Rounded | Demand::Stored) {
                demands[output] = demand;
            }
        }
    }
    // The truth is most of the work: a case that asks for none has none computed.
    if demands.iter().all(|d| *d == Demand::None) {
        let outputs = demands.iter().map(|_| TruthTensor::Skipped).collect();
        return Ok((Truth { outputs, stats: Stats::default() }, Stats::default()));
    }
    let truth = oracle.truth(program, arguments, &demands)?;
    let stats = truth.stats;
    Ok((truth, stats))
}

struct Measured<'a> {
    /// One a metric: the results of another mode, if they stand for the truth.
    against: Vec<Option<&'a [Tensor]>>,
    truth: &'a Truth,
    scale: &'a Scale<'a>,
}

/// Feeds the metrics of one case with one batch.
fn measure(
    case: &Case,
    program: &Program,
    measured: &Measured,
    got: &[Tensor],
    first_row: usize,
    state: &mut Progressing,
) -> Result<(), CaseError> {
    let Some(output) = case.output.filter(|_| !case.metrics.is_empty()) else { return Ok(()) };
    let tensor = &got[output];
    let format = tensor.dtype().format().ok_or(CaseError::NoFloat)?;
    let values = tensor.data().to_f64s();
    let row_len = tensor.dims().last().copied().unwrap_or(1);
    let rows = tensor.dims().first().copied().unwrap_or(1).max(1);
    // Elements are counted through the whole input, so that a witness means the same for any batch.
    let first_index = first_row * (tensor.len() / rows);
    for (at, (planned, accumulator)) in case.metrics.iter().zip(&mut state.metrics).enumerate() {
        let other;
        let truth: &[f64] = match (measured.against[at], &measured.truth.outputs[output]) {
            (Some(results), _) => {
                other = results[output].data().to_f64s();
                &other
            }
            (None, TruthTensor::Float(truth)) if truth.open.is_empty() => &truth.rounded,
            (None, TruthTensor::Float(truth)) => {
                return Err(CaseError::Undecided(truth.open.len()));
            }
            _ => return Err(CaseError::NoTruth),
        };
        let scale = if planned.metric.needs_scale() { measured.scale.get() } else { None };
        let sample = Sample { got: &values, truth, format, row_len, first_index, scale };
        accumulator.add(&sample);
        if at == 0
            && let Some(worst) = accumulator.worst()
        {
            let i = worst.index - first_index;
            state.worst = Some(Witness::of(&program.output_names[output], tensor, first_row, i, float_hex(truth[i])));
        }
    }
    Ok(())
}

fn record(case: &Case, state: Progressing) -> Record {
    let mut figures: Vec<Figure> = Vec::new();
    for (planned, accumulator) in case.metrics.iter().zip(&state.metrics) {
        if let Some(value) = accumulator.value() {
            figures.push(Figure { name: planned.column.clone(), setting: None, unit: planned.metric.unit(), value });
        }
    }
    let mut checks = Vec::new();
    for (planned, tally) in case.checks.iter().zip(&state.tallies) {
        let judged = planned.judge.conclude(tally);
        figures.extend(judged.figures.iter().map(|(name, value)| {
            let documented = planned.check.figures().iter().find(|figure| figure.name == *name);
            let unit = documented.map_or(Unit::One, |figure| figure.unit);
            Figure { name: name.to_string(), setting: planned.setting.clone(), unit, value: *value }
        }));
        checks.push(CheckRecord {
            check: planned.check.name().to_string(),
            setting: planned.setting.clone(),
            outcome: judged.outcome,
            expect: planned.expect,
            because: planned.because.clone(),
            note: judged.note,
            evidence: judged.evidence,
            witnesses: judged.witnesses,
        });
    }
    Record { key: Key::of(case), checks, figures, worst: state.worst }
}
