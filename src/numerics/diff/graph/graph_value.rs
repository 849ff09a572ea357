//! One value of a graph, with what it computes.

use crate::analysis::Precision;

use super::super::expression::ExpressionId;
use super::super::expression::NumberScale;
use super::addition_order::{AdditionOrder, MatmulPlan};
use super::roles::{TpuUnit, ValueRole};
use super::rounding_form::RoundingForm;
use super::topk_selection::TopKSelection;

/// A value.
#[derive(Clone, Debug)]
pub struct Value {
    pub role: ValueRole,
    /// One an array, with its sign.
    pub expressions: Vec<ExpressionId>,
    /// The same without their signs: values are the same but for a negation, which rounds nothing.
    pub unsigned: Vec<ExpressionId>,
    /// [`GraphBuilder::negated_before`](super::graph_builder::Builder::negated_before).
    pub negated_before: Option<bool>,
    /// Of an integer or predicate: what it is made of, sorted.
    pub sources: Vec<ExpressionId>,
    /// Whether a result depends on it.
    pub live: bool,
    pub float: bool,
    /// Whether it only picks among the elements it reads.
    pub picks: bool,
    /// The bits that it can have.
    pub effective: Precision,
    /// Whether it computes numbers that no operand has, and so rounds them to what it holds.
    pub rounds: bool,
    /// The bits that its type holds, or that a `reduce-precision` leaves.
    pub holds: Precision,
    /// The steps in which a sum or scan is taken: elements a step.
    pub steps: Vec<usize>,
    /// The width of a sum.
    pub accumulation: Option<Precision>,
    /// The width of the products, where a sum is one of products.
    pub products: Option<Precision>,
    /// The number that a multiplication or division is by, where it is one.
    pub by: Option<f64>,
    /// The scaling that makes this value from another one, if there is one.
    pub scale: Option<NumberScale>,
    /// The steps by which it is the value that it is made of again, up to rounding: a second number undoes the first.
    pub undone: Option<RoundingForm>,
    /// Plan by which a compiled file cuts up a matmul.
    pub plan: Option<MatmulPlan>,
    /// Selection of a top-k or sort.
    pub selection: Option<TopKSelection>,
    /// The operation that rounds it, to compare with another that makes the same value.
    pub form: Option<RoundingForm>,
    /// Whether it adds a product that is not rounded before.
    pub fused: bool,
    /// The order in which numbers are added up, as far as `steps` do not tell.
    pub order: Option<AdditionOrder>,
    /// Along which dims all its elements are the same.
    pub spread: Vec<bool>,
    /// The one number that all its elements are, where that is known without running the program.
    pub scalar: Option<f64>,
    /// [`roles::unit`](super::roles::unit).
    pub unit: Option<TpuUnit>,
}

impl Value {
    /// The expression of an array but for its sign.
    pub fn expression(&self) -> ExpressionId {
        self.unsigned[0]
    }

    /// The expression of an array.
    pub fn with_sign(&self) -> ExpressionId {
        self.expressions[0]
    }

    /// Whether a result depends on it and it is computed from values, not from constants alone.
    pub fn is_computed(&self) -> bool {
        self.live && self.role == ValueRole::Computes && self.scalar.is_none()
    }

    /// Whether it is a value of its own and not one that was moved.
    pub fn is_made(&self) -> bool {
        matches!(self.role, ValueRole::Computes | ValueRole::Leaf) && self.scalar.is_none()
    }
}
