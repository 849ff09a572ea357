//! Introsort as libstdc++'s `std::sort` has it, step by step: which of equal elements comes first is part of the result.
//!
//! Musser (1997), "Introspective sorting and selection algorithms"; the steps are those of `bits/stl_algo.h` and
//! `bits/stl_heap.h` of GCC 4 to 14, which name them. Comparators that are no order end here as well, within the row.

use crate::machine::{Name, UnstableSort};

/// `std::sort` of libstdc++.
pub struct Introsort;

impl Name for Introsort {
    fn name(&self) -> &'static str {
        "introsort"
    }
}

impl UnstableSort for Introsort {
    fn sort(&self, positions: &mut [u64], mut less: &mut dyn FnMut(u64, u64) -> bool) {
        introsort(positions, &mut less);
    }
}

/// Rows up to this length are left to one insertion sort at the end (`_S_threshold`).
const THRESHOLD: usize = 16;

/// Sorts by `less`, in an order of equal elements that depends on nothing but the answers.
fn introsort<T: Copy>(items: &mut [T], less: &mut impl FnMut(T, T) -> bool) {
    if items.len() < 2 {
        return;
    }
    divide(items, 2 * items.len().ilog2(), less);
    let sorted = items.len().min(THRESHOLD);
    for at in 1..items.len() {
        // `std::__insertion_sort` of the first, then `std::__unguarded_insertion_sort`.
        if at < sorted && less(items[at], items[0]) {
            items[..=at].rotate_right(1);
        } else {
            insert(items, at, less);
        }
    }
}

/// `std::__introsort_loop`.
fn divide<T: Copy>(mut items: &mut [T], mut depth: u32, less: &mut impl FnMut(T, T) -> bool) {
    while items.len() > THRESHOLD {
        if depth == 0 {
            return heap_sort(items, less);
        }
        depth -= 1;
        let cut = partition(items, less);
        let (left, right) = items.split_at_mut(cut);
        divide(right, depth, less);
        items = left;
    }
}

/// `std::__unguarded_partition_pivot`: the median of three goes first, the others on their sides of it; gives the first of
/// the right side.
fn partition<T: Copy>(items: &mut [T], less: &mut impl FnMut(T, T) -> bool) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let mut before = |x: usize, y: usize| less(items[x], items[y]);
    let median = if before(a, b) {
        if before(b, c) {
            b
        } else if before(a, c) {
            c
        } else {
            a
        }
    } else if before(a, c) {
        a
    } else if before(b, c) {
        c
    } else {
        b
    };
    items.swap(0, median);
    let (pivot, mut first, mut last) = (items[0], 1, items.len());
    loop {
        while first < items.len() && less(items[first], pivot) {
            first += 1;
        }
        last -= 1;
        while last > 0 && less(pivot, items[last]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

/// `std::__unguarded_linear_insert`.
fn insert<T: Copy>(items: &mut [T], at: usize, less: &mut impl FnMut(T, T) -> bool) {
    let (value, mut hole) = (items[at], at);
    while hole > 0 && less(value, items[hole - 1]) {
        items[hole] = items[hole - 1];
        hole -= 1;
    }
    items[hole] = value;
}

/// `std::__partial_sort` of all: `std::__make_heap`, then `std::__sort_heap`.
fn heap_sort<T: Copy>(items: &mut [T], less: &mut impl FnMut(T, T) -> bool) {
    for parent in (0..items.len() / 2).rev() {
        let value = items[parent];
        adjust_heap(items, parent, value, less);
    }
    for last in (1..items.len()).rev() {
        let value = items[last];
        items[last] = items[0];
        adjust_heap(&mut items[..last], 0, value, less);
    }
}

/// `std::__adjust_heap`: the hole sinks to the bottom, then `value` rises from there.
fn adjust_heap<T: Copy>(heap: &mut [T], top: usize, value: T, less: &mut impl FnMut(T, T) -> bool) {
    let (mut hole, length) = (top, heap.len());
    while 2 * hole + 2 < length {
        let (left, right) = (2 * hole + 1, 2 * hole + 2);
        let child = if less(heap[right], heap[left]) { left } else { right };
        heap[hole] = heap[child];
        hole = child;
    }
    if 2 * hole + 2 == length {
        heap[hole] = heap[2 * hole + 1];
        hole = 2 * hole + 1;
    }
    while hole > top && less(heap[(hole - 1) / 2], value) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = value;
}

#[cfg(test)]
mod tests {
    use super::introsort;

    /// FNV-1a over the positions in their new order.
    fn order_of(keys: &[u32]) -> u64 {
        let mut items: Vec<(u32, u64)> = keys.iter().copied().zip(0..).collect();
        introsort(&mut items, &mut |a, b| a.0 < b.0);
        assert!(items.is_sorted_by_key(|item| item.0));
        items.iter().fold(0xcbf2_9ce4_8422_2325, |hash, (_, at)| (hash ^ at).wrapping_mul(0x100_0000_01b3))
    }

    /// Positions of equal keys after GCC 12's `std::sort`: (count, different keys, hash of the positions).
    #[test]
    fn equal_keys_lie_as_libstdcxx_leaves_them() {
        for (count, different, hash) in [
            (1, 7, 0xaf63_bd4c_8601_b7df),
            (2, 1, 0x0832_8707_b4eb_6e3a),
            (2, 2, 0x082f_2207_b4e8_8cc4),
            (16, 2, 0x589c_9ad1_1fc8_7689),
            (16, 1000, 0xa9dd_d204_8fa6_32b5),
            (17, 1, 0x9335_4466_f7a3_7cef),
            (17, 7, 0x5dc7_3901_9b3a_48c7),
            (40, 2, 0x540f_9f86_edd0_4b73),
            (40, 1000, 0x5b27_c528_e231_2f1b),
            (1000, 1, 0x2f7b_7ba9_0035_7825),
            (1000, 7, 0x1a5d_f264_f215_9663),
            (5000, 2, 0x5833_7c7e_c242_2915),
            (5000, 1000, 0x53be_e1aa_f779_63ab),
        ] {
            let mut state: u64 = count * 31 + different;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                ((state >> 33) % different) as u32
            };
            let keys: Vec<u32> = (0..count).map(|_| next()).collect();
            assert_eq!(order_of(&keys), hash, "{count} of {different}");
        }
    }

    /// Keys that make every median a bad one (Musser 1997, section 3): the heap takes over.
    #[test]
    fn bad_medians_end_in_a_heap() {
        let half = 1000;
        let mut keys = vec![0; 2 * half];
        for i in 1..=half {
            if i % 2 == 1 {
                (keys[i - 1], keys[i]) = (i as u32, (half + i) as u32);
            }
            keys[half + i - 1] = 2 * i as u32;
        }
        assert_eq!(order_of(&keys), 0x7d6b_3768_2835_5c39);
    }

    /// A comparator that is no order ends within the row, and nothing is lost.
    #[test]
    fn any_answers_end() {
        for (count, answer) in [(40, [true, true]), (1000, [true, true]), (1000, [false, false]), (1000, [true, false])]
        {
            let mut items: Vec<u32> = (0..count).collect();
            let mut asked = 0;
            introsort(&mut items, &mut |_, _| {
                asked += 1;
                answer[asked % 2]
            });
            items.sort_unstable();
            assert!(items.into_iter().eq(0..count));
        }
    }
}
