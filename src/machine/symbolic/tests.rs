use super::{Naming, Permits, Symbol};
use crate::ir::{Binary, Builder, Program, Unary};
use crate::tensor::DType;
use crate::{Arithmetic, Prepared};

use super::symbol::{Facts, Number};
use super::symbol_key::Key;

#[test]
fn numbers_are_their_own_symbols() {
    let numbers = [
        Number::Float(-0.0),
        Number::Float(f32::MIN_POSITIVE),
        Number::Double(-1e300),
        Number::Integer(i64::MIN),
        Number::Integer(-1),
    ];
    for number in numbers {
        assert_eq!(Symbol::of(number).number(), Some(number));
    }
    assert_eq!(Symbol::of(Number::Float(2.0)).opposite(), Symbol::of(Number::Float(-2.0)));
    assert_ne!(Symbol::of(Number::Float(0.0)), Symbol::of(Number::Integer(0)));
}

#[test]
fn what_is_known_of_a_number_follows_its_sign() {
    let symbol = Key::Test("x").mixer().symbol().with(Facts { normal: true, not_negative: true, ..Facts::default() });
    assert!(symbol.is_not_negative() && symbol.is_normal());
    assert!(!symbol.opposite().is_not_negative());
    assert_eq!(symbol.opposite().opposite(), symbol);
    let any = Key::Test("y").mixer().symbol();
    assert!(any.flush().is_normal() && any.flush().unflush() == any);
    assert_eq!(symbol.flush(), symbol);
    assert!(any.in_type(DType::BF16).is_bf16() && !any.in_type(DType::F16).is_bf16());
}

#[test]
fn words_that_differ_meet_nowhere() {
    let mut seen = std::collections::HashSet::new();
    let empty = Key::Test("m").mixer();
    for a in 0..300 {
        for b in 0..300 {
            assert!(seen.insert(empty.and_count(a).and_count(b).symbol()));
        }
    }
    assert_ne!(Key::Test("ab").mixer().symbol(), Key::Test("a").mixer().symbol());
    // Lists know their ends.
    let symbol = |n: usize| empty.and_count(n).symbol();
    let lists = [empty.and_all([symbol(1)]).and_all([symbol(2)]), empty.and_all([symbol(1), symbol(2)])];
    assert_ne!(lists[0].symbol(), lists[1].symbol());
}

fn traced(program: &Program, mode: &str, budget: u64) -> Result<Vec<Vec<Symbol>>, String> {
    let namings: Vec<Naming> = program
        .entry()
        .parameter_shapes()
        .iter()
        .enumerate()
        .map(|(argument, shape)| Naming {
            argument,
            origin: vec![0; shape.dims().len()],
            extents: shape.dims().to_vec(),
        })
        .collect();
    let mode: Arithmetic = mode.parse().unwrap();
    let traced = Prepared::new(program).trace(&mode, &namings, Permits::default(), budget);
    traced.map(|traced| traced.results).map_err(|error| error.to_string())
}

fn chain(binary: Binary, swapped: bool) -> Program {
    let mut b = Builder::new("chain");
    let x = b.parameter("x", DType::F32, &[4]).unwrap();
    let y = b.parameter("y", DType::F32, &[4]).unwrap();
    let e = b.unary(Unary::Exponential, x).unwrap();
    let z = if swapped { b.binary(binary, y, e) } else { b.binary(binary, e, y) }.unwrap();
    b.finish(&[("z", z)]).unwrap()
}

#[test]
fn only_what_commutes_is_taken_in_either_order() {
    let swaps = |binary, mode| {
        let of = |swapped| traced(&chain(binary, swapped), mode, 1 << 20).unwrap();
        of(false) == of(true)
    };
    for binary in [Binary::Add, Binary::Multiply] {
        assert!(swaps(binary, "v5e/default/off"));
    }
    for binary in [Binary::Subtract, Binary::Divide, Binary::Power] {
        assert!(!swaps(binary, "v5e/default/off"));
    }
    assert!(!swaps(Binary::Maximum, "v5e/default/off") && swaps(Binary::Maximum, "cpu/default/off"));
}

#[test]
fn each_element_has_a_symbol_of_its_own() {
    let results = traced(&chain(Binary::Add, false), "v5e/default/off", 1 << 20).unwrap();
    let distinct: std::collections::HashSet<&Symbol> = results[0].iter().collect();
    assert_eq!((results.len(), distinct.len()), (1, 4));
}

#[test]
fn a_budget_is_kept() {
    let error = traced(&chain(Binary::Add, false), "v5e/default/off", 10).unwrap_err();
    assert!(error.contains("too large to be followed element by element"), "{error}");
}
