//! Context of an instruction while a file is lowered.

use std::sync::Arc;

use crate::ir::{Fusion, Mark, Setting, Tiling};

use crate::settings::Packed;

/// Context of an instruction that is inlined.
#[derive(Clone, Default)]
pub struct Scope {
    /// The fusion or call of the entry.
    pub within: Option<String>,
    pub op_name: Option<String>,
    pub fusion: Option<Fusion>,
    /// The exchange between devices that it is a step of.
    pub mark: Option<Mark>,
    /// The plan of the matmul in the fusion.
    pub tiling: Option<Arc<Tiling>>,
    /// The operations of the fusion that are emitted packed.
    pub packed: Packed,
    /// Whether it stands in a call that is compiled as one function.
    pub small_call: bool,
    /// Dims over which a scalar computation is mapped.
    pub over: Option<Vec<usize>>,
    /// Settings of all of it that the machine does not follow.
    pub settings: Vec<Setting>,
    pub depth: usize,
}

impl Scope {
    /// Context of the instructions of a region.
    pub fn of_region(&self) -> Scope {
        Scope { depth: self.depth + 1, small_call: self.small_call, ..Scope::default() }
    }
}
