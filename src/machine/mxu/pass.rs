//! The choice of the kernel that sums a tile. Each kernel gives the bits of the declared order, for its own range of
//! operands.

use std::marker::PhantomData;

use super::Accumulation;
use super::arithmetic::{
    Arithmetic, Flushed, Fused, FusedFlushed, FusedWide, Separate, Truncated, TruncatedFlushed, TruncatedWide,
};
use super::exact::{InExpansions, InF64, InTwoF64};
use super::isa::{Isa, Work};
use super::range::Range;
use super::tile::Tile;
use super::tree::Tree;

/// The roundings and flushes of a product that joins a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Products {
    /// The exact product, then one rounding.
    Exact,
    /// The product rounded to f32, then the sum rounded.
    Rounded,
    /// As `Rounded`, with subnormal operands, products and sums flushed.
    Flushed,
    /// As `Exact`, with subnormal operands and sums flushed; only in chains.
    FusedFlushed,
}

/// The additions of one pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub accumulation: Accumulation,
    pub products: Products,
}

impl Pass {
    /// Whether [`Pass::sum`] goes by the ranges of operands.
    pub fn needs_ranges<I: Isa>(self) -> bool {
        match self.accumulation {
            Accumulation::Exact => true,
            Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain => {
                self.products == Products::Exact && !I::FUSED
            }
            Accumulation::Trunc => self.products == Products::Exact && !I::TRUNCATES,
            Accumulation::Pairwise => self.products == Products::Exact,
        }
    }

    /// Whether additions are one after the other, of operations that the processor has.
    pub fn is_chain_on<I: Isa>(self) -> bool {
        let rounds = !matches!(self.products, Products::Exact | Products::FusedFlushed);
        self.accumulation.is_chain() && (I::FUSED || rounds)
    }

    /// Sums a tile.
    pub fn sum<I: Isa, const R: usize, const C: usize>(self, isa: I, tile: Tile<R, C>, ranges: [Range; 2]) {
        let held = || ranges[0].products_exact_in_f32(ranges[1]);
        match (self.accumulation, self.products) {
            (
                Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain,
                Products::Rounded,
            ) => isa.chain::<Separate, R, C>(tile),
            (
                Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain,
                Products::Flushed,
            ) => isa.chain::<Flushed, R, C>(tile),
            (
                Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain,
                Products::FusedFlushed,
            ) => {
                isa.chain::<FusedFlushed, R, C>(tile);
            }
            // Where f32 holds the products, a multiplication and an addition round as the fused operation does.
            (
                Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain,
                Products::Exact,
            ) if !I::FUSED && held() => {
                isa.chain::<Separate, R, C>(tile);
            }
            (
                Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain,
                Products::Exact,
            ) => isa.chain::<Fused, R, C>(tile),
            (Accumulation::Trunc, Products::Rounded) => isa.chain::<Truncated, R, C>(tile),
            (Accumulation::Trunc, Products::Flushed | Products::FusedFlushed) => {
                isa.chain::<TruncatedFlushed, R, C>(tile)
            }
            // Truncation in the instruction itself takes any product.
            (Accumulation::Trunc, Products::Exact) if I::TRUNCATES => isa.chain::<TruncatedWide, R, C>(tile),
            (Accumulation::Trunc, Products::Exact) if held() => isa.chain::<Truncated, R, C>(tile),
            (Accumulation::Trunc, Products::Exact) => isa.chain::<TruncatedWide, R, C>(tile),
            (Accumulation::Pairwise, Products::Rounded) => tree::<Separate, I, R, C>(isa, tile),
            (Accumulation::Pairwise, Products::Flushed | Products::FusedFlushed) => tree::<Flushed, I, R, C>(isa, tile),
            // The first additions of a tree join two products, of which a fused one takes one exact: f32 has to hold the other.
            (Accumulation::Pairwise, Products::Exact) if held() && I::FUSED => tree::<Fused, I, R, C>(isa, tile),
            (Accumulation::Pairwise, Products::Exact) if held() => tree::<Separate, I, R, C>(isa, tile),
            (Accumulation::Pairwise, Products::Exact) => tree::<FusedWide, I, R, C>(isa, tile),
            (Accumulation::Exact, Products::Rounded) => exact::<Separate, I, R, C>(isa, tile, ranges, true),
            (Accumulation::Exact, Products::Flushed | Products::FusedFlushed) => {
                exact::<Flushed, I, R, C>(isa, tile, ranges, true)
            }
            (Accumulation::Exact, Products::Exact) if !I::FUSED && held() => {
                exact::<Separate, I, R, C>(isa, tile, ranges, false);
            }
            (Accumulation::Exact, Products::Exact) => exact::<Fused, I, R, C>(isa, tile, ranges, false),
        }
    }
}

fn tree<A: Arithmetic, I: Isa, const R: usize, const C: usize>(isa: I, tile: Tile<R, C>) {
    isa.run(Tree::<A, R, C>(tile, PhantomData));
}

fn exact<A: Arithmetic, I: Isa, const R: usize, const C: usize>(
    isa: I,
    tile: Tile<R, C>,
    [left, right]: [Range; 2],
    rounded: bool,
) {
    let terms = tile.block.min(tile.right.len());
    if left.sums_exact_in_f64(right, terms, rounded) {
        isa.run(InF64::<A, R, C>(tile, PhantomData));
    } else if left.sums_exact_in_two_f64(right, terms, rounded) {
        isa.run(InTwoF64::<A, R, C>(tile, PhantomData));
    } else {
        // Nothing to vectorise: every output's expansion has a length of its own.
        InExpansions::<A, R, C>(tile, PhantomData).run();
    }
}
