//! What the operations of a computation are as expressions.

use crate::analysis::{Reducer, fingerprint};
use crate::ir::{Binary, ComputationId, Instruction, Op, approx};

use super::build::{Builder, splat};
use super::expression::{Combiner, ExpressionId, Head};
use super::rule::{self, Role};
use super::vertex::Value;

impl<'p, 'e> Builder<'p, 'e> {
    /// The expressions of an instruction's arrays; adds what only they tell.
    pub fn express(&mut self, instruction: &'p Instruction, value: &mut Value) -> Vec<ExpressionId> {
        let operands: Vec<ExpressionId> =
            instruction.operands.iter().filter_map(|o| self.values[*o].expressions.first().copied()).collect();
        if let Op::GetTupleElement(index) = instruction.op {
            let group = &self.values[instruction.operands[0]];
            value.selection = group.selection.clone();
            value.accumulation = group.accumulation.filter(|_| value.float);
            return vec![group.expressions.get(index).copied().unwrap_or(self.integers)];
        }
        let in_region = self.is_region();
        let is_integer = value.role != Role::Group && !value.float;
        if is_integer && !in_region && value.role != Role::Results && operands.iter().all(|o| *o == self.integers) {
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
            && (value.role != Role::Computes || in_region)
        {
            return vec![*first];
        }
        if let Some(scalar) = value.scalar.filter(|_| value.float) {
            return vec![self.expressions.constant(scalar)];
        }
        let elements = instruction.shape.elements();
        let head = match &instruction.op {
            Op::Parameter(n) if in_region => Head::Argument(*n),
            Op::Parameter(n) => Head::Parameter(*n),
            Op::Constant(tensor) => match splat(tensor) {
                Some(v) => return vec![self.expressions.constant(v)],
                None => Head::Table(fingerprint(tensor)),
            },
            Op::Convert if value.float => Head::FromIntegers,
            Op::Unary(unary) => Head::Unary(*unary),
            Op::Binary(Binary::Divide) if value.float && self.divisor(instruction).is_some() => {
                let inverse = self.expressions.constant(1.0 / self.divisor(instruction).unwrap_or(1.0));
                return vec![self.expressions.apply(Head::Binary(Binary::Multiply), vec![operands[0], inverse])];
            }
            // Integers without a float in them are one expression: `k - 1` is `k + -1`.
            Op::Binary(Binary::Subtract)
                if !value.float && matches!(self.expressions.get(operands[1]).0, Head::Integers) =>
            {
                Head::Binary(Binary::Add)
            }
            Op::Binary(binary) => {
                let neutral = operands.clone();
                let id = self.expressions.apply(Head::Binary(*binary), operands);
                // What adding zero or multiplying by one leaves is no new value.
                if value.role == Role::Computes
                    && value.float
                    && let Some(slot) = neutral.iter().position(|operand| *operand == id)
                {
                    value.role = Role::Moves { from: slot, to: slot + 1 };
                    value.form = None;
                }
                if value.role == Role::Computes && matches!(self.expressions.get(id).0, Head::Scan { .. }) {
                    value.steps = self.blocks(instruction);
                    value.form = Some("scan".to_string());
                }
                return vec![id];
            }
            Op::Compare { direction, .. } => Head::Compare(*direction),
            Op::Select => Head::Select,
            Op::Clamp => {
                let raised = self.expressions.apply(Head::Binary(Binary::Maximum), vec![operands[0], operands[1]]);
                return vec![self.expressions.apply(Head::Binary(Binary::Minimum), vec![raised, operands[2]])];
            }
            Op::Reduce { dims, to_apply } => {
                let over = &self.computation.instructions[instruction.operands[0]].shape;
                let at_once = dims.iter().map(|d| over.dims()[*d]).product();
                return self.reduce(instruction, *to_apply, at_once, &operands, value);
            }
            Op::ReduceWindow { window, to_apply } => {
                let over = self.computation.instructions[instruction.operands[0]].shape.dims();
                if let Some(along) = rule::scan_along(window, over) {
                    value.steps = vec![over[along]];
                    value.form = Some("scan".to_string()).filter(|_| value.float);
                    let rows = over.iter().product::<usize>() / over[along].max(1);
                    let by = self.combiner(*to_apply);
                    let taken = if self.starts_elsewhere(instruction, by) { 2 } else { 1 };
                    return vec![self.expressions.apply(Head::Scan { by, rows }, operands[..taken].to_vec())];
                } else if let Some(block) = rule::block(window) {
                    return self.reduce(instruction, *to_apply, block, &operands, value);
                } else {
                    let by = self.combiner(*to_apply);
                    Head::Other(format!("reduce-window {window:?} {by:?}"))
                }
            }
            // Where updates land is no matter of precision.
            Op::Scatter { to_apply, .. } => {
                let by = self.combiner(*to_apply);
                let arrays = operands.len() / 2;
                let floats = [&operands[..arrays], &operands[arrays + 1..]].concat();
                let parts = (0..arrays).map(|i| {
                    let head = Head::Other(format!("scatter {by:?} {i}"));
                    self.expressions.apply(head, floats.clone())
                });
                return parts.collect();
            }
            Op::Sort { to_apply, .. } => return self.sort(*to_apply, instruction, &operands, value),
            Op::TopK { k, largest } => {
                value.selection = Some("exact".to_string());
                return self.top_k(operands[0], *k, *largest);
            }
            Op::ApproxTopK(attributes) => {
                let dims = self.computation.instructions[instruction.operands[0]].shape.dims();
                let n = dims.get(attributes.reduction_dim).copied().unwrap_or(0);
                let whole = attributes.reduction_input_size_override;
                let size = approx::output_size(n, dims.len(), attributes.k, attributes.recall_target, false, whole);
                let bins = size.map_or(n, |(bins, _)| bins);
                value.selection = Some(approximate(attributes.recall_target, bins, n));
                if attributes.aggregate_to_topk {
                    return self.top_k(operands[0], attributes.k, true);
                }
                return self.candidates(&operands);
            }
            Op::PartialReduce(attributes) => {
                let over = self.computation.instructions[instruction.operands[0]].shape.dims();
                let n = over.get(attributes.reduction_dim).copied().unwrap_or(0);
                let rows = over.iter().product::<usize>() / n.max(1);
                let bins = elements / 2 / rows.max(1);
                value.selection = Some(approximate(attributes.recall_target, bins, n));
                return self.candidates(&operands);
            }
            Op::Dot { .. } => {
                let product = self.expressions.apply(Head::Binary(Binary::Multiply), operands);
                let head = Head::Reduce { by: Combiner::Known(Binary::Add), results: elements };
                return vec![self.expressions.apply(head, vec![product])];
            }
            Op::Slice { start, limit, stride } => {
                let over = self.computation.instructions[instruction.operands[0]].shape.dims();
                let cut = (0..over.len()).filter(|d| (start[*d], limit[*d], stride[*d]) != (0, over[*d], 1));
                let cut: Vec<_> = cut.map(|d| (start[d], limit[d], stride[d])).collect();
                if cut.is_empty() {
                    return vec![operands[0]];
                }
                Head::Slice(cut)
            }
            Op::Reverse { .. } => Head::Reverse,
            Op::Concatenate { .. } => Head::Concatenate,
            Op::Pad { low, high, interior } => {
                let edges = (0..low.len()).map(|d| (low[d], high[d], interior[d])).filter(|e| *e != (0, 0, 0));
                Head::Pad(edges.collect())
            }
            // Where elements lie is no matter of precision, and compilers rewrite it freely.
            Op::Gather(_) | Op::DynamicSlice { .. } => {
                if self.rearranges(instruction) {
                    return vec![operands[0]];
                }
                return vec![self.expressions.apply(Head::Gather { elements }, vec![operands[0]])];
            }
            Op::Tuple => return self.all(instruction),
            Op::While { condition, body } => {
                let body = [self.region_results(*condition), self.region_results(*body)].concat();
                let parts = (0..instruction.operands.len()).map(|i| {
                    let operands = [&operands[..], &body[..]].concat();
                    self.expressions.apply(Head::Loop(i), operands)
                });
                return parts.collect();
            }
            // Places and integers, which are compared elsewhere ([`super::find_edits`]), and what is expressed above.
            other @ (Op::Iota { .. }
            | Op::Convert
            | Op::BitcastConvert
            | Op::ReducePrecision { .. }
            | Op::OptimizationBarrier
            | Op::Copy
            | Op::Broadcast { .. }
            | Op::Reshape
            | Op::Transpose { .. }
            | Op::DynamicUpdateSlice
            | Op::GetTupleElement(_)
            | Op::Call { .. }) => Head::Other(other.opcode().to_string()),
        };
        let id = self.expressions.apply(head, operands);
        vec![id]
    }

    /// Whether a gather puts all elements in a fixed order, which is how a bitcast between layouts is imported.
    fn rearranges(&self, instruction: &Instruction) -> bool {
        let op = |slot: usize| Some(&self.computation.instructions[*instruction.operands.get(slot)?]);
        let whole = op(0).is_some_and(|of| of.shape.elements() == instruction.shape.elements());
        whole && op(1).is_some_and(|positions| matches!(positions.op, Op::Constant(_) | Op::Iota { .. }))
    }

    fn all(&self, instruction: &Instruction) -> Vec<ExpressionId> {
        instruction.operands.iter().map(|o| self.values[*o].expression()).collect()
    }

    fn divisor(&self, instruction: &Instruction) -> Option<f64> {
        instruction.operands.get(1).and_then(|o| self.values[*o].scalar)
    }

    /// The steps of a scan in blocks, to which this sum adds the blocks' totals.
    fn blocks(&self, instruction: &Instruction) -> Vec<usize> {
        instruction.operands.iter().flat_map(|o| self.values[*o].steps.iter().copied()).collect()
    }

    /// A reduction of `at_once` elements, joined with the one before it if that only took a part.
    fn reduce(
        &mut self,
        instruction: &Instruction,
        region: usize,
        at_once: usize,
        operands: &[ExpressionId],
        value: &mut Value,
    ) -> Vec<ExpressionId> {
        let arrays = operands.len() / 2;
        let results = instruction.shape.elements() / arrays.max(1);
        if arrays == 1 {
            let by = self.combiner(region);
            // A reduction of one element moves it.
            if at_once == 1 && !self.starts_elsewhere(instruction, by) {
                value.role = Role::Moves { from: 0, to: 1 };
                value.accumulation = None;
                value.form = None;
                value.steps = self.values[instruction.operands[0]].steps.clone();
                return vec![operands[0]];
            }
            let head = Head::Reduce { by, results };
            if self.starts_elsewhere(instruction, by) {
                return vec![self.expressions.apply(head, operands.to_vec())];
            }
            if let (Some(form), Combiner::Known(Binary::Add), (Head::Binary(Binary::Multiply), _)) =
                (&mut value.form, by, self.expressions.get(operands[0]))
            {
                *form = "multiply and reduce".to_string();
                value.products = Some(self.values[instruction.operands[0]].effective);
            }
            value.steps = vec![at_once];
            if let (Head::Reduce { by: inner, .. }, [x]) = self.expressions.get(operands[0])
                && *inner == by
            {
                let x = *x;
                value.steps = [&self.values[instruction.operands[0]].steps[..], &[at_once]].concat();
                self.expressions.absorb(operands[0]);
                return vec![self.expressions.apply(head, vec![x])];
            }
            return vec![self.expressions.apply(head, vec![operands[0]])];
        }
        let largest = match self.analysis.regions.reducer_but_for_rounding(region) {
            Some(Reducer::ArgMax | Reducer::GreaterKeep) => true,
            Some(Reducer::ArgMin) => false,
            _ => {
                let by = self.region_results(region);
                let operands = [&operands[..arrays], &by[..]].concat();
                let part = |i| Head::Other(format!("reduce {i} of {results}"));
                return (0..arrays).map(|i| self.expressions.apply(part(i), operands.clone())).collect();
            }
        };
        let by = Combiner::Known(if largest { Binary::Maximum } else { Binary::Minimum });
        let extreme = self.expressions.apply(Head::Reduce { by, results }, vec![operands[0]]);
        let index = self.expressions.apply(Head::Index { largest, results }, vec![operands[0]]);
        vec![extreme, index]
    }

    /// Whether a reduction or scan of one array does not start at nothing: a sum from one is no sum of the elements.
    fn starts_elsewhere(&self, instruction: &Instruction, by: Combiner) -> bool {
        let start = instruction.operands.get(1).map(|start| &self.values[*start]);
        start.and_then(|start| start.scalar.filter(|_| start.float)).is_some_and(|start| !is_neutral(by, start))
    }

    fn sort(
        &mut self,
        region: usize,
        instruction: &Instruction,
        operands: &[ExpressionId],
        value: &mut Value,
    ) -> Vec<ExpressionId> {
        let Some(found) = self.analysis.regions.comparator_but_for_rounding(region) else {
            let by = self.region_results(region);
            let operands = [operands, &by[..]].concat();
            let part = |i| Head::Other(format!("sort {i}"));
            let count = instruction.operands.len();
            return (0..count).map(|i| self.expressions.apply(part(i), operands.clone())).collect();
        };
        // Candidates that are sorted are the top of what they were taken of, as far as they were not lost.
        value.selection = Some("exact".to_string());
        if let Some(taken) = &self.values[instruction.operands[found.key]].selection
            && matches!(self.expressions.get(operands[found.key]).0, Head::Candidates)
        {
            value.selection = Some(taken.clone());
        }
        let operands: Vec<ExpressionId> = operands
            .iter()
            .map(|o| match self.expressions.get(*o) {
                (Head::Candidates, [_, of]) => *of,
                _ => *o,
            })
            .collect();
        let head = Head::Sorted { descending: found.descending };
        let key = operands[found.key];
        operands.iter().map(|carried| self.expressions.apply(head.clone(), vec![key, *carried])).collect()
    }

    fn top_k(&mut self, key: ExpressionId, k: usize, largest: bool) -> Vec<ExpressionId> {
        let parts = [key, self.integers].map(|carried| {
            let sorted = self.expressions.apply(Head::Sorted { descending: largest }, vec![key, carried]);
            self.expressions.apply(Head::Slice(vec![(0, k, 1)]), vec![sorted])
        });
        parts.to_vec()
    }

    /// Operands: values, indices, and what an empty bin gets.
    fn candidates(&mut self, operands: &[ExpressionId]) -> Vec<ExpressionId> {
        let by = operands[0];
        operands.iter().take(2).map(|o| self.expressions.apply(Head::Candidates, vec![by, *o])).collect()
    }

    fn combiner(&mut self, region: usize) -> Combiner {
        match self.analysis.regions.reducer_but_for_rounding(region) {
            Some(Reducer::Binary(binary)) => Combiner::Known(binary),
            _ => Combiner::Region(self.region_results(region).first().copied().unwrap_or(self.integers)),
        }
    }

    /// The expressions of a region's results over its arguments.
    fn region_results(&mut self, id: ComputationId) -> Vec<ExpressionId> {
        if let Some(known) = self.regions.get(&id) {
            return known.clone();
        }
        let values = Builder::region(self.analysis, id, self.expressions).values(&mut |_, _| None);
        let known = values[self.analysis.program.computations[id].root].expressions.clone();
        self.regions.insert(id, known.clone());
        known
    }
}

/// Whether a reduction that starts at this number is one of its elements alone.
fn is_neutral(by: Combiner, start: f64) -> bool {
    match by {
        Combiner::Known(Binary::Add) => start == 0.0,
        Combiner::Known(Binary::Multiply) => start == 1.0,
        Combiner::Known(Binary::Maximum) => start == f64::NEG_INFINITY,
        Combiner::Known(Binary::Minimum) => start == f64::INFINITY,
        Combiner::Known(_) | Combiner::Region(_) => true,
    }
}

fn approximate(recall: f32, bins: usize, n: usize) -> String {
    match bins >= n {
        true => "exact".to_string(),
        false => format!("approximate, recall {recall}, {bins} bins"),
    }
}
