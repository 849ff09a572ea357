//! Whether two ways to the same result give it.

use std::collections::HashMap;

use crate::ir::Program;
use crate::machine::Mode;
use crate::metric::{Better, Unit};
use crate::program::ProgramSpec;
use crate::subject::{self, Call};
use crate::tensor::Tensor;

use super::element_witness::{DeclaredScores, holds_tokens, other_hex};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally, Witness,
};

pub(super) struct Agreement;

impl Check for Agreement {
    fn name(&self) -> &'static str {
        "agreement"
    }

    fn doc(&self) -> &'static str {
        "Asks: do two evaluations that mean the same give the same? Why it matters: a result that depends on the batch, on \
         padding or on what else a program computes cannot be reproduced. Fails when: more than `allowance` (a share, 0 by \
         default) of the elements of a result differ in value from those of `against`: a mode, another program or file over the \
         same input (results are matched by name), or `alone`, which evaluates each row by itself."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["against", "allowance", "output"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "differing",
                unit: Unit::Elements,
                better: Some(Better::Lower),
                doc: "elements that differ",
            },
            FigureDoc {
                name: "differing_rows",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows with an element that differs",
            },
            FigureDoc {
                name: "max_difference",
                unit: Unit::Output,
                better: Some(Better::Lower),
                doc: "largest absolute difference",
            },
        ]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("differing_rows")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Agreement {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        const SETTING: &str = "against";
        let missing = PlanFault::Missing { setting: SETTING, expected: "a mode, a program or `alone`" };
        let text = settings.against.as_deref().ok_or(missing)?;
        let against = if let Some(file) = &settings.program {
            file.build(case.n, file.batch(case.n)).map_err(|e| PlanFault::from(e).of(SETTING))?;
            Against::File(file.clone(), case.program.output_names.clone())
        } else if text == "alone" {
            case.spec.build(case.n, 1).map_err(|e| PlanFault::NotAlone(e).of(SETTING))?;
            Against::Alone
        } else if text.contains('/') {
            Against::Mode(text.parse::<Mode>().map_err(|e| PlanFault::from(e).of(SETTING))?)
        } else {
            Against::Program(text.parse::<ProgramSpec>().map_err(|e| PlanFault::from(e).of(SETTING))?)
        };
        let all = case.program.output_names.iter().cloned().enumerate();
        let chosen = case.choose_output(settings)?;
        let outputs = all.filter(|(at, _)| chosen.is_none_or(|chosen| chosen == *at)).collect();
        Ok(Box::new(Same { against, outputs, allowance: settings.allowance.unwrap_or(0.0) }))
    }
}

enum Against {
    Mode(Mode),
    Program(ProgramSpec),
    /// A file's program, whose results have the names of the case's in order.
    File(ProgramSpec, Vec<String>),
    Alone,
}

struct Same {
    against: Against,
    outputs: Vec<(usize, String)>,
    allowance: f64,
}

/// The subject's results of another program, or of other arguments.
fn computed(
    batch: &Batch,
    program: &Program,
    arguments: &[Tensor],
    first_row: usize,
) -> Result<Vec<Tensor>, ObserveError> {
    if !batch.subject.computes() {
        return Err(ObserveError::ComputesNothing(batch.subject.id()));
    }
    Ok(subject::results(batch.subject, &Call { program, arguments, first_row })?)
}

impl Judge for Same {
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let other = self.other(batch)?;
        let compared: Vec<_> =
            self.outputs.iter().filter_map(|(at, name)| Some((*at, name, other.get(name.as_str())?))).collect();
        if compared.is_empty() {
            return Err(ObserveError::NothingInCommon);
        }
        let mut declared = DeclaredScores::default();
        for (at, name, theirs) in compared {
            let ours = &batch.got[at];
            if ours.dims() != theirs.dims() {
                let (ours, theirs) = (ours.dims().to_vec(), theirs.dims().to_vec());
                return Err(ObserveError::Dims { name: name.clone(), ours, theirs });
            }
            let rows = ours.dims().first().copied().unwrap_or(1).max(1);
            let width = ours.len() / rows;
            for row in 0..rows {
                let mut differing = 0;
                let mut worst: Option<(f64, usize)> = None;
                for i in row * width..(row + 1) * width {
                    let (a, b) = (ours.data().get_f64(i), theirs.data().get_f64(i));
                    if a == b || (a.is_nan() && b.is_nan()) {
                        continue;
                    }
                    differing += 1;
                    let difference = if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() };
                    tally.peak("max_difference", difference);
                    // Another integer is another choice, not an error of some size: the first one tells.
                    let weight = if ours.dtype().is_float() { difference } else { f64::INFINITY };
                    if worst.is_none_or(|(most, _)| weight > most) {
                        worst = Some((weight, i));
                    }
                    tally.evidence(|| {
                        format!(
                            "{name}, row {}, element {}: {a} (0x{:x}) against {b} (0x{:x})",
                            batch.first_row + row,
                            i - row * width,
                            ours.data().bits(i),
                            theirs.data().bits(i)
                        )
                    });
                }
                if let Some((weight, i)) = worst.filter(|(weight, _)| tally.wants(*weight)) {
                    let named = [theirs, ours].map(|side| side.data().get_i64(i));
                    let is_token = holds_tokens(batch, at);
                    let tokens = if is_token { declared.with_scores(batch, row, named)? } else { Vec::new() };
                    let witness = || Witness::at(batch, at, i, other_hex(theirs.data(), i)).with_tokens(tokens);
                    tally.witness(weight, witness);
                }
                tally.count("differing", differing);
                tally.count("differing_rows", u64::from(differing > 0));
            }
            tally.count("elements", ours.len() as u64);
            tally.count("rows", rows as u64);
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (differing, elements) = (tally.count_of("differing"), tally.count_of("elements"));
        let rows = tally.count_of("differing_rows");
        tally
            .judge(differing as f64 > self.allowance * elements as f64)
            .figure("differing", differing as f64)
            .figure("differing_rows", rows as f64)
            .figure("max_difference", tally.peak_of("max_difference").unwrap_or(0.0))
            .note(format!("{differing} of {elements} elements differ, in {rows} of {} rows", tally.count_of("rows")))
    }
}

impl Same {
    /// The other side's results by name.
    fn other(&self, batch: &Batch) -> Result<HashMap<String, Tensor>, ObserveError> {
        let named = |names: &[String], results: Vec<Tensor>| names.iter().cloned().zip(results).collect();
        match &self.against {
            Against::Mode(mode) => {
                let results = subject::evaluate(batch.program, mode, batch.arguments)?;
                Ok(named(&batch.program.output_names, results))
            }
            Against::Program(spec) => {
                let rows = batch.arguments.first().map_or(1, |a| a.dims().first().copied().unwrap_or(1));
                let program = spec.build(batch.n, rows)?;
                let results = computed(batch, &program, batch.arguments, batch.first_row)?;
                Ok(named(&program.output_names, results))
            }
            Against::File(spec, names) => {
                let program = spec.build(batch.n, spec.batch(batch.n))?;
                let results = computed(batch, &program, batch.arguments, batch.first_row)?;
                Ok(named(names, results))
            }
            Against::Alone => self.alone(batch),
        }
    }

    /// Each row of the first argument by itself, the results put together again.
    fn alone(&self, batch: &Batch) -> Result<HashMap<String, Tensor>, ObserveError> {
        let (first, others) = batch.arguments.split_first().ok_or(ObserveError::NoArgument)?;
        let rows = first.dims().first().copied().unwrap_or(1);
        let program = batch.spec.build(batch.n, 1)?;
        let mut columns: Vec<Vec<Tensor>> = vec![Vec::new(); program.output_names.len()];
        for row in 0..rows {
            let mut arguments = vec![first.rows(row..row + 1)];
            arguments.extend_from_slice(others);
            let results = computed(batch, &program, &arguments, batch.first_row + row)?;
            for (column, result) in columns.iter_mut().zip(results) {
                column.push(result);
            }
        }
        let joined = program.output_names.iter().cloned().zip(columns.iter().map(|c| Tensor::stack(c)));
        Ok(joined.collect())
    }
}
