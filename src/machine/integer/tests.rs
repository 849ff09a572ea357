use super::{apply, bitcast, convert, dots, select, unary};
use crate::Arithmetic;
use crate::ir::{Binary, DotDims, DotPlan, Unary};
use crate::num::bf16_nearest;
use crate::products::Products;
use crate::tensor::DType;
use crate::value::Value;
use crate::vector::VectorUnit;

fn unit(mode: &str) -> VectorUnit {
    mode.parse::<Arithmetic>().unwrap().vector_unit()
}

fn cpu() -> VectorUnit {
    unit("cpu/f32/off")
}

fn to(dtype: DType, values: &[f32]) -> Vec<i64> {
    convert(Value::float(DType::F32, values.to_vec()), dtype, &cpu()).integers().to_vec()
}

#[test]
fn floats_truncate_and_saturate() {
    let values = [1.9, -1.9, 300.0, -300.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    assert_eq!(to(DType::S8, &values), [1, -1, 127, -128, 0, 127, -128]);
    assert_eq!(to(DType::U8, &values), [1, 0, 255, 0, 0, 255, 0]);
    assert_eq!(to(DType::S4, &values), [1, -1, 7, -8, 0, 7, -8]);
    assert_eq!(to(DType::U4, &values), [1, 0, 15, 0, 0, 15, 0]);
    let s32 = [i64::from(i32::MAX), i64::from(i32::MIN)];
    assert_eq!(to(DType::S32, &values), [1, -1, 300, -300, 0, s32[0], s32[1]]);
    let kept = |flush| {
        convert(Value::float(DType::F32, vec![-0.0, 1e-40, 0.5, f32::NAN]), DType::Pred, &VectorUnit { flush, ..cpu() })
    };
    assert_eq!(kept(true).preds(), [false, false, true, true]);
    assert_eq!(kept(false).preds(), [false, true, true, true]);
}

/// FACTS 3.4: a v4 makes the largest s32 of NaN, and zeros of subnormals of f32 that bf16 does not hold.
#[test]
fn a_tpu_converts_nan_and_subnormals_as_printed() {
    let of =
        |values: &[f32], to: DType, mode: &str| convert(Value::float(DType::F32, values.to_vec()), to, &unit(mode));
    let tpu = "v4/default/off";
    assert_eq!(of(&[f32::NAN, 1.5], DType::S32, tpu).integers(), [i64::from(i32::MAX), 1]);
    let subnormals = [0x007f_ffff, 0x807f_ffff, 0x0080_0000].map(f32::from_bits);
    let codes = |value: Value| value.f32s().iter().map(|v| v.to_bits() >> 16).collect::<Vec<u32>>();
    assert_eq!(codes(of(&subnormals, DType::BF16, tpu)), [0, 0x8000, 0x0080]);
    assert_eq!(codes(of(&subnormals, DType::BF16, "cpu/f32/off")), [0x0080, 0x8080, 0x0080]);
    let reduced =
        |mode: &str| codes(super::reduce_precision(8, 7, Value::float(DType::F32, subnormals.to_vec()), &unit(mode)));
    assert_eq!(reduced(tpu), [0, 0x8000, 0x0080]);
    assert_eq!(reduced("cpu/f32/off"), [0x0080, 0x8080, 0x0080]);
    // bf16 to f32 and back changes nothing.
    let held = f32::from_bits(0x0001_0000);
    assert_eq!(codes(of(&[held, -held], DType::BF16, tpu)), [0x0001, 0x8001]);
    // A type that holds all of another one's numbers keeps its subnormals.
    let kept = convert(Value::float(DType::BF16, vec![f32::from_bits(0x0001_0000)]), DType::F32, &unit(tpu));
    assert_eq!(kept.f32s()[0].to_bits(), 0x0001_0000);
}

/// Either side of a choice may be a product that a fused multiply-add has yet to round: the gradient of selu has it on the right.
#[test]
fn a_choice_passes_on_what_is_not_rounded() {
    let predicate = Value::pred(vec![true, false]);
    let float = || Value::float(DType::F32, vec![1.0, 2.0]);
    let double = || Value::Products(Products::new(vec![1.0 + 2f64.powi(-40), 2.0 + 2f64.powi(-40)]));
    let chosen = |on_true, on_false| match select(&predicate, on_true, on_false) {
        Value::Products(products) => products.single().unwrap().to_vec(),
        other => panic!("{other:?} is rounded"),
    };
    assert_eq!(chosen(double(), float()), [1.0 + 2f64.powi(-40), 2.0]);
    assert_eq!(chosen(float(), double()), [1.0, 2.0 + 2f64.powi(-40)]);
}

/// Bits of jaxlib 0.10.2 on a CPU. 2^24 + 2^16 + 1 lies just above a tie of bf16, which f32 does not see; so does
/// 1 + 2^-8 + 2^-40.
#[test]
fn bf16_is_reached_through_f32() {
    let long = (1 << 24) + (1 << 16) + 1;
    let of = |value: Value, to| convert(value, to, &cpu()).f32s().to_vec();
    for from in [DType::S32, DType::U32, DType::S64] {
        assert_eq!(of(Value::integer(from, vec![long, 3]), DType::BF16), [2f32.powi(24), 3.0]);
    }
    assert_eq!(
        of(Value::integer(DType::S64, vec![(1 << 62) + (1 << 38) + 1]), DType::F32),
        [2f32.powi(62) + 2f32.powi(39)]
    );
    assert_eq!(
        of(Value::integer(DType::S32, vec![70000, 65519, 65520]), DType::F16),
        [f32::INFINITY, 65504.0, f32::INFINITY]
    );
    assert_eq!(of(Value::integer(DType::U64, vec![-1]), DType::F32), [2f32.powi(64)]);
    assert_eq!(of(Value::double(vec![1.0 + 2f64.powi(-8) + 2f64.powi(-40)]), DType::BF16), [1.0]);
}

/// Subnormals of f32 are zeros of their sign between f32 and f64 on a CPU that flushes, and themselves elsewhere (FACTS 3.4).
#[test]
fn f32_and_f64_exchange_no_subnormals_on_a_cpu_that_flushes() {
    let (zeros, kept) = ([0.0f32, -0.0], [1e-39, -1e-39]);
    for (unit, expected) in
        [(VectorUnit { flush: true, ..cpu() }, zeros), (cpu(), kept), (unit("v5e/default/off"), kept)]
    {
        let wide = Value::double([1e-39f32, -1e-39].map(f64::from).to_vec());
        for to in [DType::F32, DType::BF16] {
            let narrow = convert(wide.clone(), to, &unit).f32s().to_vec();
            let held = if to == DType::F32 { expected } else { expected.map(bf16_nearest) };
            assert_eq!(narrow.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), held.map(f32::to_bits), "{to}");
        }
        let back = convert(Value::float(DType::F32, vec![1e-39, -1e-39]), DType::F64, &unit).f64s().to_vec();
        assert_eq!(back.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), expected.map(|v| f64::from(v).to_bits()));
    }
}

/// Bits of jaxlib 0.10.2 on a CPU, beside and at every tie of both f8 types, and these.
#[test]
fn f64_is_rounded_once_to_f16_and_f8() {
    let of = |value: f64, to| convert(Value::double(vec![value]), to, &cpu()).f32s()[0];
    assert_eq!(of(-431.99999999999994, DType::F8E4M3FN), -416.0);
    assert_eq!(of(-432.0, DType::F8E4M3FN), -448.0);
    assert_eq!(of(1.0 + 2f64.powi(-11) + 2f64.powi(-40), DType::F16), 1.0 + 2f32.powi(-10));
    assert_eq!(of(1.0 + 2f64.powi(-11), DType::F16), 1.0);
    assert_eq!(of(1.0 + 2f64.powi(-3) - 2f64.powi(-40), DType::F8E5M2), 1.0);
    assert_eq!(of(1.0 + 3.0 * 2f64.powi(-3) - 2f64.powi(-40), DType::F8E5M2), 1.25);
    for dtype in [DType::F16, DType::F8E4M3FN, DType::F8E5M2] {
        let format = dtype.format().unwrap();
        for code in 0..format.encode(format.max_finite()) {
            let (low, high) = (format.decode(code), format.decode(code + 1));
            let middle = low + (high - low) / 2.0;
            assert_eq!(f64::from(of(middle.next_down(), dtype)), low, "{dtype} {code}");
            assert_eq!(f64::from(of(middle.next_up(), dtype)), high, "{dtype} {code}");
            assert_eq!(f64::from(of(-middle, dtype)), if code % 2 == 0 { -low } else { -high }, "{dtype} {code}");
        }
    }
}

#[test]
fn narrow_floats_overflow_as_their_format_says() {
    let of =
        |dtype| convert(Value::float(DType::F32, vec![1e6, -1e6, 448.0, 464.0, 465.0]), dtype, &cpu()).f32s().to_vec();
    let e4m3fn = of(DType::F8E4M3FN);
    assert!(e4m3fn[0].is_nan() && e4m3fn[1].is_nan() && e4m3fn[4].is_nan());
    assert_eq!(e4m3fn[2..4], [448.0, 448.0]);
    assert_eq!(of(DType::F8E5M2)[..2], [f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(of(DType::F16)[..2], [f32::INFINITY, f32::NEG_INFINITY]);
}

#[test]
fn division_and_shifts_at_their_edges() {
    assert_eq!(apply(Binary::Divide, DType::S32, 7, 0), -1);
    assert_eq!(apply(Binary::Divide, DType::U32, 7, 0), i64::from(u32::MAX));
    assert_eq!(apply(Binary::Divide, DType::S32, i64::from(i32::MIN), -1), i64::from(i32::MIN));
    assert_eq!(apply(Binary::Remainder, DType::S32, 7, 0), 7);
    assert_eq!(apply(Binary::Remainder, DType::S64, i64::MIN, -1), 0);
    assert_eq!(apply(Binary::ShiftLeft, DType::U32, 3, 31), 1 << 31);
    assert_eq!(apply(Binary::ShiftLeft, DType::U32, 3, 32), 0);
    assert_eq!(apply(Binary::ShiftRightLogical, DType::S32, -1, 28), 15);
    assert_eq!(apply(Binary::ShiftRightLogical, DType::S32, -1, 40), 0);
    assert_eq!(apply(Binary::ShiftRightArithmetic, DType::S32, -8, 1), -4);
    assert_eq!(apply(Binary::ShiftRightArithmetic, DType::S32, -8, 99), -1);
    assert_eq!(apply(Binary::ShiftRightArithmetic, DType::U8, 0x80, 7), 0xff);
    assert_eq!(apply(Binary::Add, DType::S8, 127, 1), -128);
    assert_eq!(apply(Binary::MultiplyHigh, DType::S64, i64::MIN, i64::MAX), -(1 << 62));
    assert_eq!(apply(Binary::MultiplyHigh, DType::U64, -1, -1), -2);
    assert_eq!(apply(Binary::Maximum, DType::U64, -1, 1), -1);
}

#[test]
fn bits_survive_a_cast_there_and_back() {
    let nan = f32::from_bits(0x7fc1_2345);
    let bits = bitcast(Value::float(DType::F32, vec![nan, -0.0, 1.0]), DType::S32);
    assert_eq!(bits.integers(), [0x7fc1_2345, i64::from(i32::MIN), 0x3f80_0000]);
    assert_eq!(bitcast(bits, DType::F32).f32s()[0].to_bits(), 0x7fc1_2345);
    let half = bitcast(Value::float(DType::BF16, vec![-1.0]), DType::U16);
    assert_eq!(half.integers(), [0xbf80]);
    assert_eq!(bitcast(half, DType::F16).f32s(), [-1.875]);
    assert_eq!(bitcast(Value::pred(vec![true]), DType::U8).integers(), [1]);
}

/// jaxlib 0.10.2 rounds once: by way of f16 it would be -64, a tie.
#[test]
fn f8_is_reached_in_one_step() {
    let of = |value: Value| convert(value, DType::F8E4M3FN, &cpu()).f32s()[0];
    let number = -61.994_198_f32;
    for value in [Value::float(DType::F32, vec![number]), Value::double(vec![f64::from(number)])] {
        assert_eq!(of(value), -60.0);
    }
}

/// An operation over the integers, before it is wrapped: XLA's `operation_semantics.md`, and its shifts and divisions by zero.
fn exact(binary: Binary, dtype: DType, a: i128, b: i128) -> i128 {
    let bits = dtype.bits();
    let (mask, is_inside) = ((1i128 << bits) - 1, (0..i128::from(bits)).contains(&b));
    let with_sign = |v: i128| if v >> (bits - 1) & 1 == 1 { v | !mask } else { v & mask };
    match binary {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a.wrapping_mul(b),
        Binary::MultiplyHigh if dtype == DType::U64 => ((a as u128 * b as u128) >> bits) as i128,
        Binary::MultiplyHigh => (a * b) >> bits,
        Binary::Divide => {
            if b == 0 {
                -1
            } else {
                a / b
            }
        }
        Binary::Remainder => {
            if b == 0 {
                a
            } else {
                a % b
            }
        }
        Binary::Power if b >= 0 => (0..b).fold(1, |power: i128, _| power.wrapping_mul(a)),
        Binary::Power => match a {
            1 => 1,
            -1 => {
                if b % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        },
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::ShiftLeft => {
            if is_inside {
                a << b
            } else {
                0
            }
        }
        Binary::ShiftRightLogical => {
            if is_inside {
                (a & mask) >> b
            } else {
                0
            }
        }
        Binary::ShiftRightArithmetic => with_sign(a) >> if is_inside { b } else { 64 },
        Binary::Atan2 => unreachable!("floats alone have it"),
    }
}

/// The integer of a type that has the lowest bits of this one.
fn wrapped(dtype: DType, value: i128) -> i128 {
    let modulus = 1i128 << dtype.bits();
    let value = value.rem_euclid(modulus);
    if dtype.is_signed() && value >= modulus / 2 { value - modulus } else { value }
}

/// All numbers of four bits, and those at the ends and the middle of wider types.
fn operands(dtype: DType) -> Vec<i128> {
    let bits = dtype.bits();
    let ends = [
        0,
        1,
        2,
        3,
        5,
        13,
        1 << (bits / 2),
        (1 << (bits / 2)) - 1,
        1 << (bits - 1),
        (1 << (bits - 1)) - 1,
        (1 << bits) - 1,
    ];
    let all: Vec<i128> =
        if bits == 4 { (0..16).collect() } else { ends.into_iter().flat_map(|v: i128| [v, -v]).collect() };
    all.into_iter().map(|v| wrapped(dtype, v)).collect()
}

#[test]
fn operations_on_integers_are_those_of_the_integers_wrapped() {
    use DType::{S4, S8, S16, S32, S64, U4, U8, U16, U32, U64};
    for dtype in [S4, U4, S8, U8, S16, U16, S32, U32, S64, U64] {
        let (given, held) = (operands(dtype), |v: i128| v as i64);
        for (a, b) in given.iter().flat_map(|a| given.iter().map(move |b| (*a, *b))) {
            for binary in Binary::ALL.iter().filter(|binary| **binary != Binary::Atan2) {
                if *binary == Binary::Power && b > 100 {
                    continue;
                }
                let expected = wrapped(dtype, exact(*binary, dtype, a, b));
                assert_eq!(
                    apply(*binary, dtype, held(a), held(b)),
                    held(expected),
                    "{} of {a} and {b} in {dtype}",
                    binary.name()
                );
            }
        }
        for a in given {
            let code = (a & ((1i128 << dtype.bits()) - 1)) as u64;
            let of = |function| unary(function, &Value::integer(dtype, vec![held(a)])).integers()[0];
            let is = |function, expected: i128| {
                assert_eq!(of(function), held(wrapped(dtype, expected)), "{function:?} of {a} in {dtype}")
            };
            is(Unary::Abs, a.abs());
            is(Unary::Negate, -a);
            is(Unary::Not, -1 - a);
            is(Unary::Sign, a.signum());
            is(Unary::PopulationCount, i128::from(code.count_ones()));
            is(Unary::CountLeadingZeros, i128::from(dtype.bits()) - i128::from(64 - code.leading_zeros()));
        }
    }
    // The odd numbers have powers of two as orders: 3^(2^63) is 1.
    assert_eq!(apply(Binary::Power, DType::U64, 3, (1 << 63) + 1), 3);
}

#[test]
fn each_batch_of_an_integer_dot_has_its_own_operands() {
    let dims = DotDims { lhs_contracting: vec![2], rhs_contracting: vec![1], lhs_batch: vec![0], rhs_batch: vec![0] };
    let plan = DotPlan::new(&dims, &[2, 2, 3], &[2, 3, 2]);
    let (left, right): (Vec<i64>, Vec<i64>) = ((1..13).collect(), (1..13).map(|v| v * 2 - 11).collect());
    let mut expected = Vec::new();
    for (batch, row, column) in (0..8).map(|at| (at / 4, at / 2 % 2, at % 2)) {
        let sum: i64 = (0..3).map(|k| left[batch * 6 + row * 3 + k] * right[batch * 6 + k * 2 + column]).sum();
        expected.push(i64::from(sum as i8));
    }
    assert_eq!(dots(DType::S8, &left, &right, &plan), expected);
}
