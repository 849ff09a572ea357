//! Whether two programs can be two forms of one.

use crate::hlo::Import;
use crate::ir::{Program, ValueId};

/// Why two programs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    /// They have different numbers of results.
    #[error("BEFORE gives {before} results and AFTER gives {after}: these are not two forms of one program")]
    Results {
        /// Number of results of BEFORE.
        before: usize,
        /// Number of results of AFTER.
        after: usize,
    },
    /// One is cut for several devices, each of which has its own part of a result, and the other is not, or otherwise.
    #[error(
        "BEFORE is for {} and gives {} arrays, AFTER is for {} and gives {}: one is cut for devices and the other is whole, or \
         cut otherwise. Compare two that are cut alike: as BEFORE the dump behind the pass that cuts the program \
         (--xla_dump_hlo_pass_re=spmd-partitioning), or both compiled without a mesh",
        devices(before.0), before.1, devices(after.0), after.1
    )]
    Devices {
        /// Number of devices of BEFORE, and number of arrays that it gives on all of them.
        before: (usize, usize),
        /// The same of AFTER.
        after: (usize, usize),
    },
    /// A result has other dims in each.
    #[error("result {index} is {before} in BEFORE and {after} in AFTER: these are not two forms of one program")]
    Shape {
        /// Index of the result, from 0.
        index: usize,
        /// Its shape in BEFORE.
        before: String,
        /// Its shape in AFTER.
        after: String,
    },
}

fn devices(count: usize) -> String {
    if count == 1 { "one device".to_string() } else { format!("{count} devices") }
}

/// The types and dims of a program's arguments, such as `(f32[8,4], s32[])`.
pub fn parameters_text(program: &Program) -> String {
    let shapes = program.entry().parameter_shapes().into_iter().map(|shape| shape.to_string());
    format!("({})", shapes.collect::<Vec<_>>().join(", "))
}

/// Whether two programs have the same number of results, of the same dims.
pub(super) fn same_results(before: &Import, after: &Import) -> Result<(), DiffError> {
    let (left, right) = (before.program.outputs(), after.program.outputs());
    if left.len() != right.len() && before.devices.max(after.devices) > 1 {
        return Err(DiffError::Devices { before: (before.devices, left.len()), after: (after.devices, right.len()) });
    }
    if left.len() != right.len() {
        return Err(DiffError::Results { before: left.len(), after: right.len() });
    }
    for (index, (one, other)) in left.into_iter().zip(right).enumerate() {
        let shape = |import: &Import, id: ValueId| import.program.entry().instructions[id].shape.clone();
        let (one, other) = (shape(before, one), shape(after, other));
        if one.dims() != other.dims() {
            return Err(DiffError::Shape { index, before: one.to_string(), after: other.to_string() });
        }
    }
    Ok(())
}
