//! A program as a graph of what it computes.

use std::collections::HashMap;

use crate::hlo::Import;
use crate::ir::{Binary, Computation, Instruction, Op, Program, Reducer, ValueId, approx, comparator, reducer};
use crate::num::{Direction, round_f64};
use crate::tensor::{DType, Tensor};

use super::expression::{Combiner, ExpressionId, Expressions, Head};
use super::rule::{self, Role};
use super::width::Width;

/// What a comparison needs of one value of the entry.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub role: Role,
    /// One an array.
    pub expressions: Vec<ExpressionId>,
    /// Whether a result depends on it.
    pub live: bool,
    pub float: bool,
    /// Whether it only picks among the elements it reads.
    pub picks: bool,
    /// The bits that it can have.
    pub effective: Width,
    /// The bits that its type holds, or that a `reduce-precision` leaves.
    pub holds: Width,
    /// The steps in which a sum or scan is taken: elements a step.
    pub steps: Vec<usize>,
    /// The width of a sum.
    pub accumulation: Option<Width>,
    /// How a top-k or sort selects.
    pub selection: Option<String>,
    /// [`rule::form`].
    pub form: Option<String>,
    /// The one number that all its elements are, where that is known without running the program.
    pub scalar: Option<f64>,
}

impl Value {
    /// The expression of an array.
    pub fn expression(&self) -> ExpressionId {
        self.expressions[0]
    }

    /// Whether it is a value of its own and not one that was moved.
    pub fn is_made(&self) -> bool {
        matches!(self.role, Role::Computes | Role::Leaf) && self.scalar.is_none()
    }
}

/// A program with what each value of its entry computes.
pub(super) struct Graph<'a> {
    pub import: &'a Import,
    pub values: Vec<Value>,
}

impl<'a> Graph<'a> {
    pub fn new(import: &'a Import, expressions: &mut Expressions) -> Graph<'a> {
        let entry = import.program.entry();
        let mut live = vec![false; entry.instructions.len()];
        live[entry.root] = true;
        for (id, instruction) in entry.instructions.iter().enumerate().rev() {
            if live[id] {
                instruction.operands.iter().for_each(|o| live[*o] = true);
            }
        }
        let mut values = Builder::new(&import.program, entry, expressions).values();
        values.iter_mut().zip(live).for_each(|(value, live)| value.live = live);
        Graph { import, values }
    }

    pub fn entry(&self) -> &'a Computation {
        self.import.program.entry()
    }

    /// The instruction that a value is known by: an element of a tuple goes by the tuple's name.
    fn known_by(&self, id: ValueId) -> ValueId {
        let instruction = &self.entry().instructions[id];
        match instruction.op {
            Op::GetTupleElement(_) => instruction.operands[0],
            _ => id,
        }
    }

    pub fn name(&self, id: ValueId) -> &'a str {
        &self.entry().instructions[self.known_by(id)].name
    }

    pub fn op_name(&self, id: ValueId) -> Option<&'a str> {
        self.import.origins.get(self.known_by(id)).and_then(|o| o.op_name.as_deref())
    }

    /// The JAX primitive that a value comes from, as far as its metadata or name say.
    pub fn base_name(&self, id: ValueId) -> &'a str {
        if let Some(op_name) = self.op_name(id) {
            return op_name.rsplit('/').next().unwrap_or(op_name);
        }
        let name = self.name(id).rsplit('/').next().unwrap_or_default();
        name.split('.').next().unwrap_or(name)
    }

    /// Which operands an element of a tuple is made of: an index does not depend on what is carried beside it.
    pub fn feeds(&self, group: ValueId, slot: usize, element: usize) -> bool {
        let instruction = &self.entry().instructions[group];
        match &instruction.op {
            Op::Sort { .. } => slot == element || self.sort_key(instruction) == Some(slot),
            Op::Reduce { .. } => slot == 0 || slot == element,
            _ => true,
        }
    }

    fn sort_key(&self, instruction: &Instruction) -> Option<usize> {
        let region = instruction.op.callees().next()?;
        comparator(&self.import.program.computations[region]).map(|c| c.key)
    }
}

struct Builder<'p, 'e> {
    program: &'p Program,
    computation: &'p Computation,
    expressions: &'e mut Expressions,
    values: Vec<Value>,
    regions: HashMap<usize, Vec<ExpressionId>>,
    /// Expression of all integers that no float has part in.
    integers: ExpressionId,
}

impl<'p, 'e> Builder<'p, 'e> {
    fn new(program: &'p Program, computation: &'p Computation, expressions: &'e mut Expressions) -> Self {
        let integers = expressions.leaf(Head::Integers);
        Builder { program, computation, expressions, values: Vec::new(), regions: HashMap::new(), integers }
    }

    fn values(mut self) -> Vec<Value> {
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
        let holds = match instruction.op {
            Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                Width { exponent_bits, fraction_bits: mantissa_bits }.meet(Width::of(dtype))
            }
            _ => Width::of(dtype),
        };
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
            accumulation: rule::accumulation(&instruction.op, computations).filter(|_| float),
            selection: first.and_then(|v| v.selection.clone()).filter(|_| selects_on(&instruction.op)),
            form: rule::form(&instruction.op, divisor, narrow_operands).filter(|_| float && role == Role::Computes),
            scalar: self.scalar(instruction, &moved),
        };
        value.expressions = self.express(instruction, &mut value);
        value.effective = self.natural(instruction, &value).meet(holds);
        value
    }

    /// The number that every element is: a constant's, or what comes of constants alone.
    fn scalar(&self, instruction: &Instruction, moved: &[&Value]) -> Option<f64> {
        let operand = |slot: usize| self.values[*instruction.operands.get(slot)?].scalar;
        let value = match &instruction.op {
            Op::Constant(tensor) => return splat(tensor),
            Op::Convert | Op::Broadcast { .. } | Op::Reshape | Op::Copy => operand(0)?,
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

    /// The expressions of an instruction's arrays; adds what only they tell.
    fn express(&mut self, instruction: &'p Instruction, value: &mut Value) -> Vec<ExpressionId> {
        let operands: Vec<ExpressionId> =
            instruction.operands.iter().filter_map(|o| self.values[*o].expressions.first().copied()).collect();
        if let Op::GetTupleElement(index) = instruction.op {
            let group = &self.values[instruction.operands[0]];
            value.selection = group.selection.clone();
            value.accumulation = group.accumulation.filter(|_| value.float);
            return vec![group.expressions.get(index).copied().unwrap_or(self.integers)];
        }
        let in_region = !std::ptr::eq(self.computation, self.program.entry());
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
                    Head::Scan { by: self.combiner(*to_apply), rows }
                } else if let Some(block) = rule::block(window) {
                    return self.reduce(instruction, *to_apply, block, &operands, value);
                } else {
                    let by = self.combiner(*to_apply);
                    Head::Other(format!("reduce-window {window:?} {by:?}"))
                }
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
                return vec![self.expressions.apply(Head::Gather { elements }, vec![operands[0]])];
            }
            Op::Tuple => return self.all(instruction),
            Op::While { body, .. } => {
                let body = self.region(*body);
                let parts = (0..instruction.operands.len()).map(|i| {
                    let operands = [&operands[..], &body[..]].concat();
                    self.expressions.apply(Head::Other(format!("while {i}")), operands)
                });
                return parts.collect();
            }
            other => Head::Other(other.opcode().to_string()),
        };
        let id = self.expressions.apply(head, operands);
        vec![id]
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
            // A reduction of one element moves it.
            if at_once == 1 {
                value.role = Role::Moves { from: 0, to: 1 };
                value.accumulation = None;
                value.form = None;
                value.steps = self.values[instruction.operands[0]].steps.clone();
                return vec![operands[0]];
            }
            let by = self.combiner(region);
            let head = Head::Reduce { by, results };
            if let (Some(form), (Head::Binary(Binary::Multiply), _)) =
                (&mut value.form, self.expressions.get(operands[0]))
            {
                *form = "multiply and reduce".to_string();
            }
            value.steps = vec![at_once];
            if let (Head::Reduce { by: inner, .. }, [x]) = self.expressions.get(operands[0])
                && *inner == by
            {
                let x = *x;
                value.steps = [&self.values[instruction.operands[0]].steps[..], &[at_once]].concat();
                return vec![self.expressions.apply(head, vec![x])];
            }
            return vec![self.expressions.apply(head, vec![operands[0]])];
        }
        let largest = match reducer(&self.program.computations[region]) {
            Some(Reducer::ArgMax | Reducer::GreaterKeep) => true,
            Some(Reducer::ArgMin) => false,
            _ => {
                let by = self.region(region);
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

    fn sort(
        &mut self,
        region: usize,
        instruction: &Instruction,
        operands: &[ExpressionId],
        value: &mut Value,
    ) -> Vec<ExpressionId> {
        let Some(found) = comparator(&self.program.computations[region]) else {
            let by = self.region(region);
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
        match crate::ir::reducer_but_for_rounding(&self.program.computations[region]) {
            Some(Reducer::Binary(binary)) => Combiner::Known(binary),
            _ => Combiner::Region(self.region(region).first().copied().unwrap_or(self.integers)),
        }
    }

    /// The expressions of a region's results over its arguments.
    fn region(&mut self, id: usize) -> Vec<ExpressionId> {
        if let Some(known) = self.regions.get(&id) {
            return known.clone();
        }
        let region = &self.program.computations[id];
        let values = Builder::new(self.program, region, self.expressions).values();
        let known = values[region.root].expressions.clone();
        self.regions.insert(id, known.clone());
        known
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

fn approximate(recall: f32, bins: usize, n: usize) -> String {
    match bins >= n {
        true => "exact".to_string(),
        false => format!("approximate, recall {recall}, {bins} bins"),
    }
}

/// The one value of an array of constants.
fn splat(tensor: &Tensor) -> Option<f64> {
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

/// FNV-1a over the elements, each rounded to bf16.
fn fingerprint(tensor: &Tensor) -> u64 {
    let data = tensor.data();
    let element = |i| match data.dtype().is_float() {
        true => round_f64(&crate::num::BF16, data.get_f64(i), Direction::NearestEven).to_bits(),
        false => data.get_i64(i) as u64,
    };
    (0..tensor.len()).fold(0xcbf2_9ce4_8422_2325, |hash, i| (hash ^ element(i)).wrapping_mul(0x100_0000_01b3))
}
