//! An operation that changes from one chip to the other.

use std::fmt;

use serde::Serialize;

use crate::diff::{Change, ChangeKind};

/// The aspect of an operation that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Another unit computes it.
    Unit,
    /// Somebody computes, stores or reads it in another precision.
    Precision,
    /// The same numbers are added in another order.
    Order,
    /// A matmul is cut up, devices exchange, or a top-k selects by another plan.
    Plan,
    /// Another operation or attribute, that rounds nothing by itself.
    Other,
}

impl Aspect {
    /// All, in the order in which they are counted.
    pub const ALL: [Aspect; 5] = [Aspect::Unit, Aspect::Precision, Aspect::Order, Aspect::Plan, Aspect::Other];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Aspect::Unit => "unit",
            Aspect::Precision => "precision",
            Aspect::Order => "order",
            Aspect::Plan => "plan",
            Aspect::Other => "other",
        }
    }
}

/// The cause of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The compiler wrote another file.
    Compiler,
    /// The chip computes the same file otherwise.
    Chip,
}

/// One operation that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperationChange {
    /// The aspect that changes.
    pub aspect: Aspect,
    /// The cause.
    pub cause: Cause,
    /// The value's name in the first file; of a chip's habit in the second.
    pub name: String,
    /// `op_name` of its metadata.
    pub op_name: Option<String>,
    /// State on the first chip, in words.
    pub before: String,
    /// State on the second chip, in words.
    pub after: String,
}

impl fmt::Display for OperationChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.aspect.name(), self.name)?;
        if let Some(op_name) = &self.op_name {
            write!(f, " ({op_name})")?;
        }
        write!(f, ": {} -> {}", self.before, self.after)
    }
}

impl From<Change> for OperationChange {
    fn from(change: Change) -> OperationChange {
        let aspect = match change.kind {
            _ if change.of_unit => Aspect::Unit,
            ChangeKind::RoundingRemoved
            | ChangeKind::RoundingAdded
            | ChangeKind::Narrowed
            | ChangeKind::Widened
            | ChangeKind::PrecisionChanged => Aspect::Precision,
            ChangeKind::Reordered => Aspect::Order,
            ChangeKind::PlanChanged | ChangeKind::TopkChanged => Aspect::Plan,
            ChangeKind::OperationChanged | ChangeKind::AttributeChanged => Aspect::Other,
        };
        let Change { name, op_name, before, after, .. } = change;
        OperationChange { aspect, cause: Cause::Compiler, name, op_name, before, after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another unit computes the value, whatever else changed and whether its origin is known or not.
    #[test]
    fn a_change_of_the_unit_comes_first() {
        let of = |kind, of_unit, op_name: Option<&str>| {
            let [name, before, after] = ["v", "one", "other"].map(str::to_string);
            let op_name = op_name.map(str::to_string);
            OperationChange::from(Change { kind, name, op_name, before, after, of_unit }).aspect
        };
        for (kind, aspect) in [
            (ChangeKind::RoundingRemoved, Aspect::Precision),
            (ChangeKind::Widened, Aspect::Precision),
            (ChangeKind::PrecisionChanged, Aspect::Precision),
            (ChangeKind::Reordered, Aspect::Order),
            (ChangeKind::PlanChanged, Aspect::Plan),
            (ChangeKind::TopkChanged, Aspect::Plan),
            (ChangeKind::OperationChanged, Aspect::Other),
            (ChangeKind::AttributeChanged, Aspect::Other),
        ] {
            for op_name in [None, Some("jit(f)/dot_general")] {
                let found = [true, false].map(|of_unit| of(kind, of_unit, op_name));
                assert_eq!(found, [Aspect::Unit, aspect], "{kind:?} {op_name:?}");
            }
        }
    }
}
