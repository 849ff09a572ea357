//! The modes that give the same answers.

use std::collections::HashMap;

use crate::machine::mxu::{Passes, Split, Unit};
use crate::machine::vector::SumOrder;
use crate::machine::{DotUnit, Mode};
use crate::tensor::Tensor;

use super::ProbeError;
use super::answers::{Answers, answer_as, is_equal};
use super::mode_pattern::{Pattern, merge, values_of};
use super::probe_question::{GROUPS, Group, Question};

/// The modes that answer the questions of one group alike.
#[derive(Clone, Debug)]
pub struct GroupOutcome {
    /// The group.
    pub group: &'static Group,
    /// Questions of it that are answered, and all of them.
    pub answered: [usize; 2],
    /// The modes that give all answers, by chip and the group's keys; empty if none does.
    pub patterns: Vec<Pattern>,
    /// The modes that give most answers, where none gives all, and the names of the answers that they do not give.
    pub nearest: Option<(Vec<Pattern>, Vec<String>)>,
}

/// The modes that explain answers.
#[derive(Clone, Debug)]
pub struct Identified {
    /// The modes that give every answer; empty if none does. They have no mode in common.
    pub patterns: Vec<Pattern>,
    /// Group by group.
    pub groups: Vec<GroupOutcome>,
    /// The keys that stay open: more than one value is left of them, whatever the chip.
    pub open: Vec<&'static str>,
}

/// A mode of a group, by the values of the chip and of the group's keys.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The mode; the keys of other groups are the chip's own.
    pub mode: Mode,
    /// The values, the chip's name first.
    pub values: Vec<(&'static str, &'static str)>,
}

/// Every chip with every value of the group's keys; what the group does not depend on is the chip's own.
///
/// # Errors
/// If a mode is refused, which is a defect of this project.
pub fn candidates(group: &Group) -> Result<Vec<Candidate>, ProbeError> {
    let keys = || std::iter::once("chip").chain(group.keys.iter().copied());
    let mut all: Vec<Vec<(&'static str, &'static str)>> = vec![Vec::new()];
    for key in keys() {
        let values = values_of(key);
        let with = |row: Vec<(&'static str, &'static str)>| {
            values.iter().map(move |value| [&row[..], &[(key, *value)]].concat()).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(with).collect();
    }
    let mode = |values: Vec<(&'static str, &'static str)>| {
        let value = |key: &str| values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let refined = values.iter().filter(|(key, _)| !["chip", "precision", "excess"].contains(key));
        let refined: Vec<String> = refined.map(|(key, value)| format!("{key}={value}")).collect();
        let [chip, precision, excess] =
            [("chip", ""), ("precision", "default"), ("excess", "off")].map(|(key, own)| value(key).unwrap_or(own));
        let mode = Mode::new(chip, precision, excess, &refined.join("+"))?;
        Ok(Candidate { mode, values })
    };
    all.into_iter().map(mode).collect()
}

/// The arithmetic that a question meets in a mode. Modes with equal ones give one answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuestionArithmetic {
    /// All of the mode, by its text: of questions other than dots.
    Mode(String),
    /// A matrix unit with all of its choices.
    Matrix {
        /// The chip, where its dots may be a library's.
        chip: Option<&'static str>,
        /// The number of passes.
        passes: Passes,
        /// The unit.
        unit: Unit,
    },
    /// Another unit, which adds as the vector unit does.
    Vector {
        /// The chip, where its dots may be a library's.
        chip: Option<&'static str>,
        /// The unit.
        unit: DotUnit,
        /// The order of its sums.
        order: SumOrder,
        /// Whether it flushes subnormal numbers.
        flush: bool,
    },
}

/// The arithmetic that a question meets in a mode.
pub fn arithmetic(question: &Question, mode: &Mode) -> QuestionArithmetic {
    let Some(dot) = question.dot() else { return QuestionArithmetic::Mode(mode.to_string()) };
    let unit = mode.dot(&dot);
    // A chip without a matrix unit may leave dots to a library.
    let chip = (!mode.chip.matrix_unit).then_some(mode.chip.name);
    match unit {
        DotUnit::Matrix(passes) => {
            let [_, k, _] = dot.sizes;
            let matrix = mode.matrix_unit().for_products(k);
            // Other passes split nothing.
            let is_split = matches!(passes, Passes::Three | Passes::Six);
            let split = if is_split { matrix.split } else { Split::default() };
            QuestionArithmetic::Matrix { chip, passes, unit: Unit { split, ..matrix } }
        }
        DotUnit::Double | DotUnit::Vector => {
            let (order, flush) = (mode.choices.reduce, mode.vector_unit().flush);
            QuestionArithmetic::Vector { chip, unit, order, flush }
        }
    }
}

/// Answers of the emulated machine, each arithmetic's evaluated once.
#[derive(Default)]
pub struct EmulatedAnswers(HashMap<(String, QuestionArithmetic), Tensor>);

impl EmulatedAnswers {
    /// The answer to a question in a mode.
    ///
    /// # Errors
    /// As [`answer_as`].
    pub fn answer(&mut self, question: &Question, mode: &Mode) -> Result<&Tensor, ProbeError> {
        let key = (question.name.clone(), arithmetic(question, mode));
        match self.0.entry(key) {
            std::collections::hash_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::hash_map::Entry::Vacant(entry) => Ok(entry.insert(answer_as(question, mode)?)),
        }
    }
}

/// The modes of all chips, precisions, excess policies and refinements that give these answers. A planted fault is no mode of
/// a chip, and none is tried. `emulated` keeps what it evaluates, for the next answers.
///
/// # Errors
/// If a question is no program that the machine takes, which is a defect of this project.
pub fn identify(
    answers: &Answers,
    questions: &[Question],
    emulated: &mut EmulatedAnswers,
) -> Result<Identified, ProbeError> {
    let mut groups = Vec::new();
    for group in GROUPS {
        groups.push(of_group(group, answers, questions, emulated)?);
    }
    let mut patterns = vec![Pattern::default()];
    for outcome in groups.iter().filter(|outcome| outcome.answered[0] > 0) {
        let both = patterns.iter().flat_map(|one| outcome.patterns.iter().filter_map(|other| one.intersect(other)));
        patterns = both.collect();
    }
    let patterns = merge(patterns);
    let is_open = |key: &&str| patterns.iter().any(|pattern| pattern.values(key).len() > 1);
    let open = super::KEYS.iter().copied().filter(is_open).collect();
    Ok(Identified { patterns, groups, open })
}

fn of_group(
    group: &'static Group,
    answers: &Answers,
    questions: &[Question],
    emulated: &mut EmulatedAnswers,
) -> Result<GroupOutcome, ProbeError> {
    let of_group: Vec<&Question> = questions.iter().filter(|question| question.group == group.name).collect();
    let asked: Vec<(&Question, &Tensor)> =
        of_group.iter().filter_map(|question| Some((*question, answers.tensors.get(&question.name)?))).collect();
    let answered = [asked.len(), of_group.len()];
    let mut outcome = GroupOutcome { group, answered, patterns: Vec::new(), nearest: None };
    if asked.is_empty() {
        return Ok(outcome);
    }
    let candidates = candidates(group)?;
    let mut matching = Vec::new();
    for Candidate { mode, values } in &candidates {
        let mut is_match = true;
        for (question, answer) in &asked {
            is_match = is_equal(emulated.answer(question, mode)?, answer);
            if !is_match {
                break;
            }
        }
        if is_match {
            matching.push(Pattern::of(values));
        }
    }
    if matching.is_empty() {
        outcome.nearest = nearest(&candidates, &asked, emulated)?;
    }
    outcome.patterns = merge(matching);
    Ok(outcome)
}

/// Modes, and the questions that they answer otherwise.
type NearestModes = (Vec<Pattern>, Vec<String>);

/// The modes that give most answers, with the names of those that they do not give; of several such sets of names the first.
fn nearest(
    candidates: &[Candidate],
    asked: &[(&Question, &Tensor)],
    emulated: &mut EmulatedAnswers,
) -> Result<Option<NearestModes>, ProbeError> {
    let mut best: Option<NearestModes> = None;
    for Candidate { mode, values } in candidates {
        let mut others = Vec::new();
        for (question, answer) in asked {
            if !is_equal(emulated.answer(question, mode)?, answer) {
                others.push(question.name.clone());
            }
        }
        match &mut best {
            Some((patterns, least)) if *least == others => patterns.push(Pattern::of(values)),
            Some((_, least)) if least.len() <= others.len() => {}
            _ => best = Some((vec![Pattern::of(values)], others)),
        }
    }
    Ok(best.map(|(patterns, others)| (merge(patterns), others)))
}

#[cfg(test)]
mod tests {
    use super::super::probe_question::Operation;
    use super::*;
    use crate::tensor::{DType, Data};

    /// Of modes that leave equally many answers open the first ones are named, with all that leave the same ones.
    #[test]
    fn the_first_of_modes_that_are_equally_near_are_named() {
        let question = |name: &str| Question {
            name: name.to_string(),
            group: "exp",
            operation: Operation::Exponential,
            operands: Vec::new(),
            dtype: DType::F32,
        };
        let questions = ["one", "other"].map(question);
        let answer = |value: f32| Tensor::new(&[1], Data::F32(vec![value]));
        let asked: Vec<(&Question, Tensor)> = questions.iter().map(|question| (question, answer(1.0))).collect();
        let asked: Vec<(&Question, &Tensor)> = asked.iter().map(|(question, answer)| (*question, answer)).collect();
        let mut emulated = EmulatedAnswers::default();
        // The answers that each mode gives to both questions.
        let rows = [("v2", [2.0, 2.0]), ("v3", [2.0, 1.0]), ("v4", [1.0, 2.0]), ("v5e", [2.0, 1.0])];
        let candidates = rows.map(|(chip, values)| {
            let mode = Mode::new(chip, "default", "off", "").unwrap();
            for (question, value) in questions.iter().zip(values) {
                emulated.0.insert((question.name.clone(), arithmetic(question, &mode)), answer(value));
            }
            Candidate { mode, values: vec![("chip", chip)] }
        });
        let (patterns, others) = nearest(&candidates, &asked, &mut emulated).unwrap().unwrap();
        let chips: Vec<&str> = patterns.iter().flat_map(|pattern| pattern.values("chip")).collect();
        assert_eq!((chips, others), (vec!["v3", "v5e"], vec!["one".to_string()]));
    }
}
