//! Whether two programs give tokens the same probability.

use crate::metric::{Better, Unit};
use crate::oracle::{Demand, TruthTensor};
use crate::program::ProgramSpec;
use crate::subject::{self, Call};
use crate::tensor::{DType, Tensor};

use super::element_witness::{Witness, float_hex};
use super::left_open::leave_elements_open;
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally,
};

pub(super) struct Ratio;

/// Ends of the ranges 1 ± 0.001 and 1 ± 0.01 of a ratio: logarithms, rounded to nearest.
const THOUSANDTH: [f64; 2] = [-0.0010005003335835335, 0.0009995003330835331];
const HUNDREDTH: [f64; 2] = [-0.010050335853501442, 0.009950330853168083];

impl Check for Ratio {
    fn name(&self) -> &'static str {
        "ratio"
    }

    fn doc(&self) -> &'static str {
        "Asks: does another program give tokens the same probability? Why it matters: reinforcement learning weighs a token by \
         the importance ratio p_train / p_serve and takes it for 1 before the first step; what is rounded otherwise makes it \
         noise. The result `output` (the first float by default) holds log-probabilities in nats, and so does the result in \
         the same place of `against`, a program that takes the same arguments, or fewer rows of them at a time; without \
         `against` the truth, rounded to the result's type. Fails when: more than `allowance` of the ratios (a share, 0 by \
         default) lie outside 1 +- 0.01; a ratio is p here over p there."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["against", "output", "allowance"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "mean_log_ratio",
                unit: Unit::Nat,
                better: Some(Better::Lower),
                doc: "mean of |difference of log p|",
            },
            FigureDoc {
                name: "max_log_ratio",
                unit: Unit::Nat,
                better: Some(Better::Lower),
                doc: "largest |difference of log p|",
            },
            FigureDoc {
                name: "ratios_beyond_0.001",
                unit: Unit::One,
                better: Some(Better::Lower),
                doc: "share of ratios outside 1 +- 0.001",
            },
            FigureDoc {
                name: "ratios_beyond_0.01",
                unit: Unit::One,
                better: Some(Better::Lower),
                doc: "share of ratios outside 1 +- 0.01",
            },
        ]
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Ratio {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let is_float = |output: &usize| {
            let shape = &case.program.entry().instructions[case.program.outputs()[*output]].shape;
            shape.dtype().is_some_and(DType::is_float)
        };
        let output = match case.choose_output(settings)? {
            Some(output) => Some(output).filter(is_float),
            None => (0..case.program.outputs().len()).find(is_float),
        };
        let output = output.ok_or_else(|| case.lacks("has no float there, so no log-probabilities").of("output"))?;
        let against = match (&settings.program, &settings.against) {
            (Some(program), _) => Some(program.clone()),
            (None, Some(text)) => Some(text.parse().map_err(|e| PlanFault::from(e).of("against"))?),
            (None, None) => None,
        };
        if let Some(against) = &against {
            against.build(case.n, against.batch(case.n)).map_err(|e| PlanFault::from(e).of("against"))?;
        }
        Ok(Box::new(Alike { against, output, allowance: settings.allowance.unwrap_or(0.0) }))
    }
}

struct Alike {
    /// Without one, the truth.
    against: Option<ProgramSpec>,
    output: usize,
    allowance: f64,
}

impl Judge for Alike {
    fn demands(&self) -> Vec<(usize, Demand)> {
        if self.against.is_some() { Vec::new() } else { vec![(self.output, Demand::Stored)] }
    }

    fn beside(&self) -> Option<&ProgramSpec> {
        self.against.as_ref()
    }

    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let ours = batch.got[self.output].data().to_f64s();
        let theirs = match &self.against {
            Some(against) => self.given_by(against, batch)?,
            None => match &batch.truth.outputs[self.output] {
                TruthTensor::Float(truth) if truth.open.is_empty() => truth.rounded.clone(),
                TruthTensor::Float(truth) => {
                    leave_elements_open(tally, batch, truth);
                    return Ok(());
                }
                _ => return Err(ObserveError::NoTruth("the log-probabilities")),
            },
        };
        let beyond = |difference: f64, [low, high]: [f64; 2]| !(low..=high).contains(&difference);
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            // Two that are alike have the ratio 1, if they are infinite, too.
            let difference = if ours == theirs { 0.0 } else { ours - theirs };
            tally.count("ratios", 1);
            tally.add("differences", difference.abs());
            tally.peak("largest", difference.abs());
            tally.count("thousandth", u64::from(beyond(difference, THOUSANDTH)));
            if beyond(difference, HUNDREDTH) {
                tally.count("hundredth", 1);
                tally.witness(difference.abs(), || Witness::at(batch, self.output, at, float_hex(*theirs)));
                let length = batch.got[self.output].len() / batch.got[self.output].dims().first().map_or(1, |d| *d);
                let (row, token) = (batch.first_row + at / length, at % length);
                tally.evidence(|| format!("row {row}, token {token}: log p is {ours} here and {theirs} there"));
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let ratios = tally.count_of("ratios") as f64;
        let share = |name| if ratios > 0.0 { tally.count_of(name) as f64 / ratios } else { 0.0 };
        let (thousandth, hundredth) = (share("thousandth"), share("hundredth"));
        let mean = if ratios > 0.0 { tally.sum_of("differences") / ratios } else { 0.0 };
        tally
            .judge(hundredth > self.allowance)
            .figure("mean_log_ratio", mean)
            .figure("max_log_ratio", tally.peak_of("largest").unwrap_or(0.0))
            .figure("ratios_beyond_0.001", thousandth)
            .figure("ratios_beyond_0.01", hundredth)
            .note(format!(
                "of {ratios} ratios {:.2} % lie outside 1 +- 0.001 and {:.2} % outside 1 +- 0.01",
                100.0 * thousandth,
                100.0 * hundredth
            ))
    }
}

impl Alike {
    /// The same result of the other program, which may take fewer rows at a time.
    fn given_by(&self, against: &ProgramSpec, batch: &Batch) -> Result<Vec<f64>, ObserveError> {
        let given = match batch.beside {
            Some(results) => self.result(results)?,
            None => self.in_parts(against, batch)?,
        };
        let ours = &batch.got[self.output];
        if given.len() != ours.len() {
            let name = batch.program.output_names[self.output].clone();
            return Err(ObserveError::Dims { name, ours: ours.dims().to_vec(), theirs: vec![given.len()] });
        }
        Ok(given)
    }

    fn in_parts(&self, against: &ProgramSpec, batch: &Batch) -> Result<Vec<f64>, ObserveError> {
        if !batch.subject.computes() {
            return Err(ObserveError::ComputesNothing(batch.subject.id()));
        }
        let (first, others) = batch.arguments.split_first().ok_or(ObserveError::NoArgument)?;
        let rows = first.dims().first().copied().unwrap_or(1);
        let step = against.batch(batch.n).clamp(1, rows.max(1));
        let program = against.build(batch.n, step)?;
        let mut given = Vec::new();
        for start in (0..rows).step_by(step) {
            let mut arguments = vec![first.rows(start..(start + step).min(rows))];
            arguments.extend_from_slice(others);
            let call = Call { program: &program, arguments: &arguments, first_row: batch.first_row + start };
            given.extend(self.result(&subject::results(batch.subject, &call)?)?);
        }
        Ok(given)
    }

    fn result(&self, results: &[Tensor]) -> Result<Vec<f64>, ObserveError> {
        Ok(results.get(self.output).ok_or(ObserveError::NothingInCommon)?.data().to_f64s())
    }
}
