//! Reads a computation into the values of a graph.

use std::collections::HashMap;

use crate::analysis::{Analysis, Held, Precision, accumulates_in};
use crate::ir::{Binary, Computation, ComputationId, Fusion, Instruction, Op, ValueId};
use crate::machine::{CodeNote, DotSite};
use crate::num::{BF16, F32};
use crate::tensor::DType;

use super::super::expression::NumberScale;
use super::super::expression::{ExpressionHead, ExpressionId, Expressions};
use super::addition_order::{AdditionOrder, MatmulPlan};
use super::constant_fold;
use super::graph_value::Value;
use super::roles::{self, ArithmeticHabits, ValueRole};
use super::rounding_form::RoundingForm;

/// Replaces the expression of a value before its users are read: the expression to take instead, if any.
pub type Settle<'s> = dyn FnMut(ValueId, &Value, &Expressions) -> Option<ExpressionId> + 's;

pub struct GraphBuilder<'p, 'e> {
    pub analysis: &'p Analysis<'p>,
    pub computation: &'p Computation,
    /// Number of uses of each value.
    pub uses: Vec<usize>,
    /// The contents of each value; empty for a region, whose types say it.
    held: &'p [Held],
    /// The numbers that values are.
    constants: Vec<Option<f64>>,
    pub habits: ArithmeticHabits,
    /// A note of each value's code; empty where no compiler plans code for the chip, or none is known.
    notes: Vec<CodeNote>,
    /// Expressions that the parameters of a loop's body or condition stand for; `None` in another region. With these,
    /// expressions record roundings, which the entry leaves to the readings.
    pub arguments: Option<Vec<ExpressionId>>,
    /// Whether integers that no float has part in are told apart: in regions, but for the bodies of loops.
    pub counts: bool,
    pub expressions: &'e mut Expressions,
    pub values: Vec<Value>,
    pub regions: HashMap<usize, Vec<ExpressionId>>,
    /// Expression of all integers that no float has part in.
    pub integers: ExpressionId,
}

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// Of the entry.
    pub fn new(analysis: &'p Analysis<'p>, habits: ArithmeticHabits, expressions: &'e mut Expressions) -> Self {
        GraphBuilder::of(analysis, analysis.program.entry(), analysis.precisions(), habits, expressions)
    }

    /// Of a region; of a loop's, the parameters stand for these expressions.
    pub fn region(
        analysis: &'p Analysis<'p>,
        region: ComputationId,
        arguments: Option<Vec<ExpressionId>>,
        habits: ArithmeticHabits,
        expressions: &'e mut Expressions,
    ) -> Self {
        let builder = GraphBuilder::of(analysis, &analysis.program.computations[region], &[], habits, expressions);
        GraphBuilder { arguments, ..builder }
    }

    fn of(
        analysis: &'p Analysis<'p>,
        computation: &'p Computation,
        held: &'p [Held],
        habits: ArithmeticHabits,
        expressions: &'e mut Expressions,
    ) -> Self {
        let mut uses = computation.uses();
        uses[computation.root] += 1;
        let planned = habits.chip.filter(|_| habits.plans_code);
        let notes = planned.map(|chip| chip.note_code(computation, &analysis.regions)).unwrap_or_default();
        let integers = expressions.leaf(ExpressionHead::Integers);
        let (values, regions, constants) =
            (Vec::new(), HashMap::new(), constant_fold::constants(computation, &analysis.regions));
        let arguments = None;
        GraphBuilder {
            analysis,
            computation,
            uses,
            held,
            constants,
            habits,
            notes,
            arguments,
            counts: false,
            expressions,
            values,
            regions,
            integers,
        }
    }

    /// The values in order. `settle` sees each before others read it, and may say what it is taken for.
    pub fn values(mut self, settle: &mut Settle) -> Vec<Value> {
        for (id, instruction) in self.computation.instructions.iter().enumerate() {
            let mut value = self.value(id, instruction);
            if let Some(other) = settle(id, &value, self.expressions) {
                self.expressions.identify(value.with_sign(), other);
                value.expressions[0] = other;
                value.unsigned[0] = self.expressions.without_sign(other);
            }
            self.values.push(value);
        }
        self.values
    }

    /// Whether the computation is a region: its parameters are arguments then.
    pub fn is_region(&self) -> bool {
        !std::ptr::eq(self.computation, self.analysis.program.entry())
    }

    /// [`roles::takes_bf16`].
    pub fn takes_bf16(&self, instruction: &Instruction) -> bool {
        roles::takes_bf16(DotSite::within(self.computation, instruction), self.habits)
    }

    /// [`roles::is_on_vector_unit`].
    fn is_on_vector_unit(&self, instruction: &Instruction) -> bool {
        roles::is_on_vector_unit(DotSite::within(self.computation, instruction), self.habits)
    }

    #[expect(clippy::too_many_lines, reason = "the parts of one record depend on those before")]
    fn value(&mut self, id: ValueId, instruction: &'p Instruction) -> Value {
        let operand = |slot: usize| instruction.operands.get(slot).map(|o| &self.values[*o]);
        let dtype = instruction.shape.dtype();
        let float = dtype.is_some_and(DType::is_float);
        let multiple = dtype.is_none();
        let from_float = operand(0).is_some_and(|v| v.float);
        let role = roles::role(&instruction.op, instruction.operands.len(), (from_float, float), multiple);
        let (from, to) = match role {
            ValueRole::Moves { from, to } => (from, to),
            _ => (0, 0),
        };
        let moved: Vec<&Value> = (from..to).filter_map(operand).collect();
        let narrow_operands = self.takes_bf16(instruction)
            || instruction.operands.iter().all(|o| self.values[*o].effective.within(Precision::of(&BF16)));
        let regions = &self.analysis.regions;
        let holds = roles::holds(instruction, self.analysis);
        let moved_bits = moved.iter().map(|v| v.effective).reduce(Precision::join).unwrap_or(Precision::UNLIMITED);
        let effective = match self.held.get(id) {
            Some(held) => held.first().unwrap_or(Precision::UNLIMITED),
            None => holds.meet(moved_bits),
        };
        // An element of a tuple is rounded by the tuple's producer.
        let made_by = if let Op::GetTupleElement(_) = instruction.op { instruction.operands[0] } else { id };
        let rounds = self.held.get(made_by).is_some_and(|held| held.computes);
        let accumulation = accumulates_in(self.analysis.program, regions, instruction);
        let picks = match instruction.op {
            Op::GetTupleElement(_) => operand(0).is_some_and(|group| group.picks),
            ref op => roles::picks(op, regions),
        };
        let first = moved.first();
        let mut value = Value {
            role,
            expressions: Vec::new(),
            unsigned: Vec::new(),
            negated_before: None,
            sources: Vec::new(),
            live: self.is_region() || self.analysis.live()[id],
            float,
            picks,
            effective,
            rounds,
            holds,
            steps: first.map(|v| v.steps.clone()).unwrap_or_default(),
            accumulation: accumulation.filter(|_| float),
            products: first.and_then(|v| v.products),
            by: None,
            scale: None,
            undone: None,
            plan: plan(self.computation, instruction),
            selection: first.and_then(|v| v.selection).filter(|_| selects_on(&instruction.op)),
            form: self.form(instruction, narrow_operands).filter(|_| float && role == ValueRole::Computes),
            fused: self.notes.get(id).is_some_and(|note| note.adds_products),
            order: None,
            spread: Vec::new(),
            scalar: self.constants[id],
            unit: None,
        };
        value.order = value.accumulation.and_then(|_| self.order(id, instruction));
        if self.notes.get(id).is_some_and(|note| note.is_library_exponential) {
            value.form = Some(RoundingForm::LibraryExponential);
        }
        if value.form == Some(RoundingForm::MultiplyAndReduce) {
            value.products = Some(Precision::of(&F32));
        }
        value.expressions = self.express(instruction, &mut value);
        let site = DotSite::within(self.computation, instruction);
        value.unit = value.form.as_ref().and_then(|form| roles::unit(site, self.habits, form));
        if let (ValueRole::Moves { from, .. }, [whole]) = (value.role, &value.expressions[..]) {
            let moved = &self.values[instruction.operands[from]];
            let (negated, of) = self.expressions.split_sign(*whole);
            let is_negated = negated != self.expressions.split_sign(moved.with_sign()).0;
            let is_known = |scale: &NumberScale| of == moved.expression() && !(is_negated && scale.adds());
            let scale = moved.scale.clone().filter(is_known);
            value.scale = value.scale.or(if is_negated { scale.map(NumberScale::negate) } else { scale });
        }
        if let ([whole], true) = (&mut value.expressions[..], self.arguments.is_some() && role != ValueRole::Leaf) {
            let sum = value.accumulation.filter(|width| width.narrows()).map(ExpressionHead::Accumulated);
            let fused = value.fused.then_some(ExpressionHead::Fused);
            for head in sum.into_iter().chain(fused).filter(|_| value.scalar.is_none()) {
                *whole = self.expressions.apply(head, vec![*whole]);
            }
            if float && value.scalar.is_none() && !moved_bits.within(holds) {
                *whole = self.expressions.round_to(holds, *whole);
            }
        }
        // A tuple of nothing is no float either.
        if value.expressions.is_empty() {
            value.expressions.push(self.integers);
        }
        let unsigned = value.expressions.iter().map(|id| if float { self.expressions.without_sign(*id) } else { *id });
        value.unsigned = unsigned.collect();
        value.spread = self.spread(instruction, &value);
        value.negated_before = self.negated_before(instruction, &value);
        value.sources = self.sources(instruction, &value);
        value
    }

    /// The form of an operation when it is compared with another that makes the same value. A dot with one product per
    /// result counts as that product, rounded once, unless its operands are split.
    fn form(&self, instruction: &Instruction, narrow_operands: bool) -> Option<RoundingForm> {
        match (&instruction.op, self.is_product(instruction)) {
            (Op::Dot { .. }, true)
                if narrow_operands || !self.habits.one_pass || self.is_on_vector_unit(instruction) =>
            {
                Some(RoundingForm::Binary(Binary::Multiply))
            }
            (Op::Dot { .. }, false) if self.is_on_vector_unit(instruction) => Some(RoundingForm::MultiplyAndReduce),
            (op, _) => RoundingForm::of(op, narrow_operands),
        }
    }

    /// The order of a sum, as far as its steps do not say it: that of a dot's kernel as the file shows it, others as the chip's
    /// code generator plans them. Two products have one order.
    fn order(&self, id: ValueId, instruction: &Instruction) -> Option<AdditionOrder> {
        if let Op::Dot { dims, .. } = &instruction.op {
            let lhs = &self.computation.instructions[instruction.operands[0]].shape;
            if dims.products(lhs.dims()) <= 2 {
                return None;
            }
            if !self.habits.for_tpu && instruction.fusion().is_some_and(Fusion::is_library) {
                return lhs.dtype().map(AdditionOrder::KernelFor);
            }
        }
        let note = self.notes.get(id)?;
        Some(note.order.map_or(AdditionOrder::Compiler, AdditionOrder::from))
    }

    /// Whether an operation is a dot that adds up nothing.
    pub fn is_product(&self, instruction: &Instruction) -> bool {
        let Op::Dot { dims, .. } = &instruction.op else { return false };
        dims.products(self.computation.instructions[instruction.operands[0]].shape.dims()) == 1
    }
}

/// The plan of a matmul of a compiled file.
fn plan(computation: &Computation, instruction: &Instruction) -> Option<MatmulPlan> {
    let (Op::Dot { dims, .. }, Some(tiling)) = (&instruction.op, &instruction.tiling()) else { return None };
    let lhs = &computation.instructions[instruction.operands[0]].shape;
    Some(MatmulPlan { cut: tiling.cut(dims.products(lhs.dims())), emitter: tiling.emitter.clone() })
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
