//! Constants that stand for other real numbers: factors of Fourier transforms, and predicates of the truth alone.

use std::collections::HashMap;

use crate::ir::{Instruction, Mark, Shape, Turns};
use crate::tensor::Tensor;

use super::arithmetic::Arithmetic;
use super::elements::{Element, Value};
use super::evaluate::Pass;
use super::order::Identity;
use super::turn::Cosine;

impl<A: Arithmetic> Pass<'_, A> {
    /// The meaning of a constant over the real numbers: its elements, or what stands beside it.
    pub(super) fn real_constant(&mut self, value: &Tensor, instruction: &Instruction) -> Value<A> {
        match &instruction.mark {
            Some(Mark::Turns(turns)) => self.turns(turns, &instruction.shape),
            Some(Mark::TruthAlone) => Value::integer(value.dtype(), vec![Some(1); value.len()]),
            _ => self.tensor_value(value),
        }
    }

    /// The real numbers that a constant of a Fourier transform stands for.
    fn turns(&mut self, turns: &Turns, shape: &Shape) -> Value<A> {
        let [rows, columns] = turns.dims;
        if shape.dims() != turns.dims {
            return self.forget(shape);
        }
        // Of all places few numbers.
        let mut known: HashMap<(usize, i32), Element<A::Number>> = HashMap::new();
        let mut elements = Vec::with_capacity(rows * columns);
        for place in 0..rows * columns {
            let (part, factor) = turns.at(place / columns, place % columns);
            let element = match known.get(&(part, factor)) {
                Some(element) => element.clone(),
                None => {
                    let element = self.turn(part, turns, factor);
                    known.insert((part, factor), element.clone());
                    element
                }
            };
            elements.push(element);
        }
        Value::Float(self.world.collect(elements))
    }

    /// A multiple of the cosine or sine of a part of a turn.
    fn turn(&mut self, part: usize, turns: &Turns, factor: i32) -> Element<A::Number> {
        let (part, parts) = (part as u64, turns.parts as u64);
        // A sine is the cosine of three quarters of a turn more.
        let cosine =
            if turns.is_sine { Cosine::new(4 * part + 3 * parts, 4 * parts) } else { Cosine::new(part, parts) };
        match cosine {
            // No zero is negative.
            Some(Cosine::Halves(halves)) => self.world.exact(f64::from(factor * i32::from(halves)) / 2.0 + 0.0),
            Some(Cosine::Of { turn, is_negative }) => {
                let factor = if is_negative { -factor } else { factor };
                let class = *self.cosines.entry(turn).or_insert_with(|| self.world.classes.fresh(1));
                let identity = Identity { class, key: f64::from(factor) };
                Element { number: self.world.arithmetic.cosine(turn, factor), identity }
            }
            None => self.world.unknown(),
        }
    }
}
