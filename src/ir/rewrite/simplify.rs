//! Rule A: `simplify-fp-conversions` (FACTS 1.3).

use std::collections::BTreeSet;

use crate::ir::{Computation, Op, Program, ValueId};

use super::{Rewritten, Site};

/// Conversions between floats that stand behind others: each may read the operand of the first of these. The chain of
/// conversions ends before one of a value at which it `stops`.
pub(super) fn sites(program: &Program, stops: &dyn Fn(ValueId) -> bool) -> BTreeSet<Site> {
    let entry = program.entry();
    // Where the chain that ends in each value begins.
    let mut sources: Vec<ValueId> = Vec::with_capacity(entry.instructions.len());
    let mut sites = BTreeSet::new();
    for id in 0..entry.instructions.len() {
        let Some(operand) = converted(entry, id) else {
            sources.push(id);
            continue;
        };
        if sources[operand] != operand {
            sites.insert(Site::Collapse { conversion: id, source: sources[operand] });
        }
        // A chain goes on through conversions, but not past a value that is stored: there rule A cannot look behind.
        sources.push(if stops(operand) { id } else { sources[operand] });
    }
    sites
}

/// The conversions of these sites read their sources; where that is no conversion, the source stands for them.
pub(super) fn apply(program: &Program, sites: &BTreeSet<Site>) -> Rewritten {
    let mut rewritten = Rewritten::unchanged(program.clone());
    let entry = &mut rewritten.program.computations[program.entry];
    let mut stands_for: Vec<ValueId> = (0..entry.instructions.len()).collect();
    for site in sites {
        let Site::Collapse { conversion, source } = *site else { continue };
        // A conversion back to the type that the chain began with is none; its users read the beginning.
        if entry.instructions[source].shape == entry.instructions[conversion].shape {
            stands_for[conversion] = source;
        } else {
            entry.instructions[conversion].operands = vec![source];
        }
    }
    for instruction in &mut entry.instructions {
        instruction.operands.iter_mut().for_each(|operand| *operand = stands_for[*operand]);
    }
    entry.root = stands_for[entry.root];
    rewritten
}

/// The operand of a conversion to a float; `None` for other values.
fn converted(entry: &Computation, id: ValueId) -> Option<ValueId> {
    let instruction = &entry.instructions[id];
    let converts = instruction.op == Op::Convert && instruction.shape.dtype().is_some_and(|d| d.is_float());
    converts.then(|| instruction.operands[0])
}

/// Whether a value is stored between fusions.
pub(super) fn ends_fusion(entry: &Computation, id: ValueId) -> bool {
    let instruction = &entry.instructions[id];
    match instruction.op {
        Op::GetTupleElement(_) => ends_fusion(entry, instruction.operands[0]),
        Op::Reduce { .. }
        | Op::ReduceWindow { .. }
        | Op::Dot { .. }
        | Op::Sort { .. }
        | Op::TopK { .. }
        | Op::ApproxTopK(_)
        | Op::PartialReduce(_) => true,
        _ => false,
    }
}
