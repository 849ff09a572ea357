//! The elements of a value: a list that values share, or a stretch of one.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Elements that are shared until someone changes them. A slice of an array looks at the array's own: a layer's weights in a
/// stack of them are never copied.
#[derive(Clone, Debug)]
pub struct Elements<T> {
    all: Arc<Stored<T>>,
    seen: Range<usize>,
}

/// A list that nobody changes while it is shared.
#[derive(Debug)]
struct Stored<T> {
    list: Vec<T>,
    /// Whether it holds nothing but what bf16 holds, once someone has asked.
    is_bf16: OnceLock<bool>,
    turned: Mutex<Vec<Turned<T>>>,
}

/// A stretch of a list that someone has asked for with its dims in another order.
#[derive(Debug)]
struct Turned<T> {
    seen: Range<usize>,
    dims: Vec<usize>,
    order: Vec<usize>,
    /// In that order, where it has been asked for twice.
    elements: Option<Elements<T>>,
}

/// The fewest elements that are kept in another order.
const WORTH_KEEPING: usize = 1 << 12;

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
    /// These elements, of such dims, with the dims in another order, which `make` makes. The second time that this is asked of a
    /// list it is kept, as a loop's weights are in a layout that turns them in every step: of all stretches together no more
    /// than the list has elements.
    pub fn turn(&self, dims: &[usize], order: &[usize], make: impl FnOnce(&[T]) -> Vec<T>) -> Elements<T> {
        let entries = || self.all.turned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_this = |entry: &&mut Turned<T>| entry.seen == self.seen && entry.dims == dims && entry.order == order;
        let is_known = match entries().iter_mut().find(is_this) {
            Some(Turned { elements: Some(elements), .. }) => return elements.clone(),
            entry => entry.is_some(),
        };
        let turned = Elements::from(make(self));
        let mut entries = entries();
        if is_known {
            if let Some(entry) = entries.iter_mut().find(is_this) {
                entry.elements = Some(turned.clone());
            }
        } else if self.len() >= WORTH_KEEPING {
            let noted: usize = entries.iter().map(|entry| entry.seen.len()).sum();
            if noted + self.len() <= self.all.list.len() {
                let [dims, order] = [dims, order].map(<[usize]>::to_vec);
                entries.push(Turned { seen: self.seen.clone(), dims, order, elements: None });
            }
        }
        turned
    }

    /// The elements as a list of their own: copied where others look at them.
    pub fn into_vec(self) -> Vec<T> {
        if !self.is_whole() {
            return self.to_vec();
        }
        Arc::try_unwrap(self.all).map_or_else(|shared| shared.list.clone(), |own| own.list)
    }
}

impl<T> From<Vec<T>> for Elements<T> {
    fn from(list: Vec<T>) -> Elements<T> {
        let seen = 0..list.len();
        Elements { all: Arc::new(Stored { list, is_bf16: OnceLock::new(), turned: Mutex::default() }), seen }
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
    fn what_is_turned_twice_is_kept() {
        let whole = Elements::from((0..2 * WORTH_KEEPING).collect::<Vec<_>>());
        let times = std::cell::Cell::new(0);
        let dims = [WORTH_KEEPING / 4, 4];
        let turned = |elements: &Elements<usize>, dims: &[usize]| {
            elements.turn(dims, &[1, 0], |list| {
                times.set(times.get() + 1);
                (0..list.len()).map(|at| list[at % dims[0] * dims[1] + at / dims[0]]).collect()
            })
        };
        let [first, second] = [0, WORTH_KEEPING].map(|at| whole.stretch(at..at + WORTH_KEEPING));
        for (part, made) in [(&first, 1), (&first, 2), (&second, 3), (&first, 3), (&second, 4), (&second, 4)] {
            let found = turned(part, &dims);
            assert_eq!([found[0], found[1], found[dims[0]]], [part[0], part[4], part[1]]);
            assert_eq!(times.get(), made);
        }
        // Other dims are another question, for which there is no room left.
        (0..3).for_each(|_| drop(turned(&first, &[dims[0] * 2, 2])));
        assert_eq!(times.get(), 7);
        // Others' elements are not those of a list that was changed.
        let mut own = whole.clone().into_vec();
        own[4] = 7;
        assert_eq!(turned(&Elements::from(own).stretch(0..WORTH_KEEPING), &dims)[1], 7);
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
