//! What two programs make of the same inputs, and which of the two the truth agrees with.

use serde::Serialize;

use crate::hlo::Import;
use crate::ir::Binary;
use crate::machine::{EvalError, Mode};
use crate::oracle::{Ahead, Demand, Oracle, Prepared, TruthTensor};
use crate::subject;
use crate::tensor::{DType, Tensor};

use super::compare::{DiffError, same_results};
use super::differ::{Verdict, differences, float, integers, sets, ties, tokens, width};
use super::expression::{Combiner, Expressions, Head};
use super::graph::Graph;
use super::rule::Habits;

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
}

/// One result that differs in its bits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Which of the program's results, from 0.
    pub result: usize,
    /// In BEFORE, as `bf16[8,1024]`.
    pub shape: String,
    /// How many elements it has.
    pub elements: usize,
    /// How many of them differ.
    pub differing: usize,
    /// How many rows it has. They lie along the last dim; a result of at most one dim has a row for each element.
    pub rows: usize,
    /// How many rows have an element that differs.
    pub rows_differing: usize,
    /// Why the oracle gives no truth.
    pub truth_unknown: Option<String>,
    /// How it differs.
    pub verdict: Verdict,
    /// Where the result is the maximum of another one. If it does not differ but that other one does, this stands there.
    pub maximum: Option<Maximum>,
}

/// A result that is the largest element of each row of another result. Whoever keeps `p >= max(p)` keeps nothing of a row
/// in which no element reaches it: the most probable token is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Maximum {
    /// The result that is the maximum, from 0.
    pub maximum: usize,
    /// The other result, from 0.
    pub of: usize,
    /// How many rows there are.
    pub rows: usize,
    /// Rows of BEFORE in which no element reaches the maximum.
    pub unreached_before: usize,
    /// Rows of AFTER in which no element reaches the maximum.
    pub unreached_after: usize,
}

/// The results that differ when both programs run in `mode` on `arguments`; the oracle evaluates BEFORE, and what takes it
/// long is announced before it begins. Empty where all are equal bit for bit.
///
/// # Errors
/// If the programs take different arguments, or cannot be run.
pub fn outcomes(
    before: &Import,
    after: &Import,
    mode: &Mode,
    arguments: &[Tensor],
    announce: &mut dyn FnMut(Ahead),
) -> Result<Vec<Outcome>, OutcomeError> {
    same_results(before, after)?;
    let takes = |import: &Import| {
        let shapes = import.program.entry().parameter_shapes().into_iter().map(|shape| shape.to_string());
        format!("({})", shapes.collect::<Vec<_>>().join(", "))
    };
    if takes(before) != takes(after) {
        return Err(OutcomeError::Parameters { before: takes(before), after: takes(after) });
    }
    let one = subject::evaluate(&before.program, mode, arguments).map_err(OutcomeError::Before)?;
    let other = subject::evaluate(&after.program, mode, arguments).map_err(OutcomeError::After)?;
    let differing: Vec<Vec<bool>> = one.iter().zip(&other).map(|(a, b)| differences(a, b)).collect();
    let differs = |result: usize| differing[result].contains(&true);
    if !(0..differing.len()).any(differs) {
        return Ok(Vec::new());
    }
    let (truth, why) = truth(before, arguments, &one, &differs, announce);
    let maxima = maxima(before, &one);
    let outcomes = (0..differing.len()).filter(|result| differs(*result)).map(|result| {
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
        let dims: Vec<String> = a.dims().iter().map(usize::to_string).collect();
        Outcome {
            result,
            shape: format!("{}[{}]", a.dtype(), dims.join(",")),
            elements: a.len(),
            differing: differing[result].iter().filter(|d| **d).count(),
            rows: a.len() / width.max(1),
            rows_differing: differing[result].chunks(width.max(1)).filter(|row| row.contains(&true)).count(),
            truth_unknown: why.clone(),
            verdict: match a.dtype() {
                DType::Pred => sets(a, b, known, scores(&one, &truth, a)),
                dtype => match dtype.format() {
                    Some(format) => float(format, a, b, known),
                    None if dtype.bits() < 32 => integers(a, b, &differing[result], known),
                    None => tokens(a, b, &differing[result], known, ties(&one, &other, result)),
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

/// Whether these can be the scores by which the set was kept.
fn ranks(scores: &Tensor, set: &Tensor) -> bool {
    scores.dtype().is_float() && scores.dims() == set.dims()
}

/// The exact scores of a kept set.
fn scores<'t>(results: &[Tensor], truth: &'t [TruthTensor], set: &Tensor) -> Option<&'t [f64]> {
    results.iter().zip(truth).find_map(|(result, truth)| match truth {
        TruthTensor::Float(float) if ranks(result, set) && float.open.is_empty() => Some(float.rounded.as_slice()),
        _ => None,
    })
}

/// Pairs of results of which the first is the maximum of each row of the second.
fn maxima(before: &Import, results: &[Tensor]) -> Vec<(usize, usize)> {
    let mut expressions = Expressions::default();
    let mut graph = Graph::new(before, Habits::default());
    graph.read(&mut expressions, &mut |_, _, _| None);
    let outputs: Vec<_> = before.program.outputs().into_iter().map(|id| graph.values[id].expression()).collect();
    let mut found = Vec::new();
    for (maximum, id) in outputs.iter().enumerate() {
        let (Head::Reduce { by: Combiner::Known(Binary::Maximum), .. }, [of]) = expressions.get(*id) else { continue };
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
