//! The machine's own results for the inputs of a recording: every precision, in several orders of sums.

use crate::budget::{self, Reserved};
use crate::ir::{Op, Program, Shape};
use crate::machine::mxu::Accumulation;
use crate::machine::vector::{ScanOrder, SumOrder};
use crate::machine::{self, CHIPS, Mode, PRECISIONS, compute_alike};
use crate::rewrite::POLICIES;
use crate::subject::compile;
use crate::tensor::Tensor;

use super::{JudgeError, Settings};

/// One arithmetic and its results.
pub(super) struct Member {
    /// The modes that it is: several where they compute the program alike.
    pub modes: Vec<String>,
    /// The first of these modes, to run other programs in.
    pub mode: Mode,
    /// Its precision's place in [`PRECISIONS`].
    pub precision: usize,
    /// Whether the named mode's precision allows it; always if none is named.
    pub is_permitted: bool,
    /// The program's results.
    pub results: Vec<Tensor>,
}

/// All of them.
pub(super) struct Members {
    pub each: Vec<Member>,
    _memory: Reserved,
}

/// Operations that all evaluations may take together.
const MOST_WORK: u128 = 60_000_000_000;

/// The mode of the least precision that is permitted where none is named: on the first chip with a matrix unit.
pub(super) fn widest(settings: &Settings) -> Option<Mode> {
    let chips = if settings.chips.is_empty() { CHIPS } else { &settings.chips };
    let chip = chips.iter().rev().find(|chip| chip.matrix_unit).or(chips.first())?;
    let chip = if settings.chips.is_empty() { "v5e" } else { chip.name };
    Mode::new(chip, "default", "off", "").ok()
}

/// Operations of one evaluation: products of dots, elements of the rest.
pub(super) fn work(program: &Program) -> u128 {
    let of = |computation: &crate::ir::Computation| -> u128 {
        let each = computation.instructions.iter().map(|instruction| {
            let elements = match &instruction.shape {
                Shape::Tuple(_) => 1,
                shape => shape.elements() as u128,
            };
            match &instruction.op {
                Op::Dot { dims, .. } => {
                    elements * dims.products(computation.instructions[instruction.operands[0]].shape.dims()) as u128
                }
                _ => elements,
            }
        });
        each.sum()
    };
    program.computations.iter().map(of).sum()
}

impl Members {
    /// Evaluates the program in each arithmetic once.
    ///
    /// # Errors
    /// If no mode can evaluate it, or the results do not fit in memory.
    pub fn new(
        program: &Program,
        arguments: &[Tensor],
        settings: &Settings,
        notes: &mut Vec<String>,
    ) -> Result<Members, JudgeError> {
        let modes = modes(settings);
        let mut classes: Vec<(Program, Mode, Vec<String>)> = Vec::new();
        for mode in &modes {
            let compiled = compile(program, mode);
            let alike = |(other, first, _): &&mut (Program, Mode, Vec<String>)| {
                compute_alike(first, mode, other) && other.computations == compiled.computations
            };
            match classes.iter_mut().find(alike) {
                Some((_, _, names)) => names.push(mode.to_string()),
                None => classes.push((compiled, mode.clone(), vec![mode.to_string()])),
            }
        }
        let cost = work(program).max(1);
        let most = usize::try_from(MOST_WORK / cost).unwrap_or(usize::MAX).max(4);
        if classes.len() > most {
            notes.push(format!(
                "{most} of {} arithmetics were tried: one evaluation takes {cost} operations",
                classes.len()
            ));
            classes.truncate(most);
        }
        let shapes = program.outputs().into_iter().map(|id| program.entry().instructions[id].shape.elements());
        let elements: u128 = shapes.map(|elements| elements as u128).sum();
        let memory =
            budget::reserve(elements * 8 * (classes.len() as u128 + 1), || "the results of every mode".to_string())?;
        let mut each: Vec<Member> = Vec::new();
        let mut first_error = None;
        for (compiled, mode, names) in classes {
            match machine::evaluate(&compiled, &mode, arguments) {
                Ok(results) => each.push(Member::new(names, mode, settings, results)),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if let Some(compiled) = &settings.compiled {
            let mode = settings.mode.clone().or_else(|| widest(settings));
            if let Some(mode) = mode {
                let as_it_stands = Mode::new(mode.chip.name, mode.precision.name, "as-compiled", "").unwrap_or(mode);
                let results = machine::evaluate(compiled, &as_it_stands, arguments)?;
                let names = vec![format!("{as_it_stands} of the compiled file")];
                each.insert(0, Member::new(names, as_it_stands, settings, results));
            }
        }
        match first_error {
            Some(error) if each.is_empty() => Err(error.into()),
            _ => Ok(Members { each, _memory: memory }),
        }
    }
}

impl Member {
    fn new(modes: Vec<String>, mode: Mode, settings: &Settings, results: Vec<Tensor>) -> Member {
        let place = |mode: &Mode| PRECISIONS.iter().position(|row| row.name == mode.precision.name).unwrap_or(0);
        let precision = place(&mode);
        let is_permitted = settings.mode.as_ref().is_none_or(|named| precision >= place(named));
        Member { modes, mode, precision, is_permitted, results }
    }
}

/// The modes to try: the named one first, then every chip, precision and compiler, then other orders of sums.
fn modes(settings: &Settings) -> Vec<Mode> {
    let chips = if settings.chips.is_empty() { CHIPS } else { &settings.chips[..] };
    let mut modes: Vec<Mode> = settings.mode.iter().cloned().collect();
    let policies = POLICIES.iter().filter(|policy| policy.name != "as-compiled");
    for policy in policies {
        for precision in PRECISIONS {
            modes.extend(chips.iter().filter_map(|chip| Mode::new(chip.name, precision.name, policy.name, "").ok()));
        }
    }
    let base = settings.mode.clone().or_else(|| widest(settings));
    let accumulations = Accumulation::ALL.iter().filter(|order| **order != Accumulation::Trunc);
    for (at, acc) in accumulations.enumerate() {
        for precision in PRECISIONS {
            let declared = base.as_ref().and_then(|base| base.declare(precision.name).ok());
            modes.extend(declared.map(|mut mode| {
                mode.choices.acc = *acc;
                mode.choices.reduce = SumOrder::ALL[at % SumOrder::ALL.len()];
                mode.choices.scan = ScanOrder::ALL[at % ScanOrder::ALL.len()];
                mode
            }));
        }
    }
    let mut distinct: Vec<Mode> = Vec::new();
    for mode in modes {
        if !distinct.contains(&mode) {
            distinct.push(mode);
        }
    }
    distinct
}
