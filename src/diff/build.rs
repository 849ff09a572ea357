//! Reads a computation into the values of a graph.

use std::collections::HashMap;

use crate::ir::{Binary, Computation, Instruction, Op, Program, Unary};
use crate::num::{Direction, round_f64};
use crate::tensor::{DType, Tensor};

use super::expression::{ExpressionId, Expressions, Head};
use super::graph::Value;
use super::rule::{self, Role};
use super::width::Width;

pub(super) struct Builder<'p, 'e> {
    pub program: &'p Program,
    pub computation: &'p Computation,
    pub expressions: &'e mut Expressions,
    pub values: Vec<Value>,
    pub regions: HashMap<usize, Vec<ExpressionId>>,
    /// Expression of all integers that no float has part in.
    pub integers: ExpressionId,
}

impl<'p, 'e> Builder<'p, 'e> {
    pub fn new(program: &'p Program, computation: &'p Computation, expressions: &'e mut Expressions) -> Self {
        let integers = expressions.leaf(Head::Integers);
        Builder { program, computation, expressions, values: Vec::new(), regions: HashMap::new(), integers }
    }

    pub fn values(mut self) -> Vec<Value> {
        for instruction in &self.computation.instructions {
            let value = self.value(instruction);
            self.values.push(value);
        }
        self.values
    }

    fn value(&mut self, instruction: &'p Instruction) -> Value {
        let operand = |slot: usize| instruction.operands.get(slot).map(|o| &self.values[*o]);
        let dtype = instruction.shape.dtype();
        let float = dtype.is_some_and(DType::is_float);
        let multiple = dtype.is_none();
        let from_float = operand(0).is_some_and(|v| v.float);
        let role = rule::role(&instruction.op, instruction.operands.len(), (from_float, float), multiple);
        let (from, to) = match role {
            Role::Moves { from, to } => (from, to),
            _ => (0, 0),
        };
        let moved: Vec<&Value> = (from..to).filter_map(operand).collect();
        let divisor = operand(1).and_then(|v| v.scalar);
        let narrow = Width::of(Some(DType::BF16));
        let narrow_operands = instruction.operands.iter().all(|o| self.values[*o].effective.join(narrow) == narrow);
        let computations = &self.program.computations;
        let holds = rule::holds(&instruction.op, computations, dtype);
        let picks = match instruction.op {
            Op::GetTupleElement(_) => operand(0).is_some_and(|group| group.picks),
            ref op => rule::picks(op, computations),
        };
        let first = moved.first();
        let mut value = Value {
            role,
            expressions: Vec::new(),
            live: false,
            float,
            picks,
            effective: holds,
            holds,
            steps: first.map(|v| v.steps.clone()).unwrap_or_default(),
            accumulation: rule::accumulation(&instruction.op, computations, dtype).filter(|_| float),
            products: None,
            by: match instruction.op {
                Op::Binary(Binary::Divide) => divisor,
                Op::Binary(Binary::Multiply) => divisor.or_else(|| operand(0).and_then(|v| v.scalar)),
                _ => None,
            },
            selection: first.and_then(|v| v.selection.clone()).filter(|_| selects_on(&instruction.op)),
            form: rule::form(&instruction.op, divisor, narrow_operands).filter(|_| float && role == Role::Computes),
            scalar: self.scalar(instruction, &moved),
        };
        value.expressions = self.express(instruction, &mut value);
        // A tuple of nothing is no float either.
        if value.expressions.is_empty() {
            value.expressions.push(self.integers);
        }
        value.effective = self.natural(instruction, &value).meet(holds);
        value
    }

    /// The number that every element is: a constant's, or what comes of constants alone.
    fn scalar(&self, instruction: &Instruction, moved: &[&Value]) -> Option<f64> {
        let operand = |slot: usize| self.values[*instruction.operands.get(slot)?].scalar;
        let value = match &instruction.op {
            Op::Constant(tensor) => return splat(tensor),
            Op::Convert | Op::Broadcast { .. } | Op::Reshape | Op::Copy => operand(0)?,
            Op::Unary(Unary::Floor) => operand(0)?.floor(),
            Op::Unary(Unary::Ceil) => operand(0)?.ceil(),
            Op::Binary(Binary::Add) => operand(0)? + operand(1)?,
            Op::Binary(Binary::Subtract) => operand(0)? - operand(1)?,
            Op::Binary(Binary::Multiply) => operand(0)? * operand(1)?,
            Op::Binary(Binary::Divide) => operand(0)? / operand(1)?,
            _ if moved.len() == 1 && instruction.op == Op::OptimizationBarrier => moved[0].scalar?,
            _ => return None,
        };
        match instruction.shape.dtype().map(|dtype| (dtype, dtype.format())) {
            Some((_, Some(format))) => Some(round_f64(format, value, Direction::NearestEven)),
            Some((dtype, None)) => (dtype.is_integer() && value.fract() == 0.0).then_some(value),
            None => None,
        }
    }

    /// The bits that a value can have before its own type cuts any.
    fn natural(&self, instruction: &Instruction, value: &Value) -> Width {
        let operand = |slot: usize| instruction.operands.get(slot).map(|o| self.values[*o].effective);
        if let Op::Constant(tensor) = &instruction.op {
            return constant_width(tensor);
        }
        match value.role {
            Role::Moves { from, to } => (from..to).filter_map(operand).reduce(Width::join),
            _ if value.picks || matches!(instruction.op, Op::GetTupleElement(_)) => operand(0),
            _ => None,
        }
        .unwrap_or(Width::UNLIMITED)
    }
}

/// Whether a result of this operation is selected as its operand was.
fn selects_on(op: &Op) -> bool {
    matches!(
        op,
        Op::Slice { .. }
            | Op::Reverse { .. }
            | Op::Convert
            | Op::Copy
            | Op::Reshape
            | Op::Transpose { .. }
            | Op::ReducePrecision { .. }
            | Op::OptimizationBarrier
    )
}

/// The one value of an array of constants.
pub(super) fn splat(tensor: &Tensor) -> Option<f64> {
    let data = tensor.data();
    let value = |i| if data.dtype().is_float() { data.get_f64(i) } else { data.get_i64(i) as f64 };
    let bits = |i: usize| data.bits(i);
    (!tensor.is_empty() && (1..tensor.len()).all(|i| bits(i) == bits(0))).then(|| value(0))
}

fn constant_width(tensor: &Tensor) -> Width {
    let data = tensor.data();
    let fits = data.dtype().is_float() && (0..tensor.len()).all(|i| crate::num::BF16.contains(data.get_f64(i)));
    if fits { Width::NONE } else { Width::of(Some(tensor.dtype())) }
}
