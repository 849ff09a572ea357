//! Room for elements that are about to be followed.

use crate::budget;

use super::algebra::Element;

/// Whether so many elements are no more than is `left` to follow, and than there is memory for.
pub fn fits(elements: usize, left: u64) -> bool {
    let bytes = budget::bytes_of([elements], size_of::<Element>() as u128);
    elements as u64 <= left && budget::reserve(bytes, || "elements that are followed".to_string()).is_ok()
}
