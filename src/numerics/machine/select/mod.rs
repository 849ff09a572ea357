//! Operations that pick elements: argmax (`argmax`), sort and top-k (`order`, over `radix`), approximate top-k
//! (`approximate`).

mod approximate;
mod best;
mod introsort;
mod radix;
mod ranking;

pub use approximate::{Binning, Fault};
pub(super) use approximate::{Reduction, aggregate, partial_reduce_batch};
pub(super) use best::{argmax, greater_keep};
pub(super) use ranking::{sort_by, sort_indices, top_k};
