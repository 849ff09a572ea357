//! Equal expressions over equal values become one value.

use crate::analysis::{Equality, Numbering, Regions};
use crate::ir::Program;

/// `program` in which no two instructions of the entry apply the same operation to the same values.
pub(super) fn share_equal(program: &Program) -> Program {
    let numbers = Numbering::new(Equality::Bits).program(program, &Regions::new(program));
    let firsts: Vec<Option<usize>> = numbers.firsts().into_iter().map(Some).collect();
    let mut shared = program.clone();
    shared.computations[program.entry] = program.entry().compact(&firsts);
    shared
}
