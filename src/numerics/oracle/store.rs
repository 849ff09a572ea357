//! The memory of columns, used again: fresh pages from the operating system would cost more than filling them.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::RefCell;
use std::ops::Deref;

/// Bytes that a thread keeps at most.
const KEPT: usize = 48 << 20;
/// Shorter vectors are not worth keeping.
const SHORTEST: usize = 4096;

thread_local! {
    /// Vectors of this thread that nothing uses.
    static FREE: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// An empty vector with room for `len` numbers.
pub(super) fn vector(len: usize) -> Vec<f64> {
    let kept = FREE.with_borrow_mut(|free| {
        let at = free.iter().position(|v| v.capacity() >= len && v.capacity() / 2 <= len)?;
        Some(free.swap_remove(at))
    });
    kept.unwrap_or_else(|| Vec::with_capacity(len))
}

/// A vector whose memory is kept for [`vector`] when it is dropped, if it holds f64 numbers.
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
        let Some(values) = values.downcast_mut::<Vec<f64>>().filter(|v| v.capacity() >= SHORTEST) else { return };
        let mut values = std::mem::take(values);
        values.clear();
        // A thread that is ending has no place for it any more.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            free.push(values);
            let mut bytes: usize = free.iter().map(|v| v.capacity() * size_of::<f64>()).sum();
            while bytes > KEPT {
                bytes -= free.remove(0).capacity() * size_of::<f64>();
            }
        });
    }
}
