//! `stochastic-convert` in both worlds, held to the definition of XLA's evaluator (`hlo_evaluator_typed_visitor.h`).

use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds;

/// XLA's evaluator for one number: `digits` random bits, and a signed result of `bits` bits.
fn evaluator(number: f64, random: u64, digits: u32, bits: u32) -> i64 {
    let (smallest, largest) = (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1);
    if number.is_nan() {
        return 0;
    }
    if number >= largest as f64 {
        return largest as i64;
    }
    if number <= smallest as f64 {
        return smallest as i64;
    }
    let magnitude = number.abs();
    let mut whole = magnitude as i128;
    let fraction = magnitude - whole as f64;
    whole += i128::from(i128::from(random) < (fraction * 2f64.powi(digits as i32)) as i128);
    (if number < 0.0 { -whole } else { whole }) as i64
}

fn text(from: &str, bits: &str, to: &str, count: usize) -> String {
    format!(
        "HloModule m\n\nENTRY e {{\n  x = {from}[{count}] parameter(0)\n  r = {bits}[{count}] parameter(1)\n  ROOT y = {to}[{count}] stochastic-convert(x, r)\n}}\n"
    )
}

/// Numbers of every size with random bits at, below and above their fraction.
fn cases(digits: u32) -> Vec<(f64, u64)> {
    let numbers = [
        0.0,
        0.25,
        -0.25,
        0.5,
        1.5,
        -1.5,
        2.75,
        -2.75,
        6.875,
        -7.5,
        7.0,
        -8.0,
        100.125,
        126.5,
        127.5,
        127.0,
        -127.5,
        -128.5,
        3000.5,
        40000.0,
        -40000.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let top = 2f64.powi(digits as i32);
    let mut cases = Vec::new();
    for number in numbers {
        let fixed = if number.is_finite() { (number.abs().fract() * top) as u64 } else { 1 };
        let most = u64::MAX >> (64 - digits);
        for random in [0, fixed.saturating_sub(1), fixed, (fixed + 1).min(most), most] {
            cases.push((number, random));
        }
    }
    cases
}

#[test]
fn numbers_are_rounded_by_their_random_bits() {
    for (from, bits, digits) in
        [("f32", DType::U32, 32), ("bf16", DType::U16, 16), ("f16", DType::U16, 16), ("f64", DType::U64, 53)]
    {
        let dtype = DType::from_name(from).unwrap();
        // f64's fraction is compared with 64 bits, of which a double holds 53: those below are zero here.
        let scale = bits.bits() - digits;
        let cases = cases(digits);
        let numbers: Vec<f64> = cases.iter().map(|(number, _)| *number).collect();
        let random: Vec<i64> = cases.iter().map(|(_, random)| (random << scale) as i64).collect();
        let numbers = Data::from_f64s(dtype, &numbers).unwrap();
        let stored = numbers.to_f64s();
        let given = [
            Tensor::new(&[cases.len()], numbers),
            Tensor::new(&[cases.len()], Data::from_i64s(bits, &random).unwrap()),
        ];
        for (to, width) in [("s4", 4), ("s8", 8), ("s16", 16), ("s32", 32)] {
            let program = worlds::program(&text(from, &bits.to_string(), to, cases.len()));
            let expected: Vec<f64> = stored
                .iter()
                .zip(&cases)
                .map(|(number, (_, random))| evaluator(*number, random << scale, bits.bits(), width) as f64)
                .collect();
            for mode in ["cpu/f32/as-compiled", "v5e/default/off"] {
                if from == "f64" && mode.starts_with("v5e") {
                    continue;
                }
                let [machine, truth] = worlds::both(mode, &program, &given);
                // A TPU makes the largest s32 of NaN (FACTS 3.4).
                let of_nan = if mode.starts_with("v5e") && to == "s32" { f64::from(i32::MAX) } else { 0.0 };
                let computed: Vec<f64> =
                    expected.iter().zip(&stored).map(|(v, from)| if from.is_nan() { of_nan } else { *v }).collect();
                assert_eq!(machine[0], computed, "{from} to {to} in {mode}");
                assert_eq!(truth[0], expected, "{from} to {to}");
            }
        }
    }
}

#[test]
fn other_types_are_refused_by_name() {
    for (from, bits, to, why) in [
        ("f32", "u32", "bf16", "stochastic-convert from f32 to bf16 is not supported: from floats to signed integers"),
        ("f32", "u32", "u8", "stochastic-convert from f32 to u8 is not supported"),
        ("bf16", "u32", "s8", "random bits for bf16 are unsigned integers of 16 bits, not u32"),
        ("f32", "s32", "s8", "random bits for f32 are unsigned integers of 32 bits, not s32"),
    ] {
        let refused = lower(&parse(&text(from, bits, to, 2)).unwrap()).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}
