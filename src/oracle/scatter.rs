//! Updates of single elements, whose order HLO leaves open.

use crate::analysis::Reducer;
use crate::ir::{Binary, ScatterDims, Shape, movement};

use super::arithmetic::{Arithmetic, Field};
use super::elements::{Element, Value};
use super::evaluate::Pass;
use super::integer;
use super::oracle_error::OracleError;

type Result<T> = std::result::Result<T, OracleError>;

/// The effect of a region on an element and an update, if it is known: the same result in any order of the updates, or
/// one of the updates.
enum Combiner {
    Binary(Binary),
    /// The update itself.
    Update,
}

impl<A: Arithmetic> Pass<'_, A> {
    /// Operands are N arrays, the start indices and N updates.
    pub(super) fn scatter(
        &mut self,
        numbers: &ScatterDims,
        to_apply: usize,
        operands: &[Value<A>],
        shapes: &[&Shape],
    ) -> Result<Value<A>> {
        let count = operands.len() / 2;
        let (arrays, updates) = (&operands[..count], &operands[count + 1..]);
        let indices = operands[count].integers();
        // An index that is open may meet any element: nothing is known of any.
        let Some(starts) = indices.starts() else {
            return Ok(Value::from_parts(shapes[..count].iter().map(|shape| self.forget(shape)).collect()));
        };
        let dims = shapes[0].dims();
        let positions =
            movement::scatter_positions(numbers, dims, &starts, shapes[count].dims(), shapes[count + 1].dims());
        // HLO leaves the order of updates open, so those of one element are looked at together.
        let mut landed: Vec<Vec<usize>> = vec![Vec::new(); shapes[0].elements()];
        for (from, at) in positions.into_iter().enumerate() {
            if let Some(at) = at {
                landed[at].push(from);
            }
        }
        let combiner = match (self.prepared.regions.reducer_but_for_rounding(to_apply), arrays) {
            (Some(Reducer::Binary(binary)), [_]) => Some(Combiner::Binary(binary)),
            (_, [_]) if self.prepared.program.computations[to_apply].gives_parameter(1) => Some(Combiner::Update),
            _ => None,
        };
        match (combiner, &arrays[0], &updates[0]) {
            (Some(combiner), Value::Float(array), Value::Float(update)) => {
                let mut elements = Vec::with_capacity(array.len);
                for (at, from) in landed.iter().enumerate() {
                    let current = self.world.element(array, at);
                    let updates: Vec<Element<A::Number>> =
                        from.iter().map(|from| self.world.element(update, *from)).collect();
                    elements.push(self.updated(&combiner, current, &updates));
                }
                Ok(Value::Float(self.world.collect(elements)))
            }
            (Some(combiner), Value::Integer(array), Value::Integer(update)) => {
                let of = |(at, from): (usize, &Vec<usize>)| {
                    let updates = from.iter().map(|from| update.values[*from]);
                    match combiner {
                        Combiner::Binary(binary) => {
                            updates.fold(array.values[at], |a, b| integer::binary(binary, a, b, array.dtype))
                        }
                        // Any of several updates may be the last: the element is known where they are equal.
                        Combiner::Update => updates.reduce(|a, b| a.filter(|_| a == b)).unwrap_or(array.values[at]),
                    }
                };
                Ok(Value::integer(array.dtype, landed.iter().enumerate().map(of).collect()))
            }
            _ => self.scatter_by_region(to_apply, arrays, updates, &landed, shapes),
        }
    }

    fn updated(
        &mut self,
        combiner: &Combiner,
        current: Element<A::Number>,
        updates: &[Element<A::Number>],
    ) -> Element<A::Number> {
        let Some((first, others)) = updates.split_first() else { return current };
        match combiner {
            Combiner::Update => others.iter().fold(first.clone(), |a, b| self.world.either(&a, b)),
            Combiner::Binary(Binary::Add) => {
                let numbers = std::iter::once(&current).chain(updates).map(|e| e.number.clone());
                let number = self.world.arithmetic.sum(&numbers.collect::<Vec<_>>());
                self.world.fresh(number)
            }
            Combiner::Binary(binary @ (Binary::Maximum | Binary::Minimum)) => {
                let largest = *binary == Binary::Maximum;
                updates.iter().fold(current, |a, b| self.world.extreme(&a, b, largest))
            }
            Combiner::Binary(Binary::Multiply) => {
                let arithmetic = &mut self.world.arithmetic;
                let product =
                    updates.iter().fold(current.number, |a, b| arithmetic.binary(Field::Multiply, &a, &b.number));
                self.world.fresh(product)
            }
            Combiner::Binary(other) => unreachable!("no known reducer of floats is {}", other.name()),
        }
    }

    /// By any region; an element with several updates is unknown, as their order is.
    fn scatter_by_region(
        &mut self,
        to_apply: usize,
        arrays: &[Value<A>],
        updates: &[Value<A>],
        landed: &[Vec<usize>],
        shapes: &[&Shape],
    ) -> Result<Value<A>> {
        let mut columns: Vec<Vec<Value<A>>> = vec![Vec::with_capacity(landed.len()); arrays.len()];
        for (at, from) in landed.iter().enumerate() {
            let current: Vec<Value<A>> = arrays.iter().map(|array| self.scalar(array, at)).collect();
            let result = match from[..] {
                [] => current,
                [from] => {
                    let updates = updates.iter().map(|update| self.scalar(update, from)).collect();
                    self.call(to_apply, &[current, updates].concat())?.into_parts()
                }
                _ => {
                    let scalar = |shape: &&Shape| Shape::array(shape.element_type(), &[]);
                    shapes[..arrays.len()].iter().map(|shape| self.forget(&scalar(shape))).collect()
                }
            };
            columns.iter_mut().zip(result).for_each(|(column, value)| column.push(value));
        }
        let parts = columns.iter().zip(arrays).map(|(column, like)| self.column(column, like)).collect();
        Ok(Value::from_parts(parts))
    }
}
