//! The exact sum of f64 numbers, rounded once to f32.

/// A sum as an expansion: numbers whose exact sum is the exact sum of all that was added (Shewchuk 1997).
#[derive(Clone, Debug, Default)]
pub(super) struct ExactSum {
    /// Nonoverlapping, by ascending magnitude.
    parts: Vec<f64>,
    /// Infinities and NaNs, which no expansion holds.
    special: f64,
}

impl ExactSum {
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.special += value;
            return;
        }
        let mut carried = value;
        let mut kept = 0;
        for at in 0..self.parts.len() {
            let part = self.parts[at];
            let sum = carried + part;
            let t = sum - carried;
            let error = (carried - (sum - t)) + (part - t);
            if error != 0.0 {
                self.parts[kept] = error;
                kept += 1;
            }
            carried = sum;
        }
        self.parts.truncate(kept);
        if carried != 0.0 {
            self.parts.push(carried);
        }
    }

    /// The sum rounded to nearest even. Two roundings are made one by rounding to odd in f64 first (Boldo and
    /// Melquiond 2008): 53 bits are more than 24 + 2.
    pub fn to_f32(&self) -> f32 {
        if self.special != 0.0 || self.special.is_nan() {
            return self.special as f32;
        }
        // Nonoverlapping parts may still be adjacent, as 64 and 256 are after a cancellation: add from the top until an
        // addition rounds. Its error is below the sum's last place and outweighs all parts under it.
        let (mut head, mut error) = (0.0, 0.0);
        for part in self.parts.iter().rev() {
            let sum = head + part;
            error = part - (sum - head);
            head = sum;
            if error != 0.0 {
                break;
            }
        }
        let odd = if error == 0.0 || head.to_bits() & 1 == 1 {
            head
        } else if (error > 0.0) == (head > 0.0) {
            f64::from_bits(head.to_bits() + 1)
        } else {
            f64::from_bits(head.to_bits() - 1)
        };
        odd as f32
    }
}

#[cfg(test)]
mod tests {
    use super::ExactSum;
    use proptest::prelude::*;
    use rug::Float;

    /// Found where a large part cancels: what is left of it is followed by a part of nearly its size.
    #[test]
    fn parts_left_by_a_cancellation_all_count() {
        let mut sum = ExactSum::default();
        [2f64.powi(60), 256.0, 64.0, -(2f64.powi(60))].iter().for_each(|v| sum.add(*v));
        assert_eq!(sum.to_f32(), 320.0);
    }

    proptest! {
        #[test]
        fn sums_round_once(values in prop::collection::vec(any::<f32>(), 1..40), scale in -60i32..60) {
            let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite())
                .flat_map(|v| [f64::from(v), f64::from(v) * 2f64.powi(scale) * (1.0 + 2f64.powi(-20))]).collect();
            let mut sum = ExactSum::default();
            values.iter().for_each(|v| sum.add(*v));
            let wide: Vec<Float> = values.iter().map(|v| Float::with_val(53, *v)).collect();
            let exact = Float::with_val(2000, Float::sum(wide.iter()));
            prop_assert_eq!(sum.to_f32(), exact.to_f32());
        }
    }
}
