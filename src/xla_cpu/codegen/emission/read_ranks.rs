//! Ranks of reads.

use crate::ir::{Op, ValueId};

use super::super::address::Address;

use super::Emission;

/// Number of ranks in a basic block. Indices have those of the first block.
pub(super) const BLOCK: u32 = 1 << 16;

impl Emission<'_> {
    /// The rank of a read or call for the element at an address. Of two reads of one address LLVM keeps the first, and
    /// compares addresses in their first form. A read in one branch is not reused in another.
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
        let is_outside = self.computation.instructions[id].fusion() != self.fusion;
        self.calls.read(is_outside.then(|| self.complex.number(id)));
        self.read.insert(key, rank);
        rank
    }

    /// The rank of the result of a call or branch that ends here, one position further on.
    pub(super) fn pass(&mut self) -> u32 {
        self.reads += 1;
        BLOCK + self.reads
    }

    /// Begins another basic block, inside a loop or branch or behind it. A read there ranks higher than every earlier
    /// value, however long the chain of instructions behind that value (`ReassociatePass::BuildRankMap`).
    pub(super) fn enter_block(&mut self) {
        self.reads = self.reads.next_multiple_of(BLOCK);
    }
}
