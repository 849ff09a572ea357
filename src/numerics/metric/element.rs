//! Errors of single elements.

use crate::num::{Direction, Format, Specials, round_f64};

use super::{Sample, Term};

/// |y - t| in the output's unit, for an output `got` = y of `format` and the real value `truth` = t.
///
/// Equal specials and two NaNs are 0 apart; a finite value is infinitely far from one that is not. A truth so large that
/// `format` rounds it to its infinity (or to NaN or its largest number, where it has none) counts as that: overflow where it
/// is due is right. So does a truth that has no sign or no NaN in the format.
pub fn absolute_error(format: &Format, got: f64, truth: f64) -> f64 {
    // Only a truth beyond the numbers of the format, or one without a sign there, is rounded: all others stand as they are.
    let is_beyond = truth.is_nan() || truth.abs() > format.max_finite();
    let truth = if is_beyond || format.specials == Specials::PowersOfTwo {
        let rounded = round_f64(format, truth, Direction::NearestEven);
        // A format without specials has its largest number there. Elsewhere only a special of the format stands for a truth.
        if format.specials == Specials::Finite || !rounded.is_finite() { rounded } else { truth }
    } else {
        truth
    };
    if got == truth || got.is_nan() && truth.is_nan() {
        0.0
    } else if got.is_finite() && truth.is_finite() {
        (got - truth).abs()
    } else {
        f64::INFINITY
    }
}

/// [`absolute_error`] in fractional units in the last place of `format` at the unrounded truth ([`Format::ulp`]).
pub fn ulp_error(format: &Format, got: f64, truth: f64) -> f64 {
    let error = absolute_error(format, got, truth);
    // A zero or infinite error is so in every unit; the truth may have no ulp.
    if error == 0.0 || error.is_infinite() { error } else { error / format.ulp(truth) }
}

/// `error / by`: 0 for an error of 0 whatever the measure, and infinite for any other error by a measure of zero.
pub(super) fn relative(error: f64, by: f64) -> f64 {
    if error == 0.0 {
        0.0
    } else if by > 0.0 {
        error / by
    } else {
        f64::INFINITY
    }
}

/// One term of weight 1 for each element, its value a function of output, truth and position in the sample.
pub(super) fn each(sample: &Sample, put: &mut dyn FnMut(Term), value: impl Fn(f64, f64, usize) -> f64) {
    for (i, (got, truth)) in sample.got.iter().zip(sample.truth).enumerate() {
        put(Term { index: sample.first_index + i, value: value(*got, *truth, i), weight: 1.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{BF16, F4E2M1FN, F8E4M3FN, F8E8M0FNU, F32, F64};

    #[test]
    fn ulps_are_those_of_the_truth() {
        // Just below a binade the spacing is the lower one's: 2^-8 for bf16 below 1.
        assert_eq!(ulp_error(&BF16, 1.0, 1.0 - 2f64.powi(-9)), 0.5);
        assert_eq!(ulp_error(&BF16, 1.0, 1.0 + 2f64.powi(-8)), 0.5);
        assert_eq!(ulp_error(&BF16, -1.0, 1.0), 256.0);
        // Below the normal range the spacing stays.
        assert_eq!(ulp_error(&F32, 0.0, 1e-45), 1e-45 / 2f64.powi(-149));
        assert_eq!(ulp_error(&F32, -0.0, 0.0), 0.0);
        assert_eq!(ulp_error(&F64, 1.0 + f64::EPSILON, 1.0), 1.0);
    }

    #[test]
    fn specials() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (got, truth, expected) in [
            (inf, inf, 0.0),
            (-inf, inf, inf),
            (nan, nan, 0.0),
            (nan, -nan, 0.0),
            (nan, 1.0, inf),
            (1.0, nan, inf),
            (inf, nan, inf),
            (1.0, inf, inf),
            (inf, 1.0, inf),
            // Overflow: 1e39 rounds to infinity in f32, the largest number does not.
            (inf, 1e39, 0.0),
            (F32.max_finite(), 1e39, inf),
            (F32.max_finite(), F32.max_finite() * (1.0 + 1e-9), F32.max_finite() * 1e-9 / 2f64.powi(104)),
            (inf, F32.max_finite() * (1.0 + 1e-9), inf),
        ] {
            let error = ulp_error(&F32, got, truth);
            assert!(error == expected || (error - expected).abs() < 1e-6 * expected, "{got} {truth}: {error}");
        }
        assert_eq!(ulp_error(&F8E4M3FN, nan, 500.0), 0.0);
        assert_eq!(ulp_error(&F8E4M3FN, 448.0, 460.0), 12.0 / 32.0);
        assert_eq!([ulp_error(&F4E2M1FN, 6.0, 1e9), ulp_error(&F4E2M1FN, -0.0, nan)], [0.0; 2]);
        assert_eq!([ulp_error(&F8E8M0FNU, nan, -3.0), ulp_error(&F8E8M0FNU, nan, 0.0)], [0.0; 2]);
        assert_eq!([ulp_error(&F8E8M0FNU, 1.0, 1.25), ulp_error(&F8E8M0FNU, nan, 1.0)], [0.25, inf]);
    }

    #[test]
    fn relative_to_nothing() {
        assert_eq!(relative(0.0, 0.0), 0.0);
        assert_eq!(relative(1.0, 0.0), f64::INFINITY);
        assert_eq!(relative(1.0, f64::NAN), f64::INFINITY);
        assert_eq!(relative(1.0, 4.0), 0.25);
    }
}
