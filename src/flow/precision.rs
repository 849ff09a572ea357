//! Effective precision: which numbers a value can hold, whatever type it is declared in.
//!
//! A forward analysis. A conversion or `reduce-precision` leaves a value in the narrower of the two formats; operations
//! that move, pick, compare or scale by a power of two pass on the formats of their operands; whatever computes fills its
//! declared type.

use serde::{Serialize, Serializer};

use crate::ir::{Binary, Instruction, Op, Program, Reducer, Shape, Unary, ValueId, movement, reducer_but_for_rounding};
use crate::num::{FORMATS, Format};
use crate::tensor::Tensor;

/// The format that all numbers of a value belong to; none where they belong to every format (0, 1, infinities).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision(Option<&'static Format>);

impl Precision {
    /// Numbers that every format has.
    pub const ANY: Precision = Precision(None);

    /// The numbers of a format.
    pub const fn of(format: &'static Format) -> Precision {
        Precision(Some(format))
    }

    /// `bf16`, `f32`, ...; `any` for numbers that every format has.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Some(format) => format.name,
            None => "any",
        }
    }

    /// Bits of the significand's fraction; 0 for numbers that every format has.
    pub fn fraction_bits(self) -> u32 {
        self.0.map_or(0, |format| format.fraction_bits)
    }

    /// Whether each of these numbers is one of `other`'s.
    pub fn within(self, other: Precision) -> bool {
        match (self.0, other.0) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(a), Some(b)) => a.exponent_bits <= b.exponent_bits && a.fraction_bits <= b.fraction_bits,
        }
    }

    /// Whether these numbers reach as far as `other`'s and no further.
    fn has_range_of(self, other: Precision) -> bool {
        match (self.0, other.0) {
            (Some(a), Some(b)) => a.exponent_bits == b.exponent_bits,
            _ => false,
        }
    }

    /// The narrowest format with the numbers of both.
    pub fn join(self, other: Precision) -> Precision {
        if self.within(other) {
            return other;
        }
        if other.within(self) {
            return self;
        }
        let both = |f: &&&'static Format| self.within(Precision::of(f)) && other.within(Precision::of(f));
        FORMATS.iter().rev().find(both).map_or(self, |f| Precision::of(f))
    }

    /// What rounding to `target` leaves of these numbers.
    pub fn rounded_to(self, target: Precision) -> Precision {
        if self.within(target) { self } else { target }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What one value holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// One for each array of the value; none for integers and predicates.
    pub elements: Vec<Option<Precision>>,
    /// Whether the operation rounds its result to its declared type, because it computes numbers that no operand has.
    pub computes: bool,
}

impl Held {
    /// What the value's first array holds.
    pub fn first(&self) -> Option<Precision> {
        self.elements.first().copied().flatten()
    }
}

/// What each value of the entry holds.
pub fn held(program: &Program) -> Vec<Held> {
    let mut all: Vec<Held> = Vec::with_capacity(program.entry().instructions.len());
    for instruction in &program.entry().instructions {
        all.push(holds(program, instruction, &all));
    }
    all
}

/// The precision that a conversion or `reduce-precision` between floats rounds to; `None` for other operations.
pub fn target(instruction: &Instruction, operand: Option<Precision>) -> Option<Precision> {
    operand?;
    match instruction.op {
        Op::Convert => instruction.shape.dtype()?.format().map(Precision::of),
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            let fits = |f: &&&'static Format| f.exponent_bits >= exponent_bits && f.fraction_bits >= mantissa_bits;
            FORMATS.iter().rev().find(fits).map(|f| Precision::of(f))
        }
        _ => None,
    }
}

fn holds(program: &Program, instruction: &Instruction, before: &[Held]) -> Held {
    let operand = |at: usize| instruction.operands.get(at).and_then(|o| before[*o].first());
    let declared = || match &instruction.shape {
        Shape::Array { .. } => vec![format_of(&instruction.shape)],
        Shape::Tuple(parts) => parts.iter().map(format_of).collect(),
    };
    let kept = |elements: Vec<Option<Precision>>| Held { elements, computes: false };
    let joined = |operands: &[ValueId]| operands.iter().filter_map(|o| before[*o].first()).reduce(Precision::join);
    match &instruction.op {
        // Reinterpreted bits may be any number of the type, and none is rounded.
        Op::Parameter(_) | Op::Iota { .. } | Op::BitcastConvert => kept(declared()),
        Op::Constant(value) => kept(vec![format_of(&instruction.shape).map(|f| constant(value, f))]),
        Op::Convert if operand(0).is_none() => match instruction.operands.first().map(|o| &before[*o]) {
            // An integer becomes a float; a predicate becomes 0 or 1.
            Some(_) if is_predicate(program, instruction) => {
                kept(vec![format_of(&instruction.shape).map(|_| Precision::ANY)])
            }
            _ => Held { elements: declared(), computes: true },
        },
        Op::Convert | Op::ReducePrecision { .. } => {
            let to = target(instruction, operand(0));
            kept(vec![to.and_then(|to| operand(0).map(|from| from.rounded_to(to)))])
        }
        op if movement::is_movement(op) => kept(vec![joined(&instruction.operands)]),
        Op::Select => kept(vec![joined(&instruction.operands[1..])]),
        Op::Clamp | Op::Binary(Binary::Maximum | Binary::Minimum) => kept(vec![joined(&instruction.operands)]),
        Op::Unary(
            Unary::Abs | Unary::Negate | Unary::Ceil | Unary::Floor | Unary::RoundNearestAfz | Unary::RoundNearestEven,
        ) => kept(vec![operand(0)]),
        Op::Binary(binary @ (Binary::Multiply | Binary::Divide)) if scaled(program, instruction, *binary).is_some() => {
            let of = scaled(program, instruction, *binary).and_then(|of| before[of].first());
            let declared = format_of(&instruction.shape);
            match of.filter(|of| declared.is_some_and(|d| d.has_range_of(*of))) {
                Some(of) => kept(vec![Some(of)]),
                None => Held { elements: vec![declared], computes: true },
            }
        }
        Op::Unary(Unary::Sign) => kept(vec![operand(0).map(|_| Precision::ANY)]),
        Op::Tuple => kept(instruction.operands.iter().map(|o| before[*o].first()).collect()),
        Op::GetTupleElement(index) => {
            let tuple = instruction.operands.first().map(|o| &before[*o]);
            kept(vec![tuple.and_then(|t| t.elements.get(*index).copied().flatten())])
        }
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } if picks(program, *to_apply) => {
            let arrays = instruction.operands.len() / 2;
            let element = |at: usize| joined(&[instruction.operands[at], instruction.operands[at + arrays]]);
            kept((0..arrays).map(element).collect())
        }
        Op::Sort { .. } => kept(instruction.operands.iter().map(|o| before[*o].first()).collect()),
        Op::TopK { .. } => kept(vec![operand(0), None]),
        Op::ApproxTopK(_) | Op::PartialReduce(_) => {
            kept(vec![joined(&[instruction.operands[0], instruction.operands[2]]), None])
        }
        _ => Held { elements: declared(), computes: true },
    }
}

/// Whether a reducer gives back one of the numbers that it is given.
fn picks(program: &Program, region: usize) -> bool {
    matches!(
        reducer_but_for_rounding(&program.computations[region]),
        Some(
            Reducer::Binary(Binary::Maximum | Binary::Minimum)
                | Reducer::ArgMax
                | Reducer::ArgMin
                | Reducer::GreaterKeep
        )
    )
}

/// What is multiplied or divided by a power of two, if that is what the operation does: no bit of the fraction changes
/// then, but for results below the smallest normal number.
fn scaled(program: &Program, instruction: &Instruction, binary: Binary) -> Option<ValueId> {
    let (a, b) = (*instruction.operands.first()?, *instruction.operands.get(1)?);
    if is_power_of_two(program, b) {
        return Some(a);
    }
    (binary == Binary::Multiply && is_power_of_two(program, a)).then_some(b)
}

/// Whether a value is a constant, widened or broadcast maybe, of powers of two.
fn is_power_of_two(program: &Program, mut id: ValueId) -> bool {
    loop {
        let instruction = &program.entry().instructions[id];
        match (&instruction.op, instruction.operands.first()) {
            (Op::Constant(value), _) => {
                let power = |v: f64| v.is_normal() && v.to_bits() << 12 == 0;
                return value.dtype().is_float() && (0..value.len()).all(|i| power(value.data().get_f64(i)));
            }
            (Op::Convert | Op::Broadcast { .. } | Op::Reshape | Op::Copy, Some(operand)) => id = *operand,
            _ => return false,
        }
    }
}

fn is_predicate(program: &Program, instruction: &Instruction) -> bool {
    let dtype = instruction.operands.first().and_then(|o| program.entry().instructions[*o].shape.dtype());
    dtype == Some(crate::tensor::DType::Pred)
}

fn format_of(shape: &Shape) -> Option<Precision> {
    shape.dtype()?.format().map(Precision::of)
}

/// The narrowest of the formats below the declared one that has all of a constant's numbers.
fn constant(value: &Tensor, declared: Precision) -> Precision {
    let all = |test: &dyn Fn(f64) -> bool| (0..value.len()).all(|i| test(value.data().get_f64(i)));
    if all(&|v| v == 0.0 || v.abs() == 1.0 || !v.is_finite()) {
        return Precision::ANY;
    }
    let narrower = [&crate::num::BF16, &crate::num::F16, &crate::num::F32].into_iter();
    let found = narrower.filter(|f| Precision::of(f).within(declared)).find(|f| all(&|v| f.contains(v)));
    found.map_or(declared, Precision::of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{BF16, F16, F32, F64, TF32};

    #[test]
    fn joins_hold_both() {
        let [bf16, f16, f32] = [&BF16, &F16, &F32].map(Precision::of);
        assert_eq!(bf16.join(f32), f32);
        assert_eq!(bf16.join(f16), Precision::of(&TF32));
        assert_eq!(Precision::ANY.join(f16), f16);
        assert_eq!(Precision::of(&F64).join(bf16).name(), "f64");
    }

    #[test]
    fn rounding_narrows_only() {
        let [bf16, f32] = [&BF16, &F32].map(Precision::of);
        assert_eq!(f32.rounded_to(bf16), bf16);
        assert_eq!(bf16.rounded_to(f32), bf16);
        assert_eq!(Precision::ANY.rounded_to(bf16), Precision::ANY);
    }
}
