//! The sites that rule B retypes in a program of choices.

use std::collections::BTreeSet;

use crate::analysis::{Analysis, Reducer};
use crate::ir::{Binary, Class, Op, Program, Shape, ValueId};
use crate::tensor::DType;

use super::super::{Site, normalize};

/// The operations that rule B retypes, and those that move, compare or pick their results before these are rounded.
/// Sums in bf16 keep their own steps, but for those in `sums`.
pub(super) fn retyped_sites(program: &Program, sums: &BTreeSet<Site>) -> BTreeSet<Site> {
    let analysis = Analysis::new(program);
    let entry = program.entry();
    let own = normalize::sites(program);
    let mut sites = BTreeSet::new();
    let is_bf16 = |id: ValueId| match &entry.instructions[id].shape {
        Shape::Array { dtype, .. } => *dtype == DType::BF16,
        Shape::Tuple(parts) => parts.iter().any(|part| part.dtype() == Some(DType::BF16)),
    };
    // Values that have a form before rounding.
    let mut is_wide = vec![false; entry.instructions.len()];
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let from_wide = instruction.operands.iter().any(|operand| is_wide[*operand]);
        let takes = match &instruction.op {
            _ if sums.contains(&Site::Retype(id)) => true,
            Op::GetTupleElement(_) => {
                is_wide[id] = from_wide && is_bf16(id);
                false
            }
            Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => {
                let picks = analysis.regions.reducer(*to_apply).is_some_and(Reducer::picks);
                from_wide && picks && own.contains(&Site::Retype(id))
            }
            Op::Binary(Binary::Maximum | Binary::Minimum) | Op::Clamp => from_wide && own.contains(&Site::Retype(id)),
            Op::Select | Op::Compare { .. } | Op::Sort { .. } | Op::TopK { .. } => from_wide,
            op if op.class() == Class::Moves => from_wide && *op != Op::OptimizationBarrier,
            _ => own.contains(&Site::Retype(id)),
        };
        if takes {
            sites.insert(Site::Retype(id));
            is_wide[id] = is_bf16(id);
        }
    }
    sites
}
