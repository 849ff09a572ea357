//! Splitting f32 operands into bf16 parts (FACTS 2.3).

use crate::num::{bf16_nearest, bf16_truncate};

/// Number of bf16 passes of a dot of f32 operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passes {
    /// One pass: operands rounded to nearest even to bf16. What exceeds bf16's range becomes an infinity.
    One,
    /// Three passes over two parts of each operand: l h + h l + h h.
    Three,
    /// Six passes over three parts of each operand: m m + h l + l h + h m + m h + h h.
    Six,
    /// No split: f32 products, each rounded.
    F32,
    /// Operands of a narrow type, taken as they are: exact products.
    Exact,
}

/// Operand split into bf16 parts. Each part is rounded from the remainder that the parts before it leave (an f32
/// subtraction, which is exact). One pass takes operands rounded to nearest, whatever the split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Split {
    /// The first part truncated, the others to nearest.
    #[default]
    Mixed,
    /// Every part to nearest even, but truncated where nearest is an infinity and the operand is not: between bf16's
    /// largest number and f32's, an infinite part would leave an infinite rest of the other sign and make NaN of finite
    /// operands. The public splits (FACTS 2.3) truncate there as well, and parts always add up to their operand.
    Rne,
    /// All parts but the last truncated, the last to nearest.
    Trunc,
}

impl Split {
    /// All of them, the default first.
    pub const ALL: &'static [Split] = &[Split::Mixed, Split::Rne, Split::Trunc];

    /// The name in a mode, as in `split=rne`.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Mixed => "mixed",
            Split::Rne => "rne",
            Split::Trunc => "trunc",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Split> {
        Split::ALL.iter().copied().find(|split| split.name() == name)
    }

    /// Description for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            Split::Mixed => {
                "the first part truncated, the others to nearest: the one model that fits every public TPU number \
                 (modelling choice)"
            }
            Split::Rne => "every part to nearest even (alternative)",
            Split::Trunc => "all parts but the last truncated, as XLA:GPU's dot_algorithm_rewriter does",
        }
    }
}

impl Passes {
    /// The parts of both operands that each pass multiplies, in the order in which the passes are added.
    pub(super) fn pairs(self) -> &'static [[usize; 2]] {
        match self {
            Passes::One | Passes::F32 | Passes::Exact => &Passes::ONE_PAIR,
            Passes::Three => &Passes::THREE_PAIRS,
            Passes::Six => &Passes::SIX_PAIRS,
        }
    }

    pub(super) const ONE_PAIR: [[usize; 2]; 1] = [[0, 0]];
    // The product of both low parts is left out: it is below the last roundings (FACTS 2.3).
    pub(super) const THREE_PAIRS: [[usize; 2]; 3] = [[1, 0], [0, 1], [0, 0]];
    /// m.m + h.l + l.h + h.m + m.h, then h.h.
    pub(super) const SIX_PAIRS: [[usize; 2]; 6] = [[1, 1], [0, 2], [2, 0], [0, 1], [1, 0], [0, 0]];

    /// The parts of an operand.
    pub(super) fn parts(self) -> usize {
        match self {
            Passes::One | Passes::F32 | Passes::Exact => 1,
            Passes::Three => 2,
            Passes::Six => 3,
        }
    }
}

/// The bf16 parts of a value, the high one first; zeros behind the last.
#[inline(always)]
pub(super) fn split(value: f32, count: usize, how: Split) -> [f32; 3] {
    let mut rest = value;
    let mut parts = [0.0; 3];
    for (part, taken) in parts.iter_mut().enumerate().take(count) {
        let last = part + 1 == count;
        // One pass rounds to nearest whatever the split: with truncated operands the first digits that a TPU printed
        // are off by more than 60,000 ulps (FACTS 2.3).
        let truncates = count > 1
            && match how {
                Split::Mixed => part == 0,
                Split::Rne => rest.is_finite() && bf16_nearest(rest).is_infinite(),
                Split::Trunc => !last,
            };
        *taken = if truncates { bf16_truncate(rest) } else { bf16_nearest(rest) };
        // Exact: what a rounding to 8 bits leaves of 24 fits into f32.
        rest -= *taken;
    }
    parts
}
