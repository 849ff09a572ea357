//! Whether the error stays inside the bound of the declared mode.

use std::collections::HashSet;

use crate::machine::Mode;
use crate::metric::{Better, Unit};
use crate::num;
use crate::oracle::{Demand, TruthTensor};

use super::element_witness::{Witness, float_hex};
use super::forward::{Forward, Refusal};
use super::left_open::leave_elements_open;
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally,
};

pub(super) struct Bound;

impl Check for Bound {
    fn name(&self) -> &'static str {
        "bound"
    }

    fn doc(&self) -> &'static str {
        "Asks: is the error of every element inside the a-priori bound of the declared mode? Why it matters: a tolerance \
         that is not derived is tuned until green. Fails when: |computed - truth| exceeds the forward error bound, \
         composed operation by operation from what the mode's units promise: roundings as (1 + u), dots as \
         c sum|a||b| + gamma_n (1 + s) sum|a||b| with c the split error of the passes and n the longest addition chain of \
         the declared order, gamma_n = n u / (1 - n u) (Higham 2002, lemma 3.1), and what flushing takes; or when only \
         one of the two is NaN, or an infinity, or both are infinities of different sign. `declared` judges by another \
         matmul precision than the mode's. Refuses where n u >= 1, an operation has no derived bound, or an element that \
         differs from the truth has none. Advisory beside it: the same with the probabilistic gamma of Higham and Mary \
         (2019), failing with probability at most 2^-20 for each element of a sum or dot."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["declared", "output"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "error_over_bound",
                unit: Unit::One,
                better: Some(Better::Lower),
                doc: "worst error / bound",
            },
            FigureDoc {
                name: "error_over_probable_bound",
                unit: Unit::One,
                better: Some(Better::Lower),
                doc: "worst error / probabilistic bound; advisory",
            },
            FigureDoc {
                name: "beyond_bound",
                unit: Unit::Elements,
                better: Some(Better::Lower),
                doc: "elements beyond the bound",
            },
        ]
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Bound {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let output = match case.choose_output(settings)? {
            Some(output) => output,
            None => {
                let float =
                    |id: &usize| case.program.entry().instructions[*id].shape.dtype().is_some_and(|d| d.is_float());
                let first = case.program.outputs().iter().position(float);
                first.ok_or_else(|| case.lacks("has no float result"))?
            }
        };
        let declared = match &settings.declared {
            Some(precision) => case.mode.declare(precision).map_err(|e| PlanFault::from(e).of("declared"))?,
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

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let TruthTensor::Float(truth) = &batch.truth.outputs[self.output] else {
            return Err(ObserveError::NoTruth("the result"));
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
        leave_elements_open(tally, batch, truth);
        tally.count("elements", truth.rounded.len() as u64);
        let open: HashSet<usize> = truth.open.iter().copied().collect();
        let (mut worst, mut worst_probable): (Option<f64>, f64) = (None, 0.0);
        for (i, (exact, [bound, probable])) in truth.rounded.iter().zip(&bounds).enumerate() {
            if open.contains(&i) {
                continue;
            }
            let value = got.get_f64(i);
            let Some(ratio) = ratio(value, *exact, *bound) else {
                tally.count("unproven", 1);
                continue;
            };
            worst = Some(worst.map_or(ratio, |worst| worst.max(ratio)));
            worst_probable = worst_probable.max(self::ratio(value, *exact, *probable).unwrap_or(f64::INFINITY));
            if ratio > 1.0 {
                tally.count("beyond", 1);
                tally.witness(ratio, || Witness::at(batch, self.output, i, float_hex(*exact)));
                tally.evidence(|| {
                    format!(
                        "element {i}: {value} (0x{:x}) against {exact} (0x{:016x}), {ratio} times its bound {bound}",
                        got.bits(i),
                        exact.to_bits()
                    )
                });
            }
        }
        if let Some(worst) = worst {
            tally.peak("ratio", worst);
            tally.peak("probable", worst_probable);
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let [beyond, unproven, elements] = ["beyond", "unproven", "elements"].map(|name| tally.count_of(name));
        let mut tally = tally.clone();
        if beyond == 0 && unproven > 0 {
            tally.refuse(format!("no bound holds for {unproven} of {elements} elements"));
        }
        let judgement = tally.judge(beyond > 0).note(format!(
            "worst error {:.3} of the bound of {}, {beyond} of {elements} elements beyond",
            tally.peak_of("ratio").unwrap_or(0.0),
            self.declared,
        ));
        if tally.refusal().is_some() {
            return judgement;
        }
        let judgement = judgement
            .figure("error_over_bound", tally.peak_of("ratio").unwrap_or(0.0))
            .figure("beyond_bound", beyond as f64);
        match tally.peak_of("probable") {
            Some(probable) => judgement.figure("error_over_probable_bound", probable),
            None => judgement,
        }
    }
}

/// The kind of an element's value.
enum Kind {
    Nan,
    /// An infinity, and whether it is the negative one.
    Infinite(bool),
    Finite,
}

impl Kind {
    fn of(value: f64) -> Kind {
        match value {
            v if v.is_nan() => Kind::Nan,
            v if v.is_infinite() => Kind::Infinite(v < 0.0),
            _ => Kind::Finite,
        }
    }
}

/// The error of a result in units of its bound; `None` where it differs from the truth and the bound says nothing.
///
/// Only a NaN is a NaN and only the same infinity an infinity: a result that leaves its format's range is as wrong as one
/// that never reaches an infinite truth.
fn ratio(value: f64, exact: f64, bound: f64) -> Option<f64> {
    let error = match (Kind::of(value), Kind::of(exact)) {
        (Kind::Nan, Kind::Nan) => 0.0,
        (Kind::Infinite(negative), Kind::Infinite(expected)) if negative == expected => 0.0,
        (Kind::Infinite(_), Kind::Infinite(_)) => f64::INFINITY,
        (Kind::Nan, Kind::Infinite(_) | Kind::Finite) => f64::INFINITY,
        (Kind::Infinite(_) | Kind::Finite, Kind::Nan) => f64::INFINITY,
        (Kind::Infinite(_), Kind::Finite) | (Kind::Finite, Kind::Infinite(_)) => f64::INFINITY,
        // The truth is rounded to f64: half an ulp of that belongs to neither side.
        (Kind::Finite, Kind::Finite) => ((value - exact).abs() - num::F64.ulp(exact) / 2.0).max(0.0),
    };
    if error == 0.0 { Some(0.0) } else { bound.is_finite().then_some(error / bound) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_measured_from_the_nearest_f64() {
        let eps = f64::EPSILON;
        // The truth lies within half an ulp of its f64.
        assert_eq!(ratio(1.0, 1.0, 0.0), Some(0.0));
        assert_eq!(ratio(1.0 + eps, 1.0, eps), Some(0.5));
        assert_eq!(ratio(1.0 - eps, 1.0, eps), Some(0.5));
        assert_eq!(ratio(3.0, 1.0, 2.0), Some((2.0 - eps / 2.0) / 2.0));
        assert_eq!(ratio(-0.0, 0.0, f64::NAN), Some(0.0));
        // Where the bound says nothing, only what is right conforms.
        assert_eq!(ratio(1.0, 1.0, f64::NAN), Some(0.0));
        assert_eq!(ratio(1.5, 1.0, f64::NAN), None);
        assert_eq!(ratio(1.5, 1.0, f64::INFINITY), None);
        assert_eq!(ratio(1.5, 1.0, 0.0), Some(f64::INFINITY));
    }
}
