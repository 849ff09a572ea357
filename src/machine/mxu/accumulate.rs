//! The order and rounding of a pass's additions.

/// The order and rounding of a pass's additions. The order inside the systolic array is not public: all of these are
/// modelling choices (FACTS 2.4).
///
/// Every block's sum joins those before it by one more addition, in the order of the blocks, from +0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Accumulation {
    /// One f32 addition after the other, in the order of K, inside blocks of [`super::Unit::block`] products.
    #[default]
    Block,
    /// As `Block`, with K cut where the plan of a compiled file cuts it: each stretch is summed from +0, and their sums are
    /// added in order (the cut is a fact, FACTS 10.1; how the sums are joined is a modelling choice).
    Tiled,
    /// As `Block`, with K cut where the plan of a compiled file cuts it: a block of products ends at each cut, and one sum goes on
    /// across all (the cut is a fact; that the sum goes on is a modelling choice, for which FACTS 10.1 has what is published).
    Running,
    /// As `Block`, with all of K as one block.
    Chain,
    /// Neighbours are added level by level inside a block, an odd one out moves up as it is; additions are f32.
    Pairwise,
    /// The exact sum of a block, rounded once to f32.
    Exact,
    /// As `Block`, with every addition truncated toward zero; a sum that overflows stays at the largest finite number.
    Trunc,
}

impl Accumulation {
    /// All of them, the default first.
    pub const ALL: &'static [Accumulation] = &[
        Accumulation::Block,
        Accumulation::Tiled,
        Accumulation::Running,
        Accumulation::Chain,
        Accumulation::Pairwise,
        Accumulation::Exact,
        Accumulation::Trunc,
    ];

    /// The name in a mode, as in `acc=pairwise`.
    pub const fn name(self) -> &'static str {
        match self {
            Accumulation::Block => "block",
            Accumulation::Tiled => "tiled",
            Accumulation::Running => "running",
            Accumulation::Chain => "chain",
            Accumulation::Pairwise => "pairwise",
            Accumulation::Exact => "exact",
            Accumulation::Trunc => "trunc",
        }
    }

    /// Whether every addition is one of a product to the sum of those before it.
    pub(super) const fn is_chain(self) -> bool {
        matches!(self, Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Chain)
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Accumulation> {
        Accumulation::ALL.iter().copied().find(|a| a.name() == name)
    }

    /// Its description, for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            Accumulation::Block => {
                "one f32 addition after the other inside a block of the array's rows, blocks in order"
            }
            Accumulation::Tiled => {
                "as block, with K cut where the compiled file says (FACTS 10.1), and the stretches' sums added in order"
            }
            Accumulation::Running => {
                "as block, with K cut where the compiled file says (FACTS 10.1), in one sum that goes on across the cuts"
            }
            Accumulation::Chain => "one chain of f32 additions over all of K",
            Accumulation::Pairwise => "a tree of f32 additions of neighbours inside each block, blocks in order",
            Accumulation::Exact => "the exact sum of each block, rounded once to f32, blocks in order",
            Accumulation::Trunc => "as block (or one chain where the chip has no blocks), every addition truncated",
        }
    }
}
