//! The matrix unit: bf16 passes, their splits, and the order in which products are summed.
//!
//! [`Unit`], [`Passes`], [`Split`] and [`Accumulation`] define the results. [`matmul`] computes them: it walks over
//! tiles of the outputs (`matmul`), packs and splits a tile's parts of the operands (`pack`), measures them (`range`),
//! and sums the products (`pass`). Kernels keep every output's own order (`tile` and `lanes`, `tree`, `exact`) over a
//! scalar arithmetic (`arithmetic`), on the vector instructions that there are (`isa`). One row alone is multiplied
//! without packing (`one_row`); products of few steps are stored as they are summed (`few_steps`).

#![allow(clippy::needless_range_loop, reason = "lanes of several arrays are indexed together, as vectors are")]

mod accumulate;
mod arithmetic;
mod blocks;
pub(super) mod exact;
mod few_steps;
mod instructions;
mod isa;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod one_row;
mod pack;
mod pass;
mod promise;
mod range;
mod split;
mod tile;
mod tree;
mod unit;

pub use accumulate::Accumulation;
pub(super) use arithmetic::sum_to_f32;
pub use instructions::Instructions;
pub use promise::{DotPromise, Intake};
pub use split::{Passes, Split};
pub use unit::{Unit, matmul, matmul_on};

#[cfg(test)]
mod tests;
