//! Dots that XLA's simplifier takes apart or puts together, and roots of inverses (FACTS 9.1): what it makes of them is within what `explore`
//! permits.

use ulpgate::explore::{Settings, default_families, enclose, outside};
use ulpgate::ir::Program;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::program;

const MODES: [&str; 5] =
    ["v5e/default/off", "v6e/default/off", "tpu7x/default/off", "xla-cpu/default/off", "cpu/f32/off"];

/// Numbers of f32 or bf16 between -1 and 1.
fn drawn(dtype: DType, dims: &[usize], seed: u64) -> Tensor {
    let mut state = seed;
    let numbers: Vec<f64> = (0..dims.iter().product())
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 23) - 1.0
        })
        .collect();
    Tensor::new(dims, Data::from_f64s(dtype, &numbers).unwrap())
}

/// The elements that a compiled form gives outside of what the program as written permits, with the family `algebra` and without it.
fn outside_of(written: &Program, compiled: &Program, arguments: &[Tensor], mode: &str) -> [usize; 2] {
    let results = subject::evaluate(compiled, &mode.parse().unwrap(), arguments).unwrap();
    [true, false].map(|algebra| {
        let families = default_families().filter(|family| algebra || family.name != "algebra").collect();
        let settings = Settings { families, ..Settings::new(mode.parse().unwrap()) };
        let (_, enclosed) = enclose(written, arguments, &settings).unwrap();
        let found = outside(&enclosed, &results);
        assert_eq!(found[0].unknown, 0, "{mode}");
        found[0].elements.len()
    })
}

/// The elements that are outside without the family `algebra`, in all modes together; with it none is.
fn outside_without_family(written: &Program, compiled: &Program, arguments: &[Tensor]) -> usize {
    let each = MODES.iter().map(|mode| {
        let [with, without] = outside_of(written, compiled, arguments, mode);
        assert_eq!(with, 0, "{} in {mode}", arguments[0].dtype());
        without
    });
    each.sum()
}

/// `OptimizeDotOfConcat`: a dot of a concatenation and a constant is one dot a piece, rounded and added in the result's type.
#[test]
fn a_dot_of_a_concatenation_and_a_constant_may_be_a_sum_of_dots() {
    let mut without = 0;
    for dtype in [DType::BF16, DType::F32] {
        // Multiples of 1/16 between -1/2 and 1/2, computed without a rounding.
        let constant = format!(
            "i = f32[128,8] iota(), iota_dimension=0\n j = f32[128,8] iota(), iota_dimension=1\n l = f32[128,8] multiply(i, j)\n \
             k = f32[128,8] add(l, i)\n c0 = f32[] constant(0.3125)\n c1 = f32[128,8] broadcast(c0), dimensions={{}}\n \
             m = f32[128,8] multiply(k, c1)\n f = f32[128,8] floor(m)\n g = f32[128,8] subtract(m, f)\n h0 = f32[] constant(0.5)\n \
             h1 = f32[128,8] broadcast(h0), dimensions={{}}\n s = f32[128,8] subtract(g, h1)\n w = {dtype}[128,8] convert(s)\n "
        );
        let head = format!(
            "HloModule m\nENTRY e {{\n x = {dtype}[16,64] parameter(0)\n y = {dtype}[16,64] parameter(1)\n {constant}"
        );
        let numbers = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
        let written = program(&format!(
            "{head} c = {dtype}[16,128] concatenate(x, y), dimensions={{1}}\n ROOT r = {dtype}[16,8] dot(c, w), {numbers}\n}}\n"
        ));
        let compiled = program(&format!(
            "{head} v = {dtype}[64,8] slice(w), slice={{[0:64], [0:8]}}\n u = {dtype}[64,8] slice(w), slice={{[64:128], [0:8]}}\n \
             p = {dtype}[16,8] dot(x, v), {numbers}\n q = {dtype}[16,8] dot(y, u), {numbers}\n \
             ROOT r = {dtype}[16,8] add(p, q)\n}}\n"
        ));
        let arguments = [drawn(dtype, &[16, 64], 1), drawn(dtype, &[16, 64], 2)];
        without += outside_without_family(&written, &compiled, &arguments);
    }
    assert!(without > 20, "{without}");
}

/// A sum of a dot over its batches is one dot, in which they are contracting dims: rounded once.
#[test]
fn a_sum_over_batches_may_be_one_dot() {
    let mut without = 0;
    for dtype in [DType::BF16, DType::F32] {
        let head = format!(
            "HloModule m\nsum {{\n a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n ROOT c = {dtype}[] add(a, b)\n}}\n\
             ENTRY e {{\n x = {dtype}[16,8,32] parameter(0)\n y = {dtype}[16,32,8] parameter(1)\n"
        );
        let written = program(&format!(
            "{head} d = {dtype}[16,8,8] dot(x, y), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, \
             rhs_contracting_dims={{1}}\n z = {dtype}[] constant(0)\n ROOT r = {dtype}[8,8] reduce(d, z), dimensions={{0}}, \
             to_apply=sum\n}}\n"
        ));
        let compiled = program(&format!(
            "{head} ROOT r = {dtype}[8,8] dot(x, y), lhs_contracting_dims={{0,2}}, rhs_contracting_dims={{0,1}}\n}}\n"
        ));
        let arguments = [drawn(dtype, &[16, 8, 32], 3), drawn(dtype, &[16, 32, 8], 4)];
        without += outside_without_family(&written, &compiled, &arguments);
    }
    assert!(without > 20, "{without}");
}

/// `rsqrt(1 / |x|)` is `sqrt |x|`.
#[test]
fn a_root_of_an_inverse_may_be_a_root() {
    let head = "HloModule m\nENTRY e {\n x = f32[512] parameter(0)\n a = f32[512] abs(x)\n";
    let written = program(&format!(
        "{head} one = f32[] constant(1)\n ones = f32[512] broadcast(one), dimensions={{}}\n q = f32[512] divide(ones, a)\n \
         ROOT r = f32[512] rsqrt(q)\n}}\n"
    ));
    let compiled = program(&format!("{head} ROOT r = f32[512] sqrt(a)\n}}\n"));
    let arguments = [drawn(DType::F32, &[512], 5)];
    let mut without = 0;
    // Nothing is promised of XLA:CPU's reciprocal root.
    for mode in MODES.into_iter().filter(|mode| !mode.starts_with("xla-cpu")) {
        let found = outside_of(&written, &compiled, &arguments, mode);
        assert_eq!(found[0], 0, "{mode}");
        without += found[1];
    }
    assert!(without > 20, "{without}");
}
