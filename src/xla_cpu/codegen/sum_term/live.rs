//! Vectors that are live at once in a step of a sum's loop.

use std::collections::{HashMap, HashSet};

use super::super::along::{Along, Dims};
use super::{RUN, Strides, Term};
use crate::ir::{Op, Unary, ValueId};

/// Vector registers of a processor with AVX-512.
const VECTORS: usize = 32;

impl Term<'_> {
    /// The most registers that may be interleaved (`selectInterleaveCount`), for the arrays and the vectors of a step.
    /// `is_within` says whether the loop is inside another one.
    pub fn most_registers(&self, is_within: bool) -> usize {
        let addresses: HashSet<_> = self.strides.iter().map(Strides::address).collect();
        let free = (if is_within && self.shares_index() { 13usize } else { 14 }).checked_sub(addresses.len());
        // With more addresses than registers the difference wraps, and is no limit.
        let general = free.map_or(usize::MAX, |free| free / (1 + self.live_indices()));
        general.min((VECTORS - 1) / (self.live() - 1).max(1)).max(1)
    }

    /// The most values of a step that are live at once, the sum among them (`calculateRegisterUsage`).
    pub fn live(&self) -> usize {
        let read: HashSet<ValueId> = self.strides.iter().map(Strides::array).collect();
        let order = self.emission_order(&read);
        let mut last: HashMap<ValueId, usize> = HashMap::new();
        for (at, id) in order.iter().enumerate() {
            last.extend(self.sources(*id, &read).into_iter().map(|(source, _)| (source, at)));
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

    /// The most indices of a step that are live at once, beside the loop's own. An index is live from the first to the
    /// last but one of the reads that share it. So is the index from which it is computed, that of an array that is the
    /// same for all rows.
    pub fn live_indices(&self) -> usize {
        let read: HashSet<ValueId> = self.strides.iter().map(Strides::array).collect();
        let order = self.emission_order(&read).into_iter().filter(|id| read.contains(id));
        // Values of one layout are at one index, whatever dims they have.
        let dims_of = |(_, lies): &(ValueId, Along)| {
            let dims = lies.iter().flat_map(|dims| if dims.is_empty() { vec![(usize::MAX, 1)] } else { dims.clone() });
            dims.collect::<Dims>()
        };
        let of_array = |id: ValueId| self.arrays_read.iter().filter(move |(array, _)| *array == id).map(dims_of);
        let reads: Vec<Dims> = order.flat_map(|id| of_array(id).collect::<Vec<_>>()).collect();
        let is_plain = |lies: &Dims| lies.iter().all(|(dim, _)| *dim == self.innermost);
        let open_at = |at: usize| {
            let (before, after) = (&reads[..=at], &reads[at + 1..]);
            let is_last = |index: usize| !after[index + 1..].contains(&after[index]);
            let kept = (0..after.len()).filter(|i| is_last(*i) && !is_plain(&after[*i]) && before.contains(&after[*i]));
            let plain = after.iter().any(|lies| is_plain(lies) || !before.contains(lies));
            kept.count() + usize::from(plain)
        };
        (0..reads.len()).map(open_at).max().unwrap_or(0).max(1)
    }

    /// Operations and reads as XLA's emitters write them: breadth first from the term through elementwise operations,
    /// and then backwards.
    fn emission_order(&self, read: &HashSet<ValueId>) -> Vec<ValueId> {
        let mut found: Vec<(ValueId, bool)> = self.operations.last().map(|id| (*id, true)).into_iter().collect();
        let mut seen: HashSet<ValueId> = found.iter().map(|(id, _)| *id).collect();
        let mut next = 0;
        while let Some((id, is_direct)) = found.get(next) {
            let sources = if *is_direct { self.sources(*id, read) } else { Vec::new() };
            found.extend(sources.into_iter().rev().filter(|(source, _)| seen.insert(*source)));
            next += 1;
        }
        let mut order = Vec::new();
        let mut emitted = HashSet::new();
        for (id, _) in found.into_iter().rev() {
            // What is needed first, and then the value itself.
            let mut waiting = vec![(id, false)];
            while let Some((id, is_ready)) = waiting.pop() {
                if is_ready {
                    order.push(id);
                } else if emitted.insert(id) {
                    waiting.push((id, true));
                    waiting.extend(self.sources(id, read).into_iter().rev().map(|(source, _)| (source, false)));
                }
            }
        }
        order
    }

    /// The operations and reads that an operation uses, through moves, each with whether there are no moves between.
    fn sources(&self, id: ValueId, read: &HashSet<ValueId>) -> Vec<(ValueId, bool)> {
        let mut sources = Vec::new();
        if read.contains(&id) {
            return sources;
        }
        let operands = |id: ValueId| self.computation.instructions[id].operands.iter().rev();
        let mut waiting: Vec<(ValueId, bool)> = operands(id).map(|operand| (*operand, true)).collect();
        while let Some((id, is_direct)) = waiting.pop() {
            let instruction = &self.computation.instructions[id];
            if self.operations.contains(&id) || read.contains(&id) {
                sources.push((id, is_direct));
            } else if instruction.fusion() == self.fusion {
                let is_direct = is_direct && instruction.op == Op::Copy;
                waiting.extend(operands(id).map(|operand| (*operand, is_direct)));
            }
        }
        sources
    }

    /// Number of vectors of a value: elements between those of two iterations are read at once, and those further apart
    /// one by one.
    fn vectors(&self, id: ValueId) -> usize {
        if self.operations.contains(&id) {
            return 1;
        }
        let beside = Strides::places(&self.strides, id, |stride| stride == 1);
        beside.min(1) + Strides::places(&self.strides, id, |stride| (2..=RUN).contains(&stride))
    }

    /// Number of values inside an operation that are live at once.
    fn needs(&self, id: ValueId) -> usize {
        match self.computation.instructions[id].op {
            // Two polynomials of a square, and the operand.
            Op::Unary(Unary::Erf) if self.operations.contains(&id) => 3,
            _ => 0,
        }
    }
}
