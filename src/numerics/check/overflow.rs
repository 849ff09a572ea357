//! Whether results stay in the range of their type.

use crate::metric::{Better, Unit};
use crate::num::{self, Format};
use crate::oracle::{Demand, TruthTensor};

use super::element_witness::{Witness, float_hex};
use super::left_open::leave_elements_open;
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, Scope, Settings, Tally,
};

pub(super) struct Overflow;

impl Check for Overflow {
    fn name(&self) -> &'static str {
        "overflow"
    }

    fn doc(&self) -> &'static str {
        "Asks: does a result stay within the range of its type where the truth does? Why it matters: a format with few \
         exponent bits turns a sum into infinity on the way, and what follows into NaN or zeros, while every number that \
         was asked for fits. Fails when: in a row of a float result (`output`, or the first one) an element is infinite or \
         NaN where the truth is finite, or all elements are zero where the truth has one of 2^-126 or more, a normal number \
         of f32 and bf16."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["output"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "overflows",
                unit: Unit::Elements,
                better: Some(Better::Lower),
                doc: "elements that are infinite or NaN where the truth is finite",
            },
            FigureDoc {
                name: "underflows",
                unit: Unit::Elements,
                better: Some(Better::Lower),
                doc: "elements that are zero where the truth is 2^-126 or more, a normal number of f32 and bf16",
            },
            FigureDoc {
                name: "rows_out",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows with an overflow, or of zeros alone",
            },
        ]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("rows_out")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Overflow {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let format = |id: usize| case.program.entry().instructions[id].shape.dtype().and_then(|d| d.format());
        let formats: Vec<Option<&'static Format>> = case.program.outputs().into_iter().map(format).collect();
        let output = match case.choose_output(settings)? {
            Some(output) => Some(output),
            // Integers and predicates wrap or saturate by definition: only a float can leave its range.
            None => formats.iter().position(Option::is_some),
        };
        let found = output.and_then(|output| Some((output, formats[output]?)));
        let (output, format) = found.ok_or_else(|| case.lacks("has no float result"))?;
        Ok(Box::new(WithinRange { output, format }))
    }
}

struct WithinRange {
    output: usize,
    format: &'static Format,
}

impl Judge for WithinRange {
    fn demands(&self) -> Vec<(usize, Demand)> {
        vec![(self.output, Demand::Rounded)]
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let TruthTensor::Float(truth) = &batch.truth.outputs[self.output] else {
            return Err(ObserveError::NoTruth("the result"));
        };
        let got = &batch.got[self.output];
        let rows = got.dims().first().copied().unwrap_or(1).max(1);
        let width = got.len() / rows;
        leave_elements_open(tally, batch, truth);
        for row in 0..rows {
            let (mut overflows, mut underflows, mut zeros) = (0u64, 0u64, 0);
            let (mut first, mut first_zero) = (None, None);
            for i in row * width..(row + 1) * width {
                let (value, exact) = (got.data().get_f64(i), truth.rounded[i]);
                zeros += usize::from(value == 0.0);
                if truth.open.contains(&i) || !exact.is_finite() {
                    continue;
                }
                if !value.is_finite() {
                    overflows += 1;
                    first = first.or(Some(i));
                }
                if value == 0.0 && exact.abs() >= num::F32.min_normal() {
                    underflows += 1;
                    first_zero = first_zero.or(Some(i));
                }
            }
            tally.count("rows", 1);
            tally.count("overflows", overflows);
            tally.count("underflows", underflows);
            if overflows > 0 || underflows > 0 && zeros == width {
                tally.count("out", 1);
                if let Some(at) = first.or(first_zero) {
                    let witness = || Witness::at(batch, self.output, at, float_hex(truth.rounded[at]));
                    tally.witness((overflows + underflows) as f64, witness);
                }
                tally.evidence(|| {
                    let row = batch.first_row + row;
                    format!("row {row}: {overflows} of {width} elements overflow, {underflows} are lost to zero")
                });
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let [out, overflows, underflows] = ["out", "overflows", "underflows"].map(|name| tally.count_of(name));
        tally
            .judge(out > 0)
            .figure("overflows", overflows as f64)
            .figure("underflows", underflows as f64)
            .figure("rows_out", out as f64)
            .note(format!("{out} of {} rows leave the range of {}", tally.count_of("rows"), self.format.name))
    }
}
