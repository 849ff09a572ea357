//! The constants of a dot's error bound, by matmul precision, split and order of accumulation.

use crate::ir::Precision;
use crate::machine::Mode;
use crate::machine::mxu::{Accumulation, Passes, Split};
use crate::num;

/// What one precision contributes. The error of a dot is at most
/// `split S + gamma_n (1 + spread) S + n flushed` with `S = sum |a| |b|` and `n` from [`longest_chain`].
pub(super) struct DotConstants {
    /// What splitting the operands loses of a product, relative to |a b|.
    pub split: f64,
    /// How much the sum of the passes' magnitudes exceeds |a b|, relative to it.
    pub spread: f64,
    /// Unit roundoff of the additions; twice as large where they truncate.
    pub unit_roundoff: f64,
    /// Additions that join the passes, and the rounding of a product where products are rounded.
    pub extra: u64,
    /// What an addition can lose to flushing.
    pub flushed: f64,
    /// The dot runs on the vector unit instead (dot strength reduction).
    vector: bool,
}

/// The constants for operands of f32 (or, with `exact_operands`, of values that a pass takes as they are).
///
/// With u = 2^-8 the unit roundoff of bf16: one pass rounds both operands, so |ab - a'b'| <= (2u + u^2) |ab|. A part
/// that is rounded to nearest leaves at most u of what it splits, a truncated one 2u. Three passes drop l.l and what
/// is left of l; six drop m.l, l.m, l.l (FACTS 2.3). Products of parts are exact.
pub(super) fn dot_constants(
    mode: &Mode,
    precision: [Precision; 2],
    exact_operands: bool,
    [m, _, n]: [usize; 3],
) -> DotConstants {
    let on = mode.refinements.dsr.unwrap_or(mode.chip.dot_strength_reduction);
    let vector = on && (m == 1 || n == 1);
    let u = num::BF16.unit_roundoff();
    let (high, middle) = match mode.refinements.split.unwrap_or_default() {
        Split::Mixed => (2.0 * u, u),
        Split::Rne => (u, u),
        Split::Trunc => (2.0 * u, 2.0 * u),
    };
    let passes = if vector { Passes::F32 } else { mode.passes(precision) };
    let (split, spread, extra) = match passes {
        _ if exact_operands && !matches!(passes, Passes::F32) => (0.0, 0.0, 5),
        Passes::F32 | Passes::Exact => (0.0, 0.0, 1),
        Passes::One => (2.0 * u + u * u, 2.0 * u + u * u, 0),
        Passes::Three => {
            // |l| <= high |a|; what l leaves of it is at most u |l|.
            let left = high * u;
            (2.0 * left + left * left + high * high, 2.0 * high + high * high, 2)
        }
        Passes::Six => {
            let (m, l) = (high, high * middle);
            let left = l * u;
            (2.0 * left + left * left + 2.0 * m * l + l * l, 2.0 * (m + l) + (m + l) * (m + l), 5)
        }
    };
    let accumulation = mode.refinements.acc.unwrap_or(mode.chip.accumulation);
    let unit = num::F32.unit_roundoff();
    DotConstants {
        split,
        spread,
        unit_roundoff: if accumulation == Accumulation::Trunc && !vector { 2.0 * unit } else { unit },
        extra,
        flushed: if mode.chip.flush { num::F32.min_normal() } else { num::F32.min_subnormal() },
        vector,
    }
}

/// Roundings that a product meets at most on its way into the sum of `k` products, in the declared order.
pub(super) fn longest_chain(mode: &Mode, constants: &DotConstants, k: usize) -> u64 {
    let k = k as u64;
    let block = (mode.chip.mxu_block as u64).min(k.max(1));
    let blocks = k.div_ceil(block);
    let additions = if constants.vector {
        // Any order of the vector unit adds at most k - 1 times to one product.
        k.saturating_sub(1)
    } else {
        match mode.refinements.acc.unwrap_or(mode.chip.accumulation) {
            Accumulation::Chain => k.saturating_sub(1),
            Accumulation::Block | Accumulation::Trunc => (block - 1) + (blocks - 1),
            Accumulation::Pairwise => u64::from(block.next_power_of_two().ilog2()) + (blocks - 1),
            // One rounding of the block's sum.
            Accumulation::Exact => 1 + (blocks - 1),
        }
    };
    additions + constants.extra
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand: what meets a product of the first block on its way.
    #[test]
    fn chains_are_as_long_as_the_declared_order() {
        let chain = |mode: &str, k: usize| {
            let mode: Mode = mode.parse().unwrap();
            let constants = dot_constants(&mode, [Precision::Default; 2], false, [16, k, 16]);
            longest_chain(&mode, &constants, k)
        };
        for (mode, k, additions) in [
            ("v5e/default/off", 1, 0),
            ("v5e/default/off", 2, 1),
            ("v5e/default/off", 100, 99),
            ("v5e/default/off", 130, 127 + 1),
            ("v5e/default/off", 1024, 127 + 7),
            ("v6e/default/off", 1024, 255 + 3),
            ("v5e/default/off+acc=trunc", 1024, 127 + 7),
            ("v5e/default/off+acc=chain", 1024, 1023),
            ("v5e/default/off+acc=pairwise", 1024, 7 + 7),
            ("v5e/default/off+acc=exact", 1024, 1 + 7),
            // Three passes are joined by two additions, six by five; a product in f32 is rounded itself.
            ("v5e/high/off", 1024, 127 + 7 + 2),
            ("v5e/highest/off", 1024, 127 + 7 + 5),
            ("v5e/f32/off", 1024, 127 + 7 + 1),
            ("cpu/f32/off", 1024, 1023 + 1),
        ] {
            assert_eq!(chain(mode, k), additions, "{mode} at k = {k}");
        }
    }
}
