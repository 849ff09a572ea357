//! Operations that make elements, and what they make them of.

use crate::analysis::Precision;
use crate::ir::{self, Binary, Compare, Op, Unary};

use super::super::graph::{AdditionOrder, MatmulPlan};

/// An operation that makes an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// An argument of the program.
    Parameter,
    /// A function of one operand.
    Unary(Unary),
    /// An operation on two operands, or on many where their order and grouping do not show.
    Binary(Binary),
    /// A comparison.
    Compare(Compare),
    /// A choice by a predicate.
    Select,
    /// A sum of a product that is not rounded before, and another number.
    Fused,
    /// A sum of many terms.
    Sum {
        /// The number of terms.
        terms: usize,
        /// Whether they are those that a window shows.
        in_windows: bool,
        /// The width of the accumulator, where that is below f32.
        accumulator: Option<Precision>,
        /// Whether products are added that are not rounded before.
        fused: bool,
    },
    /// A sum of products.
    Dot {
        /// The number of products.
        products: usize,
        /// The precision that is asked for; `None` of operands in bf16.
        precision: Option<[ir::Precision; 2]>,
    },
    /// A reduction of several arrays, or by a region of its own.
    Reduce,
    /// An order of rows.
    Sort,
    /// Another operation, by its opcode.
    Opcode(&'static str),
}

impl Label {
    /// The label of an operation on elements in the same place, or on all.
    pub fn of(op: &Op) -> Label {
        match op {
            Op::Unary(unary) => Label::Unary(*unary),
            Op::Binary(binary) => Label::Binary(*binary),
            Op::Select => Label::Select,
            Op::Sort { .. } => Label::Sort,
            Op::Reduce { .. } => Label::Reduce,
            other => Label::Opcode(other.opcode()),
        }
    }

    /// Whether it adds.
    pub fn is_sum(self) -> bool {
        matches!(self, Label::Sum { .. } | Label::Binary(Binary::Add))
    }

    /// Whether it makes numbers that no operand has, and so rounds them.
    pub fn rounds(self) -> bool {
        !matches!(
            self,
            Label::Binary(Binary::Maximum | Binary::Minimum) | Label::Select | Label::Parameter | Label::Sort
        )
    }

    /// Whether its operands may change places without a change of bits.
    pub fn commutes(self) -> bool {
        matches!(self, Label::Binary(Binary::Multiply | Binary::Add) | Label::Fused)
    }

    /// The operation without the precision that it asks for.
    pub fn without_precision(self) -> Label {
        match self {
            Label::Dot { products, .. } => Label::Dot { products, precision: None },
            other => other,
        }
    }
}

/// The order of an entry value's additions, as far as its file says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderOfAdditions {
    /// The order.
    pub order: Option<AdditionOrder>,
    /// The plan of a matmul.
    pub plan: Option<MatmulPlan>,
}

/// The making of an element, as far as it differs from that in the other program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Making {
    /// By an operation.
    By(Label),
    /// By the same operation of other operands.
    ByOtherOperands(Label),
    /// By an operation whose operands are rounded like this, each in order.
    Of(Label, Vec<Vec<Precision>>),
    /// A result that is rounded like this.
    Result(Vec<Precision>),
    /// By additions in an order.
    InOrder(OrderOfAdditions),
    /// Not as in the other program, which has this way beside another one.
    Not(Box<Making>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_choose_or_move_round_nothing() {
        let choices = [Binary::Maximum, Binary::Minimum].map(Label::Binary);
        assert!(choices.into_iter().chain([Label::Select, Label::Sort, Label::Parameter]).all(|label| !label.rounds()));
        // Words that begin like those of a choice or a sum are none.
        assert!(Label::Opcode("sort_by_kernel").rounds() && !Label::Opcode("sum_by_kernel").is_sum());
        assert!(Label::Binary(Binary::Add).is_sum() && !Label::Binary(Binary::Subtract).is_sum());
    }

    #[test]
    fn a_dot_of_another_precision_is_the_same_operation() {
        let at = |precision: ir::Precision| Label::Dot { products: 8, precision: Some([precision; 2]) };
        let [one, other] = [ir::Precision::Default, ir::Precision::Highest].map(at);
        assert!(one != other && one.without_precision() == other.without_precision());
    }
}
