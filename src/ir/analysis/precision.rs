//! Effective precision: the numbers that a value can hold, whatever its declared type.
//!
//! A forward analysis over a lattice. A conversion or `reduce-precision` leaves a value in the narrower of the two
//! formats. Operations that move, pick, compare, scale by a power of two or add zero pass on the formats of their
//! operands. All other operations fill their declared type.

use crate::ir::{Binary, Computation, Instruction, Op, Program, Shape, Unary, ValueId};
use crate::num::F32;
use crate::tensor::{DType, Tensor};

use super::lattice::Precision;
use super::region::Regions;

/// The precision of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The format of each array of the value; `None` for integers and predicates.
    pub elements: Vec<Option<Precision>>,
    /// Whether the operation rounds its result to its declared type, because it computes numbers that no operand has.
    pub computes: bool,
}

impl Held {
    /// The format of the value's first array.
    pub fn first(&self) -> Option<Precision> {
        self.elements.first().copied().flatten()
    }
}

/// The precision of each value of the entry.
pub fn precisions(program: &Program, regions: &Regions) -> Vec<Held> {
    let mut all: Vec<Held> = Vec::with_capacity(program.entry().instructions.len());
    for instruction in &program.entry().instructions {
        all.push(holds(program, regions, instruction, &all));
    }
    all
}

/// The precision that a conversion or `reduce-precision` between floats rounds to; `None` for other operations.
pub fn target(instruction: &Instruction, operand: Option<Precision>) -> Option<Precision> {
    operand?;
    let declared = precision_of(&instruction.shape);
    match instruction.op {
        Op::Convert => declared,
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            declared.map(|declared| declared.meet(Precision::bits(mantissa_bits, exponent_bits)))
        }
        _ => None,
    }
}

/// The widest format within those of all floats that a region takes or computes: the accumulator's format in a
/// reduction by it.
pub fn steps_hold(region: &Computation) -> Option<Precision> {
    let steps =
        region.instructions.iter().filter_map(|step| target(step, Some(Precision::ANY)).or(precision_of(&step.shape)));
    steps.reduce(Precision::meet)
}

/// The format to which the last operations of a region round its result; `None` if the last one is no rounding.
pub fn rounds_to(region: &Computation) -> Option<Precision> {
    let mut at = region.root;
    let mut narrowest: Option<Precision> = None;
    while let Some(to) = target(&region.instructions[at], Some(Precision::ANY)) {
        narrowest = Some(narrowest.map_or(to, |narrowest| narrowest.meet(to)));
        at = region.instructions[at].operands[0];
    }
    narrowest
}

/// The format of the accumulator of a dot or a reduction, as far as the program gives it; `None` for operations that do
/// not accumulate. Matrix units accumulate in f32 at least, whatever the type of their results (FACTS 2).
pub fn accumulates_in(program: &Program, regions: &Regions, instruction: &Instruction) -> Option<Precision> {
    match instruction.op {
        Op::Dot { .. } => Some(precision_of(&instruction.shape)?.join(Precision::of(&F32))),
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } if !regions.picks(to_apply) => {
            steps_hold(&program.computations[to_apply])
        }
        _ => None,
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
fn holds(program: &Program, regions: &Regions, instruction: &Instruction, before: &[Held]) -> Held {
    let operand = |at: usize| instruction.operands.get(at).and_then(|o| before[*o].first());
    let declared = || match &instruction.shape {
        Shape::Array { .. } => vec![precision_of(&instruction.shape)],
        Shape::Tuple(parts) => parts.iter().map(precision_of).collect(),
    };
    let kept = |elements: Vec<Option<Precision>>| Held { elements, computes: false };
    let joined = |operands: &[ValueId]| operands.iter().filter_map(|o| before[*o].first()).reduce(Precision::join);
    // What is only scaled, or has nothing added to it.
    let kept_value = match instruction.op {
        Op::Binary(binary @ (Binary::Multiply | Binary::Divide)) => scaled(program, instruction, binary),
        Op::Binary(binary @ (Binary::Add | Binary::Subtract)) => unchanged(program, instruction, binary),
        _ => None,
    };
    match &instruction.op {
        // Reinterpreted bits may be any number of the type, and none is rounded.
        Op::Parameter(_) | Op::Iota { .. } | Op::BitcastConvert => kept(declared()),
        Op::Constant(value) => kept(vec![precision_of(&instruction.shape).map(|f| constant(value, f))]),
        Op::Convert if operand(0).is_none() => match instruction.operands.first().map(|o| &before[*o]) {
            // An integer becomes a float; a predicate becomes 0 or 1.
            Some(_) if is_predicate(program, instruction) => {
                kept(vec![precision_of(&instruction.shape).map(|_| Precision::ANY)])
            }
            _ => Held { elements: declared(), computes: true },
        },
        Op::Convert | Op::ReducePrecision { .. } => {
            let to = target(instruction, operand(0));
            kept(vec![to.and_then(|to| operand(0).map(|from| from.round_to(to)))])
        }
        Op::Reshape
        | Op::Copy
        | Op::OptimizationBarrier
        | Op::Broadcast { .. }
        | Op::Transpose { .. }
        | Op::Slice { .. }
        | Op::Reverse { .. }
        | Op::DynamicSlice { .. }
        | Op::DynamicUpdateSlice
        | Op::Concatenate { .. }
        | Op::Pad { .. }
        | Op::Gather(_) => kept(vec![joined(&instruction.operands)]),
        Op::Select => kept(vec![joined(&instruction.operands[1..])]),
        Op::Clamp | Op::Binary(Binary::Maximum | Binary::Minimum) => kept(vec![joined(&instruction.operands)]),
        Op::Unary(
            Unary::Abs | Unary::Negate | Unary::Ceil | Unary::Floor | Unary::RoundNearestAfz | Unary::RoundNearestEven,
        ) => kept(vec![operand(0)]),
        Op::Binary(binary) if kept_value.is_some() => {
            let of = kept_value.and_then(|of| before[of].first());
            let declared = precision_of(&instruction.shape);
            let scales = matches!(binary, Binary::Multiply | Binary::Divide);
            match of.filter(|of| scales && declared.is_some_and(|d| d.exponent_bits != of.exponent_bits)) {
                Some(_) => Held { elements: vec![declared], computes: true },
                None => kept(vec![of]),
            }
        }
        Op::Unary(Unary::Sign) => kept(vec![operand(0).map(|_| Precision::ANY)]),
        Op::Tuple => kept(instruction.operands.iter().map(|o| before[*o].first()).collect()),
        Op::GetTupleElement(index) => {
            let tuple = instruction.operands.first().map(|o| &before[*o]);
            kept(vec![tuple.and_then(|t| t.elements.get(*index).copied().flatten())])
        }
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } if regions.picks(*to_apply) => {
            let arrays = instruction.operands.len() / 2;
            // What is picked may be rounded on the way.
            let steps = steps_hold(&program.computations[*to_apply]).unwrap_or(Precision::UNLIMITED);
            let element = |at: usize| {
                let picked = joined(&[instruction.operands[at], instruction.operands[at + arrays]]);
                picked.map(|picked| picked.round_to(steps))
            };
            kept((0..arrays).map(element).collect())
        }
        Op::Scatter { to_apply, .. }
            if regions.picks(*to_apply) || program.computations[*to_apply].gives_parameter(1) =>
        {
            // An array, the indices, the updates; of several arrays each is held as declared.
            match instruction.operands[..] {
                [array, _, updates] => kept(vec![joined(&[array, updates])]),
                _ => kept(declared()),
            }
        }
        Op::Sort { .. } => kept(instruction.operands.iter().map(|o| before[*o].first()).collect()),
        Op::TopK { .. } => kept(vec![operand(0), None]),
        Op::ApproxTopK(_) | Op::PartialReduce(_) => {
            kept(vec![joined(&[instruction.operands[0], instruction.operands[2]]), None])
        }
        Op::Unary(
            Unary::Cbrt
            | Unary::Cosine
            | Unary::CountLeadingZeros
            | Unary::Erf
            | Unary::Exponential
            | Unary::ExponentialMinusOne
            | Unary::IsFinite
            | Unary::Log
            | Unary::LogPlusOne
            | Unary::Logistic
            | Unary::Not
            | Unary::PopulationCount
            | Unary::Rsqrt
            | Unary::Sine
            | Unary::Sqrt
            | Unary::Tan
            | Unary::Tanh,
        )
        | Op::Binary(
            Binary::Add
            | Binary::And
            | Binary::Atan2
            | Binary::Divide
            | Binary::Multiply
            | Binary::MultiplyHigh
            | Binary::Or
            | Binary::Power
            | Binary::Remainder
            | Binary::ShiftLeft
            | Binary::ShiftRightArithmetic
            | Binary::ShiftRightLogical
            | Binary::Subtract
            | Binary::Xor,
        )
        | Op::Compare { .. }
        | Op::Reduce { .. }
        | Op::ReduceWindow { .. }
        | Op::Scatter { .. }
        | Op::Dot { .. }
        | Op::Call { .. }
        | Op::While { .. }
        | Op::Opaque(_) => Held { elements: declared(), computes: true },
    }
}

/// The operand that an operation multiplies or divides by a power of two; `None` for other operations. No bit of the
/// fraction changes, but for results below the smallest normal number.
fn scaled(program: &Program, instruction: &Instruction, binary: Binary) -> Option<ValueId> {
    let is_power_of_two = |v: f64| v.is_normal() && v.to_bits() << 12 == 0;
    other_operand(program, instruction, binary == Binary::Multiply, is_power_of_two)
}

/// The operand to which an operation adds zero, or from which it subtracts zero; `None` for other operations.
fn unchanged(program: &Program, instruction: &Instruction, binary: Binary) -> Option<ValueId> {
    other_operand(program, instruction, binary == Binary::Add, |v| v == 0.0)
}

/// The operand beside a constant of such numbers: the first, or the second as well if the operation commutes.
fn other_operand(
    program: &Program,
    instruction: &Instruction,
    commutes: bool,
    number: impl Fn(f64) -> bool,
) -> Option<ValueId> {
    let [a, b] = *instruction.operands.first_chunk()?;
    if is_all(program, b, &number) {
        return Some(a);
    }
    (commutes && is_all(program, a, &number)).then_some(b)
}

/// Whether a value is a constant of such numbers, perhaps converted or broadcast.
fn is_all(program: &Program, mut id: ValueId, number: impl Fn(f64) -> bool) -> bool {
    loop {
        let instruction = &program.entry().instructions[id];
        match (&instruction.op, instruction.operands.first()) {
            (Op::Constant(value), _) => {
                return value.dtype().is_float() && (0..value.len()).all(|i| number(value.data().get_f64(i)));
            }
            (Op::Convert | Op::Broadcast { .. } | Op::Reshape | Op::Copy, Some(operand)) => id = *operand,
            _ => return false,
        }
    }
}

fn is_predicate(program: &Program, instruction: &Instruction) -> bool {
    let dtype = instruction.operands.first().and_then(|o| program.entry().instructions[*o].shape.dtype());
    dtype == Some(DType::Pred)
}

fn precision_of(shape: &Shape) -> Option<Precision> {
    Precision::of_dtype(shape.dtype()?)
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
    use crate::num::{BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2FNUZ, F16, F32, F64, TF32};

    #[test]
    fn joins_hold_both() {
        let [bf16, f16, f32] = [&BF16, &F16, &F32].map(Precision::of);
        assert_eq!(bf16.join(f32), f32);
        assert_eq!(bf16.join(f16), Precision::of(&TF32));
        assert_eq!(Precision::ANY.join(f16), f16);
        assert_eq!(Precision::of(&F64).join(bf16).name(), "f64");
        // Neither of bf16 and f16 holds the other.
        assert_eq!(bf16.meet(f16), Precision::bits(7, 5));
        assert_eq!(bf16.meet(f16).name(), "e5m7");
        // Formats of as many bits that differ in their bias are in none but a wider one.
        let [fn_, fnuz, e5m2] = [&F8E4M3FN, &F8E4M3FNUZ, &F8E5M2FNUZ].map(Precision::of);
        assert_eq!(
            (fn_.name(), fnuz.name(), e5m2.name()),
            ("f8e4m3fn".into(), "f8e4m3fnuz".into(), "f8e5m2fnuz".into())
        );
        assert!(!fn_.within(fnuz) && !fnuz.within(fn_) && fnuz.within(f16) && Precision::ANY.within(fnuz));
        assert_eq!((fn_.join(fnuz), fn_.meet(fnuz)), (Precision::bits(3, 5), Precision::bits(3, 3)));
        assert_eq!((fnuz.join(f32), fnuz.meet(bf16), e5m2.join(fnuz)), (f32, fnuz, Precision::bits(3, 6)));
        for precision in [bf16, f16, f32] {
            assert_eq!(precision.join(Precision::ANY), precision);
            assert_eq!(precision.meet(Precision::UNLIMITED), precision);
        }
    }

    #[test]
    fn rounding_narrows_only() {
        let [bf16, f32] = [&BF16, &F32].map(Precision::of);
        assert_eq!(f32.round_to(bf16), bf16);
        assert_eq!(bf16.round_to(f32), bf16);
        assert_eq!(Precision::ANY.round_to(bf16), Precision::ANY);
    }
}
