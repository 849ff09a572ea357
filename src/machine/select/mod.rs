//! Operations that pick elements: argmax, top-k, sort, approximate top-k.

mod approximate;
mod argmax;
mod order;
mod radix;

pub use approximate::{Binning, Fault, Reduction, aggregate, partial_reduce_batch};
pub use argmax::{argmax, greater_keep};
pub use order::{merge_sort, sort_indices, top_k};
