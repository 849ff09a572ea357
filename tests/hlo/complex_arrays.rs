//! Operations over arrays of complex numbers: sorts and reductions by a region, convolutions and bits, in both worlds.

use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{self, program};

fn f32s(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::new(dims, Data::F32(values.to_vec()))
}

/// The results in both worlds, which are equal.
#[track_caller]
fn results(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &program(text), arguments);
    assert_eq!(machine, truth, "{text}");
    machine
}

const ORDER: &str = "by_parts { a = c64[] parameter(0)\n b = c64[] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n \
    ar = f32[] real(a)\n br = f32[] real(b)\n ai = f32[] imag(a)\n bi = f32[] imag(b)\n less = pred[] compare(ar, br), direction=LT\n \
    equal = pred[] compare(ar, br), direction=EQ\n lower = pred[] compare(ai, bi), direction=LT\n \
    ROOT r = pred[] select(equal, lower, less) }\n\
    alone { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ar = f32[] real(a)\n br = f32[] real(b)\n \
    ROOT r = pred[] compare(ar, br), direction=GT }\n";

/// As `jnp.sort` asks: by the real parts, equal ones by the imaginary parts.
#[test]
fn a_comparator_of_complex_numbers_sees_both_parts() {
    let (re, im) = (f32s(&[5], &[3.0, 1.0, 3.0, -2.0, 1.0]), f32s(&[5], &[0.5, 4.0, -0.5, 0.0, 2.0]));
    let entry = |root: &str| format!("HloModule m\n\n{ORDER}ENTRY e {{\n  z = c64[5] parameter(0)\n{root}}}\n");
    let beside = entry(
        "  i = s32[5] iota(), iota_dimension=0\n  ROOT r = (c64[5], s32[5]) sort(z, i), dimensions={0}, is_stable=true, \
         to_apply=by_parts\n",
    );
    assert_eq!(
        results(&beside, &[re.clone(), im.clone()]),
        [vec![-2.0, 1.0, 1.0, 3.0, 3.0], vec![0.0, 2.0, 4.0, -0.5, 0.5], vec![3.0, 4.0, 1.0, 2.0, 0.0]]
    );
    let alone = entry("  ROOT r = c64[5] sort(z), dimensions={0}, is_stable=true, to_apply=alone\n");
    assert_eq!(results(&alone, &[re, im]), [vec![3.0, 3.0, 1.0, 1.0, -2.0], vec![0.5, -0.5, 4.0, 2.0, 0.0]]);
}

#[test]
fn reductions_by_any_region_see_both_parts() {
    let text = "HloModule m\n\nproduct { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ROOT r = c64[] multiply(a, b) }\n\
                ENTRY e {\n  z = c64[2,3] parameter(0)\n  one = c64[] constant((1, 0))\n  \
                ROOT r = c64[2] reduce(z, one), dimensions={1}, to_apply=product\n}\n";
    let given = [f32s(&[2, 3], &[1.0, 0.0, 2.0, 3.0, -1.0, 0.5]), f32s(&[2, 3], &[1.0, 1.0, -1.0, 0.0, 2.0, 0.0])];
    // (1 + i) i (2 - i) and 3 (-1 + 2i) / 2.
    assert_eq!(results(text, &given), [[-1.0, -1.5], [3.0, 3.0]]);
}

#[test]
fn complex_convolutions_are_sums_of_complex_products() {
    let text = "HloModule m\n\nENTRY e {\n  x = c64[1,3,1] parameter(0)\n  w = c64[2,1,1] parameter(1)\n  \
                ROOT r = c64[1,2,1] convolution(x, w), window={size=2}, dim_labels=b0f_0io->b0f\n}\n";
    let part = |dims: &[usize], values: &[f32]| f32s(dims, values);
    let given = [
        part(&[1, 3, 1], &[1.0, 2.0, 3.0]),
        part(&[1, 3, 1], &[4.0, 5.0, 6.0]),
        part(&[2, 1, 1], &[0.5, -1.0]),
        part(&[2, 1, 1], &[2.0, 1.0]),
    ];
    // (1+4i)(0.5+2i) + (2+5i)(-1+i) and (2+5i)(0.5+2i) + (3+6i)(-1+i).
    assert_eq!(results(text, &given), [[-14.5, -18.0], [1.0, 3.5]]);
}

/// The real part is first in memory.
#[test]
fn complex_numbers_and_their_bits_are_converted() {
    let bits = |x: f32| u64::from(x.to_bits());
    let (re, im) = ([1.5f32, -0.0], [-2.0f32, 7.0]);
    let parts = [f32s(&[2], &re), f32s(&[2], &im)];
    let from = |to: &str| {
        format!("HloModule m\n\nENTRY e {{\n  z = c64[2] parameter(0)\n  ROOT r = {to} bitcast-convert(z)\n}}\n")
    };
    assert_eq!(results(&from("f32[2,2]"), &parts), [[1.5, -2.0, -0.0, 7.0]]);
    let whole = [0, 1].map(|at| bits(re[at]) | bits(im[at]) << 32);
    let evaluated = |text: &str, given: &[Tensor]| {
        let mode: ulpgate::machine::Mode = "cpu/f32/as-compiled".parse().unwrap();
        ulpgate::subject::evaluate(&program(text), &mode, given).unwrap()
    };
    assert_eq!(evaluated(&from("u64[2]"), &parts), [Tensor::new(&[2], Data::U64(whole.to_vec()))]);
    let bytes: Vec<u8> = whole.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    assert_eq!(evaluated(&from("u8[2,8]"), &parts), [Tensor::new(&[2, 8], Data::U8(bytes.clone()))]);
    let to = |from: &str| {
        format!("HloModule m\n\nENTRY e {{\n  x = {from} parameter(0)\n  ROOT r = c64[2] bitcast-convert(x)\n}}\n")
    };
    for (text, given) in [
        (to("f32[2,2]"), f32s(&[2, 2], &[1.5, -2.0, -0.0, 7.0])),
        (to("u64[2]"), Tensor::new(&[2], Data::U64(whole.to_vec()))),
        (to("u8[2,8]"), Tensor::new(&[2, 8], Data::U8(bytes))),
    ] {
        assert_eq!(evaluated(&text, &[given]), parts, "{text}");
    }
    for (text, why) in [
        (from("f32[2,3]"), "complex numbers of 64 bits each are no f32[2,3]"),
        (to("u8[2,4]"), "u8[2,4] holds no complex numbers of 64 bits each"),
        (from("c128[1]"), "between complex numbers of two widths is not supported"),
    ] {
        let error = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let twice = Data::from_f64s(DType::F64, &[1.0, 2.0]).unwrap();
    let wide = "HloModule m\n\nENTRY e {\n  x = f64[1,2] parameter(0)\n  ROOT r = c128[1] bitcast-convert(x)\n}\n";
    assert_eq!(results(wide, &[Tensor::new(&[1, 2], twice)]), [[1.0], [2.0]]);
}

/// As libtpu writes complex arguments and results of a TPU's program, which computes in f32 alone.
#[test]
fn a_tpus_program_takes_complex_numbers_apart() {
    let text = "HloModule m\nENTRY e {\n  z = c64[2] parameter(0)\n  re = f32[2] custom-call(z), custom_call_target=\"X64SplitLow\"\n  \
                im = f32[2] custom-call(z), custom_call_target=\"X64SplitHigh\"\n  n = f32[2] negate(im)\n  \
                ROOT c = c64[2] custom-call(re, n), custom_call_target=\"X64Combine\"\n}\n";
    let parts = [f32s(&[2], &[1.0, 2.0]), f32s(&[2], &[3.0, -4.0])];
    assert_eq!(results(text, &parts), [[1.0, 2.0], [-3.0, 4.0]]);
    let wrong = text
        .replace("negate(im)", "negate(im)\n  s = s32[2] convert(im)")
        .replace("custom-call(re, n)", "custom-call(re, s)");
    let why = lower(&parse(&wrong).unwrap()).unwrap_err().why;
    assert!(why.contains("c64"), "{why}");
}

/// A sum takes two numbers, and so it reduces one array: of two it is no region.
#[test]
fn a_sum_of_two_arrays_of_complex_numbers_is_refused() {
    let text = "HloModule m\nsum { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ROOT c = c64[] add(a, b) }\nENTRY e {\n \
                x = c64[4] parameter(0)\n y = c64[4] parameter(1)\n z = c64[] constant((0,0))\n \
                ROOT r = (c64[], c64[]) reduce(x, y, z, z), dimensions={0}, to_apply=sum\n}\n";
    let why = lower(&parse(text).unwrap()).unwrap_err().to_string();
    assert!(why.contains("region sum does not fit the operands"), "{why}");
}
