use super::{apply, bitcast, convert, select};
use crate::Arithmetic;
use crate::ir::Binary;
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
