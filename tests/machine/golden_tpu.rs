//! Numbers that real TPUs printed in public (FACTS 2.5), bit for bit in the mode that each names, with dot strength
//! reduction off. The matrix-vector row of jax #16349 is left out: its f32 operands were not published.

// Published digits, kept as published.
#![allow(clippy::excessive_precision)]

use ulpgate::machine::{Mode, evaluate};
use ulpgate::program::ProgramSpec;
use ulpgate::tensor::{Data, Tensor};

fn matmul(lhs: &[f32], rhs: &[f32], [m, k, n]: [usize; 3], mode: &str) -> Vec<f32> {
    let spec: ProgramSpec = format!("matmul[lhs={m}x{k},rhs={k}x{n}]").parse().unwrap();
    let program = spec.build(1, 1).unwrap();
    let arguments = [Tensor::new(&[m, k], Data::F32(lhs.to_vec())), Tensor::new(&[k, n], Data::F32(rhs.to_vec()))];
    let mode: Mode = mode.parse().unwrap();
    evaluate(&program, &mode, &arguments).unwrap()[0].data().to_f32s()
}

const CHIPS: [&str; 7] = ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"];

/// jax #9973: "TPU cannot do simple arithmetic!".
#[test]
fn jax_9973() {
    let x = [0.3744, 0.1656, 0.4707, 0.1663];
    let y = [0.3946, 0.1186, 0.1569, 0.3145];
    for chip in CHIPS {
        let got = matmul(&x, &y, [2, 2, 2], &format!("{chip}/default/off+dsr=off"));
        assert_eq!(got, [0.17405128, 0.09669876, 0.21180916, 0.10805416], "{chip}");
    }
    // What the reporter expected of f32; without a fused multiply-add it comes out one ulp lower.
    let f32_chain = matmul(&x, &y, [2, 2, 2], "cpu/f32/off")[0];
    assert!(0.17372088f32.to_bits() - f32_chain.to_bits() <= 1, "{f32_chain}");
}

/// jax #16349 on a TPU v3, operands as rounded to bf16.
#[test]
fn jax_16349_matrix_matrix() {
    let x = [-1.6171875, 1.28125, -1.140625, -0.48828125, -0.1953125, 1.5390625, -0.37109375, -0.1787109375];
    let k = [-0.384765625, -1.46875, 0.546875, 2.09375, 1.1171875, 0.1611328125, -0.5390625, -0.890625];
    let got = matmul(&x, &k, [2, 4, 2], "v3/default/off+dsr=off");
    assert_eq!(got, [0.31184387, 5.3089447, 0.5985794, 3.6086464]);
}

/// The PyTorch/XLA precision tutorial.
#[test]
fn pytorch_xla_tutorial() {
    let square = |x: f32, mode: &str| matmul(&[x], &[x], [1, 1, 1], mode)[0];
    assert_eq!(square(1.00390625, "v4/default/off+dsr=off"), 1.0);
    assert_eq!(square(1.00390625, "v4/highest/off+dsr=off"), 1.0078277587890625);
    assert_eq!(square(1.2, "v4/highest/off+dsr=off").to_bits() & 0x7f_ffff, 0x38_51ed);
    assert_eq!(square(1.2, "cpu/f32/off").to_bits() & 0x7f_ffff, 0x38_51ec);
    // Truncating every part, as XLA:GPU does, cannot give the TPU's bits.
    assert_ne!(square(1.2, "v4/highest/off+dsr=off+split=trunc").to_bits() & 0x7f_ffff, 0x38_51ed);
}
