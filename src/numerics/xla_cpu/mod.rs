//! XLA's CPU backend, apart from everything that computes for a TPU.

mod codegen;

pub use codegen::{
    Beside, Columns, Contractions, FoldedColumns, FoldedFunction, Inner, LibraryDot, Rows, Step, SumLoop,
    find_contractions, find_folded_columns, find_folded_functions, find_inner_products, find_kept_wide, find_sum_loops,
    with_code,
};
