//! Meaning of each operation to a comparison of precision.

use crate::analysis::{Analysis, Precision, Regions, rounds_to, steps_hold, target};
use crate::ir::{self, Binary, Class, Computation, Instruction, Op, Program, Unary, ValueId, Window};
use crate::machine::{self, Chip, DotSite};
use crate::num::BF16;

use super::rounding_form::RoundingForm;

/// Properties of the machine's arithmetic that the text of a program leaves open.
#[derive(Clone, Copy, Default)]
pub struct ArithmeticHabits {
    /// Whether a compiler plans code for the chip: it adds products in fusions before they are rounded, and leaves some fusions to
    /// libraries.
    pub plans_code: bool,
    /// Whether dots at default precision take operands as bf16, as TPUs do: compilers may write the rounding or not.
    pub one_pass: bool,
    /// The chip that the programs run on, where that is known: it decides the unit of a dot as written.
    pub chip: Option<&'static Chip>,
    /// Whether the file itself is of a TPU's compiler.
    pub for_tpu: bool,
}

/// Role of an operation in the flow of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueRole {
    /// Has no operands.
    Leaf,
    /// Hands on elements, their sign apart, or picks among them: no new bits, and roundings commute with it. The first
    /// operands that carry values are `from..to`.
    Moves { from: usize, to: usize },
    /// Makes a value, or reads values without making floats.
    Computes,
    /// Gives several values; its elements compute.
    Group,
    /// The program's results.
    Results,
}

/// The role of an operation with so many operands; `float` says whether its first operand and its result are floats.
pub fn role(op: &Op, operands: usize, float: (bool, bool), multiple: bool) -> ValueRole {
    match (op.class(), op) {
        (Class::Source, _) => ValueRole::Leaf,
        (Class::Lists, Op::Tuple) => ValueRole::Results,
        _ if multiple => ValueRole::Group,
        (Class::Moves, Op::Concatenate { .. }) => ValueRole::Moves { from: 0, to: operands },
        (Class::Moves, Op::Pad { .. }) => ValueRole::Moves { from: 0, to: 2 },
        (Class::Moves, Op::DynamicUpdateSlice) => ValueRole::Computes,
        (Class::Moves, _) | (Class::Converts, Op::ReducePrecision { .. }) => ValueRole::Moves { from: 0, to: 1 },
        (Class::Converts, Op::Convert) if float.0 == float.1 => ValueRole::Moves { from: 0, to: 1 },
        (Class::Elementwise, Op::Unary(Unary::Abs | Unary::Negate)) => ValueRole::Moves { from: 0, to: 1 },
        (Class::Elementwise, Op::Binary(Binary::Maximum | Binary::Minimum)) => ValueRole::Moves { from: 0, to: 2 },
        (Class::Elementwise, Op::Select) => ValueRole::Moves { from: 1, to: 3 },
        (Class::Elementwise, Op::Clamp) => ValueRole::Moves { from: 0, to: 3 },
        (Class::Converts | Class::Elementwise | Class::Combines | Class::Ranks | Class::Lists | Class::Calls, _) => {
            ValueRole::Computes
        }
    }
}

/// Whether an operation only picks among the elements it reads.
pub fn picks(op: &Op, regions: &Regions) -> bool {
    match op {
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => regions.picks(*to_apply),
        op => op.class() == Class::Ranks,
    }
}

/// The bits that the result of an operation can have: its dtype's, or fewer where a `reduce-precision`, or a region
/// that rounds what it gives, leaves fewer.
pub fn holds(instruction: &Instruction, analysis: &Analysis) -> Precision {
    let narrowed = match &instruction.op {
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. }
            if picks(&instruction.op, &analysis.regions) =>
        {
            steps_hold(&analysis.program.computations[*to_apply])
        }
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => {
            rounds_to(&analysis.program.computations[*to_apply])
        }
        _ => target(instruction, Some(Precision::UNLIMITED)),
    };
    let declared = instruction.shape.dtype().and_then(Precision::of_dtype);
    narrowed.or(declared).unwrap_or(Precision::UNLIMITED)
}

/// Precision that an operation sees of its operand in `slot` before it uses it. The conversions of its region limit it;
/// a dot that takes bf16 sees bf16.
pub fn entry_precision(
    instruction: &Instruction,
    computation: &Computation,
    program: &Program,
    habits: ArithmeticHabits,
    slot: usize,
) -> Precision {
    let operands = instruction.operands.len();
    let regions = match &instruction.op {
        _ if takes_bf16(DotSite::within(computation, instruction), habits) => return Precision::of(&BF16),
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => vec![(*to_apply, operands / 2 + slot)],
        Op::Sort { to_apply, .. } => vec![(*to_apply, 2 * slot)],
        Op::While { condition, body } => vec![(*condition, slot), (*body, slot)],
        _ => return Precision::UNLIMITED,
    };
    let seen = regions.into_iter().filter_map(|(region, parameter)| {
        let region = &program.computations[region];
        let is_it = |instruction: &Instruction| instruction.op == Op::Parameter(parameter);
        seen_of([region.instructions.iter().position(is_it)?, slot], region, program, habits)
    });
    seen.reduce(Precision::join).unwrap_or(Precision::UNLIMITED)
}

/// Precision that a region sees of a value; `None` if the region only gives the value as the result in this place.
fn seen_of(
    [id, place]: [ValueId; 2],
    region: &Computation,
    program: &Program,
    habits: ArithmeticHabits,
) -> Option<Precision> {
    let uses = |user: &Instruction| {
        let slots = (0..user.operands.len()).filter(|slot| user.operands[*slot] == id);
        slots.map(|slot| entry_precision(user, region, program, habits, slot)).reduce(Precision::join)
    };
    let seen = (id + 1..region.instructions.len()).filter_map(|at| {
        let user = &region.instructions[at];
        let moves = matches!(
            user.op,
            Op::Copy
                | Op::Reshape
                | Op::Transpose { .. }
                | Op::Broadcast { .. }
                | Op::Slice { .. }
                | Op::DynamicSlice { .. }
        );
        let is_given = |(slot, operand): (usize, &ValueId)| *operand != id || slot == place;
        match (target(user, Some(Precision::UNLIMITED)), &user.op) {
            _ if !user.operands.contains(&id) => None,
            (Some(to), _) => Some(to),
            (None, Op::Tuple) if at == region.root && user.operands.iter().enumerate().all(is_given) => None,
            _ if moves && at != region.root => seen_of([at, place], region, program, habits),
            _ => uses(user),
        }
    });
    seen.reduce(Precision::join)
}

/// Whether a dot takes its operands as bf16, whatever they are: at default precision, on the matrix unit of a TPU. No dot does not.
pub fn takes_bf16(dot: Option<DotSite>, habits: ArithmeticHabits) -> bool {
    let is_at_default = dot.is_some_and(|dot| dot.precision == [ir::Precision::Default; 2]);
    habits.one_pass && is_at_default && !is_on_vector_unit(dot, habits)
}

/// Whether a dot is on the vector unit of the chip; where no chip is known, no dot is.
pub fn is_on_vector_unit(dot: Option<DotSite>, habits: ArithmeticHabits) -> bool {
    let both = habits.chip.zip(dot);
    both.is_some_and(|(chip, dot)| machine::is_on_vector_unit(chip, &dot))
}

/// The unit of a TPU that computes a dot or, as `form` says, a multiply and reduce; `None` where it is not known.
pub fn unit(dot: Option<DotSite>, habits: ArithmeticHabits, form: &RoundingForm) -> Option<TpuUnit> {
    let is_vector =
        is_on_vector_unit(dot, habits) || dot.is_none() && habits.for_tpu && *form == RoundingForm::MultiplyAndReduce;
    let has_matrix_unit = habits.chip.is_some_and(|chip| chip.matrix_unit);
    let is_matrix = dot.is_some_and(|dot| dot.on_matrix_unit || has_matrix_unit);
    is_vector.then_some(TpuUnit::Vector).or(is_matrix.then_some(TpuUnit::Matrix))
}

/// A unit of a TPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TpuUnit {
    Vector,
    Matrix,
}

/// The dim along which a window accumulates every element before its own, and perhaps its own.
pub fn scan_along(window: &Window, dims: &[usize]) -> Option<usize> {
    let mut wide = (0..dims.len()).filter(|d| window.0[*d].size > 1);
    let along = wide.next()?;
    let w = window.0[along];
    let covers = w.size >= dims[along]
        && w.pad_low >= dims[along] as i64 - 1
        && (w.stride, w.base_dilation, w.window_dilation) == (1, 1, 1);
    (covers && wide.next().is_none()).then_some(along)
}

/// Elements that are combined at once, if windows do not overlap.
pub fn block(window: &Window) -> Option<usize> {
    let apart = window.0.iter().all(|w| w.size == w.stride && (w.base_dilation, w.window_dilation) == (1, 1));
    apart.then(|| window.0.iter().map(|w| w.size).product())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::WindowDim;

    /// A window accumulates along the one dim that it covers up to each element, and not along two.
    #[test]
    fn a_running_sum_is_along_one_dim() {
        let dims = [3, 4];
        let all = |d: usize| WindowDim { pad_low: dims[d] as i64 - 1, ..WindowDim::of_size(dims[d]) };
        let one = WindowDim::of_size(1);
        assert_eq!(scan_along(&Window(vec![all(0), one]), &dims), Some(0));
        assert_eq!(scan_along(&Window(vec![one, all(1)]), &dims), Some(1));
        assert_eq!(scan_along(&Window(vec![all(0), all(1)]), &dims), None);
        assert_eq!(scan_along(&Window(vec![one, WindowDim::of_size(4)]), &dims), None);
        assert_eq!(scan_along(&Window(vec![one, WindowDim { size: 3, pad_low: 2, ..all(1) }]), &dims), None);
        assert_eq!(scan_along(&Window(vec![one, WindowDim { window_dilation: 2, ..all(1) }]), &dims), None);
    }
}
