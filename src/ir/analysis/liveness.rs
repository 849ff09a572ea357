//! Liveness: the values and computations that results depend on.

use crate::ir::{Computation, Program, ValueId};

/// For each value of a computation, whether one of the `roots` depends on it; the roots themselves do.
pub fn live(computation: &Computation, roots: impl IntoIterator<Item = ValueId>) -> Vec<bool> {
    let mut live = vec![false; computation.instructions.len()];
    roots.into_iter().for_each(|root| live[root] = true);
    for (id, instruction) in computation.instructions.iter().enumerate().rev() {
        if live[id] {
            instruction.operands.iter().for_each(|operand| live[*operand] = true);
        }
    }
    live
}

/// For each computation of a program, whether it is the entry or the entry calls it, directly or through others.
pub fn find_live(program: &Program) -> Vec<bool> {
    let mut reached = vec![false; program.computations.len()];
    reached[program.entry] = true;
    for (id, computation) in program.computations.iter().enumerate().rev() {
        if reached[id] {
            computation.instructions.iter().flat_map(|i| i.op.callees()).for_each(|callee| reached[callee] = true);
        }
    }
    reached
}
