//! Places where a compiler may compute as if floats were real numbers: the rules of XLA's algebraic simplifier that change floats
//! (FACTS 9.1), as groups of operations.
//!
//! A rule looks from an operation through what moves or converts elements at the operations of its operands. What one rewrite
//! gives the next one may match, so that operations which any rule joins, perhaps after other rules, are one group. Every form of
//! a group is one function of the same real numbers, computed with no more roundings than the group has operations and
//! constants. So each result of a group lies within that many errors of the real number.

mod complex;
mod groups;
mod inits;
mod never_negative;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::analysis::{Analysis, Reducer};
use crate::ir::{Binary, ComputationId, Instruction, Op, Program, Unary, ValueId};
use crate::machine::vector::VectorUnit;
use crate::num::{F32, Format};
use crate::oracle::{Latitude, Rounding};
use crate::stat::gamma;
use crate::tensor::DType;

use groups::{Factor, Groups, Known};

/// The largest magnitude of a sum or product of exponents whose exponentials and their product are normal numbers.
const EXPONENTS: f64 = 256.0;

/// The analyses of a program, and the units that may compute it.
pub(super) struct Analyses<'a> {
    pub analysis: &'a Analysis<'a>,
    pub units: Vec<VectorUnit>,
}

impl Analyses<'_> {
    fn program(&self) -> &Program {
        self.analysis.program
    }

    fn reducer(&self, region: ComputationId) -> Option<Reducer> {
        self.analysis.regions.reducer(region)
    }

    /// The largest error that any unit promises of a function relative to it; `None` where one promises nothing.
    fn function(&self, unary: Unary, dtype: DType) -> Option<f64> {
        let of = |unit: &VectorUnit| unit.function(unary, dtype).map(|[relative, _]| relative);
        self.units.iter().map(of).try_fold(0.0, |most: f64, error| Some(most.max(error?)))
    }

    /// The largest error of a quotient that any unit has, relative to it, beside its own rounding.
    fn quotient(&self, dtype: DType) -> f64 {
        // A reciprocal's rounding, and a unit in the last place of a quotient relative to it.
        let of = |unit: &VectorUnit| unit.published_quotient(dtype, 1.0, 1.0).unwrap_or_default() + 2f64.powi(-22);
        self.units.iter().map(of).fold(0.0, f64::max)
    }
}

/// The roundings of an operation in any form, and of the constants that it may be folded with.
fn roundings(instruction: &Instruction, known: &[Known]) -> usize {
    let constants = instruction.operands.iter().filter(|operand| known[**operand].is_constant).count();
    // x^3 is two products.
    let own = if matches!(instruction.op, Op::Binary(Binary::Power)) { 2 } else { 1 };
    own + 2 * constants
}

/// Lets each result of a group be what any form of it gives.
pub(super) fn widen(latitudes: &mut [Latitude], analyses: &Analyses) {
    let program = analyses.program();
    let instructions = &program.entry().instructions;
    let is_sum = |id: ValueId| match &instructions[id].op {
        Op::Reduce { to_apply, .. } => analyses.reducer(*to_apply) == Some(Reducer::Binary(Binary::Add)),
        _ => false,
    };
    let groups = Groups::new(instructions, &is_sum);
    let mut members: BTreeMap<ValueId, Vec<ValueId>> = BTreeMap::new();
    for id in (0..instructions.len()).filter(|id| groups.roots[*id] == *id) {
        members.entry(groups.leader(id)).or_default().push(id);
    }
    for group in members.values().filter(|group| group.iter().any(|id| groups.is_joined[*id])) {
        let share = groups.share(group, latitudes, analyses);
        group.iter().for_each(|id| allow(&mut latitudes[*id], &instructions[*id], share));
    }
    for (id, instruction) in instructions.iter().enumerate() {
        let Instruction { op, operands, .. } = instruction;
        match op {
            // log(x^y) is y log|x|: the error of the logarithm is multiplied by what may be anything.
            Op::Unary(Unary::Log) if matches!(groups.operation(operands[0]), Op::Binary(Binary::Power)) => {
                latitudes[id] = Latitude::Unknown;
            }
            // A sum of sums is one sum.
            Op::Reduce { .. } if is_sum(id) && is_sum(groups.roots[operands[0]]) => {
                let (inner, outer) = (groups.roots[operands[0]], id);
                let terms = |id: ValueId| {
                    let [terms, sums] = [instructions[id].operands[0], id].map(|id| instructions[id].shape.elements());
                    terms / sums.max(1)
                };
                merge(&mut latitudes[inner], groups.known[operands[0]].format, terms(inner) * terms(outer));
            }
            // A dot with equal columns is a sum, times their value.
            Op::Dot { .. } if operands.iter().any(|operand| groups.known[*operand].is_spread) => {
                if let Latitude::Rounded(Rounding { additions: Some(additions), .. }) = &mut latitudes[id] {
                    let scaled = 4.0 * F32.unit_roundoff();
                    additions.share = (additions.share + scaled).next_up();
                    additions.order.iter_mut().for_each(|order| order.split = (order.split + scaled).next_up());
                }
            }
            Op::Binary(Binary::Add | Binary::Subtract | Binary::Multiply) => {
                let is_zero =
                    |id: &ValueId| matches!(groups.factor(*id), Factor::Constant(bits) if f64::from_bits(bits) == 0.0);
                let is_flag = |id: &ValueId| {
                    let root = &instructions[groups.roots[*id]];
                    root.op == Op::Convert && instructions[root.operands[0]].shape.dtype() == Some(DType::Pred)
                };
                let is_product = matches!(op, Op::Binary(Binary::Multiply));
                // x + 0 is x, and a product with a predicate is picked: zeros may be of either sign, NaN may be none.
                if operands.iter().any(|operand| if is_product { is_flag(operand) } else { is_zero(operand) })
                    && let Latitude::Rounded(rounding) = &mut latitudes[id]
                {
                    rounding.forms.get_or_insert_default().forgets_signs = true;
                }
            }
            _ => {}
        }
    }
    inits::forget(latitudes, &groups, &|region| analyses.reducer(region));
    never_negative::forget_nan(latitudes, &groups);
    complex::forget(latitudes, &groups);
}

impl Groups<'_> {
    /// By what share of itself, or of what it adds up, a result of a group may differ from the real number; `None` where
    /// nothing is known.
    fn share(&self, group: &[ValueId], latitudes: &[Latitude], analyses: &Analyses) -> Option<f64> {
        let mut count = 2;
        let mut error: f64 = 0.0;
        let mut unit: f64 = 0.0;
        let mut formats = Vec::new();
        for id in group {
            let instruction = &self.instructions[*id];
            count += roundings(instruction, &self.known);
            let dtype = instruction.shape.dtype()?;
            formats.push(dtype.format().copied());
            formats.extend(instruction.operands.iter().map(|operand| self.known[*operand].format));
            if let Latitude::Rounded(rounding) = &latitudes[*id] {
                error = error.max(rounding.relative);
                let reciprocals = rounding.reciprocal.iter().chain(&rounding.others);
                formats.extend(reciprocals.flat_map(|(formats, _)| formats.iter().map(|format| Some(*format))));
            }
            // One root may take the place of the other, and a quotient that of roots.
            let roots = match &instruction.op {
                Op::Unary(Unary::Sqrt | Unary::Rsqrt) => &[Unary::Sqrt, Unary::Rsqrt][..],
                Op::Binary(Binary::Power) => &[Unary::Sqrt][..],
                _ => &[],
            };
            for root in roots {
                error = error.max(analyses.function(*root, dtype)?);
            }
            if matches!(instruction.op, Op::Unary(Unary::Rsqrt) | Op::Binary(Binary::Divide | Binary::Power)) {
                error = error.max(analyses.quotient(dtype));
            }
            if matches!(instruction.op, Op::Unary(Unary::Exponential)) {
                error = error.max(analyses.function(Unary::Exponential, dtype)?);
            }
        }
        for format in formats.into_iter().flatten() {
            unit = unit.max(format.unit_roundoff());
        }
        let exponents = if group.iter().any(|id| self.adds_exponents[*id]) { EXPONENTS * unit } else { 0.0 };
        Some((gamma(count as u64, unit + error)? + exponents).next_up())
    }
}

/// Lets one result of a group be off by a share.
fn allow(latitude: &mut Latitude, instruction: &Instruction, share: Option<f64>) {
    let is_member = matches!(
        instruction.op,
        Op::Binary(Binary::Multiply | Binary::Divide | Binary::Add | Binary::Subtract | Binary::Power)
            | Op::Unary(Unary::Sqrt | Unary::Rsqrt | Unary::Exponential | Unary::Log)
    );
    if !is_member {
        return;
    }
    match (latitude, share) {
        (Latitude::Rounded(rounding), Some(share)) => {
            // A logarithm's own error, once more for each rounding that its argument may have had.
            let absolute = rounding.absolute + share;
            let absolute = if matches!(instruction.op, Op::Unary(Unary::Log)) { absolute } else { 0.0 };
            let forms = rounding.forms.get_or_insert_default();
            (forms.share, forms.absolute) = (share, absolute);
        }
        (latitude, None) => *latitude = Latitude::Unknown,
        _ => {}
    }
}

/// Lets a sum that another sum adds up err as all terms of both may, and lose no rounding between them.
fn merge(latitude: &mut Latitude, between: Option<Format>, terms: usize) {
    let Latitude::Rounded(rounding) = latitude else { return };
    let (formats, Some(additions)) = (&rounding.formats, &mut rounding.additions) else { return };
    let unit = F32.unit_roundoff();
    match gamma(terms as u64, unit) {
        Some(share) => additions.share = additions.share.max(share),
        None => return *latitude = Latitude::Unknown,
    }
    let formats = formats.iter().copied().chain(between);
    let coarsest = formats.map(|format| format.unit_roundoff()).fold(0.0, f64::max);
    rounding.relative = rounding.relative.max(2.0 * coarsest);
}
