//! Which ranks reads have.

use crate::ir::{Op, ValueId};

use super::super::address::Address;

use super::Emission;

/// The ranks of a basic block; indices have those of the first one.
pub(super) const BLOCK: u32 = 1 << 16;

impl Emission<'_> {
    /// The rank of what is read or called for the element at an address: of two reads of one address LLVM keeps the first, as it
    /// sees the address at first. What one branch reads no other knows of.
    pub(super) fn read(&mut self, id: ValueId, place: &[ValueId], at: &[Address]) -> u32 {
        let mut branches = Vec::new();
        let mut moves = place.iter().copied();
        while let Some(id) = moves.next() {
            if let Op::Concatenate { .. } = self.computation.instructions[id].op {
                branches.extend([Some(id), moves.next()].into_iter().flatten());
            }
        }
        let key = (id, at.iter().map(Address::alone).collect(), branches);
        if let Some(rank) = self.read.get(&key) {
            return *rank;
        }
        let rank = self.pass();
        let rank = self.sunk.ranks.get(&id).copied().unwrap_or(rank);
        let is_outside = self.computation.instructions[id].fusion != self.fusion;
        self.calls.read(is_outside.then(|| self.complex.number(id)));
        self.read.insert(key, rank);
        rank
    }

    /// What calls and branches leave is there where they end.
    pub(super) fn pass(&mut self) -> u32 {
        self.reads += 1;
        BLOCK + self.reads
    }

    /// Behind a loop or a branch, as in it, another basic block begins: what is read there has a higher rank than all that came
    /// before, however much was computed of that (`ReassociatePass::BuildRankMap`).
    pub(super) fn enter_block(&mut self) {
        self.reads = self.reads.next_multiple_of(BLOCK);
    }
}
