//! Inputs in which a narrow float takes each of its numbers: two functions that differ for one of 65,536 alone are seldom seen to
//! differ otherwise.

use std::ops::Range;

use crate::tensor::Tensor;

use super::SameError;
use super::witness::{Difference, Search, floats};

/// Bits of the widest type whose numbers are all tried.
const NARROW: u32 = 16;

impl Search<'_> {
    /// Runs both programs on an input in which the elements of one narrow float have the next of its numbers, as far as there are
    /// elements; gives what differs. Arguments take turns; without one, or after its last number, it is any other input.
    pub fn try_numbers(&mut self, block: usize) -> Result<Option<Difference>, SameError> {
        let Some((argument, codes)) = self.next_codes() else { return self.next(block) };
        let trial = self.tried;
        let mut arguments = self.arguments(trial);
        let (dims, dtype) = (arguments[argument].dims().to_vec(), arguments[argument].dtype());
        let numbers = dtype.format().map(|format| codes.map(|code| format.decode(code)).collect::<Vec<f64>>());
        if let Some(data) = numbers.and_then(|numbers| floats(dtype, &numbers)) {
            arguments[argument] = Tensor::new(&dims, data);
        }
        self.numbers_tried += 1;
        Ok(self.try_on(&arguments, trial, block)?.1)
    }

    /// Whether a narrow float has numbers that were not tried.
    pub fn has_numbers(&self) -> bool {
        self.next_codes().is_some()
    }

    /// The argument whose turn it is, and the codes of its elements.
    fn next_codes(&self) -> Option<(usize, Range<u64>)> {
        let shapes = self.alignment.shapes(self.alignment.large());
        let is_narrow = |at: &usize| {
            let dtype = shapes[*at].element_type();
            dtype.is_float() && dtype.bits() <= NARROW && shapes[*at].elements() > 0
        };
        let narrow: Vec<usize> = (0..shapes.len()).filter(is_narrow).collect();
        let argument = *narrow.get(self.numbers_tried as usize % narrow.len().max(1))?;
        let (width, count) = (shapes[argument].element_type().bits(), shapes[argument].elements() as u64);
        let first = (self.numbers_tried / narrow.len() as u64).saturating_mul(count);
        (first < 1 << width).then(|| (argument, first..first.saturating_add(count)))
    }
}
