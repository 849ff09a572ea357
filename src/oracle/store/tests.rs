use super::{FREE, KEPT, SHORTEST, Store, classes, numbers, vector};

/// Capacities of the vectors that this thread keeps, the oldest first.
fn kept() -> Vec<usize> {
    FREE.with_borrow(|free| free.iter().map(Vec::capacity).collect())
}

fn dropped(capacity: usize) {
    drop(Store::new(Vec::<f64>::with_capacity(capacity)));
}

#[test]
fn memory_is_used_again_where_it_fits() {
    dropped(10_000);
    dropped(SHORTEST - 1);
    drop(Store::new(vec![0u64; 10_000]));
    assert_eq!(kept(), [10_000]);
    // Too small, or more than twice as large as what is asked.
    for len in [10_001, 4_999] {
        let other = vector(len);
        assert!(other.is_empty() && other.capacity() >= len && other.capacity() < 2 * len);
        assert_eq!(kept(), [10_000]);
    }
    let same = vector(5_000);
    assert!(same.is_empty() && same.capacity() == 10_000 && kept().is_empty());
    drop(Store::new(vec![1.0; 10_000]));
    let same = vector(10_000);
    assert!(same.is_empty() && same.capacity() == 10_000 && kept().is_empty());
}

/// Memory that is used again is as long as asked, whatever it held.
#[test]
fn numbers_are_as_many_as_asked() {
    for (held, len) in [(10_000, 9_000), (9_000, 9_500)] {
        let mut old = Vec::with_capacity(10_000);
        old.resize(held, 7.0);
        drop(Store::new(old));
        let same = numbers(len);
        assert_eq!((same.len(), same.capacity()), (len, 10_000));
        assert!(kept().is_empty());
    }
    assert_eq!(numbers(3), [0.0; 3]);
}

#[test]
fn the_memory_of_classes_is_used_again_as_well() {
    drop(Store::new(vec![7u64; 10_000]));
    let same = classes(9_000);
    assert!(same.is_empty() && same.capacity() == 10_000 && kept().is_empty());
    assert!(classes(9_000).capacity() < 10_000);
}

#[test]
fn a_thread_keeps_so_much_and_no_more() {
    let eighth = KEPT / size_of::<f64>() / 8;
    (0..8).for_each(|_| dropped(eighth));
    assert_eq!(kept(), [eighth; 8]);
    // The oldest go.
    dropped(SHORTEST);
    let mut expected = vec![eighth; 7];
    expected.push(SHORTEST);
    assert_eq!(kept(), expected);
    dropped(3 * eighth);
    let mut expected = vec![eighth; 4];
    expected.extend([SHORTEST, 3 * eighth]);
    assert_eq!(kept(), expected);
}
