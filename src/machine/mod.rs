//! Evaluates a program the way a TPU would, in one precision mode.

mod alike;
mod blocks;
mod chip;
mod evaluate;
mod integer;
mod mode;
pub mod mxu;
mod refinement;
mod region;
mod scalar;
pub mod select;
mod value;
pub mod vector;

pub use alike::compute_alike;
pub use chip::{CHIPS, Chip, chip_named};
pub use evaluate::{EvalError, evaluate};
pub use mode::{Mode, ModeError, PRECISIONS, PrecisionRow};
pub use refinement::{REFINEMENTS, RefinementRow, Refinements};
