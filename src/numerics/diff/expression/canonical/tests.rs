use super::*;

#[test]
fn equal_arithmetic_is_one_expression() {
    let mut e = Expressions::default();
    let [x, y] = [0, 1].map(|n| e.leaf(ExpressionHead::Parameter(n)));
    let mut binary = |by, a, b| e.apply(ExpressionHead::Binary(by), vec![a, b]);
    assert_eq!(binary(Binary::Add, x, y), binary(Binary::Add, y, x));
    assert_ne!(binary(Binary::Subtract, x, y), binary(Binary::Subtract, y, x));
    let quotient = binary(Binary::Divide, x, y);
    let inverse = e.apply(ExpressionHead::Reciprocal, vec![y]);
    assert_eq!(e.apply(ExpressionHead::Binary(Binary::Multiply), vec![inverse, x]), quotient);
    let zero = e.constant(-0.0);
    assert_eq!(e.apply(ExpressionHead::Binary(Binary::Add), vec![x, zero]), x);
    // 0.1 in f32 and in bf16 are one constant of the source.
    assert_eq!(e.constant(f64::from(0.1f32)), e.constant(0.10009765625));
}

#[test]
fn a_scan_in_blocks_is_a_scan() {
    let mut e = Expressions::default();
    let x = e.leaf(ExpressionHead::Parameter(0));
    let by = ReductionOperation::Known(Binary::Add);
    let blocks = e.apply(ExpressionHead::Scan { by, rows: 64 }, vec![x]);
    let last = e.apply(ExpressionHead::Slice(vec![(15, 16, 1)]), vec![blocks]);
    let totals = e.apply(ExpressionHead::Scan { by, rows: 8 }, vec![last]);
    let whole = e.apply(ExpressionHead::Binary(Binary::Add), vec![totals, blocks]);
    assert_eq!(whole, e.apply(ExpressionHead::Scan { by, rows: 8 }, vec![x]));
    assert!(e.is_step(blocks) && e.is_step(totals) && !e.is_step(whole));
    // The totals of something else are no part of it.
    let y = e.leaf(ExpressionHead::Parameter(1));
    let others = e.apply(ExpressionHead::Scan { by, rows: 8 }, vec![y]);
    let sum = e.apply(ExpressionHead::Binary(Binary::Add), vec![others, blocks]);
    assert_ne!(sum, whole);
}

#[test]
fn a_scan_does_not_show_what_was_padded_behind_it() {
    let mut e = Expressions::default();
    let [x, zero] = [ExpressionHead::Parameter(0), ExpressionHead::Constant(0.0f64.to_bits())].map(|head| e.leaf(head));
    let scan = ExpressionHead::Scan { by: ReductionOperation::Known(Binary::Add), rows: 8 };
    let plain = e.apply(scan.clone(), vec![x]);
    let mut of_padded = |low, high, kept| {
        let padded = e.apply(ExpressionHead::Pad(vec![Edge { low, high, interior: 0, size: 24 }]), vec![x, zero]);
        let scanned = e.apply(scan.clone(), vec![padded]);
        e.apply(ExpressionHead::Slice(vec![kept]), vec![scanned])
    };
    assert_eq!(of_padded(0, 8, (0, 24, 1)), plain);
    assert_ne!(of_padded(8, 0, (8, 32, 1)), plain);
    assert_ne!(of_padded(0, 8, (0, 25, 1)), plain);
}

#[test]
fn parts_that_overlap_are_not_side_by_side() {
    let mut e = Expressions::default();
    let [x, y, low] = [
        ExpressionHead::Parameter(0),
        ExpressionHead::Parameter(1),
        ExpressionHead::Constant(f64::NEG_INFINITY.to_bits()),
    ]
    .map(|h| e.leaf(h));
    let mut padded = |of, low_edge, high, size| {
        let edge = Edge { low: low_edge, high, interior: 0, size };
        e.apply(ExpressionHead::Pad(vec![edge]), vec![of, low])
    };
    let (first, second, shifted) = (padded(x, 0, 5, 4), padded(y, 4, 0, 5), padded(y, 1, 3, 5));
    let mut larger = |a, b| e.apply(ExpressionHead::Binary(Binary::Maximum), vec![a, b]);
    let (apart, overlapping) = (larger(second, first), larger(first, shifted));
    assert_eq!(e.get(apart), (&ExpressionHead::Concatenate, &[x, y][..]));
    assert_eq!(*e.get(overlapping).0, ExpressionHead::Binary(Binary::Maximum));
}

#[test]
fn a_remainder_made_positive_is_compared_once() {
    let mut e = Expressions::default();
    let [x, y] = [0, 1].map(|n| e.leaf(ExpressionHead::Parameter(n)));
    let [zero, one] = [0.0, 1.0].map(|number| e.constant(number));
    let compare = |e: &mut Expressions, by, a, b| e.apply(ExpressionHead::Compare(by), vec![a, b]);
    let below = compare(&mut e, Compare::Lt, x, zero);
    // No sign differs from that of a divisor that is known to be positive.
    assert_eq!(compare(&mut e, Compare::Ne, below, zero), below);
    assert_eq!(compare(&mut e, Compare::Eq, one, below), below);
    let opposite = e.apply(ExpressionHead::Unary(Unary::Not), vec![below]);
    assert_eq!(compare(&mut e, Compare::Eq, below, zero), opposite);
    let unequal = compare(&mut e, Compare::Ne, zero, x);
    assert_ne!(unequal, x);
    let mut both = |a, b| e.apply(ExpressionHead::Binary(Binary::And), vec![a, b]);
    assert_eq!(both(unequal, below), below);
    assert_eq!(both(below, unequal), below);
    let of_another = compare(&mut e, Compare::Ne, y, zero);
    let apart = e.apply(ExpressionHead::Binary(Binary::And), vec![below, of_another]);
    assert_eq!(*e.get(apart).0, ExpressionHead::Binary(Binary::And));
}
