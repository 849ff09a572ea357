//! Expressions of the operations of a computation.

use crate::analysis::{Precision, fingerprint};
use crate::ir::movement::places_of_slice;
use crate::ir::{Binary, Instruction, Op, ScatterDims, ValueId, approx};
use crate::num::BF16;
use crate::tensor::DType;

use super::super::expression::NumberScale;
use super::super::expression::{Edge, ExpressionHead, ExpressionId, ReductionOperation};
use super::addition_order::AdditionOrder;
use super::constant_fold::splat;
use super::graph_builder::GraphBuilder;
use super::graph_value::Value;
use super::regions::carries;
use super::roles::ValueRole;
use super::rounding_form::RoundingForm;
use super::topk_selection::TopKSelection;

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// The expressions of an instruction's arrays; adds what only they tell.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn express(&mut self, instruction: &'p Instruction, value: &mut Value) -> Vec<ExpressionId> {
        let mut operands: Vec<ExpressionId> =
            instruction.operands.iter().filter_map(|o| self.values[*o].expressions.first().copied()).collect();
        if let Op::GetTupleElement(index) = instruction.op {
            let of = &self.computation.instructions[instruction.operands[0]];
            if let Op::While { body, .. } = of.op
                && carries(&self.analysis.program.computations[body], index)
            {
                value.role = ValueRole::Moves { from: 0, to: 1 };
            }
            let group = &self.values[instruction.operands[0]];
            value.selection = group.selection;
            value.accumulation = group.accumulation.filter(|_| value.float);
            return vec![group.expressions.get(index).copied().unwrap_or(self.integers)];
        }
        if let Op::Opaque(opaque) = &instruction.op {
            return vec![self.expressions.apply(ExpressionHead::Opaque(opaque.clone()), operands)];
        }
        let in_region = self.is_region();
        let is_integer = value.role != ValueRole::Group && !value.float;
        if is_integer && let Some(id) = self.negation(instruction, &mut operands) {
            return vec![id];
        }
        if is_integer
            && !self.counts
            && value.role != ValueRole::Results
            // Integers made of integers are one expression: compilers compute indices as they please.
            && operands.iter().all(|o| *o == self.integers)
        {
            return vec![self.integers];
        }
        if let Some(first) = operands.first()
            && matches!(
                instruction.op,
                Op::Convert
                    | Op::ReducePrecision { .. }
                    | Op::OptimizationBarrier
                    | Op::Copy
                    | Op::Broadcast { .. }
                    | Op::Reshape
                    | Op::Transpose { .. }
            )
            && (value.role != ValueRole::Computes || in_region)
        {
            return vec![*first];
        }
        if let Some(scalar) = value.scalar.filter(|_| value.float) {
            return vec![self.expressions.constant(scalar)];
        }
        if let Some(id) = self.count(instruction, &operands) {
            return vec![id];
        }
        if let Op::Binary(binary) = instruction.op
            && value.float
            && let Some(id) = self.put_together(binary, instruction, value)
        {
            return vec![id];
        }
        let elements = instruction.shape.elements();
        let head = match &instruction.op {
            Op::Parameter(n) if in_region => match self.arguments.as_ref().and_then(|all| all.get(*n)) {
                Some(argument) => return vec![*argument],
                None => ExpressionHead::Argument(*n),
            },
            Op::Parameter(n) => ExpressionHead::Parameter(*n),
            Op::Constant(tensor) => match splat(tensor) {
                Some(v) => return vec![self.expressions.constant(v)],
                None => ExpressionHead::Table(fingerprint(tensor)),
            },
            Op::Convert if value.float => match self.computation.instructions[instruction.operands[0]].shape.dtype() {
                Some(DType::Pred) => ExpressionHead::FromPredicates,
                _ => ExpressionHead::FromIntegers,
            },
            Op::Unary(unary) => ExpressionHead::Unary(*unary),
            Op::Binary(binary) if value.float && self.factor(*binary, instruction).is_some() => {
                return vec![self.scale(*binary, instruction, value)];
            }
            // Integers without a float in them are one expression: `k - 1` is `k + -1`.
            Op::Binary(Binary::Subtract)
                if !value.float && matches!(self.expressions.get(operands[1]).0, ExpressionHead::Integers) =>
            {
                ExpressionHead::Binary(Binary::Add)
            }
            Op::Binary(binary) => {
                let neutral = operands.clone();
                let id = self.expressions.apply(ExpressionHead::Binary(*binary), operands);
                // What adding zero or multiplying by one leaves is no new value.
                if value.role == ValueRole::Computes
                    && value.float
                    && let Some(slot) = neutral.iter().position(|operand| *operand == id)
                {
                    (value.role, value.form) = (ValueRole::Moves { from: slot, to: slot + 1 }, None);
                }
                // A product with ones and zeros, or arrays side by side, are picked from.
                if value.role == ValueRole::Computes
                    && value.float
                    && matches!(
                        self.expressions.get(id).0,
                        ExpressionHead::Select
                            | ExpressionHead::Concatenate
                            | ExpressionHead::Pad(_)
                            | ExpressionHead::Slice(_)
                    )
                {
                    let values = neutral
                        .iter()
                        .take_while(|id| !matches!(self.expressions.get(**id).0, ExpressionHead::FromPredicates));
                    let from = usize::from(values.count() == 0);
                    (value.role, value.form) = (ValueRole::Moves { from, to: 2 }, None);
                }
                if value.float && matches!(self.expressions.get(id).0, ExpressionHead::Scatter { .. }) {
                    (value.order, value.form) = (Some(AdditionOrder::UpdatesOntoZeros), None);
                }
                if value.role == ValueRole::Computes
                    && matches!(self.expressions.get(id).0, ExpressionHead::Scan { .. })
                {
                    value.steps = self.blocks(instruction);
                    value.form = Some(RoundingForm::Scan);
                }
                return vec![id];
            }
            Op::Compare { direction, .. } => ExpressionHead::Compare(*direction),
            Op::Select => match self.values[instruction.operands[0]].scalar {
                Some(chosen) => {
                    let slot = if chosen == 0.0 { 2 } else { 1 };
                    value.role = ValueRole::Moves { from: slot, to: slot + 1 };
                    return vec![operands[slot]];
                }
                None => ExpressionHead::Select,
            },
            // A compiler may write a clamp as a maximum and a minimum, or the reverse.
            Op::Clamp => {
                let raised =
                    self.expressions.apply(ExpressionHead::Binary(Binary::Maximum), vec![operands[0], operands[1]]);
                return vec![
                    self.expressions.apply(ExpressionHead::Binary(Binary::Minimum), vec![raised, operands[2]]),
                ];
            }
            Op::Reduce { dims, to_apply } => {
                let over = &self.computation.instructions[instruction.operands[0]].shape;
                let at_once = dims.iter().map(|d| over.dims()[*d]).product();
                return self.reduce(instruction, *to_apply, at_once, &operands, value);
            }
            Op::ReduceWindow { window, to_apply } => {
                return self.reduce_window(instruction, window, *to_apply, &operands, value);
            }
            // Where updates land is no matter of precision.
            Op::DynamicUpdateSlice => {
                return vec![self.expressions.apply(ExpressionHead::Update, operands[..2].to_vec())];
            }
            Op::Scatter { dims, to_apply } => {
                let by = self.combiner(*to_apply);
                let arrays = operands.len() / 2;
                if arrays == 1 && self.updates_all(dims, instruction) {
                    return match by {
                        ReductionOperation::Known(binary) => {
                            vec![self.expressions.apply(ExpressionHead::Binary(binary), vec![operands[0], operands[2]])]
                        }
                        ReductionOperation::Region(_) => vec![operands[2]],
                    };
                }
                let floats = [&operands[..arrays], &operands[arrays + 1..]].concat();
                if let ReductionOperation::Region(update) = by
                    && *self.expressions.get(update).0 == ExpressionHead::Argument(1)
                    && arrays == 1
                {
                    return vec![self.expressions.apply(ExpressionHead::Update, floats)];
                }
                if arrays == 1 && by == ReductionOperation::Known(Binary::Add) {
                    value.order = Some(AdditionOrder::UpdatesOntoArray);
                }
                let head = |part| ExpressionHead::Scatter { by, part };
                return (0..arrays).map(|part| self.expressions.apply(head(part), floats.clone())).collect();
            }
            Op::Sort { to_apply, .. } => return self.sort(*to_apply, instruction, &operands, value),
            Op::TopK { k, largest } => {
                value.selection = Some(TopKSelection::Exact);
                let dims = self.computation.instructions[instruction.operands[0]].shape.dims();
                let part = (dims.last() != Some(k)).then_some(*k);
                return self.top_k(operands[0], part, *largest);
            }
            Op::ApproxTopK(attributes) => {
                let dims = self.computation.instructions[instruction.operands[0]].shape.dims();
                let n = dims[attributes.reduction_dim];
                let whole = attributes.reduction_input_size_override;
                let size = approx::output_size(n, dims.len(), attributes.k, attributes.recall_target, whole);
                let bins = size.map_or(n, |(bins, _)| bins);
                value.selection = Some(TopKSelection::of_bins(attributes.recall_target, bins, n));
                if attributes.aggregate_to_topk {
                    return self.top_k(operands[0], Some(attributes.k), true);
                }
                return self.candidates(&operands);
            }
            Op::PartialReduce(attributes) => {
                let over = self.computation.instructions[instruction.operands[0]].shape.dims();
                let n = over[attributes.reduction_dim];
                let rows = over.iter().product::<usize>() / n.max(1);
                let bins = elements / 2 / rows.max(1);
                value.selection = Some(TopKSelection::of_bins(attributes.recall_target, bins, n));
                return self.candidates(&operands);
            }
            Op::Dot { .. } => {
                let operands = self.factors_of_dot(instruction, operands);
                let product = self.expressions.apply(ExpressionHead::Binary(Binary::Multiply), operands);
                if self.is_product(instruction) {
                    return vec![product];
                }
                let head = ExpressionHead::Reduce { by: ReductionOperation::Known(Binary::Add), results: elements };
                return vec![self.expressions.apply(head, vec![product])];
            }
            Op::Slice { start, limit, stride } => {
                let over = self.computation.instructions[instruction.operands[0]].shape.dims();
                let cut_dims: Vec<usize> =
                    (0..over.len()).filter(|d| (start[*d], limit[*d], stride[*d]) != (0, over[*d], 1)).collect();
                let cut: Vec<_> = cut_dims.iter().map(|d| places_of_slice(start[*d], limit[*d], stride[*d])).collect();
                if cut.is_empty() {
                    return vec![operands[0]];
                }
                if let (&[d], Some(sorted)) = (&cut_dims[..], self.order_of(instruction.operands[0]))
                    && d + 1 == over.len()
                {
                    self.expressions.absorb(operands[0]);
                    return vec![self.expressions.apply(ExpressionHead::Slice(cut), vec![sorted])];
                }
                let id = self.expressions.apply(ExpressionHead::Slice(cut), operands);
                // It ends a scan that was taken in steps.
                if value.float && matches!(self.expressions.get(id).0, ExpressionHead::Scan { .. }) {
                    (value.role, value.form) = (ValueRole::Computes, Some(RoundingForm::Scan));
                }
                return vec![id];
            }
            Op::Reverse { .. } => ExpressionHead::Reverse,
            Op::Concatenate { dim } => return vec![self.concatenate(instruction, *dim, operands)],
            Op::Pad { low, high, interior } => {
                let over = self.computation.instructions[instruction.operands[0]].shape.dims();
                let edge = |d: usize| Edge { low: low[d], high: high[d], interior: interior[d], size: over[d] };
                let is_wider = |e: &Edge| (e.low, e.high, e.interior) != (0, 0, 0);
                ExpressionHead::Pad((0..low.len()).map(edge).filter(is_wider).collect())
            }
            // Where elements lie is no matter of precision, and compilers rewrite it freely.
            Op::Gather(_) | Op::DynamicSlice { .. } => {
                // All elements in other places: no number is new, and none is missing.
                if self.rearranges(instruction) {
                    return vec![operands[0]];
                }
                return vec![self.expressions.apply(ExpressionHead::Gather { elements }, vec![operands[0]])];
            }
            Op::Tuple => return self.all(instruction),
            Op::While { condition, body } => return self.repeat(instruction, [*condition, *body], &operands),
            // Places and integers, which are compared elsewhere (`matching::edits`), and what is expressed above.
            other @ (Op::Iota { .. }
            | Op::Convert
            | Op::BitcastConvert
            | Op::ReducePrecision { .. }
            | Op::OptimizationBarrier
            | Op::Copy
            | Op::Broadcast { .. }
            | Op::Reshape
            | Op::Transpose { .. }
            | Op::GetTupleElement(_)
            | Op::Call { .. }
            | Op::Opaque(_)) => ExpressionHead::Other(other.opcode().to_string()),
        };
        let id = self.expressions.apply(head, operands);
        vec![id]
    }

    /// A dot's operands. In a loop, expressions record roundings, so operands that the dot sees as bf16 are rounded to
    /// it. The position of that rounding does not matter; compilers move it before the loop.
    fn factors_of_dot(&mut self, instruction: &Instruction, mut operands: Vec<ExpressionId>) -> Vec<ExpressionId> {
        let (bf16, takes_bf16) = (Precision::of(&BF16), self.takes_bf16(instruction));
        for (id, operand) in instruction.operands.iter().zip(&mut operands).filter(|_| self.arguments.is_some()) {
            let is_narrow = takes_bf16 || self.values[*id].effective.within(bf16);
            if is_narrow {
                *operand = self.expressions.round_to(bf16, *operand);
            }
        }
        operands
    }

    /// Arrays side by side; what has the same number before or after it is padded.
    fn concatenate(&mut self, instruction: &Instruction, dim: usize, operands: Vec<ExpressionId>) -> ExpressionId {
        let size = |slot: usize| self.computation.instructions[instruction.operands[slot]].shape.dims()[dim];
        let is_number = |id: &ExpressionId| *id == self.integers || self.expressions.value(*id).is_some();
        let numbers: Vec<bool> = operands.iter().map(is_number).collect();
        let fill = operands.iter().zip(&numbers).find(|(_, is_number)| **is_number).map(|(id, _)| *id);
        // Where all are numbers, nothing is between them: 0..0.
        let from = numbers.iter().position(|is_number| !is_number).unwrap_or(0);
        let to = numbers.iter().rposition(|is_number| !is_number).map_or(0, |last| last + 1);
        let around = || (0..from).chain(to..operands.len());
        let inner = self.expressions.side_by_side(&operands[from..to.max(from)]);
        if let Some(fill) = fill
            && from < to
            && numbers[from..to].iter().all(|is_number| !is_number)
            && around().all(|slot| operands[slot] == fill)
        {
            let [low, middle, high] =
                [0..from, from..to, to..operands.len()].map(|slots| slots.map(size).sum::<usize>());
            let edge = Edge { low: low as i64, high: high as i64, interior: 0, size: middle };
            let x =
                if let [one] = inner[..] { one } else { self.expressions.apply(ExpressionHead::Concatenate, inner) };
            return self.expressions.apply(ExpressionHead::Pad(vec![edge]), vec![x, fill]);
        }
        let parts = self.expressions.side_by_side(&operands);
        self.expressions.apply(ExpressionHead::Concatenate, parts)
    }

    /// Whether a scatter of one array updates each of its elements once.
    fn updates_all(&self, dims: &ScatterDims, instruction: &Instruction) -> bool {
        let shape = |slot: usize| self.computation.instructions[instruction.operands[slot]].shape.dims();
        let starts_at_zero = self.values[instruction.operands[1]].scalar == Some(0.0);
        starts_at_zero && dims.window_sizes(shape(0).len(), shape(2)) == shape(0)
    }

    /// Whether a gather puts all elements in a fixed order, which is how a bitcast between layouts is imported, or takes
    /// the whole array, wherever it is told to start.
    fn rearranges(&self, instruction: &Instruction) -> bool {
        let op = |slot: usize| Some(&self.computation.instructions[*instruction.operands.get(slot)?]);
        let whole = op(0).is_some_and(|of| of.shape.elements() == instruction.shape.elements());
        let at_once = match (&instruction.op, op(0)) {
            (Op::Gather(dims), Some(of)) => dims.slice_sizes == of.shape.dims(),
            (op, _) => matches!(op, Op::DynamicSlice { .. }),
        };
        whole && (at_once || op(1).is_some_and(|positions| matches!(positions.op, Op::Constant(_) | Op::Iota { .. })))
    }

    fn all(&self, instruction: &Instruction) -> Vec<ExpressionId> {
        instruction.operands.iter().map(|o| self.values[*o].with_sign()).collect()
    }

    /// The operand that an operation scales, or adds a number to, and the number and how it does that.
    pub fn factor(&self, binary: Binary, instruction: &Instruction) -> Option<(ValueId, Binary, f64)> {
        let &[left, right] = &instruction.operands[..] else { return None };
        let number = |id: ValueId| self.values[id].scalar.filter(|number| *number != 0.0 && number.is_finite());
        match (binary, number(right), number(left)) {
            (Binary::Multiply | Binary::Divide | Binary::Add, Some(by), _) => Some((left, binary, by)),
            (Binary::Subtract, Some(by), _) => Some((left, Binary::Add, -by)),
            (Binary::Multiply | Binary::Add, None, Some(by)) => Some((right, binary, by)),
            _ => None,
        }
    }

    /// A product or sum with a number, together with those before it.
    fn scale(&mut self, binary: Binary, instruction: &Instruction, value: &mut Value) -> ExpressionId {
        let Some((operand, binary, by)) = self.factor(binary, instruction) else { return self.integers };
        let of = &self.values[operand];
        let (negated, own) = self.expressions.split_sign(of.with_sign());
        // In a loop, expressions tell of roundings between.
        let before = of.scale.as_ref().filter(|_| self.arguments.is_none());
        let whole = |before: Option<&NumberScale>| match before {
            None if negated && binary != Binary::Add => NumberScale::new(own, None, binary, by).negate(),
            _ => NumberScale::new(of.with_sign(), before, binary, by),
        };
        // What a second number undoes is how numbers are rounded to a grid, where they are added.
        let before = before.filter(|before| before.adds() == (binary == Binary::Add));
        let before = before.filter(|before| !before.adds() || whole(Some(*before)).by != 0.0);
        let scale = whole(before);
        if scale.is_undone() && (before.is_some() || scale.rounds()) && !self.is_region() {
            return self.undone(&scale, instruction, value);
        }
        let before = before.map(|_| of.expression());
        let joined = if scale.adds() { Binary::Add } else { Binary::Multiply };
        let number = self.expressions.constant(scale.by);
        let id = self.expressions.apply(ExpressionHead::Binary(joined), vec![scale.of, number]);
        if self.expressions.without_sign(id) == self.values[operand].expression() {
            value.role = ValueRole::Moves { from: 0, to: 2 };
            value.form = None;
        } else {
            // One step is its operation and its number, so that it is compared with the operation on other operands.
            let (form, by) = match scale.steps()[..] {
                [(binary, by)] => (RoundingForm::Binary(binary), Some(by.get())),
                ref steps => (RoundingForm::Scaled(steps.to_vec()), None),
            };
            (value.form, value.by) = (Some(form).filter(|_| value.role == ValueRole::Computes), by);
            before.into_iter().for_each(|step| self.expressions.absorb(step));
        }
        value.scale = Some(scale);
        id
    }

    /// The steps of a scan in blocks, to which this sum adds the blocks' totals.
    fn blocks(&self, instruction: &Instruction) -> Vec<usize> {
        instruction.operands.iter().flat_map(|o| self.values[*o].steps.iter().copied()).collect()
    }
}
