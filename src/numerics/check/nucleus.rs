//! Whether the nucleus is the one that the formula means.

use crate::metric::{Better, Unit};
use crate::oracle::{Demand, TruthTensor};

use super::element_witness::{DeclaredScores, Witness, integer_hex};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, Scope, Settings, Tally,
};

pub(super) struct Nucleus;

impl Check for Nucleus {
    fn name(&self) -> &'static str {
        "nucleus"
    }

    fn doc(&self) -> &'static str {
        "Asks: are the tokens that top-p keeps those that it should? Why it matters: a running mass that stops growing \
         keeps the whole vocabulary. Fails when: in a row, the tokens kept that the exact evaluation drops, or the \
         reverse, are more than `allowance` (a share of those that the exact evaluation keeps, and at least one), or the \
         whole vocabulary is kept where the exact evaluation drops some. Rule: keep while the mass before a token is \
         below p; exact ties go to the lower id on both sides."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["allowance"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "all_kept",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows that keep the whole vocabulary wrongly",
            },
            FigureDoc {
                name: "rows_beyond",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows beyond the allowance",
            },
            FigureDoc {
                name: "kept_extra",
                unit: Unit::Tokens,
                better: Some(Better::Lower),
                doc: "tokens kept that truth drops, over all rows",
            },
            FigureDoc {
                name: "kept_lost",
                unit: Unit::Tokens,
                better: Some(Better::Lower),
                doc: "tokens dropped that truth keeps, over all rows",
            },
            FigureDoc {
                name: "truth_kept",
                unit: Unit::Tokens,
                better: None,
                doc: "tokens that truth keeps, over all rows",
            },
        ]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("rows_beyond")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Nucleus {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let (tokens, keep) = (case.output("tokens")?, case.output("keep")?);
        Ok(Box::new(Kept { tokens, keep, allowance: settings.allowance.unwrap_or(0.0) }))
    }
}

struct Kept {
    tokens: usize,
    keep: usize,
    allowance: f64,
}

impl Judge for Kept {
    fn demands(&self) -> Vec<(usize, Demand)> {
        vec![(self.tokens, Demand::Order), (self.keep, Demand::Order)]
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let (TruthTensor::Integer { values: tokens, .. }, TruthTensor::Predicate { values: keep, .. }) =
            (&batch.truth.outputs[self.tokens], &batch.truth.outputs[self.keep])
        else {
            return Err(ObserveError::NoTruth("tokens and keep"));
        };
        let got = |row: usize| {
            let ids = batch.got[self.tokens].data();
            let mask = batch.got[self.keep].data();
            membership(batch.n, (row * batch.n..(row + 1) * batch.n).map(|at| (ids.get_i64(at), mask.get_i64(at) != 0)))
        };
        let mut declared = DeclaredScores::default();
        for row in 0..keep.len() / batch.n {
            tally.count("rows", 1);
            let span = row * batch.n..(row + 1) * batch.n;
            let pairs: Option<Vec<(i64, bool)>> = span.clone().map(|at| Some((tokens[at]?, keep[at]?))).collect();
            // One undecided token leaves open how many are kept, and so the whole row.
            let Some(pairs) = pairs else {
                tally.leave_open(1, || {
                    let first = span.clone().position(|at| tokens[at].is_none() || keep[at].is_none()).unwrap_or(0);
                    format!(
                        "row {}: whether token {first} of the sorted ones is kept was not decided",
                        batch.first_row + row
                    )
                });
                continue;
            };
            let (truth, got) = (membership(batch.n, pairs.into_iter()), got(row));
            let count =
                |which: &dyn Fn(bool, bool) -> bool| truth.iter().zip(&got).filter(|(t, g)| which(**t, **g)).count();
            let (kept, extra, lost) = (count(&|t, _| t), count(&|t, g| g && !t), count(&|t, g| t && !g));
            tally.count("truth_kept", kept as u64);
            tally.count("kept_extra", extra as u64);
            tally.count("kept_lost", lost as u64);
            // Keeping everything is the fault of a running mass that stands still: it is told even within the allowance.
            let all_kept = kept < batch.n && kept + extra - lost == batch.n;
            // At least one token where there is an allowance: a share of a short nucleus would be less than one.
            let beyond = (extra + lost) as f64
                > (self.allowance * kept as f64).max(if self.allowance > 0.0 { 1.0 } else { 0.0 });
            tally.count("all_kept", u64::from(all_kept));
            tally.count("rows_beyond", u64::from(beyond));
            let weight = (extra + lost) as f64;
            if (beyond || all_kept)
                && tally.wants(weight)
                && let Some((at, token)) = self.misplaced(batch, row, &truth)
            {
                let tokens = declared.with_scores(batch, row, [token as i64])?;
                let due = integer_hex(batch.got[self.keep].dtype(), i64::from(truth[token]));
                tally.witness(weight, || Witness::at(batch, self.keep, at, due).with_tokens(tokens));
            }
            if beyond || all_kept {
                tally.evidence(|| {
                    let row = batch.first_row + row;
                    format!(
                        "row {row}: truth keeps {kept} of {}, {extra} more are kept and {lost} are missing",
                        batch.n
                    )
                });
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (all, beyond, rows) = (tally.count_of("all_kept"), tally.count_of("rows_beyond"), tally.count_of("rows"));
        let mut judgement = tally.judge(all > 0 || beyond > 0);
        for name in ["all_kept", "rows_beyond", "kept_extra", "kept_lost", "truth_kept"] {
            judgement = judgement.figure(name, tally.count_of(name) as f64);
        }
        judgement.note(format!("{all} of {rows} rows keep everything, {beyond} go beyond the allowance"))
    }
}

impl Kept {
    /// The first place of a row's mask that says another thing of its token than the truth, and the token.
    fn misplaced(&self, batch: &Batch, row: usize, truth: &[bool]) -> Option<(usize, usize)> {
        let (ids, mask) = (batch.got[self.tokens].data(), batch.got[self.keep].data());
        let token = |at: usize| usize::try_from(ids.get_i64(at)).ok().filter(|token| *token < truth.len());
        let places = (row * batch.n..(row + 1) * batch.n).filter_map(|at| Some((at, token(at)?)));
        places.into_iter().find(|(at, token)| (mask.get_i64(*at) != 0) != truth[*token])
    }
}

/// For each token id whether it is kept, from (id, kept) pairs.
fn membership(n: usize, pairs: impl Iterator<Item = (i64, bool)>) -> Vec<bool> {
    let mut kept = vec![false; n];
    for (id, keep) in pairs {
        if let Some(slot) = usize::try_from(id).ok().and_then(|id| kept.get_mut(id)) {
            *slot |= keep;
        }
    }
    kept
}
