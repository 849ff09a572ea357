//! Rows whose token is another than the truth's.

use crate::ir::Program;
use crate::machine::Mode;
use crate::machine::evaluate;
use crate::oracle::{Ahead, Demand, Oracle, Prepared, Top, TruthTensor};
use crate::tensor::{DType, Tensor};

use super::{ProgramOnMachine, WhyError};

/// A row that names another token than the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Flip {
    /// The row, from 0.
    pub row: usize,
    /// The token of the truth; of those that share the largest exact score the first.
    pub exact: usize,
    /// The token that the machine names: the first of its largest score, or the first NaN.
    pub emitted: usize,
}

/// Outcome of all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flips {
    /// Rows that were compared.
    pub rows: usize,
    /// Rows whose token the oracle leaves open.
    pub undecided: usize,
    /// Rows that name another token than the truth, in order.
    pub flips: Vec<Flip>,
}

/// The rows of `setting`'s scores that name another token than the truth, which `tops` are the tops of.
///
/// # Errors
/// If the machine does not support the program.
pub fn find_flips(setting: &ProgramOnMachine, arguments: &[Tensor], tops: &[Top]) -> Result<Flips, WhyError> {
    let scores = scores_on_machine(setting.program, setting.mode, arguments, setting.scores)?;
    Ok(count_flips(&tokens(&scores), tops))
}

/// The rows whose token is none of the truth's best ones.
pub fn count_flips(tokens: &[usize], tops: &[Top]) -> Flips {
    let decided = tops.iter().zip(tokens).enumerate().filter(|(_, (top, _))| top.decided && !top.best.is_empty());
    let flips = decided.clone().filter(|(_, (top, emitted))| !top.best.contains(emitted));
    let flips = flips.map(|(row, (top, emitted))| Flip { row, exact: top.best[0], emitted: *emitted }).collect();
    Flips { rows: tops.len(), undecided: tops.len() - decided.count(), flips }
}

/// The best of every row of a result of `truth` over the real numbers; long work is announced.
///
/// # Errors
/// If the oracle does not know an operation, or the result ranks no tokens.
pub fn tops(
    truth: &Program,
    output: usize,
    arguments: &[Tensor],
    announce: &mut dyn FnMut(Ahead),
) -> Result<Vec<Top>, WhyError> {
    let id = check_scores(truth, output)?;
    let demand = |other| if other == output { Demand::Order } else { Demand::None };
    let demands: Vec<Demand> = (0..truth.outputs().len()).map(demand).collect();
    let found = Oracle::default().announced_truth(&Prepared::new(truth), arguments, &demands, announce)?;
    match found.outputs.into_iter().nth(output) {
        Some(TruthTensor::Float(scores)) => Ok(scores.tops),
        _ => Err(no_scores(truth, output, id)),
    }
}

/// The value of the entry that gives the scores, if they rank tokens.
pub(super) fn check_scores(program: &Program, output: usize) -> Result<usize, WhyError> {
    let id = program.outputs().get(output).copied().unwrap_or(program.entry().root);
    let shape = &program.entry().instructions[id].shape;
    let ranks = shape.dtype().is_some_and(DType::is_float) && !shape.dims().is_empty() && shape.elements() > 0;
    if ranks { Ok(id) } else { Err(no_scores(program, output, id)) }
}

fn no_scores(program: &Program, output: usize, id: usize) -> WhyError {
    let name = program.output_names.get(output).cloned().unwrap_or_else(|| output.to_string());
    WhyError::Scores { name, shape: program.entry().instructions[id].shape.to_string() }
}

/// The scores of `program` as it stands.
pub(super) fn scores_on_machine(
    program: &Program,
    mode: &Mode,
    arguments: &[Tensor],
    output: usize,
) -> Result<Tensor, WhyError> {
    let id = check_scores(program, output)?;
    let scores = evaluate(program, mode, arguments)?.into_iter().nth(output);
    scores.ok_or_else(|| no_scores(program, output, id))
}

/// The token that each row of scores (along the last dim) names: the first of its largest, or its first NaN.
pub fn tokens(scores: &Tensor) -> Vec<usize> {
    let width = scores.dims().last().copied().unwrap_or(1).max(1);
    scores.data().to_f64s().chunks(width).map(best).collect()
}

/// The position of the first NaN, or of the first of the largest.
pub(super) fn best(row: &[f64]) -> usize {
    let nan = row.iter().position(|v| v.is_nan());
    nan.unwrap_or_else(|| (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Data;

    #[test]
    fn a_row_names_its_first_nan_or_the_first_of_its_largest() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let scores = [
            [1.0, 3.0, 2.0, 3.0],
            [-1.0, -1.0, -1.0, -1.0],
            [infinity, nan, infinity, nan],
            [f32::NEG_INFINITY, -3.0, infinity, 0.0],
        ];
        assert_eq!(tokens(&Tensor::new(&[4, 4], Data::F32(scores.concat()))), [1, 0, 1, 2]);
    }

    /// A row flips where its token is none of the best, and counts where that is proven.
    #[test]
    fn rows_flip_to_tokens_that_are_not_among_the_best() {
        let top = |best: &[usize], decided: bool| Top {
            best: best.to_vec(),
            runner_up: None,
            margin_ulp: None,
            decided,
            rivals: Vec::new(),
        };
        let tops = [top(&[1, 3], true), top(&[1, 3], true), top(&[1], false), top(&[], true), top(&[2], true)];
        let found = count_flips(&[3, 2, 0, 0, 2], &tops);
        assert_eq!(found, Flips { rows: 5, undecided: 2, flips: vec![Flip { row: 1, exact: 1, emitted: 2 }] });
    }
}
