//! Evaluates a program the way a TPU would, in one precision mode.

mod alike;
mod blocks;
mod chip;
mod evaluate;
mod integer;
mod mode;
pub mod mxu;
mod prepared;
mod promise;
mod refinement;
mod region;
mod scalar;
pub mod select;
mod sum;
mod value;
pub mod vector;

pub use alike::compute_alike;
pub use chip::{CHIPS, Chip, chip_named};
pub(crate) use evaluate::is_spread;
pub use evaluate::{EvalError, evaluate};
pub(crate) use integer::conversion_steps;
pub use mode::{DotUnit, Mode, ModeError, PRECISIONS, PrecisionRow};
pub use prepared::{Bound, Held, Prepared};
pub use refinement::{Choices, REFINEMENTS, RefinementRow};
pub(crate) use sum::{RowSum, SumPromise};
