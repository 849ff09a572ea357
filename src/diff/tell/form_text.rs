//! Words for operations that round, orders of additions, plans and selections.

use std::fmt::{self, Display, Formatter};

use crate::ir::Binary;

use super::super::change::number;
use super::super::expression::Number;
use super::super::graph::{Divisor, Form, MatmulPlan, Selection, SumOrder};

impl Display for Form {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Form::Unary(unary) => f.write_str(unary.name()),
            Form::Binary(binary) => f.write_str(binary.name()),
            Form::Dot { precision: None } => f.write_str("dot"),
            Form::Dot { precision: Some([lhs, rhs]) } => write!(f, "dot at {{{},{}}}", lhs.name(), rhs.name()),
            Form::MultiplyAndReduce => f.write_str("multiply and reduce"),
            Form::Reduce => f.write_str("reduce"),
            Form::Scan => f.write_str("scan"),
            Form::LibraryExponential => f.write_str("exponential of the library"),
            Form::Scaled(steps) => {
                let steps: Vec<String> = steps.iter().map(|(binary, by)| step(*binary, *by)).collect();
                f.write_str(&steps.join(", then "))
            }
            Form::OfMultiples { binary, factors: [one, other] } => {
                let [one, other] = [one, other].map(|factor| number(factor.get()));
                write!(f, "{} of multiples by {one} and {other}", binary.name())
            }
            Form::OfEquals(count) => write!(f, "sum of {} equals", count.get()),
            Form::Quotient { of_quotient, divisor } => {
                let dividend = if *of_quotient { "divide a quotient" } else { "divide" };
                let divisor = match divisor {
                    Divisor::Plain => "",
                    Divisor::Quotient => " by a quotient",
                    Divisor::Multiple => " by a multiple",
                };
                write!(f, "{dividend}{divisor}")
            }
            Form::ProductOfMultiples => f.write_str("multiply of multiples"),
        }
    }
}

/// `multiply by 3`, `add 3`.
fn step(binary: Binary, by: Number) -> String {
    let (name, by) = (binary.name(), number(by.get()));
    if binary == Binary::Add { format!("{name} {by}") } else { format!("{name} by {by}") }
}

impl Display for SumOrder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SumOrder::Library => f.write_str("in the library's order"),
            SumOrder::Compiler => f.write_str("in the compiler's order"),
            SumOrder::Chain => f.write_str("one after the other"),
            SumOrder::RowsSideBySide(rows) => write!(f, "{rows} rows side by side"),
            SumOrder::ElementsSideBySide(elements) => write!(f, "{elements} elements side by side"),
            SumOrder::Dot([m, k, n]) => write!(f, "as a dot [{m},{k}] x [{k},{n}]"),
            SumOrder::UpdatesOntoZeros => f.write_str("updates onto zeros, then the array"),
            SumOrder::UpdatesOntoArray => f.write_str("updates one by one, onto the array"),
        }
    }
}

impl Display for MatmulPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.cut, self.emitter)
    }
}

impl Display for Selection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Selection::Exact => f.write_str("exact"),
            Selection::Approximate { recall: None, bins } => write!(f, "approximate, {bins} bins"),
            Selection::Approximate { recall: Some(recall), bins } => {
                write!(f, "approximate, recall {}, {bins} bins", f32::from_bits(*recall))
            }
        }
    }
}
