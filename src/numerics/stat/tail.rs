//! Limits that a statistic of random errors exceeds with a stated probability at most.

use super::bisect::last_true;

/// The `x` with `2 exp(-x^2 / 2) = probability`: a sum of independent errors, each of mean zero and strictly sub-Gaussian (normal
/// ones and uniform ones are), exceeds x of its standard deviations in magnitude with that probability at most.
/// `None` for a probability outside (0, 1).
pub fn deviation_limit(probability: f64) -> Option<f64> {
    (probability > 0.0 && probability < 1.0).then(|| (2.0 * core_math::log(2.0 / probability)).sqrt())
}

/// The limits below and above which the mean of `count` squares of such errors of variance one lies with at most that
/// probability each: Chernoff's bound for the chi-square distribution, `y` with `count (y - 1 - ln y) / 2 = -ln(probability)`.
///
/// The upper limit holds for all strictly sub-Gaussian errors, since `E exp(s z^2)` is at most that of a normal one; the lower
/// one for errors that are no more often near zero than normal ones, as uniform ones are. `count` may be a fraction: that of
/// independent errors with as much variance. `None` for a probability outside (0, 1) or a count that is not positive.
pub fn mean_square_limits(count: f64, probability: f64) -> Option<[f64; 2]> {
    if !(probability > 0.0 && probability < 1.0 && count > 0.0 && count.is_finite()) {
        return None;
    }
    let rate = -2.0 * core_math::log(probability) / count;
    // Each form is without cancellation on its side.
    let below = match rate > 0.5 {
        true => last_true(0.0, 1.0, |y| y - 1.0 - core_math::log(y) > rate),
        false => 1.0 - last_true(0.0, 1.0, |d| -d - core_math::log1p(-d) < rate),
    };
    let above = last_true(0.0, 1e300, |d| d - core_math::log1p(d) < rate);
    Some([below, 1.0 + above])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_solve_their_equations() {
        let x = deviation_limit(1e-6).unwrap();
        assert!((2.0 * (-x * x / 2.0).exp() - 1e-6).abs() < 1e-18);
        for count in [1.0, 16.5, 1000.0, 1e6] {
            for y in mean_square_limits(count, 1e-6).unwrap() {
                let chance = (-count * (y - 1.0 - y.ln()) / 2.0).exp();
                assert!((chance / 1e-6 - 1.0).abs() < 1e-6, "{count} {y} {chance}");
            }
        }
        let [low, high] = mean_square_limits(1e6, 1e-6).unwrap();
        assert!(0.99 < low && low < 1.0 && 1.0 < high && high < 1.01);
        assert_eq!([deviation_limit(0.0), deviation_limit(1.0)], [None; 2]);
        assert_eq!([mean_square_limits(0.0, 0.5), mean_square_limits(4.0, 1.0)], [None; 2]);
    }

    /// Table of the chi-square distribution (NIST/SEMATECH e-Handbook 1.3.6.7.4): its quantiles lie within the limits.
    #[test]
    fn the_limits_of_a_mean_square_hold_those_of_the_chi_square_distribution() {
        for (dof, low, high) in [(10.0, 1.479, 29.588), (30.0, 11.588, 59.703), (100.0, 61.918, 149.449)] {
            let [below, above] = mean_square_limits(dof, 1e-3).unwrap();
            assert!(below * dof < low && above * dof > high, "{dof}: {below} {above}");
        }
    }
}
