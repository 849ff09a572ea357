//! Selects that InstCombine rewrites before they are added.

use crate::ir::{Binary, Computation, Instruction, Op, ValueId};

use super::known::known_number;

/// Both operands of an addition or subtraction, each with the value that it selects, if both are selects by the same
/// predicate between a value and a constant. LLVM adds the values and selects afterwards, because the sum of the
/// constants folds (`InstCombinerImpl::SimplifySelectsFeedingBinaryOp`).
pub fn equal_choices(computation: &Computation, uses: &[usize], sum: &Instruction) -> Option<[[ValueId; 2]; 2]> {
    let &[left, right] = &sum.operands[..] else { return None };
    let predicate = |id: ValueId| computation.instructions[id].operands[0];
    let is_choice = |id: ValueId| {
        let choice = &computation.instructions[id];
        choice.op == Op::Select && uses[id] == 1 && choice.fusion() == sum.fusion()
    };
    if !is_choice(left) || !is_choice(right) || predicate(left) != predicate(right) {
        return None;
    }
    let parts = [left, right].map(|id| [1, 2].map(|side| computation.instructions[id].operands[side]));
    let known = |side: usize| parts.iter().all(|part| known_number(computation, part[side], sum.fusion()).is_some());
    let side = [1, 0].into_iter().find(|side| known(*side))?;
    Some([[left, parts[0][1 - side]], [right, parts[1][1 - side]]])
}

/// The constant on one side of a select that is multiplied by a constant; of two constant sides, one that is not 0.
/// LLVM multiplies both sides of the select (`InstCombinerImpl::FoldOpIntoSelect`). `None` for a maximum or
/// minimum, which stays as it is, and for a select whose predicate `is_known`.
pub fn number_in_choice(
    computation: &Computation,
    uses: &[usize],
    product: &Instruction,
    is_known: impl Fn(ValueId) -> bool,
) -> Option<f32> {
    let [a, b] = product.operands[..] else { return None };
    let known = |id: ValueId| known_number(computation, id, product.fusion());
    let in_choice = |id: ValueId| {
        let choice = &computation.instructions[id];
        let &[predicate, on_true, on_false] = &choice.operands[..] else { return None };
        let compare = &computation.instructions[predicate];
        let is_extremum = matches!(compare.op, Op::Compare { .. })
            && [on_true, on_false].iter().all(|side| compare.operands.contains(side));
        let is_alone = choice.op == Op::Select && choice.fusion() == product.fusion() && uses[id] == 1;
        let numbers = [on_true, on_false].into_iter().filter_map(known);
        numbers
            .reduce(|one, other| if one == 0.0 { other } else { one })
            .filter(|_| is_alone && !is_extremum && !is_known(id))
    };
    known(a).and_then(|_| in_choice(b)).or_else(|| known(b).and_then(|_| in_choice(a)))
}

/// Whether `sum` adds the operand to a constant, or subtracts one from the other. LLVM then adds the constant on each
/// side of a select, too.
pub fn is_sum_with_number(computation: &Computation, [operand, sum]: [ValueId; 2]) -> bool {
    let Instruction { op, operands, .. } = &computation.instructions[sum];
    let fusion = computation.instructions[sum].fusion();
    let mut others = operands.iter().filter(|other| **other != operand);
    matches!(op, Op::Binary(Binary::Add | Binary::Subtract))
        && others.any(|other| known_number(computation, *other, fusion).is_some())
}
