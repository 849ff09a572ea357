//! The magnitudes that the error of a dot product is measured against.

use crate::ir::{DotDims, Op, Program};
use crate::tensor::Tensor;

/// `sum |a| |b|` for every element of a program whose first result is one plain matmul of its arguments, in f64; `None`
/// for any other program.
pub fn dot_scale(program: &Program, arguments: &[Tensor]) -> Option<Vec<f64>> {
    let entry = program.entry();
    let dot = &entry.instructions[*program.outputs().first()?];
    let Op::Dot { dims, .. } = &dot.op else { return None };
    let argument = |operand: usize| match entry.instructions[operand].op {
        Op::Parameter(number) => arguments.get(number),
        _ => None,
    };
    let (lhs, rhs) = (argument(dot.operands[0])?, argument(dot.operands[1])?);
    if *dims != DotDims::matmul() {
        return None;
    }
    let magnitudes = |t: &Tensor| t.data().to_f64s().into_iter().map(f64::abs).collect::<Vec<_>>();
    let [m, k] = lhs.dims().try_into().ok()?;
    let n = rhs.dims().get(1).copied()?;
    Some(absolute_dot(&magnitudes(lhs), &magnitudes(rhs), [m, k, n]))
}

/// `[m,k] x [k,n]` of magnitudes. Sums of non-negative terms: each result is within a factor `1 + k 2^-52` of the exact
/// one.
pub(super) fn absolute_dot(lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        let row = &mut out[i * n..(i + 1) * n];
        for l in 0..k {
            let a = lhs[i * k + l];
            for (sum, b) in row.iter_mut().zip(&rhs[l * n..(l + 1) * n]) {
                *sum += a * b;
            }
        }
    }
    out
}
