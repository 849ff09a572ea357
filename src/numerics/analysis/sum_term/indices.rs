//! What the indices of a term's reads cost.

use super::super::along::Dims;
use super::strides::Strides;
use super::{Term, WITHIN};

impl Term<'_> {
    /// Whether an index is computed for several reads; for one it is part of the read.
    pub(super) fn shares_index(&self) -> bool {
        self.places().iter().any(|(along, reads)| *reads > 1 && is_sum(along))
    }

    /// Instructions for indices: one for each that several reads share, one for each of elements that stand apart in memory.
    pub(super) fn indices(&self) -> usize {
        let strides = |along: &[Dims]| {
            let last = along.last().and_then(|dims| dims.last()).map(|(dim, _)| *dim);
            last != Some(self.innermost) && along.iter().flatten().any(|(dim, _)| *dim == self.innermost)
        };
        let of_place =
            |(along, reads): &(&[Dims], usize)| usize::from(*reads > 1 && is_sum(along)) + usize::from(strides(along));
        self.places().iter().map(of_place).sum()
    }

    /// Where is read, and how often. Elements of a reduction within are at places of their own, and where in the outer dims an array
    /// is cut says nothing, but how far apart its rows are does.
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

/// Whether an index is a sum, of several dims.
fn is_sum(along: &[Dims]) -> bool {
    along.iter().filter(|dims| !dims.is_empty()).count() > 1
}
