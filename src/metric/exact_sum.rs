//! Sums without rounding error.

/// A sum of f64 terms, exact until [`ExactSum::value`] rounds it once to nearest even: the same bits whatever the order
/// of the terms and however they were split into parts.
///
/// Source: J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, Discrete
/// Comput. Geom. 18 (1997) 305-363, GROW-EXPANSION; the closing rounding follows CPython's `math.fsum`.
#[derive(Clone, Debug, Default)]
pub struct ExactSum {
    /// Non-overlapping parts of the sum, smallest first.
    parts: Vec<f64>,
    /// The plain sum of the terms that are not finite: an infinity, or NaN; 0 without any.
    special: f64,
}

impl ExactSum {
    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        if !term.is_finite() {
            self.special += term;
            return;
        }
        let mut carried = term;
        let mut kept = 0;
        for i in 0..self.parts.len() {
            let part = self.parts[i];
            let (large, small) = if carried.abs() < part.abs() { (part, carried) } else { (carried, part) };
            let sum = large + small;
            let lost = small - (sum - large);
            if lost != 0.0 {
                self.parts[kept] = lost;
                kept += 1;
            }
            carried = sum;
        }
        self.parts.truncate(kept);
        if carried.is_finite() {
            self.parts.push(carried);
        } else {
            // The sum left the range of f64: an infinity from here on.
            self.parts.clear();
            self.special += carried;
        }
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &ExactSum) {
        self.special += other.special;
        other.parts.iter().for_each(|part| self.add(*part));
    }

    /// The sum, rounded to nearest even; 0 without terms.
    pub fn value(&self) -> f64 {
        if self.special != 0.0 {
            return self.special;
        }
        let Some((top, rest)) = self.parts.split_last() else { return 0.0 };
        let mut sum = *top;
        let mut rest = rest.iter().rev();
        let mut lost = 0.0;
        for part in rest.by_ref() {
            let before = sum;
            sum = before + part;
            lost = part - (sum - before);
            if lost != 0.0 {
                break;
            }
        }
        // What was lost is at most half a place. If exactly half, the next part decides, on the same side of it.
        if rest.next().is_some_and(|next| (lost < 0.0) == (*next < 0.0) && *next != 0.0) {
            let doubled = 2.0 * lost;
            let moved = sum + doubled;
            if moved - sum == doubled {
                sum = moved;
            }
        }
        sum
    }
}

impl Extend<f64> for ExactSum {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, terms: T) {
        terms.into_iter().for_each(|term| self.add(term));
    }
}

impl FromIterator<f64> for ExactSum {
    fn from_iter<T: IntoIterator<Item = f64>>(terms: T) -> ExactSum {
        let mut sum = ExactSum::default();
        sum.extend(terms);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::ExactSum;
    use proptest::prelude::*;
    use rug::Float;

    fn reference(terms: &[f64]) -> f64 {
        let terms: Vec<Float> = terms.iter().map(|t| Float::with_val(53, *t)).collect();
        Float::with_val(53, Float::sum(terms.iter())).to_f64()
    }

    #[test]
    fn half_way_cases_and_specials() {
        let sum = |terms: &[f64]| terms.iter().copied().collect::<ExactSum>().value();
        let (tie, tiny) = (2f64.powi(-53), 2f64.powi(-200));
        assert_eq!(sum(&[]), 0.0);
        assert_eq!(sum(&[1.0, tie]), 1.0);
        assert_eq!(sum(&[1.0, tie, tiny]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[1.0, tie, -tiny]), 1.0);
        assert_eq!(sum(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum(&[1.0, f64::INFINITY, -1e300]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, 1.0]), f64::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
    }

    proptest! {
        #[test]
        fn equals_the_correctly_rounded_sum_in_any_split(
            terms in prop::collection::vec((-1.0f64..1.0, -80i32..80), 0..60),
            cut in 0usize..60,
        ) {
            let mut terms: Vec<f64> = terms.iter().map(|(m, e)| m * 2f64.powi(*e)).collect();
            let whole: ExactSum = terms.iter().copied().collect();
            prop_assert_eq!(whole.value(), reference(&terms));
            let cut = cut.min(terms.len());
            let (head, tail) = terms.split_at_mut(cut);
            tail.reverse();
            let mut merged: ExactSum = tail.iter().copied().collect();
            merged.merge(&head.iter().copied().collect());
            prop_assert_eq!(merged.value().to_bits(), whole.value().to_bits());
        }
    }
}
