//! Effective precision: the numbers that a value can hold, whatever its declared type.
//!
//! A forward analysis over a lattice. A conversion or `reduce-precision` leaves a value in the narrower of the two
//! formats. Operations that move, pick, compare, scale by a power of two or add zero pass on the formats of their
//! operands. All other operations fill their declared type.

use crate::ir::{Binary, Class, Computation, Instruction, Op, Program, Shape, Unary, ValueId};
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
        // Every unit adds up at least in f32, whatever type a dot is stored in (FACTS 2.4).
        Op::Dot { .. } => Some(precision_of(&instruction.shape)?.join(Precision::of(&F32))),
        Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } if !regions.picks(to_apply) => {
            steps_hold(&program.computations[to_apply])
        }
        _ => None,
    }
}

/// An instruction of the entry, and the precision of the values before it.
struct HeldSite<'a> {
    program: &'a Program,
    regions: &'a Regions,
    instruction: &'a Instruction,
    before: &'a [Held],
}

fn holds(program: &Program, regions: &Regions, instruction: &Instruction, before: &[Held]) -> Held {
    let site = HeldSite { program, regions, instruction, before };
    match instruction.op.class() {
        Class::Source => site.source(),
        Class::Moves => kept(vec![site.joined(&instruction.operands)]),
        Class::Converts => site.converted(),
        Class::Elementwise => site.elementwise(),
        Class::Combines => site.combined(),
        Class::Ranks => site.ranked(),
        Class::Lists => site.list(),
        Class::Calls => site.computed(),
    }
}

/// Numbers that the operands have as well.
fn kept(elements: Vec<Option<Precision>>) -> Held {
    Held { elements, computes: false }
}

impl HeldSite<'_> {
    fn operand(&self, at: usize) -> Option<Precision> {
        self.instruction.operands.get(at).and_then(|o| self.before[*o].first())
    }

    /// The formats of the declared type, which every number of it is within.
    fn declared(&self) -> Vec<Option<Precision>> {
        match &self.instruction.shape {
            shape @ Shape::Array { .. } => vec![precision_of(shape)],
            Shape::Tuple(parts) => parts.iter().map(precision_of).collect(),
        }
    }

    /// Numbers of the operation's own, rounded to the declared type: true of any operation.
    fn computed(&self) -> Held {
        Held { elements: self.declared(), computes: true }
    }

    /// The format that holds the numbers of these operands.
    fn joined(&self, operands: &[ValueId]) -> Option<Precision> {
        operands.iter().filter_map(|o| self.before[*o].first()).reduce(Precision::join)
    }

    fn source(&self) -> Held {
        match &self.instruction.op {
            Op::Constant(value) => kept(vec![precision_of(&self.instruction.shape).map(|f| constant(value, f))]),
            // Any number of the type, and none is rounded.
            _ => kept(self.declared()),
        }
    }

    fn converted(&self) -> Held {
        let instruction = self.instruction;
        // Reinterpreted bits may be any number of the type, and none is rounded.
        if instruction.op == Op::BitcastConvert {
            return kept(self.declared());
        }
        // An integer becomes a float; a predicate becomes 0 or 1.
        if instruction.op == Op::Convert && self.operand(0).is_none() {
            return match is_predicate(self.program, instruction) {
                true => kept(vec![precision_of(&instruction.shape).map(|_| Precision::ANY)]),
                false => self.computed(),
            };
        }
        let to = target(instruction, self.operand(0));
        kept(vec![to.and_then(|to| self.operand(0).map(|from| from.round_to(to)))])
    }

    fn elementwise(&self) -> Held {
        let operands = &self.instruction.operands;
        match self.instruction.op {
            Op::Unary(unary) => self.unary(unary),
            Op::Binary(binary) => self.binary(binary),
            Op::Select => kept(vec![self.joined(&operands[1..])]),
            Op::Clamp => kept(vec![self.joined(operands)]),
            _ => self.computed(),
        }
    }

    fn unary(&self, unary: Unary) -> Held {
        match unary {
            Unary::Abs
            | Unary::Negate
            | Unary::Ceil
            | Unary::Floor
            | Unary::RoundNearestAfz
            | Unary::RoundNearestEven => kept(vec![self.operand(0)]),
            Unary::Sign => kept(vec![self.operand(0).map(|_| Precision::ANY)]),
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
            | Unary::Tanh => self.computed(),
        }
    }

    fn binary(&self, binary: Binary) -> Held {
        let (program, instruction) = (self.program, self.instruction);
        match binary {
            Binary::Maximum | Binary::Minimum => kept(vec![self.joined(&instruction.operands)]),
            Binary::Multiply | Binary::Divide => match scaled(program, instruction, binary) {
                Some(value) => self.scaled(value),
                None => self.computed(),
            },
            Binary::Add | Binary::Subtract => match unchanged(program, instruction, binary) {
                Some(value) => kept(vec![self.before[value].first()]),
                None => self.computed(),
            },
            Binary::And
            | Binary::Atan2
            | Binary::MultiplyHigh
            | Binary::Or
            | Binary::Power
            | Binary::Remainder
            | Binary::ShiftLeft
            | Binary::ShiftRightArithmetic
            | Binary::ShiftRightLogical
            | Binary::Xor => self.computed(),
        }
    }

    /// A value times a power of two: in formats with other exponents it may be rounded.
    fn scaled(&self, value: ValueId) -> Held {
        let of = self.before[value].first();
        let declared = precision_of(&self.instruction.shape);
        // With a smaller range a power of two may push numbers below it, which rounds them.
        match of.filter(|of| declared.is_some_and(|d| d.exponent_bits != of.exponent_bits)) {
            Some(_) => Held { elements: vec![declared], computes: true },
            None => kept(vec![of]),
        }
    }

    /// Reductions and scatters that pick; any other operation of the class rounds to its declared type.
    fn combined(&self) -> Held {
        let (operands, regions) = (&self.instruction.operands, self.regions);
        match self.instruction.op {
            Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } if regions.picks(to_apply) => {
                let arrays = operands.len() / 2;
                // What is picked may be rounded on the way.
                let steps = steps_hold(&self.program.computations[to_apply]).unwrap_or(Precision::UNLIMITED);
                // The init may be picked as well.
                let element = |at: usize| {
                    let picked = self.joined(&[operands[at], operands[at + arrays]]);
                    picked.map(|picked| picked.round_to(steps))
                };
                kept((0..arrays).map(element).collect())
            }
            Op::Scatter { to_apply, .. }
                if regions.picks(to_apply) || self.program.computations[to_apply].gives_parameter(1) =>
            {
                // An array, the indices, the updates; of several arrays each is held as declared.
                match operands[..] {
                    [array, _, updates] => kept(vec![self.joined(&[array, updates])]),
                    _ => kept(self.declared()),
                }
            }
            _ => self.computed(),
        }
    }

    fn ranked(&self) -> Held {
        let operands = &self.instruction.operands;
        match self.instruction.op {
            Op::Sort { .. } => kept(operands.iter().map(|o| self.before[*o].first()).collect()),
            Op::TopK { .. } => kept(vec![self.operand(0), None]),
            Op::ApproxTopK(_) | Op::PartialReduce(_) => kept(vec![self.joined(&[operands[0], operands[2]]), None]),
            _ => self.computed(),
        }
    }

    fn list(&self) -> Held {
        let operands = &self.instruction.operands;
        match self.instruction.op {
            Op::Tuple => kept(operands.iter().map(|o| self.before[*o].first()).collect()),
            Op::GetTupleElement(index) => {
                let tuple = operands.first().map(|o| &self.before[*o]);
                kept(vec![tuple.and_then(|t| t.elements.get(index).copied().flatten())])
            }
            _ => self.computed(),
        }
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
    // Every format has these: they make no value wider that they are put together with.
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
