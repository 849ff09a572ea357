//! Words for operations that round, orders of additions, plans and selections.

use std::fmt::{self, Display, Formatter};

use crate::ir::Binary;

use super::super::change::number;
use super::super::expression::NumberBits;
use super::super::graph::{AdditionOrder, Divisor, MatmulPlan, RoundingForm, TopKSelection};

impl Display for RoundingForm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            RoundingForm::Unary(unary) => f.write_str(unary.name()),
            RoundingForm::Binary(binary) => f.write_str(binary.name()),
            RoundingForm::Dot { precision: None } => f.write_str("dot"),
            RoundingForm::Dot { precision: Some([lhs, rhs]) } => write!(f, "dot at {{{},{}}}", lhs.name(), rhs.name()),
            RoundingForm::MultiplyAndReduce => f.write_str("multiply and reduce"),
            RoundingForm::Reduce => f.write_str("reduce"),
            RoundingForm::Scan => f.write_str("scan"),
            RoundingForm::LibraryExponential => f.write_str("exponential of the library"),
            RoundingForm::Scaled(steps) => {
                let steps: Vec<String> = steps.iter().map(|(binary, by)| step(*binary, *by)).collect();
                f.write_str(&steps.join(", then "))
            }
            RoundingForm::OfMultiples { binary, factors: [one, other] } => {
                let [one, other] = [one, other].map(|factor| number(factor.get()));
                write!(f, "{} of multiples by {one} and {other}", binary.name())
            }
            RoundingForm::OfEquals(count) => write!(f, "sum of {} equals", count.get()),
            RoundingForm::Quotient { of_quotient, divisor } => {
                let dividend = if *of_quotient { "divide a quotient" } else { "divide" };
                let divisor = match divisor {
                    Divisor::Plain => "",
                    Divisor::Quotient => " by a quotient",
                    Divisor::Multiple => " by a multiple",
                };
                write!(f, "{dividend}{divisor}")
            }
            RoundingForm::ProductOfMultiples => f.write_str("multiply of multiples"),
        }
    }
}

/// `multiply by 3`, `add 3`.
fn step(binary: Binary, by: NumberBits) -> String {
    let (name, by) = (binary.name(), number(by.get()));
    if binary == Binary::Add { format!("{name} {by}") } else { format!("{name} by {by}") }
}

impl Display for AdditionOrder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AdditionOrder::Library => f.write_str("in the library's order"),
            AdditionOrder::KernelFor(dtype) => write!(f, "in the order of the kernel for {} operands", dtype.name()),
            AdditionOrder::Compiler => f.write_str("in the compiler's order"),
            AdditionOrder::Chain => f.write_str("one after the other"),
            AdditionOrder::RowsSideBySide(rows) => write!(f, "{rows} rows side by side"),
            AdditionOrder::ElementsSideBySide(elements) => write!(f, "{elements} elements side by side"),
            AdditionOrder::Dot([m, k, n]) => write!(f, "as a dot [{m},{k}] x [{k},{n}]"),
            AdditionOrder::UpdatesOntoZeros => f.write_str("updates onto zeros, then the array"),
            AdditionOrder::UpdatesOntoArray => f.write_str("updates one by one, onto the array"),
        }
    }
}

impl Display for MatmulPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.cut, self.emitter)
    }
}

impl Display for TopKSelection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TopKSelection::Exact => f.write_str("exact"),
            TopKSelection::Approximate { recall: None, bins } => write!(f, "approximate, {bins} bins"),
            TopKSelection::Approximate { recall: Some(recall), bins } => {
                write!(f, "approximate, recall {}, {bins} bins", f32::from_bits(*recall))
            }
        }
    }
}
