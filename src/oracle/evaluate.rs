//! One pass over a program in one arithmetic.

use std::cmp::Ordering;

use crate::ir::{
    Binary, Compare, CompareOrder, Computation, Instruction, Op, Program, Shape, TRIP_BOUND, Unary, movement,
};
use crate::tensor::{DType, Tensor};

use super::arithmetic::Arithmetic;
use super::demand::{Answered, Demand};
use super::elements::{Comparison, Element, Value, World};
use super::integer;
use super::order::{Classes, Identity, Step};

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
}

type Floats<A> = Vec<Element<<A as Arithmetic>::Number>>;
/// Two elements at one position.
type Pair<'a, A> = (&'a Element<<A as Arithmetic>::Number>, &'a Element<<A as Arithmetic>::Number>);

/// Evaluates what `demands` need and says whether all of it is proven.
pub(super) fn run<A: Arithmetic>(
    arithmetic: A,
    program: &Program,
    arguments: &[Tensor],
    demands: &[Demand],
) -> Result<Answered, OracleError> {
    let entry = program.entry();
    let expected: Vec<Shape> = entry.parameter_shapes().into_iter().cloned().collect();
    for (number, shape) in expected.iter().enumerate() {
        let given = arguments.get(number).map(|t| Shape::array(t.dtype(), t.dims()));
        if given.as_ref() != Some(shape) {
            let given = given.map_or("missing".to_string(), |s| s.to_string());
            return Err(OracleError::Argument { number, given, expected: shape.to_string() });
        }
    }
    let outputs = program.outputs();
    let mut needed = vec![false; entry.instructions.len()];
    for (output, demand) in outputs.iter().zip(demands) {
        needed[*output] |= *demand != Demand::None;
    }
    for id in (0..needed.len()).rev() {
        if needed[id] {
            entry.instructions[id].operands.iter().for_each(|o| needed[*o] = true);
        }
    }
    let mut pass = Pass { world: World { arithmetic, classes: Classes::default() }, program };
    let values = pass.computation(entry, &Arguments::Tensors(arguments), Some(&needed))?;
    let results: Vec<Option<&Value<A::Number>>> = outputs.iter().map(|o| values[*o].as_ref()).collect();
    let shapes: Vec<&Shape> = outputs.iter().map(|o| &entry.instructions[*o].shape).collect();
    Ok(pass.answer(&results, &shapes, demands))
}

/// What a computation is applied to.
pub(super) enum Arguments<'a, N> {
    Tensors(&'a [Tensor]),
    Values(&'a [Value<N>]),
}

impl<A: Arithmetic> Pass<'_, A> {
    /// The values of a computation's instructions; those not `needed` are left out, and so are those whose last user
    /// is past.
    pub fn computation(
        &mut self,
        computation: &Computation,
        arguments: &Arguments<A::Number>,
        needed: Option<&[bool]>,
    ) -> Result<Vec<Option<Value<A::Number>>>, OracleError> {
        let mut uses: Vec<usize> = computation.users().iter().map(Vec::len).collect();
        let root = &computation.instructions[computation.root];
        uses[computation.root] += 1;
        if root.op == Op::Tuple {
            root.operands.iter().for_each(|o| uses[*o] += 1);
        }
        let mut values: Vec<Option<Value<A::Number>>> = Vec::with_capacity(computation.instructions.len());
        for (id, instruction) in computation.instructions.iter().enumerate() {
            // The entry's tuple only lists results.
            let listing = needed.is_some() && id == computation.root && instruction.op == Op::Tuple;
            if listing || needed.is_some_and(|n| !n[id]) {
                values.push(None);
                continue;
            }
            let value = match (&instruction.op, arguments) {
                (Op::Parameter(number), Arguments::Tensors(tensors)) => self.tensor_value(&tensors[*number]),
                (Op::Parameter(number), Arguments::Values(given)) => given[*number].clone(),
                _ => {
                    let operands: Vec<Value<A::Number>> =
                        instruction.operands.iter().filter_map(|o| values[*o].clone()).collect();
                    let shapes: Vec<&Shape> =
                        instruction.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
                    self.instruction(instruction, &operands, &shapes)?
                }
            };
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

    /// The result of a called computation.
    pub fn call(&mut self, callee: usize, arguments: &[Value<A::Number>]) -> Result<Value<A::Number>, OracleError> {
        let computation = &self.program.computations[callee];
        let values = self.computation(computation, &Arguments::Values(arguments), None)?;
        let root = values.into_iter().nth(computation.root).flatten();
        Ok(root.unwrap_or_else(|| Value::Tuple(Vec::new())))
    }

    fn tensor_value(&self, tensor: &Tensor) -> Value<A::Number> {
        if tensor.dtype().is_float() {
            Value::float(tensor.data().to_f64s().into_iter().map(|v| self.world.exact(v)).collect())
        } else {
            Value::integer(tensor.data().to_i64s().into_iter().map(Some).collect())
        }
    }

    fn instruction(
        &mut self,
        instruction: &Instruction,
        operands: &[Value<A::Number>],
        shapes: &[&Shape],
    ) -> Result<Value<A::Number>, OracleError> {
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
                let mut values = Vec::with_capacity(instruction.shape.elements());
                movement::for_each_index(dims, |_, index| values.push(index[*dim] as i64));
                self.integer_value(dtype, values)
            }
            Op::Convert => self.convert(&operands[0], shapes[0].dtype().unwrap_or(dtype), dtype),
            // Over the real numbers nothing is rounded.
            Op::ReducePrecision { .. } => operands[0].clone(),
            Op::BitcastConvert => {
                let from = shapes[0].dtype().unwrap_or(dtype);
                self.bitcast(&operands[0], from, dtype).ok_or_else(|| refuse("the operand is not exactly known"))?
            }
            Op::Unary(Unary::IsFinite) => {
                let finite = |e: &Element<A::Number>| {
                    let (lo, hi) = self.world.arithmetic.bounds(&e.number);
                    match self.world.arithmetic.as_exact(&e.number) {
                        Some(v) => Some(i64::from(v.is_finite())),
                        // An inexact enclosure holds a real number, unless nothing is known of it.
                        None => (lo != f64::NEG_INFINITY || hi != f64::INFINITY).then_some(1),
                    }
                };
                Value::integer(operands[0].floats().iter().map(finite).collect())
            }
            Op::Unary(unary) if dtype.is_float() => {
                let out = operands[0].floats().iter().map(|x| self.unary(*unary, x)).collect();
                Value::float(out)
            }
            Op::Unary(unary) => {
                let apply = |x: &Option<i64>| x.map(|v| integer::wrap(dtype, integer::unary(*unary, v, dtype)));
                Value::integer(operands[0].integers().iter().map(apply).collect())
            }
            Op::Binary(binary) if dtype.is_float() => {
                let left_is_parameter = self.is_spread(instruction, 0) && !self.is_spread(instruction, 1);
                let (x, y) = (operands[0].floats(), operands[1].floats());
                let mut out: Floats<A> = Vec::with_capacity(x.len());
                for (x, y) in x.iter().zip(y) {
                    out.push(self.binary(*binary, x, y, left_is_parameter));
                }
                Value::float(out)
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

    fn movement(
        &mut self,
        instruction: &Instruction,
        operands: &[Value<A::Number>],
        shapes: &[&Shape],
    ) -> Option<Value<A::Number>> {
        let op = &instruction.op;
        if let (Op::Copy | Op::OptimizationBarrier, Some(value)) = (op, operands.first()) {
            return Some(value.clone());
        }
        let starts: Vec<i64> = match op {
            Op::DynamicSlice { .. } => {
                operands[1..].iter().map(|o| o.integers().first().copied().flatten()).collect::<Option<_>>()?
            }
            Op::Gather(_) => operands[1].integers().iter().copied().collect::<Option<_>>()?,
            _ => Vec::new(),
        };
        let starts_dims = if matches!(op, Op::Gather(_)) { shapes[1].dims() } else { &[] };
        let dims = instruction.shape.dims();
        if instruction.shape.dtype().is_some_and(DType::is_float) {
            let parts: Vec<_> = operands.iter().zip(shapes).map(|(o, s)| (o.floats(), s.dims())).collect();
            movement::apply(op, &parts, &starts, starts_dims, dims).map(Value::float)
        } else {
            let parts: Vec<_> = operands.iter().zip(shapes).map(|(o, s)| (o.integers(), s.dims())).collect();
            movement::apply(op, &parts, &starts, starts_dims, dims).map(Value::integer)
        }
    }

    fn integer_value(&self, dtype: DType, values: Vec<i64>) -> Value<A::Number> {
        if dtype.is_float() {
            Value::float(values.into_iter().map(|v| self.world.exact(v as f64)).collect())
        } else {
            Value::integer(values.into_iter().map(|v| Some(integer::wrap(dtype, v))).collect())
        }
    }

    /// Between float types nothing changes; to an integer the real value is truncated, as HLO's convert does.
    fn convert(&mut self, operand: &Value<A::Number>, from: DType, to: DType) -> Value<A::Number> {
        match (from.is_float(), to.is_float()) {
            (true, true) => operand.clone(),
            (false, true) => {
                let number = |v: &Option<i64>| match v {
                    Some(v) => self.world.exact(*v as f64),
                    None => self.world.unknown(),
                };
                Value::float(operand.integers().iter().map(number).collect())
            }
            (false, false) => {
                Value::integer(operand.integers().iter().map(|v| v.map(|v| integer::wrap(to, v))).collect())
            }
            (true, false) => {
                let truncated = |e: &Element<A::Number>| {
                    let (lo, hi) = self.world.arithmetic.bounds(&e.number);
                    if to == DType::Pred {
                        let zero = self.world.arithmetic.exact(0.0);
                        return self
                            .world
                            .arithmetic
                            .compare(&e.number, &zero)
                            .map(|o| i64::from(o != Ordering::Equal));
                    }
                    // `as` truncates, saturates and takes NaN to 0, as XLA does.
                    let (low, high) = (integer::saturate(to, lo), integer::saturate(to, hi));
                    (low == high).then_some(low)
                };
                Value::integer(operand.floats().iter().map(truncated).collect())
            }
        }
    }

    fn bitcast(&self, operand: &Value<A::Number>, from: DType, to: DType) -> Option<Value<A::Number>> {
        let bits: Vec<u64> = match (from.format(), operand) {
            (Some(format), Value::Float(array)) => {
                let exact = |e: &Element<A::Number>| {
                    let value = self.world.arithmetic.as_exact(&e.number).filter(|v| format.contains(*v))?;
                    Some(format.encode(value))
                };
                array.elements.iter().map(exact).collect::<Option<_>>()?
            }
            _ => operand.integers().iter().map(|v| v.map(|v| v as u64)).collect::<Option<_>>()?,
        };
        Some(match to.format() {
            Some(format) => Value::float(bits.into_iter().map(|b| self.world.exact(format.decode(b))).collect()),
            None => Value::integer(bits.into_iter().map(|b| Some(integer::wrap(to, b as i64))).collect()),
        })
    }

    fn compare(
        &self,
        direction: Compare,
        order: CompareOrder,
        x: &Value<A::Number>,
        y: &Value<A::Number>,
    ) -> Vec<Option<i64>> {
        if let (Value::Integer(x), Value::Integer(y)) = (x, y) {
            let pairs = x.iter().zip(y.iter());
            return pairs.map(|(x, y)| Some(i64::from(direction.of(Some((*x)?.cmp(&(*y)?)))))).collect();
        }
        let pair = |(x, y)| {
            let comparison = match order {
                CompareOrder::Partial => self.world.compare(x, y),
                CompareOrder::Total => self.world.total_compare(x, y),
            };
            match comparison {
                Comparison::Is(ordering) => Some(i64::from(direction.of(Some(ordering)))),
                Comparison::Unordered => Some(i64::from(direction.of(None))),
                Comparison::Open => self.decided_anyway(direction, x, y),
            }
        };
        x.floats().iter().zip(y.floats()).map(pair).collect()
    }

    /// Touching enclosures do not say whether two numbers are equal, but may say that one is not above the other.
    fn decided_anyway(&self, direction: Compare, x: &Element<A::Number>, y: &Element<A::Number>) -> Option<i64> {
        let ((x_lo, x_hi), (y_lo, y_hi)) =
            (self.world.arithmetic.bounds(&x.number), self.world.arithmetic.bounds(&y.number));
        match direction {
            Compare::Ge | Compare::Lt if x_lo >= y_hi => Some(i64::from(direction == Compare::Ge)),
            Compare::Le | Compare::Gt if x_hi <= y_lo => Some(i64::from(direction == Compare::Le)),
            _ => None,
        }
    }

    fn select(
        &mut self,
        predicate: &Value<A::Number>,
        on_true: &Value<A::Number>,
        on_false: &Value<A::Number>,
    ) -> Value<A::Number> {
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
        let pairs = on_true.floats().iter().zip(on_false.floats()).enumerate();
        let pick = |(i, (a, b)): (usize, Pair<A>)| match chosen(i) {
            Some(0) => b.clone(),
            Some(_) => a.clone(),
            None => self.world.either(a, b),
        };
        Value::float(pairs.map(pick).collect())
    }

    fn clamp(&mut self, operands: &[Value<A::Number>]) -> Value<A::Number> {
        let (low, value, high) = (&operands[0], &operands[1], &operands[2]);
        if let Value::Integer(values) = value {
            let edge = |v: &Value<A::Number>, i: usize| v.integers()[if v.integers().len() == 1 { 0 } else { i }];
            let clamped = |(i, v): (usize, &Option<i64>)| Some((*v)?.max(edge(low, i)?).min(edge(high, i)?));
            return Value::integer(values.iter().enumerate().map(clamped).collect());
        }
        let edge = |v: &Value<A::Number>, i: usize| v.floats()[if v.floats().len() == 1 { 0 } else { i }].clone();
        let clamped = |(i, v): (usize, &Element<A::Number>)| {
            let above = self.world.extreme(v, &edge(low, i), true);
            self.world.extreme(&above, &edge(high, i), false)
        };
        Value::float(value.floats().iter().enumerate().map(clamped).collect())
    }

    fn unary(&mut self, unary: Unary, x: &Element<A::Number>) -> Element<A::Number> {
        let number = self.world.arithmetic.unary(unary, &x.number);
        if self.world.arithmetic.is_nan(&number) {
            return self.world.fresh(number);
        }
        let sign = self.sign(x);
        let positive = sign == Some(Ordering::Greater);
        let (increases, flips) = match unary {
            Unary::Exponential | Unary::ExponentialMinusOne | Unary::Tanh | Unary::Logistic => (true, false),
            Unary::Log | Unary::LogPlusOne | Unary::Sqrt => (true, false),
            Unary::Negate => (true, true),
            Unary::Rsqrt => (positive, true),
            Unary::Abs if positive => return Element { number, identity: x.identity },
            Unary::Abs => (sign == Some(Ordering::Less), true),
            _ => (false, false),
        };
        if !increases {
            return self.world.fresh(number);
        }
        // Negation and the absolute value of a negative number are one function.
        let unary = if unary == Unary::Abs { Unary::Negate } else { unary };
        let step = Step { function: unary as u16, class: x.identity.class, other: (0, 0) };
        let class = self.world.classes.after(step);
        Element { number, identity: Identity { class, key: if flips { -x.identity.key } else { x.identity.key } } }
    }

    fn binary(
        &mut self,
        binary: Binary,
        x: &Element<A::Number>,
        y: &Element<A::Number>,
        left_is_parameter: bool,
    ) -> Element<A::Number> {
        if matches!(binary, Binary::Maximum | Binary::Minimum) {
            return self.world.extreme(x, y, binary == Binary::Maximum);
        }
        let number = self.world.arithmetic.binary(binary, &x.number, &y.number);
        let (variable, parameter) = if left_is_parameter { (y, x) } else { (x, y) };
        let finite = |e: &Element<A::Number>| self.world.arithmetic.as_exact(&e.number).is_none_or(f64::is_finite);
        // With an infinite parameter, or a NaN result, the function is not strictly increasing.
        if self.world.arithmetic.is_nan(&number) || !finite(parameter) {
            return self.world.fresh(number);
        }
        let signs = (self.sign(variable), self.sign(parameter));
        let negative = |o: Ordering| o == Ordering::Less;
        // Whether it increases in the variable, falls, or neither is known; and which branch of it this is.
        let (falls, branch) = match (binary, left_is_parameter, signs) {
            (Binary::Add, ..) | (Binary::Subtract, false, _) => (Some(false), 0),
            (Binary::Subtract, true, _) => (Some(true), 0),
            (Binary::Multiply, _, (_, Some(p))) | (Binary::Divide, false, (_, Some(p))) if p != Ordering::Equal => {
                (Some(negative(p)), 0)
            }
            (Binary::Divide, true, (Some(v), Some(p))) if v != Ordering::Equal && p != Ordering::Equal => {
                (Some(!negative(p)), 1 + u16::from(negative(v)))
            }
            _ => (None, 0),
        };
        let Some(falls) = falls else { return self.world.fresh(number) };
        let function = 256 + (binary as u16) * 8 + u16::from(left_is_parameter) * 4 + branch;
        let other = (parameter.identity.class, parameter.identity.key.to_bits());
        let class = self.world.classes.after(Step { function, class: variable.identity.class, other });
        let key = variable.identity.key;
        Element { number, identity: Identity { class, key: if falls { -key } else { key } } }
    }

    /// The order of an element against zero, where the enclosure decides it.
    fn sign(&self, x: &Element<A::Number>) -> Option<Ordering> {
        let (lo, hi) = self.world.arithmetic.bounds(&x.number);
        match (lo.partial_cmp(&0.0)?, hi.partial_cmp(&0.0)?) {
            (low, high) if low == high => Some(low),
            _ => None,
        }
    }
}
