//! Whether dots pass a criterion by which results are accepted: one with a stated power, or another project's.

use crate::analysis::plain_matmul;
use crate::criterion::{
    Criterion, CriterionError, Decision, DotArithmetic, DotResults, Dots, Honest, NamedRule, Observation,
};
use crate::machine::{DotSite, Mode};
use crate::metric::{Better, Unit};
use crate::name::hint;
use crate::num::F32;
use crate::oracle::{Demand, TruthTensor};

use super::left_open::leave_elements_open;
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally,
};

pub(super) struct DotCriterion;

/// The name of the criterion with power.
const HONEST: &str = "honest";

/// Products over which errors are foreseen, at most: outputs beyond are not judged by that criterion.
const PRODUCTS: usize = 1 << 21;

impl Check for DotCriterion {
    fn name(&self) -> &'static str {
        "criterion"
    }

    fn doc(&self) -> &'static str {
        "Asks: does a criterion accept the results of a matmul for those of the declared precision? Why it matters: a gate is \
         worth what it lets pass, and a proven bound or a fixed tolerance lets pass fewer passes, missing products and \
         factors. Fails when: the criterion that `against` names rejects them. honest: errors in standard deviations of \
         those that the declared precision makes, foreseen from exact partial sums, in any order of additions; their \
         largest, mean square, mean, regression on the truth and on each product of K, at a false-alarm rate of 1e-6; \
         results that are more accurate pass. tosa-dot: Arm TOSA's rule for DOT_PRODUCT. netlib: SBLAT3's ratio below 16. \
         allclose: torch.testing.assert_close. nmse: llama.cpp's 5e-4 for MUL_MAT. `declared` judges by another precision \
         than the mode's."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["against", "declared"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[FigureDoc {
            name: "over_limit",
            unit: Unit::One,
            better: Some(Better::Lower),
            doc: "the criterion's statistic over its limit",
        }]
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

/// The criterion that is asked.
#[derive(Clone, Copy)]
enum AskedCriterion {
    Honest,
    Named(NamedRule),
}

impl AskedCriterion {
    fn names() -> Vec<&'static str> {
        NamedRule::ALL.iter().map(|rule| rule.name()).chain([HONEST]).collect()
    }
}

impl CaseCheck for DotCriterion {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let missing = PlanFault::Missing { setting: "against", expected: "honest, tosa-dot, netlib, allclose or nmse" };
        let name = settings.against.as_deref().ok_or(missing)?;
        let asked = match NamedRule::from_name(name) {
            Some(rule) => AskedCriterion::Named(rule),
            None if name == HONEST => AskedCriterion::Honest,
            None => {
                let hint = hint(name, AskedCriterion::names());
                return Err(PlanFault::Criterion { name: name.to_string(), hint }.of("against"));
            }
        };
        let first = case.program.outputs().first().copied();
        if first.and_then(|first| plain_matmul(case.program.entry(), first)).is_none() {
            return Err(case.lacks("is no plain matmul of its arguments").into());
        }
        let declared = match &settings.declared {
            Some(precision) => case.mode.declare(precision).map_err(|e| PlanFault::from(e).of("declared"))?,
            None => case.mode.clone(),
        };
        Ok(Box::new(AcceptedResult { asked, declared }))
    }
}

struct AcceptedResult {
    asked: AskedCriterion,
    declared: Mode,
}

impl Judge for AcceptedResult {
    fn demands(&self) -> Vec<(usize, Demand)> {
        vec![(0, Demand::Rounded)]
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let Some(TruthTensor::Float(truth)) = batch.truth.outputs.first() else {
            return Err(ObserveError::NoTruth("the result"));
        };
        leave_elements_open(tally, batch, truth);
        let value = batch.program.outputs().first().copied();
        let Some(matmul) = value.and_then(|value| plain_matmul(batch.program.entry(), value)) else {
            tally.refuse("the result is no plain matmul of the arguments");
            return Ok(());
        };
        let (Some(got), [Some(lhs), Some(rhs)]) =
            (batch.got.first(), matmul.parameters.map(|number| batch.arguments.get(number)))
        else {
            return Err(ObserveError::NoTruth("the operands"));
        };
        let Some(out) = got.dtype().format() else { return Err(ObserveError::NoTruth("a float result")) };
        let computed = got.data().to_f64s();
        let dtypes = [lhs.dtype(), rhs.dtype()];
        match self.asked {
            AskedCriterion::Named(rule) => {
                let Some(magnitude) = batch.scale.get() else { return Err(ObserveError::NoTruth("sum |a| |b|")) };
                let results = DotResults {
                    computed: &computed,
                    truth: &truth.rounded,
                    magnitude,
                    products: matmul.sizes[1],
                    accumulator: &F32,
                    out,
                    // Operands of a dot are of one type.
                    is_fp8: lhs.dtype().format().is_some_and(|format| format.width() <= 8),
                };
                tally.peak("ratio", rule.ratio(&results));
            }
            AskedCriterion::Honest => {
                let site = DotSite::as_written(dtypes.map(Some), matmul.sizes);
                let Some(arithmetic) = DotArithmetic::of_mode(&self.declared, &site, out) else {
                    tally.refuse("no honest error is known of dots of f64");
                    return Ok(());
                };
                let outputs = Dots::sample(computed.len(), matmul.sizes[1], PRODUCTS);
                let operands = [lhs, rhs].map(|operand| operand.data().to_f64s());
                match decide(
                    &arithmetic,
                    [&operands[0], &operands[1]],
                    matmul.sizes,
                    outputs,
                    [&computed, &truth.rounded],
                ) {
                    Ok(decision) => {
                        let is_accepted = decision.standing.is_accepted();
                        tally.peak("ratio", if is_accepted { decision.excess.min(1.0) } else { decision.excess });
                        tally.evidence(|| {
                            decision.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
                        });
                    }
                    Err(why) => tally.refuse(why),
                }
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let ratio = tally.peak_of("ratio").unwrap_or(0.0);
        let judgement = tally.judge(ratio > 1.0).note(format!("{ratio:.3} of the limit"));
        if tally.refusal().is_some() { judgement } else { judgement.figure("over_limit", ratio) }
    }
}

/// The decision on some outputs of a product, by the declared arithmetic and those that no precision tells from it.
fn decide(
    arithmetic: &DotArithmetic,
    [lhs, rhs]: [&[f64]; 2],
    sizes: [usize; 3],
    outputs: Vec<usize>,
    [computed, truth]: [&[f64]; 2],
) -> Result<Decision, String> {
    let of = |values: &[f64]| -> Vec<f64> { outputs.iter().filter_map(|at| values.get(*at)).copied().collect() };
    let [computed, truth] = [of(computed), of(truth)];
    let dots = Dots::new(lhs, rhs, sizes, outputs.clone()).map_err(|error| error.to_string())?;
    let observed = Observation { computed: &computed, truth: &truth, format: arithmetic.out };
    let honest = |one: &DotArithmetic| Honest::of_dots(one, &dots);
    let decide = |permitted: &[Honest]| Criterion::DEFAULT.decide_any(permitted, &observed, Some(&dots), None);
    let mut permitted = vec![honest(arithmetic)];
    let mut decision = decide(&permitted);
    if decision.as_ref().is_ok_and(|decision| !decision.standing.is_accepted()) {
        permitted.extend(arithmetic.alternatives().iter().skip(1).map(honest));
        decision = decide(&permitted);
    }
    decision.map_err(|error: CriterionError| error.to_string())
}
