//! Interval for a rate from a count.

use super::bisect::last_true;

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, part of it.
    pub low: f64,
    /// The upper end, part of it.
    pub high: f64,
}

/// Clopper-Pearson interval for the probability behind `successes` out of `trials`, at `confidence` in (0, 1).
///
/// Chosen over Wilson's because its coverage is never below `confidence`, at any rate: what is reported here are rates
/// of failures, often 0 or 1 out of a few thousand rows, where Wilson's coverage dips. `None` for no trials, more
/// successes than trials, or a confidence outside (0, 1).
///
/// Source: C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404-413. Each end solves "tail = (1 - confidence) / 2".
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> Option<Interval> {
    if trials == 0 || successes > trials || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    // P(X >= successes) grows with the probability, P(X <= successes) falls: one crossing each.
    let low = match successes {
        0 => 0.0,
        _ => last_true(0.0, 1.0, |p| upper_tail(successes, trials, p) < tail),
    };
    let high = match successes {
        s if s == trials => 1.0,
        // Counting failures instead: P(X <= s) at p is P(trials - X >= trials - s) at 1 - p.
        s => 1.0 - last_true(0.0, 1.0, |q| upper_tail(trials - s, trials, q) < tail),
    };
    Some(Interval { low, high })
}

/// P(X >= `k`) for X binomial(`n`, `p`), 1 <= k <= n.
///
/// The terms are built by their ratios from the largest one outward and divided by their own total, so no factorial or
/// gamma function enters. Cost: the terms within some forty standard deviations.
fn upper_tail(k: u64, n: u64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let odds = p / (1.0 - p);
    let mode = (((n as f64 + 1.0) * p) as u64).min(n);
    let (mut below, mut above) = (0.0, 0.0);
    let mut count = |j: u64, term: f64| if j >= k { above += term } else { below += term };
    count(mode, 1.0);
    let mut term = 1.0;
    for j in mode + 1..=n {
        term *= (n - j + 1) as f64 / j as f64 * odds;
        if term < NEGLIGIBLE {
            break;
        }
        count(j, term);
    }
    term = 1.0;
    for j in (0..mode).rev() {
        term *= (j + 1) as f64 / (n - j) as f64 / odds;
        if term < NEGLIGIBLE {
            break;
        }
        count(j, term);
    }
    above / (above + below)
}

/// Terms this far below the largest one cannot move a tail of 1e-12 or more in its twelfth digit.
const NEGLIGIBLE: f64 = 1e-40;

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends in closed form: with no success `high = 1 - (alpha/2)^(1/n)`, and mirrored with no failure.
    #[test]
    fn ends_without_success_or_failure_are_the_closed_form() {
        for n in [1u64, 10, 365, 100_000] {
            let expected = 1.0 - core_math::pow(0.025, 1.0 / n as f64);
            let none = clopper_pearson(0, n, 0.95).unwrap();
            assert_eq!(none.low, 0.0);
            assert!((none.high - expected).abs() < 1e-12 * n as f64, "n = {n}: {} {expected}", none.high);
            let all = clopper_pearson(n, n, 0.95).unwrap();
            assert_eq!(all.high, 1.0);
            assert!((all.low - (1.0 - expected)).abs() < 1e-12 * n as f64);
        }
    }

    /// Each end makes its tail equal to 2.5 %; the tails are summed exactly in MPFR.
    #[test]
    fn tails_at_the_ends_are_as_asked() {
        use rug::{Assign, Float, Integer};
        let tail = |n: u64, p: f64, from: u64, to: u64| {
            let p = Float::with_val(300, p);
            let q = Float::with_val(300, 1u32 - &p);
            let mut total = Float::with_val(300, 0);
            let mut choose = Integer::from(1);
            let mut term = Float::new(300);
            for j in 0..=n {
                if j > 0 {
                    choose *= n - j + 1;
                    choose /= j;
                }
                if (from..=to).contains(&j) {
                    term.assign(&choose);
                    term *= rug::ops::Pow::pow(p.clone(), j as u32);
                    term *= rug::ops::Pow::pow(q.clone(), (n - j) as u32);
                    total += &term;
                }
            }
            total.to_f64()
        };
        for (k, n) in [(1, 10), (5, 10), (3, 2000), (802, 2000), (1999, 2000)] {
            let interval = clopper_pearson(k, n, 0.95).unwrap();
            assert!((tail(n, interval.low, k, n) - 0.025).abs() < 1e-12, "{k} of {n}");
            assert!((tail(n, interval.high, 0, k) - 0.025).abs() < 1e-12, "{k} of {n}");
        }
    }

    #[test]
    fn nonsense_has_no_interval() {
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
        assert_eq!(clopper_pearson(3, 2, 0.95), None);
        assert_eq!(clopper_pearson(1, 2, 1.0), None);
        assert_eq!(clopper_pearson(1, 2, f64::NAN), None);
    }
}
