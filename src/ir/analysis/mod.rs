//! Static analysis: everything that several rooms ask about a program without running it, one answer to one question.
//!
//! Nothing here computes with the numbers of a run, so both worlds may ask. [`Analysis`] gathers the answers: the
//! values that results depend on (`liveness`), the values that are computed alike ([`Numbering`]), the formats that
//! values hold ([`Precision`]), and the functions of regions ([`Regions`]). `pattern` recognises single operations with
//! a meaning of their own.

mod counter;
mod footprint;
mod lattice;
mod liveness;
mod numbering;
mod pattern;
mod precision;
mod producers;
mod region;

pub use counter::{is_of_integers, known_integer, known_result};
pub use footprint::{MOST_WORK, World, array_bytes, begin, check_memory, describe, instruction_bytes, reserve, work};
pub use lattice::Precision;
pub use liveness::{find_live, live};
pub use numbering::{Equality, Number, Numbering, Numbers, fingerprint, same_results, signature};
pub use pattern::{Cumulative, PlainMatmul, cumulative, is_cumulative, is_spread, plain_matmul};
pub use precision::{Held, accumulates_in, precisions, rounds_to, steps_hold, target};
pub use producers::find_producers;
pub use region::{Comparator, Reducer, Regions, comparator};

use std::sync::OnceLock;

use crate::ir::{Binary, Class, Instruction, Mark, Op, Program, Unary, ValueId};

/// A program with the analyses of its entry, each computed when it is first asked for.
#[derive(Debug)]
pub struct Analysis<'p> {
    /// The program that it is about.
    pub program: &'p Program,
    /// The functions of its regions.
    pub regions: Regions,
    live: OnceLock<Vec<bool>>,
    users: OnceLock<Vec<Vec<ValueId>>>,
    held: OnceLock<Vec<Held>>,
    meanings: OnceLock<Vec<ValueId>>,
    added: OnceLock<Vec<bool>>,
}

impl<'p> Analysis<'p> {
    /// The analysis of a program, with nothing worked out yet.
    pub fn new(program: &'p Program) -> Analysis<'p> {
        Analysis {
            program,
            regions: Regions::new(program),
            live: OnceLock::new(),
            users: OnceLock::new(),
            held: OnceLock::new(),
            meanings: OnceLock::new(),
            added: OnceLock::new(),
        }
    }

    /// For each value, whether a result depends on it.
    pub fn live(&self) -> &[bool] {
        self.live.get_or_init(|| live(self.program.entry(), [self.program.entry().root]))
    }

    /// The values that use each value, once per use, in order.
    pub fn users(&self) -> &[Vec<ValueId>] {
        self.users.get_or_init(|| self.program.entry().users())
    }

    /// The addition, subtraction or sum that is the only user of a value, through moves and negations.
    pub fn sum_of(&self, id: ValueId) -> Option<ValueId> {
        let [user] = self.users()[id][..] else { return None };
        let reader = &self.program.entry().instructions[user];
        match &reader.op {
            _ if matches!(reader.mark, Some(Mark::Exchange { .. })) => None,
            // The next trip's.
            _ if reader.mark == Some(Mark::Carried) => None,
            Op::Binary(Binary::Add | Binary::Subtract) => Some(user),
            Op::Reduce { to_apply, .. } => {
                let adds = self.regions.reducer(*to_apply) == Some(Reducer::Binary(Binary::Add));
                adds.then_some(user)
            }
            Op::Unary(Unary::Negate) => self.sum_of(user),
            op => {
                if op.class() == Class::Moves {
                    self.sum_of(user)
                } else {
                    None
                }
            }
        }
    }

    /// For each value, whether an addition, subtraction or sum uses it, through moves, negations and selects. Its other
    /// users do not matter: a compiler may compute the value again for each user.
    pub fn terms_of_sums(&self) -> &[bool] {
        self.added.get_or_init(|| {
            let instructions = &self.program.entry().instructions;
            let mut added = vec![false; instructions.len()];
            for id in (0..instructions.len()).rev() {
                let adds = |user: &ValueId| match &instructions[*user] {
                    reader if matches!(reader.mark, Some(Mark::Exchange { .. } | Mark::Carried)) => false,
                    Instruction { op: Op::Binary(Binary::Add | Binary::Subtract), .. } => true,
                    Instruction { op: Op::Reduce { to_apply, .. }, .. } => {
                        self.regions.reducer(*to_apply) == Some(Reducer::Binary(Binary::Add))
                    }
                    Instruction { op: Op::Unary(Unary::Negate) | Op::Select, .. } => added[*user],
                    reader => reader.op.class() == Class::Moves && added[*user],
                };
                added[id] = self.users()[id].iter().any(adds);
            }
            added
        })
    }

    /// The precision of each value.
    pub fn precisions(&self) -> &[Held] {
        self.held.get_or_init(|| precisions(self.program, &self.regions))
    }

    /// For each value, the first one with the same meaning: the same operations on the same values, up to rounding. A
    /// compiler computes a value again in each fusion that needs it, and rounds some of the copies. The copies share a
    /// meaning.
    pub fn meanings(&self) -> &[ValueId] {
        let firsts = || Numbering::new(Equality::ButForRounding).program(self.program, &self.regions).firsts();
        self.meanings.get_or_init(firsts)
    }
}
