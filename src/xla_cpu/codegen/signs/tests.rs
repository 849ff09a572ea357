use super::{Signs, Term};

const VALUE: Term = Term::Value;
const THREE: Term = Term::Number { negative: false, single: true };
const MINUS_THREE: Term = Term::Number { negative: true, single: true };

fn neg(term: Term) -> Term {
    term.opposite()
}

fn mul(left: Term, right: Term) -> Term {
    Term::product(left, right)
}

fn div(left: Term, right: Term) -> Term {
    Term::quotient(left, right)
}

fn choice(on_true: Term, on_false: Term) -> Term {
    Term::Choice(Box::new([on_true, on_false]))
}

/// A negation goes as far into a term as something takes it up there.
#[test]
fn negations_go_to_factors() {
    let bare = || Term::Opposite(Box::new(VALUE));
    let ab = || mul(VALUE, VALUE);
    assert_eq!(neg(VALUE), bare());
    assert_eq!(neg(neg(VALUE)), VALUE);
    assert_eq!(neg(THREE), MINUS_THREE);
    assert_eq!(neg(ab()), Term::Product(Box::new([VALUE, bare()])));
    assert_eq!(neg(neg(ab())), ab());
    assert_eq!(mul(neg(VALUE), neg(VALUE)), ab());
    assert_eq!(mul(neg(VALUE), THREE), mul(VALUE, MINUS_THREE));
    assert_eq!(neg(mul(THREE, VALUE)), mul(VALUE, MINUS_THREE));
    assert_eq!(neg(mul(VALUE, ab())), mul(VALUE, mul(VALUE, bare())));
    assert_eq!(neg(div(VALUE, VALUE)), div(bare(), VALUE));
    assert_eq!(neg(div(VALUE, bare())), div(VALUE, VALUE));
    assert_eq!(div(bare(), THREE), div(VALUE, MINUS_THREE));
    assert_eq!(div(THREE, bare()), div(MINUS_THREE, VALUE));
    assert_eq!(neg(choice(VALUE, bare())), choice(bare(), VALUE));
    assert_eq!(neg(choice(THREE, VALUE)), choice(MINUS_THREE, bare()));
    assert_eq!(neg(choice(VALUE, ab())), Term::Opposite(Box::new(choice(VALUE, ab()))));
}

/// The first operands of sums and differences that LLVM was asked about, on a processor with AVX2.
#[test]
fn a_negation_decides_which_product_is_first() {
    let first = |subtracts: bool, left: Term, right: Term| {
        [false, true].map(|exchanges| Signs::new(subtracts, [left.clone(), right.clone()]).first(|| exchanges))
    };
    let ab = || mul(VALUE, VALUE);
    let direct = || mul(neg(VALUE), VALUE);
    let hidden = || mul(direct(), VALUE);
    // In the order of their ranks.
    assert_eq!(first(false, ab(), ab()), [0, 1]);
    assert_eq!(first(true, ab(), ab()), [0, 0]);
    // A product that is subtracted from the other one: (-a)b + cd and ab + (-c)d, and both.
    assert_eq!(first(false, direct(), ab()), [1, 1]);
    assert_eq!(first(false, ab(), direct()), [0, 0]);
    assert_eq!(first(true, ab(), direct()), [0, 1]);
    // The left one is not negated any more, and the other one is.
    assert_eq!(first(false, direct(), direct()), [1, 1]);
    // (a(-b))c + de: InstCombine sees no negation, DAGCombiner takes it out.
    assert_eq!(first(false, hidden(), ab()), [1, 1]);
    assert_eq!(first(false, ab(), hidden()), [0, 0]);
    assert_eq!(first(true, ab(), hidden()), [0, 0]);
    // -3 a c + de, de - 3 ac, and the same with the number in front.
    let minus_three = || mul(mul(VALUE, MINUS_THREE), VALUE);
    assert_eq!(first(false, minus_three(), ab()), [1, 1]);
    assert_eq!(first(false, ab(), minus_three()), [0, 0]);
    assert_eq!(first(false, minus_three(), minus_three()), [0, 1]);
    assert_eq!(first(true, ab(), mul(VALUE, THREE)), [0, 0]);
    assert_eq!(first(true, direct(), mul(ab(), THREE)), [1, 1]);
    // A choice that was negated is no negation, one with a negation on a side is.
    assert_eq!(first(false, mul(VALUE, neg(choice(neg(VALUE), VALUE))), direct()), [0, 0]);
    assert_eq!(first(false, mul(choice(neg(VALUE), THREE), VALUE), ab()), [1, 1]);
    // Not beside a number that the block has more than once.
    let shared = Term::Number { negative: false, single: false };
    assert_eq!(first(false, mul(choice(neg(VALUE), shared), VALUE), ab()), [0, 1]);
}
