//! Splitting f32 operands into bf16 parts (FACTS 2.3).

use crate::num::{bf16_nearest, bf16_truncate};

/// How many bf16 passes a dot of f32 operands takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// Operands rounded to nearest even to bf16.
    One,
    Three,
    Six,
    /// No split: f32 products, each rounded.
    F32,
    /// Operands of a narrow type, taken as they are.
    Exact,
}

/// How the parts of an operand are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    #[default]
    Mixed,
    Rne,
    Trunc,
}

impl Split {
    pub const ALL: &'static [Split] = &[Split::Mixed, Split::Rne, Split::Trunc];

    pub const fn name(self) -> &'static str {
        match self {
            Split::Mixed => "mixed",
            Split::Rne => "rne",
            Split::Trunc => "trunc",
        }
    }

    pub fn named(name: &str) -> Option<Split> {
        Split::ALL.iter().copied().find(|split| split.name() == name)
    }

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

/// The products of parts that the passes take, in the order of their addition; `None` where nothing is split.
pub(super) fn combine(passes: Passes) -> Option<&'static [(usize, usize)]> {
    match passes {
        Passes::One => Some(&[(0, 0)]),
        Passes::Three => Some(&[(1, 0), (0, 1), (0, 0)]),
        // m.m + h.l + l.h + h.m + m.h, then h.h.
        Passes::Six => Some(&[(1, 1), (0, 2), (2, 0), (0, 1), (1, 0), (0, 0)]),
        Passes::F32 | Passes::Exact => None,
    }
}

/// The bf16 parts of every value, the high one first.
pub(super) fn parts(values: &[f32], passes: Passes, split: Split) -> Vec<Vec<f32>> {
    let count = match passes {
        Passes::Three => 2,
        Passes::Six => 3,
        _ => 1,
    };
    let mut rest = values.to_vec();
    let mut parts = Vec::with_capacity(count);
    for part in 0..count {
        let last = part + 1 == count;
        let truncates = count > 1
            && match split {
                Split::Mixed => part == 0,
                Split::Rne => false,
                Split::Trunc => !last,
            };
        let taken: Vec<f32> =
            rest.iter().map(|v| if truncates { bf16_truncate(*v) } else { bf16_nearest(*v) }).collect();
        rest.iter_mut().zip(&taken).for_each(|(rest, taken)| *rest -= taken);
        parts.push(taken);
    }
    parts
}
