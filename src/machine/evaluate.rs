//! The evaluator: one operation after the other, each in its declared type.

use crate::analysis::{self, World};
use crate::deadline;
use crate::ir::domain::{self, Domain, Ran};
use crate::ir::{
    Class, ComputationId, DotDims, DotPlan, Instruction, LibraryFunction, Op, Program, Shape, Unary, ValueId,
};
use crate::tensor::{DType, Tensor};

use super::backend::{Backend, Code, Kernel};
use super::dot_unit::{DotSite, DotUnit};
use super::eval_error::{EvalError, refuse};
use super::mode::Arithmetic;
use super::multiply_reduce::{self, Right};
use super::operand::Operand;
use super::prepared::{Frame, Prepared};
use super::value::Value;
use super::vector::{self, VectorUnit};
use super::{arrange, contract, integer, mxu, rank, reduce, room, tiles};

/// The results of `program` in `mode`, in order, for arguments that are given once: [`Prepared::bind`] and
/// [`Prepared::evaluate`]. The program is taken as it is: the mode's excess policy is a rewrite that comes before
/// ([`crate::rewrite`], `subject`).
///
/// # Errors
/// If arguments do not fit the parameters, or an operation is not supported for its types.
pub fn evaluate(program: &Program, mode: &Arithmetic, arguments: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let prepared = Prepared::new(program);
    let arguments = prepared.bind(arguments)?;
    prepared.evaluate(mode, &arguments)
}

/// A program in a mode.
pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub prepared: &'a Prepared<'a>,
    pub mode: &'a Arithmetic,
    pub unit: VectorUnit,
}

impl Domain for &Machine<'_> {
    type Value = Value;
    type Error = EvalError;

    fn tuple(parts: Vec<Value>) -> Value {
        Value::Tuple(parts)
    }

    fn into_parts(value: Value) -> Vec<Value> {
        value.into_parts()
    }

    fn call(&mut self, callee: ComputationId, arguments: Vec<Value>) -> Result<Value, EvalError> {
        Machine::call(self, callee, arguments)
    }

    fn is_true(&self, predicate: &Value) -> Option<bool> {
        Some(predicate.preds()[0])
    }
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

/// Whether an operation takes products in flight as they are. Any other rounds them first.
fn takes_products(op: &Op) -> bool {
    // Moving, calling and listing changes no number: a product stays one that its last user may still fuse (FACTS 3.12).
    let lists = matches!(op.class(), Class::Moves | Class::Calls | Class::Lists);
    lists
        || matches!(
            op,
            Op::Convert
                | Op::ReducePrecision { .. }
                | Op::Unary(Unary::Negate)
                | Op::Binary(_)
                | Op::Select
                | Op::Reduce { .. }
        )
}

impl<'p> Machine<'p> {
    /// The backend and its library's function that computes an instruction; `None` where the mode has sums of its own.
    pub fn library_function<'i>(
        &self,
        instruction: &'i Instruction,
    ) -> Option<(&'static dyn Backend, &'i LibraryFunction)> {
        self.mode.backend_of_dots().zip(instruction.library())
    }

    /// The frame of each computation.
    pub fn frames(&self) -> &'p [Frame] {
        self.prepared.frames(self.mode)
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
            // Without f64 a number is the sum of two f32, and such a pair has fewer digits and a smaller range (FACTS 9.3).
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
            self.instruction(instruction, &frame.kernels[id], operands, &shapes)
        };
        for (id, instruction) in computation.instructions.iter().enumerate() {
            // The reduction that alone uses it computes it, tile by tile or as a whole.
            if frame.is_producer[id] {
                continue;
            }
            let value = if let Op::Parameter(number) = instruction.op {
                arguments.get_mut(number).and_then(Option::take).map(Operand::whole)
            } else if let Some(constant) = &frame.constants[id] {
                Some(Operand::whole(constant.clone()))
            } else if let Some(reduction) = tiles::reduce(self, computation, frame, id, &values)? {
                // Tiles have read the producers' operands: their uses are counted here, as if each had run.
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
            // Written out, a broadcast is as large as its shape says, which no instruction before has asked memory for.
            let _held = analysis::reserve(root, &[], World::Machine)?;
            return Ok(value.into_whole(root.shape.elements()));
        }
        Ok(value.into_whole(root.shape.elements()))
    }

    /// The value of an instruction; broadcasts stay as they are as long as every user can read them so.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn instruction(
        &self,
        instruction: &Instruction,
        kernel: &Kernel,
        mut operands: Vec<Operand>,
        shapes: &[&Shape],
    ) -> Result<Operand, EvalError> {
        let (op, shape) = (&instruction.op, &instruction.shape);
        // Between instructions nothing is half done: here a run that is out of time may end.
        deadline::check();
        // The plan knows which products in flight this instruction fuses, and which it takes rounded.
        contract::round_operands(&mut operands, kernel, self.unit.flush);
        if !takes_products(op) {
            operands.iter_mut().for_each(|operand| contract::round_operand(operand, self.unit.flush));
        }
        if let (Op::Broadcast { dims: along }, [operand]) = (op, &operands[..])
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
            Op::Convert if kernel.code == Code::Unrounded => return Ok(operands.swap_remove(0)),
            Op::Convert => {
                let converted = |value| integer::convert(value, shape.element_type(), &self.unit);
                return Ok(operands.swap_remove(0).map(converted));
            }
            Op::BitcastConvert => integer::bitcast(one(operands), shape.element_type()),
            Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                integer::reduce_precision(*exponent_bits, *mantissa_bits, one(operands), &self.unit)
            }
            Op::Unary(unary) => {
                let own = |v| self.unary(*unary, &self.unit.for_instruction(instruction), v);
                match &kernel.code {
                    Code::Function(coded) => coded.unary(*unary, one(operands), self.unit.flush, own),
                    _ => own(one(operands)),
                }
            }
            Op::Binary(binary) => self.join(*binary, kernel, operands, shape.elements()),
            Op::Compare { direction, order } => self.compare(*direction, *order, &operands, shapes[0].elements()),
            Op::Select => {
                let mut operands = written_out(operands);
                let on_false = operands.swap_remove(2);
                let on_true = operands.swap_remove(1);
                integer::select(&operands[0], on_true, on_false)
            }
            Op::Clamp => self.clamp(&written_out(operands)),
            Op::Reduce { dims, to_apply } => {
                reduce::reduce(self, instruction, dims, (*to_apply, &kernel.sums), operands, shapes)?
            }
            Op::ReduceWindow { window, to_apply } => {
                let of = (*to_apply, &kernel.sums);
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
            Op::Opaque(opaque) => return Err(refuse(instruction, format!("{} has no meaning here", opaque.name))),
            Op::Call { .. } => match self.library_function(instruction) {
                // Libraries are not called for arrays without elements.
                Some((backend, function)) if shapes.iter().all(|shape| shape.elements() > 0) => {
                    backend.call(function, written_out(operands), shapes)
                }
                _ => self.run(instruction, written_out(operands))?,
            },
            Op::Tuple | Op::GetTupleElement(_) | Op::While { .. } => self.run(instruction, written_out(operands))?,
        };
        Ok(Operand::whole(value))
    }

    /// The value of a list, a call or a loop.
    fn run(&self, instruction: &Instruction, operands: Vec<Value>) -> Result<Value, EvalError> {
        let mut machine = self;
        match domain::run(&mut machine, &instruction.op, operands)? {
            Ran::Value(value) => Ok(value),
            Ran::Endless => Err(refuse(instruction, "the loop does not end within the trip bound")),
            Ran::Open => unreachable!("numbers decide whether a loop goes on"),
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
        let unit = self.mode.dot(&DotSite::of(instruction, dtypes, &plan));
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
                Value::Integer(..) | Value::Pred(_) => integer::convert(side, dtype, &self.unit),
                float => float,
            }),
            _ => [lhs, rhs],
        };
        if let (Value::Double(a), Value::Double(b)) = (&lhs, &rhs) {
            return Ok(Value::double(multiply_reduce::in_f64(a, b, &plan)));
        }
        if let (Value::Integer(_, a), Value::Integer(_, b)) = (&lhs, &rhs) {
            return Ok(Value::integer(dtype, integer::dots(dtype, a, b, &plan)));
        }
        if dtype == DType::F64 {
            return Err(refuse(instruction, "a dot of narrower floats gives no f64"));
        }
        let matrix = self.mode.matrix_unit_for(instruction.tiling());
        let sum = self.mode.dot_kernel(instruction, dtypes, &plan);
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
