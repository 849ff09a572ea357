//! Producers of a reduction's array that have no other user: elementwise operations that a compiler computes inside the
//! reduction's loop.

use crate::ir::{Computation, Instruction, Op, ValueId};

/// For each reduction of one array, the elementwise producers of that array that have no other user, in order. Their
/// results need never be in memory as a whole. The list is empty for every other operation. `uses` counts the reads of
/// each value, and one more for the root. `rounded` says whether a value is rounded to its own type, and is not a
/// product that is rounded later.
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

/// Whether each element of the result depends only on the operands' elements at its own position, in row-major order.
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

#[cfg(test)]
mod tests {
    use super::find_producers;
    use crate::ir::{Binary, Builder, Compare, Unary};
    use crate::tensor::DType;

    /// Elementwise operations of the array's own size whose only user is the reduction, or another of them.
    #[test]
    fn producers_have_no_other_user_and_the_arrays_size() {
        let mut b = Builder::new("producers");
        let x = b.parameter("x", DType::F32, &[2, 3]).unwrap();
        let row = b.parameter("row", DType::F32, &[3]).unwrap();
        let shared = b.unary(Unary::Exponential, x).unwrap();
        let small = b.unary(Unary::Tanh, row).unwrap();
        let spread = b.broadcast(small, &[2, 3], &[1]).unwrap();
        let alone = b.unary(Unary::Negate, shared).unwrap();
        // One predicate for all elements is no array of the reduction's size.
        let zero = b.constant(DType::F32, 0.0).unwrap();
        let flag = b.compare(Compare::Lt, zero, zero).unwrap();
        let chosen = b.select(flag, alone, spread).unwrap();
        let sum = b.reduce(Binary::Add, chosen, 0.0, &[1]).unwrap();
        let program = b.finish(&[("sum", sum), ("shared", shared)]).unwrap();
        let uses = program.entry().uses();
        let found = find_producers(program.entry(), &uses, |_| true);
        assert_eq!(found[sum], [alone, chosen]);
        assert!((0..found.len()).all(|id| id == sum || found[id].is_empty()));
        // A value that is rounded later ends the search.
        assert!(find_producers(program.entry(), &uses, |id| id != chosen)[sum].is_empty());
    }
}
