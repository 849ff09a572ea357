//! Whether the error stays inside what the declared mode allows.

use crate::machine::Mode;
use crate::metric::Better;
use crate::num;
use crate::oracle::{Demand, TruthTensor};

use super::forward::{Forward, Refusal};
use super::{Batch, Check, Context, FigureDoc, Judge, Judgement, Settings, Tally};

pub struct Bound;

impl Check for Bound {
    fn name(&self) -> &'static str {
        "bound"
    }

    fn doc(&self) -> &'static str {
        "Asks: is the error of every element inside the a-priori bound of the declared mode? Why it matters: a tolerance \
         that is not derived is tuned until green. Fails when: |computed - truth| exceeds the forward error bound, \
         composed operation by operation: roundings as (1 + u), dots as c sum|a||b| + gamma_n (1 + c) sum|a||b| with c \
         the split error of the passes and n the longest addition chain of the declared order, gamma_n = n u / (1 - n u) \
         (Higham 2002, lemma 3.1), plus n times the smallest normal number where subnormals are flushed. `declared` \
         judges by another matmul precision than the mode's. Refuses where n u >= 1 or an operation has no derived bound. \
         Advisory beside it: the same with the probabilistic gamma of Higham and Mary (2019), failing with probability \
         at most 2^-20 for each element."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["declared", "output"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc { name: "error_over_bound", better: Some(Better::Lower), doc: "worst error / bound" },
            FigureDoc {
                name: "error_over_probable_bound",
                better: Some(Better::Lower),
                doc: "worst error / probabilistic bound; advisory",
            },
            FigureDoc { name: "beyond_bound", better: Some(Better::Lower), doc: "elements beyond the bound" },
        ]
    }

    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, String> {
        let output = match &settings.output {
            Some(name) => case.output(name)?,
            None => {
                let float =
                    |id: &usize| case.program.entry().instructions[*id].shape.dtype().is_some_and(|d| d.is_float());
                let first = case.program.outputs().iter().position(float);
                first.ok_or_else(|| format!("{} has no float result", case.spec))?
            }
        };
        let declared = match &settings.declared {
            Some(precision) => {
                let text = case.mode.to_string();
                let (_, refinements) = text.split_once('+').unwrap_or(("", ""));
                Mode::new(case.mode.chip.name, precision, "off", refinements).map_err(|e| e.to_string())?
            }
            None => case.mode.clone(),
        };
        Ok(Box::new(Within { output, declared }))
    }
}

struct Within {
    output: usize,
    declared: Mode,
}

impl Judge for Within {
    fn demands(&self) -> Vec<(usize, Demand)> {
        vec![(self.output, Demand::Rounded)]
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), String> {
        let TruthTensor::Float(truth) = &batch.truth.outputs[self.output] else {
            return Err("the truth of the result is missing".to_string());
        };
        let output = batch.program.outputs()[self.output];
        let bounds = match Forward::new(batch.program, &self.declared, batch.scale).bounds(batch.arguments, output) {
            Ok(bounds) => bounds,
            Err(Refusal(why)) => {
                tally.refuse(why);
                return Ok(());
            }
        };
        let got = batch.got[self.output].data();
        tally.count("undecided", truth.open.len() as u64);
        for (i, (exact, [bound, probable])) in truth.rounded.iter().zip(&bounds).enumerate() {
            tally.count("elements", 1);
            let value = got.get_f64(i);
            if value == *exact || (value.is_nan() && exact.is_nan()) {
                tally.peak("ratio", 0.0);
                continue;
            }
            // The truth is rounded to f64: half an ulp of that belongs to neither side.
            let error = ((value - exact).abs() - num::F64.ulp(*exact) / 2.0).max(0.0);
            let ratio = if error.is_nan() {
                f64::INFINITY
            } else if error == 0.0 {
                0.0
            } else {
                error / bound
            };
            tally.peak("ratio", ratio);
            tally.peak("probable", if error == 0.0 { 0.0 } else { error / probable });
            if ratio > 1.0 {
                tally.count("beyond", 1);
                tally.evidence(|| {
                    format!(
                        "element {i}: {value} (0x{:x}) against {exact} (0x{:016x}), {ratio} times its bound {bound}",
                        got.bits(i),
                        exact.to_bits()
                    )
                });
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let beyond = tally.counted("beyond");
        let judgement = tally.judge(beyond > 0).note(format!(
            "worst error {:.3} of the bound of {}, {beyond} of {} elements beyond",
            tally.peaked("ratio").unwrap_or(0.0),
            self.declared,
            tally.counted("elements")
        ));
        if tally.refusal().is_some() {
            return judgement;
        }
        let judgement = judgement
            .figure("error_over_bound", tally.peaked("ratio").unwrap_or(0.0))
            .figure("beyond_bound", beyond as f64);
        match tally.peaked("probable") {
            Some(probable) => judgement.figure("error_over_probable_bound", probable),
            None => judgement,
        }
    }
}
