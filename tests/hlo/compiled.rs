//! Forms that compilers write and JAX does not.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Op, PartialReduce, Program};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

fn program(text: &str) -> Program {
    lower(&parse(text).unwrap_or_else(|error| panic!("{error}"))).unwrap_or_else(|error| panic!("{error}")).program
}

fn results(program: &Program, arguments: &[Tensor]) -> Vec<Tensor> {
    subject::evaluate(program, &"cpu/f32/as-compiled".parse::<Mode>().unwrap(), arguments).unwrap()
}

fn opcodes(program: &Program) -> Vec<&'static str> {
    program.entry().instructions.iter().map(|instruction| instruction.op.opcode()).collect()
}

/// A row's maximum, or sum, spread over the row: each window of 2n - 1 shows all of it.
#[test]
fn windows_that_show_everything_are_reduced_once() {
    let windowed = |window: &str, dims: &str, region: &str| {
        format!(
            "HloModule m\nby {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {region}(a, b)\n}}\nENTRY \
             main {{\n  x = f32[3,5] parameter(0)\n  o = f32[] constant(-7)\n  ROOT r = f32[{dims}] reduce-window(x, o), \
             window={{{window}}}, to_apply=by\n}}\n"
        )
    };
    let values: Vec<f64> = (0..15).map(|i| f64::from(i * 37 % 17) - 8.0).collect();
    let x = Tensor::new(&[3, 5], Data::from_f64s(DType::F32, &values).unwrap());
    let of = |window: &str, dims: &str, region: &str| {
        let program = program(&windowed(window, dims, region));
        (opcodes(&program).contains(&"reduce-window"), results(&program, std::slice::from_ref(&x))[0].data().to_f64s())
    };
    let spread = |by: fn(f64, f64) -> f64| -> Vec<f64> {
        values.chunks(5).flat_map(|row| [row.iter().copied().fold(-7.0, by); 5]).collect()
    };
    assert_eq!(of("size=1x9 pad=0_0x4_4", "3,5", "maximum"), (false, spread(f64::max)));
    assert_eq!(of("size=1x9 pad=0_0x4_4", "3,5", "add"), (false, spread(|a, b| a + b)));
    // As many windows as one likes, each of which shows all.
    let (is_window, two) = of("size=1x6 pad=0_0x1_1", "3,2", "maximum");
    assert_eq!((is_window, two), (false, spread(f64::max).chunks(5).flat_map(|row| [row[0]; 2]).collect()));
    // One element short of it, the outer ones miss one.
    let (is_window, scanned) = of("size=1x8 pad=0_0x4_3", "3,5", "add");
    assert!(is_window && scanned != spread(|a, b| a + b));
    // Both dims at once; one window alone stays one.
    let total = values.iter().sum::<f64>() - 7.0;
    assert_eq!(of("size=5x9 pad=2_2x4_4", "3,5", "add"), (false, vec![total; 15]));
    assert_eq!(of("size=1x5", "3,1", "add"), (true, spread(|a, b| a + b).into_iter().step_by(5).collect()));
}

/// Compiled TPU files mix bf16 and f32: the result is rounded to what is claimed (FACTS 9).
#[test]
fn operands_of_several_float_types_are_taken_in_the_widest() {
    let third = 1.0 / 3.0_f32;
    let x = Tensor::new(&[2], Data::F32(vec![third, 2.0]));
    let p = Tensor::new(&[2], Data::Pred(vec![true, false]));
    let select = "HloModule m\nENTRY main {\n  p = pred[2] parameter(0)\n  x = f32[2] parameter(1)\n  o = bf16[] constant(7)\n  b \
                  = bf16[2] broadcast(o), dimensions={}\n  ROOT s = DTYPE[2] select(p, x, b)\n}\n";
    let of =
        |dtype: &str| results(&program(&select.replace("DTYPE", dtype)), &[p.clone(), x.clone()])[0].data().to_f64s();
    assert_eq!(of("f32"), [f64::from(third), 7.0]);
    assert_eq!(of("bf16"), [0.333984375, 7.0]);
    let pad = "HloModule m\nENTRY main {\n  x = f32[2] parameter(0)\n  o = bf16[] constant(-inf)\n  ROOT s = bf16[3] pad(x, o), \
               padding=1_0\n}\n";
    assert_eq!(results(&program(pad), &[x])[0].data().to_f64s(), [f64::NEG_INFINITY, 0.333984375, 2.0]);
}

/// Before 0.9, JAX hands over no configuration.
#[test]
fn a_partial_reduce_without_configuration_has_its_bins_in_its_shape() {
    let text = "HloModule m\nby {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] \
                parameter(3)\n  ROOT c = pred[] compare(a, b), direction=GT\n}\nENTRY main {\n  x = f32[2,1024] parameter(0)\n  n = \
                s32[2,1024] iota(), iota_dimension=1\n  o = f32[] constant(-inf)\n  m = s32[] constant(-1)\n  ROOT r = \
                (f32[2,256], s32[2,256]) custom-call(x, n, o, m), custom_call_target=\"PartialReduce\", \
                called_computations={by}\n}\n";
    let program = program(text);
    let expected = PartialReduce { log2_reduction: 2, reduction_dim: 1, top_k: 0, recall_target: 0.0 };
    assert!(program.entry().instructions.iter().any(|i| i.op == Op::PartialReduce(expected.clone())));
}

/// Numbers of all 24 bits, between -1 and 1.
fn numbers(seed: u32, n: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// The file that XLA:CPU makes of a fusion with such a body, whose first result is `f32[16,32]`.
fn fused(parameters: &str, body: &str, result: &str, arguments: &[Tensor]) -> Vec<f32> {
    let declared: String = (0..)
        .zip(parameters.split(' '))
        .map(|(number, parameter)| {
            let (name, shape) = parameter.split_once(':').unwrap();
            format!("  {name} = f32[{shape}] parameter({number})\n")
        })
        .collect();
    let body: String = body.split("; ").map(|line| format!("  {line}\n")).collect();
    let names: Vec<&str> = parameters.split(' ').map(|parameter| parameter.split(':').next().unwrap()).collect();
    let called = names.join(", ");
    let text = format!(
        "HloModule m\nf {{\n{declared}{body}}}\nENTRY e {{\n{declared}  ROOT r = {result} fusion({called}), kind=kLoop, \
         calls=f\n}}\n"
    )
    .replace("$", "f32[16,32]");
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let results = subject::evaluate(&program(&text), &mode, arguments).unwrap();
    results[0].data().to_f32s()
}

/// The choice of the product that is contracted, of two, as jaxlib 0.10.2 makes it (FACTS 3.11).
#[test]
fn products_are_contracted_in_the_order_of_reads() {
    let parts: Vec<Vec<f32>> = (1..=4).map(|seed| numbers(seed, 512)).collect();
    let arguments: Vec<Tensor> = parts.iter().map(|v| Tensor::new(&[16, 32], Data::F32(v.clone()))).collect();
    let of = |by: fn([f32; 4]) -> f32| -> Vec<f32> {
        (0..512).map(|i| by([parts[0][i], parts[1][i], parts[2][i], parts[3][i]])).collect()
    };
    type Sum = fn([f32; 4]) -> f32;
    let cases: [(&str, bool, Sum); 8] = [
        ("m = $ multiply(a, b); n = $ multiply(c, d); R = $ add(n, m)", false, |[a, b, c, d]| c.mul_add(d, a * b)),
        // A negated product is subtracted.
        ("m = $ multiply(a, b); u = $ negate(c); n = $ multiply(u, d); R = $ add(n, m)", false, |[a, b, c, d]| {
            a.mul_add(b, -(c * d))
        }),
        ("m = $ multiply(a, b); u = $ negate(m); n = $ multiply(c, d); R = $ add(u, n)", false, |[a, b, c, d]| {
            c.mul_add(d, -(a * b))
        }),
        // Or it is added: in an elementwise fusion with one result in the order of the text, else the farthest reads first.
        ("m = $ multiply(a, b); u = $ multiply(c, d); n = $ negate(u); R = $ subtract(m, n)", false, |[a, b, c, d]| {
            a.mul_add(b, c * d)
        }),
        ("m = $ multiply(a, b); u = $ multiply(c, d); n = $ negate(u); R = $ subtract(m, n)", true, |[a, b, c, d]| {
            c.mul_add(d, a * b)
        }),
        // A negative constant is as good as a negation.
        (
            "k = f32[] constant(0.3); s = $ broadcast(k), dimensions={}; m = $ multiply(a, s); u = $ negate(m); n = $ \
             multiply(c, d); R = $ add(u, n)",
            false,
            |[a, _, c, d]| c.mul_add(d, -(a * 0.3)),
        ),
        // |c| |d| is |cd|.
        (
            "m = $ multiply(a, b); u = $ abs(c); v = $ abs(d); n = $ multiply(u, v); R = $ add(n, m)",
            false,
            |[a, b, c, d]| a.mul_add(b, (c * d).abs()),
        ),
        ("m = $ multiply(a, b); u = $ abs(a); n = $ multiply(u, d); R = $ add(n, m)", false, |[a, b, _, d]| {
            a.abs().mul_add(d, a * b)
        }),
    ];
    for (body, two, expected) in cases {
        let (body, result) = match two {
            false => (body.replace("R =", "ROOT r ="), "$"),
            true => (format!("{body}; h = $ add(a, d); ROOT t = ($, $) tuple(R, h)"), "($, $)"),
        };
        assert_eq!(fused("a:16,32 b:16,32 c:16,32 d:16,32", &body, result, &arguments), of(expected), "{body} {two}");
    }
    // Of a sum with an exponential on the left the product is rounded.
    let exponential = fused("a:16,32", "ROOT r = $ exponential(a)", "$", &arguments[..1]);
    let sums = |body: &str| fused("a:16,32 b:16,32 c:16,32 d:16,32", body, "$", &arguments);
    let left = sums("e = $ exponential(a); n = $ multiply(c, d); ROOT r = $ add(e, n)");
    let right = sums("e = $ exponential(a); n = $ multiply(c, d); ROOT r = $ add(n, e)");
    for i in 0..512 {
        let (e, [c, d]) = (exponential[i], [parts[2][i], parts[3][i]]);
        assert_eq!([left[i], right[i]], [e + c * d, c.mul_add(d, e)], "{i}");
    }
}

/// Of a complex product, (a + bi) (c + di), ac and ad are contracted, as jaxlib 0.10.2 computed it.
#[test]
fn parts_of_complex_numbers_are_read_together() {
    let parts: Vec<Vec<f32>> = (1..=4).map(|seed| numbers(seed, 512)).collect();
    let arguments: Vec<Tensor> = parts.iter().map(|v| Tensor::new(&[16, 32], Data::F32(v.clone()))).collect();
    let number = |name: &str, re: &str, im: &str| {
        format!(
            "{name}r = c64[16,32] convert({re}); {name}c = c64[16,32] convert({im}); {name}i = c64[16,32] multiply({name}c, i); \
             {name} = c64[16,32] add({name}r, {name}i); "
        )
    };
    let (p, q) = (number("p", "a", "b"), number("q", "c", "d"));
    let body = format!(
        "o = c64[] constant((0, 1)); i = c64[16,32] broadcast(o), dimensions={{}}; {p}{q}m = c64[16,32] multiply(p, q); u = $ \
         real(m); v = $ imag(m); ROOT r = $ maximum(u, v)"
    );
    let results = fused("d:16,32 c:16,32 b:16,32 a:16,32", &body, "$", &arguments);
    for i in 0..512 {
        let [d, c, b, a] = [0, 1, 2, 3].map(|part| parts[part][i]);
        assert_eq!(results[i], a.mul_add(c, -(b * d)).max(a.mul_add(d, b * c)), "{i}");
    }
}

/// A value that is read in several ways is a function, whose call stands behind the other reads.
#[test]
fn what_is_called_is_read_last() {
    let (w, c, d) = (numbers(5, 1024), numbers(6, 512), numbers(7, 512));
    let given = |dims: &[usize], values: &[f32]| Tensor::new(dims, Data::F32(values.to_vec()));
    let arguments = [given(&[16, 64], &w), given(&[16, 32], &c), given(&[16, 32], &d)];
    for (source, called) in [("s", true), ("w", false)] {
        let body = format!(
            "s = $ slice(w), slice={{[0:16], [0:32]}}; h = f32[16,16] slice({source}), slice={{[0:16], [16:32]}}; g = \
             f32[16,16] slice({source}), slice={{[0:16], [0:16]}}; k = $ concatenate(h, g), dimensions={{1}}; m = $ \
             multiply(s, c); n = $ multiply(k, d); r = $ add(m, n); t = $ slice(w), slice={{[0:16], [32:64]}}; ROOT o = \
             f32[16,64] concatenate(r, t), dimensions={{1}}"
        );
        let results = fused("w:16,64 c:16,32 d:16,32", &body, "f32[16,64]", &arguments);
        for i in 0..512 {
            let (row, column) = (i / 32, i % 32);
            let (s, k) = (w[row * 64 + column], w[row * 64 + (column + 16) % 32]);
            let expected = if called { k.mul_add(d[i], s * c[i]) } else { s.mul_add(c[i], k * d[i]) };
            assert_eq!(results[row * 64 + column], expected, "{called} {i}");
        }
    }
}

/// LLVM computes loops over indices when it compiles, as far as it unrolls them: each operation is rounded there.
#[test]
fn loops_over_indices_are_folded() {
    for (columns, dim, folded_from) in [(31, 0, 0), (447, 0, 0), (448, 0, 448), (455, 0, 448), (300, 1, 300)] {
        let shape = format!("f32[{columns}{}]", if dim == 1 { ",2" } else { "" });
        let text = format!(
            "HloModule m\nf {{\n  i = {shape} iota(), iota_dimension=0\n  c = f32[] constant(0.02)\n  cb = {shape} \
             broadcast(c), dimensions={{}}\n  m = {shape} multiply(i, cb)\n  e = f32[] constant(0.7)\n  eb = {shape} \
             broadcast(e), dimensions={{}}\n  ROOT r = {shape} add(m, eb)\n}}\nENTRY e {{\n  ROOT r = {shape} fusion(), \
             kind=kLoop, calls=f\n}}\n"
        );
        let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
        let results = subject::evaluate(&program(&text), &mode, &[]).unwrap()[0].data().to_f32s();
        for (at, result) in results.iter().enumerate() {
            let i = at / (1 + dim);
            let index = i as f32;
            let expected = if i >= folded_from { index * 0.02 + 0.7 } else { index.mul_add(0.02, 0.7) };
            assert_eq!(*result, expected, "{columns} {dim} {i}");
        }
    }
}

/// The same in loops that read, where what is read is not folded: `x * (i * 0.37 + 1.1)`, as jaxlib 0.10.2 computes it.
#[test]
fn indices_are_folded_beside_reads() {
    // Ten steps of 32 elements are unrolled, eleven are not; of a longer loop, of 8 elements a step, eight are.
    for (columns, more, folded_from) in [(328, 0, 0), (352, 0, 352), (359, 0, 352), (96, 12, 0), (128, 12, 128)] {
        let shape = format!("f32[4,{columns}]");
        let factors: String = (0..more)
            .map(|at| {
                let last = if at == 0 { "p".to_string() } else { format!("p{}", at - 1) };
                format!("  p{at} = {shape} multiply({last}, {})\n", ["x", "y"][at % 2])
            })
            .collect();
        let last = if more == 0 { "p".to_string() } else { format!("p{}", more - 1) };
        let text = format!(
            "HloModule m\nf {{\n  x = {shape} parameter(0)\n  y = {shape} parameter(1)\n  i = f32[{columns}] iota(), \
             iota_dimension=0\n  c = f32[] constant(0.37)\n  cb = f32[{columns}] broadcast(c), dimensions={{}}\n  m = \
             f32[{columns}] multiply(i, cb)\n  e = f32[] constant(1.1)\n  eb = f32[{columns}] broadcast(e), \
             dimensions={{}}\n  a = f32[{columns}] add(m, eb)\n  ab = {shape} broadcast(a), dimensions={{1}}\n  p = {shape} \
             multiply(x, ab)\n{factors}  ROOT r = {shape} negate({last})\n}}\nENTRY e {{\n  x = {shape} parameter(0)\n  y \
             = {shape} parameter(1)\n  ROOT r = {shape} fusion(x, y), kind=kLoop, calls=f\n}}\n"
        );
        let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
        let ones = Tensor::new(&[4, columns], Data::from_f64s(DType::F32, &vec![1.0; 4 * columns]).unwrap());
        let results = subject::evaluate(&program(&text), &mode, &[ones.clone(), ones]).unwrap()[0].data().to_f32s();
        for (at, result) in results.iter().enumerate() {
            let index = (at % columns) as f32;
            let is_folded = at % columns >= folded_from;
            let expected = if is_folded { index * 0.37 + 1.1 } else { index.mul_add(0.37, 1.1) };
            assert_eq!(*result, -expected, "{columns} {more} {at}");
        }
    }
}

/// A product that is the same for all rows is computed before the loop over them, and rounded there, where the loop over columns
/// is unrolled (jaxlib 0.10.2: up to 256 columns and from 512 on, to both sides of the limit).
#[test]
fn products_of_a_row_leave_the_loop_over_rows() {
    for (columns, is_rounded) in [(8, true), (256, true), (512, false)] {
        let shape = format!("f32[2,{columns}]");
        let text = format!(
            "HloModule m\nf {{\n  x = {shape} parameter(0)\n  z = f32[{columns}] parameter(1)\n  c = f32[] constant(0.99)\n  cb = \
             f32[{columns}] broadcast(c), dimensions={{}}\n  m = f32[{columns}] multiply(z, cb)\n  mb = {shape} broadcast(m), \
             dimensions={{1}}\n  ROOT r = {shape} add(x, mb)\n}}\nENTRY e {{\n  x = {shape} parameter(0)\n  z = f32[{columns}] \
             parameter(1)\n  ROOT r = {shape} fusion(x, z), kind=kLoop, calls=f\n}}\n"
        );
        let numbers =
            |n: usize, step: f64| -> Vec<f64> { (0..n).map(|i| f64::from((i as f64 * step + 0.1) as f32)).collect() };
        let (x, z) = (numbers(2 * columns, 0.3), numbers(columns, 0.7));
        let tensor = |dims: &[usize], values: &[f64]| Tensor::new(dims, Data::from_f64s(DType::F32, values).unwrap());
        let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
        let arguments = [tensor(&[2, columns], &x), tensor(&[columns], &z)];
        let results = subject::evaluate(&program(&text), &mode, &arguments).unwrap()[0].data().to_f32s();
        for (at, result) in results.iter().enumerate() {
            let (x, z) = (x[at] as f32, z[at % columns] as f32);
            let expected = if is_rounded { x + z * 0.99 } else { z.mul_add(0.99, x) };
            assert_eq!(*result, expected, "{columns} {at}");
        }
    }
}
