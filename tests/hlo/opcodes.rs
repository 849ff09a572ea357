//! Results of single opcodes, in both worlds at once.

use ulpgate::hlo::{lower, parse};
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::subject;
use ulpgate::tensor::{DTYPES, DType, Data, Tensor};

use crate::worlds::{self, program};

/// The results on a machine that keeps subnormals; over the real numbers they are the same to the sign of a zero, and every
/// NaN is one.
#[track_caller]
fn both(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    agreed("cpu/f32/as-compiled", text, arguments)
}

/// [`both`] in a mode of one's own.
#[track_caller]
fn agreed(mode: &str, text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let program = program(text);
    // What is printed says the same again.
    let printed = program.to_string();
    assert_eq!(worlds::program(&printed).to_string(), printed);
    let [machine, truth] = worlds::both(mode, &program, arguments);
    let bits = |values: &[f64]| -> Vec<u64> {
        values.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
    };
    for (machine, truth) in machine.iter().zip(&truth) {
        let off = machine.iter().zip(truth).position(|(a, b)| bits(&[*a]) != bits(&[*b]));
        assert_eq!(off, None, "{:?} and {:?} in {text}", off.map(|at| machine[at]), off.map(|at| truth[at]));
    }
    machine
}

fn f64s(values: &[f64]) -> Tensor {
    Tensor::new(&[values.len()], Data::F64(values.to_vec()))
}

fn integers(dtype: DType, dims: &[usize], values: &[i64]) -> Tensor {
    Tensor::new(dims, Data::from_i64s(dtype, values).unwrap())
}

/// Ends, exact cases, places next to multiples of pi, and numbers from a linear congruence.
fn numbers() -> Vec<f64> {
    let mut numbers = vec![0.0, -0.0, 1.0, -1.0, 8.0, -27.0, 0.125, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    numbers.extend([
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        1e22,
        6381956970095103.0 * 2f64.powi(797),
    ]);
    for quarter in 1..40 {
        let near = f64::from(quarter) * std::f64::consts::FRAC_PI_2;
        numbers.extend([near, near.next_up(), -near.next_down()]);
    }
    let mut state = 1u64;
    for i in 0..600 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let uniform = (state >> 11) as f64 * 2f64.powi(-53) - 0.5;
        numbers.push(uniform * 2f64.powi([4, 8, -20, 3, 300, 1][i % 6]));
    }
    numbers
}

/// The machine's are correctly rounded by core-math, the oracle's are proven by MPFR.
#[test]
fn functions_of_f64_are_correctly_rounded() {
    let x = numbers();
    let n = x.len();
    for opcode in ["cosine", "sine", "tan", "erf", "cbrt"] {
        let text =
            format!("HloModule m\n\nENTRY e {{\n  x = f64[{n}] parameter(0)\n  ROOT r = f64[{n}] {opcode}(x)\n}}\n");
        let got = both(&text, &[f64s(&x)]).remove(0);
        let of = |at: f64| got[x.iter().position(|v| v.to_bits() == at.to_bits()).unwrap()];
        let (at_zero, at_eight, at_infinity) = (of(-0.0), of(8.0), of(f64::INFINITY));
        match opcode {
            "cosine" => assert!(at_zero == 1.0 && at_infinity.is_nan() && of(1.0) == 0.5403023058681398),
            "sine" => assert!(at_zero.is_sign_negative() && at_infinity.is_nan() && of(1.0) == 0.8414709848078965),
            "tan" => assert!(at_zero.is_sign_negative() && at_infinity.is_nan() && of(1.0) == 1.5574077246549023),
            "erf" => assert!(at_zero.is_sign_negative() && at_infinity == 1.0 && of(1.0) == 0.8427007929497149),
            _ => assert!(at_eight == 2.0 && at_infinity == f64::INFINITY && of(-27.0) == -3.0 && of(0.125) == 0.5),
        }
    }
}

#[test]
fn functions_of_two_have_the_special_values_of_c() {
    let some = [0.0, 1.0, 0.5, 2.0, 3.0, 4.0, 1e300, 1e-300, 0.1, 7.25, f64::INFINITY, f64::from_bits(1)];
    let mut some: Vec<f64> = some.into_iter().flat_map(|v| [v, -v]).collect();
    some.push(f64::NAN);
    let (x, y): (Vec<f64>, Vec<f64>) = some.iter().flat_map(|a| some.iter().map(move |b| (*a, *b))).unzip();
    let n = x.len();
    for opcode in ["power", "atan2"] {
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  x = f64[{n}] parameter(0)\n  y = f64[{n}] parameter(1)\n  ROOT r = f64[{n}] \
             {opcode}(x, y)\n}}\n"
        );
        let got = both(&text, &[f64s(&x), f64s(&y)]).remove(0);
        let of = |a: f64, b: f64| {
            got[(0..n).find(|at| x[*at].to_bits() == a.to_bits() && y[*at].to_bits() == b.to_bits()).unwrap()]
        };
        if opcode == "power" {
            assert_eq!(
                [of(f64::NAN, 0.0), of(1.0, f64::NAN), of(-1.0, f64::INFINITY), of(2.0, 3.0)],
                [1.0, 1.0, 1.0, 8.0]
            );
            assert!(of(-2.0, 0.5).is_nan() && of(-0.0, -3.0) == f64::NEG_INFINITY && of(-2.0, 3.0) == -8.0);
        } else {
            assert_eq!([of(0.0, -1.0), of(1.0, 0.0)], [std::f64::consts::PI, std::f64::consts::FRAC_PI_2]);
            assert!(of(-0.0, 1.0).is_sign_negative() && of(2.0, f64::NAN).is_nan());
        }
    }
}

#[test]
fn bits_are_counted_within_their_type() {
    for (dtype, values, zeros, ones) in [
        (DType::S8, [0, 1, -1, 64], [8.0, 7.0, 0.0, 1.0], [0.0, 1.0, 8.0, 1.0]),
        (DType::U8, [0, 3, 255, 128], [8.0, 6.0, 0.0, 0.0], [0.0, 2.0, 8.0, 1.0]),
        (DType::S32, [0, 5, -2, i64::from(i32::MIN)], [32.0, 29.0, 0.0, 0.0], [0.0, 2.0, 31.0, 1.0]),
        (DType::U64, [0, 7, -1, i64::MIN], [64.0, 61.0, 0.0, 0.0], [0.0, 3.0, 64.0, 1.0]),
    ] {
        for (opcode, expected) in [("count-leading-zeros", zeros), ("popcnt", ones)] {
            let name = dtype.name();
            let text = format!(
                "HloModule m\n\nENTRY e {{\n  x = {name}[4] parameter(0)\n  ROOT r = {name}[4] {opcode}(x)\n}}\n"
            );
            assert_eq!(both(&text, &[integers(dtype, &[4], &values)]), [expected], "{opcode} of {name}");
        }
    }
}

/// The upper halves are those that XLA:CPU of jaxlib 0.10.2 gives (`jax.lax.mulhi`).
#[test]
fn the_upper_half_of_a_product_is_that_of_its_type() {
    let values = |dtype: DType| match dtype {
        DType::S8 => ([-128, 127, -1, 100], [-128, 127, 1, 3], [64.0, 63.0, -1.0, 1.0]),
        DType::U8 => ([255, 200, 1, 16], [255, 3, 255, 16], [254.0, 2.0, 0.0, 1.0]),
        DType::S32 => {
            let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
            ([least, most, least, -3], [least, most, most, 7], [1073741824.0, 1073741823.0, -1073741824.0, -1.0])
        }
        _ => {
            let most = i64::from(u32::MAX);
            ([most, most, 65536, 3], [most, 2, 65536, 5], [4294967294.0, 1.0, 1.0, 0.0])
        }
    };
    for dtype in [DType::S8, DType::U8, DType::S32, DType::U32] {
        let (x, y, expected) = values(dtype);
        let name = dtype.name();
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  x = {name}[4] parameter(0)\n  y = {name}[4] parameter(1)\n  ROOT r = {name}[4] \
             mulhi(x, y)\n}}\n"
        );
        let arguments = [x, y].map(|values| integers(dtype, &[4], &values));
        assert_eq!(both(&text, &arguments), [expected], "{name}");
    }
    let of_floats = "HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] mulhi(x, x)\n}\n";
    let error = lower(&parse(of_floats).unwrap()).unwrap_err().to_string();
    assert!(error.contains("mulhi"), "{error}");
}

/// Of all integer types, against products in 128 bits, in both worlds.
#[test]
fn the_upper_half_is_that_of_the_whole_product() {
    for dtype in DTYPES.into_iter().filter(|dtype| dtype.is_integer()) {
        let width = dtype.bits();
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut numbers: Vec<i64> = vec![0, 1, -1, 2, i64::MIN, i64::MAX, 1 << (width / 2), i64::MAX >> (64 - width)];
        for _ in 0..40 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            numbers.push((state ^ (state >> 29)) as i64);
        }
        let numbers = Data::from_i64s(dtype, &numbers).unwrap().to_i64s();
        let pairs: Vec<(i64, i64)> = numbers.iter().flat_map(|a| numbers.iter().map(|b| (*a, *b))).collect();
        let (x, y): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
        let is_unsigned = dtype.name().starts_with('u');
        let expected: Vec<i64> = pairs
            .iter()
            .map(|(a, b)| match is_unsigned {
                true => ((u128::from(*a as u64) * u128::from(*b as u64)) >> width) as i64,
                false => ((i128::from(*a) * i128::from(*b)) >> width) as i64,
            })
            .collect();
        let expected = Data::from_i64s(dtype, &expected).unwrap();
        let (name, count) = (dtype.name(), pairs.len());
        let program = program(&format!(
            "HloModule m\n\nENTRY e {{\n  x = {name}[{count}] parameter(0)\n  y = {name}[{count}] parameter(1)\n  \
             ROOT r = {name}[{count}] mulhi(x, y)\n}}\n"
        ));
        let arguments = [x, y].map(|values| integers(dtype, &[count], &values));
        let mode: Mode = "v5e/default/off".parse().unwrap();
        assert_eq!(subject::evaluate(&program, &mode, &arguments).unwrap()[0].data(), &expected, "{name}");
        let truth = Oracle::default().evaluate(&program, &arguments, &[Demand::Rounded]).unwrap();
        let TruthTensor::Integer { values, .. } = &truth.outputs[0] else { panic!("{name}") };
        let values: Vec<i64> = values.iter().map(|value| value.unwrap()).collect();
        assert_eq!(values, expected.to_i64s(), "{name}");
    }
}

/// Integers of 64 bits keep all of them: two that are one f64 are told apart, and a u64 with its first bit set is large.
#[test]
fn the_best_integers_are_those_of_their_type() {
    let near = (1i64 << 53) + 1;
    for (dtype, values, best) in [
        (DType::S64, [near - 1, near, -1, 7], [near, near - 1]),
        (DType::U64, [near, i64::MIN, -1, near], [-1, i64::MIN]),
        (DType::U8, [200, 3, 255, 255], [255, 255]),
    ] {
        let name = dtype.name();
        let program = program(&format!(
            "HloModule m\n\nENTRY e {{\n  x = {name}[4] parameter(0)\n  ROOT t = ({name}[2], s32[2]) topk(x), k=2, largest=true\n}}\n"
        ));
        let argument = [integers(dtype, &[4], &values)];
        let found = subject::evaluate(&program, &"v5e/default/off".parse::<Mode>().unwrap(), &argument).unwrap();
        assert_eq!(found[0].data().to_i64s(), best, "{name}");
        let truth = Oracle::default().evaluate(&program, &argument, &[Demand::Rounded, Demand::Rounded]).unwrap();
        let TruthTensor::Integer { values, .. } = &truth.outputs[0] else { panic!("{name}") };
        assert_eq!(values.iter().map(|value| value.unwrap()).collect::<Vec<i64>>(), best, "{name}");
    }
}

/// The order of real parts, then of imaginary ones; and counts as complex numbers.
#[test]
fn complex_numbers_have_an_order_of_maxima_and_are_counted() {
    let text = |binary: &str| {
        format!(
            "HloModule m\n\nENTRY e {{\n  a = f64[4] parameter(0)\n  b = f64[4] parameter(1)\n  c = f64[4] parameter(2)\n  \
             d = f64[4] parameter(3)\n  x = c128[4] complex(a, b)\n  y = c128[4] complex(c, d)\n  ROOT r = c128[4] {binary}(x, y)\n}}\n"
        )
    };
    let arguments =
        [[1.0, 2.0, 3.0, -0.0], [9.0, 5.0, -1.0, 2.0], [2.0, 2.0, 3.0, 0.0], [1.0, 4.0, 7.0, 1.0]].map(|x| f64s(&x));
    assert_eq!(both(&text("maximum"), &arguments), [[2.0, 2.0, 3.0, -0.0], [1.0, 5.0, 7.0, 2.0]]);
    assert_eq!(both(&text("minimum"), &arguments), [[1.0, 2.0, 3.0, 0.0], [9.0, 4.0, -1.0, 1.0]]);
    let real = "HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] imag(x)\n}\n";
    assert_eq!(both(real, &[Tensor::new(&[2], Data::F32(vec![1.0, -2.0]))]), [[0.0, 0.0]]);
    let counts = "HloModule m\n\nENTRY e {\n  ROOT r = c64[2,3] iota(), iota_dimension=1\n}\n";
    assert_eq!(both(counts, &[]), [[0.0, 1.0, 2.0, 0.0, 1.0, 2.0], [0.0; 6]]);
}

/// A format without fraction bits has no NaN: XLA's evaluator makes plus infinity of it, of either sign.
#[test]
fn a_format_without_fraction_has_no_nan() {
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let of = |bits: usize| {
            let name = dtype.name();
            let text = format!(
                "HloModule m\n\nENTRY e {{\n  x = {name}[2] parameter(0)\n  \
                 ROOT r = {name}[2] reduce-precision(x), exponent_bits=5, mantissa_bits={bits}\n}}\n"
            );
            let argument = Tensor::new(&[2], Data::from_f64s(dtype, &[f64::NAN, -f64::NAN]).unwrap());
            let mode: Mode = "cpu/f32/off".parse().unwrap();
            subject::evaluate(&program(&text), &mode, &[argument]).unwrap()[0].data().to_f64s()
        };
        assert_eq!(of(0), [f64::INFINITY; 2], "{dtype}");
        assert!(of(1).iter().all(|value| value.is_nan()), "{dtype}");
    }
}

/// A uniform distribution between equal bounds has one value; any other is that of a generator which is not known.
#[test]
fn a_distribution_of_one_value_is_that_value() {
    let of = |bounds: &str, distribution: &str| {
        format!(
            "HloModule m\n\nENTRY e {{\n  x = f32[] parameter(0)\n  a = f32[] constant(0.5)\n  b = f32[] constant(0.5)\n  \
             c = f32[] constant(1)\n  ROOT r = f32[2,2] rng({bounds}), distribution={distribution}\n}}\n"
        )
    };
    let argument = [Tensor::new(&[], Data::F32(vec![3.0]))];
    assert_eq!(both(&of("a, b", "rng_uniform"), &argument), [[0.5; 4]]);
    assert_eq!(both(&of("x, x", "rng_uniform"), &argument), [[3.0; 4]]);
    for (bounds, distribution) in [("a, c", "rng_uniform"), ("x, a", "rng_uniform"), ("a, b", "rng_normal")] {
        let error = lower(&parse(&of(bounds, distribution)).unwrap()).unwrap_err().to_string();
        assert!(error.contains("its bits are those of a generator"), "{bounds}: {error}");
    }
}

#[test]
fn powers_of_integers_wrap_and_truncate() {
    let text = "HloModule m\n\nENTRY e {\n  x = s32[9] parameter(0)\n  y = s32[9] parameter(1)\n  ROOT r = s32[9] power(x, y)\n}\n";
    let x = integers(DType::S32, &[9], &[2, 3, -3, 5, 1, -1, -1, 2, 0]);
    let y = integers(DType::S32, &[9], &[10, 20, 3, 0, -7, -7, -8, -1, 0]);
    assert_eq!(both(text, &[x, y]), [[1024.0, -808182895.0, -27.0, 1.0, 1.0, -1.0, 1.0, 0.0, 1.0]]);
}

const REGIONS: &str = "
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }

last { a = f32[] parameter(0)
  ROOT b = f32[] parameter(1) }

doubled { a = f32[] parameter(0)
  b = f32[] parameter(1)
  t = f32[] add(b, b)
  ROOT r = f32[] subtract(a, t) }

min { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] minimum(a, b) }

or { a = pred[] parameter(0)
  b = pred[] parameter(1)
  ROOT r = pred[] or(a, b) }

swapped { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  n = f32[] negate(b)
  k = s32[] add(i, j)
  ROOT r = (f32[], s32[]) tuple(n, k) }
";

fn floats(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::new(dims, Data::F32(values.to_vec()))
}

/// Rows of windows; a window that does not lie inside as a whole is left out as a whole.
#[test]
fn scatters_leave_out_windows_beyond_the_array() {
    let scatter = |region: &str| {
        format!(
            "HloModule m\n{REGIONS}\nENTRY e {{
              x = f32[4,2] parameter(0)
              i = s32[4,1] parameter(1)
              u = f32[4,2,2] parameter(2)
              ROOT s = f32[4,2] scatter(x, i, u), update_window_dims={{1,2}}, inserted_window_dims={{}}, \
              scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply={region} }}"
        )
    };
    let x = floats(&[4, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let u = floats(&[4, 2, 2], &(0..16).map(|i| 10.0 + i as f32).collect::<Vec<_>>());
    // The second window would end beyond the last row, the fourth begins before the first.
    let at = |starts: [i64; 4]| [x.clone(), integers(DType::S32, &[4, 1], &starts), u.clone()];
    let last = both(&scatter("last"), &at([0, 3, 2, -1]));
    assert_eq!(last, [[10.0, 11.0, 12.0, 13.0, 18.0, 19.0, 20.0, 21.0]]);
    let doubled = both(&scatter("doubled"), &at([2, 3, i64::from(i32::MAX), -1]));
    assert_eq!(doubled, [[0.0, 1.0, 2.0, 3.0, 4.0 - 20.0, 5.0 - 22.0, 6.0 - 24.0, 7.0 - 26.0]]);
    // Sums of several updates: the second row gets four.
    let sums = both(&scatter("add"), &at([0, 1, 0, 1]));
    assert_eq!(sums, [[28.0, 31.0, 70.0, 75.0, 44.0, 47.0, 6.0, 7.0]]);
}

/// Of two updates of one element either may be the last; the same one twice is that one.
#[test]
fn updates_of_one_element_have_no_order() {
    let text = format!(
        "HloModule m\n{REGIONS}\nENTRY e {{
          x = f32[3] parameter(0)
          i = s32[4] parameter(1)
          u = f32[4] parameter(2)
          ROOT s = f32[3] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}}, \
          scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=last }}"
    );
    let program = program(&text);
    let indices = integers(DType::S32, &[4], &[0, 1, 0, 1]);
    let arguments = [floats(&[3], &[7.0, 8.0, 9.0]), indices, floats(&[4], &[1.0, 2.0, 3.0, 2.0])];
    let truth = Oracle::default().evaluate(&program, &arguments, &[Demand::Rounded]).unwrap();
    let TruthTensor::Float(float) = &truth.outputs[0] else { panic!("{truth:?}") };
    assert_eq!((float.open.as_slice(), &float.rounded[1..]), (&[0][..], &[2.0, 9.0][..]));
    let mode: Mode = "v5e/f32/as-compiled".parse().unwrap();
    let machine = subject::evaluate(&program, &mode, &arguments).unwrap();
    assert_eq!(machine[0].data().to_f64s(), [3.0, 2.0, 9.0], "in the updates' order");
}

#[test]
fn scatters_of_integers_predicates_and_several_arrays() {
    let text = format!(
        "HloModule m\n{REGIONS}\nENTRY e {{
          x = s32[2,3] parameter(0)
          i = s32[2,2,1] parameter(1)
          u = s32[2,2] parameter(2)
          ROOT s = s32[2,3] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{1}}, \
          scatter_dims_to_operand_dims={{1}}, input_batching_dims={{0}}, scatter_indices_batching_dims={{0}}, \
          index_vector_dim=2, to_apply=min }}"
    );
    let arguments = [
        integers(DType::S32, &[2, 3], &[5, 5, 5, 5, 5, 5]),
        integers(DType::S32, &[2, 2, 1], &[0, 0, 2, 1]),
        integers(DType::S32, &[2, 2], &[9, 3, 4, 8]),
    ];
    assert_eq!(both(&text, &arguments), [[3.0, 5.0, 5.0, 5.0, 5.0, 4.0]]);
    let text = format!(
        "HloModule m\n{REGIONS}\nENTRY e {{
          x = pred[4] parameter(0)
          i = s32[2] parameter(1)
          u = pred[] constant(true)
          v = pred[2] broadcast(u), dimensions={{}}
          ROOT s = pred[4] scatter(x, i, v), update_window_dims={{}}, inserted_window_dims={{0}}, \
          scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=or }}"
    );
    let x = Tensor::new(&[4], Data::Pred(vec![false, true, false, false]));
    assert_eq!(both(&text, &[x, integers(DType::S32, &[2], &[3, 1])]), [[0.0, 1.0, 0.0, 1.0]]);
    let text = format!(
        "HloModule m\n{REGIONS}\nENTRY e {{
          x = f32[3] parameter(0)
          y = s32[3] parameter(1)
          i = s32[1] parameter(2)
          u = f32[] parameter(3)
          v = s32[] parameter(4)
          ROOT s = (f32[3], s32[3]) scatter(x, y, i, u, v), update_window_dims={{}}, inserted_window_dims={{0}}, \
          scatter_dims_to_operand_dims={{0}}, index_vector_dim=0, to_apply=swapped }}"
    );
    let arguments = [
        floats(&[3], &[1.0, 2.0, 3.0]),
        integers(DType::S32, &[3], &[10, 20, 30]),
        integers(DType::S32, &[1], &[1]),
        floats(&[], &[0.5]),
        integers(DType::S32, &[], &[7]),
    ];
    assert_eq!(both(&text, &arguments), [[1.0, -0.5, 3.0], [10.0, 27.0, 30.0]]);
}

/// Integers of 8 bits accumulate in the type of the result, wrapped; beside a float they are numbers of its type.
#[test]
fn dots_of_integers_accumulate_in_their_result() {
    let text = "HloModule m\n\nENTRY e {\n  x = s8[2,3] parameter(0)\n  y = s8[2,3] parameter(1)\n  ROOT d = s32[2,2] dot(x, y), \
                lhs_contracting_dims={1}, rhs_contracting_dims={1}\n}\n";
    let x = integers(DType::S8, &[2, 3], &[127, 127, 127, -128, 1, 0]);
    let y = integers(DType::S8, &[2, 3], &[127, 127, 127, 2, -3, 5]);
    assert_eq!(both(text, &[x.clone(), y.clone()]), [[48387.0, 508.0, -16129.0, -259.0]]);
    let narrow = text.replace("s32[2,2]", "s8[2,2]");
    assert_eq!(both(&narrow, &[x.clone(), y.clone()]), [[3.0, -4.0, -1.0, -3.0]]);
    let batches = "HloModule m\n\nENTRY e {\n  x = s32[2,2,1] parameter(0)\n  y = s32[2,1,2] parameter(1)\n  ROOT d = s32[2,2,2] \
                   dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n}\n";
    let (a, b) = (integers(DType::S32, &[2, 2, 1], &[1, 2, 3, 4]), integers(DType::S32, &[2, 1, 2], &[5, 6, 7, 8]));
    assert_eq!(both(batches, &[a, b]), [[5.0, 6.0, 10.0, 12.0, 21.0, 24.0, 28.0, 32.0]]);
    let mixed = "HloModule m\n\nENTRY e {\n  x = s8[2,3] parameter(0)\n  y = bf16[2,3] parameter(1)\n  ROOT d = f32[2,2] dot(x, y), \
                 lhs_contracting_dims={1}, rhs_contracting_dims={1}\n}\n";
    let y = Tensor::new(&[2, 3], Data::from_f64s(DType::BF16, &[0.5, 1.0, 2.0, -1.0, 0.25, 4.0]).unwrap());
    assert_eq!(both(mixed, &[x.clone(), y]), [[444.5, 412.75, -63.0, 128.25]]);
    // A float result is the whole sum, rounded once: 48387 is no bf16.
    let rounded = text.replace("s32[2,2]", "bf16[2,2]");
    let y = integers(DType::S8, &[2, 3], &[127, 127, 127, 2, -3, 5]);
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &program(&rounded), &[x.clone(), y]);
    assert_eq!([machine, truth], [[[48384.0, 508.0, -16128.0, -260.0]], [[48387.0, 508.0, -16129.0, -259.0]]]);
    // A wide integer beside a bf16 is a number of f32, whatever the result is, and taken whole.
    let wide = mixed.replace("s8[2,3]", "s32[2,3]");
    let x = integers(DType::S32, &[2, 3], &[65537, 0, 0, -65535, 1, 0]);
    let y = Tensor::new(&[2, 3], Data::from_f64s(DType::BF16, &[1.0, -65536.0, 0.0, -1.0, 0.5, 0.0]).unwrap());
    assert_eq!(
        agreed("v5e/default/as-compiled", &wide, &[x.clone(), y.clone()]),
        [[65537.0, -65537.0, -131071.0, 65535.5]]
    );
    let [machine, _] =
        worlds::both("v5e/default/as-compiled", &program(&wide.replace("f32[2,2]", "bf16[2,2]")), &[x, y]);
    assert_eq!(machine, [[65536.0, -65536.0, -131072.0, 65536.0]]);
    // A mask picks, as the TPU compiler writes it for an associative scan of indices.
    let masked = "HloModule m\n\nENTRY e {\n  x = u32[2,3] parameter(0)\n  y = pred[2,3] parameter(1)\n  ROOT d = u32[2,2] dot(x, y), \
                  lhs_contracting_dims={1}, rhs_contracting_dims={1}\n}\n";
    let x = integers(DType::U32, &[2, 3], &[1, 20, 300, 4000, 50_000, 4_000_000_000]);
    let y = Tensor::new(&[2, 3], Data::Pred(vec![true, false, true, false, true, false]));
    assert_eq!(both(masked, &[x, y]), [[301.0, 20.0, 4_000_004_000.0, 50_000.0]]);
}

/// An array that does not fit is refused, by its name.
#[test]
fn scatters_that_do_not_fit_are_refused() {
    let scatter = |attributes: &str, updates: &str| {
        format!(
            "HloModule m\n{REGIONS}\nENTRY e {{
              x = f32[4] parameter(0)
              i = s32[2] parameter(1)
              u = {updates} parameter(2)
              ROOT s = f32[4] scatter(x, i, u), {attributes}, to_apply=add }}"
        )
    };
    let fits = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1";
    assert!(lower(&parse(&scatter(fits, "f32[2]")).unwrap()).is_ok());
    for (attributes, updates) in [
        (fits.to_string(), "f32[3]"),
        (fits.replace("dims={0}, index", "dims={1}, index"), "f32[2]"),
        (fits.replace("index_vector_dim=1", "index_vector_dim=2"), "f32[2]"),
        (fits.replace("inserted_window_dims={0}", "inserted_window_dims={}"), "f32[2]"),
        (
            fits.replace("update_window_dims={}", "update_window_dims={1}")
                .replace("inserted_window_dims={0}", "inserted_window_dims={}"),
            "f32[2,5]",
        ),
    ] {
        let error = lower(&parse(&scatter(&attributes, updates)).unwrap()).unwrap_err().to_string();
        assert!(error.contains("scatter"), "{attributes} {updates}: {error}");
    }
}

/// A fusion of three f32 arrays of four, as XLA:CPU runs it.
#[track_caller]
fn fused(body: &str, kind: &str) -> Vec<f64> {
    let text = format!(
        "HloModule m\n\nf {{\n  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n  c = f32[4] parameter(2)\n{body}}}\n\n\
         ENTRY e {{\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  z = f32[4] parameter(2)\n  ROOT r = f32[4] \
         fusion(x, y, z), kind={kind}, calls=f\n}}\n"
    );
    let program = program(&text);
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let arrays = FUSED.map(|values| Tensor::new(&[4], Data::F32(values.to_vec())));
    subject::evaluate(&program, &mode, &arrays).unwrap()[0].data().to_f64s()
}

/// Products of the first two need twice the places, and the third cancels their leading ones.
const FUSED: [[f32; 4]; 3] = {
    let e = f32::EPSILON;
    [[1.0 + e, 1.0 - e, 3.0 + 2.0 * e, 1.0 + e], [1.0 + e, 1.0 + 3.0 * e, 1.0 - e, 1.0], [-1.0, -1.0, -3.0, 1.0 + e]]
};

/// LLVM contracts `a * b + c` where both stand in one compiled fusion, the product has no other reader, and both are in one
/// loop; of two products it takes the left one.
#[test]
fn xla_cpu_contracts_products_into_sums() {
    let [a, b, c] = FUSED;
    let each =
        |f: &dyn Fn(f32, f32, f32) -> f32| -> Vec<f64> { (0..4).map(|i| f64::from(f(a[i], b[i], c[i]))).collect() };
    let (fma, plain) = (each(&|a, b, c| a.mul_add(b, c)), each(&|a, b, c| a * b + c));
    assert_ne!(fma, plain);
    let product = "  p = f32[4] multiply(a, b)\n";
    assert_eq!(fused(&format!("{product}  ROOT r = f32[4] add(p, c)\n"), "kLoop"), fma);
    assert_eq!(fused(&format!("{product}  ROOT r = f32[4] add(c, p)\n"), "kLoop"), fma);
    assert_eq!(fused(&format!("{product}  ROOT r = f32[4] add(p, c)\n"), "kCustom"), plain);
    let minus = fused(&format!("{product}  ROOT r = f32[4] subtract(c, p)\n"), "kLoop");
    assert_eq!(minus, each(&|a, b, c| (-a).mul_add(b, c)));
    let moved = format!("{product}  n = f32[4] negate(p)\n  v = f32[4] reverse(n), dimensions={{0}}\n");
    let moved =
        fused(&format!("{moved}  w = f32[4] reverse(c), dimensions={{0}}\n  ROOT r = f32[4] add(v, w)\n"), "kLoop");
    let mut backwards = each(&|a, b, c| (-a).mul_add(b, c));
    backwards.reverse();
    assert_eq!(moved, backwards);
    // Both products are rounded or not: the right one is.
    let both = format!("{product}  q = f32[4] multiply(a, c)\n  ROOT r = f32[4] add(p, q)\n");
    assert_eq!(fused(&both, "kLoop"), each(&|a, b, c| a.mul_add(b, a * c)));
    // Read twice: rounded for both.
    let twice = format!("{product}  s = f32[4] add(p, c)\n  ROOT r = f32[4] multiply(s, p)\n");
    assert_eq!(fused(&twice, "kLoop"), each(&|a, b, c| (a * b + c) * (a * b)));
    // The same for all elements: computed before the loop.
    let second = |array: &str| {
        format!("  {array}1 = f32[1] slice({array}), slice={{[1:2]}}\n  {array}0 = f32[] reshape({array}1)\n")
    };
    let hoisted = format!(
        "{}{}  p = f32[] multiply(a0, b0)\n  s = f32[4] broadcast(p), dimensions={{}}\n  ROOT r = f32[4] add(s, c)\n",
        second("a"),
        second("b")
    );
    assert_ne!(a[1].mul_add(b[1], c[1]), a[1] * b[1] + c[1]);
    assert_eq!(fused(&hoisted, "kLoop"), each(&|_, _, z| a[1] * b[1] + z));
}

/// Sorts that need not be stable leave equal keys as `std::sort` does on XLA:CPU, and in order elsewhere.
#[test]
fn unstable_sorts_leave_ties_as_the_chip_does() {
    let keys: Vec<f32> = (0..40).map(|i| (i * 7 % 3) as f32).collect();
    let sorted = |mode: &str, stable: &str| {
        let text = format!(
            "HloModule m\n\nless {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] \
             parameter(3)\n  ROOT l = pred[] compare(a, b), direction=GT\n}}\n\nENTRY e {{\n  x = f32[40] parameter(0)\n  n = \
             s32[40] iota(), iota_dimension=0\n  s = (f32[40], s32[40]) sort(x, n), dimensions={{0}}{stable}, to_apply=less\n  \
             ROOT i = s32[40] get-tuple-element(s), index=1\n}}\n"
        );
        let program = program(&text);
        let keys = Tensor::new(&[40], Data::F32(keys.clone()));
        subject::evaluate(&program, &mode.parse::<Mode>().unwrap(), &[keys]).unwrap()[0].data().to_f64s()
    };
    let (cpu, tpu) = ("xla-cpu/default/as-compiled", "v5e/default/as-compiled");
    let in_order = sorted(tpu, "");
    assert!(in_order.chunks(13).all(|third| third.is_sorted()));
    assert_eq!(sorted(cpu, ", is_stable=true"), in_order);
    assert_ne!(sorted(cpu, ""), in_order);
    let key = |i: &f64| keys[*i as usize];
    assert!(sorted(cpu, "").iter().map(key).eq(in_order.iter().map(key)));
}

/// One dim of a window: size, stride, low and high padding, dilation of the left operand and of the kernel, reversal.
type WindowDim = (usize, usize, i64, i64, usize, usize, bool);

/// A convolution as the XLA manual defines it, output by output: `b01f_01io->b01f` in groups of features or of the batch.
fn convolve(x: &[f64], k: &[f64], dims: [[usize; 4]; 2], window: [WindowDim; 2], groups: [usize; 2]) -> Vec<f64> {
    let [[batch, h, w, features], [.., inputs, outputs]] = dims;
    let [feature_groups, batch_groups] = groups;
    let positions = |extent: usize, (size, stride, low, high, dilate, kernel, _): WindowDim| {
        ((extent as i64 - 1) * dilate as i64 + 1 + low + high - (size as i64 - 1) * kernel as i64 - 1) / stride as i64
            + 1
    };
    let [rows, columns] = [positions(h, window[0]), positions(w, window[1])];
    // The element of a dim that a position of the output and of the window meets, and the kernel's.
    let meet =
        |extent: usize, position: i64, at: usize, (size, stride, low, _, dilate, kernel, reversed): WindowDim| {
            let place = position * stride as i64 + (at * kernel) as i64 - low;
            let inside = place >= 0 && place % dilate as i64 == 0 && place / (dilate as i64) < extent as i64;
            inside.then_some(((place / dilate as i64) as usize, if reversed { size - 1 - at } else { at }))
        };
    let mut out = Vec::new();
    for b in 0..batch / batch_groups {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            for o in 0..outputs {
                let b = b + o / (outputs / batch_groups) * (batch / batch_groups);
                let first = o / (outputs / feature_groups) * (features / feature_groups);
                let mut sum = 0.0;
                for (at, to) in (0..window[0].0).flat_map(|at| (0..window[1].0).map(move |to| (at, to))) {
                    let met = (meet(h, row, at, window[0]), meet(w, column, to, window[1]));
                    let (Some((i, ki)), Some((j, kj))) = met else { continue };
                    for f in 0..inputs {
                        let kernel = k[((ki * window[1].0 + kj) * inputs + f) * outputs + o];
                        sum += x[((b * h + i) * w + j) * features + first + f] * kernel;
                    }
                }
                out.push(sum);
            }
        }
    }
    out
}

/// Convolutions with windows that move, are dilated, padded, reversed, cover everything; in groups.
#[test]
fn convolutions_are_what_their_windows_meet() {
    let plain: WindowDim = (1, 1, 0, 0, 1, 1, false);
    for (window, features, groups) in [
        ([(3, 1, 1, 1, 1, 1, false), (3, 1, 1, 1, 1, 1, false)], [2, 3], [1, 1]),
        ([(2, 2, 0, 0, 1, 1, false), (3, 1, 0, 2, 1, 1, true)], [2, 3], [1, 1]),
        ([(2, 1, 2, -1, 3, 1, false), (2, 3, 1, 0, 1, 2, true)], [2, 3], [1, 1]),
        ([(5, 1, 0, 0, 1, 1, true), (6, 1, 0, 0, 1, 1, false)], [2, 3], [1, 1]),
        ([(4, 1, 0, 0, 1, 1, false), plain], [2, 3], [1, 1]),
        ([(3, 2, 1, 1, 1, 1, false), (2, 1, 0, 0, 1, 1, false)], [4, 6], [2, 1]),
        ([(3, 1, 1, 1, 1, 1, false), plain], [4, 4], [4, 1]),
        ([(2, 1, 0, 0, 1, 1, false), (2, 1, 0, 1, 1, 1, false)], [3, 4], [1, 2]),
    ] {
        let dims = [[4, 5, 6, features[0]], [window[0].0, window[1].0, features[0] / groups[0], features[1]]];
        let numbers = |dims: [usize; 4], step: usize| -> Vec<f64> {
            (0..dims.iter().product()).map(|i: usize| (i * step % 7) as f64 - 3.0).collect()
        };
        let (x, k) = (numbers(dims[0], 5), numbers(dims[1], 3));
        let expected = convolve(&x, &k, dims, window, groups);
        let count = |d: usize| {
            let (size, stride, low, high, dilate, kernel, _) = window[d];
            let padded = (dims[0][d + 1] as i64 - 1) * dilate as i64 + 1 + low + high;
            (padded - (size as i64 - 1) * kernel as i64 - 1) / stride as i64 + 1
        };
        let list = |d: [usize; 4]| d.map(|n| n.to_string()).join(",");
        let [a, b] = window;
        let both = |f: &dyn Fn(WindowDim) -> String| format!("{}x{}", f(a), f(b));
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  x = f32[{}] parameter(0)\n  k = f32[{}] parameter(1)\n  ROOT c = f32[{},{},{},{}] \
             convolution(x, k), window={{size={} stride={} pad={} lhs_dilate={} rhs_dilate={} rhs_reversal={}}}, \
             dim_labels=b01f_01io->b01f, feature_group_count={}, batch_group_count={}, operand_precision={{highest,highest}}\n}}\n",
            list(dims[0]),
            list(dims[1]),
            dims[0][0] / groups[1],
            count(0),
            count(1),
            dims[1][3],
            both(&|w| w.0.to_string()),
            both(&|w| w.1.to_string()),
            both(&|w| format!("{}_{}", w.2, w.3)),
            both(&|w| w.4.to_string()),
            both(&|w| w.5.to_string()),
            both(&|w| u8::from(w.6).to_string()),
            groups[0],
            groups[1],
        );
        let array = |dims: &[usize], values: &[f64]| Tensor::new(dims, Data::from_f64s(DType::F32, values).unwrap());
        let got = agreed("v5e/f32/as-compiled", &text, &[array(&dims[0], &x), array(&dims[1], &k)]);
        assert_eq!(got, [expected], "{text}");
    }
}

/// Rotations as products of complex numbers: parts are arrays of their own, moved as the whole is.
#[test]
fn complex_numbers_are_their_parts() {
    let text = "HloModule m\n\nENTRY e {\n  x = f32[2,2] parameter(0)\n  y = f32[2] parameter(1)\n  z = c64[2,2] complex(x, x)\n  \
                n = c64[2,2] negate(z)\n  w = c64[2] complex(y, y)\n  b = c64[2,2] broadcast(w), dimensions={1}\n  i = f32[2,2] \
                imag(n)\n  v = c64[2,2] complex(x, i)\n  p = c64[2,2] multiply(v, b)\n  s = c64[2,2] subtract(p, z)\n  t = \
                c64[2,2] transpose(s), dimensions={1,0}\n  re = f32[2,2] real(t)\n  im = f32[2,2] imag(t)\n  ROOT r = \
                (f32[2,2], f32[2,2]) tuple(re, im)\n}\n";
    let f32s = |dims: &[usize], values: &[f32]| Tensor::new(dims, Data::F32(values.to_vec()));
    // (x - xi) (y + yi) = 2xy, and x + xi is taken away.
    let got = both(text, &[f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), f32s(&[2], &[5.0, 7.0])]);
    assert_eq!(got, [[9.0, 27.0, 26.0, 52.0], [-1.0, -3.0, -2.0, -4.0]]);
    for (wrong, why) in [
        (text.replace("subtract(p, z)", "remainder(p, z)"), "remainder of these operands is not supported for complex"),
        (text.replace("real(t)", "abs(t)").replace("imag(t)", "erf(t)"), "erf of these operands"),
    ] {
        let error = lower(&parse(&wrong).unwrap()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Rows in groups of 2, 0 and 3, and one row beyond; and the gradient, a product for each group.
#[test]
fn ragged_dots_are_dots_of_groups() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let w: Vec<f64> = (0..18).map(|i| f64::from(i * 5 % 7 - 3)).collect();
    let f32s = |dims: &[usize], values: &[f64]| Tensor::new(dims, Data::from_f64s(DType::F32, values).unwrap());
    let sizes = integers(DType::S32, &[3], &[2, 0, 3]);
    let group = |row: usize| [Some(0), Some(0), Some(2), Some(2), Some(2), None][row];
    let text = "HloModule m\n\nENTRY e {\n  x = f32[6,2] parameter(0)\n  w = f32[3,2,3] parameter(1)\n  s = s32[3] parameter(2)\n  \
                ROOT r = f32[6,3] ragged-dot(x, w, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, \
                lhs_ragged_dims={0}, rhs_group_dims={0}\n}\n";
    let entry = |row: usize, n: usize| {
        group(row).map_or(0.0, |g| (0..2).map(|k| x[row * 2 + k] * w[(g * 2 + k) * 3 + n]).sum())
    };
    let expected: Vec<f64> = (0..18).map(|at| entry(at / 3, at % 3)).collect();
    let arguments = [f32s(&[6, 2], &x), f32s(&[3, 2, 3], &w), sizes.clone()];
    assert_eq!(both(text, &arguments), std::slice::from_ref(&expected));
    // As the TPU compiler has it: `contract_precision<fp32>` in base64, and where groups begin once straight and once copied.
    for copied in ["o", "c"] {
        let kernel = |body: &str| {
            format!(
                "HloModule m\n\nENTRY e {{\n  x = f32[6,2] parameter(0)\n  w = f32[3,2,3] parameter(1)\n  s = s32[3] \
                 parameter(2)\n  p = (s32[4], s32[3], s32[3], s32[1]) custom-call(s), custom_call_target=\"tpu_custom_call\", \
                 metadata={{op_name=\"ragged-dot-metadata\"}}\n  o = s32[4] get-tuple-element(p), index=0\n  c = s32[4] \
                 copy(o)\n  g = s32[3] get-tuple-element(p), index=1\n  t = s32[3] get-tuple-element(p), index=2\n  n = s32[1] \
                 get-tuple-element(p), index=3\n  ROOT r = f32[6,3] custom-call(n, {copied}, g, t, n, x, w), \
                 custom_call_target=\"tpu_custom_call\", metadata={{op_name=\"jit(f)/ragged_dot_general/ragged-dot-none\"}}, \
                 backend_config={{\"custom_call_config\":{{\"body\":\"{body}\"}}}}\n}}\n"
            )
        };
        assert_eq!(both(&kernel("Y29udHJhY3RfcHJlY2lzaW9uPGZwMzI+"), &arguments), std::slice::from_ref(&expected));
        let error = lower(&parse(&kernel("")).unwrap()).unwrap_err().to_string();
        assert!(error.contains("how many bf16 passes"), "{error}");
    }
    let text = "HloModule m\n\nENTRY e {\n  x = f32[6,2] parameter(0)\n  y = f32[6,3] parameter(1)\n  s = s32[3] parameter(2)\n  \
                ROOT r = f32[3,2,3] ragged-dot(x, y, s), lhs_contracting_dims={0}, rhs_contracting_dims={0}, \
                lhs_ragged_dims={0}\n}\n";
    let entry = |g: usize, k: usize, n: usize| -> f64 {
        (0..6).filter(|row| group(*row) == Some(g)).map(|row| x[row * 2 + k] * w[row * 3 + n]).sum()
    };
    let expected: Vec<f64> = (0..18).map(|at| entry(at / 6, at / 3 % 2, at % 3)).collect();
    let arguments = [f32s(&[6, 2], &x), f32s(&[6, 3], &w), sizes];
    assert_eq!(both(text, &arguments), std::slice::from_ref(&expected));
    let kernel = |y: &str| {
        format!(
            "HloModule m\n\nENTRY e {{\n  x = f32[6,2] parameter(0)\n  y = {y} parameter(1)\n  s = s32[3] parameter(2)\n  p = \
             (s32[4], s32[3], s32[3], s32[1]) custom-call(s), custom_call_target=\"tpu_custom_call\", \
             metadata={{op_name=\"ragged-dot-metadata\"}}\n  o = s32[4] get-tuple-element(p), index=0\n  ROOT r = f32[3,2,3] \
             custom-call(o, x, y), custom_call_target=\"tpu_custom_call\", metadata={{op_name=\"ragged-dot-none\"}}, \
             backend_config={{\"custom_call_config\":{{\"body\":\"Y29udHJhY3RfcHJlY2lzaW9uPGZwMzI+\"}}}}\n}}\n"
        )
    };
    assert_eq!(both(&kernel("f32[6,3]"), &arguments), [expected]);
    let error = lower(&parse(&kernel("f32[18]")).unwrap()).unwrap_err().to_string();
    assert!(error.contains("rows f32[6,2] and f32[18] of a ragged dot are not supported"), "{error}");
}

/// An element of the wider type is a last dim of the narrower one, the lowest bits first; floats by their bits.
#[test]
fn bits_are_taken_apart_and_put_together() {
    let whole = integers(DType::U64, &[2], &[0x0123_4567_89ab_cdef, 0x7fff_ffff_ffff_fffe]);
    let text =
        |operand: &str, steps: &str| format!("HloModule m\n\nENTRY e {{\n  x = {operand} parameter(0)\n{steps}}}\n");
    let apart =
        both(&text("u64[2]", "  ROOT r = u16[2,4] bitcast-convert(x)\n"), std::slice::from_ref(&whole)).remove(0);
    assert_eq!(apart, [0xcdef, 0x89ab, 0x4567, 0x0123, 0xfffe, 0xffff, 0xffff, 0x7fff].map(f64::from));
    let back =
        "  y = s8[2,8] bitcast-convert(x)\n  z = u8[2,8] bitcast-convert(y)\n  ROOT r = u64[2] bitcast-convert(z)\n";
    assert_eq!(both(&text("u64[2]", back), &[whole]).remove(0), [0x0123_4567_89ab_cdef_u64 as f64, 2f64.powi(63)]);
    let halves = integers(DType::U16, &[2, 2], &[0, 0x3fc0, 0xdb, 0x4049]);
    let float = both(&text("u16[2,2]", "  ROOT r = f32[2] bitcast-convert(x)\n"), &[halves]).remove(0);
    assert_eq!(float, [1.5, f64::from(f32::from_bits(0x4049_00db))]);
    let quarters = integers(DType::U8, &[2], &[0x72, 0x9e]);
    let four = both(&text("u8[2]", "  ROOT r = f4e2m1fn[2,2] bitcast-convert(x)\n"), std::slice::from_ref(&quarters))
        .remove(0);
    assert_eq!(four, [1.0, 6.0, -4.0, -0.5]);
    let signed = both(&text("u8[2]", "  ROOT r = s4[2,2] bitcast-convert(x)\n"), &[quarters]).remove(0);
    assert_eq!(signed, [2.0, 7.0, -2.0, -7.0]);
}

#[test]
fn generators_that_are_not_known_are_refused_by_name() {
    let text = |line: &str| format!("HloModule m\n\nENTRY e {{\n  k = u64[2] parameter(0)\n{line}}}\n");
    let why = |line: &str| lower(&parse(&text(&format!("  ROOT r = {line}\n"))).unwrap()).unwrap_err().to_string();
    // A compiled TPU file has bits alone: those of the pair.
    let alone = text("  ROOT r = u32[4] rng-bit-generator(k), algorithm=rng_default\n");
    let pair = text(
        "  p = (u64[2], u32[4]) rng-bit-generator(k), algorithm=rng_default\n  ROOT r = u32[4] get-tuple-element(p), \
         index=1\n",
    );
    let key = [integers(DType::U64, &[2], &[5, 1 << 40])];
    assert_eq!(both(&alone, &key), both(&pair, &key));
    let of =
        |shape: &str, algorithm: &str| why(&format!("(u64[2], {shape}) rng-bit-generator(k), algorithm={algorithm}"));
    assert!(of("u32[4]", "rng_mersenne").contains("known are rng_three_fry, rng_philox and rng_default"));
    assert!(of("f32[4]", "rng_philox").contains("bits come as integers of 8 to 64 bits, not as f32"));
}

/// Quotients, exponentials, logarithms and magnitudes at points where they are known, and comparisons of both parts.
#[test]
fn complex_functions_are_those_of_their_parts() {
    let of = |line: &str, arguments: &[Tensor]| {
        let n = arguments[0].len();
        let mut text = "HloModule m\n\nENTRY e {\n".to_string();
        for (at, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            text += &format!("  {name} = f64[{n}] parameter({at})\n");
        }
        let both_parts = format!(
            "  re = f64[{n}] real(r)\n  im = f64[{n}] imag(r)\n  ROOT t = (f64[{n}], f64[{n}]) tuple(re, im)\n}}\n"
        );
        text += &format!("  x = c128[{n}] complex(a, b)\n  y = c128[{n}] complex(c, d)\n  {line}\n");
        let result = if line.starts_with("r = ") { both_parts } else { "}\n".to_string() };
        both(&(text + &result), arguments)
    };
    let parts = |values: [&[f64]; 4]| values.map(f64s);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let quotients = parts([
        &[1.0, 8.0, 1.0, 3.0, inf],
        &[0.0, -6.0, 1.0, -0.0, 1.0],
        &[0.0, 3.0, 0.0, inf, 2.0],
        &[1.0, 4.0, 0.0, 1.0, 2.0],
    ]);
    assert_eq!(of("r = c128[5] divide(x, y)", &quotients), [[0.0, 0.0, inf, 0.0, inf], [-1.0, -2.0, inf, -0.0, -inf]]);
    let points = parts([&[0.0, 0.0, -inf, 3.0], &[0.0, 0.0, 1.0, 4.0], &[1.0, -1.0, 0.0, 0.0], &[0.0, 0.0, 2.0, -0.0]]);
    let exponentials = of("r = c128[4] exponential(x)", &points);
    assert_eq!((&exponentials[0][..3], &exponentials[1][..3]), (&[1.0, 1.0, 0.0][..], &[0.0, 0.0, 0.0][..]));
    let logs = of("r = c128[4] log(y)", &points);
    let pi = std::f64::consts::PI;
    assert_eq!(logs, [[0.0, 0.0, 2f64.ln(), -inf], [0.0, pi, pi / 2.0, -0.0]]);
    assert_eq!(of("ROOT r = f64[4] abs(x)", &points), [[0.0, 0.0, inf, 5.0]]);
    let same = parts([&[1.0, 1.0, nan], &[2.0, 2.0, 0.0], &[1.0, 1.0, nan], &[2.0, 3.0, 0.0]]);
    assert_eq!(of("ROOT r = pred[3] compare(x, y), direction=EQ", &same), [[1.0, 0.0, 0.0]]);
    assert_eq!(of("ROOT r = pred[3] compare(x, y), direction=NE", &same), [[0.0, 1.0, 1.0]]);
    let constant = "k = c128[3] constant({(1, -2), 5, (0, inf)})\n  w = c64[3] convert(k)\n  v = c128[3] convert(w)\n";
    let text = format!(
        "HloModule m\n\nENTRY e {{\n  {constant}  r = c128[3] negate(v)\n  re = f64[3] real(r)\n  im = f64[3] imag(r)\n  ROOT t = (f64[3], f64[3]) tuple(re, im)\n}}\n"
    );
    assert_eq!(both(&text, &[]), [[-1.0, -5.0, -0.0], [2.0, -0.0, -inf]]);
}

/// As the TPU compiler streams weights: slices that run beside other work, of an array or of its memory, put together again.
#[test]
fn asynchronous_slices_are_slices() {
    let x: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let argument = [Tensor::new(&[4, 8], Data::F32(x.clone()))];
    let expected = [x.iter().map(|v| f64::from(2.0 * v)).collect::<Vec<_>>()];
    let of = |steps: &str| {
        let root = "  ROOT r = f32[4,8]{1,0:T(2,8)} add(w, w)";
        let inner = "inner {\n  p = f32[4,8]{1,0} parameter(0)\n  ROOT n = f32[4,8]{1,0} negate(p)\n}";
        format!(
            "HloModule m\n\n{inner}\n\nENTRY e {{\n  x = f32[4,8]{{1,0:T(2,8)}} parameter(0)\n{steps}\n{root}\n}}\n"
        )
    };
    let of_array =
        "  a = ((f32[4,8]{1,0:T(2,8)}), f32[2,8]{1,0:T(2,8)S(1)}, s32[]{:S(2)}) slice-start(x), slice={[0:2], [0:8]}
  b = ((f32[4,8]{1,0:T(2,8)}), f32[2,8]{1,0:T(2,8)S(1)}, s32[]{:S(2)}) slice-start(x), slice={[2:4], [0:8]}
  c = f32[2,8]{1,0:T(2,8)S(1)} slice-done(a)
  d = f32[2,8]{1,0:T(2,8)S(1)} slice-done(b)
  w = f32[4,8]{1,0:T(2,8)S(1)} custom-call(c, d), custom_call_target=\"ConcatBitcast\"";
    assert_eq!(both(&of(of_array), &argument), expected);
    let of_bytes = "  m = s8[128]{0:T(64)} bitcast(x)
  a = ((s8[128]{0:T(64)}), s8[48]{0:T(64)S(1)}, s32[]{:S(2)}) slice-start(m), slice={[0:48]}
  b = ((s8[128]{0:T(64)}), s8[80]{0:T(64)S(1)}, s32[]{:S(2)}) slice-start(m), slice={[48:128]}
  c = s8[48]{0:T(64)S(1)} slice-done(a)
  d = s8[80]{0:T(64)S(1)} slice-done(b)
  w = f32[4,8]{1,0:T(2,8)S(1)} custom-call(c, d), custom_call_target=\"ConcatBitcast\"";
    assert_eq!(both(&of(of_bytes), &argument), expected);
    // Rows of 8 in tiles of 128: what is between them is streamed with them.
    let padded = of(&of_bytes.replace("128]", "2048]").replace("80]", "2000]").replace("48:80", "48:2048"));
    assert_eq!(both(&padded.replace("T(2,8)", "T(4,128)"), &argument), expected);
    let called = "  s = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-start(x), calls=inner
  u = ((f32[4,8]{1,0}), f32[4,8]{1,0}, u32[]) async-update(s)
  v = f32[4,8]{1,0} async-done(u)
  w = f32[4,8]{1,0} negate(v)";
    let called = program(&of(called));
    let results = subject::evaluate(&called, &"v5e/f32/as-compiled".parse().unwrap(), &argument).unwrap();
    assert_eq!(results[0].data().to_f64s(), expected[0]);
    for (wrong, why) in [
        (of_bytes.replace("custom-call(c, d)", "custom-call(d, c)"), "only the pieces of one array, in order"),
        (of_bytes.replace("f32[4,8]{1,0:T(2,8)S(1)} custom", "f32[4,8]{0,1:T(2,8)S(1)} custom"), "in its own layout"),
        (of_bytes.replace("slice={[48:128]}", "slice={[48:129]}"), "the operand has 128 bytes"),
        (of_bytes.replace("slice={[48:128]}", "slice={[64:128]}"), "only the pieces of one array, in order"),
        (of_array.replace("[2:4], [0:8]", "[2:3], [0:8]"), "but ((f32[4,8]), f32[2,8], s32[]) is claimed"),
        (
            of_array.replace("f32[4,8]{1,0:T(2,8)S(1)} custom", "f32[4,8]{0,1:T(2,8)S(1)} custom"),
            "along the dim that varies",
        ),
        (
            of_bytes.replace(
                "w = f32[4,8]{1,0:T(2,8)S(1)} custom-call(c, d), custom_call_target=\"ConcatBitcast\"",
                "w = s8[48]{0} copy(c)",
            ),
            "only sliced",
        ),
    ] {
        let error = lower(&parse(&of(&wrong)).unwrap()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// A transform, of a real array as of a complex one, with its parts in a tuple.
fn transform(kind: &str, lengths: &str, from: &str, to: &str) -> String {
    let (real, whole) = (to.starts_with('f'), from.starts_with('c'));
    let parameters = if whole {
        let part = from.replace("c128", "f64");
        format!("  a = {part} parameter(0)\n  b = {part} parameter(1)\n  x = {from} complex(a, b)\n")
    } else {
        format!("  x = {from} parameter(0)\n")
    };
    let part = to.replace("c128", "f64");
    let end = if real {
        String::new()
    } else {
        format!("  re = {part} real(y)\n  im = {part} imag(y)\n  ROOT t = ({part}, {part}) tuple(re, im)\n")
    };
    let line =
        format!("  {}y = {to} fft(x), fft_type={kind}, fft_length={{{lengths}}}\n", if real { "ROOT " } else { "" });
    format!("HloModule m\n\nENTRY e {{\n{parameters}{line}{end}}}\n")
}

/// Over four elements, and two, all cosines and sines are 0, 1 or -1.
#[test]
fn transforms_are_sums_around_the_circle() {
    let [a, b] = [[1.0, 2.0, 4.0, 8.0], [16.0, 32.0, 64.0, 0.0]].map(|part| f64s(&part));
    let parts = [a.clone(), b];
    let got = both(&transform("FFT", "4", "c128[4]", "c128[4]"), &parts);
    assert_eq!(got, [[15.0, 29.0, -5.0, -35.0], [112.0, -42.0, 48.0, -54.0]]);
    let got = both(&transform("IFFT", "4", "c128[4]", "c128[4]"), &parts);
    assert_eq!(got, [[3.75, -8.75, -1.25, 7.25], [28.0, -13.5, 12.0, -10.5]]);
    let got = both(&transform("RFFT", "4", "f64[4]", "c128[3]"), std::slice::from_ref(&a));
    assert_eq!(got, [[15.0, -3.0, -5.0], [0.0, 6.0, 0.0]]);
    let half = [[15.0, -3.0, -5.0], [7.0, 6.0, 9.0]].map(|part| f64s(&part));
    assert_eq!(both(&transform("IRFFT", "4", "c128[3]", "f64[4]"), &half), [[1.0, 2.0, 4.0, 8.0]]);
    let square = a.reshape(&[2, 2]);
    let got = both(&transform("RFFT", "2,2", "f64[2,2]", "c128[2,2]"), &[square]);
    assert_eq!(got, [[15.0, -5.0, -9.0, 3.0], [0.0; 4]]);
}

/// As XLA's evaluator has them.
#[test]
fn transforms_of_no_elements_give_zeros() {
    let one = [[3.0], [-4.0]].map(|part| f64s(&part));
    assert_eq!(both(&transform("FFT", "0", "c128[1]", "c128[1]"), &one), [[0.0], [0.0]]);
    let none = [f64s(&[]), f64s(&[])];
    for (lengths, to) in [("0", "c128[0]"), ("1", "c128[0]")] {
        assert_eq!(both(&transform("FFT", lengths, "c128[0]", to), &none), [[0.0; 0], [0.0; 0]]);
    }
    assert_eq!(both(&transform("RFFT", "0", "f64[1]", "c128[1]"), &one[..1]), [[0.0], [0.0]]);
}

#[test]
fn transforms_without_meaning_are_refused() {
    for (kind, lengths, from, to, why) in [
        ("DCT", "4", "c128[4]", "c128[4]", "unknown fft_type `DCT`; known are FFT, IFFT, RFFT and IRFFT"),
        ("RFFT", "4", "c128[4]", "c128[3]", "RFFT takes one array, real for RFFT"),
        ("FFT", "3", "c128[4]", "c128[3]", "the operand has the dims [4], but [3] are needed"),
        ("IRFFT", "4", "c128[4]", "f64[4]", "the operand has the dims [4], but [3] are needed"),
        ("FFT", "2,4", "c128[4]", "c128[4]", "2 lengths for an array of 1 dims"),
        ("FFT", "8192", "c128[8192]", "c128[8192]", "a length of 8192: up to 4096 are supported"),
    ] {
        let error = lower(&parse(&transform(kind, lengths, from, to)).unwrap()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
