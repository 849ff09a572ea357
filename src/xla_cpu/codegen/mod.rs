//! The code that XLA:CPU generates for fusions: its loops, LLVM's vectorizer and unroller, contraction into fused
//! multiply-adds, and constant folding, as far as they decide the bits of a result.
//!
//! Each question about a computation has one answer here, found without running it: the products that are added before they are
//! rounded ([`find_contractions`], [`find_inner_products`]), the columns that are folded ([`find_folded_columns`],
//! [`find_folded_functions`]), the loops of sums ([`find_sum_loops`]), and the roundings that a library leaves out
//! ([`find_kept_wide`]). The rules are those of jaxlib 0.10.2 (FACTS 3.11, 3.12), and no new one is taken up.

mod address;
mod along;
mod calls;
mod chosen_terms;
mod complex_parts;
mod elements_in_places;
mod emission;
mod folding;
mod fusion;
mod inner;
mod inner_product;
mod innermost;
mod invariant;
mod kept_wide;
mod kernel_functions;
mod known;
mod known_choice;
mod negative_zero;
mod runs;
mod signs;
mod single_numbers;
mod sum_loop;
mod sum_term;
mod sum_weight;
mod unroll;
mod ways;
mod with_code;

pub use folding::{FoldedFunction, find_folded_columns, find_folded_functions};
pub use fusion::{Contractions, find_contractions};
pub use inner::Inner;
pub use inner_product::find_inner_products;
pub use kept_wide::find_kept_wide;
pub use sum_loop::find_sum_loops;
pub use with_code::with_code;

/// Elements of a register: of f32 in 256 bits, which LLVM prefers to wider ones.
const LANES: usize = 8;
