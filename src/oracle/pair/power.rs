//! Powers of pairs: each bound is the sum of the bounds of pair arithmetic.

use super::basic::is_moderate;
use super::{IRREGULAR, Pair, Tables, div, exp, log, mul, rsqrt, sqrt};

/// `x^y`: by products, quotients and roots for the exponents 2, 3, 4, 1, -1, -2, 1/2 and -1/2, which keep what is exact, else
/// `e^(y ln x)`.
///
/// Proof. The first hold for any x for which their operations are regular, of either sign where the exponent is an integer;
/// no root is regular below zero. `y ln x` is regular for positive x only, and not for 1; it is within 2^-97.9 of itself,
/// below 709, and so within 2^-88.4: that is the relative error of the power, besides 2^-100. Errors of x and y are
/// carried by the logarithm, the product and the exponential.
#[inline(always)]
pub fn power(x: Pair, y: Pair, tables: &Tables) -> Pair {
    let one = Pair::exact(1.0);
    if y.error != 0.0 || y.lo != 0.0 {
        return exp(mul(y, log(x, tables)), tables);
    }
    if y.hi == 2.0 {
        mul(x, x)
    } else if y.hi == 3.0 {
        mul(mul(x, x), x)
    } else if y.hi == 4.0 {
        let square = mul(x, x);
        mul(square, square)
    } else if y.hi == 1.0 {
        if is_moderate(x.hi) && x.error < f64::INFINITY { x } else { IRREGULAR }
    } else if y.hi == -1.0 {
        div(one, x)
    } else if y.hi == -2.0 {
        div(one, mul(x, x))
    } else if y.hi == 0.5 {
        sqrt(x)
    } else if y.hi == -0.5 {
        rsqrt(x)
    } else {
        exp(mul(y, log(x, tables)), tables)
    }
}
