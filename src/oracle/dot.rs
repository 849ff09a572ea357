//! Certified dot products of exactly known operands, cheapest way first.
//!
//! 1. **grid**: if all products of a row and a column lie on one grid, and so few bits above it that no partial sum can
//!    need more than 53, a plain f64 dot is exact in any order. One comparison an output.
//! 2. **dot2**: sums made with `two_sum`, their errors added up beside (Ogita, Rump and Oishi, SIAM J. Sci. Comput.
//!    26(6), 2005), with a proven bound. The errors lie on the grid as well, and if their sum stays small it is exact;
//!    if not, both ends of the bound may still round to one number (Ziv).
//! 3. **exact**: MPFR with enough bits never to round.
//!
//! Infinite and NaN operands branch off first: IEEE decides.

mod exact;
mod facts;
mod kernel;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use exact::exact_dot;
use facts::Facts;
use kernel::Dot2;

use super::interval::{Interval, directed, two_sum};

/// How many outputs each way decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By a plain dot whose sums cannot round.
    pub grid: u64,
    /// By a compensated dot with a proven bound.
    pub dot2: u64,
    /// By MPFR.
    pub exact: u64,
    /// Outputs with an infinite or NaN operand.
    pub non_finite: u64,
}

/// One product `[m,k] x [k,n]`, row-major.
#[derive(Clone, Debug)]
pub struct CertifiedDots {
    /// The exact sums, rounded to nearest even.
    pub rounded: Vec<f64>,
    /// The exact sums: one number where it is an f64, else the two neighbours around it.
    pub enclosure: Vec<Interval>,
    /// Which way decided how many outputs.
    pub counts: Counts,
}

/// Columns are handled in groups of this many bytes, so that a group stays in cache while all rows pass.
const GROUP_BYTES: usize = 1 << 17;

/// `lhs` `[m,k]` times `rhs` `[k,n]`, both row-major.
///
/// `products_fit` states that both hold f32 values only, so that every product is an f64; without it, every finite
/// output is summed by MPFR. A zero sum has the sign that IEEE addition in order gives: -0 where all products are -0.
///
/// # Panics
/// If a slice does not have the length its shape says.
pub fn certified_dots(lhs: &[f64], rhs: &[f64], m: usize, k: usize, n: usize, products_fit: bool) -> CertifiedDots {
    assert_eq!((lhs.len(), rhs.len()), (m * k, k * n), "operands must be [m,k] and [k,n]");
    let is_f32 = |values: &[f64]| values.iter().all(|v| v.is_nan() || f64::from(*v as f32) == *v);
    debug_assert!(!products_fit || (is_f32(lhs) && is_f32(rhs)), "products_fit needs f32 values");
    let mut dots = CertifiedDots {
        rounded: vec![0.0; m * n],
        enclosure: vec![Interval::exact(0.0); m * n],
        counts: Counts::default(),
    };
    if k == 0 {
        dots.counts.grid = (m * n) as u64;
        return dots;
    }
    let columns = transposed(rhs, k, n);
    let row_facts: Vec<Facts> = lhs.chunks_exact(k).map(Facts::of).collect();
    let column_facts: Vec<Facts> = columns.chunks_exact(k).map(Facts::of).collect();
    let group = (GROUP_BYTES / (8 * k)).max(1);
    for first in (0..n).step_by(group) {
        let members = first..(first + group).min(n);
        for (i, row) in lhs.chunks_exact(k).enumerate() {
            for j in members.clone() {
                let column = &columns[j * k..][..k];
                let (rounded, enclosure) =
                    certified(row, column, row_facts[i], column_facts[j], products_fit, &mut dots.counts);
                dots.rounded[i * n + j] = rounded;
                dots.enclosure[i * n + j] = enclosure;
            }
        }
    }
    dots
}

/// One output: the sum to nearest, and its enclosure.
#[inline]
fn certified(
    row: &[f64],
    column: &[f64],
    row_facts: Facts,
    column_facts: Facts,
    products_fit: bool,
    counts: &mut Counts,
) -> (f64, Interval) {
    let exactly = |value: f64| {
        let value = if value == 0.0 { kernel::zero_sum(row, column) } else { value };
        (value, Interval::exact(value))
    };
    if !row_facts.finite || !column_facts.finite {
        counts.non_finite += 1;
        let value = kernel::non_finite_dot(row, column);
        return (value, Interval::exact(value));
    }
    let products = row_facts.times(column_facts);
    if products.sums_fit(row.len()) {
        counts.grid += 1;
        return exactly(kernel::dot(row, column));
    }
    if products_fit {
        let sum = kernel::dot2(row, column);
        if sum.errors_are_exact(products.grid) {
            counts.dot2 += 1;
            let (rounded, error) = two_sum(sum.total, sum.errors);
            return if error == 0.0 { exactly(rounded) } else { (rounded, neighbours(sum.total, sum.errors)) };
        }
        if let Some(answer) = ziv(sum, row.len()) {
            counts.dot2 += 1;
            return answer;
        }
    }
    counts.exact += 1;
    let sum = exact_dot(row.iter().copied(), column.iter().copied());
    let rounded = sum.to_f64();
    let enclosure = match sum.partial_cmp(&rounded) {
        Some(Ordering::Less) => Interval { lo: rounded.next_down(), hi: rounded },
        Some(Ordering::Greater) => Interval { lo: rounded, hi: rounded.next_up() },
        _ => Interval::exact(rounded),
    };
    (rounded, enclosure)
}

/// The numbers around `a + b`.
fn neighbours(a: f64, b: f64) -> Interval {
    let (lo, hi) = directed::add(a, b);
    Interval { lo, hi }
}

/// The answer, if both ends of the proven bound round to one number and lie on one side of it.
fn ziv(sum: Dot2, terms: usize) -> Option<(f64, Interval)> {
    let bound = sum.error_bound(terms);
    let low = directed::add(sum.errors, -bound).0;
    let high = directed::add(sum.errors, bound).1;
    let (rounded, enclosure) = (sum.total + low, neighbours(sum.total, low));
    let agree = rounded == sum.total + high && enclosure == neighbours(sum.total, high) && !enclosure.is_exact();
    agree.then_some((rounded, enclosure))
}

/// `[k,n]` as `[n,k]`.
fn transposed(values: &[f64], k: usize, n: usize) -> Vec<f64> {
    let mut columns = vec![0.0; values.len()];
    for (p, row) in values.chunks_exact(n.max(1)).enumerate() {
        for (j, value) in row.iter().enumerate() {
            columns[j * k + p] = *value;
        }
    }
    columns
}
