//! Pieces of programs at which enclosures say little: what cancels to nothing or to nearly nothing, and what is NaN,
//! infinite or zero behind it.

use ulpgate::ir::{Binary, Unary};
use ulpgate::tensor::DType;

use super::generate::Generator;
use super::leaf;

/// Adds one of the pieces; its result is the last node, floats of the main dims.
pub fn any(g: &mut Generator) -> usize {
    match g.draw.below(11) {
        0 => over_zeros(g),
        1 => nearly_log_sum_exp(g),
        2 => thirds(g),
        3 => centred(g),
        4 => signed_sum(g),
        5 => softmax(g),
        6 => near_ties(g),
        7 => layer_norm(g),
        8 => doubled(g),
        9 => hidden_infinity(g),
        _ => straddling(g),
    }
}

fn dtype(g: &mut Generator) -> DType {
    g.draw.of(&[DType::F32, DType::F64, DType::BF16])
}

/// Elements of the main dims, each one of a few numbers.
fn one_of(g: &mut Generator, dtype: DType, numbers: &[f64]) -> usize {
    let dims = g.main.clone();
    let codes = (0..dims.iter().product()).map(|_| leaf::code(dtype, g.draw.of(numbers))).collect();
    let parameter = g.draw.below(2) == 0;
    g.leaf_of(codes, parameter, dtype, &dims)
}

/// x over a constant +0 and over a constant -0.
fn over_zeros(g: &mut Generator) -> usize {
    let dtype = dtype(g);
    let x = one_of(g, dtype, &[1.0, -1.0, 2.0]);
    let (plus, minus) = (g.splat(dtype, 0.0), g.splat(dtype, -0.0));
    let (a, b) = (g.binary(Binary::Divide, x, plus), g.binary(Binary::Divide, x, minus));
    let combine = g.draw.of(&[Binary::Maximum, Binary::Minimum, Binary::Add]);
    g.binary(combine, a, b)
}

/// t - log(exp(t) + exp(s)): about -exp(s - t), however small, and zero for s = -inf.
fn nearly_log_sum_exp(g: &mut Generator) -> usize {
    let dtype = dtype(g);
    let t = one_of(g, dtype, &[1.0, 2.0, 0.0, -1.0, 3.0]);
    let s = one_of(g, dtype, &[-150.0, 1.0, -40.0, -80.0, -300.0, 0.0, f64::NEG_INFINITY]);
    let (a, b) = (g.unary(Unary::Exponential, t), g.unary(Unary::Exponential, s));
    let sum = g.binary(Binary::Add, a, b);
    let log = g.unary(Unary::Log, sum);
    let (x, y) = if g.draw.rarely(3) { (log, t) } else { (t, log) };
    let gap = g.binary(Binary::Subtract, x, y);
    if g.draw.rarely(3) {
        let moved = one_of(g, dtype, &[0.0, 0.0, 2.0, -1.0, 3.5]);
        return g.binary(Binary::Add, gap, moved);
    }
    gap
}

/// x - (x / 3) * 3 or x - (3 x) / 3: zero.
fn thirds(g: &mut Generator) -> usize {
    let x = g.float();
    let dtype = g.nodes[x].dtype;
    let dims = g.nodes[x].dims.clone();
    let three = leaf::code(dtype, g.draw.of(&[3.0, 7.0, 5.0, 4.0]));
    let count = dims.iter().product();
    let three = g.leaf_of(vec![three; count], false, dtype, &dims);
    let (first, second) = g.draw.of(&[(Binary::Multiply, Binary::Divide), (Binary::Divide, Binary::Multiply)]);
    let scaled = g.binary(first, x, three);
    let back = g.binary(second, scaled, three);
    g.binary(Binary::Subtract, x, back)
}

/// x - mean(x), of a constant row where the draw says so, perhaps of its exponentials.
fn centred(g: &mut Generator) -> usize {
    let dtype = dtype(g);
    let dims = g.main.clone();
    let mut x = if g.draw.below(2) == 0 {
        let value = g.draw.of(&[1.0, 0.1, -3.0, 1e-20, 5.5]);
        let codes = vec![leaf::code(dtype, value); dims.iter().product()];
        g.leaf_of(codes, true, dtype, &dims)
    } else {
        one_of(g, dtype, &[1.0, 1.0, 1.0, 2.0])
    };
    if g.draw.rarely(2) {
        x = g.unary(Unary::Exponential, x);
    }
    let sum = g.reduced(Binary::Add, 0.0, x);
    let n = g.splat(dtype, *dims.last().unwrap_or(&1) as f64);
    let mean = g.binary(Binary::Divide, sum, n);
    g.binary(Binary::Subtract, x, mean)
}

/// sum(b exp(x)) with signs b, spread over the row.
fn signed_sum(g: &mut Generator) -> usize {
    let dtype = dtype(g);
    let x = one_of(g, dtype, &[1.0, 1.0, 2.0, 0.5]);
    let b = one_of(g, dtype, &[1.0, -1.0, 0.0]);
    let e = g.unary(Unary::Exponential, x);
    let terms = g.binary(Binary::Multiply, e, b);
    g.reduced(Binary::Add, 0.0, terms)
}

/// exp(x - max x) / sum, or its logarithm.
fn softmax(g: &mut Generator) -> usize {
    let x = g.float();
    let max = g.reduced(Binary::Maximum, f64::NEG_INFINITY, x);
    let shifted = g.binary(Binary::Subtract, x, max);
    let e = g.unary(Unary::Exponential, shifted);
    let sum = g.reduced(Binary::Add, 0.0, e);
    if g.draw.rarely(3) {
        let log = g.unary(Unary::Log, sum);
        return g.binary(Binary::Subtract, shifted, log);
    }
    g.binary(Binary::Divide, e, sum)
}

/// 1 + k 2^-110 under a function or not: ties that only high precision tells apart.
fn near_ties(g: &mut Generator) -> usize {
    let dims = g.main.clone();
    let power = g.draw.of(&[-110, -60, -200, -30, -500]);
    let codes = (0..dims.iter().product())
        .map(|_| leaf::code(DType::F64, g.draw.below(40) as f64 * 2f64.powi(power)))
        .collect();
    let tiny = g.leaf_of(codes, true, DType::F64, &dims);
    let one = g.splat(DType::F64, 1.0);
    let x = g.binary(Binary::Add, one, tiny);
    match g.draw.below(3) {
        0 => x,
        1 => g.unary(Unary::Exponential, x),
        _ => {
            // A sum hides from symbolic orders where it comes from.
            let (e, l) = (g.unary(Unary::Exponential, x), g.unary(Unary::Logistic, x));
            g.binary(Binary::Add, e, l)
        }
    }
}

/// (x - mean) rsqrt(mean of squares + eps) times gains that may be zero.
fn layer_norm(g: &mut Generator) -> usize {
    let c = centred(g);
    let dtype = g.nodes[c].dtype;
    let squares = g.binary(Binary::Multiply, c, c);
    let sum = g.reduced(Binary::Add, 0.0, squares);
    let eps = g.draw.of(&[1e-5, 0.0, 1.0]);
    let eps = g.splat(dtype, eps);
    let moved = g.binary(Binary::Add, sum, eps);
    let scale = g.unary(Unary::Rsqrt, moved);
    let normal = g.binary(Binary::Multiply, c, scale);
    let gain = one_of(g, dtype, &[0.0, 1.0, -0.0, 0.5]);
    g.binary(Binary::Multiply, normal, gain)
}

/// Two multiples of one function: the larger of 2 e^x and 3 e^x.
fn doubled(g: &mut Generator) -> usize {
    let x = g.float();
    let dtype = g.nodes[x].dtype;
    let function = g.draw.of(&[Unary::Exponential, Unary::Tanh, Unary::Logistic, Unary::Sqrt]);
    let f = g.unary(function, x);
    let (a, b) = (one_of(g, dtype, &[2.0, -3.0, 0.5]), one_of(g, dtype, &[3.0, 2.0, -1.0, 0.0]));
    let (a, b) = (g.binary(Binary::Multiply, f, a), g.binary(Binary::Multiply, f, b));
    let combine = g.draw.of(&[Binary::Maximum, Binary::Minimum, Binary::Subtract]);
    g.binary(combine, a, b)
}

/// log of what vanishes, or 1 over it.
fn hidden_infinity(g: &mut Generator) -> usize {
    let zero = match g.draw.below(3) {
        0 => signed_sum(g),
        1 => centred(g),
        _ => thirds(g),
    };
    match g.draw.below(4) {
        0 => g.unary(Unary::Log, zero),
        1 => g.unary(Unary::Rsqrt, zero),
        2 => g.unary(Unary::Sqrt, zero),
        _ => {
            let x = g.like(zero);
            g.binary(Binary::Divide, x, zero)
        }
    }
}

/// Zeros and infinities beside what straddles zero for long.
fn straddling(g: &mut Generator) -> usize {
    let y = if g.draw.below(2) == 0 { nearly_log_sum_exp(g) } else { centred(g) };
    let dtype = g.nodes[y].dtype;
    let edge = one_of(g, dtype, &[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY]);
    let combine = g.draw.of(&[Binary::Multiply, Binary::Divide, Binary::Add, Binary::Maximum, Binary::Minimum]);
    let (x, y) = if g.draw.rarely(2) { (y, edge) } else { (edge, y) };
    g.binary(combine, x, y)
}
