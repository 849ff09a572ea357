//! Introsort as libstdc++'s `std::sort` has it, step by step: which of equal elements comes first is part of the result.
//!
//! Musser (1997), "Introspective sorting and selection algorithms"; the steps are those of `bits/stl_algo.h` and
//! `bits/stl_heap.h` of GCC 4 to 14, which name them. Comparators that are no order end here as well, within the row.

/// Rows up to this length are left to one insertion sort at the end (`_S_threshold`).
const THRESHOLD: usize = 16;

/// Sorts by `less`, in an order of equal elements that depends on nothing but the answers.
pub fn introsort<T: Copy>(items: &mut [T], less: &mut impl FnMut(T, T) -> bool) {
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
