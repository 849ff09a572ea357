//! Rule A: `simplify-fp-conversions` (FACTS 1.3).

use crate::ir::{Computation, Op, Program, ValueId};

/// Collapses every chain of two or more conversions to floats into its source, or into one conversion of it.
///
/// With `keep_stored`, a rounding right after an operation that ends a fusion (a reduction, dot or sort) stays: its
/// result is stored in its own type before anything reads it.
pub(super) fn simplify_fp_conversions(program: &Program, keep_stored: bool) -> Program {
    let mut rewritten = program.clone();
    let entry = &mut rewritten.computations[program.entry];
    for id in 0..entry.instructions.len() {
        let Some(source) = chain_source(entry, id, keep_stored) else { continue };
        if entry.instructions[source].shape == entry.instructions[id].shape {
            replace_uses(entry, id, source);
        } else {
            entry.instructions[id].operands = vec![source];
        }
    }
    rewritten
}

/// The value at the start of the chain of conversions that ends in `id`, if the chain has two or more.
fn chain_source(entry: &Computation, id: ValueId, keep_stored: bool) -> Option<ValueId> {
    let mut source = id;
    let mut length = 0;
    while is_float_conversion(entry, source) {
        let operand = entry.instructions[source].operands[0];
        // Walking over this conversion would drop the rounding of a stored result.
        if keep_stored && length > 0 && ends_fusion(entry, operand) {
            break;
        }
        source = operand;
        length += 1;
    }
    (length >= 2).then_some(source)
}

fn is_float_conversion(entry: &Computation, id: ValueId) -> bool {
    let instruction = &entry.instructions[id];
    instruction.op == Op::Convert && instruction.shape.dtype().is_some_and(|d| d.is_float())
}

fn ends_fusion(entry: &Computation, id: ValueId) -> bool {
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

fn replace_uses(entry: &mut Computation, old: ValueId, new: ValueId) {
    for instruction in &mut entry.instructions[old + 1..] {
        for operand in &mut instruction.operands {
            if *operand == old {
                *operand = new;
            }
        }
    }
    if entry.root == old {
        entry.root = new;
    }
}
