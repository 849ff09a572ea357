//! Straight lines through points, and growth exponents.

use super::binomial::Interval;
use super::student::t_quantile;

/// One observation with its weight, the reciprocal of its variance up to a common factor; 1 for all is ordinary least
/// squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedPoint {
    /// The independent variable.
    pub x: f64,
    /// The observation.
    pub y: f64,
    /// Above 0.
    pub weight: f64,
}

/// A fitted line `y = intercept + slope * x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Change of y for a change of x by 1.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// Two-sided interval of the slope at the confidence asked for.
    pub slope_interval: Interval,
    /// Weighted residual standard deviation, `sqrt(sum w r^2 / (points - 2))`.
    pub residual: f64,
    /// The number of fitted points.
    pub points: usize,
}

/// Weighted least squares with the Student-t interval of the slope.
///
/// `None` for fewer than three points, a single x, a weight that is not positive, or a value that is not finite.
/// Source: N. R. Draper, H. Smith, Applied Regression Analysis, 3rd ed., chapters 1 and 9; sums about the weighted
/// means, so that no digits cancel.
pub fn fit_line(points: &[WeightedPoint], confidence: f64) -> Option<Fit> {
    let usable = |p: &WeightedPoint| p.x.is_finite() && p.y.is_finite() && p.weight > 0.0 && p.weight.is_finite();
    if points.len() < 3 || !points.iter().all(usable) || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let sum = |term: &dyn Fn(&WeightedPoint) -> f64| points.iter().map(term).sum::<f64>();
    let total = sum(&|p| p.weight);
    let mean_x = sum(&|p| p.weight * p.x) / total;
    let mean_y = sum(&|p| p.weight * p.y) / total;
    let spread = sum(&|p| p.weight * (p.x - mean_x) * (p.x - mean_x));
    if points.iter().all(|p| p.x == points[0].x) || spread <= 0.0 {
        return None;
    }
    let slope = sum(&|p| p.weight * (p.x - mean_x) * (p.y - mean_y)) / spread;
    let left = |p: &WeightedPoint| p.y - mean_y - slope * (p.x - mean_x);
    let dof = points.len() - 2;
    let residual = (sum(&|p| p.weight * left(p) * left(p)) / dof as f64).sqrt();
    let half = t_quantile(0.5 + confidence / 2.0, u32::try_from(dof).ok()?)? * residual / spread.sqrt();
    Some(Fit {
        slope,
        intercept: mean_y - slope * mean_x,
        slope_interval: Interval { low: slope - half, high: slope + half },
        residual,
        points: points.len(),
    })
}

/// The exponent with which `value` grows with `size`: ordinary least squares of ln(value) on ln(size), given as
/// `(size, value)` pairs. Pairs that have no logarithm (zero or negative) must be dropped by the caller; they give
/// `None`, as does everything that [`fit_line`] refuses.
pub fn fit_log_log(pairs: &[(f64, f64)], confidence: f64) -> Option<Fit> {
    // A logarithm of zero or below is not finite, which fit_line refuses.
    let point =
        |(size, value): &(f64, f64)| WeightedPoint { x: core_math::log(*size), y: core_math::log(*value), weight: 1.0 };
    fit_line(&pairs.iter().map(point).collect::<Vec<_>>(), confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(f64, f64)]) -> Vec<WeightedPoint> {
        values.iter().map(|(x, y)| WeightedPoint { x: *x, y: *y, weight: 1.0 }).collect()
    }

    /// NIST StRD linear regression "Norris": certified slope, intercept, residual and standard error of the slope.
    #[test]
    fn norris_comes_out_as_certified() {
        let y = [
            0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3, 0.1, 778.1, 668.8, 339.3,
            448.9, 10.8, 557.7, 228.3, 998.0, 888.8, 119.6, 0.3, 0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2, 117.6,
            228.9, 668.4, 449.2, 0.2,
        ];
        let x = [
            0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4, 0.6, 775.5, 666.9, 338.0,
            447.5, 11.6, 556.0, 228.1, 995.8, 887.6, 120.2, 0.3, 0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1, 118.3,
            229.2, 669.1, 448.9, 0.5,
        ];
        let pairs: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let fit = fit_line(&points(&pairs), 0.95).unwrap();
        assert!((fit.slope - 1.002_116_818_020_45).abs() < 1e-12, "{fit:?}");
        assert!((fit.intercept + 0.262_323_073_774_029).abs() < 1e-10, "{fit:?}");
        assert!((fit.residual - 0.884_796_396_144_373).abs() < 1e-12, "{fit:?}");
        let deviation = 0.429_796_848_199_937e-3;
        let half = t_quantile(0.975, 34).unwrap() * deviation;
        assert!((fit.slope_interval.high - fit.slope - half).abs() < 1e-12, "{fit:?}");
    }

    #[test]
    fn power_laws_give_their_exponent() {
        let pairs: Vec<(f64, f64)> = (4..12).map(|i| (2f64.powi(i), 3.0 * 2f64.powi(i).sqrt())).collect();
        let fit = fit_log_log(&pairs, 0.95).unwrap();
        assert!((fit.slope - 0.5).abs() < 1e-14);
        assert!((fit.intercept - core_math::log(3.0)).abs() < 1e-13);
        assert!(fit.slope_interval.low <= fit.slope && fit.slope <= fit.slope_interval.high);
    }

    /// An integer weight says the same as repeating the point.
    #[test]
    fn weights_repeat_points() {
        let mut once = points(&[(0.0, 1.0), (1.0, 3.0), (2.0, 4.0), (4.0, 4.5)]);
        let mut twice = once.clone();
        twice.push(once[1]);
        once[1].weight = 2.0;
        let (a, b) = (fit_line(&once, 0.95).unwrap(), fit_line(&twice, 0.95).unwrap());
        assert!((a.slope - b.slope).abs() < 1e-15);
        assert!((a.intercept - b.intercept).abs() < 1e-15);
    }

    #[test]
    fn too_little_to_fit() {
        assert_eq!(fit_line(&points(&[(0.0, 1.0), (1.0, 2.0)]), 0.95), None);
        assert_eq!(fit_line(&points(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), 0.95), None);
        assert_eq!(fit_log_log(&[(1.0, 1.0), (2.0, 0.0), (4.0, 2.0), (8.0, 1.0)], 0.95), None);
    }
}
