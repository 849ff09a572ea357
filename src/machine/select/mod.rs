//! Operations that pick elements: argmax (`best`), sort and top-k (`ranking`, over `radix`), approximate
//! top-k (`approximate`).

mod approximate;
mod best;
mod radix;
mod ranking;

pub use approximate::{Binning, PlantedFault};
pub(super) use approximate::{Reduction, aggregate, partial_reduce_batch};
pub(super) use best::{argmax, greater_keep};
pub(super) use ranking::{sort_by, sort_indices, top_k, top_k_of_integers, top_k_wide};
