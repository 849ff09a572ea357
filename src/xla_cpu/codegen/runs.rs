//! Rows side by side whose few columns are read as runs of memory: the operations that LLVM computes on whole runs
//! before it splits them into columns.
//!
//! InstCombine replaces an operation on two columns of runs by a column of one operation on the runs
//! (`foldVectorBinop`), if one of its operands has no other user. Constants, and rows and columns that are the same in
//! all rows, prevent that. A shuffle separates a product of runs from its sum with any other value, so the product is
//! rounded.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use crate::ir::{Binary, Computation, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::LANES;
use super::kernel_functions::{has_functions, is_tiled, results_of};
use super::known_choice::instructions;
use super::unroll::is_small;

/// Numbers of columns that are read as one run of memory (eight is the largest factor of an interleaved access) and
/// keep their shuffles in instruction selection, which may move those of fewer columns.
const COLUMNS: RangeInclusive<usize> = 5..=8;

/// The kind of a value in a loop that unrolls columns and has rows side by side.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A column of a run, or of a value that is computed from runs alone.
    Run,
    Number,
    /// Made of these by operations that LLVM moves columns through.
    Mixed,
    Other,
}

/// The kinds of the values of a fusion that splits runs into columns.
pub struct Runs(HashMap<ValueId, Kind>);

impl Runs {
    /// The kinds of a fusion's values. `None` if the loop is another one (longer rows, too few or odd ones, sums, moved
    /// elements, narrow types), or if no run is split. Without AVX-512 it is not followed.
    pub fn new(computation: &Computation, fusion: Fusion) -> Option<Runs> {
        let all = &computation.instructions;
        let results = results_of(computation, Some(fusion));
        let long =
            |id: ValueId| -> Vec<usize> { all[id].shape.dims().iter().copied().filter(|extent| *extent > 1).collect() };
        let dims = long(*results.first()?);
        let &[.., rows, columns] = &dims[..] else { return None };
        // Rows beyond the last whole register of rows would have code of their own, which is not followed (FACTS 3.11).
        let is_even = COLUMNS.contains(&columns) && (rows % LANES == 0 || matches!(rows, 4 | 20 | 28));
        let has_loop = fusion.is_compiled() && has_functions(Some(fusion));
        if !is_even || !has_loop || is_tiled(computation, Some(fusion), &results) {
            return None;
        }
        let inside: Vec<ValueId> = (0..all.len()).filter(|id| all[*id].fusion() == Some(fusion)).collect();
        let is_followed = |id: &ValueId| {
            let Instruction { op, shape, .. } = &all[*id];
            let minor = all[*id].minor();
            let is_wide = matches!(shape.dtype(), Some(DType::F32 | DType::S32 | DType::U32 | DType::Pred));
            is_wide && minor.is_none() && stays(op)
        };
        if results.iter().any(|result| long(*result) != dims)
            || !inside.iter().all(is_followed)
            || !is_small(columns, instructions(computation, fusion))
        {
            return None;
        }
        let mut readers: HashMap<ValueId, Vec<ValueId>> = HashMap::new();
        for id in &inside {
            all[*id].operands.iter().for_each(|operand| readers.entry(*operand).or_default().push(*id));
        }
        let mut kinds: HashMap<ValueId, Kind> = HashMap::new();
        for id in &inside {
            for operand in all[*id].operands.iter().chain([id]) {
                let kind = match &all[*operand] {
                    Instruction { op: Op::Constant(value), .. } if value.len() == 1 => Kind::Number,
                    instruction if instruction.fusion() == Some(fusion) => made_of(instruction, &kinds, &readers),
                    _ if long(*operand) == dims => Kind::Run,
                    _ => Kind::Other,
                };
                kinds.insert(*operand, kind);
            }
        }
        // LLVM moves all shuffles to where the results are stored (`VectorCombine`), but not behind several readers of what is
        // computed of runs.
        let read_by = |id: &ValueId| readers.get(id).map_or(0, |own| own.iter().collect::<HashSet<_>>().len());
        let is_shared = inside.iter().any(|id| kinds[id] == Kind::Run && read_by(id) > 1);
        let is_whole = !is_shared && results.iter().all(|result| kinds[result] != Kind::Other);
        // Rows of as many columns as lanes are one register each after all (`narrowInterleaveGroups`).
        let is_narrow = columns == LANES && rows % LANES == 0;
        let is_narrowed = is_narrow && inside.iter().all(|id| is_alike_in_a_row(computation, *id));
        (!is_whole && !is_narrowed).then_some(Runs(kinds))
    }

    /// Whether a product is split into columns before this sum reads it.
    pub fn parts(&self, product: ValueId, sum: ValueId) -> bool {
        self.0.get(&product) == Some(&Kind::Run) && self.0.get(&sum) != Some(&Kind::Run)
    }
}

/// The kind of an operation's result.
fn made_of(
    instruction: &Instruction,
    kinds: &HashMap<ValueId, Kind>,
    readers: &HashMap<ValueId, Vec<ValueId>>,
) -> Kind {
    let Instruction { op, operands, .. } = instruction;
    let own: Vec<Kind> = operands.iter().map(|id| kinds.get(id).copied().unwrap_or(Kind::Other)).collect();
    let is_mixed = own.iter().all(|kind| *kind != Kind::Other);
    match (op, &own[..]) {
        (Op::Broadcast { .. }, [Kind::Number]) => Kind::Number,
        (Op::Copy | Op::Reshape, [own]) => *own,
        (Op::Unary(unary), [own]) if is_intrinsic(*unary) || is_function(*unary) && *own != Kind::Mixed => *own,
        (Op::Binary(_), [Kind::Run, Kind::Run])
            if operands[0] == operands[1] || operands.iter().any(|id| readers[id].len() == 1) =>
        {
            Kind::Run
        }
        (Op::Binary(_), [Kind::Number, Kind::Number]) => Kind::Number,
        (Op::Binary(_) | Op::Compare { .. } | Op::Select, _) if is_mixed => Kind::Mixed,
        _ => Kind::Other,
    }
}

/// Whether LLVM computes a value in the same way for all columns of a row, from whole rows and constants.
fn is_alike_in_a_row(computation: &Computation, id: ValueId) -> bool {
    let Instruction { op, operands, shape, .. } = &computation.instructions[id];
    match op {
        Op::Broadcast { dims } => {
            let is_number = computation.instructions[operands[0]].shape.elements() == 1;
            is_number || !dims.contains(&(shape.dims().len() - 1))
        }
        Op::Constant(_) | Op::Copy | Op::Reshape => true,
        Op::Binary(binary) => {
            matches!(binary, Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide)
        }
        _ => false,
    }
}

/// Whether an operation leaves elements in place, in loops that LLVM vectorizes.
fn stays(op: &Op) -> bool {
    match op {
        Op::Constant(_) | Op::Broadcast { .. } | Op::Copy | Op::Reshape => true,
        Op::Compare { .. } | Op::Select | Op::Clamp | Op::Convert | Op::BitcastConvert => true,
        Op::Unary(unary) => is_intrinsic(*unary) || is_function(*unary),
        Op::Binary(binary) => !matches!(binary, Binary::Power | Binary::Atan2 | Binary::Remainder),
        _ => false,
    }
}

/// Whether an operation is known to LLVM, which moves columns through it everywhere.
fn is_intrinsic(unary: Unary) -> bool {
    use Unary::{Abs, Ceil, Cosine, Floor, Negate, Not, Sine, Sqrt};
    matches!(unary, Abs | Ceil | Cosine | Floor | Negate | Not | Sine | Sqrt)
}

/// Whether an operation is a function of registers, which takes runs whole.
fn is_function(unary: Unary) -> bool {
    matches!(unary, Unary::Exponential | Unary::Log | Unary::Tanh)
}
