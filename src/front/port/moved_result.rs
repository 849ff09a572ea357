//! Results on both chips against the truth.

use serde::Serialize;

use crate::diff::{differences, parameters_text, rank_tokens};
use crate::evaluation::{
    NamedResult, ResultError, RoundTo, TokenKind, TokenRows, TokenTruth, exact, result_errors, shape_text,
    token_results,
};
use crate::machine::Mode;
use crate::oracle::Ahead;
use crate::run::{World, check_memory};
use crate::subject;
use crate::tensor::Tensor;
use crate::why;

use super::{PortError, Side};

/// Errors of one result on one chip against the truth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorFigures {
    /// The largest, in ulps of the result's type at the truth; of integers and predicates the largest difference. Infinite (in
    /// JSON null) where only one of both is finite.
    pub largest: f64,
    /// Root mean square of the error over that of the truth; none where the truth is zero and the result is not, and of integers.
    pub relative_rms: Option<f64>,
}

/// One result on both chips.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MovedResult {
    /// The result's name.
    pub result: String,
    /// Its type and dims, such as `bf16[8,1024]`.
    pub shape: String,
    /// Whether it is of floats: their errors are told in ulps.
    #[serde(skip)]
    pub is_float: bool,
    /// The number of its elements.
    pub elements: usize,
    /// Elements that differ between both chips; every NaN counts as one.
    pub differing: usize,
    /// Errors on the first chip, where the truth is known.
    pub before: Option<ErrorFigures>,
    /// Errors on the second chip, where the truth is known.
    pub after: Option<ErrorFigures>,
}

/// Tokens that one result gives, on both chips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MovedTokens {
    /// The result's name.
    pub result: String,
    /// The form in which it gives tokens.
    pub kind: TokenKind,
    /// The number of its rows.
    pub rows: usize,
    /// Rows with other tokens on the second chip.
    pub changed: usize,
    /// Rows with other tokens than the truth, on the first chip and on the second.
    pub wrong: [usize; 2],
    /// Rows of which the truth is open, on the first chip and on the second.
    pub undecided: [usize; 2],
    /// Of a kept set with its scores beside it: rows without the most probable token, on the first chip and on the second.
    pub lost: Option<[usize; 2]>,
}

/// All results on both chips.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MovedResults {
    /// The arguments in words: a file, or a distribution with its seed.
    pub inputs: String,
    /// The results, in the program's order.
    pub results: Vec<MovedResult>,
    /// Those that give tokens.
    pub tokens: Vec<MovedTokens>,
    /// Why the truth is not known.
    pub truth_unknown: Option<String>,
}

impl MovedResults {
    /// Whether an element differs.
    pub fn differ(&self) -> bool {
        self.results.iter().any(|result| result.differing > 0)
    }
}

/// Runs both sides on the same arguments. The truth is that of the first; a search for it that takes long is announced.
///
/// # Errors
/// If the sides take different arguments, or cannot be run.
pub fn moved_results(
    before: Side,
    after: Side,
    arguments: &[Tensor],
    inputs: String,
    announce: &mut dyn FnMut(Ahead),
) -> Result<MovedResults, PortError> {
    let takes = |side: Side| parameters_text(&side.import.program);
    if takes(before) != takes(after) {
        return Err(PortError::Arguments { before: takes(before), after: takes(after) });
    }
    let [one, other] = [run(before, before.mode, arguments)?, run(after, after.mode, arguments)?];
    let program = &before.import.program;
    let (truth, truth_unknown) = match exact(program, arguments, &[], RoundTo::Near, announce) {
        Ok(truth) => (Some(truth), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let names = &program.output_names;
    let errors = |results: &[Tensor]| truth.as_ref().map(|truth| errors(names, results, truth)).transpose();
    let [of_one, of_other] = [errors(&one)?, errors(&other)?];
    let figures =
        |errors: &Option<Vec<ResultError>>, at: usize| errors.as_ref().and_then(|errors| figures(errors.get(at)?));
    let results = names.iter().enumerate().map(|(at, name)| MovedResult {
        result: name.clone(),
        shape: shape_text(&one[at]),
        is_float: one[at].dtype().is_float(),
        elements: one[at].len(),
        differing: differences(&one[at], &other[at]).into_iter().filter(|differs| *differs).count(),
        before: figures(&of_one, at),
        after: figures(&of_other, at),
    });
    let results = results.collect();
    let tokens = match truth.is_some() {
        true => moved_tokens(before, arguments, [&one, &other], announce)?,
        false => Vec::new(),
    };
    Ok(MovedResults { inputs, results, tokens, truth_unknown })
}

fn run(side: Side, mode: &Mode, arguments: &[Tensor]) -> Result<Vec<Tensor>, PortError> {
    let (file, program) = (|| side.name.to_string(), &side.import.program);
    check_memory(program, World::Machine).map_err(|error| PortError::Memory { file: file(), error })?;
    subject::evaluate(program, mode, arguments).map_err(|error| PortError::Machine { file: file(), error })
}

fn errors(names: &[String], results: &[Tensor], truth: &[NamedResult]) -> Result<Vec<ResultError>, PortError> {
    let named: Vec<(String, Tensor)> = names.iter().cloned().zip(results.iter().cloned()).collect();
    result_errors(&named, truth, 0.5).map_err(PortError::Truth)
}

/// The figures of a result; none where the truth of no element is known.
fn figures(error: &ResultError) -> Option<ErrorFigures> {
    Some(ErrorFigures { largest: error.worst?.error, relative_rms: error.relative_rms })
}

/// The tokens of the results that give some.
fn moved_tokens(
    before: Side,
    arguments: &[Tensor],
    [one, other]: [&[Tensor]; 2],
    announce: &mut dyn FnMut(Ahead),
) -> Result<Vec<MovedTokens>, PortError> {
    let import = before.import;
    let positions = token_results(import, one);
    let ranks = rank_tokens(import, one);
    let truth = TokenTruth::new(&import.program, arguments, one, &positions, announce);
    let truth = truth.map_err(|error| PortError::Truth(error.to_string()))?;
    let pairs = truth.compare(one).into_iter().zip(truth.compare(other));
    let told = pairs.zip(&positions).map(|((a, b), at)| {
        let changed = match ranks[*at] {
            true => why::tokens(&one[*at]).iter().zip(why::tokens(&other[*at])).filter(|(x, y)| **x != *y).count(),
            false => rows_that_differ(&one[*at], &other[*at]),
        };
        let count = |of: &TokenRows| of.lost.as_ref().map(Vec::len);
        MovedTokens {
            rows: a.rows,
            kind: a.kind,
            changed,
            wrong: [a.wrong.len(), b.wrong.len()],
            undecided: [a.undecided.len(), b.undecided.len()],
            lost: count(&a).zip(count(&b)).map(|(one, other)| [one, other]),
            result: a.result,
        }
    });
    Ok(told.collect())
}

/// Rows along the last dim with an element that differs; of at most one dim each element is a row.
fn rows_that_differ(one: &Tensor, other: &Tensor) -> usize {
    let width = if one.dims().len() < 2 { 1 } else { one.dims().last().copied().unwrap_or(1).max(1) };
    differences(one, other).chunks(width).filter(|row| row.contains(&true)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Data;

    /// Of one dim each element is a token of its own, of two the rows are.
    #[test]
    fn rows_are_counted_by_the_last_dim() {
        let of = |dims: &[usize]| {
            let tensor = |numbers: [i32; 6]| Tensor::new(dims, Data::S32(numbers.to_vec()));
            rows_that_differ(&tensor([1, 2, 3, 4, 5, 6]), &tensor([1, 0, 0, 4, 5, 0]))
        };
        assert_eq!((of(&[6]), of(&[2, 3]), of(&[3, 2]), of(&[1, 6])), (3, 2, 3, 1));
    }
}
