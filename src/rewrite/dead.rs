//! Removes values that nothing uses any more.

use crate::ir::{Computation, Instruction, Op, Program};

/// `program` without the entry's unused values (parameters stay: they are the signature) and unused computations.
pub(super) fn eliminate(program: &Program) -> Program {
    let entry = program.entry();
    let mut live = vec![false; entry.instructions.len()];
    live[entry.root] = true;
    for id in (0..entry.instructions.len()).rev() {
        let instruction = &entry.instructions[id];
        if matches!(instruction.op, Op::Parameter(_)) {
            live[id] = true;
        }
        if live[id] {
            for operand in &instruction.operands {
                live[*operand] = true;
            }
        }
    }
    let mut moved = vec![0; live.len()];
    let mut instructions: Vec<Instruction> = Vec::new();
    for (id, instruction) in entry.instructions.iter().enumerate().filter(|(id, _)| live[*id]) {
        moved[id] = instructions.len();
        let operands = instruction.operands.iter().map(|o| moved[*o]).collect();
        instructions.push(Instruction { operands, ..instruction.clone() });
    }
    let mut rewritten = program.clone();
    rewritten.computations[program.entry] =
        Computation { name: entry.name.clone(), instructions, root: moved[entry.root] };
    drop_unused_computations(rewritten)
}

/// `program` without the computations that its entry does not reach.
pub(super) fn drop_unused_computations(mut program: Program) -> Program {
    let mut used = vec![false; program.computations.len()];
    used[program.entry] = true;
    for id in (0..program.computations.len()).rev() {
        if used[id] {
            for callee in program.computations[id].instructions.iter().flat_map(|i| i.op.callees()) {
                used[callee] = true;
            }
        }
    }
    let mut moved = vec![0; used.len()];
    let mut next = 0;
    for (id, used) in used.iter().enumerate() {
        moved[id] = next;
        next += usize::from(*used);
    }
    let instructions = program.computations.iter_mut().flat_map(|c| &mut c.instructions);
    for callee in instructions.flat_map(|i| i.op.callees_mut()) {
        *callee = moved[*callee];
    }
    program.entry = moved[program.entry];
    let mut keep = used.into_iter();
    program.computations.retain(|_| keep.next().unwrap_or(true));
    program
}
