//! Enclosures of a few rows at a time, which the processor's caches hold: arrays of all rows would go through memory once an operation.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::ir::{Op, Program, Shape, ValueId};
use crate::oracle::Enclosure;
use crate::rewrite::{Axes, Kept};
use crate::tensor::Tensor;

use super::super::row_outcome::Outcome;

/// The elements of a block's largest array, where one row has fewer.
const ELEMENTS: usize = 1 << 15;

/// The rows of an outcome as an axis of its program, where they never meet: the program for some of them gives what that for all gives
/// for these.
pub(in super::super) struct RowAxis {
    axes: Axes,
    axis: usize,
    /// Whether each argument has the rows as its first dim.
    pub has_rows: Vec<bool>,
}

impl RowAxis {
    /// `None` where rows may meet, or are not the first dim of each array that has them.
    pub fn new(program: &Program, outcome: &Outcome) -> Option<RowAxis> {
        let axes = Axes::new(program);
        let place = |id: &ValueId, axis: usize| axes.of_array(*id).iter().position(|own| *own == axis);
        let axis = *axes.of_array(*outcome.values.first()?).first()?;
        let are_led = outcome.values.iter().all(|value| place(value, axis) == Some(0));
        let mut parameters = BTreeMap::new();
        for (id, instruction) in program.entry().instructions.iter().enumerate() {
            if let Op::Parameter(number) = instruction.op {
                parameters.insert(number, place(&id, axis));
            }
        }
        if !are_led || !axes.is_batch(program, axis) || parameters.values().any(|place| place.is_some_and(|at| at > 0))
        {
            return None;
        }
        let has_rows = parameters.into_values().map(|place| place.is_some()).collect();
        Some(RowAxis { axes, axis, has_rows })
    }

    /// The program for so many rows; its values have the numbers that they have in that for all.
    pub fn program(&self, program: &Program, count: usize) -> Option<Program> {
        let kept = Kept::from([(self.axis, (0..count).collect())]);
        Some(self.axes.resize(program, &[], &kept).ok()?.0)
    }
}

/// A program for all rows of an outcome, or for blocks of them where rows never meet.
pub(super) struct RowBlocks {
    /// The program for a block of `size` rows, and for a shorter last one where there is one.
    enclosures: Vec<Enclosure>,
    /// Whether each argument has the rows as its first dim.
    has_rows: Vec<bool>,
    rows: usize,
    /// The number of rows of each block but the last.
    size: usize,
}

impl RowBlocks {
    pub fn new(program: &Program, outcome: &Outcome) -> RowBlocks {
        RowBlocks::apart(program, outcome).unwrap_or_else(|| RowBlocks::whole(program, outcome))
    }

    /// All rows in one block.
    pub fn whole(program: &Program, outcome: &Outcome) -> RowBlocks {
        RowBlocks {
            enclosures: vec![Enclosure::new(program)],
            has_rows: Vec::new(),
            rows: outcome.rows,
            size: outcome.rows,
        }
    }

    /// `None` where rows may meet, or where one block has all of them.
    fn apart(program: &Program, outcome: &Outcome) -> Option<RowBlocks> {
        let instructions = &program.entry().instructions;
        // A tuple has the elements of arrays that count anyway.
        let arrays = instructions.iter().map(|instruction| &instruction.shape).filter(|shape| shape.dtype().is_some());
        let elements = arrays.map(Shape::elements).max()?;
        let (rows, size) = (outcome.rows, (ELEMENTS * outcome.rows / elements.max(1)).max(1));
        if size >= rows {
            return None;
        }
        let axis = RowAxis::new(program, outcome)?;
        let of = |count: usize| Some(Enclosure::new(&axis.program(program, count)?));
        let counts = [size, rows % size].into_iter().filter(|count| *count > 0);
        let enclosures = counts.map(of).collect::<Option<Vec<Enclosure>>>()?;
        Some(RowBlocks { enclosures, has_rows: axis.has_rows, rows, size })
    }

    /// The blocks that have one of these rows at least, each with its program and its arguments.
    pub fn with<'a>(
        &'a self,
        rows: &[usize],
        arguments: &'a [Tensor],
    ) -> impl Iterator<Item = (Range<usize>, &'a Enclosure, Vec<Tensor>)> {
        let block = |first: usize| first..(first + self.size).min(self.rows);
        let starts: BTreeSet<usize> = rows.iter().map(|row| row / self.size * self.size).collect();
        starts.into_iter().map(block).map(|block| {
            let cut = |(number, tensor): (usize, &Tensor)| match self.has_rows.get(number) {
                Some(true) => tensor.rows(block.clone()),
                _ => tensor.clone(),
            };
            let arguments = arguments.iter().enumerate().map(cut).collect();
            let enclosure = &self.enclosures[usize::from(block.len() < self.size)];
            (block, enclosure, arguments)
        })
    }
}
