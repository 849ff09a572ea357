//! Loop-invariant parts of a loop's state. A compiler may move computations of them alone out of the loop, where they
//! follow a rounding before it. It may also read their initial values behind the loop.

use crate::ir::{Class, Computation, Op, Program, ValueId};

/// Whether a loop widens a loop-invariant part of its state that may have been rounded before the loop, or hands it out
/// to a reader behind the loop: no guard ends that choice. `around` is the loop's level. `hands_on` is whether a
/// parameter of that level is loop-invariant in the loop around it.
pub(super) fn widens_what_it_hands_on(
    around: &Computation,
    at: ValueId,
    body: &Program,
    hands_on: &dyn Fn(usize) -> bool,
) -> bool {
    let inside = body.entry();
    let is_rounded = |number: usize| {
        let operand = around.instructions[at].operands[number];
        let is_float = around.instructions[operand].shape.dtype().is_some_and(|dtype| dtype.is_float());
        is_float && is_handed_on(inside, number) && !is_stored(around, operand, hands_on)
    };
    let is_read = |id: usize| around.instructions.iter().any(|user| user.operands.contains(&id));
    let out = around.instructions.iter().enumerate().any(|(id, user)| match user.op {
        Op::GetTupleElement(number) if user.operands[0] == at => is_rounded(number) && is_read(id),
        _ => false,
    });
    if out {
        return true;
    }
    let users = inside.users();
    let mut held: Vec<Held> = Vec::with_capacity(inside.instructions.len());
    for (id, instruction) in inside.instructions.iter().enumerate() {
        let operands = || instruction.operands.iter().map(|operand| held[*operand]);
        let is_same = operands().all(|operand| operand.is_same);
        let of_rounded = is_same && operands().any(|operand| operand.is_rounded);
        let own = match instruction.op {
            Op::Parameter(number) => Held { is_same: is_handed_on(inside, number), is_rounded: is_rounded(number) },
            ref op => Held { is_same, is_rounded: of_rounded && op.class() == Class::Moves },
        };
        let bits = |id: ValueId| inside.instructions[id].shape.dtype().map_or(0, |dtype| dtype.bits());
        // A dot reads its operands as they are stored.
        let is_for_dots = || users[id].iter().all(|user| matches!(inside.instructions[*user].op, Op::Dot { .. }));
        if instruction.op == Op::Convert && of_rounded && bits(id) > bits(instruction.operands[0]) && !is_for_dots() {
            return true;
        }
        held.push(own);
    }
    false
}

/// Properties of a value of a body.
#[derive(Clone, Copy)]
struct Held {
    /// Whether it is the same in each trip.
    is_same: bool,
    /// Whether its elements are also those of a value that may have been rounded before the loop.
    is_rounded: bool,
}

/// Whether a body returns this part of its state unchanged.
pub(super) fn is_handed_on(body: &Computation, number: usize) -> bool {
    let root = &body.instructions[body.root];
    let given = root.operands.get(number).filter(|_| root.op == Op::Tuple);
    given.is_some_and(|given| body.instructions[*given].op == Op::Parameter(number))
}

/// Whether a value is in memory before anything is computed.
fn is_stored(computation: &Computation, id: ValueId, hands_on: &dyn Fn(usize) -> bool) -> bool {
    let instruction = &computation.instructions[id];
    match instruction.op {
        Op::Parameter(number) => !hands_on(number),
        _ => {
            matches!(instruction.op.class(), Class::Source | Class::Moves)
                && instruction.operands.iter().all(|operand| is_stored(computation, *operand, hands_on))
        }
    }
}
