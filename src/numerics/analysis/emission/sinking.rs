//! What is sunk behind a loop: instructions before it that are needed behind it alone.

use std::collections::HashMap;

use crate::ir::{Instruction, Op, ValueId};

use super::super::known::{computed_number, left_as_it_is};

use super::Emission;
use super::chain_length::is_call;
use super::read_ranks::BLOCK;

/// A read, and that of its array's address, which is read too.
const READS: u32 = 2;

/// Code for single numbers, with loops in it.
#[derive(Clone, Default)]
pub(super) struct Code {
    /// Its values in order, each with the loops before it.
    values: Vec<(ValueId, usize)>,
    loops: usize,
    /// Reads before what is behind all loops.
    reads: u32,
}

/// What has been sunk behind all loops.
#[derive(Default)]
pub(super) struct Sunk {
    /// The ranks of what is read there.
    pub ranks: HashMap<ValueId, u32>,
    /// The loops that are behind when it comes.
    loops: usize,
    /// How many reads it is.
    reads: u32,
}

impl Emission<'_> {
    /// Notes that a value stands next in the code.
    pub(super) fn note(&mut self, id: ValueId) {
        self.code.values.push((id, self.code.loops));
    }

    /// Behind a loop stands what was sunk there.
    pub(super) fn leave_loop(&mut self) {
        self.enter_block();
        self.code.loops += 1;
        self.code.reads = self.reads;
        if self.sunk.loops == self.code.loops {
            self.reads += self.sunk.reads;
        }
    }

    /// What LLVM sinks behind all loops (`InstCombinerImpl::tryToSinkInstruction`). It goes through the code in order; what is needed in the last
    /// block alone, it puts in front of that, and then in front of it its operands, the last one first. So what was read first
    /// comes last. Calls stay.
    pub(super) fn sinks(&self, results: &[ValueId]) -> Sunk {
        let Code { values, loops, reads } = &self.code;
        if self.loops || *loops == 0 {
            return Sunk::default();
        }
        let mut sinking = Sinking { emission: self, behind: HashMap::new(), readers: HashMap::new(), sunk: Vec::new() };
        sinking.behind = values.iter().map(|(id, before)| (*id, before == loops)).collect();
        for (id, instruction) in self.computation.instructions.iter().enumerate() {
            if instruction.fusion == self.fusion && self.source(id) == id {
                sinking
                    .operands(id)
                    .into_iter()
                    .for_each(|operand| sinking.readers.entry(operand).or_default().push(id));
            }
        }
        let is_read = |id: &ValueId| self.computation.instructions[*id].fusion != self.fusion;
        let read_behind = values.iter().filter(|(id, before)| is_read(id) && before == loops).count();
        let results: Vec<ValueId> = results.iter().map(|id| self.source(*id)).collect();
        values.iter().for_each(|(id, _)| sinking.sink(*id, &results));
        let mut sunk = Sunk { loops: *loops, ..Sunk::default() };
        for id in sinking.sunk.into_iter().rev().filter(is_read) {
            sunk.reads += READS;
            sunk.ranks.insert(id, BLOCK + reads + sunk.reads);
        }
        sunk.reads += (read_behind + results.len()) as u32;
        sunk
    }

    /// The value that another one is in the code.
    fn source(&self, mut id: ValueId) -> ValueId {
        loop {
            let Instruction { op, fusion, operands, .. } = &self.computation.instructions[id];
            let source = match op {
                _ if *fusion != self.fusion => None,
                Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } => operands.first().copied(),
                _ => left_as_it_is(self.computation, id, self.fusion),
            };
            let Some(source) = source else { return id };
            id = source;
        }
    }
}

/// The code while it is gone through.
struct Sinking<'e, 'c> {
    emission: &'e Emission<'c>,
    /// Of each value whether it is behind all loops.
    behind: HashMap<ValueId, bool>,
    readers: HashMap<ValueId, Vec<ValueId>>,
    sunk: Vec<ValueId>,
}

impl Sinking<'_, '_> {
    fn operands(&self, id: ValueId) -> Vec<ValueId> {
        let Instruction { operands, .. } = &self.emission.computation.instructions[id];
        operands.iter().map(|operand| self.emission.source(*operand)).collect()
    }

    fn sink(&mut self, id: ValueId, results: &[ValueId]) {
        let Emission { computation, fusion, .. } = *self.emission;
        let instruction = &computation.instructions[id];
        let is_read = instruction.fusion != fusion;
        let is_behind = |id: &ValueId| self.behind.get(id) == Some(&true);
        let readers = self.readers.get(&id).map_or(&[][..], |readers| readers);
        let is_needed_behind = readers.iter().all(is_behind) && (!readers.is_empty() || results.contains(&id));
        let stays = is_call(&instruction.op) || matches!(instruction.op, Op::Constant(_) | Op::Reduce { .. });
        let is_known = !is_read && computed_number(computation, id, fusion).is_some();
        if !self.behind.contains_key(&id) || is_behind(&id) || !is_needed_behind || !is_read && (stays || is_known) {
            return;
        }
        self.behind.insert(id, true);
        self.sunk.push(id);
        if !is_read {
            self.operands(id).into_iter().rev().for_each(|operand| self.sink(operand, results));
        }
    }
}
