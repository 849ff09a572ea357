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
