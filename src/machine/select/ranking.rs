//! Sorting and exact top-k, by integer keys that order as the floats do.

use std::cmp::Ordering;

use crate::analysis::Comparator;
use crate::deadline::Pace;
use crate::ir::CompareOrder;
use crate::num::flush_f32;

use super::super::backend::Ties;
use super::radix::sort_items;

/// An integer that orders as IEEE totalOrder orders the float.
fn total_key(v: f32) -> u32 {
    let bits = v.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 0x8000_0000 }
}

/// Positions of the `k` largest (or smallest) elements, best first: IEEE totalOrder, ties to the lower position
/// (FACTS 4).
pub fn top_k(row: &[f32], k: usize, largest: bool) -> Vec<usize> {
    let key = |(at, v): (usize, &f32)| {
        let order = if largest { !total_key(*v) } else { total_key(*v) };
        u64::from(order) << 32 | at as u64
    };
    let mut keys: Vec<u64> = row.iter().enumerate().map(key).collect();
    let k = k.min(keys.len());
    if k < keys.len() && k > 0 {
        // Keys are unique, since they hold the position: an unstable selection has one result.
        keys.select_nth_unstable(k - 1);
        keys.truncate(k);
    }
    keys.truncate(k);
    keys.sort_unstable();
    keys.into_iter().map(|key| (key & 0xffff_ffff) as usize).collect()
}

/// [`top_k`] of f64.
pub fn top_k_wide(row: &[f64], k: usize, largest: bool) -> Vec<usize> {
    top_k_in(row, k, largest, f64::total_cmp)
}

/// [`top_k`] of integers in the order of their type.
pub fn top_k_of_integers(row: &[i64], k: usize, largest: bool, is_unsigned: bool) -> Vec<usize> {
    let unsigned = |a: &i64, b: &i64| (*a as u64).cmp(&(*b as u64));
    if is_unsigned { top_k_in(row, k, largest, unsigned) } else { top_k_in(row, k, largest, i64::cmp) }
}

/// Positions of the `k` first elements in an order, ties by the lower position.
fn top_k_in<T>(row: &[T], k: usize, largest: bool, order_of: impl Fn(&T, &T) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|a, b| if largest { order_of(&row[*b], &row[*a]) } else { order_of(&row[*a], &row[*b]) });
    order.truncate(k);
    order
}

/// Sorts by `less`. It always ends, even if that is no order, and the result depends on nothing but the answers.
pub fn sort_by<T: Copy>(ties: Ties, items: &mut Vec<T>, mut less: impl FnMut(T, T) -> bool) {
    let mut pace = Pace::default();
    let mut less = |a, b| {
        pace.spend(1);
        less(a, b)
    };
    match ties {
        Ties::InOrder => merge_sort(items, less),
        Ties::Unstable(algorithm) => {
            let mut order: Vec<u64> = (0..items.len() as u64).collect();
            // The algorithm moves numbers, whatever the items are: its comparisons and moves are those of the library.
            algorithm.0.sort(&mut order, &mut |a, b| less(items[a as usize], items[b as usize]));
            *items = order.into_iter().map(|at| items[at as usize]).collect();
        }
    }
}

/// Positions in sorted order. A NaN under a partial order is neither before nor after anything, and where it ends up
/// depends on the algorithm: such a row is sorted by the comparator itself (a modelling choice where ties stay in order).
pub fn sort_indices(row: &[f32], comparator: Comparator, flush: bool, ties: Ties) -> Vec<u32> {
    let partial = comparator.order == CompareOrder::Partial;
    if partial && row.iter().any(|v| v.is_nan()) {
        let key = |at: usize| if flush { flush_f32(row[at]) } else { row[at] };
        let mut order: Vec<usize> = (0..row.len()).collect();
        sort_by(ties, &mut order, |a, b| if comparator.descending { key(a) > key(b) } else { key(a) < key(b) });
        return order.into_iter().map(|at| at as u32).collect();
    }
    let order = |v: f32| {
        // jnp.sort's comparator asks `x == 0` by IEEE rules before it orders bits, so it sees what arithmetic sees.
        let v = if flush && (partial || comparator.canonical) { flush_f32(v) } else { v };
        // -0 and +0 are equal to a partial order and to jnp.sort's comparator; so are all NaNs to the latter.
        let v = if (partial || comparator.canonical) && v == 0.0 { 0.0 } else { v };
        let v = if comparator.canonical && v.is_nan() { f32::NAN } else { v };
        let key = total_key(v);
        if comparator.descending { !key } else { key }
    };
    let mut items: Vec<u64> = row.iter().enumerate().map(|(at, v)| u64::from(order(*v)) << 32 | at as u64).collect();
    match ties {
        Ties::InOrder => sort_items(&mut items),
        Ties::Unstable(algorithm) => {
            let mut pace = Pace::default();
            algorithm.0.sort(&mut items, &mut |a, b| {
                pace.spend(1);
                a >> 32 < b >> 32
            })
        }
    }
    items.into_iter().map(|item| item as u32).collect()
}

/// Merges ascending runs of 1, 2, 4, ...; the right element goes first only if `less(right, left)`.
fn merge_sort<T: Copy>(items: &mut Vec<T>, mut less: impl FnMut(T, T) -> bool) {
    let count = items.len();
    let mut merged = Vec::with_capacity(count);
    let mut run = 1;
    while run < count {
        merged.clear();
        for pair in items.chunks(2 * run) {
            let (left, right) = pair.split_at(run.min(pair.len()));
            let (mut l, mut r) = (0, 0);
            while l < left.len() && r < right.len() {
                // Only a right element that is less goes first: equal ones keep their order.
                if less(right[r], left[l]) {
                    merged.push(right[r]);
                    r += 1;
                } else {
                    merged.push(left[l]);
                    l += 1;
                }
            }
            merged.extend_from_slice(&left[l..]);
            merged.extend_from_slice(&right[r..]);
        }
        std::mem::swap(items, &mut merged);
        run *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadline;
    use crate::{Name, Named, UnstableSort};
    use std::cmp::Ordering;
    use std::time::{Duration, Instant};

    const NAN: f32 = f32::NAN;

    #[test]
    fn integers_of_64_bits_are_ranked_by_their_type() {
        // All bits set: the largest unsigned number, and -1.
        let row = [1, -1, 5];
        assert_eq!([true, false].map(|unsigned| top_k_of_integers(&row, 2, true, unsigned)), [[1, 2], [2, 0]]);
        assert_eq!([true, false].map(|unsigned| top_k_of_integers(&row, 1, false, unsigned)), [[0], [1]]);
    }

    #[test]
    fn a_sort_is_interrupted() {
        for ties in [Ties::InOrder, Ties::Unstable(Named(&LastFirst))] {
            let sort = || {
                let mut items: Vec<u32> = (0..2_000_000u32).map(|at| at.wrapping_mul(2_654_435_761)).collect();
                sort_by(ties, &mut items, |a, b| a < b);
            };
            let until = Instant::now().checked_add(Duration::from_millis(5));
            assert!(deadline::until(until, sort).is_err());
        }
    }

    /// Puts the last of equal elements first.
    struct LastFirst;

    impl Name for LastFirst {
        fn name(&self) -> &'static str {
            "last-first"
        }
    }

    impl UnstableSort for LastFirst {
        fn sort(&self, positions: &mut [u64], less: &mut dyn FnMut(u64, u64) -> bool) {
            positions.reverse();
            positions.sort_by(|a, b| match (less(*a, *b), less(*b, *a)) {
                (true, _) => Ordering::Less,
                (_, true) => Ordering::Greater,
                _ => Ordering::Equal,
            });
        }
    }

    /// An algorithm of a backend decides the order of equal elements alone.
    #[test]
    fn ties_lie_as_an_unstable_sort_leaves_them() {
        let ties = Ties::Unstable(Named(&LastFirst));
        let mut items = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
        sort_by(ties, &mut items, |a, b| a.0 < b.0);
        assert_eq!(items, [(1, 'd'), (1, 'b'), (2, 'c'), (2, 'a')]);
        let comparator =
            Comparator { key: 0, descending: true, order: CompareOrder::Total, canonical: false, ties: None };
        assert_eq!(sort_indices(&[1.0, 3.0, 1.0, 3.0], comparator, false, ties), [3, 1, 2, 0]);
        assert_eq!(sort_indices(&[1.0, 3.0, 1.0, 3.0], comparator, false, Ties::InOrder), [1, 3, 0, 2]);
    }

    /// Measured (FACTS 3.4, 4) and published fixtures (vllm-metal #786, flashinfer #2604).
    #[test]
    fn measured_rows() {
        assert_eq!(top_k(&[-0.0, 0.0, -0.0, 0.0], 4, true), [1, 3, 0, 2]);
        assert_eq!(top_k(&[0.0, 1e-40], 1, true), [1]);
        assert_eq!(top_k(&[1.0, -NAN, 3.0, NAN], 4, true), [3, 2, 0, 1]);
        assert_eq!(top_k(&[3.0, 2.0, 2.0, 2.0, 1.0, 0.0], 2, true), [0, 1]);
        let row = [1.0, -NAN, -0.0, 3.0, 0.0, NAN, 3.0];
        for (largest, best) in [(true, [5, 3, 6, 0, 4, 2, 1]), (false, [1, 2, 4, 0, 3, 6, 5])] {
            assert_eq!(top_k(&row, 7, largest), best);
            assert_eq!(top_k_wide(&row.map(f64::from), 7, largest), best);
        }
        assert_eq!(top_k_wide(&[0.5, 2.0, 2.0], 1, true), [1]);
        let ramp: Vec<f32> = (0..65536).map(|i| (i % 64) as f32 / 64.0).collect();
        let kept = top_k(&ramp, 1024, true);
        assert!(kept.iter().all(|at| ramp[*at] == 0.984375) && kept.is_sorted());
    }

    #[test]
    fn keys_sort_as_the_comparator_does() {
        let row = [2.0, -NAN, -0.0, 0.0, NAN, 1e-40, f32::INFINITY, -1.0, 0.0, -0.0, 2.0, f32::NEG_INFINITY, -1e-40];
        for descending in [false, true] {
            for (order, canonical) in [(CompareOrder::Total, false), (CompareOrder::Total, true)] {
                let comparator = Comparator { key: 0, descending, order, canonical, ties: None };
                let canonical_value = |v: f32| match canonical {
                    true if flush_f32(v) == 0.0 => 0.0,
                    true if v.is_nan() => NAN,
                    _ => v,
                };
                let mut expected: Vec<u32> = (0..row.len() as u32).collect();
                expected.sort_by(|a, b| {
                    let o = canonical_value(row[*a as usize]).total_cmp(&canonical_value(row[*b as usize]));
                    if descending { o.reverse() } else { o }
                });
                assert_eq!(sort_indices(&row, comparator, true, Ties::InOrder), expected);
            }
        }
        let plain: Vec<f32> = row.iter().copied().filter(|v| !v.is_nan()).collect();
        for flush in [false, true] {
            let key = |v: f32| if flush { flush_f32(v) } else { v };
            let mut expected: Vec<u32> = (0..plain.len() as u32).collect();
            let keys: Vec<f32> = plain.iter().map(|v| key(*v)).collect();
            expected.sort_by(|a, b| keys[*b as usize].partial_cmp(&keys[*a as usize]).unwrap_or(Ordering::Equal));
            let comparator =
                Comparator { key: 0, descending: true, order: CompareOrder::Partial, canonical: false, ties: None };
            assert_eq!(sort_indices(&plain, comparator, flush, Ties::InOrder), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_comparator_ends_in_a_permutation(answers in proptest::collection::vec(proptest::bool::ANY, 400), n in 0usize..40) {
            let mut next = answers.into_iter().cycle();
            let mut items: Vec<usize> = (0..n).collect();
            merge_sort(&mut items, |_, _| next.next().unwrap_or(false));
            items.sort_unstable();
            proptest::prop_assert!(items.into_iter().eq(0..n));
        }

        #[test]
        fn merging_is_stable(values in proptest::collection::vec(0u8..4, 0..70)) {
            let mut merged: Vec<usize> = (0..values.len()).collect();
            let mut expected = merged.clone();
            merge_sort(&mut merged, |a, b| values[a] < values[b]);
            expected.sort_by_key(|i| values[*i]);
            proptest::prop_assert_eq!(merged, expected);
        }
    }
}
