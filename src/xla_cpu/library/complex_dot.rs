//! The order of XLA:CPU's dots of complex numbers, which Eigen computes (`GeneralBlockPanelKernel.h`, built for AVX without
//! fused multiply-adds; FACTS 3.6).
//!
//! A complex dot is four dots of parts, `ac - bd` and `ad + bc`, whose sums are kept apart to the end: Eigen's double packets.

use crate::ir::LibraryFunction;
use crate::num::flush_f32;

use crate::machine::mxu::Unit;

/// Order in which the products of one of the four dots `[m,k] x [k,n]` are summed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComplexDot {
    sizes: [usize; 3],
}

/// Columns of the widest block, those of the narrowest, and rows that are taken at a time.
const WIDE: usize = 8;
const NARROW: usize = 2;
const ROWS: usize = 4;

impl ComplexDot {
    /// `None` for what is no part of a complex dot, or of one with a single row and several columns, of which Eigen makes complex
    /// products one after the other: a compiled file has these in its place.
    pub fn new(function: Option<&LibraryFunction>, sizes: [usize; 3]) -> Option<ComplexDot> {
        let [m, _, n] = sizes;
        let is_part = function == Some(&LibraryFunction::ComplexDot);
        (is_part && (m > 1 || n == 1)).then_some(ComplexDot { sizes })
    }

    /// In how many sums, in turn, the products of the result at row `i` and column `j` are added, and how many of the products;
    /// the others follow. Rows behind the last four in the last, odd column are complex products in turn, which is not followed.
    pub fn of_place(&self, i: usize, j: usize) -> [usize; 2] {
        let [m, k, n] = self.sizes;
        match () {
            () if j < n - n % WIDE || i >= m - m % ROWS => [1, 0],
            () if j < n - n % NARROW => [2, k - k % 8],
            () => [4, k - k % 4],
        }
    }

    /// The products of row-major operands, on the unit of a mode, into `out`.
    pub fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]) {
        let [_, k, n] = self.sizes;
        let flushed = |x: f32| if unit.flush { flush_f32(x) } else { x };
        let add = |a: f32, b: f32| flushed(a + b);
        for (at, out) in out.iter_mut().enumerate() {
            let (i, j) = (at / n, at % n);
            let product = |l: usize| flushed(flushed(lhs[i * k + l]) * flushed(rhs[l * n + j]));
            let [sums, shared] = self.of_place(i, j);
            let sum = |first: usize| (first..shared).step_by(sums).map(product).fold(0.0, add);
            let mut parts: Vec<f32> = (0..sums).map(sum).collect();
            while parts.len() > 1 {
                parts = parts.chunks(2).map(|pair| add(pair[0], pair[1])).collect();
            }
            let sum = (shared..k).map(product).fold(parts[0], add);
            *out = if sum.is_nan() { f32::NAN } else { sum };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ComplexDot;
    use crate::cpu_row::matrix_unit;
    use crate::ir::LibraryFunction;

    fn dot(sizes: [usize; 3], numbers: impl Fn(usize) -> f32) -> Vec<f32> {
        let [m, k, n] = sizes;
        let unit = matrix_unit();
        let order = ComplexDot::new(Some(&LibraryFunction::ComplexDot), sizes).unwrap();
        let lhs: Vec<f32> = (0..m * k).map(|at| numbers(at % k)).collect();
        let mut out = vec![0.0; m * n];
        order.matmul(&lhs, &vec![1.0; k * n], &unit, &mut out);
        out
    }

    /// A large number absorbs the terms added to it, and its negative leaves the others: the terms that join after the two are left.
    #[test]
    fn sums_in_turn_are_joined_at_the_end() {
        let left = |sizes: [usize; 3], pair: [usize; 2]| {
            dot(sizes, |l| match pair.iter().position(|at| *at == l) {
                Some(0) => 2f32.powi(40),
                Some(_) => -(2f32.powi(40)),
                None => 1.0,
            })
        };
        // Eight columns: one chain. The next two: even and odd products apart. The last: four sums in turn, the two large ones apart.
        let of = left([5, 9, 11], [1, 3]);
        assert_eq!(of[..8], [5.0; 8]);
        assert_eq!(of[8..10], [7.0; 2]);
        assert_eq!(of[10], 1.0);
        // Of rows behind the last four every result is one chain.
        assert_eq!(of[44..54], [5.0; 10]);
    }

    #[test]
    fn a_row_of_several_columns_is_none() {
        assert_eq!(ComplexDot::new(Some(&LibraryFunction::ComplexDot), [1, 8, 8]), None);
        assert_eq!(ComplexDot::new(None, [8, 8, 8]), None);
    }
}
