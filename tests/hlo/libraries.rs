//! Operations that XLA:CPU leaves to libraries, against the bits that jaxlib 0.10.2 computed on a processor with AVX-512 and two cores.

use ulpgate::hlo::{lower, lower_with_libraries, parse};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::{Data, Tensor};

/// Numbers in [-1/2, 1/2) of a linear congruence.
fn numbers(state: &mut u64, dims: &[usize]) -> Tensor {
    let step = |_| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f32 / 16_777_216.0 - 0.5
    };
    Tensor::new(dims, Data::F32((0..dims.iter().product()).map(step).collect()))
}

/// FNV-1a over the bits.
fn hash(tensor: &Tensor) -> u64 {
    let step = |hash: u64, v: f32| (hash ^ u64::from(v.to_bits())).wrapping_mul(0x100_0000_01b3);
    tensor.data().to_f32s().into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A convolution of an image and a kernel, in a fusion that is left to YNNPACK or on its own.
fn text([b, h, w, ci, k, kw, co]: [usize; 7], groups: usize, dilation: usize, library: bool) -> String {
    let (pad, out) = match dilation {
        1 => (String::new(), [h - k + 1, w - kw + 1]),
        d => {
            let [y, x] = [k - 1, kw - 1];
            (format!(" pad={y}_{y}x{x}_{x} lhs_dilate={d}x{d}"), [(h - 1) * d + k, (w - 1) * d + kw])
        }
    };
    let parameters =
        format!("  a = f32[{b},{h},{w},{ci}] parameter(0)\n  b = f32[{k},{kw},{},{co}] parameter(1)\n", ci / groups);
    let result = format!("f32[{b},{},{},{co}]", out[0], out[1]);
    let convolution = format!(
        "  ROOT c = {result} convolution(a, b), window={{size={k}x{kw}{pad}}}, dim_labels=b01f_01io->b01f, \
         feature_group_count={groups}\n"
    );
    if !library {
        return format!("HloModule m\nENTRY e {{\n{parameters}{convolution}}}\n");
    }
    let fusion = format!(
        "  ROOT f = {result} fusion(a, b), kind=kCustom, calls=g, backend_config={{\"fusion_config\":{{\"kind\":\"__ynn_fusion\"}}}}\n"
    );
    format!("HloModule m\ng {{\n{parameters}{convolution}}}\nENTRY e {{\n{parameters}{fusion}}}\n")
}

/// In order: products cut among threads for few features, a kernel that is one vector, pieces of at most 320 products,
/// halves of oneDNN's, one of Eigen's pieces with one thread, an operand whose elements lie apart; and YNNPACK's lanes,
/// groups, and runs with products left over.
#[test]
fn convolutions_are_those_of_xla() {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let expected = [
        ([2, 12, 12, 16, 3, 3, 4], 1, 1, false, 0x0919_3519_a76b_3460),
        ([1, 5, 13, 3, 2, 2, 1], 1, 1, false, 0xfd9b_5178_5eee_d5e7),
        ([1, 30, 30, 8, 5, 9, 8], 1, 1, false, 0xe437_39f7_ad12_05ae),
        ([1, 8, 25, 10, 5, 10, 8], 1, 1, false, 0x1a4e_ff28_ef6b_b56f),
        ([1, 8, 25, 8, 5, 10, 8], 1, 1, false, 0x4dfb_a9f3_0b80_7268),
        ([2, 4, 4, 8, 3, 3, 4], 1, 2, false, 0xc4e0_f924_6b96_3247),
        ([3, 5, 19, 8, 4, 4, 33], 1, 1, true, 0x2cde_b14e_4061_3620),
        ([2, 9, 9, 34, 3, 3, 6], 2, 1, true, 0xe01c_c1ad_63ce_a4b5),
        ([2, 10, 9, 17, 4, 3, 12], 1, 1, true, 0x58f8_168b_23cf_1941_u64),
    ];
    for (sizes, groups, dilation, library, bits) in expected {
        let program = lower_with_libraries(&parse(&text(sizes, groups, dilation, library)).unwrap()).unwrap().program;
        let [b, h, w, ci, k, kw, co] = sizes;
        let mut state = 1;
        let inputs = [numbers(&mut state, &[b, h, w, ci]), numbers(&mut state, &[k, kw, ci / groups, co])];
        let results = subject::evaluate(&program, &mode, &inputs).unwrap();
        assert_eq!(hash(&results[0]), bits, "{sizes:?}");
    }
}

/// A sum over dim `reduced` of products of `x` and `y`, in a fusion that is left to YNNPACK; `along` are the dims of a broadcast of
/// `y`, if there is one, and `first` says that it is the left factor.
fn sum_of_products(x: &[usize], y: &[usize], along: Option<&str>, first: bool, reduced: usize) -> String {
    let shape = |dims: &[usize]| format!("f32{dims:?}").replace(' ', "");
    let kept: Vec<usize> = (0..x.len()).filter(|d| *d != reduced).map(|d| x[d]).collect();
    let (of_x, out) = (shape(x), shape(&kept));
    let parameters = format!("  x = {of_x} parameter(0)\n  y = {} parameter(1)\n", shape(y));
    let broadcast = along.map(|dims| format!("  b = {of_x} broadcast(y), dimensions={{{dims}}}\n"));
    let factor = if broadcast.is_some() { "b" } else { "y" };
    let factors = if first { format!("{factor}, x") } else { format!("x, {factor}") };
    let broadcast = broadcast.unwrap_or_default();
    format!(
        "HloModule m\nadd {{\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n  ROOT s = f32[] add(p, q)\n}}\n\
         g {{\n{parameters}{broadcast}  m = {of_x} multiply({factors})\n  z = f32[] constant(0)\n  ROOT r = {out} \
         reduce(m, z), dimensions={{{reduced}}}, to_apply=add\n}}\n\
         ENTRY e {{\n{parameters}  ROOT f = {out} fusion(x, y), kind=kCustom, calls=g, \
         backend_config={{\"fusion_config\":{{\"kind\":\"__ynn_fusion\"}}}}\n}}\n"
    )
}

/// The library takes them for dots: four, one and two lanes, with products left over; with a leading dim of one element alone,
/// also beside a broadcast along the summed dim; summed over other dims; and cut in K. Where neither factor stays the same
/// along another dim, or one does along the summed one, it sums rounded products.
#[test]
fn sums_of_products_are_dots_of_the_library() {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    type Case<'a> = (&'a [usize], &'a [usize], Option<&'a str>, bool, usize, u64);
    let cases: [Case; 15] = [
        (&[16, 51, 43], &[16, 43], Some("0,2"), false, 2, 0x96b0_294d_c185_64da),
        (&[16, 51, 43], &[16, 43], Some("0,2"), true, 2, 0xa929_8b0b_c64c_4926),
        (&[16, 32, 16], &[16, 16], Some("0,2"), true, 2, 0xb614_1385_413b_6588),
        (&[1, 2, 64, 32], &[2, 64], Some("1,2"), false, 3, 0x4cb9_e402_4a19_7a2f),
        (&[40, 64, 40], &[64], Some("1"), false, 1, 0xd599_9f9b_76b5_b710),
        (&[40, 64, 40], &[64, 40], Some("1,2"), false, 1, 0x59ed_1c9c_21f6_6cae),
        (&[40, 64, 40], &[40, 64], Some("0,1"), false, 1, 0x9b33_0e83_c67a_55b4),
        (&[40, 64, 40], &[64, 40], Some("1,2"), true, 1, 0xdda3_13e5_3168_66b0),
        (&[64, 40, 40], &[64, 40], Some("0,1"), false, 0, 0x54d8_cb92_d018_214e),
        (&[64, 40, 40], &[64, 40], Some("0,2"), false, 0, 0x960f_9670_b808_b3f6),
        (&[1, 16, 9001], &[1, 16, 9001], None, false, 2, 0x74b1_3956_ad7b_305d),
        (&[4, 60, 700], &[4, 700], Some("0,2"), true, 2, 0x4633_ae41_136a_91c3),
        (&[4, 1, 700, 20], &[4, 1, 700, 20], None, false, 2, 0x31bc_48ff_8711_ba79),
        (&[2, 64, 32], &[2, 64, 32], None, false, 2, 0x68d9_52d9_d696_b3b1),
        (&[16, 51, 43], &[51], Some("1"), false, 2, 0x7769_d5f2_42b7_f815),
    ];
    for (x, y, along, first, reduced, bits) in cases {
        let program = lower(&parse(&sum_of_products(x, y, along, first, reduced)).unwrap()).unwrap().program;
        let mut state = 1;
        let inputs = [numbers(&mut state, x), numbers(&mut state, y)];
        let results = subject::evaluate(&program, &mode, &inputs).unwrap();
        assert_eq!(hash(&results[0]), bits, "{x:?} {y:?} {along:?} {first}");
    }
}

/// A transform over two dims: DUCC's on XLA:CPU, on a TPU the definition, as of a program without libraries.
#[test]
fn a_transform_is_the_librarys_on_its_machine_alone() {
    let text = "HloModule m\nENTRY e {\n  a = f32[1,7,30] parameter(0)\n  ROOT f = c64[1,7,16] fft(a), fft_type=RFFT, \
                fft_length={7,30}\n}\n";
    let module = parse(text).unwrap();
    let [with, without] = [lower_with_libraries(&module), lower(&module)].map(|import| import.unwrap().program);
    let inputs = [numbers(&mut 1, &[1, 7, 30])];
    let [cpu, tpu, definition] =
        [("xla-cpu/default/off", &with), ("v5e/default/off", &with), ("v5e/default/off", &without)]
            .map(|(mode, program)| subject::evaluate(program, &mode.parse::<Mode>().unwrap(), &inputs).unwrap());
    assert_eq!([hash(&cpu[0]), hash(&cpu[1])], [0x07d9_4bad_bce1_94a8, 0x55e0_0de3_0f72_4b68]);
    assert_eq!(tpu, definition);
    assert_ne!(cpu, definition);
}

/// Libraries are called for f32 alone: of any other type the program is the same with them and without.
#[test]
fn operands_of_other_types_are_left_to_no_library() {
    for (real, complex, letter) in [("f32", "c64", 's'), ("f64", "c128", 'd')] {
        let matrix = format!("a = {real}[4,4] parameter(0)");
        let lapack = |result: &str, more: &str, name: &str, config: &str| {
            format!(
                "  {matrix}\n  ROOT r = {result} custom-call(a{more}), custom_call_target=\"lapack_{letter}{name}_ffi\", \
                 api_version=API_VERSION_TYPED_FFI, backend_config={{{config}}}\n"
            )
        };
        let fields = "diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8";
        for line in [
            lapack(&format!("({real}[4,4], s32[])"), "", "potrf", "uplo = 76 : ui8"),
            lapack(&format!("{real}[4,4]"), ", a", "trsm", fields),
            lapack(&format!("({real}[4,4], s32[4], s32[])"), "", "getrf", ""),
            lapack(&format!("({real}[4,4], {real}[4])"), "", "geqrf", ""),
            format!("  {matrix}\n  ROOT r = {complex}[4,3] fft(a), fft_type=RFFT, fft_length={{4}}\n"),
        ] {
            let module = parse(&format!("HloModule m\nENTRY e {{\n{line}}}\n")).unwrap();
            let [with, without] = [lower_with_libraries(&module), lower(&module)].map(|import| import.unwrap().program);
            assert_eq!(with == without, real != "f32", "{line}");
        }
    }
}

/// `0.95 c + 0.05 v[i]` in a loop that XLA:CPU compiles as one function (`xla_cpu_small_call`).
#[test]
fn small_loops_have_the_bits_of_xla() {
    let text = r#"HloModule m
write {
  a = f32[64] parameter(0)
  x = f32[] parameter(2)
  one = f32[1] bitcast(x)
  i = s32[] parameter(1)
  ROOT r = f32[64] dynamic-update-slice(a, one, i)
}
mix {
  c = f32[] parameter(2)
  p = f32[] constant(0.95)
  pc = f32[] multiply(c, p)
  v = f32[64] parameter(0)
  i = s32[] parameter(1)
  x = f32[1] dynamic-slice(v, i), dynamic_slice_sizes={1}
  q = f32[1] constant({0.05})
  qx = f32[1] multiply(x, q)
  s = f32[] bitcast(qx)
  ROOT r = f32[] add(pc, s)
}
body {
  t = (s32[], f32[], f32[64], f32[64]) parameter(0)
  one = s32[] constant(1)
  v = f32[64] get-tuple-element(t), index=3
  a = f32[64] get-tuple-element(t), index=2
  c = f32[] get-tuple-element(t), index=1
  i = s32[] get-tuple-element(t), index=0
  j = s32[] add(i, one)
  m = f32[] fusion(v, i, c), kind=kLoop, calls=mix
  w = f32[64] fusion(a, i, m), kind=kLoop, calls=write
  ROOT r = (s32[], f32[], f32[64], f32[64]) tuple(j, m, w, v)
}
more {
  t = (s32[], f32[], f32[64], f32[64]) parameter(0)
  n = s32[] constant(64)
  i = s32[] get-tuple-element(t), index=0
  ROOT r = pred[] compare(i, n), direction=LT
}
loop {
  t = (s32[], f32[], f32[64], f32[64]) parameter(0)
  ROOT r = (s32[], f32[], f32[64], f32[64]) while(t), condition=more, body=body
}
ENTRY e {
  c = f32[] parameter(0)
  v = f32[64] parameter(1)
  zero = s32[] constant(0)
  o = f32[] constant(0)
  a = f32[64] broadcast(o), dimensions={}
  t = (s32[], f32[], f32[64], f32[64]) tuple(zero, c, a, v)
  l = (s32[], f32[], f32[64], f32[64]) call(t), to_apply=loop, frontend_attributes={xla_cpu_small_call="true"}
  ROOT r = f32[64] get-tuple-element(l), index=2
}
"#;
    let mut state = 7;
    let arguments = [numbers(&mut state, &[]), numbers(&mut state, &[64])];
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let program = lower(&parse(text).unwrap()).unwrap().program;
    assert_eq!(hash(&subject::evaluate(&program, &mode, &arguments).unwrap()[0]), 0x11f0_b26d_9dbd_85da);
}
