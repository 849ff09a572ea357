//! Numbers for all that two programs compute, integers and places as well: equal but for rounding is one number.

use std::collections::HashMap;

use crate::ir::{
    Compare, Computation, ComputationId, Instruction, Op, Precision, Program, Shape, comparator_but_for_rounding,
};
use crate::tensor::DType;

use super::express::fingerprint;
use super::expression::Head;

/// Whether two shapes are the same but for the formats of floats.
pub(super) fn same_values(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::Tuple(parts), Shape::Tuple(others)) => {
            parts.len() == others.len() && parts.iter().zip(others).all(|(one, other)| same_values(one, other))
        }
        _ => one.dims() == other.dims() && kind(one) == kind(other),
    }
}

/// The dtype of an array; all floats are one.
fn kind(shape: &Shape) -> Option<DType> {
    shape.dtype().map(|dtype| if dtype.is_float() { DType::F32 } else { dtype })
}

/// Whether an operation hands on its operand, perhaps rounded.
pub(super) fn transparent(computation: &Computation, instruction: &Instruction) -> bool {
    let from = instruction.operands.first().map(|id| &computation.instructions[*id].shape);
    match instruction.op {
        Op::ReducePrecision { .. } | Op::Copy | Op::OptimizationBarrier => true,
        Op::Convert => from.is_some_and(|from| kind(from) == kind(&instruction.shape)),
        _ => false,
    }
}

/// An operation in its one form, regions and the precision of dots apart: `a > b` is `b < a`, the operands of what
/// commutes are sorted, and whether a sort is stable is no matter if its comparator leaves no ties.
pub(super) fn normal(program: &Program, op: &Op, mut operands: Vec<usize>) -> (Op, Vec<usize>) {
    let (mut op, head) = match op {
        Op::Compare { direction, order } => {
            let turned = match direction {
                Compare::Gt => Some(Compare::Lt),
                Compare::Ge => Some(Compare::Le),
                _ => None,
            };
            if turned.is_some() {
                operands.reverse();
            }
            let direction = turned.unwrap_or(*direction);
            (Op::Compare { direction, order: *order }, Some(Head::Compare(direction)))
        }
        Op::Binary(binary) => (op.clone(), Some(Head::Binary(*binary))),
        op => (op.clone(), None),
    };
    match &mut op {
        Op::Dot { precision, .. } => *precision = [Precision::Default; 2],
        Op::Sort { stable, to_apply, .. } => {
            let comparator = comparator_but_for_rounding(&program.computations[*to_apply]);
            *stable |= comparator.is_some_and(|found| found.ties.is_some());
        }
        _ => {}
    }
    op.callees_mut().for_each(|id| *id = 0);
    if head.is_some_and(|head| head.commutes()) {
        operands.sort_unstable();
    }
    (op, operands)
}

/// Whether two operations in their one form are the same, but for the rounding of constants.
pub(super) fn same_operation(one: &Op, other: &Op) -> bool {
    match (one, other) {
        (Op::Constant(one), Op::Constant(other)) => fingerprint(one) == fingerprint(other),
        _ => one == other,
    }
}

/// A program with the numbers of its regions' results.
pub(super) struct Regions<'p> {
    program: &'p Program,
    results: HashMap<ComputationId, usize>,
}

impl<'p> Regions<'p> {
    pub fn new(program: &'p Program) -> Self {
        Regions { program, results: HashMap::new() }
    }
}

/// An opcode with the numbers of its operands and of its regions.
type Key = (&'static str, Vec<usize>, Vec<usize>);

/// Numbers for all that two programs compute: what is computed alike, but for rounding, has one.
#[derive(Default)]
pub(super) struct Numbers {
    known: HashMap<Key, Vec<(Op, Shape, usize)>>,
    next: usize,
}

impl Numbers {
    /// The number of each value of a computation.
    pub fn values(&mut self, computation: &Computation, regions: &mut Regions) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            let operands: Vec<usize> = instruction.operands.iter().map(|id| numbers[*id]).collect();
            let number = match transparent(computation, instruction) {
                true => operands[0],
                false => self.value(instruction, operands, regions),
            };
            numbers.push(number);
        }
        numbers
    }

    fn value(&mut self, instruction: &Instruction, operands: Vec<usize>, regions: &mut Regions) -> usize {
        let (op, operands) = normal(regions.program, &instruction.op, operands);
        let called = self.called(instruction, regions);
        let alike = self.known.entry((op.opcode(), operands, called)).or_default();
        let is_it = |(other, shape, _): &&(Op, Shape, usize)| {
            same_values(shape, &instruction.shape) && same_operation(&op, other)
        };
        if let Some((_, _, number)) = alike.iter().find(is_it) {
            return *number;
        }
        alike.push((op, instruction.shape.clone(), self.next));
        self.next += 1;
        self.next - 1
    }

    /// The numbers of the regions that an operation calls.
    pub fn called(&mut self, instruction: &Instruction, regions: &mut Regions) -> Vec<usize> {
        let number = |id: ComputationId| {
            if let Some(known) = regions.results.get(&id) {
                return *known;
            }
            let program = regions.program;
            let region = &program.computations[id];
            let number = self.values(region, regions)[region.root];
            regions.results.insert(id, number);
            number
        };
        instruction.op.callees().map(number).collect()
    }
}
