//! Value numbering: equal expressions over equal values become one value.

use std::collections::HashMap;

use crate::ir::{Computation, Instruction, Op, Program, Shape};

/// What an instruction that may be shared is looked up by; those that agree in it are compared whole.
type Key = (&'static str, Vec<usize>, Shape);

/// `program` in which no two instructions of the entry apply the same operation to the same values. Constants are the
/// same where their bits are: +0 and -0 are two values.
pub(super) fn share_equal(program: &Program) -> Program {
    let entry = program.entry();
    let mut kept: Vec<Instruction> = Vec::new();
    let mut moved: Vec<usize> = Vec::new();
    let mut known: HashMap<Key, Vec<usize>> = HashMap::new();
    for old in &entry.instructions {
        let operands: Vec<usize> = old.operands.iter().map(|o| moved[*o]).collect();
        let new = kept.len();
        let first = match old.op {
            // A tuple root names results, and each parameter is one value.
            Op::Tuple | Op::Parameter(_) => new,
            _ => {
                let alike = known.entry((old.op.opcode(), operands.clone(), old.shape.clone())).or_default();
                let same = alike.iter().copied().find(|id| kept[*id].op == old.op);
                if same.is_none() {
                    alike.push(new);
                }
                same.unwrap_or(new)
            }
        };
        moved.push(first);
        if first == new {
            kept.push(Instruction { operands, ..old.clone() });
        }
    }
    let mut rewritten = program.clone();
    let root = moved[entry.root];
    rewritten.computations[program.entry] = Computation { name: entry.name.clone(), instructions: kept, root };
    rewritten
}
