//! Student's t distribution.

use std::f64::consts::FRAC_2_PI;

use super::bisect::last_true;

/// P(T <= `t`) for Student's t with `dof` degrees of freedom, `dof` at least 1.
///
/// A finite sum of powers of the cosine of atan(t / sqrt(dof)): Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 26.7.3 (odd) and 26.7.4 (even).
pub fn t_cdf(t: f64, dof: u32) -> f64 {
    (1.0 + central(t.abs(), dof).copysign(t)) / 2.0
}

/// The `t` with P(T <= t) = `probability`, for a probability in (0.5, 1) and `dof` of at least 1; `None` outside.
/// Right to about 1e-15 / (1 - probability), relatively.
pub fn t_quantile(probability: f64, dof: u32) -> Option<f64> {
    if !(probability > 0.5 && probability < 1.0) || dof == 0 {
        return None;
    }
    let inside = 2.0 * probability - 1.0;
    Some(last_true(0.0, f64::MAX, |t| central(t, dof) < inside))
}

/// P(|T| <= `t`), t >= 0.
fn central(t: f64, dof: u32) -> f64 {
    let nu = f64::from(dof);
    let tangent = t / nu.sqrt();
    // 1 / hypot, written so that a huge tangent gives a cosine of 0 and not NaN.
    let cosine = if tangent > 1e150 { 1.0 / tangent } else { 1.0 / (1.0 + tangent * tangent).sqrt() };
    let sine = tangent * cosine;
    let odd = dof % 2 == 1;
    // Horner's rule from the last term inward: 1 + c_1 (1 + c_2 (1 + ...)).
    let terms = if odd { (dof - 1) / 2 } else { dof / 2 };
    let mut sum = if terms == 0 { 0.0 } else { 1.0 };
    for j in (1..terms).rev() {
        let j = f64::from(j);
        let ratio = if odd { 2.0 * j / (2.0 * j + 1.0) } else { (2.0 * j - 1.0) / (2.0 * j) };
        sum = 1.0 + sum * ratio * (cosine * cosine);
    }
    if odd { FRAC_2_PI * (core_math::atan(tangent) + sine * cosine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2: upper critical values, three decimals.
    #[test]
    fn quantiles_are_those_of_the_nist_table() {
        let table = [
            (1, 12.706, 63.657),
            (2, 4.303, 9.925),
            (3, 3.182, 5.841),
            (4, 2.776, 4.604),
            (5, 2.571, 4.032),
            (6, 2.447, 3.707),
            (7, 2.365, 3.499),
            (8, 2.306, 3.355),
            (9, 2.262, 3.250),
            (10, 2.228, 3.169),
            (15, 2.131, 2.947),
            (20, 2.086, 2.845),
            (25, 2.060, 2.787),
            (30, 2.042, 2.750),
            (100, 1.984, 2.626),
        ];
        for (dof, q975, q995) in table {
            assert!((t_quantile(0.975, dof).unwrap() - q975).abs() < 5.1e-4, "dof {dof}");
            assert!((t_quantile(0.995, dof).unwrap() - q995).abs() < 5.1e-4, "dof {dof}");
        }
        // Closed form for two degrees of freedom: t = (2p - 1) / sqrt(2 p (1 - p)).
        let closed = 0.95 / (2.0f64 * 0.975 * 0.025).sqrt();
        assert!((t_quantile(0.975, 2).unwrap() - closed).abs() < 1e-13);
    }

    #[test]
    fn distribution_and_quantile_are_inverse() {
        for dof in [1, 2, 3, 7, 30, 1001] {
            assert_eq!(t_cdf(0.0, dof), 0.5);
            for p in [0.6, 0.9, 0.975, 0.9999] {
                let t = t_quantile(p, dof).unwrap();
                assert!((t_cdf(t, dof) - p).abs() < 1e-14);
                assert!((t_cdf(-t, dof) - (1.0 - p)).abs() < 1e-14);
            }
        }
        assert_eq!(t_quantile(0.5, 3), None);
        assert_eq!(t_quantile(0.975, 0), None);
    }
}
