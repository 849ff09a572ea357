//! Whether an error grows along a sequence.

use crate::metric::{self, Better, Metric, Sample, Unit};
use crate::num::Format;
use crate::oracle::{Demand, TruthTensor};
use crate::stat::fit_log_log;

use super::element_witness::{Witness, float_hex};
use super::left_open::leave_elements_open;
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally,
};

pub(super) struct Drift;

/// Room above the expected slope, as in the check `growth`.
const SLOPE_MARGIN: f64 = 0.1;
/// Confidence of the slope's interval.
const CONFIDENCE: f64 = 0.95;

impl Check for Drift {
    fn name(&self) -> &'static str {
        "drift"
    }

    fn doc(&self) -> &'static str {
        "Asks: does the error of a position grow along the sequence? Why it matters: what a short test shows would not hold \
         for the contexts that are served. Positions are the first dim of the result, of a program of a file: those of the \
         sequence that it takes at a time, or its layers. A metric's terms at position i, counted from 1, against the truth in the result's own type, are \
         fitted over all sequences: term ~ i^slope, terms of zero and infinite ones dropped. Fails when: the 95 % interval \
         of the slope lies above the expected slope + 0.1. With fewer than three terms it abstains."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["metric", "slope", "output"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "drift_slope",
                unit: Unit::One,
                better: Some(Better::Lower),
                doc: "slope of the error against the position, on log-log axes",
            },
            FigureDoc { name: "drift_low", unit: Unit::One, better: None, doc: "lower end of the slope, 95 %" },
            FigureDoc { name: "drift_high", unit: Unit::One, better: None, doc: "upper end of the slope, 95 %" },
        ]
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Drift {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let needed = |setting, expected| PlanFault::Missing { setting, expected }.of(setting);
        let named = settings.metric.as_deref().and_then(metric::find_metric).filter(|metric| !metric.needs_scale());
        let metric = named.ok_or_else(|| needed("metric", "a metric, such as kl_mean, that needs no scale"))?;
        let slope = settings.slope.ok_or_else(|| needed("slope", "what is expected of the fit on log-log axes"))?;
        if case.spec.file().is_none() {
            return Err(case.lacks("is no file's, so its rows are no sequence").into());
        }
        let float = |output: &usize| {
            let dtype = case.program.entry().instructions[case.program.outputs()[*output]].shape.dtype();
            dtype.and_then(|dtype| dtype.format())
        };
        let chosen = case.choose_output(settings)?;
        let output = chosen.or_else(|| (0..case.program.outputs().len()).find(|at| float(at).is_some()));
        let format = output.and_then(|output| Some((output, float(&output)?)));
        let (output, format) = format.ok_or_else(|| case.lacks("has no float there to drift").of("output"))?;
        Ok(Box::new(AlongSequence { metric, slope, output, format }))
    }
}

struct AlongSequence {
    metric: &'static dyn Metric,
    slope: f64,
    output: usize,
    format: &'static Format,
}

impl Judge for AlongSequence {
    fn demands(&self) -> Vec<(usize, Demand)> {
        vec![(self.output, Demand::Stored)]
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let TruthTensor::Float(truth) = &batch.truth.outputs[self.output] else {
            return Err(ObserveError::NoTruth("the result that drifts"));
        };
        if !truth.open.is_empty() {
            leave_elements_open(tally, batch, truth);
            return Ok(());
        }
        let tensor = &batch.got[self.output];
        let positions = tensor.dims().first().copied().unwrap_or(1).max(1);
        let got = tensor.data().to_f64s();
        let sample = Sample {
            got: &got,
            truth: &truth.rounded,
            format: self.format,
            row_len: tensor.dims().last().copied().unwrap_or(1),
            first_index: 0,
            scale: None,
        };
        let length = (got.len() / positions).max(1);
        self.metric.terms(&sample, &mut |term| {
            if term.value > 0.0 && term.value.is_finite() {
                tally.point((term.index / length + 1) as f64, term.value);
                let truth = || float_hex(truth.rounded[term.index]);
                tally.witness(term.value, || Witness::at(batch, self.output, term.index, truth()));
            }
        });
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let Some(fit) = fit_log_log(tally.points(), CONFIDENCE) else {
            let mut abstaining = tally.clone();
            abstaining.refuse(format!(
                "{} terms above zero at {} fit no line",
                tally.points().len(),
                self.metric.name()
            ));
            return abstaining.judge(false);
        };
        let (low, high) = (fit.slope_interval.low, fit.slope_interval.high);
        tally
            .judge(low > self.slope + SLOPE_MARGIN)
            .figure("drift_slope", fit.slope)
            .figure("drift_low", low)
            .figure("drift_high", high)
            .note(format!(
                "{} ~ position^{:.3} [{low:.3}, {high:.3}] over {} terms, expected {}",
                self.metric.name(),
                fit.slope,
                fit.points,
                self.slope
            ))
    }
}
