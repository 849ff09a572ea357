//! Rows of results that say another token than the truth.

use serde::Serialize;

use crate::diff::rank_tokens;
use crate::hlo::Import;
use crate::ir::Program;
use crate::oracle::{Ahead, Demand, Oracle, Prepared, Top, TruthTensor};
use crate::tensor::{DType, Tensor};
use crate::why;

use super::{EvaluationError, shape_text};

/// The form in which a result gives tokens. Its rows lie along the last dim; of at most one dim, each element is a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// Integers: tokens themselves, or counts of them.
    Tokens,
    /// Predicates: the tokens that are kept.
    Kept,
    /// Floats [rows, tokens]: the largest of a row is its token.
    Scores,
}

/// A row that says another token than the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WrongRow {
    /// The row, from 0.
    pub row: usize,
    /// In truth: the first token that is another one, of those with equal scores the first; of a kept set, how many are
    /// kept.
    pub exact: i64,
    /// The same of the result.
    pub emitted: i64,
}

/// The comparison of one result with the truth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenRows {
    /// The result's name.
    pub result: String,
    /// The form in which it gives tokens.
    pub kind: TokenKind,
    /// The number of its rows.
    pub rows: usize,
    /// Rows that say another token, or keep other tokens, in order.
    pub wrong: Vec<WrongRow>,
    /// Rows of which the truth is open.
    pub undecided: Vec<usize>,
    /// Of a kept set with its scores beside it: rows that keep none of the most probable tokens.
    pub lost: Option<Vec<usize>>,
}

/// The results of a program that give tokens: integers of 32 or more bits, predicates that are arrays, and floats
/// by which the program picks, or that it gives beside its picks. `results` are those of one call, for their types and
/// dims.
pub fn token_results(import: &Import, results: &[Tensor]) -> Vec<usize> {
    let ranks = rank_tokens(import, results);
    let says = |at: &usize| match kind_of(&results[*at]) {
        Some(TokenKind::Scores) => ranks[*at],
        Some(TokenKind::Tokens) => results[*at].dtype().bits() >= 32,
        Some(TokenKind::Kept) => !results[*at].dims().is_empty(),
        None => false,
    };
    (0..results.len()).filter(says).collect()
}

/// The form in which a result of this type and these dims can give tokens.
fn kind_of(result: &Tensor) -> Option<TokenKind> {
    match result.dtype() {
        DType::Pred => Some(TokenKind::Kept),
        dtype if !dtype.is_float() => Some(TokenKind::Tokens),
        _ => (!result.dims().is_empty() && !result.is_empty()).then_some(TokenKind::Scores),
    }
}

/// The true tokens of a program's results for some inputs.
pub struct TokenTruth {
    /// Results that are judged, by position.
    judged: Vec<(usize, TokenKind)>,
    names: Vec<String>,
    truth: Vec<TruthTensor>,
    /// Results that kept sets go by, which have the same dims.
    ranking: Vec<Option<usize>>,
}

impl TokenTruth {
    /// Finds the truth of the results at these positions; `results` are those of one call of the program with these
    /// inputs, for their types and dims. Long evaluations are announced.
    ///
    /// # Errors
    /// If a result says nothing of tokens, or the oracle does not support the program.
    pub fn new(
        program: &Program,
        inputs: &[Tensor],
        results: &[Tensor],
        positions: &[usize],
        announce: &mut dyn FnMut(Ahead),
    ) -> Result<TokenTruth, EvaluationError> {
        let names = program.output_names.clone();
        let judged = positions.iter().map(|at| match kind_of(&results[*at]) {
            Some(kind) => Ok((*at, kind)),
            None => Err(EvaluationError::NoTokens { name: names[*at].clone(), shape: shape_text(&results[*at]) }),
        });
        let judged: Vec<(usize, TokenKind)> = judged.collect::<Result<_, _>>()?;
        let ranking: Vec<Option<usize>> = judged.iter().map(|(at, kind)| ranking(results, *at, *kind)).collect();
        let asked = |at: &usize| positions.contains(at) || ranking.contains(&Some(*at));
        let demands: Vec<Demand> =
            (0..results.len()).map(|at| if asked(&at) { Demand::Order } else { Demand::None }).collect();
        let truth = match positions {
            [] => Vec::new(),
            _ => Oracle::default().announced_truth(&Prepared::new(program), inputs, &demands, announce)?.outputs,
        };
        Ok(TokenTruth { judged, names, truth, ranking })
    }

    /// Compares results of the program, or of another form of it, with the truth. `results` are of the same types and
    /// dims.
    pub fn compare(&self, results: &[Tensor]) -> Vec<TokenRows> {
        let all = self.judged.iter().zip(&self.ranking);
        let rows = all.filter_map(|((at, kind), ranking)| {
            let result = &results[*at];
            let rows = |rows, wrong, undecided, lost| TokenRows {
                result: self.names[*at].clone(),
                kind: *kind,
                rows,
                wrong,
                undecided,
                lost,
            };
            match self.truth.get(*at)? {
                TruthTensor::Skipped => None,
                TruthTensor::Float(truth) => {
                    let tokens = why::tokens(result);
                    let wrong = why::count_flips(&tokens, &truth.tops).flips.into_iter().map(|flip| WrongRow {
                        row: flip.row,
                        exact: flip.exact as i64,
                        emitted: flip.emitted as i64,
                    });
                    let open = truth.tops.iter().enumerate().filter(|(_, top)| !top.decided).map(|(row, _)| row);
                    Some(rows(truth.tops.len(), wrong.collect(), open.collect(), None))
                }
                TruthTensor::Integer { values, .. } => {
                    let (wrong, open) =
                        by_rows(result, values, |i| result.data().get_i64(i), |differing, _, of| of(differing));
                    Some(rows(row_count(result), wrong, open, None))
                }
                TruthTensor::Predicate { values, .. } => {
                    let values: Vec<Option<i64>> = values.iter().map(|kept| kept.map(i64::from)).collect();
                    let (wrong, open) = by_rows(
                        result,
                        &values,
                        |i| result.data().get_i64(i),
                        |_, row, of| Some(row.clone().filter_map(of).sum()),
                    );
                    let tops = ranking.and_then(|scores| match self.truth.get(scores) {
                        Some(TruthTensor::Float(truth)) => Some(&truth.tops),
                        _ => None,
                    });
                    Some(rows(row_count(result), wrong, open, tops.map(|tops| lost(result, tops))))
                }
            }
        });
        rows.collect()
    }
}

/// Floats by which a set of these dims can have been kept.
fn ranking(results: &[Tensor], kept: usize, kind: TokenKind) -> Option<usize> {
    let can = |at: &usize| results[*at].dtype().is_float() && results[*at].dims() == results[kept].dims();
    (0..results.len()).filter(|_| kind == TokenKind::Kept && results[kept].dims().len() > 1).find(can)
}

/// Elements of one row.
fn width(tensor: &Tensor) -> usize {
    match tensor.dims() {
        [] | [_] => 1,
        [.., last] => (*last).max(1),
    }
}

fn row_count(tensor: &Tensor) -> usize {
    tensor.len() / width(tensor)
}

/// Rows in which a known element differs from the truth, and rows in which that depends on open elements. `show` gives
/// the number for a row, from its first differing element, the row, and the values of elements.
fn by_rows(
    result: &Tensor,
    truth: &[Option<i64>],
    emitted: impl Fn(usize) -> i64,
    show: impl Fn(usize, &std::ops::Range<usize>, &dyn Fn(usize) -> Option<i64>) -> Option<i64>,
) -> (Vec<WrongRow>, Vec<usize>) {
    let (mut wrong, mut open) = (Vec::new(), Vec::new());
    let width = width(result);
    for number in 0..row_count(result) {
        let row = number * width..(number + 1) * width;
        let differing = row.clone().find(|i| truth[*i].is_some_and(|value| value != emitted(*i)));
        let shown = differing.and_then(|differing| {
            let exact = show(differing, &row, &|i| truth[i])?;
            Some(WrongRow { row: number, exact, emitted: show(differing, &row, &|i| Some(emitted(i)))? })
        });
        if let Some(row) = shown {
            wrong.push(row);
        } else if truth[row].contains(&None) {
            open.push(number);
        }
    }
    (wrong, open)
}

/// Rows that keep none of the tokens that share the largest exact score, where that is no NaN.
fn lost(kept: &Tensor, tops: &[Top]) -> Vec<usize> {
    let width = width(kept);
    let loses = |(row, top): &(usize, &Top)| {
        // A NaN stands alone before all numbers; without one, either there is a runner-up or all are equal.
        let is_ranked = top.runner_up.is_some() || top.best.len() == width;
        let keeps = |token: &usize| kept.data().get_i64(row * width + token) != 0;
        top.decided && is_ranked && !top.best.iter().any(keeps)
    };
    tops.iter().enumerate().filter(loses).map(|(row, _)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::{bind, evaluate};
    use crate::hlo::{lower, parse};
    use crate::tensor::Data;

    /// The token of each row is its largest sum with 1, and sums above 1 are kept; in bf16, 2^-8 is lost there.
    const SUM: &str = "HloModule sum, is_scheduled=true
ENTRY main {
  x = bf16[2,3] parameter(0)
  one = bf16[] constant(1)
  ones = bf16[2,3] broadcast(one), dimensions={}
  scores = bf16[2,3] add(x, ones)
  kept = pred[2,3] compare(scores, ones), direction=GT
  counted = s32[2,3] convert(kept)
  ROOT out = (bf16[2,3], pred[2,3], s32[2,3]) tuple(scores, kept, counted)
}";

    fn ask(asked: Option<&[usize]>) -> Result<Vec<TokenRows>, EvaluationError> {
        let import = lower(&parse(SUM).unwrap()).unwrap();
        let x = [0.0, 0.001953125, 0.00390625, 1.0, 2.0, 0.5];
        let given = [("arg0".to_string(), Tensor::new(&[2, 3], Data::from_f64s(DType::BF16, &x).unwrap()))];
        let inputs = bind(&import, &given)?;
        let mode = "v5e/default/as-compiled".parse().unwrap();
        let results = evaluate(&import.program, &mode, &inputs, &[])?;
        let results: Vec<Tensor> = results.into_iter().map(|result| result.tensor).collect();
        let positions = asked.map_or_else(|| token_results(&import, &results), <[usize]>::to_vec);
        let truth = TokenTruth::new(&import.program, &inputs, &results, &positions, &mut |_| {})?;
        Ok(truth.compare(&results))
    }

    #[test]
    fn rows_are_judged_by_what_their_result_is() {
        let rows = ask(None).unwrap();
        let [scores, kept, counted] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((scores.kind, kept.kind, counted.kind), (TokenKind::Scores, TokenKind::Kept, TokenKind::Tokens));
        assert_eq!((scores.rows, kept.rows, counted.rows), (2, 2, 2));
        // 1 + 2^-8 rounds to even, which is 1: all of row 0 is, and the first is named.
        assert_eq!(scores.wrong, [WrongRow { row: 0, exact: 2, emitted: 0 }]);
        assert_eq!(kept.wrong, [WrongRow { row: 0, exact: 2, emitted: 0 }]);
        assert_eq!(kept.lost, Some(vec![0]));
        assert_eq!(counted.wrong, [WrongRow { row: 0, exact: 1, emitted: 0 }]);
        assert!(rows.iter().all(|rows| rows.undecided.is_empty()));
    }

    #[test]
    fn results_that_are_asked_for_are_judged_alone() {
        let rows = ask(Some(&[1])).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].result.as_str(), &rows[0].lost), ("out1", &Some(vec![0])));
        assert!(ask(Some(&[])).unwrap().is_empty());
    }

    #[test]
    fn open_rows_and_nan_are_no_flips() {
        let kept = Tensor::new(&[3, 2], Data::Pred(vec![false; 6]));
        let top = |best: &[usize], runner_up, decided| Top {
            best: best.to_vec(),
            runner_up,
            margin_ulp: None,
            decided,
            rivals: vec![],
        };
        let tops = [top(&[1], None, true), top(&[0, 1], None, true), top(&[0], Some(1), false)];
        assert_eq!(lost(&kept, &tops), [1]);
        let truth = [Some(0), None, Some(1), None, Some(0), Some(0)];
        let counts = |_: usize, row: &std::ops::Range<usize>, of: &dyn Fn(usize) -> Option<i64>| {
            Some(row.clone().filter_map(of).sum())
        };
        let (wrong, open) = by_rows(&kept, &truth, |i| kept.data().get_i64(i), counts);
        assert_eq!((wrong, open), (vec![WrongRow { row: 1, exact: 1, emitted: 0 }], vec![0]));
    }

    /// A set that keeps any of the tokens that tie for the first place has not lost it.
    #[test]
    fn a_tie_is_kept_by_any_of_its_tokens() {
        let best = vec![0, 2];
        let top = Top { best, runner_up: Some(1), margin_ulp: None, decided: true, rivals: Vec::new() };
        for (bits, expected) in [
            ([true, false, false], vec![]),
            ([false, false, true], vec![]),
            ([false, true, false], vec![0]),
            ([false, false, false], vec![0]),
        ] {
            let kept = Tensor::new(&[1, 3], Data::Pred(bits.to_vec()));
            assert_eq!(lost(&kept, std::slice::from_ref(&top)), expected, "{bits:?}");
        }
    }
}
