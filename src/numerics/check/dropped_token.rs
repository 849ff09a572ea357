//! Whether the most probable token survives.

use crate::metric::{Better, Unit};
use crate::num::Format;
use crate::oracle::Top;
use crate::stat::clopper_pearson;

use super::element_witness::{DeclaredScores, Witness, float_hex, integer_hex, place_in_mask};
use super::left_open::leave_top_open;
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, Scope, Settings, Tally,
};

pub(super) struct DroppedToken;

impl Check for DroppedToken {
    fn name(&self) -> &'static str {
        "dropped_token"
    }

    fn doc(&self) -> &'static str {
        "Asks: does the certified most probable token survive? Why it matters: a sampler whose parts disagree about the \
         best token emits another one, at temperature 0 too. Fails when: in a row, none of the tokens that share the \
         highest exact score is in the kept set (a result `keep`; or, with output = \"max\" or \"threshold\", the tokens \
         whose score `p`, `z` or `logits` is not below that result), or the token emitted (a result `token`) is not one \
         of them. A tie in exact scores is no finding; a wrong token whose declared score equals the best one's is counted \
         apart as a tie made by rounding, and is a finding unless the suite expects it."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["output", "allowance"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "lost",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows that lost their most probable token",
            },
            FigureDoc {
                name: "lost_share_low",
                unit: Unit::One,
                better: None,
                doc: "lower end of the share lost, 95 %",
            },
            FigureDoc {
                name: "lost_share_high",
                unit: Unit::One,
                better: None,
                doc: "upper end of the share lost, 95 %",
            },
            FigureDoc {
                name: "flips",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows lost without any tie",
            },
            FigureDoc {
                name: "rounding_ties",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows lost to a tie made by rounding",
            },
            FigureDoc {
                name: "exact_ties",
                unit: Unit::Rows,
                better: None,
                doc: "rows whose best score is exactly shared",
            },
            FigureDoc {
                name: "least_margin_ulp",
                unit: Unit::Ulp,
                better: None,
                doc: "smallest gap of a lost row's two best exact scores, in ulps of the scores' type",
            },
        ]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("lost")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for DroppedToken {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let scores = case.scores()?;
        let format = scores.entry().instructions[scores.outputs()[0]].shape.dtype().and_then(|d| d.format());
        let format = format.ok_or_else(|| case.lacks("has scores that are no floats"))?;
        let find = |names: &[&str]| names.iter().find_map(|name| case.program.output(name));
        let output = match case.choose_output(settings)? {
            Some(output) => output,
            None => case.output("keep").or_else(|_| case.output("token"))?,
        };
        let shown = match case.program.output_names[output].as_str() {
            "keep" => ShownChoice::Mask { order: case.program.output("tokens") },
            name @ ("max" | "threshold") => {
                let scores = find(&["p", "z", "logits"]);
                let missing = || case.lacks(format!("has no scores that could meet its {name}"));
                ShownChoice::Threshold { scores: scores.ok_or_else(missing)? }
            }
            _ => ShownChoice::Token,
        };
        Ok(Box::new(Survives { output, shown, format, allowance: settings.allowance.unwrap_or(0.0) }))
    }
}

/// The form in which a result shows the surviving tokens.
#[derive(Clone, Copy)]
enum ShownChoice {
    /// One token a row.
    Token,
    /// A mask. Where it is in another order than the tokens', `order` is the result that holds their ids.
    Mask { order: Option<usize> },
    /// One value a row that the scores of a survivor in the result `scores` must not be below.
    Threshold { scores: usize },
}

struct Survives {
    output: usize,
    shown: ShownChoice,
    format: &'static Format,
    allowance: f64,
}

impl Judge for Survives {
    fn needs_scores(&self) -> bool {
        true
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let tops = &batch.scores.ok_or(ObserveError::NoTruth("the scores"))?.tops;
        let mut declared = DeclaredScores::default();
        for (row, top) in tops.iter().enumerate() {
            tally.count("rows", 1);
            if !top.decided {
                leave_top_open(tally, batch, row, top);
                continue;
            }
            if top.best.len() > 1 {
                tally.count("exact_ties", 1);
            }
            let emitted = self.emitted(batch, row);
            if self.survives(batch, row, top, emitted) {
                continue;
            }
            tally.count("lost", 1);
            if let Some(margin) = top.margin_ulp {
                tally.peak("negated_margin", -margin);
            }
            let named = [Some(top.best[0]), emitted].into_iter().flatten().map(|token| token as i64);
            let tokens = declared.with_scores(batch, row, named)?;
            let scores = declared.of(batch)?;
            let score = |token: usize| scores.map(|s| s.data().get_f64(row * batch.n + token));
            let tied = emitted.is_some_and(|token| score(token) == score(top.best[0]));
            tally.count(if tied { "rounding_ties" } else { "flips" }, 1);
            tally.evidence(|| self.describe(batch, row, top, emitted, &score));
            let lead = top.margin_ulp.unwrap_or(f64::INFINITY);
            tally.witness(lead, || self.witness(batch, row, top.best[0]).with_tokens(tokens));
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (lost, rows) = (tally.count_of("lost"), tally.count_of("rows"));
        let (low, high) = clopper_pearson(lost, rows, 0.95).map_or((0.0, 1.0), |i| (i.low, i.high));
        let judgement = tally
            .judge(lost as f64 > self.allowance * rows as f64)
            .figure("lost", lost as f64)
            .figure("lost_share_low", low)
            .figure("lost_share_high", high)
            .figure("flips", tally.count_of("flips") as f64)
            .figure("rounding_ties", tally.count_of("rounding_ties") as f64)
            .figure("exact_ties", tally.count_of("exact_ties") as f64)
            .note(format!("{lost} of {rows} rows lost their most probable token"));
        match tally.peak_of("negated_margin") {
            Some(negated) => judgement.figure("least_margin_ulp", -negated),
            None => judgement,
        }
    }
}

impl Survives {
    /// The token that the row emitted, where the result is one.
    fn emitted(&self, batch: &Batch, row: usize) -> Option<usize> {
        match self.shown {
            ShownChoice::Token => usize::try_from(batch.got[self.output].data().get_i64(row)).ok(),
            ShownChoice::Mask { .. } | ShownChoice::Threshold { .. } => None,
        }
    }

    fn survives(&self, batch: &Batch, row: usize, top: &Top, emitted: Option<usize>) -> bool {
        let result = batch.got[self.output].data();
        match self.shown {
            ShownChoice::Token => emitted.is_some_and(|token| top.best.contains(&token)),
            ShownChoice::Mask { order: None } => {
                top.best.iter().any(|token| result.get_i64(row * batch.n + token) != 0)
            }
            ShownChoice::Mask { order: Some(order) } => {
                let ids = batch.got[order].data();
                (row * batch.n..(row + 1) * batch.n)
                    .take_while(|at| result.get_i64(*at) != 0)
                    .any(|at| top.best.contains(&(ids.get_i64(at) as usize)))
            }
            ShownChoice::Threshold { scores } => {
                let (scores, least) = (batch.got[scores].data(), result.get_f64(row));
                top.best.iter().any(|token| scores.get_f64(row * batch.n + token) >= least)
            }
        }
    }

    /// The element that says that the row's best token does not survive.
    fn witness(&self, batch: &Batch, row: usize, best: usize) -> Witness {
        let dtype = batch.got[self.output].dtype();
        match self.shown {
            ShownChoice::Token => Witness::at(batch, self.output, row, integer_hex(dtype, best as i64)),
            ShownChoice::Mask { .. } => {
                Witness::at(batch, self.output, place_in_mask(batch, row, best), integer_hex(dtype, 1))
            }
            ShownChoice::Threshold { scores } => {
                let score = batch.got[scores].data().get_f64(row * batch.n + best);
                Witness::at(batch, self.output, row, float_hex(score))
            }
        }
    }

    fn describe(
        &self,
        batch: &Batch,
        row: usize,
        top: &Top,
        emitted: Option<usize>,
        score: &dyn Fn(usize) -> Option<f64>,
    ) -> String {
        let shown = |token: usize| match score(token) {
            Some(v) => format!("{v} (0x{:x})", self.format.encode(v)),
            None => "unknown".to_string(),
        };
        let best = top.best[0];
        let margin = top.margin_ulp.map_or("infinitely".to_string(), |m| format!("{m} ulp"));
        let instead = match (emitted, self.shown) {
            (Some(token), _) => format!("token {token} with declared score {} was emitted instead", shown(token)),
            (None, ShownChoice::Threshold { scores }) => {
                let score = batch.got[scores].data().get_f64(row * batch.n + best);
                let (name, least) = (&batch.program.output_names, batch.got[self.output].data().get_f64(row));
                format!("its {} = {score} is below {} = {least}", name[scores], name[self.output])
            }
            (None, _) => "it is not in the kept set".to_string(),
        };
        format!(
            "row {}: token {best} is the most probable, {margin} ahead, declared score {}; {instead}",
            batch.first_row + row,
            shown(best),
        )
    }
}
