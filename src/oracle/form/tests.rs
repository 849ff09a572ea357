//! Linear forms.

use super::*;

fn number(numerator: i32, denominator: i32) -> Form {
    Form::constant(Rational::from((numerator, denominator)))
}

/// `constant + coefficient * atom 1`.
fn form(constant: i32, coefficient: i32) -> Form {
    Form::atom(1).multiply(&number(coefficient, 1)).unwrap().add(&number(constant, 1)).unwrap()
}

#[test]
fn atoms_are_told_apart() {
    let (a, b) = (Form::atom(1), Form::atom(2));
    let both = a.clone().add(&b).unwrap();
    assert_eq!(both.clone().subtract(&b), Some(a.clone()));
    assert_eq!(both.clone().add(&both).unwrap().divide(&both), Some(number(2, 1)));
    assert_eq!((both.divide(&a), a.divide(&both), a.multiply(&b)), (None, None, None));
}

#[test]
fn forms_stay_short() {
    let mut sum = Form::default();
    for atom in 0..MOST_TERMS as u64 {
        sum = sum.add(&Form::atom(atom)).unwrap();
    }
    assert_eq!(sum.add(&Form::atom(99)), None);
    let huge = Rational::from(Integer::from(1) << LARGEST);
    assert_eq!(Form::atom(0).multiply(&Form::constant(huge)), None);
}

/// As the sum of the products one by one, short or not.
#[test]
fn sums_of_products_are_those_of_their_terms() {
    let wide = Rational::from(Integer::from(1) << (LARGEST / 2));
    let factors = [number(2, 3), number(0, 1), number(-2, 3), Form::constant(wide), number(5, 7)];
    let others = [form(3, 2), form(7, 1), form(1, 2), Form::atom(9), number(1, 3)];
    let all = || factors.iter().flat_map(|x| others.iter().map(move |y| (x, y)));
    let mut short = 0;
    for (a, b) in all() {
        for (c, d) in all() {
            let products = [(a, b), (d, c)];
            let one_by_one = a.multiply(b).zip(d.multiply(c)).and_then(|(x, y)| x.add(&y));
            assert_eq!(Form::of_products(products.into_iter()), one_by_one, "{products:?}");
            short += usize::from(one_by_one.is_some());
        }
    }
    assert!(short > 100, "{short}");
    let atoms: Vec<Form> = (0..=MOST_TERMS as u64).map(Form::atom).collect();
    let one = number(1, 1);
    assert_eq!(Form::of_products(atoms.iter().map(|atom| (atom, &one))), None);
    assert!(Form::of_products(atoms[1..].iter().map(|atom| (atom, &one))).is_some());
    assert_eq!(Form::of_products([(&atoms[0], &atoms[1])].into_iter()), None);
}

#[test]
fn what_cancels_is_gone() {
    let x = form(3, 2);
    assert_eq!(x.clone().subtract(&x).unwrap().as_rational(), Some(&Rational::new()));
    assert_eq!(x.clone().add(&x.negate()).unwrap(), number(0, 1));
    assert_eq!(x.negate(), form(-3, -2));
    assert_eq!(x.clone().subtract(&form(1, 5)).unwrap(), form(2, -3));
    assert_eq!(x.as_rational(), None);
}

#[test]
fn products_need_a_rational_factor() {
    let x = form(3, 2);
    assert_eq!(x.multiply(&number(2, 1)), Some(form(6, 4)));
    assert_eq!(number(2, 1).multiply(&x), Some(form(6, 4)));
    assert_eq!(x.multiply(&number(0, 1)), Some(number(0, 1)));
    assert_eq!(x.multiply(&x), None);
}

#[test]
fn quotients_of_multiples_are_rational() {
    let x = form(3, 2);
    assert_eq!(x.divide(&number(2, 1)), x.multiply(&number(1, 2)));
    assert_eq!(form(9, 6).divide(&x), Some(number(3, 1)));
    assert_eq!(x.divide(&form(9, 6)), Some(number(1, 3)));
    assert_eq!(form(9, 5).divide(&x), None);
    assert_eq!((x.divide(&number(0, 1)), number(1, 1).divide(&x)), (None, None));
}

#[test]
fn roots_of_squares_are_rational() {
    assert_eq!(root(&Rational::from((9, 4))), Some(Rational::from((3, 2))));
    for (numerator, denominator) in [(8, 4), (9, 5), (2, 9), (-9, 4), (0, 1)] {
        assert_eq!(root(&Rational::from((numerator, denominator))), None, "{numerator} / {denominator}");
    }
}

#[test]
fn numbers_of_too_many_bits_have_no_form() {
    let power = |exponent: i32| Float::with_val(53, Float::i_exp(1, exponent));
    // Reach and precision together: 2^4042 has the exponent 4043.
    assert!(Form::of_float(&power(4042)).is_some() && Form::of_float(&power(4043)).is_none());
    assert!(Form::of_float(&power(-4044)).is_some() && Form::of_float(&power(-4045)).is_none());
    assert!(Form::of_float(&Float::with_val(53, f64::NAN)).is_none());
}

#[test]
fn integers_saturate() {
    let of = |value: f64| saturate(&Float::with_val(53, value));
    assert_eq!((of(2.9), of(-2.9), of(-0.0), of(1e30)), (2, -2, 0, 1e30 as i128));
    assert_eq!((of(2f64.powi(126)), of(2f64.powi(127)), of(-(2f64.powi(127)))), (1 << 126, i128::MAX, i128::MIN));
    assert_eq!((of(1e300), of(-1e300), of(f64::INFINITY)), (i128::MAX, i128::MIN, i128::MAX));
}
