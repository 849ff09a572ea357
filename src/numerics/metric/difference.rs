//! Differences between numbers and those that they are held to, pair by pair, where no sum has to be exact.

/// Root mean square of the difference over that of what is held to, of pairs of a number and that; pairs that are not finite are left
/// out. 0 where nothing differs, infinite where all that is held to is zero.
pub fn relative_rms(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let finite = pairs.into_iter().filter(|(got, held_to)| got.is_finite() && held_to.is_finite());
    let (difference, size) = finite.fold((0.0, 0.0), |(difference, size), (got, held_to)| {
        (difference + (got - held_to) * (got - held_to), size + held_to * held_to)
    });
    if difference == 0.0 { 0.0 } else { (difference / size).sqrt() }
}

/// The largest finite value of those that were offered, the first of equal ones, with its place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Largest(Option<(f64, usize)>);

impl Largest {
    /// Offers a value; one that is not finite is passed over.
    pub fn offer(&mut self, value: f64, place: usize) {
        if value.is_finite() && self.0.is_none_or(|(largest, _)| value > largest) {
            self.0 = Some((value, place));
        }
    }

    /// The value and its place; `None` where none was finite.
    pub fn get(self) -> Option<(f64, usize)> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Largest, relative_rms};

    #[test]
    fn finite_pairs_alone_count() {
        assert_eq!(relative_rms([(2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)]), 1.0);
        assert_eq!(relative_rms([(0.0, 0.0)]), 0.0);
        assert_eq!(relative_rms([(1.0, 0.0)]), f64::INFINITY);
    }

    #[test]
    fn the_first_of_the_largest_stays() {
        let mut largest = Largest::default();
        assert_eq!(largest.get(), None);
        [1.0, 3.0, f64::INFINITY, 3.0, 2.0].into_iter().enumerate().for_each(|(at, value)| largest.offer(value, at));
        assert_eq!(largest.get(), Some((3.0, 1)));
    }
}
