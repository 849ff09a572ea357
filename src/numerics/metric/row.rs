//! Rows as probability distributions.

use crate::num::Format;

use super::element::absolute_error;
use super::exact_sum::ExactSum;
use super::{Sample, Term};

/// One row of output beside its truth.
pub(super) struct Row<'a> {
    /// The computed values.
    pub got: &'a [f64],
    /// The real values, rounded to f64.
    pub truth: &'a [f64],
    /// The format of the output's dtype.
    format: &'static Format,
}

/// One term of weight 1 for each row, at the index of its first element.
pub(super) fn each_row(sample: &Sample, put: &mut dyn FnMut(Term), value: impl Fn(&Row) -> f64) {
    let length = sample.row_len.max(1);
    for (i, (got, truth)) in sample.got.chunks(length).zip(sample.truth.chunks(length)).enumerate() {
        let row = Row { got, truth, format: sample.format };
        put(Term { index: sample.first_index + i * length, value: value(&row), weight: 1.0 });
    }
}

impl Row<'_> {
    /// KL(p || q) in nats, with p = truth / sum, q = output / sum. Infinite where q is 0 and p is not.
    ///
    /// Computed as `sum p f((y - t) / t) / P - f((Y - P) / P)` with f(x) = x - ln(1 + x) and P, Y the sums of truth t and
    /// output y: no term is negative and nothing cancels, so that the 1e-15 of an f32 softmax is not lost in rounding.
    pub fn kl(&self) -> f64 {
        if !is_distribution(self.got) || !is_distribution(self.truth) {
            return self.same_or_infinite();
        }
        let whole = |values: &[f64]| values.iter().copied().collect::<ExactSum>();
        let truth = whole(self.truth).value();
        let mut excess = whole(self.got);
        excess.extend(self.truth.iter().map(|t| -t));
        let mut sum = ExactSum::default();
        for (y, t) in self.got.iter().zip(self.truth) {
            if *y == 0.0 && *t > 0.0 {
                return f64::INFINITY;
            }
            sum.add(if *t == 0.0 { *y } else { divergence(*y, *t, y - t) });
        }
        let excess = excess.value();
        let whole_divergence = divergence(truth + excess, truth, excess);
        (sum.value() / truth - whole_divergence / truth).max(0.0)
    }

    /// Half of `sum |q - p|`.
    pub fn total_variation(&self) -> f64 {
        if !is_distribution(self.got) || !is_distribution(self.truth) {
            return self.same_or_infinite();
        }
        let whole = |values: &[f64]| values.iter().copied().collect::<ExactSum>().value();
        let (got, truth) = (whole(self.got), whole(self.truth));
        let apart = |(y, t): (&f64, &f64)| (y / got - t / truth).abs();
        self.got.iter().zip(self.truth).map(apart).collect::<ExactSum>().value() / 2.0
    }

    /// The distance of a row that is no distribution: zero if output and truth agree throughout (a row of NaN is right
    /// if NaN is due), infinite otherwise.
    fn same_or_infinite(&self) -> f64 {
        let same = self.got.iter().zip(self.truth).all(|(y, t)| absolute_error(self.format, *y, *t) == 0.0);
        if same { 0.0 } else { f64::INFINITY }
    }
}

/// Whether dividing by the sum gives probabilities.
fn is_distribution(values: &[f64]) -> bool {
    values.iter().all(|v| *v >= 0.0 && v.is_finite()) && values.iter().any(|v| *v > 0.0)
}

/// `t f(x)` with x = (y - t) / t and f(x) = x - ln(1 + x), for y and t above 0 and `difference` = y - t, which may be known
/// better than y. Never negative.
fn divergence(y: f64, t: f64, difference: f64) -> f64 {
    let x = difference / t;
    if x.abs() > 0.25 {
        // Two logarithms instead of one of the quotient, which may overflow.
        return difference - t * (core_math::log(y) - core_math::log(t));
    }
    // ln(1 + x) = 2 artanh u = 2 (u + u^3/3 + u^5/5 + ...) with u = x / (2 + x), and x - 2u = x u: the cancelling part
    // is gone. |u| <= 1/7, so that the first term left out, u^24/25, is below 2^-67.
    let u = x / (2.0 + x);
    let squared = u * u;
    let mut series = 0.0;
    for odd in (1..=11).rev() {
        series = series * squared + 1.0 / f64::from(2 * odd + 1);
    }
    t * u * (x - 2.0 * squared * series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::F32;
    use rug::Float;

    fn row<'a>(got: &'a [f64], truth: &'a [f64]) -> Row<'a> {
        Row { got, truth, format: &F32 }
    }

    fn reference(got: &[f64], truth: &[f64]) -> (f64, f64) {
        let wide = |v: f64| Float::with_val(400, v);
        let total = |v: &[f64]| v.iter().fold(wide(0.0), |sum, x| sum + *x);
        let (sum_y, sum_t) = (total(got), total(truth));
        let (mut kl, mut variation) = (wide(0.0), wide(0.0));
        for (y, t) in got.iter().zip(truth) {
            let (q, p): (Float, Float) = (wide(*y) / &sum_y, wide(*t) / &sum_t);
            variation += Float::with_val(400, &q - &p).abs() / 2u32;
            if *t > 0.0 {
                let quotient: Float = p.clone() / q;
                kl += p * quotient.ln();
            }
        }
        (kl.to_f64(), variation.to_f64())
    }

    #[test]
    fn distances_agree_with_mpfr_from_tiny_to_large() {
        let truth: Vec<f64> = (0..300).map(|i| 1.0 / f64::from(1 + i * i)).collect();
        for size in [1e-12, 1e-8, 1e-3, 0.2, 0.9] {
            let shaken: Vec<f64> =
                truth.iter().enumerate().map(|(i, t)| t * (1.0 + size * ((i * 7 % 11) as f64 / 5.0 - 1.0))).collect();
            let (kl, variation) = reference(&shaken, &truth);
            let (got_kl, got_variation) = (row(&shaken, &truth).kl(), row(&shaken, &truth).total_variation());
            assert!((got_kl - kl).abs() < 1e-13 * kl, "{size}: {got_kl} {kl}");
            assert!(
                (got_variation - variation).abs() < 2e-16 + 1e-14 * variation,
                "{size}: {got_variation} {variation}"
            );
        }
        let (far, near) = ([1e-320, 1.0], [1.0, 1e-320]);
        assert!((row(&far, &near).kl() - reference(&far, &near).0).abs() < 1e-12);
        // Scaling the output is no divergence.
        let double: Vec<f64> = truth.iter().map(|t| 3.0 * t).collect();
        assert!(row(&double, &truth).kl() < 1e-15);
        assert!(row(&double, &truth).total_variation() < 1e-15);
    }

    #[test]
    fn lost_mass_is_infinite_and_specials_agree_or_not() {
        assert_eq!(row(&[0.0, 1.0], &[0.1, 0.9]).kl(), f64::INFINITY);
        assert_eq!(row(&[0.5, 0.5], &[0.0, 1.0]).kl(), core_math::log(2.0));
        assert_eq!(row(&[0.5, 0.5], &[0.0, 1.0]).total_variation(), 0.5);
        let nan = [f64::NAN, f64::NAN];
        assert_eq!(row(&nan, &nan).kl(), 0.0);
        assert_eq!(row(&nan, &[0.5, 0.5]).kl(), f64::INFINITY);
        assert_eq!(row(&[0.5, 0.5], &nan).total_variation(), f64::INFINITY);
        assert_eq!(row(&[-0.1, 1.1], &[0.1, 0.9]).kl(), f64::INFINITY);
        assert_eq!(row(&[0.0, 0.0], &[0.1, 0.9]).kl(), f64::INFINITY);
    }
}
