//! Results of two programs on the same inputs, and the side that agrees with the truth.

use serde::Serialize;

use crate::hlo::Import;
use crate::ir::{Binary, Program, Shape};
use crate::machine::{EvalError, Mode};
use crate::oracle::{Ahead, Demand, Oracle, Prepared, TruthTensor};
use crate::program::{ImportedError, scores_of};
use crate::subject;
use crate::tensor::{DType, Tensor};

use super::expression::{ExpressionHead, Expressions, ReductionOperation};
use super::graph::ArithmeticHabits;
use super::graph::Graph;
use super::result_difference::{Verdict, differences, float, integers, nans_of_other_bits, sets, ties, tokens, width};
use super::results::{DiffError, parameters_text, same_results};

/// Why two programs have no results to compare.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OutcomeError {
    /// They take different arguments.
    #[error("BEFORE takes {before} and AFTER takes {after}: they cannot run on the same inputs")]
    Parameters {
        /// Shapes of BEFORE's parameters.
        before: String,
        /// Shapes of AFTER's parameters.
        after: String,
    },
    /// Their results cannot be compared.
    #[error(transparent)]
    Results(#[from] DiffError),
    /// BEFORE cannot be run.
    #[error("BEFORE: {0}")]
    Before(EvalError),
    /// AFTER cannot be run.
    #[error("AFTER: {0}")]
    After(EvalError),
    /// Nothing has the name of the scores.
    #[error("{0}")]
    UnknownScores(ImportedError),
    /// The named result or argument ranks no tokens.
    #[error(
        "`scores` names `{name}`, which is {shape}: it must be floats, with a row for each row of tokens, or a number for each \
         element of a kept set, that BEFORE gives"
    )]
    NoScores {
        /// The name.
        name: String,
        /// The shape.
        shape: String,
    },
}

/// One result that differs in its bits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Index of the program's result, from 0.
    pub result: usize,
    /// In BEFORE, as `bf16[8,1024]`.
    pub shape: String,
    /// Number of elements of the result.
    pub elements: usize,
    /// The number of them that differ; every NaN counts as one.
    pub differing: usize,
    /// The number of NaNs in both programs, of other bits: IEEE 754 leaves them open.
    pub nans_of_other_bits: usize,
    /// Number of rows of the result. Rows lie along the last dim; a result of at most one dim has a row for each
    /// element.
    pub rows: usize,
    /// Number of rows with an element that differs.
    pub rows_differing: usize,
    /// Why the oracle gives no truth.
    pub truth_unknown: Option<String>,
    /// The difference of the result.
    pub verdict: Verdict,
    /// The maximum and its source, if this result is the maximum of another one, or if its own maximum is a result that
    /// does not differ.
    pub maximum: Option<Maximum>,
}

impl Outcome {
    /// Whether elements differ in the sign of zero alone. Programs are not followed so far: what a product with ones and zeros
    /// gives is one number with what a choice gives in its place, -0 or +0.
    pub fn is_of_zero_signs(&self) -> bool {
        matches!(self.verdict, Verdict::Float { change: 0.0, zero_in_one: 0, not_finite_in_one: 0, .. })
    }
}

/// A result that is the largest element of each row of another result. A program that keeps `p >= max(p)` keeps nothing
/// of a row in which no element reaches it: the most probable token is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Maximum {
    /// The result that is the maximum, from 0.
    pub maximum: usize,
    /// The other result, from 0.
    pub of: usize,
    /// Number of rows.
    pub rows: usize,
    /// Rows of BEFORE in which no element reaches the maximum.
    pub unreached_before: usize,
    /// Rows of AFTER in which no element reaches the maximum.
    pub unreached_after: usize,
}

/// Numbers that rank tokens.
#[derive(Clone, Copy, Debug)]
pub enum Scores<'a> {
    /// The exact values of a result of BEFORE, or of an argument (`arg0`, ...).
    Named(&'a str),
    /// Numbers that something else gave, under their name.
    Given(&'a str, &'a Tensor),
}

/// The results that differ when each program runs in its mode, BEFORE in the first, on `arguments`; the oracle evaluates BEFORE,
/// and a long pass of it is announced before it begins. Empty where all are equal bit for bit; one that differs in bits of NaNs
/// alone has no element that differs. Tokens and kept sets are
/// judged by `scores` where they are given.
///
/// # Errors
/// If the programs take different arguments, or cannot be run, or the scores rank no tokens.
#[expect(clippy::too_many_lines, reason = "the steps of one comparison, in order")]
pub fn outcomes(
    before: &Import,
    after: &Import,
    modes: [&Mode; 2],
    arguments: &[Tensor],
    scores: Option<Scores>,
    announce: &mut dyn FnMut(Ahead),
) -> Result<Vec<Outcome>, OutcomeError> {
    same_results(before, after)?;
    let takes = |import: &Import| parameters_text(&import.program);
    if takes(before) != takes(after) {
        return Err(OutcomeError::Parameters { before: takes(before), after: takes(after) });
    }
    let ranking = scores.map(|scores| ranking(before, scores)).transpose()?;
    let one = subject::evaluate(&before.program, modes[0], arguments).map_err(OutcomeError::Before)?;
    let other = subject::evaluate(&after.program, modes[1], arguments).map_err(OutcomeError::After)?;
    let differing: Vec<Vec<bool>> = one.iter().zip(&other).map(|(a, b)| differences(a, b)).collect();
    let differs = |result: usize| differing[result].contains(&true);
    let nans: Vec<usize> = one.iter().zip(&other).map(|(a, b)| nans_of_other_bits(a, b)).collect();
    if !(0..differing.len()).any(|result| differs(result) || nans[result] > 0) {
        return Ok(Vec::new());
    }
    let (truth, why) = truth(before, arguments, &one, &differs, announce);
    let exact = ranking.and_then(|ranking| match ranking {
        ScoreRanking::Exactly(program) => exactly_ranked(&program, arguments, announce),
        ScoreRanking::By(scores) => Some((scores.dims().to_vec(), numbers(scores))),
    });
    let mut expressions = Expressions::default();
    let mut graph = Graph::new(before, ArithmeticHabits::default());
    graph.read(&mut expressions, &mut |_, _, _| None);
    let maxima = maxima(&graph, &expressions, &one);
    let are_scores = super::scores::scores(&graph, &expressions, &one);
    let told = (0..differing.len()).filter(|result| differs(*result) || nans[*result] > 0);
    let outcomes = told.map(|result| {
        let (a, b) = (&one[result], &other[result]);
        let width = width(a);
        let is_told_here = |maximum: usize, of: usize| maximum == result || of == result && !differs(maximum);
        let maximum = maxima.iter().find(|(maximum, of)| is_told_here(*maximum, *of)).map(|(maximum, of)| Maximum {
            maximum: *maximum,
            of: *of,
            rows: one[*maximum].len(),
            unreached_before: unreached(&one[*of], &one[*maximum]),
            unreached_after: unreached(&other[*of], &other[*maximum]),
        });
        let known = truth.get(result).filter(|t| **t != TruthTensor::Skipped);
        let exact = exact.as_ref().map(|(dims, scores)| (dims.as_slice(), scores.as_slice()));
        let of_set = exact.filter(|(dims, _)| *dims == a.dims()).map(|(_, scores)| scores);
        let of_rows = exact.and_then(|(dims, scores)| Some((scores, *dims.last()?)));
        let of_rows = of_rows.filter(|(scores, n)| scores.len() / n.max(&1) == a.len() / width.max(1));
        Outcome {
            result,
            shape: Shape::array(a.dtype(), a.dims()).to_string(),
            elements: a.len(),
            differing: differing[result].iter().filter(|d| **d).count(),
            nans_of_other_bits: nans[result],
            rows: a.len() / width.max(1),
            rows_differing: differing[result].chunks(width.max(1)).filter(|row| row.contains(&true)).count(),
            truth_unknown: why.clone(),
            verdict: match a.dtype() {
                DType::Pred => sets(a, b, known, of_set.or_else(|| exact_scores(&one, &truth, a))),
                dtype => match dtype.format() {
                    Some(format) => float(format, a, b, known, are_scores[result]),
                    None if dtype.bits() < 32 => integers(a, b, &differing[result], known),
                    None => tokens(a, b, &differing[result], known, ties(&one, &other, result), of_rows),
                },
            },
            maximum,
        }
    });
    Ok(outcomes.collect())
}

/// The truth of the results that differ and of the scores of those that are kept sets, which are compared with one another;
/// and why there is none. For a distance in ulps it is enough to be near.
fn truth(
    before: &Import,
    arguments: &[Tensor],
    results: &[Tensor],
    differs: &dyn Fn(usize) -> bool,
    announce: &mut dyn FnMut(Ahead),
) -> (Vec<TruthTensor>, Option<String>) {
    let sets: Vec<&Tensor> =
        results.iter().enumerate().filter(|(i, t)| differs(*i) && t.dtype() == DType::Pred).map(|(_, t)| t).collect();
    let demand = |(i, t): (usize, &Tensor)| match sets.iter().any(|set| ranks(t, set)) {
        true => Demand::Rounded,
        false if differs(i) => Demand::Near,
        false => Demand::None,
    };
    let demands: Vec<Demand> = results.iter().enumerate().map(demand).collect();
    match Oracle::default().announced_truth(&Prepared::new(&before.program), arguments, &demands, announce) {
        Ok(truth) => (truth.outputs, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

/// Numbers that rank tokens, checked to rank some.
enum ScoreRanking<'a> {
    /// The exact values of this program's result.
    Exactly(Program),
    /// These numbers.
    By(&'a Tensor),
}

/// Scores that rank tokens of some result of BEFORE.
fn ranking<'a>(before: &Import, scores: Scores<'a>) -> Result<ScoreRanking<'a>, OutcomeError> {
    let (name, shape, ranking) = match scores {
        Scores::Named(name) => {
            let program = scores_of(&before.program, name).map_err(OutcomeError::UnknownScores)?;
            let entry = program.entry();
            (name, entry.instructions[entry.root].shape.clone(), ScoreRanking::Exactly(program))
        }
        Scores::Given(name, scores) => (name, Shape::array(scores.dtype(), scores.dims()), ScoreRanking::By(scores)),
    };
    let results = before.program.outputs().into_iter().map(|id| &before.program.entry().instructions[id].shape);
    let ranked = |result: &Shape| match result.dtype() {
        Some(DType::Pred) => result.dims() == shape.dims(),
        Some(dtype) => {
            !dtype.is_float() && shape.dims().split_last().is_some_and(|(_, rows)| result.dims().starts_with(rows))
        }
        None => false,
    };
    match shape.dtype().is_some_and(DType::is_float) && results.into_iter().any(ranked) {
        true => Ok(ranking),
        false => Err(OutcomeError::NoScores { name: name.to_string(), shape: shape.to_string() }),
    }
}

/// The exact scores with their dims, where all are decided.
fn exactly_ranked(
    program: &Program,
    arguments: &[Tensor],
    announce: &mut dyn FnMut(Ahead),
) -> Option<(Vec<usize>, Vec<f64>)> {
    let truth =
        Oracle::default().announced_truth(&Prepared::new(program), arguments, &[Demand::Rounded], announce).ok()?;
    match truth.outputs.into_iter().next()? {
        TruthTensor::Float(float) if float.open.is_empty() => Some((float.dims, float.rounded)),
        _ => None,
    }
}

/// A tensor's elements as numbers.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    (0..tensor.len()).map(|at| tensor.data().get_f64(at)).collect()
}

/// Whether these can be the scores by which the set was kept.
fn ranks(scores: &Tensor, set: &Tensor) -> bool {
    scores.dtype().is_float() && scores.dims() == set.dims()
}

/// The exact scores of a kept set.
fn exact_scores<'t>(results: &[Tensor], truth: &'t [TruthTensor], set: &Tensor) -> Option<&'t [f64]> {
    results.iter().zip(truth).find_map(|(result, truth)| match truth {
        TruthTensor::Float(float) if ranks(result, set) && float.open.is_empty() => Some(float.rounded.as_slice()),
        _ => None,
    })
}

/// Pairs of results of which the first is the maximum of each row of the second.
fn maxima(graph: &Graph, expressions: &Expressions, results: &[Tensor]) -> Vec<(usize, usize)> {
    let outputs: Vec<_> = graph.import.program.outputs().into_iter().map(|id| graph.values[id].with_sign()).collect();
    let mut found = Vec::new();
    for (maximum, id) in outputs.iter().enumerate() {
        let (ExpressionHead::Reduce { by: ReductionOperation::Known(Binary::Maximum), .. }, [of]) =
            expressions.get(*id)
        else {
            continue;
        };
        let is_of = |other: &usize| {
            let rows = results[*other].len() / width(&results[*other]).max(1);
            outputs[*other] == *of && results[*other].dims().len() > 1 && results[maximum].len() == rows
        };
        found.extend((0..outputs.len()).find(is_of).map(|of| (maximum, of)));
    }
    found
}

/// Rows of `of` in which no element reaches the row's maximum.
fn unreached(of: &Tensor, maximum: &Tensor) -> usize {
    let width = width(of);
    let reaches =
        |row: usize| (row * width..(row + 1) * width).any(|i| of.data().get_f64(i) >= maximum.data().get_f64(row));
    (0..maximum.len()).filter(|row| !reaches(*row)).count()
}

#[cfg(test)]
mod tests {
    use super::exact_scores;
    use crate::oracle::{FloatTruth, TruthTensor};
    use crate::tensor::{Data, Tensor};

    /// An element that stayed open is NaN in the truth: no set is ranked by it.
    #[test]
    fn scores_that_stay_open_rank_no_set() {
        let scores = Tensor::new(&[1, 2], Data::F32(vec![0.25, 0.75]));
        let set = Tensor::new(&[1, 2], Data::Pred(vec![false, true]));
        let truth = |rounded: [f64; 2], open: &[usize]| {
            let (dims, tops) = (vec![1, 2], Vec::new());
            [TruthTensor::Float(FloatTruth { dims, rounded: rounded.to_vec(), open: open.to_vec(), tops })]
        };
        let results = [scores];
        assert_eq!(exact_scores(&results, &truth([0.25, 0.75], &[]), &set), Some(&[0.25, 0.75][..]));
        assert_eq!(exact_scores(&results, &truth([f64::NAN, 0.75], &[0]), &set), None);
    }
}
