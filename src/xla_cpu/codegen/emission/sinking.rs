//! Instructions before a loop that LLVM sinks behind it, because all their users are there.

use std::collections::HashMap;

use crate::ir::{Instruction, Op, ValueId};

use super::super::known::{computed_number, left_as_it_is};

use super::Emission;
use super::chain_length::is_call;
use super::read_ranks::BLOCK;

/// Reads of a sunk value: its own, and that of its array's address.
const READS: u32 = 2;

/// Code for single numbers, with loops in it.
#[derive(Clone, Default)]
pub(super) struct Code {
    /// Its values in order, each with the loops before it.
    values: Vec<(ValueId, usize)>,
    loops: usize,
    /// Reads before the code that is behind all loops.
    reads: u32,
}

/// The instructions that are sunk behind all loops.
#[derive(Default)]
pub(super) struct Sunk {
    /// Ranks of the reads among them.
    pub ranks: HashMap<ValueId, u32>,
    /// Number of loops before them.
    loops: usize,
    /// Number of reads that they add.
    reads: u32,
}

impl Emission<'_> {
    /// Notes the next value of the code.
    pub(super) fn note(&mut self, id: ValueId) {
        self.code.values.push((id, self.code.loops));
    }

    /// Leaves a loop: the instructions that were sunk behind it follow.
    pub(super) fn leave_loop(&mut self) {
        self.enter_block();
        self.code.loops += 1;
        self.code.reads = self.reads;
        if self.sunk.loops == self.code.loops {
            self.reads += self.sunk.reads;
        }
    }

    /// The instructions that LLVM sinks behind all loops (`InstCombinerImpl::tryToSinkInstruction`). It goes through
    /// the code in order, and moves an instruction with users in the last block alone to the front of that block. Then
    /// it moves the operands of that instruction in front of it, the last one first. So the first read comes last.
    /// Calls stay.
    pub(super) fn sinks(&self, results: &[ValueId]) -> Sunk {
        let Code { values, loops, reads } = &self.code;
        if self.loops || *loops == 0 {
            return Sunk::default();
        }
        let mut sinking = Sinking { emission: self, behind: HashMap::new(), readers: HashMap::new(), sunk: Vec::new() };
        sinking.behind = values.iter().map(|(id, before)| (*id, before == loops)).collect();
        for (id, instruction) in self.computation.instructions.iter().enumerate() {
            if instruction.fusion() == self.fusion && self.source(id) == id {
                sinking
                    .operands(id)
                    .into_iter()
                    .for_each(|operand| sinking.readers.entry(operand).or_default().push(id));
            }
        }
        let is_read = |id: &ValueId| self.computation.instructions[*id].fusion() != self.fusion;
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

    /// The value that represents another one in the code, behind moves and identities.
    fn source(&self, mut id: ValueId) -> ValueId {
        loop {
            let Instruction { op, operands, .. } = &self.computation.instructions[id];
            let fusion = self.computation.instructions[id].fusion();
            let source = match op {
                _ if fusion != self.fusion => None,
                Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } => operands.first().copied(),
                _ => left_as_it_is(self.computation, id, self.fusion),
            };
            let Some(source) = source else { return id };
            id = source;
        }
    }
}

/// The walk through the code.
struct Sinking<'e, 'c> {
    emission: &'e Emission<'c>,
    /// For each value, whether it is behind all loops.
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
        let is_read = instruction.fusion() != fusion;
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
