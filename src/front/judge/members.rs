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
    /// For each result, the place in [`PRECISIONS`] of the arithmetic that it is of: a chip without a matrix unit computes in f32
    /// whatever its precision is called, and so does a vector unit.
    pub precisions: Vec<usize>,
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

/// The named mode; where none is named, that of the least precision that is permitted, on the first chip with a matrix unit.
pub(super) fn base_mode(settings: &Settings) -> Option<Mode> {
    if let Some(mode) = &settings.mode {
        return Some(mode.clone());
    }
    let chip = settings.chips.iter().rev().find(|chip| chip.matrix_unit).or(settings.chips.first());
    Mode::new(chip.map_or("v5e", |chip| chip.name), "default", "off", "").ok()
}

/// Operations of one evaluation: products of dots, elements of the rest.
pub(crate) fn work(program: &Program) -> u128 {
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
            // Modes differ in choices that this program does not make: what computes alike is evaluated once.
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
        if let (Some(compiled), Some(mode)) = (&settings.compiled, base_mode(settings)) {
            let as_it_stands = Mode::new(mode.chip.name, mode.precision.name, "as-compiled", "").unwrap_or(mode);
            let results = machine::evaluate(compiled, &as_it_stands, arguments)?;
            let names = vec![format!("{as_it_stands} of the compiled file")];
            // First, so that a tie between it and a mode of the source names the file that was compiled.
            each.insert(0, Member::new(names, as_it_stands, settings, results));
        }
        classify(&mut each, program, arguments, settings);
        match first_error {
            Some(error) if each.is_empty() => Err(error.into()),
            _ => Ok(Members { each, _memory: memory }),
        }
    }
}

impl Member {
    fn new(modes: Vec<String>, mode: Mode, settings: &Settings, results: Vec<Tensor>) -> Member {
        // A CPU computes in f32 whatever precision is asked for, and so counts as the best.
        let precision = if mode.chip.matrix_unit { mode.precision.place() } else { PRECISIONS.len() - 1 };
        let is_permitted = settings.mode.as_ref().is_none_or(|named| precision >= named.precision.place());
        Member { modes, mode, precisions: vec![precision; results.len()], is_permitted, results }
    }

    /// Whether it takes one pass over its operands, in chains of f32: more passes, exact sums and those in pairs take two to six
    /// times as long.
    pub fn is_quick(&self) -> bool {
        let has_passes = self.mode.chip.matrix_unit && ["high", "highest"].contains(&self.mode.precision.name);
        !has_passes && !matches!(self.mode.choices.acc, Accumulation::Exact | Accumulation::Pairwise)
    }
}

/// Finds the precision that each member's results are nearest to: those of a matrix unit in each precision, of equal ones the last. It
/// is at least that of its mode: where products nearly cancel, an order of f32 sums errs as fewer passes do.
fn classify(members: &mut [Member], program: &Program, arguments: &[Tensor], settings: &Settings) {
    let Some(base) = base_mode(settings) else { return };
    let chip = if base.chip.matrix_unit { base.chip.name } else { "v5e" };
    let of = |precision: &machine::PrecisionRow| -> Option<Vec<Tensor>> {
        let mode = Mode::new(chip, precision.name, "off", "dsr=off").ok()?;
        machine::evaluate(program, &mode, arguments).ok()
    };
    let Some(references) = PRECISIONS.iter().map(of).collect::<Option<Vec<_>>>() else { return };
    for member in members {
        for output in 0..member.results.len() {
            let values = member.results[output].data();
            if !values.dtype().is_float() {
                continue;
            }
            let apart = |reference: &Vec<Tensor>| -> f64 {
                let other = reference[output].data();
                (0..values.len())
                    .map(|at| (values.get_f64(at) - other.get_f64(at)).powi(2))
                    .filter(|d| d.is_finite())
                    .sum()
            };
            let mut best = (f64::INFINITY, member.precisions[output]);
            for (place, reference) in references.iter().enumerate().skip(member.precisions[output]) {
                let distance = apart(reference);
                if distance <= best.0 {
                    best = (distance, place);
                }
            }
            member.precisions[output] = best.1;
        }
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
    let base = base_mode(settings);
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

#[cfg(test)]
mod tests {
    use super::super::{Recording, Verdict, judge};
    use super::*;
    use crate::input::{Argument, InputKey, InputSpec, generate};
    use crate::program::ProgramSpec;
    use crate::tensor::Data;

    const PRODUCTS: usize = 1000;

    /// A product of f32 matrices whose sums keep `lanes` numbers and join them at the end, as kernels do.
    fn product(arguments: &[Tensor], lanes: usize) -> Tensor {
        let [lhs, rhs] = [0, 1].map(|at: usize| arguments[at].data().to_f32s());
        let (rows, columns) = (arguments[0].dims()[0], arguments[1].dims()[1]);
        let sum = |at: usize| {
            let (row, column) = (at / columns, at % columns);
            let mut kept = vec![0.0f32; lanes];
            for l in 0..PRODUCTS {
                kept[l % lanes] += lhs[row * PRODUCTS + l] * rhs[l * columns + column];
            }
            kept.iter().sum::<f32>()
        };
        Tensor::new(&[rows, columns], Data::F32((0..rows * columns).map(sum).collect()))
    }

    /// An order of f32 sums of products that nearly cancel errs more than three passes do, and is of f32 all the same.
    #[test]
    fn an_order_of_sums_that_errs_as_fewer_passes_do_keeps_its_precision() {
        let spec: ProgramSpec = "matmul[lhs=21xn,rhs=nx37]".parse().unwrap();
        let program = spec.build(PRODUCTS, spec.rows).unwrap();
        let mode: Mode = "cpu/highest/off".parse().unwrap();
        let chips = CHIPS.iter().filter(|chip| chip.name == "cpu").copied().collect();
        let settings = Settings { mode: Some(mode), chips, ..Settings::default() };
        for input in ["normal", "positive", "ill-conditioned"] {
            let spec: InputSpec = input.parse().unwrap();
            let key = InputKey { suite: "judge".to_string(), input: input.to_string(), n: PRODUCTS as u64, seed: 0 };
            let arguments = generate(&spec, &key, &Argument::of_program(&program), 0..21).unwrap();
            let members = Members::new(&program, &arguments, &settings, &mut Vec::new()).unwrap();
            for member in &members.each {
                assert_eq!(member.precisions, [PRECISIONS.len() - 1], "{input}: {:?}", member.modes);
            }
            for lanes in [2, 8, 32] {
                let recording = Recording::of_arrays(vec![("out".to_string(), product(&arguments, lanes))]);
                let judged = judge(&program, &arguments, &recording, &settings).unwrap();
                let result = &judged.results[0];
                assert_eq!(result.verdict, Verdict::Conforming, "{input}, {lanes} lanes: {:?}", result.because);
            }
        }
    }
}
