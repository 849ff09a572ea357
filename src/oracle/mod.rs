//! Evaluates a program over the real numbers and returns proven enclosures.
//!
//! A first pass computes with f64 intervals, outward rounded; what it cannot prove is done again with MPFR intervals
//! at rising precision. Where an answer is given, it does not depend on where the precision started. See "Truth" in
//! DESIGN.md for what the formula means and for what is refused.

mod arithmetic;
mod demand;
pub mod dot;
pub mod elementary;
mod elements;
mod evaluate;
mod integer;
pub mod interval;
mod mpfr;
mod order;
mod reduce;
mod select;
mod share;

use crate::ir::Program;
use crate::tensor::Tensor;

use arithmetic::Fast;
use demand::Answered;
use mpfr::Mpfr;

pub use demand::{Demand, FloatTruth, Stats, Top, Truth, TruthTensor};
pub use evaluate::OracleError;

/// How precision rises.
#[derive(Clone, Copy, Debug)]
pub struct Oracle {
    /// Precision of the first MPFR pass, in bits; each further one has twice as many.
    pub start_bits: u32,
    /// The last precision tried; what is still open then is reported as undecidable.
    pub max_bits: u32,
    /// Whether the pass over f64 intervals comes first.
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
        let shared = share::share_equal(program);
        let mut stats = Stats::default();
        if self.fast {
            let answered = evaluate::run(Fast::default(), &shared, arguments, demands)?;
            if let Answered::Wholly(truth) = answered {
                return Ok(truth);
            }
            stats.escalations += 1;
        }
        let mut bits = self.start_bits.max(2);
        loop {
            let answered = evaluate::run(Mpfr::new(bits), &shared, arguments, demands)?;
            let last = bits >= self.max_bits;
            match answered {
                Answered::Partly(_) if !last => {}
                Answered::Wholly(mut truth) | Answered::Partly(mut truth) => {
                    truth.stats.highest_bits = bits;
                    truth.stats.merge(&stats);
                    return Ok(truth);
                }
            }
            stats.escalations += 1;
            bits = (bits * 2).min(self.max_bits);
        }
    }
}
