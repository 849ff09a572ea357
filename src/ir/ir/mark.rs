//! Marks: meanings of an instruction that its operation does not say, and that no compiler gave it.

use std::sync::Arc;

use crate::tensor::DType;

/// Meaning of an instruction beside its operation. Machine and truth follow it alike, but for the constants, which only the truth
/// takes for what they stand for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// A product and the one sum that uses it: the product is added before it is rounded (fused multiply-add), on any
    /// chip. No file has this: it is inserted where the contractions that a compiler may make are explored.
    Joined,
    /// An addition between devices, of one sum over them.
    Exchange {
        /// The sum's number.
        number: usize,
        /// The type that is sent from device to device.
        carries: DType,
        /// Whether a compiled file's plan fixes its order (FACTS 6.2): then no compiler is free to choose another one.
        is_planned: bool,
    },
    /// A value that a loop carries from one trip to the next, in its declared type. No file has this: it is inserted where trips are
    /// laid out one after the other.
    Carried,
    /// A constant matrix of the factors of a Fourier transform, rounded: the real numbers that they are.
    Turns(Arc<Turns>),
    /// A constant predicate that is false: over the real numbers it is true. It tells the function from the formula of it that
    /// a machine computes.
    TruthAlone,
}

impl Mark {
    /// The number of the values that meet in registers, where the mark takes the instruction out of its fusion.
    pub fn parts(&self) -> Option<usize> {
        match self {
            Mark::Joined => Some(0),
            Mark::Carried => Some(1),
            Mark::Exchange { number, .. } => Some(number + 2),
            Mark::Turns(_) | Mark::TruthAlone => None,
        }
    }

    /// Whether it says something of a constant over the real numbers.
    pub fn is_of_truth(&self) -> bool {
        matches!(self, Mark::Turns(_) | Mark::TruthAlone)
    }
}

/// A matrix of cosines or sines of parts of a turn: `factor cos(2 pi row column / parts)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Turns {
    /// Rows and columns.
    pub dims: [usize; 2],
    /// Parts of a turn; at least 1.
    pub parts: usize,
    /// Whether these are sines.
    pub is_sine: bool,
    /// The number of the first row.
    pub first_row: usize,
    /// The factor of each number.
    pub factor: i32,
    /// Whether rows 0 and `parts / 2` are not multiplied by it.
    pub spares_ends: bool,
}

impl Turns {
    /// The part of a turn, from 0 to `parts - 1`, whose cosine or sine stands at a place, and its factor.
    pub fn at(&self, row: usize, column: usize) -> (usize, i32) {
        let row = row + self.first_row;
        let is_end = row == 0 || 2 * row == self.parts;
        (row * column % self.parts, if self.spares_ends && is_end { 1 } else { self.factor })
    }
}
