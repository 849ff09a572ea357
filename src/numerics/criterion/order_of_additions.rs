//! Orders in which a sum adds its terms, as far as its error depends on them.

use super::partial_sum::{AdditionRounding, PartialSum};

/// An order of additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdditionOrder {
    /// One addition after the other.
    Chain,
    /// Chains over blocks of so many terms, whose sums are added in order.
    Blocked(usize),
    /// Neighbours level by level inside blocks of so many terms, an odd one out moves up; the blocks' sums are added in order.
    Pairwise(usize),
    /// The exact sum of each block of so many terms, rounded once; the blocks' sums are added in order.
    RoundedOnce(usize),
    /// So many partial sums side by side, each a chain of every so-manieth term, then added by halving.
    Lanes(usize),
    /// Chains over windows of so many terms, and their sums the same way, until one is left.
    Windows(usize),
}

impl AdditionOrder {
    /// A description, such as `blocks of 128`.
    pub fn text(self) -> String {
        match self {
            AdditionOrder::Chain => "one chain".to_string(),
            AdditionOrder::Blocked(block) => format!("blocks of {block}"),
            AdditionOrder::Pairwise(block) if block == usize::MAX => "pairwise".to_string(),
            AdditionOrder::Pairwise(block) => format!("pairwise in blocks of {block}"),
            AdditionOrder::RoundedOnce(block) if block == usize::MAX => "one rounding".to_string(),
            AdditionOrder::RoundedOnce(block) => format!("one rounding per {block}"),
            AdditionOrder::Lanes(lanes) => format!("{lanes} lanes"),
            AdditionOrder::Windows(window) => format!("windows of {window}"),
        }
    }

    /// The sum of terms in this order.
    pub(super) fn sum(self, terms: &[PartialSum], rounding: &AdditionRounding) -> PartialSum {
        let chain = |terms: &[PartialSum]| terms.iter().fold(PartialSum::EMPTY, |sum, term| sum.add(*term, rounding));
        let blocks = |block: usize, of_block: &dyn Fn(&[PartialSum]) -> PartialSum| {
            let sums = terms.chunks(block.max(1));
            sums.fold(PartialSum::EMPTY, |sum, block| sum.add(of_block(block), rounding))
        };
        match self {
            AdditionOrder::Chain => chain(terms),
            AdditionOrder::Blocked(block) => blocks(block, &chain),
            AdditionOrder::Pairwise(block) => blocks(block, &|terms| halve(terms.to_vec(), rounding)),
            AdditionOrder::RoundedOnce(block) => blocks(block, &|terms| {
                let whole = terms.iter().fold(PartialSum::EMPTY, |sum, term| sum.join(*term));
                whole.round(rounding)
            }),
            AdditionOrder::Lanes(lanes) => {
                let lanes = lanes.max(1);
                let mut sums = vec![PartialSum::EMPTY; lanes.min(terms.len())];
                for (i, term) in terms.iter().enumerate() {
                    sums[i % lanes] = sums[i % lanes].add(*term, rounding);
                }
                halve(sums, rounding)
            }
            AdditionOrder::Windows(window) => {
                let window = window.max(2);
                let mut sums = terms.to_vec();
                while sums.len() > 1 {
                    sums = sums.chunks(window).map(chain).collect();
                }
                sums.first().copied().unwrap_or(PartialSum::EMPTY)
            }
        }
    }
}

/// Neighbours added level by level until one sum is left.
fn halve(mut sums: Vec<PartialSum>, rounding: &AdditionRounding) -> PartialSum {
    while sums.len() > 1 {
        let half = sums.len().div_ceil(2);
        for i in 0..half {
            let first = sums[2 * i];
            sums[i] = sums.get(2 * i + 1).map_or(first, |second| first.add(*second, rounding));
        }
        sums.truncate(half);
    }
    sums.first().copied().unwrap_or(PartialSum::EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::F32;

    const NEAREST: AdditionRounding = AdditionRounding { format: &F32, truncates: false };

    fn alternating(count: usize) -> Vec<PartialSum> {
        (0..count).map(|i| PartialSum::of((i as f64 * 0.7).sin())).collect()
    }

    #[test]
    fn every_order_has_the_same_value_and_its_own_error() {
        let terms = alternating(1000);
        let exact: f64 = terms.iter().map(|term| term.value).sum();
        let orders = [
            AdditionOrder::Chain,
            AdditionOrder::Blocked(128),
            AdditionOrder::Pairwise(usize::MAX),
            AdditionOrder::RoundedOnce(usize::MAX),
            AdditionOrder::Lanes(16),
            AdditionOrder::Windows(32),
        ];
        let sums = orders.map(|order| order.sum(&terms, &NEAREST));
        assert!(sums.iter().all(|sum| (sum.value - exact).abs() < 1e-12));
        let once = F32.ulp(exact);
        assert!((sums[3].variance / (once * once / 12.0) - 1.0).abs() < 1e-6);
        assert!(sums.iter().all(|sum| sum.variance >= sums[3].variance));
    }

    /// Orders of a few terms, written out; each errs otherwise than the others of as many terms.
    #[test]
    fn orders_are_those_of_their_names() {
        let t: Vec<PartialSum> =
            (0..7).map(|i| PartialSum::of(1.0 + (i as f64 * 1.7).sin().abs() * f64::from(1 << i))).collect();
        let add = |a: PartialSum, b: PartialSum| a.add(b, &NEAREST);
        let pair = |i: usize| add(t[i], t[i + 1]);
        let tree = add(pair(0), pair(2));
        let written = [
            (AdditionOrder::Chain, 5, add(add(add(pair(0), t[2]), t[3]), t[4])),
            (AdditionOrder::Blocked(3), 5, add(add(pair(0), t[2]), pair(3))),
            (AdditionOrder::Pairwise(usize::MAX), 5, add(tree, t[4])),
            (AdditionOrder::Pairwise(4), 6, add(tree, pair(4))),
            (AdditionOrder::RoundedOnce(3), 5, add(t[0].join(t[1]).join(t[2]).round(&NEAREST), pair(3))),
            (AdditionOrder::Lanes(4), 6, add(add(add(t[0], t[4]), add(t[1], t[5])), pair(2))),
            (AdditionOrder::Lanes(3), 5, add(add(add(t[0], t[3]), add(t[1], t[4])), t[2])),
            (AdditionOrder::Windows(3), 7, add(add(add(pair(0), t[2]), add(pair(3), t[5])), t[6])),
        ];
        for (order, count, expected) in written {
            let found = order.sum(&t[..count], &NEAREST);
            assert_eq!(found, expected, "{}", order.text());
            for (other, _, _) in written.iter().filter(|(other, of, _)| *other != order && *of == count) {
                assert_ne!(
                    other.sum(&t[..count], &NEAREST).variance,
                    found.variance,
                    "{} {}",
                    order.text(),
                    other.text()
                );
            }
        }
    }

    /// Growing sums: each level of a tree loses as much as the last addition of a chain.
    #[test]
    fn a_chain_of_equal_signs_errs_more_than_a_tree() {
        let terms: Vec<PartialSum> = (0..4096).map(|i| PartialSum::of(1.0 + (i as f64 * 0.7).sin() / 2.0)).collect();
        let of = |order: AdditionOrder| order.sum(&terms, &NEAREST).variance.sqrt();
        let [chain, blocked, pairwise] =
            [AdditionOrder::Chain, AdditionOrder::Blocked(128), AdditionOrder::Pairwise(usize::MAX)].map(of);
        assert!(chain > 5.0 * blocked && blocked > 1.5 * pairwise, "{chain} {blocked} {pairwise}");
        assert_eq!(AdditionOrder::Chain.sum(&[], &NEAREST), PartialSum::EMPTY);
        assert_eq!(of(AdditionOrder::Blocked(4096)), chain);
    }
}
