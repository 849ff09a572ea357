//! The ways in which the code of a fusion reaches a value: which of its elements it computes for which element of a result. XLA
//! makes code of a value for each place at which it is read (`emitters::PartitionedComputation`), and LLVM joins what computes
//! the same element.

use std::collections::HashMap;
use std::rc::Rc;

use crate::ir::movement::{row_major, steps};
use crate::ir::{Class, Computation, Fusion, Op, ValueId};

/// The most ways that are told apart.
const MOST: usize = 8;
/// Elements of a result by which they are told apart.
const SAMPLES: u64 = 64;

/// How many elements a result has, and for some of them which of a value's elements they are made of.
type Way = (usize, Rc<Vec<usize>>);

/// Who reads a value, in which way; `None` where the ways are not followed.
type Reads = Option<Vec<(ValueId, Way)>>;

/// The ways in which a fusion's values are read.
pub struct Ways(HashMap<ValueId, Reads>);

impl Ways {
    /// Of a fusion; `users` says who reads each value, and `uses` how often it is read, the root once more.
    pub fn new(computation: &Computation, fusion: Option<Fusion>, users: &[Vec<ValueId>], uses: &[usize]) -> Ways {
        let instructions = &computation.instructions;
        let mut reads: HashMap<ValueId, Reads> = HashMap::new();
        for (id, instruction) in instructions.iter().enumerate().rev().filter(|(_, i)| i.fusion == fusion) {
            let is_outside = |user: &ValueId| instructions[*user].fusion != fusion;
            let own = reads.entry(id).or_insert_with(|| Some(Vec::new()));
            let is_result = uses[id] > users[id].len() || users[id].iter().any(is_outside);
            if let Some(own) = own.as_mut().filter(|_| is_result) {
                let elements = instruction.shape.elements();
                own.push((instructions.len(), (elements, Rc::new(samples(elements)))));
            }
            let ways = own.as_ref().map(|own| {
                let mut ways: Vec<Way> = Vec::new();
                own.iter().for_each(|(_, way)| {
                    if !ways.contains(way) {
                        ways.push(way.clone())
                    }
                });
                ways
            });
            let ways = ways.filter(|ways| ways.len() <= MOST);
            for operand in &instruction.operands {
                let through = |(elements, way): &Way| {
                    let places = way.iter().map(|at| place(computation, id, *operand, *at));
                    Some((id, (*elements, Rc::new(places.collect::<Option<Vec<usize>>>()?))))
                };
                let more: Reads = ways.as_ref().and_then(|ways| ways.iter().map(through).collect());
                match (reads.entry(*operand).or_insert_with(|| Some(Vec::new())), more) {
                    (Some(known), Some(more)) => known.extend(more),
                    (known, _) => *known = None,
                }
            }
        }
        Ways(reads)
    }

    /// How often the elements of a value with which a reader computes are read, at most; `None` where the ways are not followed.
    pub fn alike(&self, id: ValueId, reader: ValueId) -> Option<usize> {
        let reads = self.0.get(&id)?.as_ref()?;
        let own = reads.iter().filter(|(by, _)| *by == reader);
        own.map(|(_, way)| reads.iter().filter(|(_, other)| other == way).count()).max()
    }
}

/// Places among so many, here and there.
fn samples(elements: usize) -> Vec<usize> {
    let place = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16) as usize % elements.max(1);
    (0..SAMPLES).map(place).collect()
}

/// The operand's element that the element at this place is made of; `None` where that is not said.
fn place(computation: &Computation, id: ValueId, operand: ValueId, at: usize) -> Option<usize> {
    let instruction = &computation.instructions[id];
    let (from, to) = (&computation.instructions[operand].shape, &instruction.shape);
    let steps = match &instruction.op {
        // In the last step of its loop: what is the same in every step is read where the sum is.
        Op::Reduce { dims, .. } if operand == instruction.operands[0] && instruction.operands.len() == 2 => {
            let strides = row_major(from.dims());
            let last = dims.iter().map(|dim| (from.dims()[*dim] as isize - 1) * strides[*dim]).sum();
            Some((last, (0..strides.len()).filter(|dim| !dims.contains(dim)).map(|dim| strides[dim]).collect()))
        }
        op => steps(op, from.dims(), to.dims().len()),
    };
    match (steps, &instruction.op) {
        (Some((base, steps)), _) => {
            let index = to.dims().iter().zip(row_major(to.dims())).map(|(extent, step)| at / step as usize % extent);
            usize::try_from(base + index.zip(steps).map(|(at, step)| at as isize * step).sum::<isize>()).ok()
        }
        (None, Op::Reshape | Op::Copy) => Some(at),
        (None, op) => {
            let keeps = matches!(op.class(), Class::Elementwise | Class::Converts) && from.elements() == to.elements();
            keeps.then_some(at)
        }
    }
}
