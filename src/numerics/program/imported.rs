//! A program that a file holds: its shapes are fixed, and its results have the names that a suite gives them.

use std::path::PathBuf;

use crate::analysis::{Reducer, Regions};
use crate::ir::{Computation, Op, Program, Shape, ValueId};
use crate::tensor::DType;

/// A program read from a file.
#[derive(PartialEq)]
pub struct Imported {
    /// Its name in case ids: the file's name without its folder.
    pub name: String,
    /// Path of the file.
    pub path: PathBuf,
    program: Program,
    scores: Option<Program>,
    rows: usize,
    n: usize,
}

/// Why a file's program cannot be put to a suite's questions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportedError {
    /// It takes nothing.
    #[error("the program has no parameter, so a suite has nothing to vary")]
    NoParameter,
    /// A parameter is a tuple.
    #[error("no input fills a parameter of shape {shape}")]
    TupleParameter {
        /// The parameter, in the entry.
        value: ValueId,
        /// Its shape.
        shape: Shape,
    },
    /// The first parameter has no rows, or holds no numbers.
    #[error(
        "the first parameter is {shape}: it must hold rows of numbers, such as bf16[8,1024], or s32[8,1] of one token a row"
    )]
    NoRows {
        /// The parameter, in the entry.
        value: ValueId,
        /// Its shape.
        shape: Shape,
    },
    /// The number of names differs from the number of results.
    #[error("`results` names {named} results, but the program has {count}")]
    ResultCount {
        /// The entry's root.
        value: ValueId,
        /// The number of names.
        named: usize,
        /// The number of results.
        count: usize,
    },
    /// Two results have one name.
    #[error("`results` names {name} twice")]
    RepeatedResult {
        /// The name.
        name: String,
    },
    /// A result has the name of a role, but not its shape.
    #[error(
        "checks take `{name}` for {role} ({rows} rows, {n} tokens), but it is {shape}: name the results in their order"
    )]
    Role {
        /// The result, in the entry.
        value: ValueId,
        /// Its name.
        name: String,
        /// Its role in checks.
        role: &'static str,
        /// Rows of the first parameter.
        rows: usize,
        /// Their length.
        n: usize,
        /// The result's shape.
        shape: Shape,
    },
    /// The scores are not there.
    #[error("`scores` names `{name}`, which is no result and no argument; {hint}")]
    UnknownScores {
        /// The given name.
        name: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// The scores are no rows of floats.
    #[error("`scores` names `{name}`, which is {shape}: it must be floats [{rows}, n]")]
    NoScores {
        /// The value, in the entry.
        value: ValueId,
        /// Its name.
        name: String,
        /// Its shape.
        shape: Shape,
        /// The rows that it must have.
        rows: usize,
    },
}

impl ImportedError {
    /// The value of the entry that does not fit, where it is one.
    pub fn value(&self) -> Option<ValueId> {
        match self {
            ImportedError::TupleParameter { value, .. }
            | ImportedError::NoRows { value, .. }
            | ImportedError::ResultCount { value, .. }
            | ImportedError::Role { value, .. }
            | ImportedError::NoScores { value, .. } => Some(*value),
            ImportedError::NoParameter | ImportedError::RepeatedResult { .. } | ImportedError::UnknownScores { .. } => {
                None
            }
        }
    }

    /// The key of the suite at fault; `None` if the file itself is.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            ImportedError::ResultCount { .. } | ImportedError::RepeatedResult { .. } | ImportedError::Role { .. } => {
                Some("results")
            }
            ImportedError::UnknownScores { .. } | ImportedError::NoScores { .. } => Some("scores"),
            ImportedError::NoParameter | ImportedError::TupleParameter { .. } | ImportedError::NoRows { .. } => None,
        }
    }
}

/// The role in checks of a result of some name.
struct Role {
    names: &'static [&'static str],
    /// Whether it holds a value for each token of a row; otherwise it holds one a row.
    wide: bool,
    fits: fn(DType) -> bool,
    says: &'static str,
}

/// The names that checks read results by. Results of other names may have any shape.
const ROLES: &[Role] = &[
    Role { names: SCORES, wide: true, fits: DType::is_float, says: "a float for each token of a row" },
    Role { names: &["keep"], wide: true, fits: |d| d == DType::Pred, says: "a predicate for each token of a row" },
    Role { names: &["tokens"], wide: true, fits: is_integer, says: "an integer for each token of a row" },
    Role { names: &["token", "greedy", "token_f32"], wide: false, fits: is_integer, says: "one integer a row" },
    Role { names: &["max", "threshold"], wide: false, fits: DType::is_float, says: "one float a row" },
];

/// Results that rank a row's tokens.
const SCORES: &[&str] = &["p", "z", "logits"];

fn is_integer(dtype: DType) -> bool {
    !dtype.is_float() && dtype != DType::Pred
}

impl Imported {
    /// The program in the file at `path`, its results renamed by `results` in the entry's order, if that is there.
    ///
    /// Tokens are ranked by the result or argument (`arg0`, `arg1`, ...) that `scores` names; without it by the result
    /// `p`, `z` or `logits`, or else by the operand of the argmax that the result `token` comes from.
    ///
    /// The leading dim of the first parameter is the rows that the program takes at a time; its last dim, or that of the
    /// scores, is the size n.
    ///
    /// # Errors
    /// If there is no first parameter of numbers with rows, if the names do not match the results, or if a result has a
    /// name that checks know and another shape or type than they take it for.
    pub fn new(
        path: PathBuf,
        mut program: Program,
        results: Option<&[String]>,
        scores: Option<&str>,
    ) -> Result<Imported, ImportedError> {
        let entry = program.entry();
        let parameters = parameters(entry);
        let Some((first, shape)) = parameters.first().map(|id| (*id, &entry.instructions[*id].shape)) else {
            return Err(ImportedError::NoParameter);
        };
        if let Some(value) = parameters.iter().copied().find(|id| entry.instructions[*id].shape.dtype().is_none()) {
            return Err(ImportedError::TupleParameter { value, shape: entry.instructions[value].shape.clone() });
        }
        if shape.dtype().is_none_or(|dtype| dtype == DType::Pred) || shape.dims().len() < 2 || shape.elements() == 0 {
            return Err(ImportedError::NoRows { value: first, shape: shape.clone() });
        }
        let (rows, width) = (shape.dims()[0], shape.dims().last().copied().unwrap_or(1));
        if let Some(results) = results {
            let count = program.output_names.len();
            if results.len() != count {
                return Err(ImportedError::ResultCount { value: entry.root, named: results.len(), count });
            }
            if let Some(twice) = (0..count).find(|at| results[..*at].contains(&results[*at])) {
                return Err(ImportedError::RepeatedResult { name: results[twice].clone() });
            }
            program.output_names = results.to_vec();
        }
        let ranked = ranking(&program, &parameters, rows, scores)?;
        let entry = program.entry();
        let n = ranked.map_or(width, |id| entry.instructions[id].shape.dims()[1]);
        for (id, name) in program.outputs().into_iter().zip(&program.output_names) {
            let Some(role) = ROLES.iter().find(|role| role.names.contains(&name.as_str())) else { continue };
            let shape = &entry.instructions[id].shape;
            let right: &[usize] = if role.wide { &[rows, n] } else { &[rows] };
            if shape.dims() != right || !shape.dtype().is_some_and(role.fits) {
                let (name, shape) = (name.clone(), shape.clone());
                return Err(ImportedError::Role { value: id, name, role: role.says, rows, n, shape });
            }
        }
        let scores = ranked.map(|id| sub_program(&program, id));
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Imported { name, path, program, scores, rows, n })
    }

    /// The program; its results have the suite's names.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program of the scores `[rows, n]` that tokens are ranked by, where there are any.
    pub fn scores(&self) -> Option<&Program> {
        self.scores.as_ref()
    }

    /// The values that `scores` may name: results, and arguments as `arg0`, `arg1`, ..., that are floats `[rows, n]`.
    pub fn may_rank(&self) -> Vec<String> {
        let (entry, outputs) = (self.program.entry(), self.program.outputs());
        let results = self.program.output_names.iter().cloned().zip(outputs.iter().copied());
        let arguments = parameters(entry).into_iter().enumerate().map(|(at, id)| (format!("arg{at}"), id));
        let all = results.chain(arguments);
        all.filter(|(_, id)| ranks(&entry.instructions[*id].shape, self.rows)).map(|(name, _)| name).collect()
    }

    /// Rows that the program takes at a time.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Tokens of a row, or the width of the first parameter where nothing ranks tokens.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Its description for listings.
    pub fn doc(&self) -> String {
        let entry = self.program.entry();
        let shape = |id: &ValueId| entry.instructions[*id].shape.to_string();
        let taken: Vec<String> = parameters(entry).iter().map(shape).collect();
        let outputs = self.program.outputs();
        let given: Vec<String> =
            self.program.output_names.iter().zip(&outputs).map(|(name, id)| format!("{name} {}", shape(id))).collect();
        format!("{} takes {} and gives {}.", self.path.display(), taken.join(", "), given.join(", "))
    }
}

/// The parameters in order of their number.
fn parameters(entry: &Computation) -> Vec<ValueId> {
    let number = |id: &ValueId| match entry.instructions[*id].op {
        Op::Parameter(number) => Some(number),
        _ => None,
    };
    let mut ids: Vec<ValueId> = (0..entry.instructions.len()).filter(|id| number(id).is_some()).collect();
    ids.sort_by_key(number);
    ids
}

/// The value of the entry that ranks tokens, of floats `[rows, n]`.
fn ranking(
    program: &Program,
    parameters: &[ValueId],
    rows: usize,
    scores: Option<&str>,
) -> Result<Option<ValueId>, ImportedError> {
    let (entry, outputs) = (program.entry(), program.outputs());
    let shape = |id: ValueId| &entry.instructions[id].shape;
    let Some(name) = scores else {
        let named = SCORES.iter().find_map(|name| program.output(name)).map(|at| outputs[at]);
        let argmax = || program.output("token").and_then(|at| argmax_operand(program, outputs[at]));
        return Ok(named.or_else(argmax).filter(|id| ranks(shape(*id), rows)));
    };
    let found = result_or_argument(program, parameters, name)?;
    if !ranks(shape(found), rows) {
        let (name, shape) = (name.to_string(), shape(found).clone());
        return Err(ImportedError::NoScores { value: found, name, shape, rows });
    }
    Ok(Some(found))
}

/// The result of this name, or the argument: `arg0`, `arg1`, ...
fn result_or_argument(program: &Program, parameters: &[ValueId], name: &str) -> Result<ValueId, ImportedError> {
    let argument = || name.strip_prefix("arg")?.parse::<usize>().ok().and_then(|at| parameters.get(at)).copied();
    program.output(name).map(|at| program.outputs()[at]).or_else(argument).ok_or_else(|| {
        let arguments: Vec<String> = (0..parameters.len()).map(|at| format!("arg{at}")).collect();
        let known = program.output_names.iter().chain(&arguments).map(String::as_str);
        let hint = crate::name::hint(name, known.collect::<Vec<_>>().iter().copied());
        ImportedError::UnknownScores { name: name.to_string(), hint }
    })
}

/// The program whose one result, `scores`, is the result or argument of this name.
///
/// # Errors
/// If there is no such result or argument.
pub fn scores_of(program: &Program, name: &str) -> Result<Program, ImportedError> {
    let found = result_or_argument(program, &parameters(program.entry()), name)?;
    Ok(sub_program(program, found))
}

/// Whether values of this shape rank the tokens of so many rows.
fn ranks(shape: &Shape, rows: usize) -> bool {
    shape.dtype().is_some_and(DType::is_float) && shape.dims().len() == 2 && shape.dims()[0] == rows
}

/// The operand of the argmax that an integer result comes from, looking through moves and conversions.
fn argmax_operand(program: &Program, mut id: ValueId) -> Option<ValueId> {
    let (entry, regions) = (program.entry(), Regions::new(program));
    loop {
        let instruction = &entry.instructions[id];
        match instruction.op {
            Op::Reduce { to_apply, .. } if regions.reducer_but_for_rounding(to_apply) == Some(Reducer::ArgMax) => {
                return instruction.operands.first().copied();
            }
            Op::GetTupleElement(_) | Op::Reshape | Op::Copy | Op::Convert => id = *instruction.operands.first()?,
            _ => return None,
        }
    }
}

/// The program over the same parameters whose one result is a value of the entry.
fn sub_program(program: &Program, value: ValueId) -> Program {
    let mut part = program.clone();
    let entry = &mut part.computations[program.entry];
    let later = entry.instructions.split_off(value + 1);
    entry.instructions.extend(later.into_iter().filter(|i| matches!(i.op, Op::Parameter(_))));
    entry.root = value;
    part.output_names = vec!["scores".to_string()];
    part
}
