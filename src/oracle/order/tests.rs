use std::cmp::Ordering;

use crate::ir::Unary;

use super::{Classes, Column, Going, Identity, Step};

#[test]
fn identities_are_classes_with_keys() {
    let of = |class: u64, key: f64| Identity { class, key };
    assert!(of(3, 1.5).is(&of(3, 1.5)) && !of(3, 1.5).is(&of(4, 1.5)) && !of(3, 1.5).is(&of(3, 2.5)));
    assert!(Identity::exact(f64::NAN).is(&Identity::exact(f64::NAN)));
    assert!(!Identity::exact(0.0).is(&Identity::exact(-0.0)));
    let mut classes = Classes::default();
    let first = classes.fresh(2);
    let compare = |x: Identity, y: Identity| classes.compare(&x, &y);
    assert_eq!(compare(of(first, 1.0), of(first, 2.0)), Some(Ordering::Less));
    assert_eq!(compare(of(first, 1.0), of(first + 1, 2.0)), None);
    assert_eq!(compare(Identity::exact(0.0), Identity::exact(-0.0)), Some(Ordering::Equal));
}

/// Classes that were made together stay side by side, whichever of them is asked first.
#[test]
fn equal_steps_lead_to_equal_classes() {
    let mut classes = Classes::default();
    let (first, other) = (classes.fresh(10), classes.fresh(5));
    assert_eq!(classes.fresh(0), other + 5);
    let after: Vec<u64> = (0..10).map(|i| classes.after(Step::Unary(Unary::Exponential), first + i)).collect();
    assert!((1..10).all(|i| after[i] == after[0] + i as u64), "{after:?}");
    let elsewhere: Vec<u64> = (0..5).rev().map(|i| classes.after(Step::Unary(Unary::Exponential), other + i)).collect();
    let another: Vec<u64> = (0..10).map(|i| classes.after(Step::Unary(Unary::Tanh), first + i)).collect();
    // Asked again, in any order, they are what they were.
    assert!((0..10).rev().all(|i| classes.after(Step::Unary(Unary::Exponential), first + i as u64) == after[i]));
    let mut all: Vec<u64> = (first..first + 10).chain(other..other + 5).collect();
    all.extend(after.iter().chain(&elsewhere).chain(&another));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 40, "no two are one");
    assert_ne!(classes.after(Step::Unary(Unary::Exponential), after[0]), first, "it does not lead back");
    let back = Step::Unary(Unary::Negate);
    let there = classes.after(back, first + 7);
    assert_eq!(classes.after(back, there), first + 7);
    assert_eq!(classes.after(back, there - 7), first);
}

/// A rounded value orders by its key no more than weakly, whatever rising steps come after; one with an error not at all.
#[test]
fn what_is_rounded_may_be_equal_for_two_keys() {
    let mut classes = Classes::default();
    let exact = classes.fresh(1);
    let rounded = classes.after(Step::Rounded(3), exact);
    let after = classes.after(Step::Unary(Unary::Exponential), rounded);
    let erring = classes.after(Step::Erring(4), after);
    let flushed = classes.after(Step::Flushed, erring);
    let goings = [exact, rounded, after, erring, flushed].map(|class| classes.direction(class));
    use Going::{Anyhow, NeverFalling, Rising};
    assert_eq!(goings, [Rising, NeverFalling, NeverFalling, Anyhow, Anyhow]);
    let of = |class, key| Identity { class, key };
    for class in [rounded, after, erring] {
        assert_eq!(classes.compare(&of(class, 1.0), &of(class, 1.0)), Some(Ordering::Equal));
        assert_eq!(classes.compare(&of(class, 1.0), &of(class, 2.0)), None);
    }
    assert!(
        classes.is_not_below(&of(after, 2.0), &of(after, 1.0))
            && !classes.is_not_below(&of(after, 1.0), &of(after, 2.0))
    );
    assert!(
        !classes.is_not_below(&of(erring, 2.0), &of(erring, 1.0))
            && classes.is_not_below(&of(erring, 1.0), &of(erring, 1.0))
    );
    assert!(!classes.is_not_below(&of(after, 2.0), &of(rounded, 1.0)));
}

/// Classes of two arrays in one column, and of one of them.
fn columns(classes: &mut Classes) -> [Column<u64>; 2] {
    let (first, second) = (classes.fresh(100), classes.fresh(70));
    let mixed = (0..150u64).map(|at| if at % 3 == 0 { second + at % 70 } else { first + at % 100 });
    let one = (first..first + 100).collect::<Vec<u64>>();
    [Column::runs(one.iter().copied().chain(mixed).collect(), 2), Column::runs(one, 2)]
}

#[test]
fn each_value_of_a_column_takes_a_step_as_it_does_alone() {
    let mut classes = Classes::default();
    let step = Step::Rounded(7);
    for column in columns(&mut classes) {
        let all = classes.after_each(step, &column);
        let each: Vec<u64> = column.values().iter().map(|class| classes.after(step, *class)).collect();
        assert_eq!((all.values(), all.run()), (&each[..], 2));
    }
}

/// Values of several blocks are equal after a rounding where they were equal before, and nowhere else; the next step finds one block.
/// A step that several columns may take is the same for all.
#[test]
fn a_column_of_several_blocks_is_rounded_as_one() {
    let mut classes = Classes::default();
    let [mixed, _] = columns(&mut classes);
    let after = classes.after_all(Step::Rounded(1), &mixed);
    for (one, new) in mixed.values().iter().zip(after.values()) {
        for (other, next) in mixed.values().iter().zip(after.values()) {
            assert_eq!(one == other, new == next);
        }
        assert_eq!(classes.direction(*new), Going::NeverFalling);
        assert!(!mixed.values().contains(new));
    }
    let blocks = classes.blocks.len();
    classes.after_all(Step::Erring(2), &after);
    assert_eq!(classes.blocks.len(), blocks + 1);
    let flushed = classes.after_all(Step::Flushed, &mixed);
    assert_eq!(flushed.values(), classes.after_all(Step::Flushed, &mixed.clone()).values());
}

/// Values that rise with their keys keep that beside values that do not.
#[test]
fn values_of_two_directions_keep_their_own() {
    let mut classes = Classes::default();
    let rising = classes.fresh(3);
    let erring = classes.after(Step::Erring(1), rising);
    let column = Column::new(vec![rising, erring, rising + 1]);
    let after = classes.after_all(Step::Rounded(2), &column);
    let goings: Vec<Going> = after.values().iter().map(|class| classes.direction(*class)).collect();
    assert_eq!(goings, [Going::NeverFalling, Going::Anyhow, Going::NeverFalling]);
}
