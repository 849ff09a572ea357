//! The loops over one pair of vectors, written so that the compiler makes vector code of them.

use super::simd::{Kernel, dispatch};
use super::two_sum;

const LANES: usize = 16;

/// A plain dot product, in whatever order: its user has shown that no addition rounds.
pub fn dot(row: &[f64], column: &[f64]) -> f64 {
    struct Dot<'a>(&'a [f64], &'a [f64]);
    impl Kernel for Dot<'_> {
        type Output = f64;

        #[inline(always)]
        fn run(self) -> f64 {
            let mut lanes = [0.0; LANES];
            let (rows, row_rest) = self.0.as_chunks::<LANES>();
            let (columns, column_rest) = self.1.as_chunks::<LANES>();
            for (a, b) in rows.iter().zip(columns) {
                for lane in 0..LANES {
                    lanes[lane] += a[lane] * b[lane];
                }
            }
            let rest = row_rest.iter().zip(column_rest).fold(0.0, |sum, (a, b)| sum + a * b);
            lanes.iter().fold(rest, |sum, lane| sum + lane)
        }
    }
    dispatch(Dot(row, column))
}

/// A sum of exact products: rounded partial sums, and the errors they made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dot2 {
    /// The rounded sum.
    pub total: f64,
    /// The sum of all errors, itself rounded: `total + errors` is the sum, but for that.
    pub errors: f64,
    /// The sum of their magnitudes.
    pub magnitudes: f64,
}

impl Dot2 {
    #[inline(always)]
    fn add(&mut self, term: f64) {
        let (total, error) = two_sum(self.total, term);
        self.total = total;
        self.errors += error;
        self.magnitudes += error.abs();
    }

    /// Whether `errors` lost nothing, the products being multiples of `2^grid`.
    ///
    /// Then the partial sums and their errors are such multiples too. While the magnitudes stay below 2^52 of them, no
    /// partial sum of the errors, nor of the magnitudes, needs more than 53 bits.
    #[inline]
    pub fn errors_are_exact(self, grid: i32) -> bool {
        self.magnitudes < crate::num::exp2i(52 + grid)
    }

    /// A bound on what `errors` lost, for a sum of `terms` products.
    ///
    /// The longest chain of additions has d <= terms / 16 + 33 of them: a lane with one of the rest, then all lanes
    /// with the errors of joining them. Each error has lost at most gamma_d = d u / (1 - d u) of itself on the way,
    /// u = 2^-53, and `magnitudes` is short by at most gamma_d of itself: 2 (d + 2) u covers both while d < 2^50.
    /// Products and sums are multiples of the smallest f64, so nothing underflows.
    #[inline]
    pub fn error_bound(self, terms: usize) -> f64 {
        ((terms / LANES + 40) as f64 * f64::EPSILON * self.magnitudes).next_up()
    }
}

/// Sums products that are exact in f64.
pub fn dot2(row: &[f64], column: &[f64]) -> Dot2 {
    struct Sum<'a>(&'a [f64], &'a [f64]);
    impl Kernel for Sum<'_> {
        type Output = Dot2;

        #[inline(always)]
        fn run(self) -> Dot2 {
            let mut sum = Dot2::default();
            if self.0.len() < 2 * LANES {
                // Joining lanes would cost more; the chain of at most 31 is within the bound.
                self.0.iter().zip(self.1).for_each(|(a, b)| sum.add(a * b));
                return sum;
            }
            let (mut totals, mut errors, mut magnitudes) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            let (rows, row_rest) = self.0.as_chunks::<LANES>();
            let (columns, column_rest) = self.1.as_chunks::<LANES>();
            for (a, b) in rows.iter().zip(columns) {
                for lane in 0..LANES {
                    let (total, error) = two_sum(totals[lane], a[lane] * b[lane]);
                    totals[lane] = total;
                    errors[lane] += error;
                    magnitudes[lane] += error.abs();
                }
            }
            for (lane, (a, b)) in row_rest.iter().zip(column_rest).enumerate() {
                let mut one = Dot2 { total: totals[lane], errors: errors[lane], magnitudes: magnitudes[lane] };
                one.add(a * b);
                (totals[lane], errors[lane], magnitudes[lane]) = (one.total, one.errors, one.magnitudes);
            }
            for lane in 0..LANES {
                sum.add(totals[lane]);
                sum.errors += errors[lane];
                sum.magnitudes += magnitudes[lane];
            }
            sum
        }
    }
    dispatch(Sum(row, column))
}

/// The zero that IEEE addition in order gives where the sum of these products is zero: -0 only if every product is, and
/// there are any.
#[inline]
pub fn zero_sum(products: impl Iterator<Item = (f64, f64)>) -> f64 {
    let minus_zero = |(a, b): (f64, f64)| (a == 0.0 || b == 0.0) && a.is_sign_negative() != b.is_sign_negative();
    let mut products = products.peekable();
    if products.peek().is_some() && products.all(minus_zero) { -0.0 } else { 0.0 }
}

/// The sum where an operand is infinite or NaN: such a product decides, whatever the finite ones are.
#[cold]
pub fn non_finite_dot(row: &[f64], column: &[f64]) -> f64 {
    row.iter().zip(column).filter(|(a, b)| !a.is_finite() || !b.is_finite()).fold(0.0, |sum, (a, b)| sum + a * b)
}
