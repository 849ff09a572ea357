//! The f16 function that XLA:CPU emits in f16, expm1: each step is computed in f32 and rounded to f16, constants too. All 65536
//! arguments come out as jaxlib 0.10.2 has them.

use crate::ir::Unary;
use crate::machine::vector::{Estimate, round_to};
use crate::tensor::DType;

use super::polynomials;

/// Applies XLA:CPU's f16 function to each value; false, and nothing done, for all but expm1, which are computed in f32.
pub fn apply(unary: Unary, values: &mut [f32], estimate: Estimate) -> bool {
    if unary != Unary::ExponentialMinusOne {
        return false;
    }
    let [mut e, mut t] = [values.to_vec(), values.iter().map(|x| half(0.5 * x)).collect()];
    polynomials::apply(Unary::Exponential, &mut e, estimate);
    polynomials::apply(Unary::Tanh, &mut t, estimate);
    let each = values.iter_mut().zip(e.into_iter().map(half).zip(t.into_iter().map(half)));
    each.for_each(|(x, (e, t))| *x = exponential_minus_one(*x, e, t));
    true
}

/// The nearest f16.
fn half(x: f32) -> f32 {
    let mut value = [x];
    round_to(DType::F16, &mut value);
    value[0]
}

/// exp(x) - 1 by the method of [`super::polynomials`] for f32, in steps: of x, its exponential `e` and the tanh `t` of its
/// half.
fn exponential_minus_one(x: f32, e: f32, t: f32) -> f32 {
    match x.abs() {
        _ if half(0.5 * x) == 0.0 => x,
        far if far > 0.5 => half(e - 1.0),
        _ => half(t * half(e + 1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of arguments and results of jaxlib 0.10.2: subnormal, near and far; half of the smallest is 0.
    const EXPONENTIALS: [(u16, u16); 6] =
        [(0x3, 0x4), (0x1, 0x1), (0x30aa, 0x3105), (0xc57c, 0xbbf8), (0x3c01, 0x3ee2), (0xb80f, 0xb65e)];

    #[test]
    fn each_step_of_expm1_is_rounded() {
        let value = |code: u16| DType::F16.format().expect("a float").decode(u64::from(code)) as f32;
        let mut values = EXPONENTIALS.map(|(argument, _)| value(argument));
        assert!(apply(Unary::ExponentialMinusOne, &mut values, Estimate::Zen4));
        assert_eq!(values, EXPONENTIALS.map(|(_, result)| value(result)));
    }
}
