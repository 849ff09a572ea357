use std::cmp::Ordering;

use crate::ir::Unary;

use super::{Classes, Going, Identity, Step};

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
