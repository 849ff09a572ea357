//! Operations of compiled programs that built-in programs do not use, and inputs at the edge of sense, on the machine.

use ulpgate::ir::{
    ApproxTopK, Binary, Builder, Compare, CompareOrder, Op, PartialReduce, Precision, Program, Shape, ShapeError,
    Unary, ValueId, Window, WindowDim,
};
use ulpgate::machine::{EvalError, Mode, evaluate};
use ulpgate::tensor::{DType, Data, Tensor};

fn built(body: impl FnOnce(&mut Builder) -> Result<Vec<ValueId>, ShapeError>) -> Program {
    let mut b = Builder::new("machine");
    let outputs = body(&mut b).unwrap();
    let names: Vec<String> = (0..outputs.len()).map(|i| format!("out{i}")).collect();
    let named: Vec<(&str, ValueId)> = names.iter().map(String::as_str).zip(outputs).collect();
    b.finish(&named).unwrap()
}

fn try_run(program: &Program, mode: &str, arguments: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    evaluate(program, &mode.parse::<Mode>().unwrap(), arguments)
}

fn run(program: &Program, mode: &str, arguments: &[Tensor]) -> Vec<Tensor> {
    try_run(program, mode, arguments).unwrap()
}

fn floats(dtype: DType, dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(dims, Data::from_f64s(dtype, values).unwrap())
}

/// The comparator that the TPU compiler makes of `lax.top_k`: keys as integers, larger first, ties to the lower index.
fn tpu_top_k_comparator(b: &mut Builder) -> Result<usize, ShapeError> {
    b.region("compare-greater-than", |b| {
        let lhs = b.parameter("p.0.lhs", DType::BF16, &[])?;
        let rhs = b.parameter("p.0.rhs", DType::BF16, &[])?;
        let lhs_index = b.parameter("p.1.lhs", DType::S32, &[])?;
        let rhs_index = b.parameter("p.1.rhs", DType::S32, &[])?;
        let zero = b.constant(DType::S32, 0.0)?;
        let ones = b.constant(DType::S32, f64::from(i32::MAX))?;
        let key = |b: &mut Builder, value| {
            let wide = b.convert(value, DType::F32)?;
            let bits = b.op_of_shape(Op::BitcastConvert, &[wide], Shape::array(DType::S32, &[]))?;
            let negative = b.compare(Compare::Lt, bits, zero)?;
            let flipped = b.binary(Binary::Xor, ones, bits)?;
            b.select(negative, flipped, bits)
        };
        let (left, right) = (key(b, lhs)?, key(b, rhs)?);
        let less = b.compare(Compare::Gt, right, left)?;
        let greater = b.compare(Compare::Gt, left, right)?;
        let equal = b.compare(Compare::Eq, greater, less)?;
        let earlier = b.compare(Compare::Lt, lhs_index, rhs_index)?;
        b.select(equal, earlier, greater)
    })
}

#[test]
fn the_tpu_compilers_sort_is_top_k() {
    let dims = [3, 500];
    let sorted = built(|b| {
        let x = b.parameter("x", DType::BF16, &dims)?;
        let index = b.iota(DType::S32, &dims, 1)?;
        let to_apply = tpu_top_k_comparator(b)?;
        let pair = b.op(Op::Sort { dim: 1, stable: false, to_apply }, &[x, index])?;
        Ok(vec![b.tuple_element(pair, 0)?, b.tuple_element(pair, 1)?])
    });
    let top = built(|b| {
        let x = b.parameter("x", DType::BF16, &dims)?;
        let pair = b.op(Op::TopK { k: 500, largest: true }, &[x])?;
        Ok(vec![b.tuple_element(pair, 0)?, b.tuple_element(pair, 1)?])
    });
    // Few values, so that ties abound; both zeros and infinities among them.
    let values: Vec<f64> = (0..1500)
        .map(|i: i32| match i.wrapping_mul(7919) % 23 {
            0 => -0.0,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            v => f64::from(v - 11) / 4.0,
        })
        .collect();
    let x = [floats(DType::BF16, &dims, &values)];
    assert_eq!(run(&sorted, "v5e/default/as-compiled", &x), run(&top, "v5e/default/off", &x));
}

/// XLA:CPU's argmax in bf16: the reducer rounds on the way (FACTS 1.3, rule B), which makes it no known one.
#[test]
fn a_region_that_is_no_known_reducer_is_interpreted() {
    let dims = [2, 40];
    let program = |plain: bool| {
        built(|b| {
            let x = b.parameter("x", DType::F32, &dims)?;
            if plain {
                return Ok(vec![b.argmax(x, 1)?]);
            }
            let index = b.iota(DType::S32, &dims, 1)?;
            let to_apply = b.region("argmax", |b| {
                let value = b.parameter("a", DType::F32, &[])?;
                let at = b.parameter("b", DType::S32, &[])?;
                let other = b.parameter("c", DType::F32, &[])?;
                let other_at = b.parameter("d", DType::S32, &[])?;
                let greater = b.compare(Compare::Gt, value, other)?;
                let nan = b.compare(Compare::Ne, value, value)?;
                let better = b.binary(Binary::Or, greater, nan)?;
                let equal = b.compare(Compare::Eq, value, other)?;
                let before = b.compare(Compare::Lt, at, other_at)?;
                let earlier = b.binary(Binary::And, equal, before)?;
                let take = b.binary(Binary::Or, better, earlier)?;
                let best = b.select(better, value, other)?;
                let narrow = b.convert(best, DType::BF16)?;
                let rounded = b.convert(narrow, DType::F32)?;
                let best_at = b.select(take, at, other_at)?;
                b.op(Op::Tuple, &[rounded, best_at])
            })?;
            let low = b.constant(DType::F32, f64::NEG_INFINITY)?;
            let zero = b.constant(DType::S32, 0.0)?;
            let pair = b.op(Op::Reduce { dims: vec![1], to_apply }, &[x, index, low, zero])?;
            Ok(vec![b.tuple_element(pair, 1)?])
        })
    };
    let values: Vec<f64> = (0..80).map(|i| f64::from(i * 37 % 29) / 8.0).collect();
    let x = [floats(DType::F32, &dims, &values)];
    let mode = "xla-cpu/default/as-compiled";
    assert_eq!(run(&program(false), mode, &x), run(&program(true), mode, &x));
}

/// 1 and then 2^-24, which alone is lost beside 1: what survives is what other blocks add up before they meet it. Blocks
/// of the matrix unit are as long as its array is high: 128 up to v5p, 256 from v6e (FACTS 2.4).
#[test]
fn blocks_are_as_long_as_the_array_is_high() {
    let k = 512;
    let program = built(|b| {
        let x = b.parameter("x", DType::BF16, &[2, k])?;
        let y = b.parameter("y", DType::BF16, &[k, 2])?;
        Ok(vec![b.matmul(x, y, Precision::Default, DType::F32)?])
    });
    let one_then_tiny = |at: usize| if at == 0 { 1.0 } else { 2f64.powi(-24) };
    let x: Vec<f64> = (0..2 * k).map(|i| one_then_tiny(i % k)).collect();
    let arguments = [floats(DType::BF16, &[2, k], &x), floats(DType::BF16, &[k, 2], &vec![1.0; 2 * k])];
    for (chip, block) in
        [("v2", 128), ("v3", 128), ("v4", 128), ("v5e", 128), ("v5p", 128), ("v6e", 256), ("tpu7x", 256), ("cpu", k)]
    {
        let got = run(&program, &format!("{chip}/default/off"), &arguments)[0].data().get_f64(0);
        assert_eq!(got, 1.0 + (k - block) as f64 * 2f64.powi(-24), "{chip}");
    }
}

/// The same for running sums: XLA:CPU's go in blocks of 16, each from zero, behind the sums of the blocks before.
/// Arguments of rsqrt, and what jaxlib 0.10.2 gave on an AMD EPYC (Zen 4) and on an Intel Xeon.
const ROOTS: [(u32, u32, u32); 3] = [
    (0x07a8_d660, 0x5b5e_e678, 0x5b5e_e679),
    (0x639e_f688, 0x2d65_b80f, 0x2d65_b810),
    (0x68b5_06e4, 0x2ad7_43d6, 0x2ad7_43d5),
];

#[test]
fn a_mode_says_whose_estimate_rsqrt_refines() {
    let program = built(|b| {
        let x = b.parameter("x", DType::F32, &[ROOTS.len()])?;
        Ok(vec![b.unary(Unary::Rsqrt, x)?])
    });
    let x = ROOTS.map(|(x, ..)| f64::from(f32::from_bits(x)));
    let root = |mode: &str| run(&program, mode, &[floats(DType::F32, &[ROOTS.len()], &x)])[0].data().to_f32s();
    assert_eq!(root("xla-cpu/default/off"), ROOTS.map(|(_, zen4, _)| f32::from_bits(zen4)));
    assert_eq!(root("xla-cpu/default/off+rsqrt=intel"), ROOTS.map(|(.., intel)| f32::from_bits(intel)));
}

#[test]
fn scans_are_blocked_by_sixteen_on_xla_cpu() {
    let n = 64;
    let program = built(|b| {
        let x = b.parameter("x", DType::F32, &[n])?;
        Ok(vec![b.cumsum(x, 0)?])
    });
    let tiny = 2f64.powi(-24);
    let x: Vec<f64> = (0..n).map(|i| if i == 0 { 1.0 } else { tiny }).collect();
    let x = [floats(DType::F32, &[n], &x)];
    let got = run(&program, "xla-cpu/default/off", &x)[0].data().to_f64s();
    for (i, sum) in got.iter().enumerate() {
        // Of the numbers behind the first block of 16, those of whole blocks and of the own one up to here.
        let behind = (i + 1).saturating_sub(16);
        let exact = 1.0 + behind as f64 * tiny;
        assert_eq!(*sum, f64::from(exact as f32), "element {i}");
    }
    assert!(run(&program, "cpu/default/off", &x)[0].data().to_f64s().iter().all(|sum| *sum == 1.0));
}

/// Bits of jaxlib 0.10.2 on XLA:CPU: a running sum that is flushed to -0 stays so in a row of one block, and has the zero before
/// the first block added to it in a longer row.
#[test]
fn a_zero_is_added_to_the_first_block_on_xla_cpu() {
    for (n, second) in [(12, 0x8000_0000), (40, 0)] {
        let program = built(|b| {
            let x = b.parameter("x", DType::F32, &[n])?;
            Ok(vec![b.cumsum(x, 0)?])
        });
        let mut x = vec![0.0; n];
        x[..2].copy_from_slice(&[2e-38f32, -2.1e-38].map(f64::from));
        let got = run(&program, "xla-cpu/default/off", &[floats(DType::F32, &[n], &x)])[0].data().to_f32s();
        assert_eq!([got[0], got[1]].map(f32::to_bits), [0x00d9_c7dd, second], "{n} elements");
    }
}

/// Running maxima along either dim, in either direction, in a time that grows as the array does.
#[test]
fn running_maxima() {
    let (rows, n) = (3, 20_000);
    for (dim, reversed) in [(0, false), (1, false), (0, true), (1, true)] {
        let dims = if dim == 1 { [rows, n] } else { [n, rows] };
        let others = n as i64 - 1;
        let (pad_low, pad_high) = if reversed { (0, others) } else { (others, 0) };
        let program = built(|b| {
            let x = b.parameter("x", DType::F32, &dims)?;
            let to_apply = b.binary_region(Binary::Maximum, DType::F32)?;
            let mut window = vec![WindowDim::of_size(1); 2];
            window[dim] = WindowDim { pad_low, pad_high, ..WindowDim::of_size(n) };
            let low = b.constant(DType::F32, f64::NEG_INFINITY)?;
            Ok(vec![b.op(Op::ReduceWindow { window: Window(window), to_apply }, &[x, low])?])
        });
        let values: Vec<f64> = (0..rows * n).map(|i| ((i * 7919) % 10_007) as f64).collect();
        let at = |row: usize, i: usize| {
            let i = if reversed { n - 1 - i } else { i };
            if dim == 1 { row * n + i } else { i * rows + row }
        };
        for mode in ["v5e/default/off", "xla-cpu/default/off"] {
            let got = run(&program, mode, &[floats(DType::F32, &dims, &values)])[0].data().to_f64s();
            for row in 0..rows {
                let mut best = f64::NEG_INFINITY;
                for i in 0..n {
                    best = best.max(values[at(row, i)]);
                    assert_eq!(got[at(row, i)], best);
                }
            }
        }
    }
}

/// Windows that neither run nor tile: stride, padding and holes, against a sum written out.
#[test]
fn general_windows() {
    let program = built(|b| {
        let x = b.parameter("x", DType::S32, &[7])?;
        let to_apply = b.binary_region(Binary::Add, DType::S32)?;
        let window = WindowDim { size: 3, stride: 2, pad_low: 1, pad_high: 2, base_dilation: 1, window_dilation: 2 };
        let init = b.constant(DType::S32, 100.0)?;
        Ok(vec![b.op(Op::ReduceWindow { window: Window(vec![window]), to_apply }, &[x, init])?])
    });
    let x = Tensor::new(&[7], Data::S32(vec![1, 2, 4, 8, 16, 32, 64]));
    // Windows start at -1, 1, 3 and take every second element.
    assert_eq!(run(&program, "v5e/default/off", &[x])[0].data().to_i64s(), [110, 142, 140]);
}

#[test]
fn empty_dims_give_the_init() {
    let program = built(|b| {
        let x = b.parameter("x", DType::F32, &[2, 0])?;
        let token = b.argmax(x, 1)?;
        let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1])?;
        let sum = b.reduce(Binary::Add, x, 0.0, &[1])?;
        Ok(vec![token, max, sum])
    });
    for mode in ["v5e/default/off", "cpu/default/off", "xla-cpu/default/off"] {
        let out = run(&program, mode, &[floats(DType::F32, &[2, 0], &[])]);
        assert_eq!(out[0].data().to_i64s(), [0, 0]);
        assert_eq!(out[1].data().to_f64s(), [f64::NEG_INFINITY; 2]);
        assert_eq!(out[2].data().to_f64s(), [0.0; 2]);
    }
}

#[test]
fn reduce_precision_of_every_float() {
    let reduced = |dtype, exponent_bits, mantissa_bits, x: f64| {
        let program = built(|b| {
            let x = b.parameter("x", dtype, &[1])?;
            Ok(vec![b.op(Op::ReducePrecision { exponent_bits, mantissa_bits }, &[x])?])
        });
        run(&program, "xla-cpu/default/off", &[floats(dtype, &[1], &[x])])[0].data().get_f64(0)
    };
    // f16's own subnormals stay while its exponent range does.
    assert_eq!(reduced(DType::F16, 5, 10, 3.0 * 2f64.powi(-24)), 3.0 * 2f64.powi(-24));
    assert_eq!(reduced(DType::F64, 8, 7, 1.0 + 2f64.powi(-7) + 2f64.powi(-9)), 1.0 + 2f64.powi(-7));
    assert_eq!(reduced(DType::F64, 8, 7, 1e300), f64::INFINITY);
    assert_eq!(reduced(DType::BF16, 8, 7, 3.0), 3.0);
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let program = built(|b| {
        let x = b.parameter("x", DType::F32, &[2])?;
        Ok(vec![b.unary(Unary::Negate, x)?])
    });
    let x = floats(DType::F32, &[2], &[1.0, 2.0]);
    let why = |arguments: &[Tensor]| try_run(&program, "v5e/default/off", arguments).unwrap_err().to_string();
    assert_eq!(why(&[]), "argument 0 is missing, but the program takes f32[2]");
    assert_eq!(why(&[x.clone(), x.clone()]), "argument 1 is f32[2], but the program takes no more arguments");
    assert_eq!(why(&[floats(DType::BF16, &[2], &[1.0, 2.0])]), "argument 0 is bf16[2], but the program takes f32[2]");
}

/// FACTS 5.1, measured on XLA:CPU: a NaN leads for k above 1, because the exact sort is a `TopK` by total order.
#[test]
fn approximate_top_k_off_tpus_puts_a_nan_first() {
    let indices = |k: usize, values: &[f64]| {
        let program = built(|b| {
            let x = b.parameter("x", DType::F32, &[values.len()])?;
            let index = b.iota(DType::S32, &[values.len()], 0)?;
            let low = b.constant(DType::F32, f64::NEG_INFINITY)?;
            let none = b.constant(DType::S32, -1.0)?;
            let attributes = ApproxTopK {
                k,
                reduction_dim: 0,
                recall_target: 0.95,
                aggregate_to_topk: true,
                reduction_input_size_override: None,
            };
            let top = b.op(Op::ApproxTopK(attributes), &[x, index, low, none])?;
            Ok(vec![b.tuple_element(top, 1)?])
        });
        let x = floats(DType::F32, &[values.len()], values);
        run(&program, "xla-cpu/default/off", &[x])[0].data().to_i64s()
    };
    assert_eq!(indices(3, &[1.0, f64::NAN, 3.0, 2.0, 3.0]), [1, 2, 4]);
    assert_eq!(indices(2, &[1.0, 3.0, 3.0, 2.0, 3.0]), [1, 2]);
    assert_eq!(indices(1, &[1.0, 3.0, 3.0, 2.0, 3.0]), [4]);
}

/// At rank 1 a register is 1024 elements wide, so that 1500 of them lie in 1024 bins two by two (FACTS 5.2, 5.3).
#[test]
fn partial_reduce_of_rank_1() {
    let n = 1500;
    let program = built(|b| {
        let x = b.parameter("x", DType::F32, &[n])?;
        let index = b.iota(DType::S32, &[n], 0)?;
        let low = b.constant(DType::F32, f64::NEG_INFINITY)?;
        let none = b.constant(DType::S32, -1.0)?;
        let op =
            Op::PartialReduce(PartialReduce { log2_reduction: 1, reduction_dim: 0, top_k: 8, recall_target: 0.95 });
        let bins = Shape::Tuple(vec![Shape::array(DType::F32, &[1024]), Shape::array(DType::S32, &[1024])]);
        let top = b.op_of_shape(op, &[x, index, low, none], bins)?;
        Ok(vec![b.tuple_element(top, 0)?, b.tuple_element(top, 1)?])
    });
    let values: Vec<f64> = (0..n).map(|i| ((i * 7919) % 1009) as f64).collect();
    let out = run(&program, "v5e/default/as-compiled", &[floats(DType::F32, &[n], &values)]);
    let (best, at) = (out[0].data().to_f64s(), out[1].data().to_i64s());
    for bin in 0..1024 {
        let other = values.get(bin + 1024).copied().unwrap_or(f64::NEG_INFINITY);
        assert_eq!(best[bin], values[bin].max(other));
        assert_eq!(at[bin] as usize % 1024, bin);
    }
}

/// Bits of jaxlib 0.10.2 on XLA:CPU: `lax.reduce(x, bf16(0), lax.add, (0,))`, rounded to bf16 at every addition in windows
/// of 32 (FACTS 1.3, 3.2). Accumulated in f32, three of the four come out otherwise.
#[test]
fn bf16_sums_are_those_of_xla_cpu() {
    for (n, expected) in [(20, 9.4375), (33, 16.875), (100, 50.0), (1000, 502.0)] {
        let program = built(|b| {
            let x = b.parameter("x", DType::BF16, &[n])?;
            Ok(vec![b.reduce(Binary::Add, x, 0.0, &[0])?])
        });
        let values: Vec<f64> = (0..n).map(|i| ((i * 7919) % 10_007) as f64 / 10_007.0).collect();
        let x = [floats(DType::BF16, &[n], &values)];
        assert_eq!(run(&program, "xla-cpu/default/off", &x)[0].data().get_f64(0), expected, "{n}");
    }
}

/// Bits of jaxlib 0.10.2 on XLA:CPU: `lax.reduce(x, f16(0), lax.add, (0,))` and `jnp.cumsum(x)`, rounded to f16 at every
/// addition. Accumulated in f32, the longer two sums and most of the running ones come out otherwise.
#[test]
fn f16_sums_are_those_of_xla_cpu() {
    let values = |n: u32| -> Vec<f64> { (0..n).map(|i| f64::from((i * 7919) % 10_007) / 10_007.0).collect() };
    for (n, expected) in [(20, 9.359375), (33, 16.828125), (100, 50.1875), (1000, 500.5)] {
        let program = built(|b| {
            let x = b.parameter("x", DType::F16, &[n])?;
            Ok(vec![b.reduce(Binary::Add, x, 0.0, &[0])?])
        });
        let x = [floats(DType::F16, &[n], &values(n as u32))];
        assert_eq!(run(&program, "xla-cpu/default/off", &x)[0].data().get_f64(0), expected, "{n}");
    }
    let program = built(|b| {
        let x = b.parameter("x", DType::F16, &[20])?;
        Ok(vec![b.cumsum(x, 0)?])
    });
    let running = [
        0.0,
        0.79150390625,
        1.3740234375,
        1.748046875,
        1.9130859375,
        2.869140625,
        3.6171875,
        4.15625,
        4.48828125,
        4.609375,
        5.5234375,
        6.2265625,
        6.72265625,
        7.01171875,
        7.08984375,
        7.9609375,
        8.625,
        9.078125,
        9.3203125,
        9.3515625,
    ];
    let x = [floats(DType::F16, &[20], &values(20))];
    assert_eq!(run(&program, "xla-cpu/default/off", &x)[0].data().to_f64s(), running);
}

/// Codes of jaxlib 0.10.2 on XLA:CPU for `h / f16(7)`: the reciprocal is f16, too. Kept in f32, three of them are larger by
/// one.
#[test]
fn f16_quotients_are_those_of_xla_cpu() {
    let program = built(|b| {
        let x = b.parameter("x", DType::F16, &[12])?;
        let seven = b.constant(DType::F16, 7.0)?;
        let sevens = b.splat(seven, &[12])?;
        Ok(vec![b.binary(Binary::Divide, x, sevens)?])
    });
    let values: Vec<f64> = (1..=12).map(f64::from).collect();
    let out = run(&program, "xla-cpu/default/off", &[floats(DType::F16, &[12], &values)]);
    let codes: Vec<u64> = (0..12).map(|i| out[0].data().bits(i)).collect();
    let expected = [0x3092, 0x3492, 0x36db, 0x3892, 0x39b6, 0x3adb, 0x3c00, 0x3c92, 0x3d24, 0x3db6, 0x3e49, 0x3edb];
    assert_eq!(codes, expected);
}

/// Measured on XLA:CPU (jaxlib 0.10.2) over 4000 quotients of each kind: a broadcast or constant divisor is inverted once,
/// any other divides exactly (FACTS 3.5).
#[test]
fn quotients_are_those_of_xla_cpu() {
    let n = 1000;
    let divided = |broadcast: bool| {
        built(|b| {
            let x = b.parameter("x", DType::F32, &[n])?;
            let y = if broadcast {
                let scalar = b.parameter("y", DType::F32, &[])?;
                b.splat(scalar, &[n])?
            } else {
                b.parameter("y", DType::F32, &[n])?
            };
            Ok(vec![b.binary(Binary::Divide, x, y)?])
        })
    };
    let values: Vec<f64> = (1..=n).map(|i| i as f64).collect();
    let x = floats(DType::F32, &[n], &values);
    let of = |broadcast, mode: &str, y: Tensor| run(&divided(broadcast), mode, &[x.clone(), y])[0].data().to_f32s();
    let (scalar, repeated) = (floats(DType::F32, &[], &[49.0]), floats(DType::F32, &[n], &vec![49.0; n]));
    let exact: Vec<f32> = (1..=n).map(|i| i as f32 / 49.0).collect();
    let inverted: Vec<f32> = (1..=n).map(|i| i as f32 * (1.0 / 49.0)).collect();
    assert_ne!(exact, inverted);
    assert_eq!(of(true, "xla-cpu/default/off", scalar.clone()), inverted);
    assert_eq!(of(false, "xla-cpu/default/off", repeated.clone()), exact);
    assert_eq!(of(true, "cpu/default/off", scalar.clone()), exact);
    assert_eq!(of(false, "v5e/default/off", repeated), inverted);
}

/// A comparator that no pattern knows: `not (a >= b)`.
#[test]
fn regions_compare_as_their_types_do() {
    let sorted = |dtype: DType, data: Data, order: CompareOrder, mode: &str| {
        let n = data.len();
        let program = built(|b| {
            let x = b.parameter("x", dtype, &[n])?;
            let to_apply = b.region("less", |b| {
                let (lhs, rhs) = (b.parameter("lhs", dtype, &[])?, b.parameter("rhs", dtype, &[])?);
                let not_less = b.op(Op::Compare { direction: Compare::Ge, order }, &[lhs, rhs])?;
                b.unary(Unary::Not, not_less)
            })?;
            Ok(vec![b.op(Op::Sort { dim: 0, stable: true, to_apply }, &[x])?])
        });
        run(&program, mode, &[Tensor::new(&[n], data)]).remove(0)
    };
    let partial = |dtype, data, mode| sorted(dtype, data, CompareOrder::Partial, mode);
    let floats = |values: &[f32]| Data::F32(values.to_vec());
    let tiny = f32::from_bits(1);
    // Subnormals are zeros to a TPU, and keep their places among them.
    let got = partial(DType::F32, floats(&[1.0, tiny, 0.0, -tiny]), "v5e/default/off");
    assert_eq!(got.data().to_f64s(), [tiny, 0.0, -tiny, 1.0].map(f64::from));
    let got = partial(DType::F32, floats(&[1.0, tiny, 0.0, -tiny]), "cpu/f32/off");
    assert_eq!(got.data().to_f64s(), [-tiny, 0.0, tiny, 1.0].map(f64::from));
    // A TPU has no f64.
    let got = partial(DType::F64, Data::F64(vec![2.0, -1.0, 1.5]), "cpu/f32/off");
    assert_eq!(got.data().to_f64s(), [-1.0, 1.5, 2.0]);
    for mode in ["v5e/default/off", "cpu/f32/off"] {
        let got = sorted(DType::F32, floats(&[0.0, tiny, -0.0, -f32::NAN]), CompareOrder::Total, mode);
        assert_eq!((0..4).map(|i| got.data().bits(i)).collect::<Vec<_>>(), [0xffc0_0000, 0x8000_0000, 0, 1]);
        let got = partial(DType::U64, Data::U64(vec![u64::MAX, 1, 1 << 63, 0]), mode);
        assert_eq!((0..4).map(|i| got.data().bits(i)).collect::<Vec<_>>(), [0, 1, 1 << 63, u64::MAX]);
        let got = partial(DType::S32, Data::S32(vec![5, -7, 0]), mode);
        assert_eq!(got.data().to_i64s(), [-7, 0, 5]);
        let got = partial(DType::Pred, Data::Pred(vec![true, false, true]), mode);
        assert_eq!(got.data().to_i64s(), [0, 1, 1]);
    }
}
