//! The matrix unit: bf16 passes, their splits, and the order in which products are summed.

mod accumulate;
mod arithmetic;
mod exact;
mod instructions;
mod isa;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod matmul;
mod pack;
mod pass;
mod range;
mod split;
mod tile;
mod tree;
mod unit;

pub use accumulate::Accumulation;
pub use instructions::Instructions;
pub use split::{Passes, Split};
pub use unit::{Unit, matmul, matmul_on};

#[cfg(test)]
mod tests;
