//! Operations that pick elements: argmax (`argmax`), sort and top-k (`order`, over `radix`), approximate top-k
//! (`approximate`).

mod approximate;
mod argmax;
mod order;
mod radix;

pub use approximate::{Binning, Fault};
pub(super) use approximate::{Reduction, aggregate, partial_reduce_batch};
pub(super) use argmax::{argmax, greater_keep};
pub(super) use order::{merge_sort, sort_indices, top_k};
