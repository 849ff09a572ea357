//! Which elements were selected: top-k, kept sets, margins.

use std::cmp::Ordering;

use crate::num::Format;

/// How many of the `wanted` largest values a selection has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recall {
    /// Selected elements that are among the wanted ones.
    pub hits: usize,
    /// How many there are to find.
    pub wanted: usize,
}

impl Recall {
    /// `hits / wanted`; 1 if nothing was wanted.
    pub fn fraction(self) -> f64 {
        if self.wanted == 0 { 1.0 } else { self.hits as f64 / self.wanted as f64 }
    }
}

/// Recall of the selected `indices` against the `k` largest of `values`, by value: an index is a hit if its value is at
/// least the k-th largest, so that any choice among equals is right. NaN ranks by its sign, as in IEEE totalOrder.
///
/// An index given twice counts once, one outside the row not at all, and no more than `k` hits are counted; `k` above the
/// length of the row is its length.
pub fn recall(values: &[f64], indices: &[i64], k: usize) -> Recall {
    let wanted = k.min(values.len());
    if wanted == 0 {
        return Recall { hits: 0, wanted };
    }
    let mut sorted = values.to_vec();
    let threshold = *sorted.select_nth_unstable_by(wanted - 1, |a, b| b.total_cmp(a)).1;
    // Zeros of both signs are equal numbers, whichever of them totalOrder puts first.
    let reaches = |v: f64| v >= threshold || v.total_cmp(&threshold) != Ordering::Less;
    let valid = |i: &i64| usize::try_from(*i).ok().filter(|i| *i < values.len());
    let mut distinct: Vec<usize> = indices.iter().filter_map(valid).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let hits = distinct.into_iter().filter(|i| reaches(values[*i])).count().min(wanted);
    Recall { hits, wanted }
}

/// A kept set against the true one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Kept by both.
    pub both: usize,
    /// Kept by truth alone.
    pub lost: usize,
    /// Kept by the output alone.
    pub added: usize,
}

/// Compares two masks element by element; the longer one's surplus is ignored.
pub fn kept(got: &[bool], truth: &[bool]) -> Kept {
    let mut counts = Kept::default();
    for pair in got.iter().zip(truth) {
        match pair {
            (true, true) => counts.both += 1,
            (false, true) => counts.lost += 1,
            (true, false) => counts.added += 1,
            (false, false) => {}
        }
    }
    counts
}

/// How far `winner` lies above `other`, in ulps of `format` at the larger magnitude of the two; negative if below, 0 for
/// an exact tie. Infinite against an infinity, NaN against NaN.
pub fn margin_in_ulps(format: &Format, winner: f64, other: f64) -> f64 {
    if winner == other {
        return 0.0;
    }
    if winner.is_infinite() || other.is_infinite() {
        return winner - other;
    }
    (winner - other) / format.ulp(winner.abs().max(other.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::BF16;

    #[test]
    fn recall_is_by_value() {
        // Small fixture: "exactly k" keeps any two of the tied.
        let values = [3.0, 2.0, 2.0, 2.0, 1.0, 0.0];
        let of = |indices: &[i64], k| recall(&values, indices, k);
        assert_eq!(of(&[0, 3], 2), Recall { hits: 2, wanted: 2 });
        assert_eq!(of(&[1, 2, 3], 2), Recall { hits: 2, wanted: 2 });
        assert_eq!(of(&[0, 0], 2).hits, 1);
        assert_eq!(of(&[0, 4], 2).hits, 1);
        assert_eq!(of(&[-1, 6, i64::MIN], 2).hits, 0);
        assert_eq!(of(&[0, 1, 2, 3, 4, 5], 99), Recall { hits: 6, wanted: 6 });
        assert_eq!(of(&[], 0).fraction(), 1.0);
        assert_eq!(of(&[0], 2).fraction(), 0.5);
    }

    #[test]
    fn recall_of_specials() {
        let values = [-0.0, 0.0, f64::NAN, -f64::NAN, f64::NEG_INFINITY];
        assert_eq!(recall(&values, &[2], 1).hits, 1);
        assert_eq!(recall(&values, &[3], 4).hits, 0);
        assert_eq!(recall(&values, &[2, 0], 2).hits, 2);
        assert_eq!(recall(&values, &[2, 0, 1, 4], 4).hits, 4);
    }

    #[test]
    fn kept_sets_and_margins() {
        let (t, f) = (true, false);
        assert_eq!(kept(&[t, f, t, f], &[t, t, f, f]), Kept { both: 1, lost: 1, added: 1 });
        assert_eq!(margin_in_ulps(&BF16, 1.0078125, 1.0), 1.0);
        assert_eq!(margin_in_ulps(&BF16, 0.99609375, 1.0), -0.5);
        assert_eq!(margin_in_ulps(&BF16, f64::INFINITY, f64::INFINITY), 0.0);
        assert_eq!(margin_in_ulps(&BF16, 1.0, f64::NEG_INFINITY), f64::INFINITY);
        assert!(margin_in_ulps(&BF16, f64::NAN, 1.0).is_nan());
    }
}
