//! No result of a unit that flushes is subnormal, whatever operation makes it and whichever operands it is made of.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Binary, Program, Unary};
use ulpgate::machine::{CHIPS, Mode};
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

/// The smallest normal f32, and so the smallest normal bf16.
const NORMAL: f32 = 1.175_494_4e-38;

/// Magnitudes whose products, quotients, sums and remainders lie about the smallest normal number.
const MAGNITUDES: [f32; 14] =
    [1e-45, 3e-39, 1.175_494_2e-38, NORMAL, 1.3e-38, 2.2e-38, 3e-30, 1e-20, 3e-19, 0.3, 1.0, 7.0, 4e19, 3e38];

/// Every pair of numbers, of both signs.
fn pairs(dtype: DType) -> Vec<Tensor> {
    let numbers: Vec<f32> = MAGNITUDES.iter().flat_map(|magnitude| [*magnitude, -magnitude]).collect();
    let all = |at: &dyn Fn(usize) -> f32| -> Tensor {
        let count = numbers.len() * numbers.len();
        let values: Vec<f64> = (0..count).map(|i| f64::from(at(i))).collect();
        Tensor::new(&[count], Data::from_f64s(dtype, &values).unwrap())
    };
    vec![all(&|i| numbers[i / numbers.len()]), all(&|i| numbers[i % numbers.len()])]
}

fn program(dtype: DType, count: usize, operation: &str) -> Program {
    let operation = operation.replace("TYPE", &dtype.to_string()).replace("COUNT", &count.to_string());
    let text = format!(
        "HloModule m\nadd {{ a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n ROOT r = {dtype}[] add(a, b) }}\n\
         maximum {{ a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n ROOT r = {dtype}[] maximum(a, b) }}\n\
         minimum {{ a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n ROOT r = {dtype}[] minimum(a, b) }}\n\
         ENTRY e {{\n x = {dtype}[{count}] parameter(0)\n y = {dtype}[{count}] parameter(1)\n {operation}\n}}\n"
    );
    lower(&parse(&text).unwrap()).unwrap_or_else(|error| panic!("{error}\n{text}")).program
}

/// Chips that flush, each with its functions as they are and at the end of their bounds.
fn modes() -> Vec<Mode> {
    let flushing = CHIPS.iter().filter(|chip| chip.flush);
    let texts = flushing.flat_map(|chip| {
        ["", "+exp=worst", "+exp=seeded"].map(|refinement| format!("{}/f32/off{refinement}", chip.name))
    });
    texts.filter_map(|text| text.parse().ok()).collect()
}

/// Operations that keep a subnormal number: one only changes or drops the sign, or is its argument where that is small (FACTS 3.4). XLA:CPU
/// takes small arguments of these from the C library, which flushes nothing.
fn keeps(mode: &Mode, operation: &str) -> bool {
    let anywhere = ["abs", "negate", "tanh", "exponential-minus-one"];
    let in_the_c_library = ["cbrt", "sine", "tan", "atan2"];
    anywhere.contains(&operation) || mode.chip.name.starts_with("xla-cpu") && in_the_c_library.contains(&operation)
}

fn assert_flushes(mode: &Mode, dtype: DType, operation: &str, arguments: &[Tensor]) {
    let program = program(dtype, arguments[0].len(), operation);
    let result = subject::evaluate(&program, mode, arguments).unwrap().swap_remove(0).data().to_f64s();
    let subnormal = result.iter().position(|v| *v != 0.0 && v.abs() < f64::from(NORMAL));
    let shown = subnormal.map(|at| (at, result[at]));
    assert_eq!(shown, None, "{mode} {dtype} {operation}");
}

#[test]
fn no_result_is_subnormal() {
    let modes = modes();
    assert!(modes.len() > 10, "{}", modes.len());
    for dtype in [DType::F32, DType::BF16] {
        let arguments = pairs(dtype);
        let unary = Unary::ALL.iter().filter(|unary| unary.takes(dtype) && **unary != Unary::IsFinite);
        let binary = Binary::ALL.iter().filter(|binary| binary.takes(dtype));
        let unary = unary.map(|unary| (unary.name(), format!("ROOT r = TYPE[COUNT] {}(x)", unary.name())));
        let binary = binary.map(|binary| (binary.name(), format!("ROOT r = TYPE[COUNT] {}(x, y)", binary.name())));
        let operations: Vec<(&str, String)> = unary.chain(binary).collect();
        assert!(operations.len() > 25);
        for (name, operation) in &operations {
            for mode in modes.iter().filter(|mode| !keeps(mode, name)) {
                assert_flushes(mode, dtype, operation, &arguments);
            }
        }
    }
}

/// Divisors that a compiler may take the reciprocal of, sums, running sums, windows and dots.
#[test]
fn no_sum_or_quotient_is_subnormal() {
    let zero = "z = TYPE[] constant(0)\n";
    let spread = |divisor: &str| {
        format!(
            "c = TYPE[] constant({divisor})\n d = TYPE[COUNT] broadcast(c), dimensions={{}}\n ROOT r = TYPE[COUNT] divide(x, d)"
        )
    };
    let mut operations = vec![
        format!("{zero} ROOT r = TYPE[COUNT] reduce-window(x, z), window={{size=2 pad=1_0}}, to_apply=add"),
        format!("{zero} m = TYPE[COUNT] reshape(x)\n w = TYPE[COUNT,1] reshape(m)\n ROOT r = TYPE[COUNT] reduce(w, z), dimensions={{1}}, to_apply=add"),
        "a = TYPE[COUNT,1] reshape(x)\n b = TYPE[COUNT,1] reshape(y)\n k = TYPE[COUNT,2] concatenate(a, b), dimensions={1}\n \
         z = TYPE[] constant(0)\n ROOT r = TYPE[COUNT] reduce(k, z), dimensions={1}, to_apply=add"
            .to_string(),
        "a = TYPE[COUNT,1] reshape(x)\n b = TYPE[COUNT,1] reshape(y)\n ROOT r = TYPE[COUNT] dot(a, b), lhs_batch_dims={0}, \
         rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}"
            .to_string(),
        "ROOT r = TYPE[COUNT] clamp(y, x, y)".to_string(),
    ];
    operations.extend(["3", "7e10", "1e30", "3e38", "-0.7"].map(spread));
    for dtype in [DType::F32, DType::BF16] {
        let arguments = pairs(dtype);
        for operation in &operations {
            // A matrix unit keeps subnormal products; the vector unit takes dots of a vector.
            let in_matrix_unit = |mode: &Mode| mode.chip.matrix_unit && operation.contains("dot(");
            for mode in modes().iter().filter(|mode| !in_matrix_unit(mode)) {
                assert_flushes(mode, dtype, operation, &arguments);
            }
        }
    }
}

/// Largest and smallest numbers of rows and windows, of which the first may be subnormal and the others of either sign.
#[test]
fn no_extreme_is_subnormal() {
    let rows = "a = TYPE[COUNT,1] reshape(x)\n b = TYPE[COUNT,1] reshape(y)\n k = TYPE[COUNT,2] concatenate(a, b), dimensions={1}";
    let mut operations = Vec::new();
    for (extreme, init) in [("maximum", "-inf"), ("minimum", "inf")] {
        let begin = format!("{rows}\n z = TYPE[] constant({init})\n ROOT r");
        let windows = format!("window={{size=1x2}}, to_apply={extreme}");
        operations.push(format!("{begin} = TYPE[COUNT] reduce(k, z), dimensions={{1}}, to_apply={extreme}"));
        operations.push(format!("{begin} = TYPE[COUNT,1] reduce-window(k, z), {windows}"));
    }
    for dtype in [DType::F32, DType::BF16] {
        let arguments = pairs(dtype);
        for operation in &operations {
            modes().iter().for_each(|mode| assert_flushes(mode, dtype, operation, &arguments));
        }
    }
}
