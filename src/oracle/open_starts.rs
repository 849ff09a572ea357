//! Gathers and slices with open start indices.

use crate::ir::{Instruction, Op, Shape, movement};

use super::arithmetic::Arithmetic;
use super::elements::{Integers, Value};
use super::evaluate::Pass;

impl<A: Arithmetic> Pass<'_, A> {
    /// Evaluates a gather or a slice with open start indices: elements that another start would move are unknown.
    ///
    /// A start is clamped into its range, and the position that an element is read from never falls as the start rises.
    /// So an element that the first and the last of all starts read from one position is from there for any start.
    pub(super) fn read_from_open_starts(
        &mut self,
        instruction: &Instruction,
        operands: &[Value<A>],
        shapes: &[&Shape],
    ) -> Value<A> {
        let op = &instruction.op;
        let Some(first_start) = op.first_start().filter(|_| matches!(op, Op::Gather(_) | Op::DynamicSlice { .. }))
        else {
            return self.forget(&instruction.shape);
        };
        let (dims, out_dims) = (shapes[0].dims(), instruction.shape.dims());
        let starts_dims = if matches!(op, Op::Gather(_)) { shapes[1].dims() } else { &[] };
        let places: Vec<usize> = (0..shapes[0].elements()).collect();
        let [first, last] = [i64::MIN, i64::MAX].map(|open| {
            let starts = operands[first_start..].iter().map(Value::integers);
            let start = |starts: &Integers, at| starts.start(at).unwrap_or(open);
            let starts: Vec<i64> =
                starts.flat_map(|starts| (0..starts.values.len()).map(move |at| start(starts, at))).collect();
            movement::apply(op, &[(&places[..], dims)], &starts, starts_dims, out_dims)
        });
        match &operands[0] {
            Value::Float(array) => {
                let element = |(first, last): (&usize, &usize)| match first == last {
                    true => self.world.element(array, *first),
                    false => self.world.unknown(),
                };
                let elements = first.iter().zip(&last).map(element).collect();
                Value::Float(self.world.collect(elements))
            }
            other => {
                let integers = other.integers();
                let element = |(first, last): (&usize, &usize)| integers.values[*first].filter(|_| first == last);
                Value::integer(integers.dtype, first.iter().zip(&last).map(element).collect())
            }
        }
    }
}
