//! The libraries that XLA:CPU calls: YNNPACK and Eigen for dots and sums, OpenBLAS for factorizations, DUCC for Fourier
//! transforms.

mod block_order;
mod call;
mod complex_dot;
mod contraction_order;
mod dot_order;
mod dot_sum;
mod ducc;
mod introsort;
mod library_dot;
mod library_kernels;
mod openblas;
mod ynnpack_sum;

pub use call::call;
pub use dot_order::DotOrder;
pub use dot_sum::DotSum;
pub use introsort::Introsort;
pub use library_dot::LibraryDot;
pub use ynnpack_sum::LibrarySum;

/// Threads that a library shares work among: a modelling choice, which few bits depend on.
const THREADS: usize = 2;
