//! The elements that a top-k or sort selects.

/// The selection of a top-k or sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopKSelection {
    /// The largest, or the smallest.
    Exact,
    /// The best of each bin.
    Approximate {
        /// The bits of the recall that was asked for, an f32; `None` where the file no longer says it.
        recall: Option<u32>,
        /// The number of bins.
        bins: usize,
    },
}

impl TopKSelection {
    /// The selection of the best of each of `bins` bins of `n` elements; a `recall` of zero was left out.
    pub fn of_bins(recall: f32, bins: usize, n: usize) -> TopKSelection {
        match bins >= n {
            true => TopKSelection::Exact,
            false => TopKSelection::Approximate { recall: (recall != 0.0).then_some(recall.to_bits()), bins },
        }
    }

    /// Whether two selections are the same as far as both are known: without a recall the bins decide.
    pub fn is_like(self, other: TopKSelection) -> bool {
        let open = |one, other| match (one, other) {
            (TopKSelection::Approximate { recall: None, bins }, TopKSelection::Approximate { bins: others, .. }) => {
                bins == others
            }
            _ => false,
        };
        self == other || open(self, other) || open(other, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recall_that_is_left_out_is_any_of_the_same_bins() {
        let of = |recall, bins| TopKSelection::of_bins(recall, bins, 1024);
        assert!(of(0.0, 512).is_like(of(0.95, 512)) && of(0.95, 512).is_like(of(0.0, 512)));
        assert!(!of(0.0, 512).is_like(of(0.95, 256)) && !of(0.9, 512).is_like(of(0.95, 512)));
        assert!(!of(0.0, 512).is_like(TopKSelection::Exact) && of(0.95, 1024) == TopKSelection::Exact);
    }
}
