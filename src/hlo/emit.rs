//! One instruction of a file on its way into a program: calls are inlined and tuples dissolve here; what the operations
//! over arrays become is said in `operation.rs`.

use std::sync::Arc;

use crate::ir::{self, Class, Compare, CompareOrder, ComputationId, Fusion, Op, Shape, ValueId};
use crate::tensor::{DTYPES, DType, Data, Tensor};

use super::ast::{self, Element, Layout};
use super::error::LowerError;
use super::lower::{Body, Lowering, Origin, Scope, Value};
use super::view::Attributes;
use super::{asynchronous, complex, fft, operation, rng_bit_generator, window_config};

type Result<T> = std::result::Result<T, LowerError>;

/// Elements of one array.
const ELEMENTS: u64 = 1 << 40;

/// One instruction of the file on its way into a body.
pub(super) struct Emitter<'e, 'a> {
    pub lowering: &'e mut Lowering<'a>,
    pub body: &'e mut Body,
    pub instruction: &'a ast::Instruction,
    /// The instructions that its operands name.
    pub sources: Vec<&'a ast::Instruction>,
    pub scope: &'e Scope,
    /// Whether one part of a complex value is being lowered, whose shape is written as that of the whole.
    pub part: bool,
}

impl<'a> Emitter<'_, 'a> {
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes::of(self.instruction)
    }

    pub fn fail(&self, why: impl ToString) -> LowerError {
        LowerError::new(self.instruction, why)
    }

    /// As [`Emitter::fail`], at the attribute that is at fault.
    pub fn refuse(&self, attribute: &str, why: impl ToString) -> LowerError {
        self.attributes().refuse(attribute, why)
    }

    pub fn shape(&self, id: ValueId) -> &Shape {
        &self.body.instructions[id].shape
    }

    /// The layout of an operand, where one is written.
    pub fn operand_layout(&self, operand: usize) -> Option<&'a Layout> {
        self.sources.get(operand).and_then(|source| source.shape.layout())
    }

    /// The result's shape as the file claims it, for results that are arrays or tuples of arrays.
    pub fn claimed_shape(&self) -> Result<Shape> {
        shape_of(self.instruction, &self.instruction.shape, self.part)
    }

    /// The region that an attribute names.
    pub fn region(&mut self, attribute: &str) -> Result<ComputationId> {
        self.lowering.region(self.instruction, attribute, false, self.scope.depth)
    }

    pub fn computation(&self, id: ComputationId) -> &ir::Computation {
        &self.lowering.computations[id]
    }

    /// Adds an operation; `shape` is its result's, where operands do not determine it.
    pub fn emit(&mut self, op: Op, operands: Vec<ValueId>, shape: Option<Shape>) -> Result<ValueId> {
        let Some(over) = self.scope.over.clone().filter(|over| !over.is_empty()) else {
            return self.add(op, operands, shape);
        };
        // A scalar computation that is mapped: each of its scalars is an array.
        if let Op::Constant(value) = &op {
            let spread = Shape::array(value.dtype(), &over);
            let scalar = self.add(op, operands, shape)?;
            return self.add(Op::Broadcast { dims: vec![] }, vec![scalar], Some(spread));
        }
        if !matches!(op.class(), Class::Elementwise | Class::Converts) && op != Op::Copy {
            return Err(self.fail("only elementwise operations can be mapped"));
        }
        let spread = shape.and_then(|s| s.dtype()).map(|dtype| Shape::array(dtype, &over));
        self.add(op, operands, spread)
    }

    fn add(&mut self, op: Op, operands: Vec<ValueId>, shape: Option<Shape>) -> Result<ValueId> {
        let name = match &self.scope.within {
            Some(within) => format!("{within}/{}", self.instruction.name),
            None => self.instruction.name.clone(),
        };
        let origin = Origin {
            name,
            at: self.instruction.at,
            op_name: self.attributes().op_name().or_else(|| self.scope.op_name.clone()),
            within: self.scope.within.clone(),
        };
        let added = self.body.push(op, operands, shape, &self.lowering.computations, origin);
        let id = added.map_err(|why| self.fail(why))?;
        self.body.instructions[id].fusion = self.scope.fusion;
        if let (Some(tiling), Some(k)) = (&self.scope.tiling, self.body.products(id)) {
            self.body.instructions[id].tiling = Some(Arc::new(tiling.of_k(k)));
        }
        Ok(id)
    }

    /// The zero of a type.
    pub fn zero(&mut self, dtype: DType) -> Result<ValueId> {
        let zero = if dtype.is_float() { Data::from_f64s(dtype, &[0.0]) } else { Data::from_i64s(dtype, &[0]) };
        let zero = zero.ok_or_else(|| self.fail(format!("{dtype} has no zero to fill up with")))?;
        self.emit(Op::Constant(Tensor::new(&[], zero)), vec![], None)
    }

    /// An array of zeros.
    pub fn zeros(&mut self, dtype: DType, dims: &[usize]) -> Result<ValueId> {
        let zero = self.zero(dtype)?;
        self.emit(Op::Broadcast { dims: vec![] }, vec![zero], Some(Shape::array(dtype, dims)))
    }

    /// A parameter, or one for each array of a tuple.
    pub fn parameter(&mut self, shape: &ast::Shape, next: &mut usize) -> Result<Value> {
        if let ast::Shape::Tuple(shapes) = shape {
            let parts = shapes.iter().map(|shape| self.parameter(shape, next));
            return Ok(Value::Tuple(parts.collect::<Result<_>>()?));
        }
        let shape = shape_of(self.instruction, shape, false)?;
        *next += 1;
        Ok(Value::Array(self.add(Op::Parameter(*next - 1), vec![], Some(shape))?))
    }

    pub fn instruction(&mut self, mut operands: Vec<Value>) -> Result<Value> {
        match self.instruction.opcode.as_str() {
            "fusion" => self.inline("calls", &operands),
            "call" | "map" => self.inline("to_apply", &operands),
            "tuple" => Ok(Value::Tuple(operands)),
            "get-tuple-element" => {
                let index = self.attributes().number("index")?;
                match operands.pop() {
                    Some(Value::Tuple(mut parts)) if index < parts.len() => Ok(parts.swap_remove(index)),
                    _ => Err(self.fail(format!("the operand is no tuple with an element {index}"))),
                }
            }
            "copy-start"
            | "copy-done"
            | "slice-start"
            | "slice-done"
            | "dynamic-slice-start"
            | "dynamic-slice-done"
            | "async-start"
            | "async-update"
            | "async-done" => asynchronous::lower(self, operands),
            "custom-call" if self.attributes().word("custom_call_target") == Some("ConcatBitcast") => {
                asynchronous::join(self, &operands)
            }
            "after-all" => Ok(Value::Nothing),
            "fft" => fft::lower(self, &operands),
            "rng-bit-generator" => rng_bit_generator::lower(self, &operands),
            "copy" | "opt-barrier" => {
                let op = if self.instruction.opcode == "copy" { Op::Copy } else { Op::OptimizationBarrier };
                let operand = operands.pop().ok_or_else(|| self.fail("the operand is missing"))?;
                let moved = self.each_array(&operand, &mut |emitter, id| emitter.emit(op.clone(), vec![id], None))?;
                // The TPU compiler fuses a conversion into the copy beside it.
                match moved {
                    Value::Array(id) => Ok(Value::Array(self.settled(id, &self.claimed_shape()?)?)),
                    other => Ok(other),
                }
            }
            "conditional" => self.conditional(&operands),
            "while" => {
                let state = operands.pop().ok_or_else(|| self.fail("the operand is missing"))?;
                let mut arrays = Vec::new();
                state.leaves(&mut arrays);
                // The state is a tuple, if only of one array.
                let body = self.lowering.region(self.instruction, "body", true, self.scope.depth)?;
                let op = Op::While { condition: self.region("condition")?, body };
                let looped = self.emit(op, arrays, None)?;
                let mut index = 0;
                self.each_array(&state, &mut |emitter, _| {
                    index += 1;
                    emitter.emit(Op::GetTupleElement(index - 1), vec![looped], None)
                })
            }
            "bitcast" => match asynchronous::bytes(self, &operands) {
                Some(bytes) => Ok(bytes),
                None if complex::takes(self, &operands) => complex::lower(self, operands),
                None => self.over_arrays(&operands),
            },
            _ if complex::takes(self, &operands) => complex::lower(self, operands),
            _ => self.over_arrays(&operands),
        }
    }

    /// What becomes of an operation over arrays.
    pub fn over_arrays(&mut self, operands: &[Value]) -> Result<Value> {
        let array = |value: &Value| match value {
            Value::Array(id) => Ok(*id),
            _ => Err(self.fail("an operand is a tuple, where an array is needed")),
        };
        let operands = operands.iter().map(array).collect::<Result<_>>()?;
        let result = operation::lower(self, operands)?;
        let claimed = self.claimed_shape()?;
        let (Shape::Tuple(parts), Shape::Tuple(claimed_parts)) = (self.shape(result), &claimed) else {
            return Ok(Value::Array(self.settled(result, &claimed)?));
        };
        if parts.len() != claimed_parts.len() {
            return Err(self.fail(format!("the shape is {} by its operands", self.shape(result))));
        }
        let parts = claimed_parts.iter().enumerate().map(|(index, claimed)| {
            let element = self.emit(Op::GetTupleElement(index), vec![result], None)?;
            Ok(Value::Array(self.settled(element, claimed)?))
        });
        Ok(Value::Tuple(parts.collect::<Result<_>>()?))
    }

    /// `result` in the claimed float type. Compiled programs mix float types in one operation: it is computed in the
    /// widest of them and its result is rounded to the claimed one.
    fn settled(&mut self, result: ValueId, claimed: &Shape) -> Result<ValueId> {
        let given = self.shape(result);
        let dims = self.scope.over.clone().filter(|_| claimed.dims().is_empty());
        let claimed = match (dims, claimed.dtype()) {
            (Some(dims), Some(dtype)) => Shape::Array { dtype, dims },
            _ => claimed.clone(),
        };
        if *given == claimed {
            return Ok(result);
        }
        let floats = [given, &claimed].into_iter().all(|s| s.dtype().is_some_and(DType::is_float));
        if floats && given.dims() == claimed.dims() {
            return self.add(Op::Convert, vec![result], Some(claimed));
        }
        Err(self.fail(format!("the shape is {given} by its operands, but {claimed} is claimed")))
    }

    /// Floats of several types brought to the widest of them.
    pub fn widest(&mut self, operands: &mut [ValueId]) -> Result<()> {
        let float = |e: &Self, id: ValueId| e.shape(id).dtype().filter(|d| d.is_float());
        let widest = operands.iter().filter_map(|id| float(self, *id)).max_by_key(|d| d.bits());
        for id in operands {
            if let (Some(widest), Some(own)) = (widest, float(self, *id))
                && own != widest
            {
                let shape = self.shape(*id).with_dtype(widest);
                *id = self.add(Op::Convert, vec![*id], Some(shape))?;
            }
        }
        Ok(())
    }

    /// The region that an attribute names, with f32 in the place of bf16.
    pub fn wide_region(&mut self, attribute: &str) -> Result<ComputationId> {
        let region = self.region(attribute)?;
        let wide = self.lowering.computations[region].widen();
        let found = self.lowering.computations.iter().position(|c| *c == wide);
        Ok(found.unwrap_or_else(|| {
            self.lowering.computations.push(wide);
            self.lowering.computations.len() - 1
        }))
    }

    /// What a computation makes of these arguments, in the place of the call.
    pub fn inline(&mut self, attribute: &str, arguments: &[Value]) -> Result<Value> {
        let name = self.attributes().callee(attribute)?;
        self.inlined_named(name, arguments)
    }

    fn inlined_named(&mut self, name: &str, arguments: &[Value]) -> Result<Value> {
        let callee = self.lowering.computation(self.instruction, name)?;
        let over = match self.instruction.opcode.as_str() {
            "map" => Some(self.claimed_shape()?.dims().to_vec()),
            _ => self.scope.over.clone(),
        };
        let scope = Scope {
            within: self.scope.within.clone().or_else(|| Some(self.instruction.name.clone())),
            op_name: self.attributes().op_name().or_else(|| self.scope.op_name.clone()),
            over,
            fusion: self.scope.fusion.or_else(|| self.begun_fusion()),
            tiling: window_config::tiling(&self.attributes()).map(Arc::new).or_else(|| self.scope.tiling.clone()),
            depth: self.scope.depth + 1,
        };
        self.lowering.inline(callee, Some(arguments), self.body, &scope)
    }

    /// The fusion that begins here; none for a call.
    fn begun_fusion(&mut self) -> Option<Fusion> {
        if self.instruction.opcode != "fusion" {
            return None;
        }
        self.lowering.fusions += 1;
        let of_kind = if self.attributes().word("kind") == Some("kCustom") { Fusion::Custom } else { Fusion::Compiled };
        Some(of_kind(self.lowering.fusions))
    }

    /// A choice between computations. Both worlds evaluate every branch, and then pick: no branch has effects. A
    /// predicate picks the first of two; an index out of range picks the last.
    fn conditional(&mut self, operands: &[Value]) -> Result<Value> {
        let Some((Value::Array(which), arguments)) = operands.split_first() else {
            return Err(self.fail("the first operand must be a predicate or an index"));
        };
        let attributes = self.attributes();
        let names: Vec<&str> = match attributes.words("branch_computations")? {
            Some(names) => names.iter().map(|name| name.trim_start_matches('%')).collect(),
            None => vec![attributes.callee("true_computation")?, attributes.callee("false_computation")?],
        };
        let by_predicate = self.shape(*which).dtype() == Some(DType::Pred);
        if names.is_empty() || names.len() != arguments.len() || by_predicate && names.len() != 2 {
            return Err(self.fail(format!("{} branches, but {} arguments", names.len(), arguments.len())));
        }
        let mut branches = Vec::new();
        for (name, argument) in names.into_iter().zip(arguments) {
            branches.push(self.inlined_named(name, std::slice::from_ref(argument))?);
        }
        let mut picked = branches.pop().ok_or_else(|| self.fail("no branch"))?;
        for (index, branch) in branches.iter().enumerate().rev() {
            let taken = if by_predicate { *which } else { self.equals(*which, index)? };
            let mut arrays = Vec::new();
            branch.leaves(&mut arrays);
            let mut arrays = arrays.into_iter();
            picked = self.each_array(&picked, &mut |emitter, other| {
                let array = arrays.next().ok_or_else(|| emitter.fail("the branches differ in their results"))?;
                let spread = emitter.shape(array).with_dtype(DType::Pred);
                let taken = emitter.emit(Op::Broadcast { dims: vec![] }, vec![taken], Some(spread))?;
                emitter.emit(Op::Select, vec![taken, array, other], None)
            })?;
        }
        Ok(picked)
    }

    /// Whether an integer scalar is this number.
    fn equals(&mut self, scalar: ValueId, number: usize) -> Result<ValueId> {
        let dtype = self.shape(scalar).element_type();
        let data = Data::from_i64s(dtype, &[number as i64]).ok_or_else(|| self.fail("the index is no integer"))?;
        let constant = self.emit(Op::Constant(Tensor::new(&[], data)), vec![], None)?;
        let equal = Op::Compare { direction: Compare::Eq, order: CompareOrder::Partial };
        self.emit(equal, vec![scalar, constant], None)
    }

    /// A value of the same structure, each array replaced by what `change` makes of it.
    fn each_array(
        &mut self,
        value: &Value,
        change: &mut dyn FnMut(&mut Self, ValueId) -> Result<ValueId>,
    ) -> Result<Value> {
        Ok(match value {
            Value::Array(id) => Value::Array(change(self, *id)?),
            Value::Complex([re, im]) => Value::Complex([change(self, *re)?, change(self, *im)?]),
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.each_array(part, change));
                Value::Tuple(parts.collect::<Result<_>>()?)
            }
            Value::Bytes(_) => return Err(self.fail("the bytes of an array are only sliced and put together again")),
            Value::Nothing => Value::Nothing,
        })
    }
}

/// A written shape with the element types that there is arithmetic for; of complex numbers that of one `part`.
fn shape_of(instruction: &ast::Instruction, shape: &ast::Shape, part: bool) -> Result<Shape> {
    match shape {
        ast::Shape::Array { element, dims, .. } => {
            let dtype = match element {
                Element::Known(dtype) => *dtype,
                Element::Other(name) if part && name == "c64" => DType::F32,
                Element::Other(name) if part && name == "c128" => DType::F64,
                Element::Other(name) => {
                    let known: Vec<&str> = DTYPES.iter().map(|d| d.name()).collect();
                    let why = format!("element type {name} is not supported; supported are {}", known.join(", "));
                    return Err(LowerError::new(instruction, why));
                }
            };
            let count = dims.iter().try_fold(1u64, |count, d| count.checked_mul(*d)).filter(|c| *c <= ELEMENTS);
            if count.is_none() {
                return Err(LowerError::new(instruction, format!("an array of more than {ELEMENTS} elements")));
            }
            let dims = dims.iter().map(|d| *d as usize).collect();
            Ok(Shape::Array { dtype, dims })
        }
        ast::Shape::Tuple(parts) => {
            let parts = parts.iter().map(|shape| shape_of(instruction, shape, part));
            Ok(Shape::Tuple(parts.collect::<Result<_>>()?))
        }
    }
}
