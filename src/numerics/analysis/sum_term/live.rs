//! Vectors that are needed at once in a step of a sum's loop.

use std::collections::{HashMap, HashSet};

use super::{RUN, Strides, Term};
use crate::ir::{Op, Unary, ValueId};

impl Term<'_> {
    /// The most values of a step that are there at once, the sum among them (`calculateRegisterUsage`).
    pub fn live(&self) -> usize {
        let read: HashSet<ValueId> = self.strides.iter().map(Strides::array).collect();
        let order = self.emission_order(&read);
        let mut last: HashMap<ValueId, usize> = HashMap::new();
        for (at, id) in order.iter().enumerate() {
            last.extend(self.sources(*id, &read).into_iter().map(|source| (source, at)));
        }
        let mut open: HashSet<ValueId> = HashSet::new();
        let mut most = 0;
        for (at, id) in order.iter().enumerate() {
            let values: usize = open.iter().map(|value| self.vectors(*value)).sum();
            most = most.max(values + self.needs(*id));
            open.retain(|value| last.get(value).is_none_or(|last| *last > at));
            open.insert(*id);
        }
        most + 1
    }

    /// Operations and reads as XLA's emitters write them: breadth first from the term, and then backwards.
    fn emission_order(&self, read: &HashSet<ValueId>) -> Vec<ValueId> {
        let mut found: Vec<ValueId> = self.operations.last().into_iter().copied().collect();
        let mut seen: HashSet<ValueId> = found.iter().copied().collect();
        let mut next = 0;
        while next < found.len() {
            let sources = self.sources(found[next], read);
            found.extend(sources.into_iter().rev().filter(|source| seen.insert(*source)));
            next += 1;
        }
        let mut order = Vec::new();
        let mut emitted = HashSet::new();
        for id in found.into_iter().rev() {
            // What is needed first, and then the value itself.
            let mut waiting = vec![(id, false)];
            while let Some((id, is_ready)) = waiting.pop() {
                if is_ready {
                    order.push(id);
                } else if emitted.insert(id) {
                    waiting.push((id, true));
                    waiting.extend(self.sources(id, read).into_iter().rev().map(|source| (source, false)));
                }
            }
        }
        order
    }

    /// The operations and reads whose values an operation takes, through moves.
    fn sources(&self, id: ValueId, read: &HashSet<ValueId>) -> Vec<ValueId> {
        let mut sources = Vec::new();
        if read.contains(&id) {
            return sources;
        }
        let mut waiting = self.computation.instructions[id].operands.clone();
        waiting.reverse();
        while let Some(id) = waiting.pop() {
            let instruction = &self.computation.instructions[id];
            if self.operations.contains(&id) || read.contains(&id) {
                sources.push(id);
            } else if instruction.fusion == self.fusion {
                waiting.extend(instruction.operands.iter().rev());
            }
        }
        sources
    }

    /// Vectors of a value: elements that lie between those of two iterations are read at once, and those further apart one by one.
    fn vectors(&self, id: ValueId) -> usize {
        if self.operations.contains(&id) {
            return 1;
        }
        let beside = Strides::places(&self.strides, id, |stride| stride == 1);
        beside.min(1) + Strides::places(&self.strides, id, |stride| (2..=RUN).contains(&stride))
    }

    /// Values within an operation that are there at once.
    fn needs(&self, id: ValueId) -> usize {
        match self.computation.instructions[id].op {
            // Two polynomials of a square, and the operand.
            Op::Unary(Unary::Erf) if self.operations.contains(&id) => 3,
            _ => 0,
        }
    }
}
