//! Whether a compiler's choices, or the results of another mode, can change an outcome.

use crate::explore::{Answer, Difference, Exploration, Family, Settings as Limits, default_families, explore, repair};
use crate::metric::{Better, Unit};

use super::element_witness::{DeclaredScores, Witness, float_hex, holds_tokens, value_hex};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally,
};

/// The most choices that are evaluated for a batch, and the most enclosures: a suite asks many cases.
const CHOICES: usize = 256;
const ENCLOSURES: usize = 4;

pub(super) struct Permitted;

impl Check for Permitted {
    fn name(&self) -> &'static str {
        "permitted"
    }

    fn doc(&self) -> &'static str {
        "Asks: can anything that the excess-precision flag permits (`explore`) change a row's integers and predicates (all such \
         results, or `output`)? With `against = \"any-mode\"`: can any chip, precision or refinement with it? There bf16 sums \
         in the place of f32 ones (the family `narrowing`) are left out: of many terms, each rounded, little is promised. Why \
         it matters: the next version of a compiler may choose otherwise, and serve other tokens. Fails when: a choice that \
         was run on the machine gives another outcome; it is undecided where a row is neither proven nor reached. The \
         evidence begins with the guards after which the first batch is proven, if some were found."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["against", "output"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "proven",
                unit: Unit::Rows,
                better: Some(Better::Higher),
                doc: "rows that nothing permitted can change",
            },
            FigureDoc {
                name: "reachable",
                unit: Unit::Rows,
                better: None,
                doc: "rows that a choice changes, as the machine computed it",
            },
            FigureDoc {
                name: "guards",
                unit: Unit::One,
                better: None,
                doc: "fewest roundings to pin until the first batch is proven",
            },
        ]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("reachable")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Permitted {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let any_mode = match settings.against.as_deref() {
            None => false,
            Some("any-mode") => true,
            Some(_) => {
                let expected = "`any-mode`, or nothing for the case's own mode";
                return Err(PlanFault::Missing { setting: "against", expected }.of("against"));
            }
        };
        let entry = case.program.entry();
        let is_whole = |id: usize| entry.instructions[id].shape.dtype().is_some_and(|dtype| !dtype.is_float());
        let results = match case.choose_output(settings)? {
            Some(output) => vec![case.program.output_names[output].clone()],
            None if case.program.outputs().into_iter().any(is_whole) => Vec::new(),
            None => return Err(case.lacks("has no result of integers or predicates").into()),
        };
        let is_taken = |family: &&'static Family| !any_mode || family.name != "narrowing";
        let limits = Limits {
            families: default_families().filter(is_taken).collect(),
            choices: CHOICES,
            enclosures: ENCLOSURES,
            any_mode,
            ..Limits::new(case.mode.clone())
        };
        Ok(Box::new(Explored { results, limits }))
    }
}

struct Explored {
    results: Vec<String>,
    limits: Limits,
}

impl Explored {
    /// The guards after which every row of a batch is proven.
    fn guards(&self, batch: &Batch, found: &Exploration) -> Option<Vec<String>> {
        let repaired = repair(batch.program, batch.arguments, &self.results, &self.limits, found).ok()?.ok()?;
        let [proven, rows] = repaired.proven;
        (proven == rows).then(|| repaired.guards.iter().map(|guard| guard.to_string()).collect())
    }
}

impl Judge for Explored {
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let found = match explore(batch.program, batch.arguments, &self.results, &self.limits) {
            Ok(found) => found,
            Err(why) => {
                tally.refuse(why.to_string());
                return Ok(());
            }
        };
        let is_reached = found.answers.iter().any(|answer| matches!(answer, Answer::Reachable(_)));
        if batch.first_row == 0
            && is_reached
            && let Some(guards) = self.guards(batch, &found)
        {
            tally.peak("guards", guards.len() as f64);
            tally.evidence(|| format!("proven behind reduce_precision(8, 7) of {}", guards.join(", ")));
        }
        let mut scores = DeclaredScores::default();
        for (row, answer) in found.answers.iter().enumerate() {
            tally.count("rows", 1);
            match answer {
                Answer::Proven { .. } => tally.count("proven", 1),
                Answer::Open { undecided } => tally.leave_open(1, || {
                    let row = batch.first_row + row;
                    format!("row {row}: {undecided} elements are not decided by one enclosure, and no choice was found")
                }),
                Answer::Reachable(witness) => {
                    tally.count("reachable", 1);
                    let choices = witness.taken.iter().filter(|option| **option > 0).count();
                    let name = &batch.program.output_names[witness.differs.output];
                    let (declared, chosen) = (witness.differs.declared, witness.differs.chosen);
                    if tally.wants(1.0) {
                        let Difference { output, element, .. } = witness.differs;
                        let is_token = holds_tokens(batch, output);
                        let named = [declared, chosen].into_iter().filter(|_| is_token).map(|token| token as i64);
                        let tokens = scores.with_scores(batch, row, named)?;
                        let dtype = batch.got[output].dtype();
                        let due = if dtype.is_float() { float_hex(declared) } else { value_hex(dtype, declared) };
                        let reached = Witness::at(batch, output, element, due).with_tokens(tokens);
                        // The subject may compute as declared: what shows the finding is what the choice makes.
                        tally.witness(1.0, || Witness { value_hex: value_hex(dtype, chosen), ..reached });
                    }
                    tally.evidence(|| {
                        let row = batch.first_row + row;
                        format!(
                            "row {row}: {name} has {chosen} instead of {declared} by {choices} choices in {}",
                            witness.mode
                        )
                    });
                }
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let [proven, reachable, rows] = ["proven", "reachable", "rows"].map(|count| tally.count_of(count));
        let open = rows - proven - reachable;
        let judgement = tally
            .judge(reachable > 0)
            .figure("proven", proven as f64)
            .figure("reachable", reachable as f64)
            .note(format!("of {rows} rows {proven} are proven, {reachable} reachable, {open} open"));
        match tally.peak_of("guards") {
            Some(guards) => judgement.figure("guards", guards),
            None => judgement,
        }
    }
}
