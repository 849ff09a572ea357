//! Programs made ready for their truth: what depends neither on the arguments nor on the rung is worked out once.

use crate::analysis::{PlainMatmul, Regions, plain_matmul};
use crate::ir::{Op, Program};

use super::inline::inline_calls;
use super::share::share_equal;

/// A program made ready for the oracle, for any number of arguments and demands, on any thread.
pub struct Prepared {
    /// The program with calls written out and equal expressions made one value.
    pub(super) program: Program,
    pub(super) regions: Regions,
    /// One a computation: how often each value is read; the root once more. Of the entry only what reads values, not
    /// arguments where they lie; the entry's results once more.
    pub(super) uses: Vec<Vec<usize>>,
    /// Values of the entry that are matmuls of parameters: they read tensors where they lie.
    pub(super) matmuls: Vec<Option<PlainMatmul>>,
}

impl Prepared {
    /// Makes `program` ready. It is not kept: what is shared is a program of its own.
    pub fn new(program: &Program) -> Prepared {
        Prepared::as_it_stands(share_equal(&inline_calls(program)))
    }

    /// Makes `program` ready whose calls stay, and whose equal values may be computed in two ways.
    pub(super) fn as_it_stands(program: Program) -> Prepared {
        let mut uses: Vec<Vec<usize>> = program.computations.iter().map(|computation| computation.uses()).collect();
        for (uses, computation) in uses.iter_mut().zip(&program.computations) {
            uses[computation.root] += 1;
        }
        let entry = program.entry();
        let matmuls: Vec<Option<PlainMatmul>> =
            (0..entry.instructions.len()).map(|id| plain_matmul(entry, id)).collect();
        let entry_uses = &mut uses[program.entry];
        let root = &entry.instructions[entry.root];
        if root.op == Op::Tuple {
            root.operands.iter().for_each(|operand| entry_uses[*operand] += 1);
        }
        for matmul in matmuls.iter().flatten() {
            matmul.operands.iter().for_each(|operand| entry_uses[*operand] -= 1);
        }
        Prepared { regions: Regions::new(&program), program, uses, matmuls }
    }

    /// How many results it has.
    pub fn outputs(&self) -> usize {
        self.program.output_names.len()
    }
}
