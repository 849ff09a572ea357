//! Evaluates a program over the real numbers and returns proven enclosures.
//!
//! A first pass computes with f64 intervals, outward rounded; what it cannot prove is done again with pairs of f64, and
//! what they cannot prove, element by element, with MPFR intervals at rising precision. Where an answer is given, it
//! does not depend on where the precision started. See "Truth" in DESIGN.md for what the formula means and for what is
//! refused.

mod answer;
mod arithmetic;
mod column;
mod demand;
pub mod dot;
pub mod elementary;
mod elements;
mod elementwise;
mod evaluate;
mod fast;
mod integer;
pub mod interval;
mod lanes;
mod mpfr;
mod order;
mod pair;
mod pairs;
mod plan;
mod radix;
mod reduce;
mod select;
mod share;
mod store;

use crate::ir::{Instruction, Op, Program};
use crate::tensor::{DType, Tensor};

use answer::Answers;
use fast::Fast;
use mpfr::Mpfr;
use pairs::Pairs;
use plan::{Plan, Sums};

pub use demand::{Demand, FloatTruth, Stats, Top, Truth, TruthTensor};
pub use evaluate::OracleError;

/// How precision rises.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    /// Precision of the first MPFR pass, in bits; each further one has twice as many.
    pub start_bits: u32,
    /// The last precision tried; what is still open then is reported as undecidable.
    pub max_bits: u32,
    /// Whether the passes over f64 intervals and over pairs of f64 come first.
    pub fast: bool,
}

impl Default for Oracle {
    fn default() -> Oracle {
        Oracle { start_bits: 128, max_bits: 4096, fast: true }
    }
}

impl Oracle {
    /// The truth of `program`'s results for `arguments`, as far as `demands` (one a result) ask.
    ///
    /// # Errors
    /// If arguments do not fit the program's parameters, or an operation has no meaning over the real numbers.
    pub fn evaluate(&self, program: &Program, arguments: &[Tensor], demands: &[Demand]) -> Result<Truth, OracleError> {
        evaluate::check_arguments(program, arguments)?;
        let shared = share::share_equal(program);
        let mut answers = Answers::new(&shared, demands);
        let mut stats = Stats::default();
        let mut sums = Sums::new();
        if self.fast {
            let asks_for_pairs = asks_for_pairs(&shared, demands);
            if !asks_for_pairs {
                let plan = Plan::new(&shared, answers.demands(), &answers.wanted(), Sums::new());
                let (truth, _) = evaluate::run(Fast::default(), &shared, arguments, &plan)?;
                stats.merge(&truth.stats);
                stats.fast += answers.add(truth.outputs);
            }
            if answers.open() > 0 || asks_for_pairs {
                let plan = Plan::new(&shared, answers.demands(), &answers.wanted(), Sums::new());
                let (truth, found) = evaluate::run(Pairs::default(), &shared, arguments, &plan)?;
                if asks_for_pairs {
                    stats.merge(&truth.stats);
                } else {
                    stats.escalations += 1;
                }
                stats.pairs += answers.add(truth.outputs);
                sums = found;
            }
            if answers.open() == 0 {
                return Ok(answers.finish(stats));
            }
            stats.escalations += 1;
        }
        let mut bits = self.start_bits.max(2);
        loop {
            // At first with the sums of the pairs: then an element costs no more than itself.
            let sums = if answers.only_roundings_open() { std::mem::take(&mut sums) } else { Sums::new() };
            let is_partial = !sums.is_empty();
            let plan = Plan::new(&shared, answers.demands(), &answers.wanted(), sums);
            let (truth, _) = evaluate::run(Mpfr::new(bits), &shared, arguments, &plan)?;
            stats.mpfr += answers.add(truth.outputs);
            stats.highest_bits = bits;
            if answers.open() == 0 || bits >= self.max_bits && !is_partial {
                return Ok(answers.finish(stats));
            }
            stats.escalations += 1;
            if !is_partial {
                bits = (bits * 2).min(self.max_bits);
            }
        }
    }
}

/// Whether some result is to be rounded that f64 intervals, wider than an f64, would leave open. Those of dots they know.
fn asks_for_pairs(program: &Program, demands: &[Demand]) -> bool {
    let entry = program.entry();
    program.outputs().iter().zip(demands).any(|(output, demand)| {
        let Instruction { op, shape, .. } = &entry.instructions[*output];
        *demand == Demand::Rounded && shape.dtype().is_some_and(DType::is_float) && !matches!(op, Op::Dot { .. })
    })
}
