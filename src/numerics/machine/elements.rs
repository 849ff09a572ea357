//! The elements of a value: a list that values share, or a stretch of one.

use std::ops::{Deref, Range};
use std::sync::Arc;

/// Elements that are shared until someone changes them. A slice of an array looks at the array's own: a layer's weights in a
/// stack of them are never copied.
#[derive(Clone, Debug)]
pub(super) struct Elements<T> {
    all: Arc<Vec<T>>,
    seen: Range<usize>,
}

impl<T> Elements<T> {
    /// The elements at `range` of these.
    ///
    /// # Panics
    /// If they end before it does.
    pub fn stretch(&self, range: Range<usize>) -> Elements<T> {
        assert!(range.start <= range.end && range.end <= self.len(), "{range:?} of {} elements", self.len());
        let start = self.seen.start;
        Elements { all: Arc::clone(&self.all), seen: start + range.start..start + range.end }
    }

    fn is_whole(&self) -> bool {
        self.seen == (0..self.all.len())
    }
}

impl<T: Clone> Elements<T> {
    /// The elements as a list of their own: copied where others look at them.
    pub fn into_vec(self) -> Vec<T> {
        if self.is_whole() { Arc::unwrap_or_clone(self.all) } else { self.to_vec() }
    }
}

impl<T> From<Vec<T>> for Elements<T> {
    fn from(all: Vec<T>) -> Elements<T> {
        Elements { seen: 0..all.len(), all: Arc::new(all) }
    }
}

impl<T> Deref for Elements<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.seen.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_of_a_stretch_is_of_the_whole() {
        let whole = Elements::from(vec![0, 1, 2, 3, 4, 5]);
        let part = whole.stretch(1..5).stretch(1..3);
        assert_eq!(*part, [2, 3]);
        assert_eq!(part.as_ptr(), whole[2..].as_ptr());
        assert_eq!(part.into_vec(), [2, 3]);
    }

    #[test]
    fn what_nobody_else_sees_is_not_copied() {
        let alone = Elements::from(vec![1, 2]);
        let place = alone.as_ptr();
        let own = alone.into_vec();
        assert_eq!(own.as_ptr(), place);
        let shared = Elements::from(vec![1, 2]);
        let other = shared.clone();
        let own = shared.into_vec();
        assert_ne!(own.as_ptr(), other.as_ptr());
    }
}
