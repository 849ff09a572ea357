//! What each operation means to a comparison of precision.

use crate::analysis::{Analysis, Precision, Regions, steps_hold, target};
use crate::ir::{self, Binary, Class, Instruction, Op, Program, Unary, Window};

/// What an operation is for the flow of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
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
pub(super) fn role(op: &Op, operands: usize, float: (bool, bool), multiple: bool) -> Role {
    match op {
        Op::Parameter(_) | Op::Constant(_) | Op::Iota { .. } => Role::Leaf,
        Op::Tuple => Role::Results,
        _ if multiple => Role::Group,
        Op::Convert if float.0 == float.1 => Role::Moves { from: 0, to: 1 },
        Op::ReducePrecision { .. }
        | Op::OptimizationBarrier
        | Op::Copy
        | Op::Broadcast { .. }
        | Op::Reshape
        | Op::Transpose { .. }
        | Op::Slice { .. }
        | Op::Reverse { .. }
        | Op::DynamicSlice { .. }
        | Op::Gather(_)
        | Op::Unary(Unary::Abs | Unary::Negate) => Role::Moves { from: 0, to: 1 },
        Op::Concatenate { .. } => Role::Moves { from: 0, to: operands },
        Op::Pad { .. } => Role::Moves { from: 0, to: 2 },
        Op::Select => Role::Moves { from: 1, to: 3 },
        Op::Clamp => Role::Moves { from: 0, to: 3 },
        Op::Binary(Binary::Maximum | Binary::Minimum) => Role::Moves { from: 0, to: 2 },
        Op::Convert
        | Op::BitcastConvert
        | Op::DynamicUpdateSlice
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare { .. }
        | Op::Reduce { .. }
        | Op::ReduceWindow { .. }
        | Op::Scatter { .. }
        | Op::Sort { .. }
        | Op::TopK { .. }
        | Op::ApproxTopK(_)
        | Op::PartialReduce(_)
        | Op::Dot { .. }
        | Op::GetTupleElement(_)
        | Op::Call { .. }
        | Op::While { .. } => Role::Computes,
    }
}

/// Whether an operation only picks among the elements it reads.
pub(super) fn picks(op: &Op, regions: &Regions) -> bool {
    match op {
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => regions.picks(*to_apply),
        op => op.class() == Class::Ranks,
    }
}

/// The bits that the result of an operation can have: its dtype's, or fewer where a `reduce-precision`, or a region
/// that picks and rounds what it picked, leaves fewer.
pub(super) fn holds(instruction: &Instruction, analysis: &Analysis) -> Precision {
    let narrowed = match &instruction.op {
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. }
            if picks(&instruction.op, &analysis.regions) =>
        {
            steps_hold(&analysis.program.computations[*to_apply])
        }
        _ => target(instruction, Some(Precision::UNLIMITED)),
    };
    let declared = instruction.shape.dtype().and_then(Precision::of_dtype);
    narrowed.or(declared).unwrap_or(Precision::UNLIMITED)
}

/// How much of its operand in `slot` a region sees: what its own conversions leave, before it looks at anything.
pub(super) fn entry_precision(instruction: &Instruction, program: &Program, slot: usize) -> Precision {
    let operands = instruction.operands.len();
    let (region, parameter) = match &instruction.op {
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => (*to_apply, operands / 2 + slot),
        Op::Sort { to_apply, .. } => (*to_apply, 2 * slot),
        _ => return Precision::UNLIMITED,
    };
    let region = &program.computations[region];
    let is_it = |id: &usize| region.instructions[*id].op == Op::Parameter(parameter);
    let users = region.instructions.iter().filter(|i| i.operands.iter().any(is_it));
    let seen = users.map(|user| target(user, Some(Precision::UNLIMITED)).unwrap_or(Precision::UNLIMITED));
    seen.reduce(Precision::join).unwrap_or(Precision::UNLIMITED)
}

/// What an operation that rounds is called when it is compared with another that stands for the same value. `None` where
/// nothing is rounded or another comparison tells.
pub(super) fn form(op: &Op, narrow_operands: bool) -> Option<String> {
    Some(match op {
        // Subtracting is adding the negative.
        Op::Binary(Binary::Subtract) => Binary::Add.name().to_string(),
        Op::Dot { precision, .. } => {
            let [lhs, rhs] = precision.map(ir::Precision::name);
            match narrow_operands {
                // bf16 operands need one pass, whatever is asked for.
                true => "dot".to_string(),
                false => format!("dot at {{{lhs},{rhs}}}"),
            }
        }
        Op::Reduce { .. } => "reduce".to_string(),
        Op::ReduceWindow { .. } => "reduce".to_string(),
        Op::Unary(_) | Op::Binary(_) => op.opcode().to_string(),
        _ => return None,
    })
}

/// The dim along which a window accumulates every element before its own, and perhaps its own.
pub(super) fn scan_along(window: &Window, dims: &[usize]) -> Option<usize> {
    let mut wide = (0..dims.len()).filter(|d| window.0[*d].size > 1);
    let along = wide.next()?;
    let w = window.0[along];
    let covers = w.size >= dims[along]
        && w.pad_low >= dims[along] as i64 - 1
        && (w.stride, w.base_dilation, w.window_dilation) == (1, 1, 1);
    (covers && wide.next().is_none()).then_some(along)
}

/// Elements that are combined at once, if windows do not overlap.
pub(super) fn block(window: &Window) -> Option<usize> {
    let apart = window.0.iter().all(|w| w.size == w.stride && (w.base_dilation, w.window_dilation) == (1, 1));
    apart.then(|| window.0.iter().map(|w| w.size).product())
}
