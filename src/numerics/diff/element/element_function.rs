//! Functions that make elements, as typed keys of fingerprints.

use crate::analysis::Reducer;
use crate::ir::{Binary, Compare, CompareOrder, Computation, ComputationId, Instruction, Op, Shape, Unary, ValueId};
use crate::tensor::DType;

use super::element_print::{Print, print_of_key};

/// A function with all that decides its result beside the operands. Equal functions of equal elements make equal elements,
/// in both programs.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum ElementFunction<'a> {
    /// The argument of this number.
    Argument(usize),
    /// An argument's roundings, in place of operands.
    Source,
    /// An integer that no f64 holds.
    Integer(i128),
    /// A sum of terms.
    Sum,
    /// The candidates of a maximum.
    Maximum,
    /// One where a predicate holds, zero elsewhere.
    Mask,
    /// A product or a quotient that may be NaN.
    OddProduct,
    /// A function of one operand.
    Unary(Unary),
    /// A function of two floats.
    Binary(Binary),
    /// A function of two integers or predicates of this type.
    Integers(Binary, DType),
    /// A commutative operation of many predicates or integers, each of which counts once.
    Any(Binary),
    /// A comparison; of floats with their order.
    Compare(Compare, Option<CompareOrder>),
    /// A choice by a predicate.
    Select,
    /// A conversion from one type to another.
    Convert(DType, DType),
    /// A rounding to a format that is no dtype's.
    Round,
    /// The bits of one type as another.
    Bits(DType, DType),
    /// A row in order.
    Sort {
        /// Whether the larger key goes first.
        descending: bool,
        /// The order that keys are compared in.
        order: CompareOrder,
        /// Whether -0 counts as +0 and every NaN as one.
        canonical: bool,
    },
    /// A reduction by an operation that has a name.
    Reduce(Reducer),
    /// A reduction by any other region.
    ReduceByRegion(RegionKey<'a>),
    /// An operation on whole arrays.
    Whole(OperationKey<'a>),
    /// An operation that is not followed: the instruction of this name, of one program.
    Unknown(&'a str),
    /// The type of an operand.
    Operand(&'a Shape),
}

impl ElementFunction<'_> {
    /// The fingerprint of the function.
    pub fn print(&self) -> Print {
        print_of_key(self)
    }
}

/// An operation with the computations that it calls, whatever their numbers are.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct OperationKey<'a> {
    /// The operation, with 0 in place of each number of a computation.
    op: Op,
    called: Vec<RegionKey<'a>>,
}

impl<'a> OperationKey<'a> {
    /// The key of an operation of a program with these computations.
    pub fn new(computations: &'a [Computation], op: &Op) -> OperationKey<'a> {
        let called = op.callees().map(|id| RegionKey::new(computations, id)).collect();
        let mut op = op.clone();
        op.callees_mut().for_each(|callee| *callee = 0);
        OperationKey { op, called }
    }
}

/// A computation without the names of its values.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct RegionKey<'a> {
    instructions: Vec<(OperationKey<'a>, &'a [ValueId], &'a Shape)>,
    root: ValueId,
}

impl<'a> RegionKey<'a> {
    /// The key of one of these computations.
    pub fn new(computations: &'a [Computation], id: ComputationId) -> RegionKey<'a> {
        let Computation { instructions, root, .. } = &computations[id];
        let key = |i: &'a Instruction| (OperationKey::new(computations, &i.op), &i.operands[..], &i.shape);
        RegionKey { instructions: instructions.iter().map(key).collect(), root: *root }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fingerprint of a reduction whose region calls another that does `inner`, `before` computations down the list.
    fn print_of_nested(inner: Binary, before: usize) -> Print {
        let scalar = || Shape::array(DType::F32, &[]);
        let computation = |op: Op| {
            let parameter =
                |number: usize| Instruction::new(format!("p{number}"), Op::Parameter(number), vec![], scalar());
            let root = Instruction::new("r", op, vec![0, 1], scalar());
            Computation { name: "c".to_string(), instructions: vec![parameter(0), parameter(1), root], root: 2 }
        };
        let mut computations = vec![computation(Op::Select); before];
        computations.extend([computation(Op::Binary(inner)), computation(Op::Call { to_apply: before })]);
        ElementFunction::ReduceByRegion(RegionKey::new(&computations, before + 1)).print()
    }

    #[test]
    fn called_computations_count_by_content_and_not_by_number() {
        assert_eq!(print_of_nested(Binary::Add, 0), print_of_nested(Binary::Add, 1));
        assert_ne!(print_of_nested(Binary::Add, 0), print_of_nested(Binary::Multiply, 0));
    }

    #[test]
    fn zeros_of_both_signs_are_two_constants() {
        let print = |zero: f32| {
            let op = Op::Constant(crate::tensor::Tensor::new(&[], crate::tensor::Data::F32(vec![zero])));
            ElementFunction::Whole(OperationKey::new(&[], &op)).print()
        };
        assert_eq!(print(0.0), print(0.0));
        assert_ne!(print(0.0), print(-0.0));
    }
}
