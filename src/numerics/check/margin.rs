//! Sizes of the leads that flips took away, and whether one token leads at all.

use crate::metric::Unit;
use crate::stat::quantile;

use super::element_witness::{ScoredToken, Witness, bits_hex, float_hex};
use super::left_open::leave_top_open;
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, Scope, Settings, Tally,
};

pub(super) struct Margin;

/// The quantiles of the leads that were lost, as notes give them.
const QUANTILES: [(&str, f64); 4] =
    [("margin_quarter", 0.25), ("margin_median", 0.5), ("margin_three_quarters", 0.75), ("margin_largest", 1.0)];

/// The figures of leads: in ulps of the scores' type.
const fn lead(name: &'static str, doc: &'static str) -> FigureDoc {
    FigureDoc { name, unit: Unit::Ulp, better: None, doc }
}

const FIGURES: &[FigureDoc] = &[
    FigureDoc {
        name: "tied_tops",
        unit: Unit::Rows,
        better: None,
        doc: "rows whose highest score, as computed, is shared",
    },
    lead("margin_quarter", "a quarter of the leads lost are at most this, in ulps of the scores' type"),
    lead("margin_median", "half of them are at most this"),
    lead("margin_three_quarters", "three quarters of them are at most this"),
    lead("margin_largest", "the largest of them"),
];

impl Check for Margin {
    fn name(&self) -> &'static str {
        "margin"
    }

    fn doc(&self) -> &'static str {
        "Asks: has one token the highest score as computed, and how far ahead was the exact best one where another is emitted? \
         Why it matters: between tokens that tie the order of a search decides, so another implementation emits another one; \
         and what rounding may flip are narrow leads. Fails when: more than `allowance` of the rows (a share, 0 by default) \
         have their highest score (a result `logits`, `z` or `p`) in several places. Where the result `token` is not one of \
         the exact best, the gap of the two best exact scores is kept: its quantiles are numbers that occur."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["allowance"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        FIGURES
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("tied_tops")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Margin {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        case.scores()?;
        let token = case.output("token")?;
        let scores = ["logits", "z", "p"].iter().find_map(|name| case.program.output(name));
        let scores = scores.ok_or_else(|| case.lacks("has no result `logits`, `z` or `p`"))?;
        Ok(Box::new(Leads { token, scores, allowance: settings.allowance.unwrap_or(0.0) }))
    }
}

struct Leads {
    token: usize,
    scores: usize,
    allowance: f64,
}

impl Judge for Leads {
    fn needs_scores(&self) -> bool {
        true
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let tops = &batch.scores.ok_or(ObserveError::NoTruth("the scores"))?.tops;
        let (tokens, scores) = (batch.got[self.token].data(), batch.got[self.scores].data().to_f64s());
        let stored = batch.got[self.scores].data();
        for (row, (top, scores)) in tops.iter().zip(scores.chunks(batch.n.max(1))).enumerate() {
            tally.count("rows", 1);
            let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sharing: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] == highest).collect();
            if sharing.len() > 1 {
                tally.count("tied", 1);
                tally.witness(sharing.len() as f64, || {
                    let scored = |token: &usize| ScoredToken {
                        token: *token as u64,
                        score_hex: Some(bits_hex(stored, row * batch.n + token)),
                    };
                    let witness = Witness::at(batch, self.scores, row * batch.n + sharing[1], float_hex(highest));
                    witness.with_tokens(sharing.iter().take(2).map(scored).collect())
                });
                let row = batch.first_row + row;
                tally.evidence(|| format!("row {row}: tokens {sharing:?} share the highest score {highest}"));
            }
            if !top.decided {
                leave_top_open(tally, batch, row, top);
                continue;
            }
            let kept = usize::try_from(tokens.get_i64(row)).is_ok_and(|token| top.best.contains(&token));
            if let Some(margin) = top.margin_ulp.filter(|_| !kept) {
                tally.value(margin);
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (tied, rows, lost) = (tally.count_of("tied"), tally.count_of("rows"), tally.values_in_order());
        let judgement = tally
            .judge(tied as f64 > self.allowance * rows as f64)
            .figure("tied_tops", tied as f64)
            .note(format!("{tied} of {rows} rows share their highest score; {} lost their lead", lost.len()));
        QUANTILES.iter().fold(judgement, |judgement, (name, share)| match quantile(&lost, *share) {
            Some(margin) => judgement.figure(name, margin),
            None => judgement,
        })
    }
}
