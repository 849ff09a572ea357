//! One pass: products summed in a declared order.

use crate::num::flush_f32;

use super::Unit;
use super::exact::ExactSum;

/// The order and rounding of a pass's additions. The order inside the systolic array is not public: all of these are
/// modelling choices (FACTS 2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulation {
    #[default]
    Block,
    Chain,
    Pairwise,
    Exact,
    Trunc,
}

impl Accumulation {
    pub const ALL: &'static [Accumulation] =
        &[Accumulation::Block, Accumulation::Chain, Accumulation::Pairwise, Accumulation::Exact, Accumulation::Trunc];

    pub const fn name(self) -> &'static str {
        match self {
            Accumulation::Block => "block",
            Accumulation::Chain => "chain",
            Accumulation::Pairwise => "pairwise",
            Accumulation::Exact => "exact",
            Accumulation::Trunc => "trunc",
        }
    }

    pub fn named(name: &str) -> Option<Accumulation> {
        Accumulation::ALL.iter().copied().find(|a| a.name() == name)
    }

    pub const fn doc(self) -> &'static str {
        match self {
            Accumulation::Block => {
                "one f32 addition after the other inside a block of the array's rows, blocks in order"
            }
            Accumulation::Chain => "one chain of f32 additions over all of K",
            Accumulation::Pairwise => "a tree of f32 additions of neighbours inside each block, blocks in order",
            Accumulation::Exact => "the exact sum of each block, rounded once to f32, blocks in order",
            Accumulation::Trunc => "as block (or one chain where the chip has no blocks), every addition truncated",
        }
    }
}

/// How a product joins a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The product rounded to f32 (or exact in it), then the sum rounded.
    Rounded,
    /// The exact product, then one rounding.
    Fused,
    /// As `Rounded`, with subnormal operands, products and sums of a chain flushed.
    Flushed,
}

/// Columns that are summed side by side: independent chains that the compiler turns into vector lanes.
const LANES: usize = 16;
/// Rows that share a load of the right operand.
const STRIP: usize = 4;

/// All `m x n` sums of one pass, each from +0, so that negative zeros alone sum to +0 as they do on XLA:CPU.
pub(super) fn dot_all(lhs: &[f32], rhs: &[f32], [m, k, n]: [usize; 3], step: Step, unit: &Unit) -> Vec<f32> {
    let mut out = vec![0.0; m * n];
    let block = if unit.accumulation == Accumulation::Chain { k.max(1) } else { unit.block.min(k.max(1)) };
    // The right operand in panels of LANES columns, padded with zeros: one contiguous stream for each panel.
    let mut panel = vec![0.0f32; k * LANES];
    for first in (0..n).step_by(LANES) {
        let width = LANES.min(n - first);
        for l in 0..k {
            let row = &rhs[l * n + first..l * n + first + width];
            panel[l * LANES..l * LANES + width].copy_from_slice(row);
        }
        for top in (0..m).step_by(STRIP) {
            let rows = STRIP.min(m - top);
            let mut sums = [[0.0f32; LANES]; STRIP];
            for start in (0..k).step_by(block) {
                let span = start..(start + block).min(k);
                let mut part = [[0.0f32; LANES]; STRIP];
                let strip = Strip { lhs, top, rows, k, panel: &panel };
                match (unit.accumulation, step) {
                    (Accumulation::Block | Accumulation::Chain, Step::Rounded) => strip.chain(span, &mut part),
                    (Accumulation::Block | Accumulation::Chain, Step::Fused) => {
                        strip.chain_by(span, &mut part, |sum, a, b| a.mul_add(b, sum));
                    }
                    (Accumulation::Block | Accumulation::Chain, Step::Flushed) => {
                        strip.chain_by(span, &mut part, |sum, a, b| {
                            flush_f32(sum + flush_f32(flush_f32(a) * flush_f32(b)))
                        });
                    }
                    (Accumulation::Trunc, step) => {
                        let product = |a: f32, b: f32| match step {
                            Step::Fused => f64::from(a) * f64::from(b),
                            Step::Rounded | Step::Flushed => f64::from(a * b),
                        };
                        strip.chain_by(span, &mut part, |sum, a, b| truncated_sum(f64::from(sum), product(a, b)));
                    }
                    (Accumulation::Pairwise, step) => strip.pairwise(span, &mut part, step),
                    (Accumulation::Exact, step) => strip.exact(span, &mut part, step),
                }
                for (sum, part) in sums.iter_mut().zip(&part) {
                    for (s, p) in sum.iter_mut().zip(part) {
                        *s = match unit.accumulation {
                            Accumulation::Trunc => truncated_sum(f64::from(*s), f64::from(*p)),
                            _ => *s + *p,
                        };
                    }
                }
            }
            for (r, sum) in sums.iter().enumerate().take(rows) {
                let at = (top + r) * n + first;
                out[at..at + width].copy_from_slice(&sum[..width]);
            }
        }
    }
    out
}

/// A few rows of the left operand against a panel of the right one.
struct Strip<'a> {
    lhs: &'a [f32],
    top: usize,
    rows: usize,
    k: usize,
    panel: &'a [f32],
}

type Sums = [[f32; LANES]; STRIP];

impl Strip<'_> {
    fn row(&self, r: usize) -> &[f32] {
        // Rows beyond the last repeat it; their sums are thrown away.
        let at = (self.top + r.min(self.rows - 1)) * self.k;
        &self.lhs[at..at + self.k]
    }

    /// The everyday case, written so that it vectorises: each lane is one output's own chain.
    fn chain(&self, span: std::ops::Range<usize>, sums: &mut Sums) {
        let rows: [&[f32]; STRIP] = std::array::from_fn(|r| self.row(r));
        let mut local = [[0.0f32; LANES]; STRIP];
        for l in span {
            let Some(lanes) = self.panel[l * LANES..].first_chunk::<LANES>() else { continue };
            for r in 0..STRIP {
                let a = rows[r][l];
                for j in 0..LANES {
                    local[r][j] += a * lanes[j];
                }
            }
        }
        *sums = local;
    }

    fn chain_by(&self, span: std::ops::Range<usize>, sums: &mut Sums, add: impl Fn(f32, f32, f32) -> f32) {
        for (r, sums) in sums.iter_mut().enumerate().take(self.rows) {
            let row = self.row(r);
            for l in span.clone() {
                let lanes = &self.panel[l * LANES..(l + 1) * LANES];
                for (sum, b) in sums.iter_mut().zip(lanes) {
                    *sum = add(*sum, row[l], *b);
                }
            }
        }
    }

    fn products(&self, r: usize, lane: usize, span: std::ops::Range<usize>) -> impl Iterator<Item = (f32, f32)> {
        let row = self.row(r);
        span.map(move |l| (row[l], self.panel[l * LANES + lane]))
    }

    /// Neighbours are added level by level; an odd one out moves up as it is.
    fn pairwise(&self, span: std::ops::Range<usize>, sums: &mut Sums, step: Step) {
        let mut level: Vec<f32> = Vec::with_capacity(span.len());
        for (r, sums) in sums.iter_mut().enumerate().take(self.rows) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let pairs: Vec<(f32, f32)> = self.products(r, lane, span.clone()).collect();
                level.clear();
                level.extend(pairs.chunks(2).map(|pair| match *pair {
                    [(a, b), (c, d)] if step == Step::Fused => fused_pair([a, b], [c, d]),
                    [(a, b), (c, d)] => a * b + c * d,
                    [(a, b), ..] => a * b,
                    [] => 0.0,
                }));
                while level.len() > 1 {
                    level =
                        level.chunks(2).map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap_or(0.0)).collect();
                }
                *sum = level.first().copied().unwrap_or(0.0);
            }
        }
    }

    fn exact(&self, span: std::ops::Range<usize>, sums: &mut Sums, step: Step) {
        for (r, sums) in sums.iter_mut().enumerate().take(self.rows) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                let mut exact = ExactSum::default();
                for (a, b) in self.products(r, lane, span.clone()) {
                    // A product of two f32 numbers is exact in f64.
                    exact.add(if step == Step::Fused { f64::from(a) * f64::from(b) } else { f64::from(a * b) });
                }
                *sum = exact.to_f32();
            }
        }
    }
}

/// `a + b` truncated toward zero to f32, for a of f32 and b exact in f64.
fn truncated_sum(a: f64, b: f64) -> f32 {
    // TwoSum: the exact sum is s + e.
    let s = a + b;
    let t = s - a;
    let e = (a - (s - t)) + (b - t);
    if !s.is_finite() {
        return s as f32;
    }
    // Toward zero in f64 first: if the error points back to zero, the exact sum lies below s in magnitude.
    let s = if e != 0.0 && (e < 0.0) == (s > 0.0) { toward_zero(s) } else { s };
    // Truncating what was truncated gives the same as truncating the exact sum.
    let nearest = s as f32;
    if f64::from(nearest).abs() > s.abs() { toward_zero_f32(nearest) } else { nearest }
}

/// `a b + c d` with one rounding: `c d` alone may leave the range of f32 where the sum does not.
fn fused_pair([a, b]: [f32; 2], [c, d]: [f32; 2]) -> f32 {
    let mut sum = ExactSum::default();
    sum.add(f64::from(a) * f64::from(b));
    sum.add(f64::from(c) * f64::from(d));
    sum.to_f32()
}

/// The next f64 toward zero.
fn toward_zero(x: f64) -> f64 {
    if x == 0.0 { x } else { f64::from_bits(x.to_bits() - 1) }
}

/// The next f32 toward zero; of an infinity the largest finite number.
fn toward_zero_f32(x: f32) -> f32 {
    if x == 0.0 { x } else { f32::from_bits(x.to_bits() - 1) }
}

#[cfg(test)]
mod tests {
    use super::truncated_sum;
    use proptest::prelude::*;
    use rug::Float;
    use rug::float::Round;

    proptest! {
        /// Against MPFR, cancelling and subnormal sums included.
        #[test]
        fn truncated_sums_round_toward_zero(a in any::<f32>(), b in any::<f32>(), close in any::<bool>(), ulps in -3i32..4) {
            let b = if close { f32::from_bits((-a).to_bits().wrapping_add_signed(ulps)) } else { b };
            prop_assume!(a.is_finite() && b.is_finite());
            let exact = Float::with_val(600, a) + Float::with_val(600, b);
            let expected = exact.to_f32_round(Round::Zero);
            prop_assert_eq!(truncated_sum(f64::from(a), f64::from(b)).abs().to_bits(), expected.abs().to_bits());
        }
    }
}
