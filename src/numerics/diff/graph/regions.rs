//! Expressions of operations that call regions, or that select.

use crate::analysis::{Precision, Reducer};
use crate::ir::{Binary, Computation, ComputationId, Instruction, Op, ValueId, Window, WindowDim};

use super::super::expression::{ExpressionHead, ExpressionId, ReductionOperation};
use super::graph_builder::GraphBuilder;
use super::graph_value::Value;
use super::roles::{self, ValueRole};
use super::rounding_form::RoundingForm;
use super::topk_selection::TopKSelection;

impl<'p, 'e> GraphBuilder<'p, 'e> {
    /// A reduction of `at_once` elements, joined with the one before it if that only took a part.
    pub fn reduce(
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
                value.role = ValueRole::Moves { from: 0, to: 1 };
                value.accumulation = None;
                value.form = None;
                value.steps = self.values[instruction.operands[0]].steps.clone();
                return vec![operands[0]];
            }
            let head = ExpressionHead::Reduce { by, results };
            if self.starts_elsewhere(instruction, by) {
                return vec![self.expressions.apply(head, operands.to_vec())];
            }
            if by == ReductionOperation::Known(Binary::Add)
                && let Some(multiple) = self.sum_of_equals(instruction, operands[0], value)
            {
                value.steps = vec![at_once];
                return vec![multiple];
            }
            if let (Some(form), ReductionOperation::Known(Binary::Add), (ExpressionHead::Binary(Binary::Multiply), _)) =
                (&mut value.form, by, self.expressions.get(self.expressions.without_sign(operands[0])))
                && !self.is_scaled_sum(instruction.operands[0])
            {
                *form = RoundingForm::MultiplyAndReduce;
                value.products = Some(self.values[instruction.operands[0]].effective);
            }
            value.steps = vec![at_once];
            let (negated, part) = self.expressions.split_sign(operands[0]);
            if let (ExpressionHead::Reduce { by: inner, .. }, &[x]) = self.expressions.get(part)
                && *inner == by
                && (!negated || by == ReductionOperation::Known(Binary::Add))
            {
                let step = &self.values[instruction.operands[0]];
                value.steps = [&step.steps[..], &[at_once]].concat();
                value.products = step.products;
                if let (Some(form), Some(_)) = (&mut value.form, step.products) {
                    *form = RoundingForm::MultiplyAndReduce;
                }
                self.expressions.absorb(operands[0]);
                let whole = self.expressions.apply(head, vec![x]);
                return vec![if negated { self.expressions.negate(whole) } else { whole }];
            }
            return vec![self.expressions.apply(head, vec![operands[0]])];
        }
        let largest = match self.analysis.regions.reducer_but_for_rounding(region) {
            Some(Reducer::ArgMax | Reducer::GreaterKeep) => true,
            Some(Reducer::ArgMin) => false,
            _ => {
                let by = self.region_results(region);
                let operands = [&operands[..arrays], &by[..]].concat();
                let part = |i| ExpressionHead::Other(format!("reduce {i} of {results}"));
                return (0..arrays).map(|i| self.expressions.apply(part(i), operands.clone())).collect();
            }
        };
        let by = ReductionOperation::Known(if largest { Binary::Maximum } else { Binary::Minimum });
        let extreme = self.expressions.apply(ExpressionHead::Reduce { by, results }, vec![operands[0]]);
        let index = self.expressions.apply(ExpressionHead::Index { largest, results }, vec![operands[0]]);
        vec![extreme, index]
    }

    /// Whether a reduction or scan of one array does not start at nothing: a sum from one is no sum of the elements.
    pub fn starts_elsewhere(&self, instruction: &Instruction, by: ReductionOperation) -> bool {
        let start = instruction.operands.get(1).map(|start| &self.values[*start]);
        start.and_then(|start| start.scalar.filter(|_| start.float)).is_some_and(|start| !is_neutral(by, start))
    }

    /// A running reduction, one of blocks, or one of the elements that a window shows. What is padded before with the number that
    /// the reduction starts at is the window's own padding.
    pub fn reduce_window(
        &mut self,
        instruction: &Instruction,
        window: &Window,
        region: ComputationId,
        operands: &[ExpressionId],
        value: &mut Value,
    ) -> Vec<ExpressionId> {
        let over = self.computation.instructions[instruction.operands[0]].shape.dims();
        if let Some(along) = roles::scan_along(window, over) {
            value.steps = vec![over[along]];
            value.form = Some(RoundingForm::Scan).filter(|_| value.float);
            let rows = over.iter().product::<usize>() / over[along].max(1);
            let by = self.combiner(region);
            let taken = if self.starts_elsewhere(instruction, by) { 2 } else { 1 };
            return vec![self.expressions.apply(ExpressionHead::Scan { by, rows }, operands[..taken].to_vec())];
        }
        if let Some(block) = roles::block(window) {
            return self.reduce(instruction, region, block, operands, value);
        }
        let by = self.combiner(region);
        let (mut window, mut operands) = (window.clone(), operands.to_vec());
        if let Some((padded, of)) = self.padded(instruction, &window) {
            (window, operands[0]) = (padded, self.values[of].with_sign());
        }
        vec![self.expressions.apply(ExpressionHead::Window { window: window.to_string(), by }, operands)]
    }

    /// The window over an array before it was padded, and that array.
    fn padded(&self, instruction: &Instruction, window: &Window) -> Option<(Window, ValueId)> {
        let &[array, start] = &instruction.operands[..] else { return None };
        let pad = &self.computation.instructions[array];
        let (Op::Pad { low, high, interior }, &[of, fill]) = (&pad.op, &pad.operands[..]) else { return None };
        let start = self.values[start].scalar?;
        // What a pad takes away is gone, whatever the window puts there.
        let cuts = low.iter().chain(high).any(|count| *count < 0);
        if self.values[fill].scalar? != start || cuts || window.0.iter().any(|dim| dim.base_dilation != 1) {
            return None;
        }
        let dims = window.0.iter().enumerate().map(|(d, dim)| WindowDim {
            pad_low: dim.pad_low + low[d],
            pad_high: dim.pad_high + high[d],
            base_dilation: interior[d] + 1,
            ..*dim
        });
        Some((Window(dims.collect()), of))
    }

    /// A loop. What its body hands on as it came is what went in, wherever it is read.
    pub fn repeat(
        &mut self,
        instruction: &Instruction,
        [condition, body]: [ComputationId; 2],
        operands: &[ExpressionId],
    ) -> Vec<ExpressionId> {
        let carried = |part| carries(&self.analysis.program.computations[body], part);
        let (handed_on, changed): (Vec<usize>, Vec<usize>) = (0..operands.len()).partition(|part| carried(*part));
        let mut arguments = operands.to_vec();
        for part in handed_on {
            let value = &self.values[instruction.operands[part]];
            arguments[part] = match value.scalar {
                Some(number) => self.expressions.constant(number),
                None => self.expressions.round_to(value.effective, operands[part]),
            };
        }
        let mut carried: Vec<Carried> = changed.iter().map(|part| self.carried(instruction.operands[*part])).collect();
        loop {
            let arrays = || (0..changed.len()).filter(|at| carried[*at] != Carried::Count);
            let mut numbers = 0..;
            for (part, kind) in changed.iter().zip(&carried) {
                arguments[*part] = match kind {
                    Carried::Count => self.integers,
                    Carried::Array(format) => {
                        let argument =
                            self.expressions.leaf(ExpressionHead::Argument(numbers.next().unwrap_or_default()));
                        self.expressions.round_to(*format, argument)
                    }
                };
            }
            let results = self.region_with(body, Some(arguments.clone()), false);
            let found = changed.iter().zip(&carried).map(|(part, kind)| {
                let starts_in = self.values[instruction.operands[*part]].effective;
                match (kind, self.expressions.get(results[*part]).0) {
                    (Carried::Count, _) if results[*part] != self.integers => Carried::Array(Precision::UNLIMITED),
                    (Carried::Array(_), ExpressionHead::Rounded(to)) if starts_in.within(*to) => Carried::Array(*to),
                    (kind, _) => *kind,
                }
            });
            let found: Vec<Carried> = found.collect();
            if found != carried {
                carried = found;
                continue;
            }
            let goes_on = self.region_with(condition, Some(arguments.clone()), true);
            let given = |at: usize| match (carried[at], self.expressions.get(results[changed[at]])) {
                (Carried::Array(format), (ExpressionHead::Rounded(to), &[of])) if *to == format => of,
                _ => results[changed[at]],
            };
            let starts = arrays().map(|at| operands[changed[at]]);
            let made_of = starts.chain(goes_on).chain(arrays().map(given)).collect::<Vec<_>>();
            let mut parts = operands.to_vec();
            for (number, at) in arrays().enumerate() {
                parts[changed[at]] = self.expressions.apply(ExpressionHead::Loop(number), made_of.clone());
            }
            return parts;
        }
    }

    /// Form in which a loop carries a value with this start, before its body is known.
    fn carried(&self, start: ValueId) -> Carried {
        let value = &self.values[start];
        let dtype = self.computation.instructions[start].shape.dtype();
        if !value.float && value.with_sign() == self.integers {
            return Carried::Count;
        }
        Carried::Array(dtype.and_then(Precision::of_dtype).unwrap_or(Precision::UNLIMITED))
    }

    pub fn sort(
        &mut self,
        region: usize,
        instruction: &Instruction,
        operands: &[ExpressionId],
        value: &mut Value,
    ) -> Vec<ExpressionId> {
        let Some(found) = self.analysis.regions.comparator_but_for_rounding(region) else {
            let by = self.region_results(region);
            let operands = [operands, &by[..]].concat();
            let part = |i| ExpressionHead::Other(format!("sort {i}"));
            let count = instruction.operands.len();
            return (0..count).map(|i| self.expressions.apply(part(i), operands.clone())).collect();
        };
        // Candidates that are sorted are the top of what they were taken of, as far as they were not lost.
        value.selection = Some(TopKSelection::Exact);
        if let Some(taken) = self.values[instruction.operands[found.key]].selection
            && matches!(self.expressions.get(operands[found.key]).0, ExpressionHead::Candidates)
        {
            value.selection = Some(taken);
        }
        let operands: Vec<ExpressionId> = operands
            .iter()
            .map(|o| match self.expressions.get(*o) {
                (ExpressionHead::Candidates, [_, of]) => *of,
                _ => *o,
            })
            .collect();
        let head = ExpressionHead::Sorted { descending: found.descending };
        let key = operands[found.key];
        operands.iter().map(|carried| self.expressions.apply(head.clone(), vec![key, *carried])).collect()
    }

    /// The first `k` of each row, or all, and where they stood.
    pub fn top_k(&mut self, key: ExpressionId, k: Option<usize>, largest: bool) -> Vec<ExpressionId> {
        let parts = [key, self.integers].map(|carried| {
            let sorted = self.expressions.apply(ExpressionHead::Sorted { descending: largest }, vec![key, carried]);
            k.map_or(sorted, |k| self.expressions.apply(ExpressionHead::Slice(vec![(0, k, 1)]), vec![sorted]))
        });
        parts.to_vec()
    }

    /// The sorted value of which this result of a top-k, its values or its indices, is the first `k`. A shorter prefix
    /// of the result is a prefix of the same sorted value.
    pub fn order_of(&self, id: ValueId) -> Option<ExpressionId> {
        let element = &self.computation.instructions[id];
        let Op::GetTupleElement(_) = element.op else { return None };
        let Op::TopK { .. } = self.computation.instructions[element.operands[0]].op else { return None };
        match self.expressions.get(self.values[id].with_sign()) {
            (ExpressionHead::Slice(_), &[sorted]) => Some(sorted),
            _ => None,
        }
    }

    /// Operands: values, indices, and what an empty bin gets.
    pub fn candidates(&mut self, operands: &[ExpressionId]) -> Vec<ExpressionId> {
        let by = operands[0];
        operands.iter().take(2).map(|o| self.expressions.apply(ExpressionHead::Candidates, vec![by, *o])).collect()
    }

    pub fn combiner(&mut self, region: usize) -> ReductionOperation {
        match self.analysis.regions.reducer_but_for_rounding(region) {
            Some(Reducer::Binary(binary)) => ReductionOperation::Known(binary),
            _ => ReductionOperation::Region(self.region_results(region).first().copied().unwrap_or(self.integers)),
        }
    }

    /// The expressions of a region's results over its arguments.
    fn region_results(&mut self, id: ComputationId) -> Vec<ExpressionId> {
        if let Some(known) = self.regions.get(&id) {
            return known.clone();
        }
        let known = self.region_with(id, None, true);
        self.regions.insert(id, known.clone());
        known
    }

    /// The same of a loop's, where its parameters stand for these expressions.
    fn region_with(
        &mut self,
        id: ComputationId,
        arguments: Option<Vec<ExpressionId>>,
        counts: bool,
    ) -> Vec<ExpressionId> {
        let mut builder = GraphBuilder::region(self.analysis, id, arguments, self.habits, self.expressions);
        builder.counts = counts;
        let values = builder.values(&mut |_, _, _| None);
        values[self.analysis.program.computations[id].root].expressions.clone()
    }
}

/// Form in which a loop carries a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carried {
    /// As integers that no float has part in.
    Count,
    /// As something else, in this format.
    Array(Precision),
}

/// Whether the body of a loop gives a value of its state as it takes it.
pub fn carries(body: &Computation, part: usize) -> bool {
    let mut at = match body.instructions[body.root] {
        Instruction { op: Op::Tuple, ref operands, .. } => operands[part],
        _ => body.root,
    };
    while body.instructions[at].op == Op::Copy {
        at = body.instructions[at].operands[0];
    }
    body.instructions[at].op == Op::Parameter(part)
}

/// Whether a reduction that starts at this number is one of its elements alone.
fn is_neutral(by: ReductionOperation, start: f64) -> bool {
    match by {
        ReductionOperation::Known(Binary::Add) => start == 0.0,
        ReductionOperation::Known(Binary::Multiply) => start == 1.0,
        ReductionOperation::Known(Binary::Maximum) => start == f64::NEG_INFINITY,
        ReductionOperation::Known(Binary::Minimum) => start == f64::INFINITY,
        ReductionOperation::Known(_) | ReductionOperation::Region(_) => true,
    }
}
