//! First token at which a generated sequence differs from that of the truth.

use crate::metric::{Better, Unit};
use crate::oracle::{Demand, TruthTensor};
use crate::stat::quantile;
use crate::tensor::DType;

use super::element_witness::{ScoredToken, Witness, integer_hex};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, Scope, Settings, Tally,
};

pub(super) struct Divergence;

impl Check for Divergence {
    fn name(&self) -> &'static str {
        "divergence"
    }

    fn doc(&self) -> &'static str {
        "Asks: are the generated sequences those of the truth? Why it matters: greedy decoding feeds its tokens back, so that \
         one flipped token makes another text from there on. Fails when: a row of the integer result (`output`, else \
         `generated`) differs from the truth's row, whose every token is the exact argmax over the exact tokens before it."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["output"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "diverged",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows that differ from the truth's",
            },
            FigureDoc {
                name: "first_divergence",
                unit: Unit::Tokens,
                better: Some(Better::Higher),
                doc: "the least number of tokens before a row's first difference",
            },
            FigureDoc {
                name: "mean_divergence",
                unit: Unit::Tokens,
                better: Some(Better::Higher),
                doc: "the mean number of tokens before it, over rows that differ",
            },
            FigureDoc {
                name: "median_divergence",
                unit: Unit::Tokens,
                better: Some(Better::Higher),
                doc: "the median of it, over rows that differ",
            },
        ]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("diverged")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Divergence {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let output = match case.choose_output(settings)? {
            Some(output) => output,
            None => case.output("generated")?,
        };
        let shape = &case.program.entry().instructions[case.program.outputs()[output]].shape;
        if shape.dtype().is_none_or(|dtype| dtype.is_float() || dtype == DType::Pred) {
            return Err(case.lacks(format!("has no tokens in {shape}: they are integers")).of("output"));
        }
        Ok(Box::new(Same { output }))
    }
}

struct Same {
    output: usize,
}

impl Judge for Same {
    fn demands(&self) -> Vec<(usize, Demand)> {
        vec![(self.output, Demand::Rounded)]
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let TruthTensor::Integer { values: truth, .. } = &batch.truth.outputs[self.output] else {
            return Err(ObserveError::NoTruth("the tokens"));
        };
        let got = &batch.got[self.output];
        let (rows, tokens) = (got.dims().first().copied().unwrap_or(1).max(1), got.data().to_i64s());
        let length = (tokens.len() / rows).max(1);
        for (row, (got, truth)) in tokens.chunks(length).zip(truth.chunks(length)).enumerate() {
            tally.count("rows", 1);
            // The tokens behind one that is not known may be another text.
            let place = got.iter().zip(truth).position(|(got, truth)| Some(*got) != *truth);
            let Some(place) = place else { continue };
            let Some(due) = truth[place] else {
                let row = batch.first_row + row;
                tally.leave_open(1, || format!("row {row}: the token after {place} that are right was not decided"));
                continue;
            };
            tally.count("diverged", 1);
            tally.value(place as f64);
            // What leaves early loses most.
            let tokens = [due, got[place]].into_iter().filter_map(|token| u64::try_from(token).ok());
            let tokens = tokens.map(|token| ScoredToken { token, score_hex: None });
            tally.witness(-(place as f64), || {
                let at = row * length + place;
                let truth = integer_hex(batch.got[self.output].dtype(), due);
                Witness::at(batch, self.output, at, truth).with_tokens(tokens.collect())
            });
            tally.evidence(|| {
                let (row, token) = (batch.first_row + row, got[place]);
                format!("row {row}: token {token} instead of {due} after {place} that are right")
            });
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (diverged, rows) = (tally.count_of("diverged"), tally.count_of("rows"));
        let judgement = tally
            .judge(diverged > 0)
            .figure("diverged", diverged as f64)
            .note(format!("{diverged} of {rows} rows leave the truth's tokens"));
        let places = tally.values_in_order();
        let (Some(first), Some(median)) = (places.first(), quantile(&places, 0.5)) else { return judgement };
        judgement
            .figure("first_divergence", *first)
            .figure("mean_divergence", places.iter().sum::<f64>() / diverged as f64)
            .figure("median_divergence", median)
    }
}
