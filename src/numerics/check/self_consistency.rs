//! Whether a program agrees with itself.

use crate::metric::{Better, Unit};

use super::element_witness::{DeclaredScores, Witness, float_hex, integer_hex, place_in_mask};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, Scope, Settings, Tally,
};

pub(super) struct SelfConsistency;

impl Check for SelfConsistency {
    fn name(&self) -> &'static str {
        "self_consistency"
    }

    fn doc(&self) -> &'static str {
        "Asks: do two views of one value inside one program agree? Why it matters: the compiler may round a value for one \
         consumer and not for another, and no input is needed to see that this is wrong. Fails when: a kept set (`keep`) \
         is empty and so lacks its own maximum; or the score at the emitted `token` is not the `max` that the same \
         program reports; or two tokens of one program (`token`, `greedy`, `token_f32`) differ."
    }

    fn settings(&self) -> &'static [&'static str] {
        &[]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[FigureDoc {
            name: "inconsistent",
            unit: Unit::Rows,
            better: Some(Better::Lower),
            doc: "rows in which the program disagrees with itself",
        }]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("inconsistent")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for SelfConsistency {
    fn plan(&self, _settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let find = |names: &[&str]| names.iter().find_map(|name| case.program.output(name));
        let views = Views {
            keep: find(&["keep"]),
            scores: find(&["p", "z", "logits"]),
            max: find(&["max"]),
            tokens: ["token", "greedy", "token_f32"].iter().filter_map(|name| case.program.output(name)).collect(),
        };
        let comparable = views.keep.is_some()
            || (views.scores.is_some() && views.max.is_some() && !views.tokens.is_empty())
            || views.tokens.len() > 1;
        if comparable { Ok(Box::new(views)) } else { Err(case.lacks("shows no value twice").into()) }
    }
}

struct Views {
    keep: Option<usize>,
    scores: Option<usize>,
    max: Option<usize>,
    tokens: Vec<usize>,
}

impl Judge for Views {
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let rows = batch.got.first().map_or(0, |t| t.dims().first().copied().unwrap_or(0));
        let mut declared = DeclaredScores::default();
        for row in 0..rows {
            tally.count("rows", 1);
            let Some((why, disagreement)) = self.disagreement(batch, row) else { continue };
            tally.count("inconsistent", 1);
            tally.evidence(|| format!("row {}: {why}", batch.first_row + row));
            let weight = disagreement.weight();
            if tally.wants(weight) {
                let (witness, tokens) = self.witness(batch, row, &disagreement, &mut declared)?;
                let tokens = declared.with_scores(batch, row, tokens)?;
                tally.witness(weight, || witness.with_tokens(tokens));
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (found, rows) = (tally.count_of("inconsistent"), tally.count_of("rows"));
        tally
            .judge(found > 0)
            .figure("inconsistent", found as f64)
            .note(format!("{found} of {rows} rows disagree with themselves"))
    }
}

/// In which way a row disagrees with itself.
enum SelfDisagreement {
    /// Nothing is kept in this output.
    Empty { keep: usize },
    /// An output names another token than the first that names one.
    Tokens { first: i64, other: usize },
    /// The score of the token in this output is not the maximum.
    Scores { scores: usize, at: usize, score: f64, max: f64 },
}

impl SelfDisagreement {
    /// Weight beside others: the difference of scores, or infinity if it is not of scores.
    fn weight(&self) -> f64 {
        match self {
            SelfDisagreement::Empty { .. } | SelfDisagreement::Tokens { .. } => f64::INFINITY,
            SelfDisagreement::Scores { score, max, .. } => (score - max).abs(),
        }
    }
}

impl Views {
    fn disagreement(&self, batch: &Batch, row: usize) -> Option<(String, SelfDisagreement)> {
        let integer = |output: usize| batch.got[output].data().get_i64(row);
        if let Some(keep) = self.keep
            && (row * batch.n..(row + 1) * batch.n).all(|at| batch.got[keep].data().get_i64(at) == 0)
        {
            return Some(("nothing is kept, not even the maximum".to_string(), SelfDisagreement::Empty { keep }));
        }
        let names = &batch.program.output_names;
        if let Some((first, rest)) = self.tokens.split_first()
            && let Some(other) = rest.iter().find(|other| integer(**other) != integer(*first))
        {
            let (a, b) = (integer(*first), integer(*other));
            let why = format!("{} = {a}, but {} = {b}", names[*first], names[*other]);
            return Some((why, SelfDisagreement::Tokens { first: a, other: *other }));
        }
        let (scores, max, token) = (self.scores?, self.max?, *self.tokens.first()?);
        let at = usize::try_from(integer(token)).ok().filter(|t| *t < batch.n)?;
        let score = batch.got[scores].data().get_f64(row * batch.n + at);
        let max_value = batch.got[max].data().get_f64(row);
        let same = score == max_value || (score.is_nan() && max_value.is_nan());
        let why = || format!("{}[{at}] = {score}, but max = {max_value}", names[scores]);
        (!same).then(|| (why(), SelfDisagreement::Scores { scores, at, score, max: max_value }))
    }

    /// The element that disagrees with the rest of the row, and the tokens in question.
    fn witness(
        &self,
        batch: &Batch,
        row: usize,
        disagreement: &SelfDisagreement,
        declared: &mut DeclaredScores,
    ) -> Result<(Witness, Vec<i64>), ObserveError> {
        Ok(match *disagreement {
            SelfDisagreement::Empty { keep } => {
                let best = declared.best(batch, row)?;
                let kept = integer_hex(batch.got[keep].dtype(), 1);
                (Witness::at(batch, keep, place_in_mask(batch, row, best), kept), vec![best as i64])
            }
            SelfDisagreement::Tokens { first, other } => {
                let named = batch.got[other].data().get_i64(row);
                let due = integer_hex(batch.got[other].dtype(), first);
                (Witness::at(batch, other, row, due), vec![first, named])
            }
            SelfDisagreement::Scores { scores, at, max, .. } => {
                let place = row * batch.n + at;
                (Witness::at(batch, scores, place, float_hex(max)), vec![at as i64])
            }
        })
    }
}
