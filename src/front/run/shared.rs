//! Data that cases of one problem share: programs, truths, arguments, and their prepared forms.

use std::collections::BTreeMap;

use crate::analysis::{Equality, Numbering, signature};
use crate::input::{Argument, InputKey};
use crate::ir::Program;
use crate::machine::{self, Mode, compute_alike};
use crate::oracle;
use crate::program::{BuildError, ProgramSpec};
use crate::subject;
use crate::suite::{Case, PlannedMetric, Problem, TruthType};
use crate::tensor::Tensor;

use super::{CaseError, RunError};
use crate::analysis::{World, check_memory};

/// Cases whose programs take the same arguments, and so share the input bits. They share the truth, too, if their
/// programs are the same or the same program ranks their tokens.
pub struct Group<'a> {
    /// At least one, in the order in which they were given to [`groups`].
    pub cases: Vec<&'a Case>,
}

/// The cases in groups, each under the key that its cases share.
pub fn groups<'a>(cases: &[&'a Case]) -> BTreeMap<String, Group<'a>> {
    let mut groups: BTreeMap<String, Group<'a>> = BTreeMap::new();
    for case in cases {
        let Problem { suite, program, input, n, seed, .. } = &case.problem;
        let size = program.batch(*n);
        // The text of a distribution is not enough: what it fills depends on the program's parameters.
        let arguments = match program.build(*n, size) {
            Ok(built) => input.fillings(&Argument::of_program(&built)),
            // What is wrong with it is told when it is evaluated.
            Err(_) => program.to_string(),
        };
        let shared = format!("{suite}/{arguments}/{n}/{seed}/{size} of {} rows", program.rows);
        groups.entry(shared).or_insert_with(|| Group { cases: Vec::new() }).cases.push(case);
    }
    groups
}

impl Group<'_> {
    /// Refuses a group that does not fit in memory, before anything is evaluated.
    ///
    /// # Errors
    /// Names the first case whose program is too large, or cannot be built.
    pub(super) fn check_memory(&self) -> Result<(), RunError> {
        // Modes share programs, and building one is what takes time here.
        let mut seen: Vec<&ProgramSpec> = Vec::new();
        for case in &self.cases {
            let Problem { program, n, .. } = &case.problem;
            if seen.iter().any(|other| other.is_same_program(program)) {
                continue;
            }
            seen.push(program);
            let built = program.build(*n, program.batch(*n)).map_err(|e| RunError::of(case, e.into()))?;
            check_memory(&built, World::Truth)
                .map_err(|source| RunError::of(case, CaseError::Memory { n: *n, source }))?;
        }
        Ok(())
    }
}

/// The programs of a group over a number of rows, with those that rank their tokens.
pub(super) struct Programs<'a> {
    /// Programs that are judged, one for all that evaluate it.
    pub problems: Vec<(&'a ProgramSpec, Program)>,
    /// Programs whose results over the real numbers are the truth of some problem.
    pub truths: Vec<TruthProgram<'a>>,
    /// Programs that rank the tokens of some truth.
    pub scores: Vec<Program>,
    /// Programs for the machine, as the compiler leaves them, each with a mode that uses it.
    pub compiled: Vec<(Program, &'a Mode)>,
    pub cases: Vec<Places>,
}

/// A program whose results over the real numbers are the truth of some cases.
pub(super) struct TruthProgram<'a> {
    pub spec: &'a ProgramSpec,
    pub program: Program,
    /// The type to which the truth of each measured result is rounded. Cases that ask for two types of one result have two
    /// truths: a figure must not depend on the cases that run beside it.
    rounded: BTreeMap<usize, TruthType>,
}

/// The programs of a case, by position.
pub(super) struct Places {
    pub problem: usize,
    pub truth: usize,
    pub scores: Option<usize>,
    /// The compiled program of an emulated subject.
    pub compiled: Option<usize>,
    /// For each metric, the compiled program of another mode that it is measured against; `None` for the truth.
    pub against: Vec<Option<usize>>,
    /// For each check, an emulated subject's compiled form of the program that it compares with, if that takes as many
    /// rows.
    pub beside: Vec<Option<usize>>,
}

impl<'a> Programs<'a> {
    pub fn new(group: &Group<'a>, rows: usize) -> Result<Programs<'a>, RunError> {
        let mut programs = Programs {
            problems: Vec::new(),
            truths: Vec::new(),
            scores: Vec::new(),
            compiled: Vec::new(),
            cases: Vec::new(),
        };
        // Programs with one signature give the same bits.
        let mut numbering = Numbering::new(Equality::Compiled);
        let (mut score_signatures, mut signatures) = (Vec::new(), Vec::new());
        for case in &group.cases {
            let fail = |source: CaseError| RunError::of(case, source);
            let (spec, n) = (&case.problem.program, case.problem.n);
            let declared = case.problem.truth.as_ref().unwrap_or(spec);
            let problem = placed(&mut programs.problems, spec, n, rows).map_err(|e| fail(e.into()))?;
            let truth = placed_truth(&mut programs.truths, case, rows).map_err(|e| fail(e.into()))?;
            let scores = if case.checks.iter().any(|c| c.judge.needs_scores()) {
                let scores = declared.scores(n, rows).map_err(|e| fail(e.into()))?;
                let scores = scores.ok_or_else(|| fail(CaseError::NoTokens { program: declared.to_string() }))?;
                let own = signature(&scores, &mut numbering);
                // Cases of one program rank by one truth: it is found once.
                let known = score_signatures.iter().position(|other| *other == own);
                if known.is_none() {
                    programs.scores.push(scores);
                    score_signatures.push(own);
                }
                Some(known.unwrap_or(programs.scores.len() - 1))
            } else {
                None
            };
            let program = &programs.problems[problem].1;
            let mut place = |program: &Program, mode: &'a Mode| {
                let compiled = subject::compile(program, mode);
                let own = signature(&compiled, &mut numbering);
                // Generations that a compiler treats alike often compute alike, too.
                let known = programs
                    .compiled
                    .iter()
                    .zip(&signatures)
                    .position(|((_, other), theirs)| *theirs == own && compute_alike(other, mode, &compiled));
                if known.is_none() {
                    programs.compiled.push((compiled, mode));
                    signatures.push(own);
                }
                known.unwrap_or(programs.compiled.len() - 1)
            };
            let mode = case.subject.emulated();
            let compiled = mode.map(|mode| place(program, mode));
            let other = |metric: &'a PlannedMetric| metric.against.as_ref();
            let against = case.metrics.iter().map(|metric| other(metric).map(|mode| place(program, mode))).collect();
            let mut beside = Vec::new();
            for check in &case.checks {
                let wanted = check.judge.beside().filter(|other| other.batch(n) == rows).zip(mode);
                let built = wanted.map(|(other, mode)| Ok((other.build(n, rows)?, mode))).transpose();
                let built = built.map_err(|e: BuildError| fail(e.into()))?;
                // Only a program of the same arguments can be evaluated with those of the group.
                let taken = program.entry().parameter_shapes();
                let alike = built.filter(|(other, _)| other.entry().parameter_shapes() == taken);
                beside.push(alike.map(|(other, mode)| place(&other, mode)));
            }
            programs.cases.push(Places { problem, truth, scores, compiled, against, beside });
        }
        Ok(programs)
    }

    /// The cases that are judged by a truth.
    pub fn cases_of(&self, group: &Group<'a>, truth: usize) -> Vec<&'a Case> {
        group.cases.iter().zip(&self.cases).filter(|(_, at)| at.truth == truth).map(|(case, _)| *case).collect()
    }
}

/// The position of a program among the known ones. An unknown program is built and added.
fn placed<'a>(
    known: &mut Vec<(&'a ProgramSpec, Program)>,
    spec: &'a ProgramSpec,
    n: usize,
    rows: usize,
) -> Result<usize, BuildError> {
    if let Some(at) = known.iter().position(|(other, _)| other.is_same_program(spec)) {
        return Ok(at);
    }
    known.push((spec, spec.build(n, rows)?));
    Ok(known.len() - 1)
}

/// The position of the truth of a case, one of whose results may be measured at a type. An unknown one is added.
fn placed_truth<'a>(known: &mut Vec<TruthProgram<'a>>, case: &'a Case, rows: usize) -> Result<usize, BuildError> {
    let Problem { program, truth, n, .. } = &case.problem;
    let spec = truth.as_ref().unwrap_or(program);
    let measured = case.measured_output().map(|output| (output, case.rounded));
    let agrees = |other: &TruthProgram| {
        measured.is_none_or(|(output, own)| other.rounded.get(&output).is_none_or(|rounded| *rounded == own))
    };
    if let Some(at) = known.iter().position(|other| other.spec.is_same_program(spec) && agrees(other)) {
        known[at].rounded.extend(measured);
        return Ok(at);
    }
    known.push(TruthProgram { spec, program: spec.build(*n, rows)?, rounded: BTreeMap::from_iter(measured) });
    Ok(known.len() - 1)
}

/// The programs of a group made ready: once, and not for every batch.
pub(super) struct Prepared<'a> {
    pub programs: &'a Programs<'a>,
    /// One a program of truth.
    pub truths: Vec<oracle::Prepared>,
    /// One a program of scores.
    pub scores: Vec<oracle::Prepared>,
    /// One a compiled program.
    pub compiled: Vec<machine::Prepared<'a>>,
    /// Arguments that are the same for all batches.
    pub fixed: Vec<Option<Tensor>>,
    pub held: machine::Held,
}

impl<'a> Prepared<'a> {
    pub fn new(group: &Group, programs: &'a Programs<'a>) -> Result<Prepared<'a>, RunError> {
        let first = group.cases[0];
        let taken = Argument::of_program(&programs.problems[0].1);
        let fixed = first.problem.input.fixed_tensors(&input_key(&first.problem), &taken);
        let fixed = fixed.map_err(|e| RunError::of(first, e.into()))?;
        let held = {
            // Of the first argument each batch takes its rows.
            let mut whole = fixed.clone();
            whole.iter_mut().take(1).for_each(|first| *first = None);
            machine::Held::new(&whole)
        };
        Ok(Prepared {
            fixed,
            held,
            programs,
            truths: programs.truths.iter().map(|truth| oracle::Prepared::new(&truth.program)).collect(),
            scores: programs.scores.iter().map(oracle::Prepared::new).collect(),
            compiled: programs.compiled.iter().map(|(program, _)| machine::Prepared::new(program)).collect(),
        })
    }
}

/// The key of a problem's input bits.
pub(super) fn input_key(problem: &Problem) -> InputKey {
    let Problem { suite, input, n, seed, .. } = problem;
    InputKey { suite: suite.clone(), input: input.drawn.to_string(), n: *n as u64, seed: *seed }
}
