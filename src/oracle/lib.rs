//! Evaluates a program over the real numbers and returns proven enclosures.
//!
//! A first pass computes with f64 intervals, outward rounded. Elements that it cannot prove are computed again with
//! pairs of f64, and those still open, element by element, with MPFR intervals at rising precision. An answer does not
//! depend on the precision of the first pass. See docs/proofs/truth.md for the meaning of a formula and for the
//! refusals.
//!
//! - Demands and answers: `demand`, `answer`; the elements that a pass needs for them: `plan`.
//! - One pass over a program: `evaluate`, with `elementwise`, `reduce`, `running`, `select`, `convert`, `bits`, `integer`,
//!   `transform` and `zeros` for its operations. It computes with `elements`: enclosures, and the `order` of expressions
//!   where these leave it open.
//! - The rungs, behind the trait in `arithmetic`: `fast` ([`interval`], [`elementary`]), `pairs` (`pair`), `mpfr`
//!   (`between`, `form`, `turn`). Dots of exactly known operands have rungs of their own: [`dot`].
//! - Enclosures of all results that computations of a program may have, in place of its truth: `latitude`.
//! - Storage and loops: `column`, `store`, `lanes`, `radix`; the choice of the precision: `reach`.
//! - Inlining of the entry's calls: `inline`; evaluation of equal instructions once: `share`.

#![deny(missing_docs)]

mod answer;
mod arithmetic;
mod between;
mod bits;
mod column;
mod comparison;
mod convert;
mod demand;
pub mod dot;
pub mod elementary;
mod elements;
mod elementwise;
mod evaluate;
mod fast;
mod form;
mod inline;
mod integer;
pub mod interval;
mod isa;
mod latitude;
mod mpfr;
mod open_starts;
mod oracle_error;
mod order;
mod pair;
mod pairs;
mod pass_room;
mod places;
mod plan;
mod prepared;
mod radix;
mod reach;
mod reduce;
mod running;
pub mod scaled_dot;
mod scatter;
mod select;
mod share;
mod store;
mod transform;
mod turn;
mod values;
mod zeros;

use ulpgate_ir::{analysis, budget, deadline, ir, num, scaled, tensor};

use crate::analysis::{World, check_memory};
use crate::ir::{Instruction, Op, Program};
use crate::tensor::{DType, Tensor};

use answer::PassAnswers;
use arithmetic::Arithmetic;
use fast::Fast;
use mpfr::Mpfr;
use pairs::Pairs;
use plan::{Plan, Sums};
use reach::Reach;

pub use demand::{Demand, FloatTruth, Stats, Top, Truth, TruthTensor};
pub use latitude::{
    Additions, BLOCK, Enclosed, Enclosure, Enclosures, Forms, Latitude, ProductOrder, Reciprocal, Rounding,
};
pub use oracle_error::OracleError;
pub use prepared::Prepared;

/// An arithmetic that a pass computes in; each proves more than the one before it, and takes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Intervals with f64 ends.
    Intervals,
    /// Pairs of f64 with a bound on their error.
    Pairs,
    /// MPFR intervals of rising precision.
    Mpfr,
}

/// Bits that pairs have after some operations.
const PAIR_BITS: u32 = 104;

/// The next pass of a search for the truth, in pairs or in MPFR.
///
/// In pairs an element takes about ten to a hundred times as long as in f64. In MPFR it takes about a thousand times as
/// long, and a product of a large dot as many f64 products as a number has digits of 22 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The arithmetic.
    pub rung: Rung,
    /// The precision, in bits.
    pub bits: u32,
    /// Elements of results that are still undecided.
    pub open: u64,
    /// The estimated number of operations that they take: elements of the values that they depend on, products of dots,
    /// and the operations of the previous pass in loops.
    pub operations: usize,
}

/// Evaluates programs over the real numbers; its fields say how precision rises.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    /// The rung to begin with; `None` for the one that suits the demands.
    pub first: Option<Rung>,
    /// Precision of the first MPFR pass, in bits. Each further pass has twice as many, or more if the pass before shows
    /// that these would not suffice.
    pub start_bits: u32,
    /// The last precision tried; elements that are still open then are reported as undecided.
    pub max_bits: u32,
}

impl Default for Oracle {
    fn default() -> Oracle {
        Oracle { first: None, start_bits: 128, max_bits: 4096 }
    }
}

impl Oracle {
    /// The truth of `program`'s results for `arguments`, as far as `demands` (one a result) ask.
    ///
    /// # Errors
    /// If arguments do not fit the program's parameters, or an operation has no meaning over the real numbers.
    pub fn evaluate(&self, program: &Program, arguments: &[Tensor], demands: &[Demand]) -> Result<Truth, OracleError> {
        self.truth(&Prepared::new(program), arguments, demands)
    }

    /// [`Oracle::evaluate`] of a program that is asked about more than once.
    ///
    /// # Errors
    /// As [`Oracle::evaluate`].
    pub fn truth(&self, prepared: &Prepared, arguments: &[Tensor], demands: &[Demand]) -> Result<Truth, OracleError> {
        self.announced_truth(prepared, arguments, demands, &mut |_| {})
    }

    /// [`Oracle::truth`], with an announcement of each pass in pairs or in MPFR before it begins: these may take long.
    ///
    /// # Errors
    /// As [`Oracle::evaluate`].
    pub fn announced_truth(
        &self,
        prepared: &Prepared,
        arguments: &[Tensor],
        demands: &[Demand],
        announce: &mut dyn FnMut(Ahead),
    ) -> Result<Truth, OracleError> {
        evaluate::check_arguments(&prepared.program, arguments)?;
        check_memory(&prepared.program, World::Truth)?;
        let asks_for_pairs = asks_for_pairs(&prepared.program, demands);
        let first = self.first.unwrap_or(if asks_for_pairs { Rung::Pairs } else { Rung::Intervals });
        let mut search = Search {
            prepared,
            arguments,
            answers: PassAnswers::new(&prepared.program, demands),
            stats: Stats::default(),
            sums: Sums::new(),
            passes: 0,
            reach: Reach::default(),
        };
        let (mut is_open, mut bits) = (true, self.start_bits.max(2));
        if first <= Rung::Intervals {
            is_open = search.pass(Rung::Intervals, Fast::default(), None)?;
        }
        if first <= Rung::Pairs && is_open {
            is_open = search.pass(Rung::Pairs, Pairs::default(), Some(announce))?;
            bits = search.reach.next_bits(PAIR_BITS).clamp(bits, self.max_bits.max(bits));
        }
        search.drop_idle_sums();
        while is_open {
            // At first with the sums of the pairs: then an element costs no more than itself.
            let is_partial = search.answers.only_roundings_open() && !search.sums.is_empty();
            let is_last = bits >= self.max_bits && !is_partial;
            search.stats.highest_bits = bits;
            is_open = search.pass(Rung::Mpfr, Mpfr::new(bits), Some(announce))? && !is_last;
            if !is_partial {
                bits = search.reach.next_bits(bits).max(bits * 2).min(self.max_bits);
            }
        }
        Ok(search.answers.finish(search.stats))
    }
}

/// The passes over one program.
struct Search<'a> {
    prepared: &'a Prepared,
    arguments: &'a [Tensor],
    answers: PassAnswers,
    stats: Stats,
    /// Enclosures of reductions by the pairs.
    sums: Sums,
    passes: u64,
    /// Reach of the last pass.
    reach: Reach,
}

impl Search<'_> {
    /// Forgets the sums that the pairs have found if a pass with them would take more than half the operations of one
    /// without.
    fn drop_idle_sums(&mut self) {
        if !self.sums.is_empty() && 2 * self.operations(self.sums.clone()) > self.operations(Sums::new()) {
            self.sums.clear();
        }
    }

    /// About how many operations the next pass takes, with these sums.
    fn operations(&self, sums: Sums) -> usize {
        let program = &self.prepared.program;
        Plan::new(program, self.answers.demands(), &self.answers.needs(), sums).operations(program)
    }

    /// Answers the open demands as far as a rung can, after announcing the pass. Returns whether any element is still
    /// open.
    fn pass<A: Arithmetic>(
        &mut self,
        rung: Rung,
        arithmetic: A,
        announce: Option<&mut dyn FnMut(Ahead)>,
    ) -> Result<bool, OracleError> {
        let is_first = self.passes == 0;
        self.passes += 1;
        self.stats.escalations += u64::from(!is_first);
        let sums = if self.answers.only_roundings_open() { std::mem::take(&mut self.sums) } else { Sums::new() };
        let plan = Plan::new(&self.prepared.program, self.answers.demands(), &self.answers.needs(), sums);
        if let Some(announce) = announce {
            let operations = plan.operations(&self.prepared.program) + self.reach.called;
            let bits = if rung == Rung::Mpfr { self.stats.highest_bits } else { PAIR_BITS };
            announce(Ahead { rung, bits, open: self.answers.open(), operations });
        }
        let (truth, found, reach) = evaluate::run(arithmetic, self.prepared, self.arguments, &plan)?;
        self.reach = reach;
        if is_first {
            self.stats.merge(&truth.stats);
        }
        let answered = self.answers.add(truth.outputs);
        match rung {
            Rung::Intervals => self.stats.fast += answered,
            Rung::Pairs => (self.stats.pairs, self.sums) = (self.stats.pairs + answered, found),
            Rung::Mpfr => self.stats.mpfr += answered,
        }
        Ok(self.answers.open() > 0)
    }
}

/// Whether some result is to be rounded that f64 intervals, wider than an f64, would leave open. Those of dots they know.
fn asks_for_pairs(program: &Program, demands: &[Demand]) -> bool {
    let entry = program.entry();
    program.outputs().iter().zip(demands).any(|(output, demand)| {
        let Instruction { op, shape, .. } = &entry.instructions[*output];
        let is_widest = matches!(demand, Demand::Rounded | Demand::RoundedTo(DType::F64));
        is_widest && shape.dtype().is_some_and(DType::is_float) && !matches!(op, Op::Dot { .. })
    })
}

/// A fingerprint of this crate's sources, 16 hex digits: builds of one fingerprint compute the same.
pub const SOURCES: &str = env!("ULPGATE_SOURCES");
