//! Sums, and what their additions may err by.

use crate::ir::{ComputationId, Instruction, Op, Shape};

use super::super::elements::Value;
use super::super::evaluate::Pass;
use super::super::fast::Fast;
use super::super::interval::Interval;
use super::super::oracle_error::OracleError;
use super::product_order::ProductOrder;
use super::{Rounding, settle};

/// The share of its magnitude that a number keeps, rounded in any format of a sum's steps.
const NEARLY_ALL: f64 = 1.0 - 1.0 / 64.0;

/// The error of a sum, in any order that the constants stand for: `share S + lost`, with S the sum of the magnitudes of
/// its terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Additions {
    /// Relative to the sum of the magnitudes.
    pub share: f64,
    /// A sum of terms none of which is negative is this share of theirs at least, and no less than the largest of them, but for
    /// what underflow takes; `None` where that is not so.
    pub least: Option<f64>,
    /// The loss to underflow, in all.
    pub lost: f64,
    /// The number of times that the init may be among the terms.
    pub inits: usize,
    /// The largest number that a partial sum may be.
    pub largest: f64,
    /// Operands of products below the first magnitude may lose the second.
    pub intake: Option<(f64, f64)>,
    /// The orders in which the products of a dot may be added, which say more than `share` does.
    pub order: Option<Box<ProductOrder>>,
}

impl Pass<'_, Fast> {
    /// Sums of terms or of products, whose magnitudes bound their errors.
    #[expect(clippy::too_many_lines, reason = "the steps of one proof, in order")]
    pub(super) fn add_up(
        &mut self,
        computation: ComputationId,
        instruction: &Instruction,
        mut operands: Vec<Value<Fast>>,
        shapes: &[&Shape],
        (additions, rounding): (&Additions, &Rounding),
    ) -> Result<Value<Fast>, OracleError> {
        // What operands lose on their way in is theirs: it is added before anything is multiplied.
        if let Some((below, loses)) = additions.intake {
            operands = operands.into_iter().map(|operand| self.widened_below(operand, below, loses)).collect();
        }
        let sums = self.instruction(computation, instruction, &operands, shapes, None)?;
        // Of terms that are not negative the upper end of the sum is that of their magnitudes.
        let is_rising = operands.iter().all(Self::is_not_negative);
        let totals = if is_rising {
            sums.clone()
        } else {
            let magnitudes: Vec<Value<Fast>> = operands.iter().map(|operand| self.magnitudes(operand)).collect();
            self.instruction(computation, instruction, &magnitudes, shapes, None)?
        };
        let (Value::Float(sums), Value::Float(totals)) = (&sums, &totals) else {
            return Ok(self.forget(&instruction.shape));
        };
        // The init is among the terms once; how often computations take it is left open.
        let init = match instruction.op {
            Op::Dot { .. } => 0.0,
            _ => self.world.number(operands[1].floats(), 0).abs().hi,
        };
        // Each further init is an error of its own size (FACTS 3.2).
        let again = (additions.inits.max(1) - 1) as f64 * init;
        let least = additions.least.filter(|_| is_rising);
        // Where errors may be as large as the sum, the largest term says more.
        let largest = match (&instruction.op, least) {
            (Op::Reduce { dims, .. }, Some(_)) if additions.share > 0.25 => {
                Some(self.largest_of([&operands[0], &operands[1]], shapes[0].dims(), dims))
            }
            _ => None,
        };
        let partial = match (&instruction.op, &additions.order) {
            (Op::Dot { dims, .. }, Some(order)) => self.partial_sums(dims, &operands, shapes, order),
            _ => None,
        };
        let lower_end = |at: usize, sum: Interval| {
            // A product that is added before it is rounded is rounded then.
            let term = largest.as_ref().map_or(0.0, |largest| self.world.number(largest.floats(), at).lo * NEARLY_ALL);
            let sum = least.map_or(0.0, |least| sum.lo * least).next_down();
            (sum.max(term) - settle::up(additions.lost + again)).next_down()
        };
        let of_additions = |at: usize, sum: Interval, magnitude: f64| match &additions.order {
            None => settle::up(additions.share * magnitude),
            Some(order) => {
                // A partial sum is at most the sum of all terms of its sign: half of the magnitudes and half of the sum.
                let subset = ((magnitude + sum.abs().hi) / 2.0 * (1.0 + 4.0 * f64::EPSILON)).min(magnitude);
                // The radii of operands are in the magnitudes, and not in those of middles.
                let along_k = |[sum, middles]: [f64; 2]| sum + (magnitude - middles).max(0.0);
                let partial = partial.as_ref().map_or(subset, |partial| along_k(partial[at]).min(subset));
                order.error(magnitude, subset, partial)
            }
        };
        let bounded = |(at, sum, total): (usize, Interval, Interval)| {
            let magnitude = (total.hi + again).next_up();
            // A partial sum may overflow although the whole does not: then nothing is known of it.
            let is_bounded = magnitude * (1.0 + additions.share) < additions.largest;
            if !is_bounded {
                return if sum.is_exact() && !sum.lo.is_finite() || sum.is_nan() { sum } else { Interval::UNKNOWN };
            }
            let error = settle::up(of_additions(at, sum, magnitude) + settle::up(additions.lost + again));
            let wider = settle::widen(sum, error);
            match least {
                Some(_) if sum.lo.is_finite() => Interval { lo: wider.lo.max(lower_end(at, sum)), ..wider },
                _ => wider,
            }
        };
        let numbers: Vec<Interval> = (0..sums.len)
            .map(|at| {
                settle::round(bounded((at, self.world.number(sums, at), self.world.number(totals, at))), rounding)
            })
            .collect();
        Ok(Value::Float(self.world.fresh_all(numbers)))
    }
}
