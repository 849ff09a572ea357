//! Distances between the elements that a loop reads.

use std::collections::HashSet;

use super::super::along::Along;
use super::{RUN, WITHIN};
use crate::ir::ValueId;

/// One read of an array.
pub struct Strides {
    array: ValueId,
    /// Offsets of the slices through which it is read.
    place: Vec<usize>,
    /// Number of these offsets that are part of its address, and not of the index.
    called: usize,
    /// For the innermost loop and the one around it: the stride of an iteration, in elements, and the number of
    /// elements that it reads.
    loops: [Option<(usize, usize)>; 2],
    /// The dims of the term that its own dims run along, last first, each with the distance between neighbours.
    steps: Vec<(usize, usize)>,
}

impl Strides {
    /// The read of an array of these extents whose dims run along the term's as `along` says.
    pub fn new(
        (array, place, called): (ValueId, &[usize], usize),
        extents: &[usize],
        along: &Along,
        loops: [Option<usize>; 2],
    ) -> Strides {
        let mut strides = Strides { array, place: place.to_vec(), called, loops: [None; 2], steps: Vec::new() };
        let mut behind = 1;
        // The elements inside that are read in one iteration: of the innermost loop, and of the one around it.
        let mut read = [1; 2];
        for (extent, parts) in extents.iter().zip(along).rev() {
            let mut step = behind;
            for (dim, part) in parts.iter().rev() {
                // A loop of one iteration is no loop.
                if *part > 1 && strides.steps.iter().all(|(known, _)| known != dim) {
                    strides.steps.push((*dim, step));
                }
                for (level, own) in loops.iter().enumerate() {
                    if *own == Some(*dim) && strides.loops[level].is_none() {
                        strides.loops[level] = Some((step, read[level]));
                    }
                }
                let within = (WITHIN..2 * WITHIN).contains(dim);
                read[0] *= if within { *part } else { 1 };
                read[1] *= if within || loops[0] == Some(*dim) { *part } else { 1 };
                step *= part;
            }
            behind *= extent;
        }
        strides
    }

    /// Turns the read of one element into that of `count` elements in a row.
    pub fn widen(&mut self, count: usize) {
        self.loops.iter_mut().flatten().for_each(|(_, read)| *read *= count);
    }

    /// Whether the elements of another read have the same distances.
    pub fn is_as_far(&self, other: &Strides) -> bool {
        self.steps == other.steps
    }

    /// The array.
    pub fn array(&self) -> ValueId {
        self.array
    }

    /// The part of its address that is the same in all iterations: the array and its first offsets, empty if these are
    /// all 0.
    pub fn address(&self) -> (ValueId, &[usize]) {
        let begins = &self.place[..self.called];
        (self.array, if begins.iter().all(|start| *start == 0) { &[] } else { begins })
    }

    /// The number of places at which an array is read with such a stride in the innermost loop.
    pub fn places(reads: &[Strides], array: ValueId, far: impl Fn(usize) -> bool) -> usize {
        let own = reads.iter().filter(|read| read.array == array);
        let places = own.filter(|read| read.loops[0].is_some_and(|(stride, _)| far(stride)));
        places.map(|read| &read.place).collect::<HashSet<_>>().len()
    }

    /// Whether the reads of some array leave gaps: each iteration reads fewer elements than its stride, which is at
    /// most `RUN`.
    pub fn leave_last(reads: &[Strides], level: usize) -> bool {
        let read_of = |array: ValueId, stride: usize| -> usize {
            let mut places: Vec<&[usize]> = Vec::new();
            let mut count = 0;
            for read in reads.iter().filter(|read| read.array == array) {
                match read.loops[level] {
                    Some((other, read_once)) if other == stride && !places.contains(&&read.place[..]) => {
                        places.push(&read.place);
                        count += read_once;
                    }
                    _ => {}
                }
            }
            count
        };
        reads.iter().any(|read| match read.loops[level] {
            Some((stride, _)) => (2..=RUN).contains(&stride) && read_of(read.array, stride) < stride,
            None => false,
        })
    }
}
