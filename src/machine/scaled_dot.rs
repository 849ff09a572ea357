//! Dots of scaled blocks in f32, each step rounded.
//!
//! The order of tiles is public: TorchTPU 0.2.0, `_internal/ops/scaled_mm/kernels/blockwise_scaled_mm_kernel.py`. The order within a block is the
//! matrix unit's and is not: a block's dot is its exact value rounded once, a modelling choice that decides nothing where that value is
//! an f32.

use crate::scaled::BlockDot;

use super::mxu::exact::ExactSum;

/// Steps from dots of blocks to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaledOrder {
    /// In each tile of so many elements of K a sum takes `((dot * scale_a) * scale_b)` block after block; the sums of the tiles are
    /// added in order. TorchTPU has 512 or 256.
    Tiles(usize),
    /// As [`ScaledOrder::Tiles`], with the second product and the sum in one rounding.
    FusedTiles(usize),
    /// One sum over all blocks.
    Flat,
    /// Scales within the matrix unit, as of TPU 8: in each tile of so many elements of K the scaled products are added
    /// exactly and rounded once. A modelling choice.
    InUnit(usize),
    /// Each element is multiplied by its scale in f32, then products are added one after the other in f32.
    Dequantized,
}

/// Integers that the elements are multiples 2^-16 of.
fn sixteenths(value: f64) -> i128 {
    (value * 65536.0) as i128
}

/// The dot of one block, exact, in units of 2^-32.
fn units(dot: &BlockDot, i: usize, j: usize, block: usize) -> i128 {
    dot.pairs(i, j, block).map(|(a, b)| sixteenths(a) * sixteenths(b)).sum()
}

/// The dot of one block, rounded to f32 once: integers convert to the nearest f32, and the power of two is exact.
fn rounded(dot: &BlockDot, i: usize, j: usize, block: usize) -> f32 {
    units(dot, i, j, block) as f32 * 2f32.powi(-32)
}

/// The scaled products of the blocks of one tile, added exactly and rounded to f32 once.
fn rounded_tile(dot: &BlockDot, i: usize, j: usize, tile: &[usize]) -> f32 {
    const LOW: i128 = (1 << 48) - 1;
    let mut sum = ExactSum::default();
    for block in tile {
        let (scale_a, scale_b) = dot.scales(i, j, *block);
        // 48 bits: an f64 holds the product of two f32.
        let scale = scale_a * scale_b;
        let units = units(dot, i, j, *block);
        // A block's sum may have more bits than an f64, so that it is cut in two. The product of a part with the scale is
        // exact as a number and its error.
        for part in [(units & LOW) as f64 * 2f64.powi(-32), (units >> 48) as f64 * 2f64.powi(16)] {
            let product = part * scale;
            sum.add(product);
            sum.add(part.mul_add(scale, -product));
        }
    }
    sum.to_f32()
}

/// The result [m, n], row-major.
pub fn scaled_dot(dot: &BlockDot, order: ScaledOrder) -> Vec<f32> {
    let [m, _, n] = dot.dims();
    let places = (0..m).flat_map(|i| (0..n).map(move |j| (i, j)));
    places.map(|(i, j)| element(dot, order, i, j)).collect()
}

fn element(dot: &BlockDot, order: ScaledOrder, i: usize, j: usize) -> f32 {
    // A tile shorter than a block still takes a whole one: a block has one scale.
    let per_tile = |tile: usize| (tile / dot.block()).max(1);
    let scaled = |block: usize| {
        let (scale_a, scale_b) = dot.scales(i, j, block);
        (rounded(dot, i, j, block) * scale_a as f32, scale_b as f32)
    };
    let tiles = |per_tile: usize, step: &dyn Fn(f32, usize) -> f32| {
        let all: Vec<usize> = (0..dot.blocks()).collect();
        let sum = |tile: &[usize]| tile.iter().fold(0f32, |sum, block| step(sum, *block));
        all.chunks(per_tile).map(sum).fold(0f32, |total, sum| total + sum)
    };
    let plain = |sum: f32, block: usize| {
        let (product, scale_b) = scaled(block);
        sum + product * scale_b
    };
    match order {
        ScaledOrder::Tiles(tile) => tiles(per_tile(tile), &plain),
        ScaledOrder::Flat => tiles(dot.blocks().max(1), &plain),
        ScaledOrder::FusedTiles(tile) => tiles(per_tile(tile), &|sum, block| {
            let (product, scale_b) = scaled(block);
            product.mul_add(scale_b, sum)
        }),
        ScaledOrder::InUnit(tile) => {
            let all: Vec<usize> = (0..dot.blocks()).collect();
            all.chunks(per_tile(tile)).fold(0f32, |total, tile| total + rounded_tile(dot, i, j, tile))
        }
        ScaledOrder::Dequantized => {
            let products = (0..dot.blocks()).flat_map(|block| {
                let (scale_a, scale_b) = dot.scales(i, j, block);
                dot.pairs(i, j, block).map(move |(a, b)| (a as f32 * scale_a as f32) * (b as f32 * scale_b as f32))
            });
            products.fold(0f32, |sum, product| sum + product)
        }
    }
}
