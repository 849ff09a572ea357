//! Removes values that nothing uses any more.

use crate::analysis;
use crate::ir::{Op, Program, ValueId};

use super::Rewritten;

/// `program` without the entry's unused values (parameters stay: they are the signature) and unused computations.
pub(super) fn eliminate(program: &Program) -> Rewritten {
    let entry = program.entry();
    let parameters = (0..entry.instructions.len()).filter(|id| matches!(entry.instructions[*id].op, Op::Parameter(_)));
    let live = analysis::live(entry, parameters.chain([entry.root]));
    let kept: Vec<Option<ValueId>> = live.iter().enumerate().map(|(id, live)| live.then_some(id)).collect();
    let mut rewritten = program.clone();
    rewritten.computations[program.entry] = entry.compact(&kept);
    let origins = kept.into_iter().filter(Option::is_some).collect();
    Rewritten { program: drop_unused_computations(rewritten), origins }
}

/// `program` without the computations that its entry does not reach.
pub fn drop_unused_computations(mut program: Program) -> Program {
    let used = analysis::find_live(&program);
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
