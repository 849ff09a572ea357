//! One pass over a program in one arithmetic.

use std::cmp::Ordering;

use crate::ir::{
    Compare, CompareOrder, Computation, Instruction, Op, PlainMatmul, Program, Shape, TRIP_BOUND, Unary, movement,
    plain_matmul,
};
use crate::tensor::{DType, Tensor};

use super::arithmetic::{Arithmetic, Wanted};
use super::column::Mover;
use super::demand::Truth;
use super::elements::{Comparison, FloatArray, Value, World};
use super::integer;
use super::order::Classes;
use super::plan::{Need, Plan, Sums};

/// Why a program has no truth.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OracleError {
    #[error("argument {number} is {given}, but the program takes {expected}")]
    Argument { number: usize, given: String, expected: String },
    #[error("{name}: {opcode} has no meaning over the real numbers here: {why}")]
    NoMeaning { name: String, opcode: &'static str, why: &'static str },
}

/// The state of one pass.
pub(super) struct Pass<'a, A: Arithmetic> {
    pub world: World<A>,
    pub program: &'a Program,
    plan: &'a Plan,
    /// Enclosures of reductions, for a pass that comes after.
    sums: Sums,
}

/// Evaluates what `plan` asks for, as far as the arithmetic goes; also returns the sums that it has found.
pub(super) fn run<A: Arithmetic>(
    arithmetic: A,
    program: &Program,
    arguments: &[Tensor],
    plan: &Plan,
) -> Result<(Truth, Sums), OracleError> {
    let entry = program.entry();
    let world = World { arithmetic, classes: Classes::default() };
    let mut pass = Pass { world, program, plan, sums: Sums::default() };
    let values = pass.computation(entry, &Arguments::Tensors(arguments), Some(&plan.needs))?;
    let outputs = program.outputs();
    let results: Vec<Option<&Value<A>>> = outputs.iter().map(|o| values[*o].as_ref()).collect();
    let shapes: Vec<&Shape> = outputs.iter().map(|o| &entry.instructions[*o].shape).collect();
    let truth = pass.answer(&results, &shapes, &plan.demands);
    Ok((truth, pass.sums))
}

/// # Errors
/// If arguments do not fit the program's parameters.
pub(super) fn check_arguments(program: &Program, arguments: &[Tensor]) -> Result<(), OracleError> {
    for (number, shape) in program.entry().parameter_shapes().into_iter().enumerate() {
        let given = arguments.get(number).map(|t| Shape::array(t.dtype(), t.dims()));
        if given.as_ref() != Some(shape) {
            let given = given.map_or("missing".to_string(), |s| s.to_string());
            return Err(OracleError::Argument { number, given, expected: shape.to_string() });
        }
    }
    Ok(())
}

/// What a computation is applied to.
pub(super) enum Arguments<'a, A: Arithmetic> {
    Tensors(&'a [Tensor]),
    Values(&'a [Value<A>]),
}

impl<A: Arithmetic> Pass<'_, A> {
    /// The values of a computation's instructions; those that nothing needs are left out, and so are those whose last user
    /// is past.
    pub fn computation(
        &mut self,
        computation: &Computation,
        arguments: &Arguments<A>,
        needs: Option<&[Need]>,
    ) -> Result<Vec<Option<Value<A>>>, OracleError> {
        let mut uses: Vec<usize> = computation.users().iter().map(Vec::len).collect();
        let root = &computation.instructions[computation.root];
        uses[computation.root] += 1;
        if root.op == Op::Tuple {
            root.operands.iter().for_each(|o| uses[*o] += 1);
        }
        let matmuls: Vec<Option<PlainMatmul>> = match arguments {
            Arguments::Tensors(_) => (0..uses.len()).map(|id| plain_matmul(computation, id)).collect(),
            Arguments::Values(_) => vec![None; uses.len()],
        };
        // Matmuls read tensors where they lie: no copy is made for them.
        for matmul in matmuls.iter().flatten() {
            matmul.operands.iter().for_each(|o| uses[*o] -= 1);
        }
        let mut values: Vec<Option<Value<A>>> = Vec::with_capacity(computation.instructions.len());
        for (id, instruction) in computation.instructions.iter().enumerate() {
            // The entry's tuple only lists results.
            let listing = needs.is_some() && id == computation.root && instruction.op == Op::Tuple;
            if listing || uses[id] == 0 || needs.is_some_and(|n| n[id] == Need::Nothing) {
                values.push(None);
                continue;
            }
            if let Some(known) = self.plan.sums.get(&id).filter(|_| needs.is_some()) {
                let numbers: Option<Vec<A::Number>> =
                    known.iter().map(|pair| self.world.arithmetic.enclose_pair(*pair)).collect();
                if let Some(numbers) = numbers {
                    values.push(Some(Value::Float(self.world.fresh_all(numbers))));
                    continue;
                }
            }
            let wanted = match needs.map(|n| &n[id]) {
                Some(Need::Some(wanted)) => Some(wanted.as_slice()),
                _ => None,
            };
            if let (Some(matmul), Arguments::Tensors(tensors)) = (&matmuls[id], arguments) {
                let [lhs, rhs] = matmul.parameters.map(|number| &tensors[number]);
                values.push(Some(self.dot_of_tensors(lhs, rhs, matmul.sizes)));
                continue;
            }
            let value = match (&instruction.op, arguments) {
                (Op::Parameter(number), Arguments::Tensors(tensors)) => self.tensor_value(&tensors[*number]),
                (Op::Parameter(number), Arguments::Values(given)) => given[*number].clone(),
                _ => {
                    let operands: Vec<Value<A>> =
                        instruction.operands.iter().filter_map(|o| values[*o].clone()).collect();
                    let shapes: Vec<&Shape> =
                        instruction.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
                    self.instruction(instruction, &operands, &shapes, wanted)?
                }
            };
            if needs.is_some() && matches!(instruction.op, Op::Reduce { .. }) {
                self.keep_sum(id, &value);
            }
            values.push(Some(value));
            for operand in &instruction.operands {
                uses[*operand] -= 1;
                if uses[*operand] == 0 {
                    values[*operand] = None;
                }
            }
        }
        Ok(values)
    }

    /// Keeps the enclosures of a reduction for the next pass, if it can use them.
    fn keep_sum(&mut self, id: usize, value: &Value<A>) {
        if let Value::Float(array) = value {
            let pairs = (0..array.len).map(|at| self.world.arithmetic.as_pair(&self.world.number(array, at)));
            if let Some(pairs) = pairs.collect() {
                self.sums.insert(id, pairs);
            }
        }
    }

    /// The result of a called computation.
    pub fn call(&mut self, callee: usize, arguments: &[Value<A>]) -> Result<Value<A>, OracleError> {
        let computation = &self.program.computations[callee];
        let values = self.computation(computation, &Arguments::Values(arguments), None)?;
        let root = values.into_iter().nth(computation.root).flatten();
        Ok(root.unwrap_or_else(|| Value::Tuple(Vec::new())))
    }

    fn tensor_value(&self, tensor: &Tensor) -> Value<A> {
        if tensor.dtype().is_float() {
            Value::Float(self.world.exacts(tensor.data().to_f64s()))
        } else {
            Value::integer(tensor.data().to_i64s().into_iter().map(Some).collect())
        }
    }

    fn instruction(
        &mut self,
        instruction: &Instruction,
        operands: &[Value<A>],
        shapes: &[&Shape],
        wanted: Wanted,
    ) -> Result<Value<A>, OracleError> {
        let dtype = instruction.shape.dtype().unwrap_or(DType::Pred);
        let dims = instruction.shape.dims();
        let refuse =
            |why| OracleError::NoMeaning { name: instruction.name.clone(), opcode: instruction.op.opcode(), why };
        if movement::is_movement(&instruction.op) {
            return self.movement(instruction, operands, shapes).ok_or_else(|| refuse("a start index is undecided"));
        }
        Ok(match &instruction.op {
            Op::Constant(value) => self.tensor_value(value),
            Op::Iota { dim } => {
                let (size, stride) = (dims[*dim], dims[*dim + 1..].iter().product::<usize>());
                let values = (0..instruction.shape.elements()).map(|at| (at / stride % size) as i64).collect();
                self.integer_value(dtype, values)
            }
            Op::Convert => self.convert(&operands[0], shapes[0].dtype().unwrap_or(dtype), dtype),
            // Over the real numbers nothing is rounded.
            Op::ReducePrecision { .. } => operands[0].clone(),
            Op::BitcastConvert => {
                let from = shapes[0].dtype().unwrap_or(dtype);
                self.bitcast(&operands[0], from, dtype).ok_or_else(|| refuse("the operand is not exactly known"))?
            }
            Op::Unary(Unary::IsFinite) => Value::integer(self.is_finite(operands[0].floats())),
            Op::Unary(unary) if dtype.is_float() => {
                Value::Float(self.world.unary_all(*unary, operands[0].floats(), wanted))
            }
            Op::Unary(unary) => {
                let apply = |x: &Option<i64>| x.map(|v| integer::wrap(dtype, integer::unary(*unary, v, dtype)));
                Value::integer(operands[0].integers().iter().map(apply).collect())
            }
            Op::Binary(binary) if dtype.is_float() => {
                let left_is_parameter = self.is_spread(instruction, 0) && !self.is_spread(instruction, 1);
                let (x, y) = (operands[0].floats(), operands[1].floats());
                Value::Float(self.world.binary_all(*binary, x, y, left_is_parameter, wanted))
            }
            Op::Binary(binary) => {
                let pairs = operands[0].integers().iter().zip(operands[1].integers());
                let apply = |(x, y): (&Option<i64>, &Option<i64>)| integer::binary(*binary, *x, *y, dtype);
                Value::integer(pairs.map(apply).collect())
            }
            Op::Compare { direction, order } => {
                Value::integer(self.compare(*direction, *order, &operands[0], &operands[1]))
            }
            Op::Select => self.select(&operands[0], &operands[1], &operands[2]),
            Op::Clamp => self.clamp(operands),
            Op::Reduce { dims: reduced, to_apply } => self.reduce(reduced, *to_apply, operands, shapes)?,
            Op::ReduceWindow { window, to_apply } => {
                self.reduce_window(window, *to_apply, operands, shapes[0], dims)?
            }
            Op::Sort { dim, to_apply, .. } => self.sort(*dim, *to_apply, operands, shapes)?,
            Op::TopK { k, largest } => self.top_k(*k, *largest, &operands[0], shapes[0].dims()),
            Op::ApproxTopK(_) | Op::PartialReduce(_) => self.exact_top(operands, shapes, &instruction.shape),
            Op::Dot { dims: numbers, .. } => self.dot(numbers, operands, shapes),
            Op::Tuple => Value::Tuple(operands.to_vec()),
            Op::GetTupleElement(index) => match &operands[0] {
                Value::Tuple(parts) => parts[*index].clone(),
                other => other.clone(),
            },
            Op::Call { to_apply } => self.call(*to_apply, operands)?,
            Op::While { condition, body } => {
                let mut state = operands.to_vec();
                for trip in 0.. {
                    match self.call(*condition, &state)?.integers().first() {
                        Some(Some(0)) => break,
                        Some(Some(_)) if trip < TRIP_BOUND => {}
                        Some(Some(_)) => return Err(refuse("the loop does not end within the trip bound")),
                        _ => return Err(refuse("whether the loop goes on is undecided")),
                    }
                    state = match self.call(*body, &state)? {
                        Value::Tuple(parts) => parts,
                        single => vec![single],
                    };
                }
                Value::Tuple(state)
            }
            _ => return Err(refuse("the operation is not known")),
        })
    }

    /// Whether an operand is one value spread over many: the parameter of a family of functions rather than a variable.
    fn is_spread(&self, instruction: &Instruction, operand: usize) -> bool {
        let entry = self.program.entry();
        let producer = instruction.operands.get(operand).and_then(|o| entry.instructions.get(*o));
        producer.is_some_and(|p| matches!(p.op, Op::Broadcast { .. } | Op::Constant(_)))
    }

    fn is_finite(&self, x: &FloatArray<A>) -> Vec<Option<i64>> {
        let finite = |at| {
            let number = self.world.number(x, at);
            let (lo, hi) = self.world.arithmetic.bounds(&number);
            match self.world.arithmetic.as_exact(&number) {
                Some(v) => Some(i64::from(v.is_finite())),
                // An inexact enclosure holds a real number, unless nothing is known of it.
                None => (lo != f64::NEG_INFINITY || hi != f64::INFINITY).then_some(1),
            }
        };
        (0..x.len).map(finite).collect()
    }

    fn movement(&mut self, instruction: &Instruction, operands: &[Value<A>], shapes: &[&Shape]) -> Option<Value<A>> {
        let op = &instruction.op;
        if let (Op::Copy | Op::OptimizationBarrier, Some(value)) = (op, operands.first()) {
            return Some(value.clone());
        }
        let (operands, starts) = operands.split_at(op.first_start().unwrap_or(operands.len()));
        let starts: Vec<i64> = starts.iter().flat_map(|o| o.integers().iter().copied()).collect::<Option<_>>()?;
        let starts_dims = if matches!(op, Op::Gather(_)) { shapes[1].dims() } else { &[] };
        let out_dims = instruction.shape.dims();
        let dims: Vec<&[usize]> = shapes[..operands.len()].iter().map(|s| s.dims()).collect();
        if instruction.shape.dtype().is_some_and(DType::is_float) {
            let arrays: Vec<&FloatArray<A>> = operands.iter().map(Value::floats).collect();
            let mover = Mover { op, dims, starts: &starts, starts_dims, out_dims };
            self.world.moved(&arrays, &mover).map(Value::Float)
        } else {
            let parts: Vec<_> = operands.iter().zip(dims).map(|(o, d)| (o.integers(), d)).collect();
            movement::apply(op, &parts, &starts, starts_dims, out_dims).map(Value::integer)
        }
    }

    fn integer_value(&self, dtype: DType, values: Vec<i64>) -> Value<A> {
        if dtype.is_float() {
            Value::Float(self.world.exacts(values.into_iter().map(|v| v as f64).collect()))
        } else {
            Value::integer(integer::wrap_all(dtype, values).into_iter().map(Some).collect())
        }
    }

    /// Between float types nothing changes; to an integer the real value is truncated, as HLO's convert does.
    fn convert(&mut self, operand: &Value<A>, from: DType, to: DType) -> Value<A> {
        match (from.is_float(), to.is_float()) {
            (true, true) => operand.clone(),
            (false, true) => {
                let number = |v: &Option<i64>| match v {
                    Some(v) => self.world.exact(*v as f64),
                    None => self.world.unknown(),
                };
                let elements = operand.integers().iter().map(number).collect();
                Value::Float(self.world.collect(elements))
            }
            (false, false) => {
                Value::integer(operand.integers().iter().map(|v| v.map(|v| integer::wrap(to, v))).collect())
            }
            (true, false) => {
                let zero = self.world.arithmetic.exact(0.0);
                let array = operand.floats();
                let truncated = |at| {
                    let number = self.world.number(array, at);
                    if to == DType::Pred {
                        let ordering = self.world.arithmetic.compare(&number, &zero);
                        return ordering.map(|o| i64::from(o != Ordering::Equal));
                    }
                    let (lo, hi) = self.world.arithmetic.bounds(&number);
                    // `as` truncates, saturates and takes NaN to 0, as XLA does.
                    let (low, high) = (integer::saturate(to, lo), integer::saturate(to, hi));
                    (low == high).then_some(low)
                };
                Value::integer((0..array.len).map(truncated).collect())
            }
        }
    }

    fn bitcast(&self, operand: &Value<A>, from: DType, to: DType) -> Option<Value<A>> {
        let bits: Vec<u64> = match (from.format(), operand) {
            (Some(format), Value::Float(array)) => {
                let exact = |at| {
                    let value = self.world.arithmetic.as_exact(&self.world.number(array, at));
                    Some(format.encode(value.filter(|v| format.contains(*v))?))
                };
                (0..array.len).map(exact).collect::<Option<_>>()?
            }
            _ => operand.integers().iter().map(|v| v.map(|v| v as u64)).collect::<Option<_>>()?,
        };
        Some(match to.format() {
            Some(format) => Value::Float(self.world.exacts(bits.into_iter().map(|b| format.decode(b)).collect())),
            None => Value::integer(bits.into_iter().map(|b| Some(integer::wrap(to, b as i64))).collect()),
        })
    }

    fn compare(&mut self, direction: Compare, order: CompareOrder, x: &Value<A>, y: &Value<A>) -> Vec<Option<i64>> {
        if let (Value::Integer(x), Value::Integer(y)) = (x, y) {
            let pairs = x.iter().zip(y.iter());
            return pairs.map(|(x, y)| Some(i64::from(direction.of(Some((*x)?.cmp(&(*y)?)))))).collect();
        }
        let (x, y) = (x.floats(), y.floats());
        let mut results = Vec::with_capacity(x.len);
        for at in 0..x.len {
            let comparison = match order {
                CompareOrder::Partial => self.world.compare_at((x, at), (y, at)),
                CompareOrder::Total => {
                    let (x, y) = (self.world.element(x, at), self.world.element(y, at));
                    self.world.total_compare(&x, &y)
                }
            };
            results.push(match comparison {
                Comparison::Is(ordering) => Some(i64::from(direction.of(Some(ordering)))),
                Comparison::Unordered => Some(i64::from(direction.of(None))),
                Comparison::Open => self.decided_anyway(direction, (x, at), (y, at)),
            });
        }
        results
    }

    /// Touching enclosures do not say whether two numbers are equal, but may say that one is not above the other.
    fn decided_anyway(
        &self,
        direction: Compare,
        x: (&FloatArray<A>, usize),
        y: (&FloatArray<A>, usize),
    ) -> Option<i64> {
        let bounds = |(array, at)| self.world.arithmetic.bounds(&self.world.number(array, at));
        let ((x_lo, x_hi), (y_lo, y_hi)) = (bounds(x), bounds(y));
        match direction {
            Compare::Ge | Compare::Lt if x_lo >= y_hi => Some(i64::from(direction == Compare::Ge)),
            Compare::Le | Compare::Gt if x_hi <= y_lo => Some(i64::from(direction == Compare::Le)),
            _ => None,
        }
    }

    fn select(&mut self, predicate: &Value<A>, on_true: &Value<A>, on_false: &Value<A>) -> Value<A> {
        let chosen = |i: usize| {
            let flags = predicate.integers();
            if flags.len() == 1 { flags[0] } else { flags[i] }
        };
        if let (Value::Integer(a), Value::Integer(b)) = (on_true, on_false) {
            let pick = |(i, (a, b)): (usize, (&Option<i64>, &Option<i64>))| match chosen(i) {
                Some(0) => *b,
                Some(_) => *a,
                None if a == b => *a,
                None => None,
            };
            return Value::integer(a.iter().zip(b.iter()).enumerate().map(pick).collect());
        }
        let (a, b) = (on_true.floats(), on_false.floats());
        let mut picked = Vec::with_capacity(a.len);
        for at in 0..a.len {
            picked.push(match chosen(at) {
                Some(0) => self.world.element(b, at),
                Some(_) => self.world.element(a, at),
                None => {
                    let (a, b) = (self.world.element(a, at), self.world.element(b, at));
                    self.world.either(&a, &b)
                }
            });
        }
        Value::Float(self.world.collect(picked))
    }

    fn clamp(&mut self, operands: &[Value<A>]) -> Value<A> {
        let (low, value, high) = (&operands[0], &operands[1], &operands[2]);
        if let Value::Integer(values) = value {
            let edge = |v: &Value<A>, i: usize| v.integers()[if v.integers().len() == 1 { 0 } else { i }];
            let clamped = |(i, v): (usize, &Option<i64>)| Some((*v)?.max(edge(low, i)?).min(edge(high, i)?));
            return Value::integer(values.iter().enumerate().map(clamped).collect());
        }
        let (low, value, high) = (low.floats(), value.floats(), high.floats());
        let mut clamped = Vec::with_capacity(value.len);
        for at in 0..value.len {
            let edge = |array: &FloatArray<A>| if array.len == 1 { 0 } else { at };
            let (low, high) = (self.world.element(low, edge(low)), self.world.element(high, edge(high)));
            let element = self.world.element(value, at);
            let above = self.world.extreme(&element, &low, true);
            clamped.push(self.world.extreme(&above, &high, false));
        }
        Value::Float(self.world.collect(clamped))
    }
}
