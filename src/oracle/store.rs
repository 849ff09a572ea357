//! The memory of columns, used again: fresh pages from the operating system would cost more than filling them.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::RefCell;
use std::ops::Deref;

/// Bytes that a thread keeps at most of numbers, and as many of classes.
const KEPT: usize = 48 << 20;
/// Shorter vectors are not worth keeping.
const SHORTEST: usize = 4096;

/// Vectors of a thread that nothing uses.
type Free<T> = RefCell<Vec<Vec<T>>>;

thread_local! {
    static FREE: Free<f64> = const { RefCell::new(Vec::new()) };
    static FREE_CLASSES: Free<u64> = const { RefCell::new(Vec::new()) };
}

/// An empty vector with room for `len` numbers.
pub(super) fn vector(len: usize) -> Vec<f64> {
    cleared(FREE.with(|free| take(free, len)))
}

/// So many numbers, of any value: for a loop that writes each of them.
pub(super) fn numbers(len: usize) -> Vec<f64> {
    let mut numbers = FREE.with(|free| take(free, len));
    numbers.resize(len, 0.0);
    numbers
}

/// An empty vector with room for `len` classes.
pub(super) fn classes(len: usize) -> Vec<u64> {
    cleared(FREE_CLASSES.with(|free| take(free, len)))
}

fn cleared<T>(mut values: Vec<T>) -> Vec<T> {
    values.clear();
    values
}

fn take<T>(free: &Free<T>, len: usize) -> Vec<T> {
    let mut free = free.borrow_mut();
    let fitting = free.iter().position(|v| v.capacity() >= len && v.capacity() / 2 <= len);
    fitting.map_or_else(|| Vec::with_capacity(len), |at| free.swap_remove(at))
}

/// Keeps a vector's memory.
fn keep<T>(free: &Free<T>, values: Vec<T>) {
    let mut free = free.borrow_mut();
    free.push(values);
    let mut bytes: usize = free.iter().map(|v| v.capacity() * size_of::<T>()).sum();
    while bytes > KEPT {
        bytes -= free.remove(0).capacity() * size_of::<T>();
    }
}

/// A vector whose memory is kept for [`vector`] or [`classes`] when it is dropped, if it holds such.
#[derive(Debug)]
pub(super) struct Store<T: 'static>(Vec<T>);

impl<T> Store<T> {
    /// A vector to keep when it is dropped.
    pub fn new(values: Vec<T>) -> Store<T> {
        Store(values)
    }
}

impl<T> Deref for Store<T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> Drop for Store<T> {
    fn drop(&mut self) {
        let values: &mut dyn Any = &mut self.0;
        // A thread that is ending has no place for it any more.
        if let Some(numbers) = values.downcast_mut::<Vec<f64>>().filter(|v| v.capacity() >= SHORTEST) {
            let _ = FREE.try_with(|free| keep(free, std::mem::take(numbers)));
        } else if let Some(classes) = values.downcast_mut::<Vec<u64>>().filter(|v| v.capacity() >= SHORTEST) {
            let _ = FREE_CLASSES.try_with(|free| keep(free, std::mem::take(classes)));
        }
    }
}
