//! Loop bodies: the compiler's passes go through them as through the entry.

use std::collections::BTreeSet;

use crate::analysis::is_of_integers;
use crate::ir::{Computation, ComputationId, Op, Program, ValueId};

use super::dead;

/// `program` with the body of each of its entry's loops rewritten by `rewrite`. A body is given as the entry of a
/// program of its own; the types of its parameters and results must stay.
pub(super) fn rewrite_bodies(program: &Program, rewrite: &dyn Fn(&Program) -> Program) -> Program {
    let mut rewritten = program.clone();
    let bodies: BTreeSet<ComputationId> = program.entry().instructions.iter().filter_map(|i| body(&i.op)).collect();
    // The replacement of a body is longer: the last body goes first, so that the others stay where they are.
    for body in bodies.into_iter().rev() {
        let alone = Program { entry: body, ..rewritten.clone() };
        let new = rewrite(&dead::drop_unused_computations(alone));
        debug_assert_eq!(new.entry + 1, new.computations.len(), "regions lie before the entry");
        rewritten = with_body(rewritten, body, new.computations);
    }
    rewritten
}

/// The body of a loop of the entry, as the entry of a program of its own; `None` for any other instruction.
pub fn body_of(program: &Program, id: ValueId) -> Option<Program> {
    let entry = body(&program.entry().instructions[id].op)?;
    Some(dead::drop_unused_computations(Program { entry, ..program.clone() }))
}

/// The body of a loop that can be laid out trip by trip: one with floats, and not of a compiled file, whose fusions have ways of
/// their own.
pub(super) fn unrollable_body(program: &Program, id: ValueId) -> Option<Program> {
    let own = body_of(program, id)?;
    let is_compiled =
        own.instructions().any(|i| i.fusion().is_some_and(|fusion| fusion.is_compiled() || fusion.is_library()));
    (!is_compiled && !is_of_integers(program, id)).then_some(own)
}

/// `program` in which a loop of the entry has `new`'s entry as its body, which takes and gives the same types. The old body stays in
/// the program.
pub fn with_body_of(mut program: Program, id: ValueId, new: Program) -> Program {
    let (first, own) = (program.entry, new.entry);
    let mut added = new.computations;
    for callee in added.iter_mut().flat_map(|c| &mut c.instructions).flat_map(|i| i.op.callees_mut()) {
        *callee += first;
    }
    program.entry += added.len();
    program.computations.splice(first..first, added);
    if let Op::While { body, .. } = &mut program.computations[program.entry].instructions[id].op {
        *body = first + own;
    }
    program
}

fn body(op: &Op) -> Option<ComputationId> {
    match op {
        Op::While { body, .. } => Some(*body),
        _ => None,
    }
}

/// `program` with `new` in the place of one computation; the last of `new` is the new body.
fn with_body(mut program: Program, old: ComputationId, mut new: Vec<Computation>) -> Program {
    let more = new.len() - 1;
    let callees = |computations: &mut [Computation], moved: &dyn Fn(ComputationId) -> ComputationId| {
        for callee in computations.iter_mut().flat_map(|c| &mut c.instructions).flat_map(|i| i.op.callees_mut()) {
            *callee = moved(*callee);
        }
    };
    callees(&mut program.computations, &|callee| if callee >= old { callee + more } else { callee });
    callees(&mut new, &|callee| callee + old);
    program.computations.splice(old..=old, new);
    program.entry += more;
    program
}
