//! Factorizations, triangular systems, halves of integers, calls that run beside other work, and complex numbers from end to
//! end.

use ulpgate::hlo::{lower, parse};
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{self, program};

/// The results in f64, of the machine and in truth.
#[track_caller]
fn both(text: &str, arguments: &[Tensor]) -> [Vec<Vec<f64>>; 2] {
    worlds::both("cpu/f32/as-compiled", &program(text), arguments)
}

#[track_caller]
fn alike(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let [machine, truth] = both(text, arguments);
    assert_eq!(machine, truth, "{text}");
    machine
}

#[track_caller]
fn refused(text: &str) -> String {
    lower(&parse(text).unwrap()).unwrap_err().to_string()
}

fn f32s(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::new(dims, Data::F32(values.to_vec()))
}

fn entry(body: &str) -> String {
    format!("HloModule m\n\nENTRY e {{\n{body}}}\n")
}

const LOWER: [f32; 9] = [2.0, 0.0, 0.0, 3.0, 1.0, 0.0, -1.0, 4.0, 5.0];
const UPPER: [f32; 9] = [2.0, 3.0, -1.0, 0.0, 1.0, 4.0, 0.0, 0.0, 5.0];
/// The product of the two; 99 stands where only the other half is read.
const PRODUCT: [f32; 9] = [4.0, 99.0, 99.0, 6.0, 10.0, 99.0, -2.0, 1.0, 42.0];
const TURNED: [f32; 9] = [4.0, 6.0, -2.0, 99.0, 10.0, 1.0, 99.0, 99.0, 42.0];

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

#[test]
fn matrices_are_factored_by_their_lower_or_upper_half() {
    let text = |rest: &str| entry(&format!("  a = f32[1,3,3] parameter(0)\n  ROOT r = f32[1,3,3] {rest}\n"));
    for (given, rest, factor) in [
        (PRODUCT, "cholesky(a), lower=true", LOWER),
        (TURNED, "cholesky(a)", UPPER),
        (PRODUCT, "custom-call(a), custom_call_target=\"Cholesky\"", LOWER),
    ] {
        assert_eq!(alike(&text(rest), &[f32s(&[1, 3, 3], &given)]), [wide(&factor)], "{rest}");
    }
    let lapack = |uplo: u8| {
        entry(&format!(
            "  a = f32[3,3] parameter(0)\n  ROOT r = (f32[3,3], s32[]) custom-call(a), custom_call_target=\"lapack_spotrf_ffi\", \
             backend_config={{uplo = {uplo} : ui8}}\n"
        ))
    };
    assert_eq!(alike(&lapack(b'L'), &[f32s(&[3, 3], &PRODUCT)]), [wide(&LOWER), vec![0.0]]);
    assert_eq!(alike(&lapack(b'U'), &[f32s(&[3, 3], &TURNED)]), [wide(&UPPER), vec![0.0]]);
    // The second pivot is the root of a negative number.
    let mut bad = PRODUCT;
    bad[4] = 8.0;
    let got =
        subject::evaluate(&program(&lapack(b'L')), &"cpu/f32/as-compiled".parse().unwrap(), &[f32s(&[3, 3], &bad)]);
    let got = got.unwrap();
    assert_eq!((got[1].data().get_i64(0), got[0].data().get_f64(3)), (2, 3.0));
    assert!(got[0].data().get_f64(4).is_nan());
    let why = refused(&text("cholesky(a), lower=true").replace("1,3,3", "1,3,2"));
    assert!(
        why.starts_with("line 5, ") && why.contains("square matrices of floats are needed, not f32[1,3,2]"),
        "{why}"
    );
    for target in ["LuDecomposition", "Qr"] {
        let of = |parts: &str| {
            entry(&format!(
                "  a = s32[3,3] parameter(0)\n  ROOT r = {parts} custom-call(a), custom_call_target=\"{target}\"\n"
            ))
        };
        let why = refused(&of(if target == "Qr" { "(s32[3,3], s32[3])" } else { "(s32[3,3], s32[3], s32[3])" }));
        assert!(why.contains("matrices of floats are needed, not s32[3,3]"), "{why}");
    }
    let why = refused(&lapack(b'L').replace(", backend_config={uplo = 76 : ui8}", ""));
    assert!(why.contains("backend_config must say `uplo = CODE : ui8`"), "{why}");
}

/// Every side, half, transposition and diagonal, against products.
#[test]
fn triangular_systems_are_solved() {
    let x = [1.0f32, -2.0, 3.0, 0.5, 4.0, -1.0];
    for case in 0..16 {
        let (is_left, is_lower, is_transposed, has_ones) = (case & 1 > 0, case & 2 > 0, case & 4 > 0, case & 8 > 0);
        let a = if is_lower { LOWER } else { UPPER };
        let element = |i: usize, j: usize| match (i == j && has_ones, is_transposed) {
            (true, _) => 1.0,
            (_, true) => a[j * 3 + i],
            (_, false) => a[i * 3 + j],
        };
        let (rows, columns) = if is_left { (3, 2) } else { (2, 3) };
        let mut b = vec![0.0; 6];
        for i in 0..rows {
            for j in 0..columns {
                let term = |k: usize| {
                    if is_left { element(i, k) * x[k * 2 + j] } else { x[i * 3 + k] * element(k, j) }
                };
                b[i * columns + j] = (0..3).map(term).sum();
            }
        }
        let transpose = if is_transposed { "TRANSPOSE" } else { "NO_TRANSPOSE" };
        let text = entry(&format!(
            "  a = f32[3,3] parameter(0)\n  b = f32[{rows},{columns}] parameter(1)\n  ROOT r = f32[{rows},{columns}] \
             triangular-solve(a, b), left_side={is_left}, lower={is_lower}, transpose_a={transpose}, \
             unit_diagonal={has_ones}\n"
        ));
        let given = [f32s(&[3, 3], &a), f32s(&[rows, columns], &b)];
        assert_eq!(alike(&text, &given), [wide(&x)], "{text}");
        let code = |is: bool, yes: char, no: char| u32::from(if is { yes } else { no });
        let lapack = format!(
            "custom-call(a, b), custom_call_target=\"lapack_strsm_ffi\", backend_config={{diag = {} : ui8, side = {} : ui8, \
             trans_x = {} : ui8, uplo = {} : ui8}}\n}}\n",
            code(has_ones, 'U', 'N'),
            code(is_left, 'L', 'R'),
            code(is_transposed, 'T', 'N'),
            code(is_lower, 'L', 'U')
        );
        let text = format!("{}{lapack}", &text[..text.find("triangular-solve").unwrap()]);
        assert_eq!(alike(&text, &given), [wide(&x)], "{text}");
    }
    let text = entry(
        "  a = f32[1,2,2] parameter(0)\n  ROOT r = f32[1,2,2] custom-call(a), \
         custom_call_target=\"InvertDiagBlocksLowerTriangular\"\n",
    );
    assert_eq!(alike(&text, &[f32s(&[1, 2, 2], &[2.0, 9.0, 3.0, 4.0])]), [[0.5, 0.0, -0.375, 0.25]]);
    let upper = text.replace("Lower", "Upper");
    assert_eq!(alike(&upper, &[f32s(&[1, 2, 2], &[2.0, 3.0, 9.0, 4.0])]), [[0.5, -0.375, 0.0, 0.25]]);
    let why = refused(&entry(
        "  a = f32[3,3] parameter(0)\n  b = f32[2,3] parameter(1)\n  ROOT r = f32[2,3] triangular-solve(a, b), left_side=true\n",
    ));
    assert!(why.contains("f32[2,3] does not fit the matrix f32[3,3]"), "{why}");
}

#[test]
fn halves_of_integers_are_joined_and_parted() {
    let text = entry(
        "  l = u32[2] parameter(0)\n  h = u32[2] parameter(1)\n  w = u64[2] custom-call(l, h), \
         custom_call_target=\"X64Combine\"\n  s = s64[2] custom-call(l, h), custom_call_target=\"X64Combine\"\n  a = u32[2] \
         custom-call(s), custom_call_target=\"X64SplitLow\"\n  b = u32[2] custom-call(w), \
         custom_call_target=\"X64SplitHigh\"\n  ROOT r = (u64[2], s64[2], u32[2], u32[2]) tuple(w, s, a, b)\n",
    );
    let u32s = |values: &[i64]| Tensor::new(&[2], Data::from_i64s(DType::U32, values).unwrap());
    let (low, high) = ([7, 0xffff_fff0], [1, 0xffff_ffff]);
    let program = program(&text);
    let got = subject::evaluate(&program, &"cpu/f32/as-compiled".parse().unwrap(), &[u32s(&low), u32s(&high)]).unwrap();
    let got: Vec<Vec<i64>> = got.iter().map(|t| (0..2).map(|i| t.data().get_i64(i)).collect()).collect();
    assert_eq!(got[1..], [vec![(1 << 32) + 7, -16], low.to_vec(), high.to_vec()]);
    let floats = text.replace("u32[2] parameter", "f32[2] parameter");
    assert!(
        refused(&floats)
            .contains("X64Combine joins halves of 32 bits to an integer of 64, or two f32 to an f64, not f32[2]"),
        "{}",
        refused(&floats)
    );
}

/// A call that runs beside other work, with memory prepared for it and a token; sizes of dims; marks.
#[test]
fn what_only_orders_or_marks_changes_nothing() {
    let text = "HloModule m\n\ncalled {\n  a = f32[2] parameter(0)\n  t = token[] parameter(1)\n  ROOT n = f32[2] negate(a)\n}\n\n\
                ENTRY e {\n  x = f32[2] parameter(0)\n  p = s32[] custom-call(), custom_call_target=\"PrepareAsyncCallStart\"\n  d = \
                token[] custom-call(p), custom_call_target=\"PrepareAsyncCallDone\"\n  s = ((f32[2], token[]), f32[2]) call-start(x, \
                d), to_apply=called\n  y = f32[2] call-done(s)\n  after = token[] after-all()\n  z = f32[2] add-dependency(y, \
                after)\n  m = f32[2] domain(z)\n  h = f32[2] custom-call(m), custom_call_target=\"MoveToHost\"\n  g = s32[] \
                get-dimension-size(h), dimensions={0}\n  k = s32[] constant(2)\n  q = f32[2] set-dimension-size(h, k), \
                dimensions={0}\n  ROOT r = (f32[2], s32[]) tuple(q, g)\n}\n";
    assert_eq!(alike(text, &[f32s(&[2], &[1.5, -2.0])]), [vec![-1.5, 2.0], vec![2.0]]);
    let why = refused(&text.replace("constant(2)", "constant(1)"));
    assert!(why.contains("a size other than the shape's 2 is not supported"), "{why}");
    let why = refused(&text.replace("MoveToHost", "tpu_custom_call"));
    assert!(why.contains("custom call `tpu_custom_call` is not supported; supported are AllocateBuffer"), "{why}");
    assert!(why.contains("the part behind it, which takes the call's results as arguments"), "{why}");
}

/// Integers of 32 bits times floats, as positions times frequencies are; a clamp that is rounded where it is stored.
#[test]
fn mixed_types_meet_in_the_wider_one() {
    let text = "HloModule m\n\nENTRY e {\n  x = s32[2] parameter(0)\n  y = f32[2] parameter(1)\n  p = f32[2,2] dot(x, y), \
                lhs_contracting_dims={}, rhs_contracting_dims={}\n  a = bf16[2] parameter(2)\n  ROOT r = (f32[2,2], bf16[2]) \
                tuple(p, c)\n}\n"
        .replace("  ROOT", "  l = f32[2] negate(y)\n  c = bf16[2] clamp(l, a, y)\n  ROOT");
    let numbers = |of: DType, values: &[f64]| Tensor::new(&[2], Data::from_f64s(of, values).unwrap());
    let integers = Tensor::new(&[2], Data::S32(vec![3, -100_001]));
    let arguments = [integers, f32s(&[2], &[0.5, 257.0]), numbers(DType::BF16, &[7.0, 300.0])];
    let [machine, truth] = both(&text, &arguments);
    // 257 has nine bits, a bf16 eight: the machine stores 256, the truth is rounded to nothing less than f64.
    assert_eq!(machine, [vec![1.5, 771.0, -50_000.5, -25_700_257.0f32 as f64], vec![0.5, 256.0]]);
    assert_eq!(truth, [vec![1.5, 771.0, -50_000.5, -25_700_257.0], vec![0.5, 257.0]]);
}

/// Arguments and results in two parts each; sums and dots part by part.
#[test]
fn complex_arguments_and_results_are_two_arrays() {
    let text = "HloModule m\n\nsum {\n  a = c64[] parameter(0)\n  b = c64[] parameter(1)\n  ROOT s = c64[] add(a, b)\n}\n\nENTRY e {\n  \
                k = f32[] parameter(0)\n  z = c64[2,2] parameter(1)\n  zero = c64[] constant((0, 0))\n  s = c64[2] reduce(z, zero), \
                dimensions={1}, to_apply=sum\n  d = c64[2,2] dot(z, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  \
                ROOT r = (c64[2], f32[], c64[2,2]) tuple(s, k, d)\n}\n";
    let import = lower(&parse(text).unwrap()).unwrap();
    assert_eq!(import.argument_names, ["arg0", "arg1.real", "arg1.imag"]);
    assert_eq!(import.program.output_names, ["out0.real", "out0.imag", "out1", "out2.real", "out2.imag"]);
    let given = [f32s(&[], &[7.0]), f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), f32s(&[2, 2], &[0.0, 1.0, -1.0, 2.0])];
    let got = alike(text, &given);
    assert_eq!(got[..3], [vec![3.0, 7.0], vec![1.0, 1.0], vec![7.0]]);
    // [1, 2+i; 3-i, 4+2i] squared.
    assert_eq!(got[3..], [vec![8.0, 8.0, 17.0, 19.0], vec![1.0, 9.0, 1.0, 17.0]]);
    let windows =
        text.replace("c64[2] reduce(z, zero), dimensions={1}", "c64[2,1] reduce-window(z, zero), window={size=1x2}");
    let windows = windows.replace("s = c64[] add", "s = c64[] multiply").replace("(c64[2],", "(c64[2,1],");
    let why = refused(&windows);
    assert!(why.contains("of regions over complex numbers sums are supported"), "{why}");
}

/// Functions of complex numbers in truth, against what numpy gives for the same numbers.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn complex_functions_are_the_functions() {
    let (re, im) = ([0.5f32, -1.25, 2.0], [0.75f32, 0.5, -0.25]);
    let expected: [(&str, [[f64; 3]; 2]); 10] = [
        (
            "cosine",
            [
                [1.1361914738033483, 0.355565683247121, -0.4292192986881662],
                [-0.3942396421115833, 0.49451143013196674, 0.22969972965814137],
            ],
        ),
        (
            "exponential-minus-one",
            [
                [0.2063510016467855, -0.7485683863775536, 6.159348238970706],
                [1.1238323225841311, 0.1373577165473844, -1.8280817340292228],
            ],
        ),
        (
            "log-plus-one",
            [
                [0.5170368837652694, -0.5815754049028404, 1.1020725100903965],
                [0.4636476090008061, 2.0344439357957027, -0.08314123188844123],
            ],
        ),
        (
            "logistic",
            [
                [0.6401310030830609, 0.21042744917647238, 0.8832992526675669],
                [0.1833037491900986, 0.08666385078420562, -0.026146512968650146],
            ],
        ),
        (
            "rsqrt",
            [
                [0.92865090530163, 0.16298187060899494, 0.7030101815281647],
                [-0.4969988818226067, -0.8462967934247418, 0.04376783093289818],
            ],
        ),
        (
            "sign",
            [
                [0.554700196225229, -0.9284766908852593, 0.9922778767136677],
                [0.8320502943378436, 0.3713906763541037, -0.12403473458920847],
            ],
        ),
        (
            "sine",
            [
                [0.6207042310780551, -1.0700996973668526, 0.9378612777147958],
                [0.7216508242975646, 0.16431300276137265, 0.10512381651256378],
            ],
        ),
        (
            "sqrt",
            [
                [0.8370746140177701, 0.21942105845112725, 1.4169623207895539],
                [0.44798873806491907, 1.139361927085425, -0.08821688351624482],
            ],
        ),
        (
            "tan",
            [
                [0.29089346182961806, -0.8066346988510736, -1.596689210770756],
                [0.7360841705511909, 1.5839635482844237, -1.099398135211779],
            ],
        ),
        (
            "tanh",
            [
                [0.7282118012804722, -0.9067248043194311, 0.968214572183509],
                [0.618096394806202, 0.1261085664842344, -0.017009461384601497],
            ],
        ),
    ];
    for (opcode, [real, imaginary]) in expected {
        let text = entry(&format!("  z = c64[3] parameter(0)\n  ROOT r = c64[3] {opcode}(z)\n"));
        let [machine, truth] = both(&text, &[f32s(&[3], &re), f32s(&[3], &im)]);
        for (side, expected) in [real, imaginary].iter().enumerate() {
            for (i, value) in expected.iter().enumerate() {
                assert!(
                    (truth[side][i] - value).abs() < 1e-14 * value.abs().max(1.0),
                    "{opcode} {side} {i}: {:?}",
                    truth[side]
                );
                assert!((machine[side][i] - value).abs() < 1e-6 * value.abs().max(1.0), "{opcode} {side} {i}");
            }
        }
    }
    let text =
        entry("  z = c64[3] parameter(0)\n  w = c64[3] reverse(z), dimensions={0}\n  ROOT r = c64[3] power(z, w)\n");
    let [_, truth] = both(&text, &[f32s(&[3], &[2.0, 0.0, 0.5]), f32s(&[3], &[0.0, 0.0, 1.0])]);
    // 2^(1/2 + i), 0^0 and (1/2 + i)^2
    let (root, (sine, cosine)) = (2f64.sqrt(), 2f64.ln().sin_cos());
    for (got, expected) in truth.iter().zip([[root * cosine, 1.0, -0.75], [root * sine, 0.0, 1.0]]) {
        assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{got:?}");
    }
}
