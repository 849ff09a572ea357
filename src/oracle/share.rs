//! Value numbering: equal expressions over equal values become one value.

use crate::ir::{Computation, Instruction, Op, Program};

/// `program` in which no two instructions of the entry apply the same operation to the same values.
pub(super) fn share_equal(program: &Program) -> Program {
    let entry = program.entry();
    let mut kept: Vec<Instruction> = Vec::new();
    let mut moved: Vec<usize> = Vec::new();
    for old in &entry.instructions {
        let operands: Vec<usize> = old.operands.iter().map(|o| moved[*o]).collect();
        let same = |k: &Instruction| k.op == old.op && k.operands == operands && k.shape == old.shape;
        let shared = match old.op {
            // A tuple root names results; a constant array is not worth comparing.
            Op::Tuple | Op::Parameter(_) => None,
            _ => kept.iter().position(same),
        };
        moved.push(shared.unwrap_or(kept.len()));
        if shared.is_none() {
            kept.push(Instruction { operands, ..old.clone() });
        }
    }
    let mut rewritten = program.clone();
    let root = moved[entry.root];
    rewritten.computations[program.entry] = Computation { name: entry.name.clone(), instructions: kept, root };
    rewritten
}
