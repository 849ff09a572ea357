//! Complex numbers as pairs of arrays.

use crate::ir::ValueId;

/// The real and the imaginary part.
pub type Parts = [ValueId; 2];
