//! Reductions between devices that a compiled file has a plan of.

use serde::Serialize;

use crate::hlo::Import;

/// A reduction between devices, by the plan of a compiled file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collective {
    /// Its name in the file.
    pub name: String,
    /// Its opcode.
    pub opcode: String,
    /// `op_name` of its metadata.
    pub op_name: Option<String>,
    /// The devices of a group.
    pub devices: usize,
    /// The plan in words: strategy, emitter, colors, phases, dims and rings.
    pub plan: String,
    /// The order of additions in words, and how far it is known.
    pub order: String,
}

pub(super) fn collectives(import: &Import) -> Vec<Collective> {
    let one = |known: &crate::hlo::PlannedCollective| Collective {
        name: known.name.clone(),
        opcode: known.opcode.to_string(),
        op_name: known.op_name.clone(),
        devices: known.devices,
        plan: known.algorithm_text(),
        order: known.order_text(),
    };
    import.collectives.iter().map(one).collect()
}
