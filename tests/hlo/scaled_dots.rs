//! Dots in blocks that share scales: the opcode, the custom calls, and what JAX 0.10.2 writes.

use std::fs;
use std::path::Path;

use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{self, program as read};

fn tensor(dtype: DType, dims: &[usize], values: impl IntoIterator<Item = f64>) -> Tensor {
    Tensor::new(dims, Data::from_f64s(dtype, &values.into_iter().collect::<Vec<f64>>()).unwrap())
}

fn element(row: usize, k: usize) -> f64 {
    ((row * 7 + k * 3) % 9) as f64 - 4.0
}

fn scale(row: usize, block: usize) -> f64 {
    2f64.powi((row + block * 2) as i32 % 5 - 2)
}

/// [rows, k] elements of e4m3 and [rows, k / block] scales of e8m0, behind a batch of one where `dims` begin with 1.
fn side(batched: bool, rows: usize, k: usize, block: usize) -> [Tensor; 2] {
    let dims = |columns: usize| if batched { vec![1, rows, columns] } else { vec![rows, columns] };
    let of = |columns: usize, value: &dyn Fn(usize, usize) -> f64| {
        (0..rows * columns).map(|at| value(at / columns, at % columns)).collect::<Vec<f64>>()
    };
    let blocks = k / block;
    [tensor(DType::F8E4M3FN, &dims(k), of(k, &element)), tensor(DType::F8E8M0FNU, &dims(blocks), of(blocks, &scale))]
}

/// The dot of [m, k] and [n, k].
fn expected(m: usize, n: usize, k: usize, block: usize) -> Vec<f64> {
    let number = |row: usize, k: usize| element(row, k) * scale(row, k / block);
    (0..m * n).map(|at| (0..k).map(|k| number(at / n, k) * number(at % n, k)).sum()).collect()
}

/// The results, which are the same on a machine that keeps subnormals and over the real numbers.
#[track_caller]
fn both(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &read(text), arguments);
    assert_eq!(machine, truth, "{text}");
    machine
}

fn program(body: &str) -> String {
    format!("HloModule m\n\nENTRY e {{\n{body}}}\n")
}

const PLAIN: &str = "  x = f8e4m3fn[2,8] parameter(0)\n  y = f8e4m3fn[3,8] parameter(1)\n  s = f8e8m0fnu[2,2] parameter(2)\n  t = \
                     f8e8m0fnu[3,2] parameter(3)\n";

#[test]
fn scaled_dots_are_dots_of_elements_times_scales() {
    let ([x, s], [y, t]) = (side(false, 2, 8, 4), side(false, 3, 8, 4));
    let arguments = [x, y, s, t];
    let sum = expected(2, 3, 8, 4);
    let opcode = "  ROOT r = f32[2,3] scaled-dot(x, y, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n";
    assert_eq!(both(&program(&format!("{PLAIN}{opcode}")), &arguments), std::slice::from_ref(&sum));
    for target in ["__op$block_scaled_dot", "ScaledMatmul"] {
        let call = format!("  ROOT r = f32[2,3] custom-call(x, y, s, t), custom_call_target=\"{target}\"\n");
        assert_eq!(both(&program(&format!("{PLAIN}{call}")), &arguments), std::slice::from_ref(&sum), "{target}");
    }
}

/// Elements of four bits: XLA packs two of them in a byte by the layout, `E(4)`, and their dims count elements.
#[test]
fn packed_operands_of_four_bits_are_read() {
    let codes = [0.5, -1.0, 1.5, 6.0, -4.0, 3.0, 2.0, -0.5];
    let elements =
        |rows: usize| tensor(DType::F4E2M1FN, &[rows, 8], (0..rows * 8).map(|at| codes[(at * 3 + at / 8) % 8]));
    let scales = |rows: usize| tensor(DType::F8E4M3FN, &[rows, 2], (0..rows * 2).map(|at| 0.75 + at as f64 / 4.0));
    let arguments = [elements(2), elements(3), scales(2), scales(3)];
    let number = |at: usize, row: usize, k: usize| {
        arguments[at].data().get_f64(row * 8 + k) * arguments[at + 2].data().get_f64(row * 2 + k / 4)
    };
    let sum = |at: usize| (0..8).map(|k| number(0, at / 3, k) * number(1, at % 3, k)).sum::<f64>();
    let expected: Vec<f64> = (0..6).map(sum).collect();
    let packed = "  x = f4e2m1fn[2,8]{1,0:E(4)} parameter(0)\n  y = f4e2m1fn[3,8]{1,0:E(4)} parameter(1)\n  s = f8e4m3fn[2,2]{1,0} \
                  parameter(2)\n  t = f8e4m3fn[3,2]{1,0} parameter(3)\n";
    for call in [
        "scaled-dot(x, y, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        "custom-call(x, y, s, t), custom_call_target=\"__op$block_scaled_dot\"",
        "custom-call(x, y, s, t), custom_call_target=\"ScaledMatmul\"",
    ] {
        let text = program(&format!("{packed}  ROOT r = f32[2,3]{{1,0}} {call}\n"));
        assert_eq!(both(&text, &arguments), std::slice::from_ref(&expected), "{call}");
    }
}

/// One scale for all, one for each row, and none that changes along k; the right operand as [k, n].
#[test]
fn scales_are_spread_along_every_dim() {
    let x = tensor(DType::F8E4M3FN, &[2, 4], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let y = tensor(DType::F8E4M3FN, &[4, 1], [1.0, 1.0, 2.0, 2.0]);
    let rows = tensor(DType::F32, &[2, 1], [0.5, 4.0]);
    let pairs = tensor(DType::F32, &[2, 1], [1.0, 8.0]);
    let text = |scales: &str| {
        program(&format!(
            "  x = f8e4m3fn[2,4] parameter(0)\n  y = f8e4m3fn[4,1] parameter(1)\n  s = {scales} parameter(2)\n  t = f32[2,1] \
             parameter(3)\n  ROOT r = f32[2,1] scaled-dot(x, y, s, t), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        ))
    };
    // (1 + 2) + 8 (6 + 8), and (5 + 6) + 8 (14 + 16).
    let got = both(&text("f32[2,1]"), &[x.clone(), y.clone(), rows, pairs.clone()]);
    assert_eq!(got, [vec![0.5 * 115.0, 4.0 * 251.0]]);
    let one = tensor(DType::F32, &[], [2.0]);
    assert_eq!(both(&text("f32[]"), &[x, y, one, pairs]), [vec![230.0, 502.0]]);
}

/// Scales in cuDNN's tiles: row n*128 + h*32 + v, block C*4 + c lies at [N, C, v, h, c].
#[test]
fn scales_are_read_from_the_tiles_of_cudnn() {
    let (m, n, k) = (130, 3, 160);
    let tiled = |rows: usize| {
        let high = rows.div_ceil(128);
        let mut values = vec![1.0; high * 128 * 8];
        for row in 0..rows {
            for block in 0..k / 32 {
                let at = (((row / 128 * 2 + block / 4) * 32 + row % 32) * 4 + row % 128 / 32) * 4 + block % 4;
                values[at] = scale(row, block);
            }
        }
        tensor(DType::F8E8M0FNU, &[1, high * 128, 8], values)
    };
    let ([x, _], [y, _]) = (side(true, m, k, 32), side(true, n, k, 32));
    let text = program(
        "  x = f8e4m3fn[1,130,160] parameter(0)\n  y = f8e4m3fn[1,3,160] parameter(1)\n  s = f8e8m0fnu[1,256,8] parameter(2)\n  t = \
         f8e8m0fnu[1,128,8] parameter(3)\n  c = (f32[1,130,3], u8[16]) custom-call(x, y, s, t), \
         custom_call_target=\"__cudnn$blockScaledDot\"\n  ROOT r = f32[1,130,3] get-tuple-element(c), index=0\n",
    );
    assert_eq!(both(&text, &[x, y, tiled(m), tiled(n)]), [expected(m, n, k, 32)]);
}

/// JAX's own text: `lax.scaled_dot` as a composite, and `jax.nn.scaled_matmul` as it goes to a GPU.
#[test]
fn what_jax_writes_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/scaled_libraries");
    let ([x, s], [y, t]) = (side(true, 4, 64, 32), side(true, 8, 64, 32));
    let arguments = [x, y, s, t];
    for name in ["scaled_dot", "scaled_matmul"] {
        let text = fs::read_to_string(folder.join(format!("{name}.hlo"))).unwrap();
        assert_eq!(both(&text, &arguments), [expected(4, 8, 64, 32)], "{name}");
    }
}

#[test]
fn operands_that_do_not_fit_are_refused_with_what_is_needed() {
    let why = |scale: &str, call: &str| {
        let text = program(&PLAIN.replace("f8e8m0fnu[2,2]", scale).replace("ROOT", "")) + "";
        let text = text.replace("}\n", &format!("{call}}}\n"));
        lower(&parse(&text).unwrap()).unwrap_err().why
    };
    let opcode = "  ROOT r = f32[2,3] scaled-dot(x, y, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n";
    for scale in ["f8e8m0fnu[2,3]", "f8e8m0fnu[4]", "f8e8m0fnu[2,0]"] {
        let said = why(scale, opcode);
        assert!(said.contains(&format!("scales {scale} are not one for each block of f8e4m3fn[2,8]")), "{said}");
    }
    // Three scales for eight elements leave a ragged last block, which XLA refuses.
    assert!(why("f8e8m0fnu[2,3]", opcode).ends_with("refuses others. A ragged last block needs zeros behind it"));
    let call = |target: &str, operands: &str| {
        format!("  ROOT r = f32[2,3] custom-call({operands}), custom_call_target=\"{target}\"\n")
    };
    assert_eq!(
        why("f8e8m0fnu[2,2]", &call("ScaledMatmul", "x, y, s")),
        "four operands are needed, 3 are given: two arrays, then the scales of each"
    );
    let said = why("f8e8m0fnu[2,2]", &call("__cudnn$blockScaledDot", "x, y, s, t"));
    assert!(said.contains("are not in tiles of 128 x 4"), "{said}");
}
