mod one_symbol;
mod random_planes;
mod random_program;
mod random_words;

use super::{Naming, Permits, Symbol};
use crate::ir::{Binary, Builder, Compare, Mark, Op, Program, Shape, Unary};
use crate::tensor::{DTYPES, DType, Data, Tensor};
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

/// Facts of a number that no argument decides are read from its bits.
#[test]
fn facts_of_known_numbers_are_their_own() {
    let magnitudes = [0.0, 1e-45, 1e-40, f32::MIN_POSITIVE, 1.0, 1.0 + f32::EPSILON, 1.5, f32::MAX, f32::INFINITY];
    for value in magnitudes.into_iter().flat_map(|v| [v, -v]).chain([f32::NAN]) {
        let symbol = Symbol::of(Number::Float(value));
        let (is_small, is_positive) = (value.abs() < f32::MIN_POSITIVE, value.is_sign_positive());
        assert_eq!(symbol.is_normal(), value == 0.0 || !is_small, "{value:e}");
        assert_eq!(symbol.is_not_negative(), is_positive, "{value:e}");
        // A negative subnormal is flushed to -0.
        assert_eq!(symbol.is_not_minus_zero(), is_positive || !is_small, "{value:e}");
        assert_eq!(symbol.is_no_zero(), !is_small, "{value:e}");
        assert_eq!(symbol.is_bf16(), value.is_nan() || value.to_bits() & 0xffff == 0, "{value:e}");
        let flushed = if is_small { 0f32.copysign(value) } else { value };
        assert_eq!(symbol.flush(), Symbol::of(Number::Float(flushed)), "{value:e}");
        assert_eq!(symbol.opposite(), Symbol::of(Number::Float(-value)), "{value:e}");
    }
    let predicates = [0, 1].map(|predicate| Symbol::of(Number::Integer(predicate)));
    assert_eq!(predicates.map(Symbol::opposite), [predicates[1], predicates[0]]);
}

/// Facts of an unknown number are those of its operation, and of one of two those of both.
#[test]
fn facts_of_unknown_numbers_are_those_of_their_operation() {
    let all = || (0..8u32).map(|bits| [0, 1, 2].map(|bit| bits >> bit & 1 == 1));
    let any = |name, [normal, not_negative, not_minus_zero]: [bool; 3]| {
        Key::Test(name).mixer().symbol().with(Facts { normal, not_negative, not_minus_zero })
    };
    for facts @ [normal, not_negative, not_minus_zero] in all() {
        let symbol = any("x", facts);
        let known = |symbol: Symbol| [symbol.is_normal(), symbol.is_not_negative(), symbol.is_not_minus_zero()];
        assert_eq!(known(symbol), [normal, not_negative, not_minus_zero || not_negative], "{facts:?}");
        assert_eq!(known(symbol.opposite()), [normal, false, false], "{facts:?}");
        // What is flushed is normal, and may be flushed to -0 unless nothing of it is negative.
        let kept = not_negative || normal && not_minus_zero;
        assert_eq!(known(symbol.flush()), [true, not_negative, kept], "{facts:?}");
        // A rounding of what is not -0 may be -0.
        let rounded = Key::Test("rounded").mixer().symbol().like(symbol);
        assert_eq!(known(rounded), [normal, not_negative, not_negative], "{facts:?}");
        for others in all() {
            let other = any("y", others);
            let both = |at: usize| facts[at] && others[at];
            let picked = known(Key::Test("picked").mixer().symbol().one_of(symbol, other));
            let is_not_minus_zero = (not_minus_zero || not_negative) && (others[2] || others[1]);
            assert_eq!(picked, [both(0), both(1), is_not_minus_zero], "{facts:?} {others:?}");
        }
    }
}

/// A number belongs to the type that it is known of, and to no other; bf16 has subnormals of f32.
#[test]
fn types_of_symbols_are_told_apart() {
    let any = Key::Test("x").mixer().symbol();
    let narrow = |dtype: &DType| dtype.is_float() && !matches!(dtype, DType::F32 | DType::F64 | DType::F8E8M0FNU);
    for dtype in DTYPES.into_iter().filter(narrow) {
        for other in DTYPES.into_iter().filter(narrow) {
            assert_eq!(any.in_type(dtype).is_of(other), dtype == other, "{dtype} as {other}");
        }
    }
    assert!(!any.in_type(DType::BF16).is_normal() && !any.is_of(DType::F32));
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
    assert_ne!(Key::Test("a").mixer().symbol(), Key::Test("a\0").mixer().symbol());
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

/// The sum of two products, either one written first, by the code of a name.
fn sum_of_products(code: &str, swapped: bool) -> Program {
    let mut b = Builder::new("products");
    let [x, y, z] = ["x", "y", "z"].map(|name| b.parameter(name, DType::F32, &[64]).unwrap());
    let products = [b.binary(Binary::Multiply, x, y).unwrap(), b.binary(Binary::Multiply, y, z).unwrap()];
    let [left, right] = if swapped { [products[1], products[0]] } else { products };
    let sum = b.binary(Binary::Add, left, right).unwrap();
    let sum = b.rename(sum, code);
    let mut program = b.finish(&[("sum", sum)]).unwrap();
    let entry = program.entry;
    products.iter().for_each(|product| program.computations[entry].instructions[*product].mark = Some(Mark::Joined));
    program
}

/// Two sums of the same products have one symbol where they round the same one, and only there: whichever is written first, and
/// whether the code is a sum of two or that of terms which nothing joins.
#[test]
fn the_product_that_is_rounded_decides_the_symbol() {
    let mode = "planned/f32/off";
    // Products of 12 bits and more have bits to lose.
    let numbers = |step: f32| Data::F32((0..64).map(|at| 1.0 + (at as f32 * step).sqrt() / 3.0).collect());
    let arguments: Vec<Tensor> = [1.0, 1.7, 2.3].map(|step| Tensor::new(&[64], numbers(step))).into();
    let mut all = Vec::new();
    for code in ["left first", "right first", "terms"] {
        for swapped in [false, true] {
            let program = sum_of_products(code, swapped);
            let symbols = traced(&program, mode, 1 << 20).unwrap().remove(0);
            let prepared = Prepared::new(&program);
            let run = prepared.evaluate(&mode.parse().unwrap(), &prepared.bind(&arguments).unwrap()).unwrap();
            let bits: Vec<u32> = run[0].data().to_f64s().iter().map(|sum| (*sum as f32).to_bits()).collect();
            all.push((format!("{code}, swapped: {swapped}"), symbols, bits));
        }
    }
    let mut kinds: Vec<&Vec<u32>> = all.iter().map(|(_, _, bits)| bits).collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), 2, "one product or the other is rounded");
    for (one, own, bits) in &all {
        for (other, symbols, others) in &all {
            assert_eq!(own == symbols, bits == others, "{one} and {other}");
        }
    }
}

/// A division of f16 by one number is a product with the reciprocal as f16 holds it.
#[test]
fn a_reciprocal_is_rounded_to_the_type_of_its_quotient() {
    let of = |divides: bool| {
        let mut b = Builder::new("quotient");
        let x = b.parameter("x", DType::F16, &[4]).unwrap();
        // 1/3 of 11 bits.
        let number = b.constant(DType::F16, if divides { 3.0 } else { 1365.0 / 4096.0 }).unwrap();
        let by = b.splat(number, &[4]).unwrap();
        let result = b.binary(if divides { Binary::Divide } else { Binary::Multiply }, x, by).unwrap();
        traced(&b.finish(&[("r", result)]).unwrap(), "planned/f32/off", 1 << 20).unwrap()
    };
    assert_eq!(of(true), of(false));
}

/// A subnormal number of f32 is zero in a narrower type on a TPU and itself on a CPU, so that no symbol stands for both.
#[test]
fn a_number_that_a_tpu_narrows_has_a_symbol_of_its_own() {
    let converted = |narrow: DType| {
        let mut b = Builder::new("convert");
        let x = b.parameter("x", DType::F32, &[2]).unwrap();
        let y = b.convert(x, narrow).unwrap();
        b.finish(&[("y", y)]).unwrap()
    };
    let reduced = || {
        let mut b = Builder::new("reduce-precision");
        let x = b.parameter("x", DType::F32, &[2]).unwrap();
        let y = b.op(Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 10 }, &[x]).unwrap();
        b.finish(&[("y", y)]).unwrap()
    };
    let argument = Tensor::new(&[2], Data::F32(vec![1e-39, -1e-39]));
    for program in [converted(DType::BF16), converted(DType::F16), reduced()] {
        let of = |mode: &str| {
            let prepared = Prepared::new(&program);
            let bound = prepared.bind(std::slice::from_ref(&argument)).unwrap();
            let values = prepared.evaluate(&mode.parse().unwrap(), &bound).unwrap()[0].data().to_f64s();
            (values, traced(&program, mode, 1 << 20).unwrap())
        };
        let [(zeros, on_tpu), (values, on_cpu)] = ["v5e/default/off", "cpu/default/off"].map(of);
        assert_eq!(zeros, [0.0, 0.0]);
        if program.entry().instructions[1].shape.dtype() != Some(DType::F16) {
            assert!(values[0] > 0.0 && values[1] < 0.0, "{values:?}");
        }
        assert!((0..2).all(|at| on_tpu[0][at] != on_cpu[0][at]));
    }
}

/// A program of `count` numbers of bf16, by the number of its function.
fn function_of_bf16(number: usize, count: usize) -> Option<Program> {
    let mut b = Builder::new("function");
    let x = b.parameter("x", DType::BF16, &[count]).unwrap();
    let w = b.convert(x, DType::F32).unwrap();
    let splat = |b: &mut Builder, value: f64| {
        let number = b.constant(DType::F32, value).unwrap();
        b.splat(number, &[count]).unwrap()
    };
    let (three, one, edge) = (splat(&mut b, 3.0), splat(&mut b, 1.0), splat(&mut b, -1.9765625));
    let turned = b.op(Op::Reverse { dims: vec![0] }, &[w]).unwrap();
    let mut join = |binary: Binary, left, right| b.binary(binary, left, right).unwrap();
    let product = join(Binary::Multiply, w, three);
    let twice = join(Binary::Add, w, w);
    let result = match number {
        0 => product,
        1 => join(Binary::Add, twice, w),
        2 => join(Binary::Subtract, twice, product),
        3 => join(Binary::Multiply, turned, three),
        4 => join(Binary::Add, twice, turned),
        5 => b.unary(Unary::Negate, product).unwrap(),
        6 => {
            let is_edge = b.compare(Compare::Eq, w, edge).unwrap();
            b.op(Op::Select, &[is_edge, one, product]).unwrap()
        }
        7 => join(Binary::Add, product, one),
        8 => join(Binary::Minimum, product, one),
        9 => join(Binary::Divide, w, three),
        10 => {
            let once = join(Binary::Minimum, w, one);
            join(Binary::Maximum, once, one)
        }
        11 => join(Binary::Subtract, product, twice),
        12 => w,
        _ => return None,
    };
    Some(b.finish(&[("r", result)]).unwrap())
}

/// Functions of one narrow float have one symbol where all of their values are equal, and only there.
#[test]
fn equal_values_make_equal_symbols() {
    // Each number has its place, and another beside it where a row is turned.
    let codes = (0..1u32 << 16).map(|code| f32::from_bits(code << 16)).collect();
    let argument = Tensor::new(&[1 << 16], Data::from_f32s(DType::BF16, codes).unwrap());
    for mode in ["v5e/f32/off", "cpu/f32/off"] {
        let of = |number: usize| {
            let small = function_of_bf16(number, 4)?;
            let prepared = Prepared::new(&small);
            let naming = Naming { argument: 0, origin: vec![0], extents: vec![4] };
            let permits = Permits { by_values: true, ..Permits::default() };
            let traced = prepared.trace(&mode.parse().unwrap(), &[naming], permits, 1 << 20).unwrap();
            let all = function_of_bf16(number, 1 << 16)?;
            let prepared = Prepared::new(&all);
            let bound = prepared.bind(std::slice::from_ref(&argument)).unwrap();
            let values = prepared.evaluate(&mode.parse().unwrap(), &bound).unwrap().remove(0).data().to_f64s();
            let bits: Vec<u64> = values.iter().map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() }).collect();
            Some((number, traced.results, bits))
        };
        let all: Vec<_> = (0..).map_while(of).collect();
        assert_eq!(all.len(), 13);
        for (one, symbols, bits) in &all {
            for (other, others, values) in &all {
                assert_eq!(symbols == others, bits == values, "{mode}: {one} and {other}");
            }
        }
        assert!(all[0].2 == all[1].2 && all[0].2 != all[6].2, "{mode}");
    }
}

/// A clamp of f64 takes subnormals as its unit does.
#[test]
fn a_clamp_of_f64_is_that_of_its_unit() {
    let mut b = Builder::new("clamp");
    let [low, x, high] = ["low", "x", "high"].map(|name| b.parameter(name, DType::F64, &[1]).unwrap());
    let clamped = b.op(Op::Clamp, &[low, x, high]).unwrap();
    let program = b.finish(&[("r", clamped)]).unwrap();
    let [flushed, kept] = ["planned/f32/off", "cpu/f32/off"].map(|mode| traced(&program, mode, 1 << 20).unwrap());
    assert_ne!(flushed, kept);
}

/// From f64 to f32 subnormals are zeros on a CPU that flushes, and stay on a TPU, which flushes otherwise.
#[test]
fn a_conversion_of_f64_is_that_of_its_unit() {
    let mut b = Builder::new("convert");
    let x = b.parameter("x", DType::F64, &[1]).unwrap();
    let converted = b.convert(x, DType::F32).unwrap();
    let program = b.finish(&[("r", converted)]).unwrap();
    let [on_cpu, on_tpu] = ["planned/f32/off", "v5e/default/off"].map(|mode| traced(&program, mode, 1 << 20).unwrap());
    assert_ne!(on_cpu, on_tpu);
}

/// A function that is NaN of all numbers is no known number: of which sign it is shows in its bits.
#[test]
fn nan_is_no_known_number() {
    let mut b = Builder::new("nan");
    let x = b.parameter("x", DType::F8E4M3FN, &[2]).unwrap();
    let nan = b.constant(DType::F8E4M3FN, f64::NAN).unwrap();
    let nans = b.splat(nan, &[2]).unwrap();
    let sum = b.binary(Binary::Add, x, nans).unwrap();
    let bits = b.op_of_shape(Op::BitcastConvert, &[sum], Shape::array(DType::U8, &[2])).unwrap();
    let program = b.finish(&[("r", bits)]).unwrap();
    let naming = Naming { argument: 0, origin: vec![0], extents: vec![2] };
    let permits = Permits { by_values: true, ..Permits::default() };
    let prepared = Prepared::new(&program);
    let traced = prepared.trace(&"v5e/f32/off".parse().unwrap(), &[naming], permits, 1 << 20).unwrap();
    assert!(traced.results[0].iter().all(|symbol| !symbol.is_known()));
    assert_eq!(traced.grounds.shows_nan.len(), 1);
}
