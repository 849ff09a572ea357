//! Cost of the address computations of a term's reads.

use super::super::along::Dims;
use super::strides::Strides;
use super::{Term, WITHIN};

impl Term<'_> {
    /// Whether several reads share a computed index. The index of a single read is part of the read.
    pub(super) fn shares_index(&self) -> bool {
        self.places().iter().any(|(along, reads)| *reads > 1 && is_sum(along))
    }

    /// Number of instructions that compute indices: one for each index that several reads share, and one for each
    /// place whose elements are not adjacent in memory.
    pub(super) fn indices(&self) -> usize {
        let strides = |along: &[Dims]| {
            let last = along.last().and_then(|dims| dims.last()).map(|(dim, _)| *dim);
            last != Some(self.innermost) && along.iter().flatten().any(|(dim, _)| *dim == self.innermost)
        };
        let of_place =
            |(along, reads): &(&[Dims], usize)| usize::from(*reads > 1 && is_sum(along)) + usize::from(strides(along));
        self.places().iter().map(of_place).sum()
    }

    /// The places that the term reads, each with its number of reads. Reads within an inner reduction have places of
    /// their own, and are left out. The offset of a slice in the outer dims makes no difference, the stride of its rows
    /// does.
    fn places(&self) -> Vec<(&[Dims], usize)> {
        let is_known = self.reads.len() == self.strides.len();
        let mut places: Vec<(&[Dims], Option<&Strides>, usize)> = Vec::new();
        for (at, along) in self.reads.iter().enumerate() {
            if along.iter().flatten().any(|(dim, _)| *dim >= WITHIN) {
                continue;
            }
            let first = along.iter().position(|dims| !dims.is_empty()).unwrap_or(along.len());
            let place = &along[first..];
            let strides = self.strides.get(at).filter(|_| is_known);
            if strides.is_some_and(|strides| !strides.address().1.is_empty()) {
                continue;
            }
            let is_same = |known: &Option<&Strides>| match (known, strides) {
                (Some(known), Some(strides)) => known.is_as_far(strides),
                _ => true,
            };
            match places.iter_mut().find(|(known, far, _)| *known == place && is_same(far)) {
                Some((.., reads)) => *reads += 1,
                None => places.push((place, strides, 1)),
            }
        }
        places.into_iter().map(|(place, _, reads)| (place, reads)).collect()
    }
}

/// Whether an index is a sum over several dims.
fn is_sum(along: &[Dims]) -> bool {
    along.iter().filter(|dims| !dims.is_empty()).count() > 1
}
