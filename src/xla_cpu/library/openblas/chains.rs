//! Sums of products as OpenBLAS's kernels for AVX-512 take them, subnormals flushed.

use crate::num::flush_f32;

/// `a b + c`, rounded once. Subnormal numbers count as zeros.
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    let [a, b, c] = [a, b, c].map(flush_f32);
    flush_f32(a.mul_add(b, c))
}

/// `a b`.
pub fn product(a: f32, b: f32) -> f32 {
    flush_f32(flush_f32(a) * flush_f32(b))
}

/// `a + b`.
pub fn sum(a: f32, b: f32) -> f32 {
    flush_f32(flush_f32(a) + flush_f32(b))
}

/// `c - a b`, rounded once.
pub fn less(c: f32, a: f32, b: f32) -> f32 {
    fma(-a, b, c)
}

/// From zero, one product after the other (`sgemm_kernel`, and `sgemv_n` of up to 48 columns but four).
pub fn chain(products: impl Iterator<Item = (f32, f32)>) -> f32 {
    products.fold(0.0, |sum, (a, b)| fma(a, b, sum))
}

/// The products of each row of four with a vector (`sgemv_n`). Of the rows that no sixteen take, the first four and the next
/// eight have two chains, those behind them one.
pub fn rows_of_four(rows: usize, row: usize, products: [(f32, f32); 4]) -> f32 {
    let even_and_odd = row < rows % 16 / 4 * 4;
    let [first, second, third, fourth] = products;
    match even_and_odd {
        true => flush_f32(chain([first, third].into_iter()) + chain([second, fourth].into_iter())),
        false => chain(products.into_iter()),
    }
}

/// `sdot` of elements that lie apart: products in pairs, which are added up in f64.
pub fn dot_apart(products: &[(f32, f32)]) -> f32 {
    let pair = |pair: &[(f32, f32)]| match *pair {
        [(a, b), (c, d)] => fma(a, b, product(c, d)),
        _ => chain(pair.iter().copied()),
    };
    let sum: f64 = products.chunks(2).map(|products| f64::from(pair(products))).sum();
    // From +0, whatever the sign of zeros.
    flush_f32((0.0 + sum) as f32)
}
