//! The evaluator: one operation after the other, each in its declared type.

use crate::analysis::{self, World};
use crate::deadline;
use crate::ir::{
    Binary, Compare, CompareOrder, ComputationId, DotDims, DotPlan, Fusion, Instruction, Op, Program, ResultAccuracy,
    Shape, TRIP_BOUND, Unary, ValueId,
};
use crate::tensor::{DType, Tensor};
use crate::xla_cpu::Inner;

use super::dot_sum::DotSum;
use super::dot_unit::{DotSite, DotUnit};
use super::eval_error::{EvalError, refuse};
use super::mode::Mode;
use super::multiply_reduce::{self, Right};
use super::prepared::{Frame, Habits, Prepared};
use super::value::{Operand, Value};
use super::vector::{self, Side, VectorUnit};
use super::{arrange, contract, dot_order, folded, inner_products, integer, libraries, mxu, rank, reduce, room, tiles};

/// The results of `program` in `mode`, in order, for arguments that are given once: [`Prepared::bind`] and
/// [`Prepared::evaluate`]. The program is taken as it is: the mode's excess policy is a rewrite that comes before
/// ([`crate::rewrite`], [`crate::subject`]).
///
/// # Errors
/// If arguments do not fit the parameters, or an operation is not supported for its types.
pub fn evaluate(program: &Program, mode: &Mode, arguments: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let prepared = Prepared::new(program);
    let arguments = prepared.bind(arguments)?;
    prepared.evaluate(mode, &arguments)
}

/// A program in a mode.
pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub prepared: &'a Prepared<'a>,
    pub mode: &'a Mode,
    pub unit: VectorUnit,
}

/// The operands of an instruction, of a computation's values with the uses that each has left: values are dropped after
/// their last one.
pub(super) fn take_operands(
    instruction: &Instruction,
    values: &mut [Option<Operand>],
    uses: &mut [usize],
) -> Vec<Operand> {
    let operands = instruction.operands.iter().filter_map(|o| values[*o].clone()).collect();
    for operand in &instruction.operands {
        uses[*operand] -= 1;
        if uses[*operand] == 0 {
            values[*operand] = None;
        }
    }
    operands
}

impl<'p> Machine<'p> {
    /// The frame of each computation. Code is planned only for machines that contract or call a library, and for products
    /// that a program says are added before they are rounded.
    pub fn frames(&self) -> &'p [Frame] {
        let has_code = self.unit.contracts || self.mode.chip.library.is_some() || self.prepared.joins;
        self.prepared.frames(has_code)
    }

    /// The results of the whole program.
    pub fn results(&self, arguments: Vec<Value>) -> Result<Vec<Tensor>, EvalError> {
        let entry = self.program.entry();
        let outputs = match self.call(self.program.entry, arguments)? {
            Value::Tuple(parts) if entry.instructions[entry.root].op == Op::Tuple => parts,
            single => vec![single],
        };
        let mut tensors = Vec::new();
        for (value, id) in outputs.into_iter().zip(self.program.outputs()) {
            let instruction = &entry.instructions[id];
            let value = if self.mode.chip.has_f64 { value } else { value.in_pairs() };
            let tensor = value.into_tensor(instruction.shape.dims());
            tensors.push(tensor.ok_or_else(|| refuse(instruction, "a tuple is no result"))?);
        }
        Ok(tensors)
    }

    /// The result of a computation. Values are dropped after their last use.
    pub fn call(&self, callee: ComputationId, arguments: Vec<Value>) -> Result<Value, EvalError> {
        let (computation, frame) = (&self.program.computations[callee], &self.frames()[callee]);
        let mut uses = frame.uses.clone();
        let mut values: Vec<Option<Operand>> = vec![None; computation.instructions.len()];
        let mut arguments: Vec<Option<Value>> = arguments.into_iter().map(Some).collect();
        let run = |id: ValueId, values: &mut [Option<Operand>], uses: &mut [usize]| {
            let instruction = &computation.instructions[id];
            let operands = take_operands(instruction, values, uses);
            let shapes: Vec<&Shape> =
                instruction.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
            self.instruction(instruction, &frame.habits[id], operands, &shapes)
        };
        for (id, instruction) in computation.instructions.iter().enumerate() {
            if frame.is_producer[id] {
                continue;
            }
            let value = if let Op::Parameter(number) = instruction.op {
                arguments.get_mut(number).and_then(Option::take).map(Operand::whole)
            } else if let Some(constant) = &frame.constants[id] {
                Some(Operand::whole(constant.clone()))
            } else if let Some(reduction) = tiles::reduce(self, computation, frame, id, &values)? {
                let read = frame.producers[id].iter().chain([&id]);
                read.for_each(|id| drop(take_operands(&computation.instructions[*id], &mut values, &mut uses)));
                Some(Operand::whole(reduction))
            } else {
                for producer in &frame.producers[id] {
                    values[*producer] = Some(run(*producer, &mut values, &mut uses)?);
                }
                Some(run(id, &mut values, &mut uses)?)
            };
            values[id] = value.filter(|_| uses[id] > 0);
        }
        let root = &computation.instructions[computation.root];
        let value = values[computation.root].take();
        let value = value.ok_or_else(|| refuse(root, "a parameter is used but not given"))?;
        if value.each().is_some() {
            let _held = analysis::reserve(root, &[], World::Machine)?;
            return Ok(value.into_whole(root.shape.elements()));
        }
        Ok(value.into_whole(root.shape.elements()))
    }

    /// The value of an instruction; broadcasts stay as they are as long as only those read them who can.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn instruction(
        &self,
        instruction: &Instruction,
        habits: &Habits,
        mut operands: Vec<Operand>,
        shapes: &[&Shape],
    ) -> Result<Operand, EvalError> {
        let (op, shape) = (&instruction.op, &instruction.shape);
        deadline::check();
        contract::round_reads(&mut operands, habits.takes_rounded, self.unit.flush);
        // Within a term of several products a broadcast moves each of them.
        if habits.inner.is_none()
            && let (Op::Broadcast { dims: along }, [operand]) = (op, &operands[..])
            && let Some(broadcast) = operand.broadcast_again(along, shape.dims())
        {
            return Ok(broadcast);
        }
        let _held =
            room::check(instruction, shapes, |at| operands.get(at).is_some_and(|operand| operand.each().is_some()))?;
        let _busy = analysis::begin(instruction, shapes);
        if room::is_empty(instruction) {
            return Ok(Operand::whole(Value::empty(shape)));
        }
        if let Some(value) = inner_products::value(self, (habits.inner, op), &mut operands, shape.elements()) {
            return Ok(Operand::whole(value));
        }
        let written_out = |operands: Vec<Operand>| -> Vec<Value> {
            operands.into_iter().zip(shapes).map(|(operand, shape)| operand.into_whole(shape.elements())).collect()
        };
        let one = |operands: Vec<Operand>| written_out(operands).swap_remove(0);
        let value = match op {
            Op::Parameter(_) | Op::Constant(_) => unreachable!("parameters and constants have their values"),
            Op::Iota { dim } => return Ok(arrange::iota(shape.element_type(), shape.dims(), *dim)),
            // In row-major order these move nothing.
            Op::Copy | Op::OptimizationBarrier | Op::Reshape => return Ok(operands.swap_remove(0)),
            Op::Broadcast { .. }
            | Op::Transpose { .. }
            | Op::Slice { .. }
            | Op::Concatenate { .. }
            | Op::Pad { .. }
            | Op::Reverse { .. }
            | Op::DynamicSlice { .. }
            | Op::DynamicUpdateSlice
            | Op::Gather(_) => arrange::move_elements(instruction, written_out(operands), shapes),
            Op::Convert if habits.kept_wide && self.mode.chip.library.is_some() => return Ok(operands.swap_remove(0)),
            Op::Convert => {
                let converted = |value| integer::convert(value, shape.element_type(), self.unit.flush);
                return Ok(operands.swap_remove(0).map(converted));
            }
            Op::BitcastConvert => integer::bitcast(one(operands), shape.element_type()),
            Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                integer::reduce_precision(*exponent_bits, *mantissa_bits, one(operands))
            }
            Op::Unary(Unary::Exponential) if self.library_computes(instruction) => {
                let Value::Float(dtype, values) = one(operands) else { unreachable!("f32 is held as floats") };
                let mut values = values.into_vec();
                vector::library_exponential(&mut values, self.unit.flush);
                Value::float(dtype, values)
            }
            Op::Unary(unary) => folded::unary(*unary, one(operands), habits.constants(self.unit.contracts), |v| {
                self.unary(*unary, instruction.accuracy(), v)
            }),
            Op::Binary(binary) => {
                let commutes = matches!(binary, Binary::Add | Binary::Multiply) && habits.is_plain();
                Operand::put_broadcast_last(&mut operands, commutes);
                let right = operands.swap_remove(1);
                let left = one(operands);
                let joins = self.unit.contracts || instruction.fusion == Some(Fusion::Joined);
                if joins && (habits.contracted || habits.inner == Some(Inner::Product)) {
                    contract::product(&left, &right.into_whole(left.len()), habits.folded, self.unit.flush)
                } else if shape.dtype() == Some(DType::F32)
                    && [&left, right.elements()].into_iter().any(contract::is_product)
                {
                    contract::sum(*binary, [&left, &right.into_whole(left.len())], habits.first(), self.unit.flush)
                } else {
                    let by_reciprocal = self.unit.divide.multiplies(habits.by_one_number);
                    self.binary(*binary, left, right, by_reciprocal)
                }
            }
            Op::Compare { direction, order } => self.compare(*direction, *order, &operands, shapes[0].elements()),
            Op::Select => {
                let mut operands = written_out(operands);
                let on_false = operands.swap_remove(2);
                let on_true = operands.swap_remove(1);
                integer::select(&operands[0], on_true, on_false)
            }
            Op::Clamp => self.clamp(&written_out(operands)),
            Op::Reduce { dims, to_apply } => {
                reduce::reduce(self, instruction, dims, (*to_apply, habits.sum_loop), operands, shapes)?
            }
            Op::ReduceWindow { window, to_apply } => {
                let of = (*to_apply, habits.sum_loop);
                reduce::reduce_window(self, instruction, window, of, &written_out(operands), shapes[0])?
            }
            Op::Scatter { dims, to_apply } => reduce::scatter(self, dims, *to_apply, &written_out(operands), shapes)?,
            Op::Sort { dim, stable, to_apply } => rank::sort(self, *dim, *stable, *to_apply, operands, shapes)?,
            Op::TopK { k, largest } => rank::top_k(instruction, &one(operands), shapes[0], *k, *largest)?,
            Op::ApproxTopK(attributes) => {
                rank::approx_top_k(self, instruction, attributes, &written_out(operands), shapes[0])?
            }
            Op::PartialReduce(attributes) => {
                rank::partial_reduce(self, instruction, attributes, &written_out(operands), shapes[0])?
            }
            Op::Dot { dims, .. } => self.dot(instruction, dims, &written_out(operands), shapes)?,
            Op::Tuple => Value::Tuple(written_out(operands)),
            Op::GetTupleElement(index) => one(operands).into_parts().swap_remove(*index),
            Op::Opaque(opaque) => return Err(refuse(instruction, format!("{} has no meaning here", opaque.name))),
            Op::Call { to_apply } => match self.library_function(instruction) {
                // Libraries are not called for arrays without elements.
                Some(function) if shapes.iter().all(|shape| shape.elements() > 0) => {
                    libraries::call(function, written_out(operands), shapes)
                }
                _ => self.call(*to_apply, written_out(operands))?,
            },
            Op::While { condition, body } => {
                let mut state = written_out(operands);
                let mut trips = 0;
                while self.call(*condition, state.clone())?.preds()[0] {
                    if trips == TRIP_BOUND {
                        return Err(refuse(instruction, "the loop does not end within the trip bound"));
                    }
                    trips += 1;
                    state = self.call(*body, state)?.into_parts();
                }
                Value::Tuple(state)
            }
        };
        Ok(Operand::whole(value))
    }

    /// An elementwise operation of two operands. `by_reciprocal` divides floats up to f32 by multiplying with the divisor's
    /// reciprocal: XLA:CPU takes bf16 through f32, where the reciprocal stays, but f16 as it is.
    fn binary(&self, binary: Binary, left: Value, right: Operand, by_reciprocal: bool) -> Value {
        let (dtype, mut values) = match left {
            Value::Float(dtype, values) => (dtype, values.into_vec()),
            Value::Double(a) => {
                let right = right.into_whole(a.len());
                return Value::double(vector::binary_f64(binary, &a, right.f64s(), &self.unit));
            }
            Value::Integer(..) | Value::Pred(_) => {
                let right = right.into_whole(left.len());
                return integer::binary(binary, &left, &right);
            }
            Value::Tuple(_) => unreachable!("shape checking gives arrays to elementwise operations"),
        };
        if by_reciprocal {
            let mut reciprocals = vec![1.0; right.elements().len()];
            let divisors = Side::whole(right.elements().f32s());
            vector::binary(Binary::Divide, DType::F32, &mut reciprocals, divisors, &self.unit);
            if dtype == DType::F16 {
                vector::round_to(DType::F16, &mut reciprocals);
            }
            let right = right.map(|_| Value::float(DType::F32, reciprocals));
            vector::binary(Binary::Multiply, dtype, &mut values, right.side(), &self.unit);
        } else {
            vector::binary(binary, dtype, &mut values, right.side(), &self.unit);
        }
        Value::float(dtype, values)
    }

    /// `compare` of `count` elements.
    fn compare(&self, direction: Compare, order: CompareOrder, operands: &[Operand], count: usize) -> Value {
        let [left, right] = [&operands[0], &operands[1]];
        let whole = || [left, right].map(|operand| operand.clone().into_whole(count));
        Value::pred(match left.elements() {
            Value::Float(..) => vector::compare(direction, order, count, left.side(), right.side(), &self.unit),
            Value::Double(_) => {
                let [left, right] = whole();
                vector::compare_f64(direction, order, left.f64s(), right.f64s(), &self.unit)
            }
            Value::Integer(..) | Value::Pred(_) => {
                let [left, right] = whole();
                return integer::compare(direction, &left, &right);
            }
            Value::Tuple(_) => unreachable!("shape checking gives arrays to compare"),
        })
    }

    /// An elementwise operation of one operand, of which an accuracy may be asked.
    pub fn unary(&self, unary: Unary, accuracy: Option<ResultAccuracy>, operand: Value) -> Value {
        match operand {
            Value::Float(_, values) if unary == Unary::IsFinite => {
                Value::pred(values.iter().map(|v| v.is_finite()).collect())
            }
            Value::Double(values) if unary == Unary::IsFinite => {
                Value::pred(values.iter().map(|v| v.is_finite()).collect())
            }
            Value::Float(dtype, values) => {
                let mut values = values.into_vec();
                vector::unary(unary, dtype, &mut values, &self.unit.for_accuracy(unary, accuracy));
                Value::float(dtype, values)
            }
            Value::Double(values) => {
                let mut values = values.into_vec();
                vector::unary_f64(unary, &mut values, &self.unit);
                Value::double(values)
            }
            Value::Integer(..) | Value::Pred(_) => integer::unary(unary, &operand),
            Value::Tuple(_) => unreachable!("shape checking gives arrays to elementwise operations"),
        }
    }

    /// min(max(low, value), high), as HLO defines clamp.
    pub fn clamp(&self, operands: &[Value]) -> Value {
        match &operands[1] {
            Value::Float(dtype, values) => {
                let mut clamped = Side::whole(operands[0].f32s()).write_out(values.len());
                vector::binary(Binary::Maximum, *dtype, &mut clamped, Side::whole(values), &self.unit);
                vector::binary(Binary::Minimum, *dtype, &mut clamped, Side::whole(operands[2].f32s()), &self.unit);
                Value::float(*dtype, clamped)
            }
            Value::Double(values) => {
                let edge = |v: &Value, i: usize| v.f64s()[if v.f64s().len() == 1 { 0 } else { i }];
                let clamped = values.iter().enumerate().map(|(i, v)| match v.is_nan() {
                    true => *v,
                    false => v.max(edge(&operands[0], i)).min(edge(&operands[2], i)),
                });
                Value::double(clamped.collect())
            }
            value @ (Value::Integer(..) | Value::Pred(_)) => integer::clamp(&operands[0], value, &operands[2]),
            Value::Tuple(_) => unreachable!("shape checking gives arrays to clamp"),
        }
    }

    fn dot(
        &self,
        instruction: &Instruction,
        numbers: &DotDims,
        operands: &[Value],
        shapes: &[&Shape],
    ) -> Result<Value, EvalError> {
        let plan = DotPlan::new(numbers, shapes[0].dims(), shapes[1].dims());
        let dtype = instruction.shape.element_type();
        let (m, k, n) = (plan.m, plan.k, plan.n);
        let dtypes = [shapes[0].dtype(), shapes[1].dtype()];
        let unit = self.mode.dot(&DotSite::of(instruction, dtypes, [m, k, n]));
        let lhs = arrange::reorder(&operands[0], shapes[0].dims(), plan.lhs_transpose.as_ref());
        // The vector unit's products are taken row by row as well.
        let in_rows = unit == DotUnit::Vector
            && plan.rhs_in_rows
            && dtype != DType::F64
            && operands.iter().all(|operand| matches!(operand, Value::Float(..)));
        let rhs_order = plan.rhs_transpose.as_ref().filter(|_| !in_rows);
        let rhs = arrange::reorder(&operands[1], shapes[1].dims(), rhs_order);
        let [lhs, rhs] = match dtype {
            // Integers beside f64 are the numbers that they are.
            DType::F64 => [lhs, rhs].map(|side| match side {
                Value::Integer(..) | Value::Pred(_) => integer::convert(side, dtype, self.unit.flush),
                float => float,
            }),
            _ => [lhs, rhs],
        };
        if let (Value::Double(a), Value::Double(b)) = (&lhs, &rhs) {
            return Ok(Value::double(dot_order::in_f64(a, b, &plan)));
        }
        if let (Value::Integer(_, a), Value::Integer(_, b)) = (&lhs, &rhs) {
            return Ok(Value::integer(dtype, integer::dots(dtype, a, b, &plan)));
        }
        if dtype == DType::F64 {
            return Err(refuse(instruction, "a dot of narrower floats gives no f64"));
        }
        let matrix = self.mode.matrix_unit_for(instruction.tiling.as_deref());
        let sum = DotSum::new(self.mode, instruction, dtypes, &plan);
        let mut out = vec![0.0; plan.batch * m * n];
        for at in 0..plan.batch {
            let a = &lhs.f32s()[at * m * k..(at + 1) * m * k];
            let b = &rhs.f32s()[at * k * n..(at + 1) * k * n];
            let out = &mut out[at * m * n..(at + 1) * m * n];
            match (unit, &sum) {
                (DotUnit::Matrix(_), Some(sum)) => sum.matmul(a, b, &matrix, out),
                (DotUnit::Matrix(passes), None) => mxu::matmul(a, b, [m, k, n], passes, &matrix, out),
                (DotUnit::Double, ..) => unreachable!("f64 operands are taken above"),
                (DotUnit::Vector, ..) => {
                    let right = if in_rows { Right::Rows(b) } else { Right::Columns(b) };
                    let order = self.mode.choices.reduce;
                    out.copy_from_slice(&multiply_reduce::matmul(a, right, [m, k, n], order, &self.unit));
                }
            }
        }
        vector::round_to(dtype, &mut out);
        Ok(Value::float(dtype, out))
    }
}
