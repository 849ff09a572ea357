//! Instructions that have no meaning here, and the results that depend on them.

use serde::Serialize;

use crate::hlo::Import;
use crate::ir::{ComputationId, Op, Program, ValueId};

/// An instruction that has no meaning here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// Its name in the file.
    pub name: String,
    /// Its opcode; of a custom call, the target.
    pub what: String,
    /// Its line in the file, from 1.
    pub line: u32,
    /// Its column in the file, in characters from 1.
    pub column: u32,
    /// Why it has no meaning here.
    pub why: String,
    /// The program's results that depend on it.
    pub results: Vec<String>,
}

pub(super) fn unknown(import: &Import) -> Vec<Unknown> {
    let program = &import.program;
    let mut are_opaque: Vec<bool> = Vec::with_capacity(program.computations.len());
    for computation in &program.computations {
        let is_opaque = computation.instructions.iter().any(|one| is_opaque(&one.op, &are_opaque));
        are_opaque.push(is_opaque);
    }
    let one = |of: &crate::hlo::Unknown| {
        let is_here = |id: &ValueId| {
            let at = import.origins[*id].at;
            matches!(program.entry().instructions[*id].op, Op::Opaque(_))
                && (at.line, at.column) == (of.at.line, of.at.column)
        };
        let ids = 0..program.entry().instructions.len();
        let mut origins: Vec<ValueId> = ids.clone().filter(is_here).collect();
        if origins.is_empty() {
            // It stands in a region of one of these.
            let calls = |id: &ValueId| {
                let op = &program.entry().instructions[*id].op;
                !matches!(op, Op::Opaque(_)) && is_opaque(op, &are_opaque)
            };
            origins = ids.filter(calls).collect();
        }
        let (name, what, why) = (of.name.clone(), of.what.clone(), of.why.clone());
        Unknown { name, what, line: of.at.line, column: of.at.column, why, results: results(program, &origins) }
    };
    import.unknown.iter().map(one).collect()
}

/// Whether an operation is opaque, or a computation that it calls has one that is.
fn is_opaque(op: &Op, are_opaque: &[bool]) -> bool {
    matches!(op, Op::Opaque(_)) || op.callees().any(|id: ComputationId| are_opaque.get(id) == Some(&true))
}

/// The results that depend on one of these values.
fn results(program: &Program, origins: &[ValueId]) -> Vec<String> {
    let mut follows: Vec<bool> = Vec::new();
    for (id, instruction) in program.entry().instructions.iter().enumerate() {
        follows.push(origins.contains(&id) || instruction.operands.iter().any(|operand| follows[*operand]));
    }
    let results = program.outputs().into_iter().zip(&program.output_names);
    results.filter(|(id, _)| follows[*id]).map(|(_, name)| name.clone()).collect()
}
