//! One matrix of a suite into its cases: every name in it is looked up, and what is refused is placed.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;

use crate::check::{self, Check, Context, PlanError, PlanFault, Scope, Settings};
use crate::input::{Argument, Binding, InputSpec, Inputs};
use crate::ir::Program;
use crate::machine::{Mode, ModeError, ModePart};
use crate::metric::{self, Metric};
use crate::name::hint;
use crate::program::ProgramSpec;
use crate::subject::{Emulated, Subject};
use crate::tensor::DType;

use super::case::{Case, PlannedCheck, PlannedFit, PlannedMetric, Problem};
use super::error::{Source, SuiteError};
use super::files::{FileError, Files, is_file};
use super::table::{CheckTable, Expect, MatrixTable};

/// The most rows of one case: the state of each batch is held until all are done.
const MOST_ROWS: u64 = 1 << 24;

/// All cases of one matrix.
#[expect(clippy::too_many_lines, reason = "the loops over a matrix, from the outermost in")]
pub(super) fn expand(
    here: &Source,
    suite: &str,
    spanned: &Spanned<MatrixTable>,
    files: &mut Files,
) -> Result<Vec<Case>, SuiteError> {
    let matrix = spanned.get_ref();
    let (line, _) = here.position(spanned.span());
    let parsed = |list: &[Spanned<String>]| -> Result<Vec<Mode>, SuiteError> {
        let mut modes = Vec::new();
        for chip in &matrix.chip {
            for precision in &matrix.precision {
                for excess in &matrix.excess {
                    for refinement in list {
                        let mode =
                            Mode::new(chip.get_ref(), precision.get_ref(), excess.get_ref(), refinement.get_ref());
                        let at = |error: &ModeError| blamed(error, [chip, precision, excess, refinement]);
                        modes.push(mode.map_err(|error| here.error(at(&error), error))?);
                    }
                }
            }
        }
        Ok(modes)
    };
    let modes = parsed(&matrix.refinement)?;
    let subjects = subjects_of(here, matrix, modes, files)?;
    let mut bound = Vec::new();
    let weights = match &matrix.weights {
        Some(name) => Some(files.weights(name.get_ref()).map_err(|e| here.error(name.span(), e))?),
        None => None,
    };
    for (name, text) in &matrix.arguments {
        bound.push((name, files.binding(text.get_ref()).map_err(|e| here.error(text.span(), e))?));
    }
    let mut inputs = Vec::new();
    for input in &matrix.input {
        let drawn = input.get_ref().parse::<InputSpec>().map_err(|e| here.error(input.span(), e))?;
        let with = |inputs: Inputs, (name, binding): &(&String, Binding)| inputs.with(name, binding.clone());
        let own = bound.iter().fold(Inputs::from(drawn), with);
        inputs.push(weights.iter().fold(own, |inputs, weights| inputs.with_weights(weights.clone())));
    }
    let mut metrics = Vec::new();
    for column in &matrix.metric {
        if matrix.metric.iter().filter(|other| other.get_ref() == column.get_ref()).count() > 1 {
            return Err(here.error(column.span(), format!("metric `{}` is listed twice", column.get_ref())));
        }
        metrics.push(planned_metric(here, column)?);
    }
    let mut cases = Vec::new();
    for program in &matrix.program {
        let spec = spec_of(here, matrix, program, files)?;
        for (input, place) in inputs.iter().zip(&matrix.input) {
            files.check_input(&spec, input).map_err(|why| here.error(place.span(), why))?;
        }
        for excess in &matrix.excess {
            files.check_excess(&spec, excess.get_ref()).map_err(|why| here.error(excess.span(), why))?;
        }
        let truth = truth_of(here, matrix, &spec, files)?;
        let sizes = sizes_of(here, spanned, program, &spec)?;
        for rows in &matrix.rows {
            let given = rows.span().end > 0;
            if given && spec.rows != 1 && spec.file().is_none() {
                return Err(here.error(rows.span(), format!("rows are given here and in {spec}: leave one of them")));
            }
            let count = if given { *rows.get_ref() } else { spec.rows as u64 };
            let place = || if given { rows.span() } else { program.span() };
            if count == 0 || count > MOST_ROWS {
                return Err(here.error(place(), format!("rows is {count}: it must be from 1 to {MOST_ROWS}")));
            }
            if let Some(file) = spec.file().filter(|file| count % file.rows() as u64 != 0) {
                let (path, taken) = (file.path.display(), file.rows());
                let why =
                    format!("rows is {count}: {path} takes {taken} at a time, so it must be a multiple of {taken}");
                return Err(here.error(place(), why));
            }
            let spec = spec.over(count as usize);
            for (size, place) in &sizes {
                let size = *size;
                let built = spec.build(size, spec.batch(size));
                let built = built.map_err(|e| here.error(place.clone(), format!("failed to build {spec}: {e}")))?;
                let output = output_of(here, matrix, &spec, &built)?;
                let taken = Argument::of_program(&built);
                let binding = matrix.arguments.values().next().or(matrix.weights.as_ref());
                if let (Some(input), Some(text)) = (inputs.first(), binding) {
                    input.check_names(&taken).map_err(|e| here.error(text.span(), e))?;
                }
                for subject in &subjects {
                    let context = Context { spec: &spec, n: size, mode: subject.promise(), program: &built };
                    for input in &inputs {
                        for seed in &matrix.seed {
                            let problem = Problem {
                                suite: suite.to_string(),
                                program: spec.clone(),
                                truth: truth.as_ref().map(|truth| truth.over(count as usize)),
                                input: input.clone(),
                                n: size,
                                seed: *seed,
                            };
                            let (checks, fits) = planned_checks(here, matrix, &context, &metrics, files)?;
                            cases.push(Case {
                                id: Case::id_of(&problem, subject.as_ref()),
                                problem,
                                subject: Arc::clone(subject),
                                output,
                                metrics: metrics.clone(),
                                rounded: matrix.rounded,
                                checks,
                                fits,
                                line: Some(line),
                                slow: matrix.slow,
                            });
                        }
                    }
                }
            }
        }
    }
    Ok(cases)
}

/// The subjects that are judged: the machine in each mode, or each file of recorded results by the promise of each
/// mode.
fn subjects_of(
    here: &Source,
    matrix: &MatrixTable,
    modes: Vec<Mode>,
    files: &mut Files,
) -> Result<Vec<Arc<dyn Subject>>, SuiteError> {
    let Some(recorded) = &matrix.recorded else {
        return Ok(modes.into_iter().map(|mode| Arc::new(Emulated(mode)) as Arc<dyn Subject>).collect());
    };
    let mut subjects: Vec<Arc<dyn Subject>> = Vec::new();
    for path in recorded {
        for mode in &modes {
            let read = files.read_results(path.get_ref(), mode).map_err(|why| here.error(path.span(), why))?;
            subjects.push(Arc::new(read));
        }
    }
    Ok(subjects)
}

/// The program of this name: a built-in one, or that of a file.
fn spec_of(
    here: &Source,
    matrix: &MatrixTable,
    program: &Spanned<String>,
    files: &mut Files,
) -> Result<ProgramSpec, SuiteError> {
    let name = program.get_ref();
    if is_file(name) {
        let scores = matrix.scores.as_ref().map(|name| name.get_ref().as_str());
        let results = matrix.results.as_ref().map(|names| names.get_ref().as_slice());
        let place = |key| match key {
            Some("results") => matrix.results.as_ref().map(Spanned::span),
            Some("scores") => matrix.scores.as_ref().map(Spanned::span),
            _ => None,
        };
        let at = |error: &FileError| place(error.key()).unwrap_or_else(|| program.span());
        return files.program(name, results, scores).map_err(|error| here.error(at(&error), error));
    }
    let spec: ProgramSpec = name.parse().map_err(|e| here.error(program.span(), e))?;
    let only_files = |key: &str| format!("`{key}` is for programs of files, but {spec} is built in");
    match (&matrix.results, &matrix.scores) {
        (Some(results), _) => Err(here.error(results.span(), only_files("results"))),
        (_, Some(scores)) => Err(here.error(scores.span(), only_files("scores"))),
        _ => Ok(spec),
    }
}

/// The program of `truth`, where that is given: its results have the names of the program's own.
fn truth_of(
    here: &Source,
    matrix: &MatrixTable,
    spec: &ProgramSpec,
    files: &mut Files,
) -> Result<Option<ProgramSpec>, SuiteError> {
    let Some(name) = &matrix.truth else { return Ok(None) };
    let scores = matrix.scores.as_ref().map(|name| name.get_ref().as_str());
    let results = matrix.results.as_ref().map(|names| names.get_ref().as_slice());
    let truth = files.program(name.get_ref(), results, scores).map_err(|e| here.error(name.span(), e))?;
    files.check_truth(&truth, spec).map_err(|e| here.error(name.span(), e))?;
    Ok(Some(truth))
}

/// The sizes of a program with their places: those that the matrix lists, or the one that a file has.
fn sizes_of(
    here: &Source,
    matrix: &Spanned<MatrixTable>,
    program: &Spanned<String>,
    spec: &ProgramSpec,
) -> Result<Vec<(usize, Range<usize>)>, SuiteError> {
    match (&matrix.get_ref().n, spec.file()) {
        (Some(sizes), _) => Ok(sizes.iter().map(|n| (*n.get_ref() as usize, n.span())).collect()),
        (None, Some(file)) => Ok(vec![(file.n(), program.span())]),
        (None, None) => {
            Err(here.error(matrix.span(), format!("missing field `n`, the sizes that {spec} is built for")))
        }
    }
}

/// The place of the part of a mode that is at fault.
fn blamed(error: &ModeError, [chip, precision, excess, refinement]: [&Spanned<String>; 4]) -> Range<usize> {
    match error.fault.part() {
        ModePart::Chip => chip.span(),
        ModePart::Precision => precision.span(),
        ModePart::Excess => excess.span(),
        // The form of the whole is right: its parts were given.
        ModePart::Refinements | ModePart::Whole => refinement.span(),
    }
}

fn output_of(
    here: &Source,
    matrix: &MatrixTable,
    spec: &ProgramSpec,
    program: &Program,
) -> Result<Option<usize>, SuiteError> {
    let names = &program.output_names;
    match &matrix.output {
        Some(name) => {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let missing = || {
                format!("{spec} has no result `{}`; {}", name.get_ref(), hint(name.get_ref(), known.iter().copied()))
            };
            let at = program.output(name.get_ref()).ok_or_else(|| here.error(name.span(), missing()))?;
            let shape = &program.entry().instructions[program.outputs()[at]].shape;
            if !matrix.metric.is_empty() && !shape.dtype().is_some_and(DType::is_float) {
                let why = format!("the result `{}` is {shape}: metrics measure floats", name.get_ref());
                return Err(here.error(name.span(), why));
            }
            Ok(Some(at))
        }
        None => {
            let float = |id: &usize| program.entry().instructions[*id].shape.dtype().is_some_and(|d| d.is_float());
            let first = program.outputs().iter().position(float);
            match matrix.metric.first() {
                Some(column) if first.is_none() => {
                    Err(here.error(column.span(), format!("{spec} has no float result to measure")))
                }
                _ => Ok(first),
            }
        }
    }
}

fn planned_metric(here: &Source, column: &Spanned<String>) -> Result<PlannedMetric, SuiteError> {
    let text = column.get_ref();
    let (name, against) = match text.split_once(" vs ") {
        Some((name, mode)) => (name, Some(mode.parse::<Mode>().map_err(|e| here.error(column.span(), e))?)),
        None => (text.as_str(), None),
    };
    let found: Option<&'static dyn Metric> = metric::find_metric(name);
    let names: Vec<_> = metric::METRICS.iter().map(|m| m.name()).collect();
    let metric = found.ok_or_else(|| {
        here.error(column.span(), format!("unknown metric `{name}`; {}", hint(name, names.iter().copied())))
    })?;
    Ok(PlannedMetric { column: text.clone(), metric, against })
}

type Planned = (Vec<PlannedCheck>, Vec<PlannedFit>);

fn planned_checks(
    here: &Source,
    matrix: &MatrixTable,
    context: &Context,
    metrics: &[PlannedMetric],
    files: &mut Files,
) -> Result<Planned, SuiteError> {
    let mut checks: Vec<PlannedCheck> = Vec::new();
    let mut fits = Vec::new();
    for spanned in &matrix.check {
        let table = spanned.get_ref();
        let kind = kind_of(here, &table.kind)?;
        let fail = |why: String| here.error(spanned.span(), why);
        // At the setting that is at fault, if there is one and it is given.
        let at = |setting: Option<&str>| setting.and_then(|name| table.place(name)).unwrap_or_else(|| spanned.span());
        let refuse = |error: PlanError| {
            let is_unnamed = matches!(error.fault, PlanFault::NoResult { .. }) && context.spec.file().is_some();
            let hint = if is_unnamed { "; `results = [...]` names a file's, in their order" } else { "" };
            here.error(at(error.setting), format!("check {}: {error}{hint}", kind.name()))
        };
        let because = table.because.as_deref().unwrap_or("");
        if table.expect == Expect::Pass && table.because.is_some() {
            return Err(fail("`because` explains what is found, but `expect` is \"pass\" or missing".to_string()));
        }
        if table.expect != Expect::Pass && because.is_empty() {
            return Err(fail("`expect` needs a `because` that says why the deviation is known".to_string()));
        }
        let mut settings = table.settings();
        if let Some(name) = table.against.as_ref().filter(|name| is_file(name.get_ref())) {
            let read = files.program(name.get_ref(), None, None).map_err(|e| here.error(name.span(), e))?;
            settings.program = Some(read);
        }
        if let Some(value) = settings.allowance.filter(|share| !(0.0..=1.0).contains(share)) {
            let (setting, expected) = ("allowance", "share from 0 to 1");
            return Err(refuse(PlanFault::BadValue { setting, value, expected }.of(setting)));
        }
        if let Some(key) = settings.list().into_iter().map(|(key, _)| key).find(|key| !kind.settings().contains(key)) {
            let why = format!("check {} takes no `{key}`; it takes {}", kind.name(), list(kind.settings()));
            return Err(here.error(at(Some(key)), why));
        }
        let Scope::Case(question) = kind.scope() else {
            let fit = planned_fit(table, &settings, metrics).map_err(refuse)?;
            if fits.iter().any(|earlier: &PlannedFit| earlier.metric == fit.metric) {
                return Err(fail(format!("growth of `{}` is asked for twice", fit.metric)));
            }
            fits.push(fit);
            continue;
        };
        let judge = question.plan(&settings, context).map_err(refuse)?;
        let setting = setting_of(table, matrix);
        if checks.iter().any(|c| c.check.name() == kind.name() && c.setting == setting) {
            return Err(fail(format!("check {} is asked twice with the same settings", kind.name())));
        }
        let because = table.because.clone();
        checks.push(PlannedCheck { check: kind, setting, judge, expect: table.expect, because });
    }
    Ok((checks, fits))
}

fn kind_of(here: &Source, kind: &Spanned<String>) -> Result<&'static dyn Check, SuiteError> {
    let name = kind.get_ref();
    check::find_check(name).ok_or_else(|| {
        let hint = hint(name, check::CHECKS.iter().map(|c| c.name()));
        here.error(kind.span(), format!("unknown check `{name}`; {hint}"))
    })
}

/// The settings of a check in which not all of its kind in the matrix agree; a file by its name alone.
fn setting_of(table: &CheckTable, matrix: &MatrixTable) -> Option<String> {
    let same_kind =
        || matrix.check.iter().map(Spanned::get_ref).filter(|other| other.kind.get_ref() == table.kind.get_ref());
    let telling = |pair: &(&'static str, String)| same_kind().any(|other| !other.settings().list().contains(pair));
    let told = |value: &str| match value.rsplit_once('/') {
        Some((_, file)) if is_file(value) => file.to_string(),
        _ => value.to_string(),
    };
    let telling = table.settings().list().into_iter().filter(telling);
    let pairs: Vec<String> = telling.map(|(key, value)| format!("{key}={}", told(&value))).collect();
    (!pairs.is_empty()).then(|| pairs.join(","))
}

fn planned_fit(table: &CheckTable, settings: &Settings, metrics: &[PlannedMetric]) -> Result<PlannedFit, PlanError> {
    let needed = |setting, expected| PlanFault::Missing { setting, expected };
    let metric = settings.metric.clone().ok_or(needed("metric", "the metric whose growth is fitted"))?;
    let slope = settings.slope.ok_or(needed("slope", "what theory expects of the fit on log-log axes"))?;
    if !slope.is_finite() {
        let (setting, expected) = ("slope", "slope");
        return Err(PlanFault::BadValue { setting, value: slope, expected }.of(setting));
    }
    let measured: Vec<String> = metrics.iter().map(|m| m.column.clone()).collect();
    if !measured.contains(&metric) {
        return Err(PlanFault::NotMeasured { metric, measured }.of("metric"));
    }
    Ok(PlannedFit { metric, slope, expect: table.expect, because: table.because.clone() })
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no settings".to_string() } else { names.join(", ") }
}
