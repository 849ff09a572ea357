//! One pass over a program in one arithmetic.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::analysis;
use crate::deadline;
use crate::ir::domain::{self, Domain, Ran};
use crate::ir::{Compare, CompareOrder, ComputationId, Instruction, Op, Program, Shape, Unary, ValueId, movement};
use crate::tensor::Tensor;

use super::arithmetic::{Arithmetic, Wanted};
use super::column::Mover;
use super::comparison::Comparison;
use super::demand::Truth;
use super::elements::{FloatArray, Value, World};
use super::integer;
use super::oracle_error::OracleError;
use super::order::Classes;
use super::pass_room;
use super::plan::{Need, Plan, Sums, operations};
use super::prepared::Prepared;
use super::reach::Reach;
use super::turn::Turn;

/// The state of one pass.
pub(super) struct Pass<'a, A: Arithmetic> {
    pub world: World<A>,
    pub prepared: &'a Prepared,
    plan: &'a Plan,
    /// The classes of cosines of parts of a turn, of which the key is a factor.
    pub(super) cosines: HashMap<Turn, u64>,
    /// Constants that were met, by computation and instruction.
    constants: HashMap<(ComputationId, ValueId), Value<A>>,
    /// Enclosures of reductions, for a pass that comes after.
    sums: Sums,
    reach: Reach,
}

impl<A: Arithmetic> Domain for Pass<'_, A> {
    type Value = Value<A>;
    type Error = OracleError;

    fn tuple(parts: Vec<Value<A>>) -> Value<A> {
        Value::Tuple(parts)
    }

    fn into_parts(value: Value<A>) -> Vec<Value<A>> {
        value.into_parts()
    }

    fn call(&mut self, callee: ComputationId, arguments: Vec<Value<A>>) -> Result<Value<A>, OracleError> {
        Pass::call(self, callee, &arguments)
    }

    fn is_true(&self, predicate: &Value<A>) -> Option<bool> {
        predicate.integers().number(0).map(|flag| flag != 0)
    }
}

/// Evaluates what `plan` asks for, as far as the arithmetic goes; also returns the sums that it has found.
pub(super) fn run<A: Arithmetic>(
    arithmetic: A,
    prepared: &Prepared,
    arguments: &[Tensor],
    plan: &Plan,
) -> Result<(Truth, Sums, Reach), OracleError> {
    let program = &prepared.program;
    let entry = program.entry();
    let mut pass = Pass::new(arithmetic, prepared, plan);
    let values = pass.computation(program.entry, &Arguments::Tensors(arguments), Some(&plan.needs))?;
    let outputs = program.outputs();
    let results: Vec<Option<&Value<A>>> = outputs.iter().map(|o| values[*o].as_ref()).collect();
    let shapes: Vec<&Shape> = outputs.iter().map(|o| &entry.instructions[*o].shape).collect();
    let truth = pass.answer(&results, &shapes, &plan.demands);
    let reach = pass.reach.of_open(&pass.world, &results, &truth);
    Ok((truth, pass.sums, reach))
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

/// Arguments of a computation.
pub(super) enum Arguments<'a, A: Arithmetic> {
    Tensors(&'a [Tensor]),
    Values(&'a [Value<A>]),
}

impl<'a, A: Arithmetic> Pass<'a, A> {
    /// Nothing is computed yet.
    pub fn new(arithmetic: A, prepared: &'a Prepared, plan: &'a Plan) -> Pass<'a, A> {
        let world = World { arithmetic, classes: Classes::default() };
        Pass {
            world,
            prepared,
            plan,
            cosines: HashMap::new(),
            constants: HashMap::new(),
            sums: Sums::default(),
            reach: Reach::default(),
        }
    }

    /// The values of a computation's instructions; those that nothing needs are left out, and so are those whose last user
    /// is past.
    #[expect(clippy::too_many_lines, reason = "one pass with one state")]
    pub fn computation(
        &mut self,
        callee: ComputationId,
        arguments: &Arguments<A>,
        needs: Option<&[Need]>,
    ) -> Result<Vec<Option<Value<A>>>, OracleError> {
        let prepared = self.prepared;
        let computation = &prepared.program.computations[callee];
        let mut uses = prepared.uses[callee].clone();
        let mut values: Vec<Option<Value<A>>> = Vec::with_capacity(computation.instructions.len());
        for (id, instruction) in computation.instructions.iter().enumerate() {
            deadline::check();
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
            if let Arguments::Tensors(tensors) = arguments
                && let Some(matmul) = &prepared.matmuls[id]
            {
                let [lhs, rhs] = matmul.parameters.map(|number| &tensors[number]);
                values.push(Some(self.dot_of_tensors(lhs, rhs, matmul.sizes)));
                continue;
            }
            let value = match (&instruction.op, arguments) {
                (Op::Parameter(number), Arguments::Tensors(tensors)) => {
                    let _held = pass_room::check_array(&self.world.arithmetic, instruction)?;
                    self.tensor_value(&tensors[*number])
                }
                (Op::Parameter(number), Arguments::Values(given)) => given[*number].clone(),
                (Op::Constant(value), _) => match self.constants.get(&(callee, id)) {
                    Some(known) => known.clone(),
                    None => {
                        let known = self.real_constant(value, instruction);
                        self.constants.insert((callee, id), known.clone());
                        known
                    }
                },
                _ => {
                    let operands: Vec<Value<A>> =
                        instruction.operands.iter().filter_map(|o| values[*o].clone()).collect();
                    let shapes: Vec<&Shape> =
                        instruction.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
                    self.instruction(callee, instruction, &operands, &shapes, wanted)?
                }
            };
            match (&instruction.op, &value) {
                _ if needs.is_none() => {
                    let elements = instruction.shape.dtype().map_or(0, |_| instruction.shape.elements());
                    self.reach.called += operations(computation, instruction, elements);
                }
                (Op::Reduce { .. }, value) => self.keep_sum(id, value),
                (Op::Dot { .. }, Value::Float(dots)) => self.reach.count(&self.world, dots),
                _ => {}
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
        let values = self.computation(callee, &Arguments::Values(arguments), None)?;
        let root = values.into_iter().nth(self.prepared.program.computations[callee].root).flatten();
        Ok(root.unwrap_or_else(|| Value::Tuple(Vec::new())))
    }

    /// The result of an instruction. Of a type that has no -0 it is not -0 either.
    pub(super) fn instruction(
        &mut self,
        computation: ComputationId,
        instruction: &Instruction,
        operands: &[Value<A>],
        shapes: &[&Shape],
        wanted: Wanted,
    ) -> Result<Value<A>, OracleError> {
        let value = self.operation(computation, instruction, operands, shapes, wanted)?;
        Ok(self.with_zeros_of(value, &instruction.shape))
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn operation(
        &mut self,
        computation: ComputationId,
        instruction: &Instruction,
        operands: &[Value<A>],
        shapes: &[&Shape],
        wanted: Wanted,
    ) -> Result<Value<A>, OracleError> {
        let (shape, dims) = (&instruction.shape, instruction.shape.dims());
        let _held = pass_room::check(&self.world.arithmetic, instruction, operands, shapes)?;
        let _busy = analysis::begin(instruction, shapes);
        if pass_room::is_empty(instruction) {
            return Ok(self.forget(shape));
        }
        let refuse =
            |why| OracleError::NoMeaning { name: instruction.name.clone(), opcode: instruction.op.opcode(), why };
        Ok(match &instruction.op {
            Op::Parameter(_) | Op::Constant(_) => unreachable!("parameters and constants have their values"),
            Op::Copy | Op::OptimizationBarrier => operands[0].clone(),
            Op::Reshape
            | Op::Broadcast { .. }
            | Op::Transpose { .. }
            | Op::Slice { .. }
            | Op::Concatenate { .. }
            | Op::Pad { .. }
            | Op::Reverse { .. }
            | Op::DynamicSlice { .. }
            | Op::DynamicUpdateSlice
            | Op::Gather(_) => self.movement(instruction, operands, shapes),
            Op::Iota { dim } => {
                let (size, stride) = (dims[*dim].max(1), dims[*dim + 1..].iter().product::<usize>().max(1));
                let values = (0..shape.elements()).map(|at| (at / stride % size) as i64).collect();
                self.integer_value(shape.element_type(), values)
            }
            Op::Convert => self.convert(&operands[0], shapes[0].element_type(), shape.element_type()),
            // Over the real numbers nothing is rounded.
            Op::ReducePrecision { .. } => operands[0].clone(),
            Op::BitcastConvert => {
                let [from, to] = [shapes[0], shape].map(Shape::element_type);
                self.bitcast(&operands[0], from, to)
            }
            Op::Unary(Unary::IsFinite) => Value::predicate(self.is_finite(operands[0].floats())),
            Op::Unary(unary) if shape.element_type().is_float() => {
                Value::Float(self.world.unary_all(*unary, operands[0].floats(), wanted))
            }
            Op::Unary(unary) => {
                let dtype = shape.element_type();
                let apply = |x: &Option<i64>| x.map(|v| integer::wrap(dtype, integer::unary(*unary, v, dtype)));
                Value::integer(dtype, operands[0].integers().values.iter().map(apply).collect())
            }
            Op::Binary(binary) if shape.element_type().is_float() => {
                let spread = [0, 1].map(|operand| self.is_spread(computation, instruction, operand));
                let left_is_parameter = spread == [true, false];
                let (x, y) = (operands[0].floats(), operands[1].floats());
                Value::Float(self.world.binary_all(*binary, x, y, left_is_parameter, wanted))
            }
            Op::Binary(binary) => {
                let pairs = operands[0].integers().values.iter().zip(operands[1].integers().values.iter());
                let dtype = shape.element_type();
                let apply = |(x, y): (&Option<i64>, &Option<i64>)| integer::binary(*binary, *x, *y, dtype);
                Value::integer(dtype, pairs.map(apply).collect())
            }
            Op::Compare { direction, order } => {
                Value::predicate(self.compare(*direction, *order, &operands[0], &operands[1]))
            }
            Op::Select => self.select(&operands[0], &operands[1], &operands[2]),
            Op::Clamp => self.clamp(operands),
            Op::Reduce { dims: reduced, to_apply } => self.reduce(reduced, *to_apply, operands, shapes)?,
            Op::ReduceWindow { window, to_apply } => {
                self.reduce_window(window, *to_apply, operands, shapes[0], dims)?
            }
            Op::Scatter { dims: numbers, to_apply } => self.scatter(numbers, *to_apply, operands, shapes)?,
            Op::Sort { dim, to_apply, .. } => self.sort(*dim, *to_apply, operands, shapes)?,
            Op::TopK { k, largest } => self.top_k(*k, *largest, &operands[0], shapes[0].dims()),
            Op::ApproxTopK(_) | Op::PartialReduce(_) => self.exact_top(operands, shapes, shape),
            Op::Dot { dims: numbers, .. } if !shape.element_type().is_float() => {
                let dtype = shape.element_type();
                let integers = [operands[0].integers(), operands[1].integers()];
                Value::integer(dtype, integer::dots(dtype, numbers, integers, [shapes[0].dims(), shapes[1].dims()]))
            }
            Op::Dot { dims: numbers, .. } => self.dot(numbers, operands, shapes, wanted),
            Op::Opaque(_) => return Err(refuse("nothing is known of it")),
            op @ (Op::Tuple | Op::GetTupleElement(_) | Op::Call { .. } | Op::While { .. }) => {
                match domain::run(self, op, operands.to_vec())? {
                    Ran::Value(value) => value,
                    Ran::Endless => return Err(refuse("the loop does not end within the trip bound")),
                    // A rung that does not know when the loop ends knows nothing of its result.
                    Ran::Open => self.forget(shape),
                }
            }
        })
    }

    /// Whether an operand is one value spread over many: the parameter of a family of functions rather than a variable.
    fn is_spread(&self, computation: ComputationId, instruction: &Instruction, operand: usize) -> bool {
        let producers = &self.prepared.program.computations[computation].instructions;
        matches!(producers[instruction.operands[operand]].op, Op::Broadcast { .. } | Op::Constant(_))
    }

    fn is_finite(&self, x: &FloatArray<A>) -> Vec<Option<bool>> {
        let arithmetic = &self.world.arithmetic;
        let finite = |at| {
            let number = self.world.number(x, at);
            match arithmetic.as_exact(&number) {
                Some(value) => Some(value.is_finite()),
                // Any other number is a real one.
                None => {
                    (arithmetic.is_nan(&number) || arithmetic.is_number(&number)).then(|| !arithmetic.is_nan(&number))
                }
            }
        };
        (0..x.len).map(finite).collect()
    }

    fn movement(&mut self, instruction: &Instruction, operands: &[Value<A>], shapes: &[&Shape]) -> Value<A> {
        let op = &instruction.op;
        let all = operands;
        let (operands, starts) = operands.split_at(op.first_start().unwrap_or(operands.len()));
        let Some(starts) = starts.iter().map(|o| o.integers().starts()).collect::<Option<Vec<_>>>() else {
            return self.read_from_open_starts(instruction, all, shapes);
        };
        let starts = starts.concat();
        let starts_dims = if matches!(op, Op::Gather(_)) { shapes[1].dims() } else { &[] };
        let out_dims = instruction.shape.dims();
        let dims: Vec<&[usize]> = shapes[..operands.len()].iter().map(|s| s.dims()).collect();
        let dtype = instruction.shape.element_type();
        if dtype.is_float() {
            let arrays: Vec<&FloatArray<A>> = operands.iter().map(Value::floats).collect();
            let mover = Mover { op, dims, starts: &starts, starts_dims, out_dims };
            Value::Float(self.world.rearrange(&arrays, &mover))
        } else {
            let parts: Vec<_> = operands.iter().zip(dims).map(|(o, d)| (o.integers().values.as_slice(), d)).collect();
            Value::integer(dtype, movement::apply(op, &parts, &starts, starts_dims, out_dims))
        }
    }

    fn compare(&mut self, direction: Compare, order: CompareOrder, x: &Value<A>, y: &Value<A>) -> Vec<Option<bool>> {
        if let (Value::Integer(x), Value::Integer(y)) = (x, y) {
            let compared = (0..x.values.len()).map(|at| match x.compare(at, y, at) {
                Comparison::Is(ordering) => Some(direction.of(Some(ordering))),
                _ => None,
            });
            return compared.collect();
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
                Comparison::Is(ordering) => Some(direction.of(Some(ordering))),
                Comparison::Unordered => Some(direction.of(None)),
                Comparison::Open => self.decided_anyway(direction, order, (x, at), (y, at)),
            });
        }
        results
    }

    /// Touching enclosures do not say whether two numbers are equal, but may say that one is not above the other.
    fn decided_anyway(
        &mut self,
        direction: Compare,
        order: CompareOrder,
        x: (&FloatArray<A>, usize),
        y: (&FloatArray<A>, usize),
    ) -> Option<bool> {
        let [a, b] = [x, y].map(|(array, at)| self.world.element(array, at));
        let (arithmetic, classes) = (&self.world.arithmetic, &self.world.classes);
        // What is unknown may be NaN, which is neither above nor below; and in totalOrder equal ends may be zeros.
        if !arithmetic.is_number(&a.number) || !arithmetic.is_number(&b.number) || order == CompareOrder::Total {
            return None;
        }
        let [(x_lo, x_hi), (y_lo, y_hi)] = [&a, &b].map(|e| arithmetic.bounds(&e.number));
        let (above, below) =
            (classes.is_not_below(&a.identity, &b.identity), classes.is_not_below(&b.identity, &a.identity));
        match direction {
            Compare::Ge | Compare::Lt if x_lo >= y_hi || above => Some(direction == Compare::Ge),
            Compare::Le | Compare::Gt if x_hi <= y_lo || below => Some(direction == Compare::Le),
            _ => None,
        }
    }

    fn select(&mut self, predicate: &Value<A>, on_true: &Value<A>, on_false: &Value<A>) -> Value<A> {
        let flags = predicate.integers();
        let chosen = |i: usize| flags.number(if flags.values.len() == 1 { 0 } else { i });
        if let (Value::Integer(a), Value::Integer(b)) = (on_true, on_false) {
            let pick = |(i, (a, b)): (usize, (&Option<i64>, &Option<i64>))| match chosen(i) {
                Some(0) => *b,
                Some(_) => *a,
                None if a == b => *a,
                None => None,
            };
            return Value::integer(a.dtype, a.values.iter().zip(b.values.iter()).enumerate().map(pick).collect());
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
}
