//! Whether another program, or another machine, gives the same bits for all inputs.

use std::time::Duration;

use crate::machine::Mode;
use crate::metric::Unit;
use crate::program::ProgramSpec;
use crate::same::{Parting, Settings as Limits, Shown, Verdict, compare};
use crate::subject::compile;

use super::element_witness::{Witness, digits_of, float_hex};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally,
};

/// Inputs that are tried where nothing is proven; as many on every machine.
const TRIALS: u64 = 64;

pub(super) struct Same;

impl Check for Same {
    fn name(&self) -> &'static str {
        "same"
    }

    fn doc(&self) -> &'static str {
        "Asks: are the case's program and `against` one computation, bit for bit, for all inputs (`same`)? `against` is a \
         program (also with other rows: each block of the larger one's is compared), a mode (the same program on another \
         machine) or `alone` (each row by itself). Why it matters: what serves and what trains, a batch of 8 and one of 64, \
         an old and a new compiler are taken for one another. Fails when: an input was found whose bits differ, which need \
         not be the case's own; it is undecided where they are neither proven the same nor parted by an input."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["against"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[FigureDoc {
            name: "inputs_tried",
            unit: Unit::One,
            better: None,
            doc: "inputs on which both were run, the last of them that which parts them",
        }]
    }

    fn brings_inputs(&self) -> bool {
        true
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Same {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        const SETTING: &str = "against";
        let missing = PlanFault::Missing { setting: SETTING, expected: "a program, a mode or `alone`" };
        let text = settings.against.as_deref().ok_or(missing)?;
        let own = || case.spec.clone();
        let (against, rows, mode) = match &settings.program {
            Some(program) => (program.clone(), None, case.mode.clone()),
            None if text == "alone" => (own(), Some(1), case.mode.clone()),
            None if text.contains('/') => {
                (own(), None, text.parse::<Mode>().map_err(|e| PlanFault::from(e).of(SETTING))?)
            }
            None => (text.parse().map_err(|e| PlanFault::from(e).of(SETTING))?, None, case.mode.clone()),
        };
        let rows = rows.unwrap_or(against.batch(case.n));
        against.build(case.n, rows).map_err(|e| PlanFault::from(e).of(SETTING))?;
        Ok(Box::new(Compared { against, rows, modes: [case.mode.clone(), mode] }))
    }
}

struct Compared {
    against: ProgramSpec,
    rows: usize,
    modes: [Mode; 2],
}

impl Judge for Compared {
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        // The answer is one for all inputs.
        if tally.count_of("asked") > 0 {
            return Ok(());
        }
        tally.count("asked", 1);
        let other = self.against.build(batch.n, self.rows)?;
        let [one, other] = [(batch.program, 0), (&other, 1)].map(|(program, side)| compile(program, &self.modes[side]));
        let limits = Limits {
            modes: self.modes.clone(),
            trials: TRIALS,
            elements: 0,
            patience: Duration::MAX,
            ..Limits::new(&self.modes[0])
        };
        let answer = match compare(&one, &other, &limits) {
            Ok(answer) => answer,
            Err(why) => {
                tally.refuse(why.to_string());
                return Ok(());
            }
        };
        tally.peak("tried", answer.tried as f64);
        match answer.verdict {
            Verdict::Same => tally.count("same", 1),
            Verdict::Open(missing) => tally.leave_open(1, || missing.join("; ")),
            Verdict::Part(parting) => {
                tally.count("part", 1);
                tally.witness(1.0, || witness(batch, &parting));
                tally.evidence(|| match &parting.meeting {
                    Some(meeting) => format!("they part at {meeting}; input {}: {}", answer.tried, parting.result),
                    None => format!("input {}: {}", answer.tried, parting.result),
                });
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let judged =
            tally.judge(tally.count_of("part") > 0).figure("inputs_tried", tally.peak_of("tried").unwrap_or(0.0));
        match tally.count_of("same") {
            0 => judged,
            _ => judged.note("proven the same for all inputs, where every NaN counts as one".to_string()),
        }
    }
}

/// The element that differs, for the input that was found.
fn witness(batch: &Batch, parting: &Parting) -> Witness {
    let number = parting.results[0];
    let Shown { dtype, index, bits, .. } = &parting.result;
    let flat = index[0].iter().zip(batch.got[number].dims()).fold(0, |flat, (at, extent)| flat * extent + at);
    let hex = |bits: u64| format!("0x{bits:0digits$x}", digits = digits_of(*dtype));
    let due = match dtype.format() {
        Some(format) => float_hex(format.decode(bits[1])),
        None => hex(bits[1]),
    };
    Witness {
        result: batch.program.output_names[number].clone(),
        row: index[0].first().copied().unwrap_or(0) as u64,
        index: flat as u64,
        value_hex: hex(bits[0]),
        truth_hex: due,
        tokens: Vec::new(),
    }
}
