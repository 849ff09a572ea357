//! Vectors that are needed at once in a step of a sum's loop.

use std::collections::{HashMap, HashSet};

use super::Term;
use crate::ir::{Op, Unary, ValueId};

impl Term<'_> {
    /// The most values of a step that are there at once, the sum among them (`calculateRegisterUsage`).
    pub fn live(&self) -> usize {
        let read: HashSet<ValueId> = self.strides.iter().map(super::Strides::array).collect();
        // In the order of the program, each read before the first who needs it.
        let mut order: Vec<ValueId> = Vec::new();
        let mut last: HashMap<ValueId, usize> = HashMap::new();
        let mut known: HashSet<ValueId> = HashSet::new();
        for id in &self.operations {
            let sources = self.sources(*id, &read);
            for source in &sources {
                if read.contains(source) && known.insert(*source) {
                    order.push(*source);
                }
            }
            let at = order.len();
            sources.into_iter().for_each(|source| {
                last.insert(source, at);
            });
            order.push(*id);
        }
        let mut open: HashSet<ValueId> = HashSet::new();
        let mut most = 0;
        for (at, id) in order.iter().enumerate() {
            open.retain(|value| last.get(value).is_none_or(|last| *last > at));
            most = most.max(open.len() + self.needs(*id));
            open.insert(*id);
        }
        most + 1
    }

    /// The operations and reads whose values an operation takes, through moves.
    fn sources(&self, id: ValueId, read: &HashSet<ValueId>) -> Vec<ValueId> {
        let mut waiting = self.computation.instructions[id].operands.clone();
        let mut sources = Vec::new();
        while let Some(id) = waiting.pop() {
            let instruction = &self.computation.instructions[id];
            if self.operations.contains(&id) || read.contains(&id) {
                sources.push(id);
            } else if instruction.fusion == self.fusion {
                waiting.extend(&instruction.operands);
            }
        }
        sources
    }

    /// Values within an operation that are there at once.
    fn needs(&self, id: ValueId) -> usize {
        match self.computation.instructions[id].op {
            // Two polynomials of a square, and the operand.
            Op::Unary(Unary::Erf) if self.operations.contains(&id) => 4,
            _ => 0,
        }
    }
}
