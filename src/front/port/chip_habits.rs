//! Operations of one program that two machines compute otherwise.

use crate::analysis::{Reducer, Regions, find_live, live};
use crate::hlo::Import;
use crate::ir::{Binary, Computation, Instruction, Op, Unary};
use crate::machine::vector::Divide;
use crate::machine::{DotSite, DotUnit, Mode, mxu};
use crate::tensor::DType;

use super::operation_change::{Aspect, Cause, OperationChange};

/// Functions that a TPU computes within a bound.
const FUNCTIONS: [Unary; 13] = [
    Unary::Exponential,
    Unary::ExponentialMinusOne,
    Unary::Log,
    Unary::LogPlusOne,
    Unary::Logistic,
    Unary::Tanh,
    Unary::Sine,
    Unary::Cosine,
    Unary::Tan,
    Unary::Sqrt,
    Unary::Rsqrt,
    Unary::Cbrt,
    Unary::Erf,
];

/// A line for each operation on which results depend, in the program's order.
pub(super) fn chip_changes(import: &Import, modes: [&Mode; 2]) -> Vec<OperationChange> {
    let program = &import.program;
    let (regions, reached) = (Regions::new(program), find_live(program));
    let mut found = Vec::new();
    for (number, computation) in program.computations.iter().enumerate().filter(|(number, _)| reached[*number]) {
        let is_needed = live(computation, [computation.root]);
        for (id, instruction) in computation.instructions.iter().enumerate().filter(|(id, _)| is_needed[*id]) {
            let origin = (number == program.entry).then(|| import.origins.get(id)).flatten();
            let name = origin.map_or(&instruction.name, |origin| &origin.name);
            found.extend(habits(computation, instruction, &regions, modes).into_iter().map(
                |(aspect, [before, after])| {
                    let (name, op_name) = (name.clone(), origin.and_then(|origin| origin.op_name.clone()));
                    OperationChange { aspect, cause: Cause::Chip, name, op_name, before, after }
                },
            ));
        }
    }
    found
}

/// Reservations that hold for the whole program.
pub(super) fn chip_notes(import: &Import, modes: [&Mode; 2]) -> Vec<String> {
    let [one, other] = modes.map(|mode| mode.chip);
    let mut notes = Vec::new();
    if one.flush != other.flush {
        let [before, after] =
            [one, other].map(|chip| if chip.flush { "flushes subnormals" } else { "keeps subnormals" });
        notes.push(format!("{} {before}, {} {after}", one.name, other.name));
    }
    let is_function =
        |instruction: &Instruction| matches!(instruction.op, Op::Unary(unary) if FUNCTIONS.contains(&unary));
    let has_functions = import.program.computations.iter().any(|one| one.instructions.iter().any(is_function));
    let perturbs = modes.iter().any(|mode| mode.choices.exp.perturbs());
    if has_functions && !perturbs && one.eup != other.eup && one.matrix_unit && other.matrix_unit {
        notes.push(format!(
            "functions are correctly rounded here; {} and {} err within other bounds: both modes with +exp=seeded or +exp=worst show it",
            one.name, other.name
        ));
    }
    notes
}

/// The habits by which the two machines compute an operation otherwise.
fn habits(
    computation: &Computation,
    instruction: &Instruction,
    regions: &Regions,
    modes: [&Mode; 2],
) -> Vec<(Aspect, [String; 2])> {
    let dtype = instruction.shape.dtype();
    let is_float = dtype.is_some_and(DType::is_float);
    match &instruction.op {
        Op::Dot { .. } => {
            DotSite::within(computation, instruction).and_then(|site| of_dot(&site, modes)).into_iter().collect()
        }
        Op::Binary(Binary::Divide) if is_float => {
            quotient(dtype, modes).into_iter().chain(native(instruction, modes)).collect()
        }
        Op::Binary(_) if is_float => native(instruction, modes).into_iter().collect(),
        Op::Unary(unary) if is_float => {
            let bounds = FUNCTIONS.contains(unary).then(|| function(modes)).flatten();
            bounds.into_iter().chain(native(instruction, modes)).collect()
        }
        Op::Reduce { to_apply, .. } if is_float && regions.reducer(*to_apply) == Some(Reducer::Binary(Binary::Add)) => {
            sum(dtype, modes)
        }
        _ => Vec::new(),
    }
}

/// The two texts, where they are two.
fn where_other(aspect: Aspect, texts: [String; 2]) -> Option<(Aspect, [String; 2])> {
    (texts[0] != texts[1]).then_some((aspect, texts))
}

fn of_dot(site: &DotSite, modes: [&Mode; 2]) -> Option<(Aspect, [String; 2])> {
    let units = modes.map(|mode| mode.dot(site));
    if units[0] != units[1] || modes[0].chip.matrix_unit != modes[1].chip.matrix_unit {
        let is_on_vector_unit = units.map(|unit| unit == DotUnit::Vector);
        let is_other =
            is_on_vector_unit[0] != is_on_vector_unit[1] || modes[0].chip.matrix_unit != modes[1].chip.matrix_unit;
        let aspect = if is_other { Aspect::Unit } else { Aspect::Precision };
        return where_other(aspect, [0, 1].map(|side: usize| unit_text(units[side], modes[side])));
    }
    match units[0] {
        DotUnit::Double => None,
        DotUnit::Vector => {
            where_other(Aspect::Order, modes.map(|mode| format!("sum in the order {}", mode.choices.reduce.name())))
        }
        DotUnit::Matrix(passes) => {
            let k = site.sizes[1];
            let orders = modes.map(|mode| order_text(&mode.matrix_unit_for(site.tiling).for_products(k), k));
            let splits = modes.map(|mode| format!("parts by split={}", mode.choices.split.name()));
            let has_parts = matches!(passes, mxu::Passes::Three | mxu::Passes::Six);
            where_other(Aspect::Order, orders).or_else(|| where_other(Aspect::Precision, splits).filter(|_| has_parts))
        }
    }
}

/// A unit in the words of `hlo diff`, and the products that it adds.
fn unit_text(unit: DotUnit, mode: &Mode) -> String {
    let passes = match unit {
        DotUnit::Double => return "dot in f64".to_string(),
        DotUnit::Vector => return "multiply and reduce on the vector unit, products in f32".to_string(),
        DotUnit::Matrix(_) if !mode.chip.matrix_unit => return format!("dot of {}, products in f32", mode.chip.name),
        DotUnit::Matrix(passes) => passes,
    };
    let products = match passes {
        mxu::Passes::One => "one bf16 pass",
        mxu::Passes::Three => "three bf16 passes",
        mxu::Passes::Six => "six bf16 passes",
        mxu::Passes::F32 => "products in f32",
        mxu::Passes::Exact => "operands as they are",
    };
    format!("dot on the matrix unit, {products}")
}

/// The order in which a unit adds `k` products.
fn order_text(unit: &mxu::Unit, k: usize) -> String {
    let order = unit.accumulation;
    let cut = unit.k_block.map(|cut| format!(", K cut at {cut}")).unwrap_or_default();
    match order {
        mxu::Accumulation::Block | mxu::Accumulation::Tiled | mxu::Accumulation::Running => {
            format!("sums of {} products ({}{cut})", unit.block.get().min(k), order.name())
        }
        _ => format!("sum in the order {}", order.name()),
    }
}

fn quotient(dtype: Option<DType>, modes: [&Mode; 2]) -> Option<(Aspect, [String; 2])> {
    // In bf16 and below both ways give the same bits.
    if dtype.is_none_or(|dtype| dtype.bits() < 32) {
        return None;
    }
    where_other(
        Aspect::Precision,
        modes.map(|mode| {
            match mode.chip.divide {
                Divide::Exact => "quotient, correctly rounded",
                Divide::ByReciprocal => "left times the reciprocal",
                Divide::BroadcastByReciprocal => "left times the reciprocal where one number divides",
            }
            .to_string()
        }),
    )
}

fn function(modes: [&Mode; 2]) -> Option<(Aspect, [String; 2])> {
    let text = |mode: &Mode| match mode.choices.exp.perturbs() {
        true => format!("within the bound of {} (exp={})", mode.chip.name, mode.choices.exp.name()),
        false => format!("exp={}", mode.choices.exp.name()),
    };
    let is_alike = modes[0].choices.exp == modes[1].choices.exp && modes[0].chip.eup == modes[1].chip.eup;
    if is_alike { None } else { where_other(Aspect::Precision, modes.map(text)) }
}

/// An operation in bf16 that one chip has in bf16, where the compiler may leave out roundings around it.
fn native(instruction: &Instruction, modes: [&Mode; 2]) -> Option<(Aspect, [String; 2])> {
    if instruction.shape.dtype() != Some(DType::BF16) || !modes.iter().any(|mode| mode.excess.rewrites()) {
        return None;
    }
    where_other(
        Aspect::Precision,
        modes.map(|mode| {
            let is_native = mode.chip.native_bf16(&instruction.op);
            if is_native { "computed in bf16" } else { "computed in f32, its rounding to bf16 may be left out" }
                .to_string()
        }),
    )
}

fn sum(dtype: Option<DType>, modes: [&Mode; 2]) -> Vec<(Aspect, [String; 2])> {
    let orders = modes.map(|mode| format!("sum in the order {}", mode.choices.reduce.name()));
    let steps = dtype.map(|dtype| modes.map(|mode| mode.step_of(dtype)));
    let is_other_step = steps.is_some_and(|[one, other]| one != other);
    let steps = modes.map(|mode| format!("sum with narrow={}", mode.choices.narrow.name()));
    let steps = where_other(Aspect::Precision, steps).filter(|_| is_other_step);
    where_other(Aspect::Order, orders).into_iter().chain(steps).collect()
}
