//! The report of `ulpgate explore`: its rows, in words and in JSON.

use std::io::Write;

use ulpgate_front::explore::{Answer, Decision, Exploration, Settings, Witness};
use ulpgate_front::hlo::Sources;
use ulpgate_front::ir::movement::index_of;
use ulpgate_front::name::{are, quantity};

use super::Failure;
use super::choice_text::tell_choices;

/// The report on one row.
#[derive(serde::Serialize)]
pub(super) struct Row {
    pub(super) row: usize,
    /// `proven`, `reachable` or `open`.
    pub(super) answer: &'static str,
    /// Enclosures that a proof takes.
    enclosures: Option<usize>,
    /// Elements that the enclosure of all choices leaves open.
    undecided: Option<usize>,
    pub(super) witness: Option<WitnessText>,
    /// The step that decides the row, if it is asked for.
    decision: Option<Decision>,
}

/// A witness in words.
#[derive(serde::Serialize)]
pub(super) struct WitnessText {
    mode: String,
    result: String,
    element: usize,
    /// The element's place along each dim.
    index: Vec<usize>,
    declared: f64,
    chosen: f64,
    choices: Vec<String>,
}

impl Row {
    pub(super) fn new(found: &Exploration, row: usize, answer: &Answer, sources: Option<&Sources>) -> Row {
        let decision = found.decisions[row].clone();
        let row = Row { row, answer: "open", enclosures: None, undecided: None, witness: None, decision };
        match answer {
            Answer::Proven { enclosures } => Row { answer: "proven", enclosures: Some(*enclosures), ..row },
            Answer::Open { undecided } => Row { undecided: Some(*undecided), ..row },
            Answer::Reachable(witness) => {
                Row { answer: "reachable", witness: Some(WitnessText::new(found, witness, sources)), ..row }
            }
        }
    }
}

impl WitnessText {
    fn new(found: &Exploration, witness: &Witness, sources: Option<&Sources>) -> WitnessText {
        let program = &found.choices.program;
        let result = &program.entry().instructions[program.outputs()[witness.differs.output]];
        WitnessText {
            mode: witness.mode.to_string(),
            result: found.choices.program.output_names[witness.differs.output].clone(),
            element: witness.differs.element,
            index: index_of(result.shape.dims(), witness.differs.element),
            declared: witness.differs.declared,
            chosen: witness.differs.chosen,
            choices: tell_choices(&found.choices, &witness.taken, sources),
        }
    }
}

/// The report on all rows, for people and in JSON.
pub(super) struct Page<'a> {
    pub settings: &'a Settings,
    pub found: &'a Exploration,
    pub rows: &'a [Row],
    /// Settings that no choice stands for.
    pub not_followed: Option<String>,
}

impl Page<'_> {
    pub fn count(&self, answer: &str) -> usize {
        self.rows.iter().filter(|row| row.answer == answer).count()
    }

    pub fn json(&self) -> serde_json::Value {
        let names = &self.found.choices.program.output_names;
        serde_json::json!({
            "mode": self.settings.mode.to_string(),
            "any_mode": self.settings.any_mode,
            "families": self.settings.families.iter().map(|family| family.name).collect::<Vec<_>>(),
            "outcome": self.found.outputs.iter().map(|output| &names[*output]).collect::<Vec<_>>(),
            "points": self.found.choices.points.len(),
            "choices_evaluated": self.found.searched.choices,
            "exhaustive": self.found.searched.is_exhaustive,
            "not_followed": self.not_followed,
            "enclosures": self.found.enclosures,
            "out_of_time": self.found.out_of_time.as_ref().map(ToString::to_string),
            "proven": self.count("proven"),
            "reachable": self.count("reachable"),
            "open": self.count("open"),
            "rows": self.rows,
        })
    }

    pub fn text(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let Page { settings, found, rows, not_followed } = self;
        let names = &found.choices.program.output_names;
        let outcome: Vec<&str> = found.outputs.iter().map(|output| names[*output].as_str()).collect();
        let families: Vec<&str> = settings.families.iter().map(|family| family.name).collect();
        writeln!(
            out,
            "outcome {}, {}, {}{}; permitted: {}",
            outcome.join(", "),
            quantity(rows.len(), "row"),
            settings.mode,
            if settings.any_mode { " or any other mode" } else { "" },
            families.join(", ")
        )?;
        not_followed.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        let searched = match (found.searched.choices, found.searched.is_exhaustive) {
            (0, _) => "none evaluated".to_string(),
            (count, true) => format!("all evaluated ({})", quantity(count, "evaluation")),
            (count, false) => format!("{count} evaluated of more"),
        };
        writeln!(
            out,
            "{} to choose; choices: {searched}; {}",
            quantity(found.choices.points.len(), "place"),
            quantity(found.enclosures, "enclosure")
        )?;
        if let Some(over) = &found.out_of_time {
            writeln!(out, "the search ended before it was done: {over}")?;
        }
        writeln!(
            out,
            "PROVEN {}, REACHABLE {}, OPEN {}",
            self.count("proven"),
            self.count("reachable"),
            self.count("open")
        )?;
        rows.iter().try_for_each(|row| self.row_text(row, out))
    }

    fn row_text(&self, row: &Row, out: &mut dyn Write) -> Result<(), Failure> {
        let settings = self.settings;
        match (&row.witness, row.undecided) {
            (Some(told), _) => {
                let WitnessText { result, index, declared, chosen, mode, choices, .. } = told;
                writeln!(out, "row {}: REACHABLE {result}{index:?} is {chosen} instead of {declared}, if", row.row)?;
                choices.iter().try_for_each(|choice| writeln!(out, "       {choice}"))?;
                if *mode != settings.mode.to_string() {
                    writeln!(out, "       it is computed as {mode}")?;
                }
            }
            (None, Some(undecided)) => {
                let (elements, are) = (quantity(undecided, "element"), are(undecided));
                writeln!(out, "row {}: OPEN: {elements} {are} not decided by one enclosure", row.row)?;
            }
            (None, None) if settings.margins => writeln!(out, "row {}: PROVEN", row.row)?,
            (None, None) => {}
        }
        if let Some(decision) = row.decision.as_ref().filter(|_| settings.margins || row.answer == "open") {
            writeln!(out, "       {}", gap(decision))?;
        }
        Ok(())
    }
}

/// The step that decides a row, in words.
fn gap(decision: &Decision) -> String {
    let Decision { step, candidates, declared_ulp, enclosed_ulp } = decision;
    let (first, rivals) = candidates.split_first().map_or((0, &[][..]), |(first, rivals)| (*first, rivals));
    let rivals: Vec<String> = rivals.iter().map(usize::to_string).collect();
    let rivals = if rivals.is_empty() { String::new() } else { format!(" of {}", rivals.join(", ")) };
    let least = match *enclosed_ulp {
        least if least == f64::NEG_INFINITY => "nothing is known under other choices".to_string(),
        least => format!("{least:.4} ulp at least under every choice"),
    };
    format!("closest at {step}: element {first} of the row is {declared_ulp:.4} ulp ahead{rivals} as declared, {least}")
}
