//! The elements of a value: a list that values share, or a stretch of one.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// Elements that are shared until someone changes them. A slice of an array looks at the array's own: a layer's weights in a
/// stack of them are never copied.
#[derive(Clone, Debug)]
pub(super) struct Elements<T> {
    all: Arc<Stored<T>>,
    seen: Range<usize>,
}

/// A list that nobody changes while it is shared.
#[derive(Clone, Debug)]
struct Stored<T> {
    list: Vec<T>,
    /// Whether it holds nothing but what bf16 holds, once someone has asked.
    is_bf16: OnceLock<bool>,
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
        self.seen == (0..self.all.list.len())
    }
}

impl Elements<f32> {
    /// Whether rounding to bf16 keeps every element's bits. Of a list that is shared the answer is found once: weights of bf16
    /// that a loop holds in f32 are rounded in every step.
    pub fn are_bf16(&self) -> bool {
        /// Elements that are looked at together, so that the loop over them is not left on the way.
        const STRIDE: usize = 1024;
        let is_bf16 = |v: &f32| v.to_bits() & 0xffff == 0 && !v.is_nan();
        let all = |list: &[f32]| list.chunks(STRIDE).all(|part| part.iter().fold(true, |all, v| all & is_bf16(v)));
        *self.all.is_bf16.get_or_init(|| all(&self.all.list)) || !self.is_whole() && all(self)
    }
}

impl<T: Clone> Elements<T> {
    /// The elements as a list of their own: copied where others look at them.
    pub fn into_vec(self) -> Vec<T> {
        if self.is_whole() { Arc::unwrap_or_clone(self.all).list } else { self.to_vec() }
    }
}

impl<T> From<Vec<T>> for Elements<T> {
    fn from(list: Vec<T>) -> Elements<T> {
        Elements { seen: 0..list.len(), all: Arc::new(Stored { list, is_bf16: OnceLock::new() }) }
    }
}

impl<T> Deref for Elements<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all.list[self.seen.clone()]
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
    fn a_stretch_is_bf16_where_the_whole_is_not() {
        let whole = Elements::from([vec![1.0, -0.0, f32::INFINITY], vec![1.0 + f32::EPSILON, f32::NAN]].concat());
        let found = [0..5, 0..3, 3..4, 4..5].map(|range| whole.stretch(range).are_bf16());
        assert_eq!(found, [false, true, false, false]);
        // What a list that was taken over holds afterwards is looked at anew.
        let own = whole.stretch(0..3);
        let mut list = own.clone().into_vec();
        assert!(Elements::from(list.clone()).are_bf16());
        list[0] = 0.1;
        assert!(!Elements::from(list).are_bf16());
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
