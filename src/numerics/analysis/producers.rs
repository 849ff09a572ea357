//! What a reduction reads and nobody else: elementwise operations that a compiler computes inside its loop.

use crate::ir::{Computation, Instruction, Op, ValueId};

/// For each reduction of one array, the elementwise operations on its way from other values that only the reduction reads, in
/// order, so that their results need never stand in memory as a whole; empty for everything else. `uses` is how often each value
/// is read, the root once more; `rounded` tells of each value whether it is an array of its own type, not a product that is
/// rounded later.
pub fn find_producers(
    computation: &Computation,
    uses: &[usize],
    rounded: impl Fn(ValueId) -> bool,
) -> Vec<Vec<ValueId>> {
    let instructions = &computation.instructions;
    let of_reduction = |reduction: &Instruction| {
        let mut found = Vec::new();
        let (Op::Reduce { .. }, &[array, _]) = (&reduction.op, &reduction.operands[..]) else { return found };
        let elements = instructions[array].shape.elements();
        let mut waiting = vec![array];
        while let Some(id) = waiting.pop() {
            let producer = &instructions[id];
            let same_size = producer.shape.dtype().is_some() && producer.shape.elements() == elements;
            if same_size && uses[id] == 1 && is_elementwise(&producer.op) && rounded(id) {
                found.push(id);
                waiting.extend(&producer.operands);
            }
        }
        found.sort_unstable();
        found
    };
    instructions.iter().map(of_reduction).collect()
}

/// Whether each element of the result is made of the elements at its own place, in row-major order.
fn is_elementwise(op: &Op) -> bool {
    matches!(
        op,
        Op::Convert
            | Op::Copy
            | Op::Reshape
            | Op::ReducePrecision { .. }
            | Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare { .. }
            | Op::Select
            | Op::Clamp
    )
}
