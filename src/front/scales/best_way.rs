//! The way that elements follow from input and scale: form of the quotient, rounding, per-tensor scale and zero points.

use crate::scaled::{Extreme, Quotient, Rounding};

use super::read_case::ReadCase;
use super::rounded::{self, Block, STEPS, Way, scale_beside};
use super::zero_use::ZeroUse;

/// Ways that fit as many sampled blocks as the best one.
pub(super) struct Ways {
    /// The best one.
    pub best: Way,
    /// Steps that the scales of the elements are beside the stored ones.
    pub step: i64,
    /// All that fit as many blocks, the best one among them.
    pub same: Vec<Way>,
}

/// The best way of the elements among sampled blocks, with the steps that all scales are off.
pub(super) fn best_way(case: &ReadCase, blocks: &[(Block, Extreme)], gs: &[f32]) -> Ways {
    let ordinary: Vec<&Block> =
        // Blocks of zeros, infinities or subnormals are where libraries differ: they tell no way from another.
        blocks.iter().filter(|(_, extreme)| extreme.is_ordinary()).map(|(block, _)| block).collect();
    let uses: Vec<ZeroUse> = match case.scales.zeros {
        Some(_) => ZeroUse::all(case.types.element.bits()).to_vec(),
        None => vec![ZeroUse::Stored],
    };
    let is_most = |most: usize| is_majority(most, ordinary.len());
    let mut best: Option<(Ways, usize)> = None;
    // Without a step first: a fault of the scales is looked for only where no way explains the elements.
    for steps in [&[0][..], &STEPS] {
        for zero in &uses {
            for step in steps {
                let (ways, most) = ways_of(case, &ordinary, gs, *zero, *step);
                if best.as_ref().is_none_or(|(_, before)| most > *before) {
                    best = Some((ways, most));
                }
                // A scale that is off by steps leaves next to no block to its own.
                if best.as_ref().is_some_and(|(_, most)| is_most(*most)) {
                    break;
                }
            }
        }
    }
    let plain = Way { quotient: Quotient::Exact, rounding: Rounding::NearestEven, g: 1.0, zero: ZeroUse::Stored };
    match best {
        Some((ways, most)) if is_most(most) => ways,
        Some((Ways { best, same, .. }, _)) => Ways { best, step: 0, same },
        None => Ways { best: plain, step: 0, same: vec![plain] },
    }
}

/// Whether more than half follow: of two ways that half of the blocks follow each, neither is the file's.
fn is_majority(follow: usize, of: usize) -> bool {
    follow * 2 > of
}

/// The ways under one use of the zero points and one step, and the number of blocks that the best of them fit.
fn ways_of(case: &ReadCase, blocks: &[&Block], gs: &[f32], zero: ZeroUse, step: i64) -> (Ways, usize) {
    let mut tried: Vec<(Way, usize)> = Vec::new();
    for g in gs {
        for quotient in Quotient::of_scales(case.types.scales, case.scales.zeros.is_some()) {
            for rounding in Rounding::ALL {
                // A quotient in the input's type has no second scale beside the block's.
                if quotient.is_in_type() && *g != 1.0 {
                    continue;
                }
                let way = Way { quotient: *quotient, rounding, g: *g, zero };
                let follows = |block: &&&Block| {
                    scale_beside(case.types.scales, block.scale, step)
                        .is_some_and(|scale| rounded::all_follow(&case.types, &way, block, scale))
                };
                tried.push((way, blocks.iter().filter(follows).count()));
            }
        }
    }
    let most = tried.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let same: Vec<Way> = tried.into_iter().filter(|(_, count)| *count == most).map(|(way, _)| way).collect();
    let plain = Way { quotient: Quotient::Exact, rounding: Rounding::NearestEven, g: 1.0, zero };
    (Ways { best: same.first().copied().unwrap_or(plain), step, same }, most)
}

/// The one of several ways that fit the sampled blocks alike that leaves the fewest blocks of the whole tensor unexplained.
pub(super) fn way_of_all(case: &ReadCase, ways: &Ways) -> Way {
    let mut left = ways.same.clone();
    for at in 0..case.scales.codes.len() {
        if left.len() < 2 {
            break;
        }
        let block = case.block(at);
        let Some(scale) = scale_beside(case.types.scales, block.scale, 0) else { continue };
        if !case.extreme(&block).is_ordinary() {
            continue;
        }
        let follows = |way: &Way| rounded::all_follow(&case.types, way, &block, scale);
        // A block that no way explains tells none from the others.
        let kept: Vec<Way> = left.iter().copied().filter(follows).collect();
        if !kept.is_empty() {
            left = kept;
        }
    }
    left.first().copied().unwrap_or(ways.best)
}

#[cfg(test)]
mod tests {
    use super::is_majority;

    #[test]
    fn half_is_no_majority() {
        assert_eq!([0, 3, 4, 5, 8].map(|follow| is_majority(follow, 8)), [false, false, false, true, true]);
        assert_eq!([3, 4].map(|follow| is_majority(follow, 7)), [false, true]);
        assert!(!is_majority(0, 0));
    }
}
