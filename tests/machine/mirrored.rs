//! Mirrored arithmetic: results, roundings, enclosures and latitudes of -x are those of x, on every chip and in every type.

use ulpgate::explore::{Settings, enclose};
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::machine::{CHIPS, Mode};
use ulpgate::num::{Direction, FORMATS, round_f64};
use ulpgate::oracle::{Demand, Enclosed, Oracle, TruthTensor};
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

const REFINEMENTS: [&str; 9] = [
    "v5e/default/off+acc=trunc",
    "v5e/high/off+split=rne",
    "v5e/highest/off+split=trunc",
    "v5e/f32/off+acc=pairwise",
    "v5e/default/off+acc=exact",
    "v5e/default/off+narrow=bf16",
    "v5e/default/off+reduce=chain",
    "cpu/default/off+reduce=tree32",
    "xla-cpu/default/off+reduce=lanes",
];

fn modes() -> Vec<Mode> {
    let chips = CHIPS.iter().map(|chip| format!("{}/default/off", chip.name));
    chips.chain(REFINEMENTS.map(str::to_string)).map(|mode| mode.parse().unwrap()).collect()
}

/// Rows and columns of both operands.
const DIMS: [usize; 2] = [24, 40];

/// The change of the result with the signs of both operands.
#[derive(Clone, Copy)]
enum Mirror {
    /// Negated where the first one is.
    First,
    /// Negated where the second one is.
    Second,
    /// Negated where both are.
    Both,
}

/// Operations on `x` and `y`, each with a way to mirror them.
fn operations() -> Vec<(String, Mirror)> {
    let shape = format!("TYPE[{},{}]", DIMS[0], DIMS[1]);
    let unary = ["cbrt", "erf", "negate", "round-nearest-afz", "round-nearest-even", "sign", "sine", "tan", "tanh"];
    let mut all: Vec<(String, Mirror)> =
        unary.map(|name| (format!("ROOT r = {shape} {name}(x)"), Mirror::First)).to_vec();
    for name in ["add", "subtract"] {
        all.push((format!("ROOT r = {shape} {name}(x, y)"), Mirror::Both));
    }
    for name in ["multiply", "divide"] {
        all.push((format!("ROOT r = {shape} {name}(x, y)"), Mirror::First));
        all.push((format!("ROOT r = {shape} {name}(x, y)"), Mirror::Second));
    }
    all.push((format!("ROOT r = {shape} remainder(x, y)"), Mirror::First));
    for (exponent, mantissa) in [(5, 10), (4, 3), (8, 7)] {
        let attributes = format!("exponent_bits={exponent}, mantissa_bits={mantissa}");
        all.push((format!("ROOT r = {shape} reduce-precision(x), {attributes}"), Mirror::First));
    }
    for dtype in ["bf16", "f16", "f32", "f8e4m3fn", "f8e5m2"] {
        all.push((format!("ROOT r = {dtype}[{},{}] convert(x)", DIMS[0], DIMS[1]), Mirror::First));
    }
    let zero = "z = TYPE[] constant(0)\n";
    for (kept, dims) in [(DIMS[0], "1"), (DIMS[1], "0")] {
        let sum = format!("{zero} ROOT r = TYPE[{kept}] reduce(x, z), dimensions={{{dims}}}, to_apply=add");
        all.push((sum, Mirror::First));
    }
    let running = "window={size=1x40 pad=0_0x39_0}, to_apply=add";
    all.push((format!("{zero} ROOT r = {shape} reduce-window(x, z), {running}"), Mirror::First));
    let dot =
        format!("ROOT r = TYPE[{0},{0}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}", DIMS[0]);
    all.push((dot.clone(), Mirror::First));
    all.push((dot, Mirror::Second));
    all
}

fn program(operation: &str, dtype: DType) -> Program {
    let operation = operation.replace("TYPE", &dtype.to_string());
    let text = format!(
        "HloModule m\nadd {{ a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n ROOT r = {dtype}[] add(a, b) }}\n\
         ENTRY e {{\n x = {dtype}[{0},{1}] parameter(0)\n y = {dtype}[{0},{1}] parameter(1)\n {operation}\n}}\n",
        DIMS[0], DIMS[1]
    );
    lower(&parse(&text).unwrap()).unwrap_or_else(|error| panic!("{error}\n{text}")).program
}

/// Numbers of every size that f32 has, and some that meet halfway between two of a narrower type.
fn drawn(dtype: DType, seed: u64, sign: f64) -> Tensor {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        state >> 33
    };
    let values = (0..DIMS[0] * DIMS[1]).map(|at| {
        let (bits, power) = (next(), next());
        let mantissa = match at % 3 {
            0 => 1.0 + (bits % 512) as f64 / 512.0,
            1 => 1.0 + (bits % 4096) as f64 / 4096.0,
            _ => 1.0 + bits as f64 / 2f64.powi(31),
        };
        let power = if at % 5 == 0 { (power % 240) as i32 - 120 } else { (power % 9) as i32 - 4 };
        let value = mantissa * 2f64.powi(power);
        if bits & 64 == 0 { value } else { -value }
    });
    let values: Vec<f64> = values.map(|value| sign * value).collect();
    Tensor::new(&DIMS, Data::from_f64s(dtype, &values).unwrap())
}

/// The operands, and those that mirror the result.
fn operands(dtype: DType, mirror: Mirror) -> [Vec<Tensor>; 2] {
    let signs = match mirror {
        Mirror::First => [-1.0, 1.0],
        Mirror::Second => [1.0, -1.0],
        Mirror::Both => [-1.0, -1.0],
    };
    [[1.0; 2], signs].map(|[x, y]| vec![drawn(dtype, 1, x), drawn(dtype, 2, y)])
}

const TYPES: [DType; 3] = [DType::F32, DType::BF16, DType::F16];

/// The values are negated; of a zero the sign may be any.
fn are_mirrored(a: f64, b: f64) -> bool {
    a == -b || a.is_nan() && b.is_nan()
}

#[test]
fn results_are_mirrored_on_every_chip() {
    for (operation, mirror) in operations() {
        for dtype in TYPES {
            let program = program(&operation, dtype);
            for mode in modes() {
                let [plain, negated] =
                    operands(dtype, mirror).map(|operands| subject::evaluate(&program, &mode, &operands).unwrap());
                let (plain, negated) = (plain[0].data().to_f64s(), negated[0].data().to_f64s());
                let differ = plain.iter().zip(&negated).position(|(a, b)| !are_mirrored(*a, *b));
                assert_eq!(differ, None, "{mode} {dtype} {operation}");
            }
        }
    }
}

#[test]
fn truths_are_mirrored() {
    for (operation, mirror) in operations() {
        for dtype in TYPES {
            let program = program(&operation, dtype);
            let [plain, negated] = operands(dtype, mirror).map(|operands| {
                let truth = Oracle::default().evaluate(&program, &operands, &[Demand::Rounded]).unwrap();
                match &truth.outputs[0] {
                    TruthTensor::Float(float) => float.rounded.clone(),
                    other => panic!("{other:?}"),
                }
            });
            let differ = plain.iter().zip(&negated).position(|(a, b)| !are_mirrored(*a, *b));
            assert_eq!(differ, None, "{dtype} {operation}");
        }
    }
}

/// The latitude of a result in a mode, or in any mode, is as wide on both sides.
#[test]
fn enclosures_and_latitudes_are_mirrored() {
    for (operation, mirror) in operations() {
        for dtype in TYPES {
            let program = program(&operation, dtype);
            for (mode, any_mode) in [
                ("v5e/default/off", false),
                ("v5e/default/off+exp=worst", false),
                ("xla-cpu/default/off", false),
                ("v5e/default/off", true),
            ] {
                let settings = Settings { any_mode, ..Settings::new(mode.parse().unwrap()) };
                let [plain, negated] = operands(dtype, mirror)
                    .map(|operands| enclose(&program, &operands, &settings).unwrap().1.swap_remove(0));
                let (Enclosed::Floats(plain), Enclosed::Floats(negated)) = (plain, negated) else {
                    panic!("floats are enclosed")
                };
                let mut pairs = plain.iter().zip(&negated);
                let differ = pairs.position(|(a, b)| !are_mirrored(a.lo, b.hi) || !are_mirrored(a.hi, b.lo));
                assert_eq!(
                    differ,
                    None,
                    "{mode} {any_mode} {dtype} {operation}: {:?}",
                    differ.map(|at| (plain[at], negated[at]))
                );
            }
        }
    }
}

/// Rounding, encoding and decoding of every format that has negative numbers.
#[test]
fn roundings_are_mirrored() {
    let mut state = 7u64;
    for format in FORMATS.iter().filter(|format| format.has_negative_numbers()) {
        for i in 0..20_000 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let top = format.max_finite().log2().ceil() as i64;
            let power = (state >> 40) as i64 % (2 * top + 60) - top - 50;
            // Few bits, so that many lie halfway between two numbers.
            let mantissa = 1.0 + (state >> 20 & 0xfff) as f64 / if i % 2 == 0 { 4096.0 } else { 4097.0 };
            let value = mantissa * 2f64.powi(power.clamp(-1070, 1000) as i32);
            for direction in [Direction::NearestEven, Direction::TowardZero] {
                let [plus, minus] = [value, -value].map(|value| round_f64(format, value, direction));
                assert!(are_mirrored(plus, minus), "{} {value:e} {direction:?}: {plus:e} {minus:e}", format.name);
            }
        }
    }
}
