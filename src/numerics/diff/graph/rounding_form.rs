//! The operation that rounds a value, as two programs are compared by it.

use crate::ir::{self, Binary, Op, Unary};

use super::super::expression::NumberBits;

/// An operation that rounds, in place of which another one may make the same value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RoundingForm {
    /// A function of one operand.
    Unary(Unary),
    /// An operation on two operands; subtracting is adding the negative.
    Binary(Binary),
    /// A sum of products by a dot.
    Dot {
        /// The precision that it asks for; `None` of operands in bf16, which take one pass whatever is asked for.
        precision: Option<[ir::Precision; 2]>,
    },
    /// A sum of products, each of them rounded.
    MultiplyAndReduce,
    /// A reduction, of an array or of windows.
    Reduce,
    /// A running reduction.
    Scan,
    /// The exponential of the library that computes fusions.
    LibraryExponential,
    /// Products and sums with numbers, in order.
    Scaled(Vec<(Binary, NumberBits)>),
    /// A sum or difference of two multiples of one value.
    OfMultiples {
        /// The sum or difference.
        binary: Binary,
        /// The two factors, to three digits.
        factors: [NumberBits; 2],
    },
    /// A sum of so many equal numbers.
    OfEquals(NumberBits),
    /// A quotient whose operands are quotients or multiples.
    Quotient {
        /// Whether the dividend is a quotient.
        of_quotient: bool,
        /// The divisor.
        divisor: Divisor,
    },
    /// A product of multiples whose numbers undo each other.
    ProductOfMultiples,
}

/// The kind of a divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Divisor {
    /// A value as it is.
    Plain,
    /// A quotient.
    Quotient,
    /// A multiple of a value whose product with the number rounds.
    Multiple,
}

impl RoundingForm {
    /// The form of an operation; `None` if it rounds nothing or is compared otherwise.
    pub fn of(op: &Op, narrow_operands: bool) -> Option<RoundingForm> {
        Some(match op {
            Op::Binary(Binary::Subtract) => RoundingForm::Binary(Binary::Add),
            Op::Binary(binary) => RoundingForm::Binary(*binary),
            Op::Unary(unary) => RoundingForm::Unary(*unary),
            Op::Dot { precision, .. } => RoundingForm::Dot { precision: (!narrow_operands).then_some(*precision) },
            Op::Reduce { .. } | Op::ReduceWindow { .. } => RoundingForm::Reduce,
            _ => return None,
        })
    }
}
