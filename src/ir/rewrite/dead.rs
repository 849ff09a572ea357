//! Removes values that nothing uses any more.

use crate::analysis;
use crate::ir::{Computation, Op, Program, ValueId};

use super::Rewritten;

/// `program` without the entry's unused values (parameters stay: they are the signature) and unused computations.
pub(super) fn eliminate(program: &Program) -> Rewritten {
    let kept = live_values(program.entry());
    let mut rewritten = program.clone();
    rewritten.computations[program.entry] = program.entry().compact(&kept);
    let origins = kept.into_iter().filter(Option::is_some).collect();
    Rewritten { program: drop_unused_computations(rewritten), origins }
}

/// `program` without the values that no result depends on, in its entry and in each computation that this calls. Parameters
/// stay.
pub fn drop_dead_values(program: &Program) -> Rewritten {
    let mut rewritten = eliminate(program);
    for computation in &mut rewritten.program.computations {
        *computation = computation.compact(&live_values(computation));
    }
    // A dead value of a computation may have been the only one that calls another.
    rewritten.program = drop_unused_computations(rewritten.program);
    rewritten
}

/// Each value that the computation's root depends on, and each parameter; `None` in the place of a dead one.
pub fn live_values(computation: &Computation) -> Vec<Option<ValueId>> {
    let is_parameter = |id: &ValueId| matches!(computation.instructions[*id].op, Op::Parameter(_));
    let parameters = (0..computation.instructions.len()).filter(is_parameter);
    let live = analysis::live(computation, parameters.chain([computation.root]));
    live.iter().enumerate().map(|(id, live)| live.then_some(id)).collect()
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
