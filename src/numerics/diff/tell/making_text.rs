//! Words for operations that make elements.

use std::fmt::{self, Display, Formatter};

use crate::analysis::Precision;

use super::super::element::{Label, Making};

impl Display for Label {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Label::Parameter => f.write_str("parameter"),
            Label::Unary(unary) => f.write_str(unary.name()),
            Label::Binary(binary) => f.write_str(binary.name()),
            Label::Compare(direction) => write!(f, "compare {}", direction.name()),
            Label::Select => f.write_str("select"),
            Label::Fused => f.write_str("fused multiply-add"),
            Label::Sum { terms, in_windows, accumulator, fused } => {
                write!(f, "sum of {terms}{}", if *in_windows { " in windows" } else { "" })?;
                if let Some(width) = accumulator {
                    write!(f, " in {width}")?;
                }
                f.write_str(if *fused { ", fused multiply-add" } else { "" })
            }
            Label::Dot { products, precision: None } => write!(f, "dot of {products}"),
            Label::Dot { products, precision: Some([lhs, rhs]) } => {
                write!(f, "dot of {products} at {{{},{}}}", lhs.name(), rhs.name())
            }
            Label::Reduce => f.write_str("reduce"),
            Label::Sort => f.write_str("sort"),
            Label::Opcode(opcode) => f.write_str(opcode),
        }
    }
}

impl Display for Making {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Making::By(label) => write!(f, "{label}"),
            Making::ByOtherOperands(label) => write!(f, "{label} of other operands"),
            // `add of bf16, f32`.
            Making::Of(label, ways) => {
                let ways: Vec<String> = ways.iter().map(|way| roundings(way)).collect();
                write!(f, "{label} of {}", ways.join(", "))
            }
            Making::Result(way) => write!(f, "result of {}", roundings(way)),
            Making::InOrder(additions) => {
                let order = additions.order.map(|order| order.to_string());
                let plan = additions.plan.as_ref().map(|plan| plan.to_string());
                f.write_str(&order.into_iter().chain(plan).collect::<Vec<_>>().join(", "))
            }
            Making::Not(making) => write!(f, "no {making}"),
        }
    }
}

/// `f32 then bf16`.
fn roundings(way: &[Precision]) -> String {
    match way {
        [] => "numbers".to_string(),
        roundings => roundings.iter().map(Precision::to_string).collect::<Vec<_>>().join(" then "),
    }
}
