//! The enclosure of one number in every form of its expression, from its span: a bound of the products and quotients on the way.

use crate::ir::{Binary, Op, Unary};

use super::super::interval::Interval;

/// Binary exponents up to which products and quotients are normal numbers of f32, with some room.
pub(super) const NORMAL: f64 = 120.0;

/// The latitude of all forms of an expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forms {
    /// Off by this share of itself, or of a sum or difference by this share of the magnitudes of both operands.
    pub share: f64,
    /// And by so much.
    pub absolute: f64,
    /// Whether zeros may be of either sign, and NaN may be a number.
    pub forgets_signs: bool,
}

impl Forms {
    /// The latitude of both together.
    pub(super) fn or(self, other: Forms) -> Forms {
        Forms {
            share: self.share.max(other.share),
            absolute: self.absolute.max(other.absolute),
            forgets_signs: self.forgets_signs || other.forgets_signs,
        }
    }
}

/// The span of a number that is no expression itself.
pub(super) fn span(x: Interval) -> Interval {
    // Above the binary logarithm by one at most.
    let exponent = |x: f64| if x == 0.0 { 0.0 } else { ((x.to_bits() >> 52 & 0x7ff) as f64) - 1022.0 };
    let (least, largest) = if x.lo > 0.0 || x.hi < 0.0 {
        (x.lo.abs().min(x.hi.abs()), x.lo.abs().max(x.hi.abs()))
    } else {
        (0.0, x.lo.abs().max(x.hi.abs()))
    };
    let as_factor = exponent(largest).max(0.0);
    // A divisor that may be zero has no quotient; one that is zero gives what every form gives.
    let is_open = least == 0.0 && largest > 0.0;
    let as_divisor = if is_open { f64::INFINITY } else { exponent(largest).abs().max(exponent(least).abs() + 1.0) };
    if x.is_nan() { Interval::exact(0.0) } else { Interval { lo: as_factor, hi: as_divisor } }
}

/// The span of a result from those of its operands.
pub(super) fn span_of_result(op: &Op, spans: &[Interval], operands: &[Interval], result: Interval) -> Interval {
    let own = span(result);
    match (op, spans) {
        (Op::Binary(Binary::Multiply), [a, b]) => Interval { lo: a.lo + b.lo, hi: a.hi + b.hi },
        (Op::Binary(Binary::Divide), [a, b]) => Interval { lo: a.lo + b.hi, hi: a.hi + b.hi },
        (Op::Binary(Binary::Add | Binary::Subtract), [a, b]) => {
            // A common factor may be taken out of a sum that is small.
            let reach = a.lo.max(b.lo) + 1.0;
            Interval { lo: reach, hi: own.hi + reach }
        }
        (Op::Binary(Binary::Power), [a, _]) => match operands[1] {
            exponent if exponent.is_exact() && exponent.lo.abs() <= 3.0 => {
                let times = exponent.lo.abs().max(1.0);
                let factor = if exponent.lo < 0.0 { a.hi } else { a.lo };
                Interval { lo: times * factor, hi: times * a.hi }
            }
            _ => own,
        },
        (Op::Unary(Unary::Sqrt), [a]) => *a,
        (Op::Unary(Unary::Rsqrt), [a]) => Interval { lo: a.hi, hi: a.hi },
        // Its exponent may be added to others: what underflows by itself need not together.
        (Op::Unary(Unary::Exponential), _) if own.hi > NORMAL => Interval { lo: f64::INFINITY, hi: f64::INFINITY },
        _ => own,
    }
}

/// A real number, widened by the error of every form. `magnitudes` is the sum of magnitudes that a sum adds up; `reach`
/// bounds the binary exponents on the way.
pub(super) fn widen_to_forms(x: Interval, reach: f64, forms: &Forms, magnitudes: Option<f64>) -> Interval {
    if x.is_nan() {
        return if forms.forgets_signs { Interval::UNKNOWN } else { x };
    }
    let is_zero = x.lo == 0.0 && x.hi == 0.0;
    if is_zero && forms.forgets_signs {
        return Interval::SIGNLESS_ZERO;
    }
    if forms.share == 0.0 || x.is_exact() && x.lo.is_infinite() {
        return x;
    }
    if x.is_unknown() || reach.is_nan() || reach > NORMAL {
        return Interval::UNKNOWN;
    }
    let base = |end: f64| magnitudes.unwrap_or(end.abs());
    // A product that a zero is a factor of is zero in every form.
    if is_zero && base(0.0) == 0.0 {
        return x;
    }
    // What underflows on the way is multiplied by no more than what is left.
    let lost = 2f64.powi((reach - NORMAL).ceil() as i32);
    let error = |end: f64| (((forms.share * base(end)).next_up() + forms.absolute).next_up() + lost).next_up();
    Interval { lo: (x.lo - error(x.lo)).next_down(), hi: (x.hi + error(x.hi)).next_up() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An end is off by its share at least, of its own magnitude or of those that a sum adds up; what holds of x holds of -x.
    #[test]
    fn negative_numbers_are_widened_as_positive_ones_are() {
        let share = 2f64.powi(-20);
        let forms = Forms { share, ..Forms::default() };
        for (lo, hi) in [(1.0, 1.0), (1.0, 3.0), (2.5e-9, 7e8), (-2.0, 3.0), (-5.0, -5.0), (-7e8, -0.1)] {
            for magnitudes in [None, Some(1e9)] {
                let plain = widen_to_forms(Interval { lo, hi }, 1.0, &forms, magnitudes);
                let mirrored = widen_to_forms(Interval { lo: -hi, hi: -lo }, 1.0, &forms, magnitudes);
                assert_eq!((mirrored.lo, mirrored.hi), (-plain.hi, -plain.lo), "{lo} to {hi}");
                let least = |end: f64| share * magnitudes.unwrap_or(end.abs());
                assert!(lo - plain.lo >= least(lo) && plain.hi - hi >= least(hi), "{lo} to {hi}: {plain:?}");
                assert!(
                    lo - plain.lo <= 1.001 * least(lo) && plain.hi - hi <= 1.001 * least(hi),
                    "{lo} to {hi}: {plain:?}"
                );
            }
        }
    }
}
