//! Inverse trigonometric and hyperbolic functions, held to functions of the standard library and to jax 0.12's own instructions.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Binary, Op, Unary};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds;

/// A function in f64 of the standard library.
type Function = fn(f64) -> f64;

/// Each function, and the standard library's.
const FUNCTIONS: [(&str, Function); 8] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cosh", f64::cosh),
    ("sinh", f64::sinh),
];

fn text(opcode: &str, dtype: DType, count: usize) -> String {
    format!(
        "HloModule m\n\nENTRY e {{\n  x = {dtype}[{count}] parameter(0)\n  ROOT y = {dtype}[{count}] {opcode}(x)\n}}\n"
    )
}

/// Numbers of both signs and all sizes, the ends of all domains, and what is no number.
const NUMBERS: [f64; 22] = [
    0.0,
    -0.0,
    1e-30,
    -1e-5,
    0.125,
    -0.5,
    0.75,
    -0.875,
    1.0,
    -1.0,
    1.0625,
    -1.5,
    2.0,
    5.5,
    -20.0,
    80.0,
    -88.0,
    1e30,
    -3e38,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The truth is the function, correctly rounded, and machines are near it.
#[test]
fn each_is_its_function() {
    for (opcode, function) in FUNCTIONS {
        for dtype in [DType::F32, DType::BF16, DType::F64] {
            let given = Data::from_f64s(dtype, &NUMBERS).unwrap();
            let expected: Vec<f64> = given.to_f64s().into_iter().map(function).collect();
            let program = worlds::program(&text(opcode, dtype, NUMBERS.len()));
            let given = [Tensor::new(&[NUMBERS.len()], given)];
            let [machine, truth] = worlds::both("cpu/f32/off", &program, &given);
            let rounded = Data::from_f64s(dtype, &expected).unwrap().to_f64s();
            // A formula's own error in the type of its steps.
            let of_machine = match dtype {
                DType::F64 => 4e-14,
                DType::F32 => 2e-5,
                _ => 0.05,
            };
            let is_near = |value: f64, expected: f64, by: f64| {
                value == expected
                    || value.is_nan() && expected.is_nan()
                    || (value - expected).abs() <= by * expected.abs()
            };
            for (at, x) in given[0].data().to_f64s().into_iter().enumerate() {
                let (of_truth, of_machine_at) = (truth[0][at], machine[0][at]);
                // The standard library's functions err by some units of f64 themselves.
                assert!(
                    is_near(of_truth, expected[at], 2e-15),
                    "{opcode}({x}) in {dtype}: {of_truth} {}",
                    expected[at]
                );
                assert!(
                    is_near(of_machine_at, rounded[at], of_machine),
                    "{opcode}({x}) in {dtype} on the machine: {of_machine_at} {}",
                    rounded[at]
                );
            }
        }
    }
}

/// jax 0.12.0.1 makes the same operations of the functions, in this order, with these constants.
#[test]
fn operations_are_those_that_jax_makes() {
    let operations = |opcode: &str, dtype: DType| {
        let program = worlds::program(&text(opcode, dtype, 2));
        let entry = program.entry();
        let is_kept = |op: &Op| !matches!(op, Op::Parameter(_) | Op::Constant(_) | Op::Broadcast { .. } | Op::Select);
        let of_entry = entry.instructions.iter().filter(|i| is_kept(&i.op));
        let names: Vec<&str> = of_entry.map(|i| i.op.opcode()).collect();
        names.join(" ")
    };
    assert_eq!(operations("acos", DType::F32), "subtract add multiply sqrt atan2");
    assert_eq!(operations("asin", DType::F64), "subtract add multiply sqrt atan2");
    // The logarithms of 2 and of a half are the truth's alone.
    assert_eq!(operations("cosh", DType::BF16), "convert log add subtract exponential exponential add convert");
    assert_eq!(operations("atanh", DType::BF16), "abs compare negate log-plus-one log-plus-one subtract multiply");
    let program = worlds::program(&text("asinh", DType::F32, 2));
    let constants = program.entry().instructions.iter().filter_map(|i| match &i.op {
        Op::Constant(tensor) if tensor.dtype() == DType::F32 => Some(tensor.data().get_f64(0) as f32),
        _ => None,
    });
    let constants: Vec<f32> = constants.collect();
    assert!(constants.contains(&1.844_674_3e19) && constants.contains(&std::f32::consts::LN_2), "{constants:?}");
    let root = &program.entry().instructions[program.entry().root];
    assert_eq!(root.op, Op::Binary(Binary::Multiply));
    assert!(program.entry().instructions.iter().any(|i| i.op == Op::Unary(Unary::Sign)));
}

#[test]
fn other_types_and_opcodes_are_refused_by_name() {
    let why = |text: &str| lower(&parse(text).unwrap()).unwrap_err().to_string();
    let refused = why(&text("sinh", DType::S32, 2));
    assert!(refused.contains("sinh of s32 is not supported: it is a function of floats"), "{refused}");
    let refused = why(&text("shuffle", DType::F32, 2));
    assert!(refused.contains("opcode `shuffle` is not supported: no release"), "{refused}");
    let complex = "HloModule m\n\nENTRY e {\n  x = c64[2] parameter(0)\n  ROOT y = c64[2] acosh(x)\n}\n";
    assert!(why(complex).contains("acosh of these operands is not supported for complex numbers"), "{}", why(complex));
}
