//! One instruction of a file on its way into a program: calls are inlined and tuples dissolve here; what the operations
//! over arrays become is said in `operation.rs`.

use std::sync::Arc;

use crate::budget;
use crate::ir::{self, Binary, Class, ComputationId, Fusion, Op, Setting, Shape, ValueId};
use crate::tensor::DType;

use super::ast::{self, Layout};
use super::error::LowerError;
use super::lower::{Body, Given, Lowering};
use super::lowered_value::Value;
use super::opcode::{Control, Identity, Opcode, Reinterpretation, Single, Token, Tuples};
use super::origin::Origin;
use super::surroundings::Scope;
use super::view::Attributes;
use super::written_shape::shape_of;
use super::{
    asynchronous, collective, complex, control, custom_call, device, fft, layout, manual, operation, rng_bit_generator,
    window_config,
};

type Result<T> = std::result::Result<T, LowerError>;

/// Operations that lowering may make of one computation.
pub(super) const OPERATIONS: usize = 1 << 20;

/// One instruction of the file on its way into a body.
pub(super) struct Emitter<'e, 'a> {
    pub lowering: &'e mut Lowering<'a>,
    pub body: &'e mut Body,
    pub instruction: &'a ast::Instruction,
    /// The instructions that its operands name.
    pub sources: Vec<&'a ast::Instruction>,
    pub scope: &'e Scope,
    /// Its settings that the machine does not follow, with those of all that surrounds it.
    pub settings: Option<Arc<[Setting]>>,
    /// Whether one part of a complex value is being lowered, whose shape is written as that of the whole.
    pub part: bool,
    /// The device that it is lowered for, where devices differ.
    pub device: Option<usize>,
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

    /// As [`Emitter::fail`], of something that has no meaning here.
    pub fn unknown(&self, why: impl ToString) -> LowerError {
        self.fail(why).unknown()
    }

    /// As [`Emitter::unknown`], at the attribute that tells of it.
    pub fn unknown_at(&self, attribute: &str, why: impl ToString) -> LowerError {
        self.refuse(attribute, why).unknown()
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

    /// The region that an attribute names; of complex numbers, what it does with one part of them.
    pub fn region(&mut self, attribute: &str) -> Result<ComputationId> {
        if self.part {
            let region = self.lowering.computation(self.instruction, self.attributes().callee(attribute)?)?;
            let is_sum =
                region.instructions.get(region.root).is_some_and(|root| root.opcode == Opcode::Binary(Binary::Add));
            if !is_sum || region.instructions.len() != 3 {
                return Err(self.unknown_at(attribute, "of regions over complex numbers sums are supported"));
            }
            let dtype = self.claimed_shape()?.element_type();
            return Ok(self.adder(dtype));
        }
        self.lowering.region(self.instruction, attribute, false, self.scope)
    }

    /// The region that adds two numbers of a type.
    pub fn adder(&mut self, dtype: DType) -> ComputationId {
        let scalar = || Shape::array(dtype, &[]);
        let parameter =
            |number: usize| ir::Instruction::new(format!("p{number}"), Op::Parameter(number), vec![], scalar());
        let sum = ir::Instruction::new("sum".to_string(), Op::Binary(Binary::Add), vec![0, 1], scalar());
        let instructions = vec![parameter(0), parameter(1), sum];
        let adder = ir::Computation { name: format!("add_{dtype}"), instructions, root: 2 };
        let found = self.lowering.computations.iter().position(|known| *known == adder);
        found.unwrap_or_else(|| {
            self.lowering.computations.push(adder);
            self.lowering.computations.len() - 1
        })
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
            return Err(self.unknown("only elementwise operations can be mapped"));
        }
        let spread = shape.and_then(|s| s.dtype()).map(|dtype| Shape::array(dtype, &over));
        self.add(op, operands, spread)
    }

    pub fn add(&mut self, op: Op, operands: Vec<ValueId>, shape: Option<Shape>) -> Result<ValueId> {
        let mut name = match &self.scope.within {
            Some(within) => format!("{within}/{}", self.instruction.name),
            None => self.instruction.name.clone(),
        };
        if let Some(device) = self.device {
            name += &format!("@{device}");
        }
        let origin = Origin {
            name,
            at: self.instruction.at,
            op_name: self.attributes().op_name().or_else(|| self.scope.op_name.clone()),
            within: self.scope.within.clone(),
        };
        if self.body.instructions.len() > OPERATIONS {
            return Err(self.fail(format!("it makes more than {OPERATIONS} operations")));
        }
        let added = self.body.push(op, operands, shape, &self.lowering.computations, origin);
        let id = added.map_err(|why| self.fail(why))?;
        self.note_double(id);
        if !self.shape(id).is_countable() {
            let (shape, most) = (self.shape(id), Shape::MOST_ELEMENTS);
            return Err(self.fail(format!("{shape} is an array of more than {most} elements, extents of 0 aside")));
        }
        self.body.instructions[id].fusion = self.scope.fusion;
        self.body.instructions[id].settings = self.settings.clone();
        let written = self.instruction.shape.layout();
        self.body.instructions[id].minor = layout::minor_dim(self.shape(id).dims(), written);
        if let Some(k) = self.body.products(id) {
            // An `fft` is a dot here alone.
            self.body.instructions[id].on_matrix_unit =
                self.lowering.for_tpu && self.instruction.opcode != Opcode::Single(Single::Fft);
            self.body.instructions[id].tiling = self.scope.tiling.as_ref().map(|tiling| Arc::new(tiling.of_k(k)));
        }
        Ok(id)
    }

    /// Asks for memory that lists of so many numbers of 8 bytes are about to take.
    pub fn reserve(&self, numbers: impl IntoIterator<Item = usize>) -> Result<()> {
        let what = || format!("a list of positions in {}", self.instruction.name);
        budget::reserve(budget::bytes_of(numbers, 8), what).map(drop).map_err(|error| self.fail(error))
    }

    /// Lowers an instruction, on all devices.
    pub fn instruction(&mut self, operands: Vec<Value>) -> Result<Value> {
        let opcode = &self.instruction.opcode;
        if let Some(why) = opcode.refusal() {
            return Err(self.unknown(format!("opcode `{opcode}` is not supported: {why}")));
        }
        match opcode {
            Opcode::Collective(collective) => return collective::lower(self, *collective, &operands),
            Opcode::CollectiveDone(end) => return collective::done(self, *end, &operands),
            Opcode::DeviceNumber(number) => return device::own_number(self, *number),
            Opcode::Single(Single::CustomCall) => {
                if let Some(value) = manual::of_target(self, &operands)? {
                    return Ok(value);
                }
            }
            _ => {}
        }
        if control::is_together(self)? || !device::is_apart(self, &operands) {
            return self.on_one(operands);
        }
        device::apart(self, &operands)
    }

    /// Lowers an instruction on one device, or on all devices alike.
    pub fn on_one(&mut self, mut operands: Vec<Value>) -> Result<Value> {
        match &self.instruction.opcode {
            Opcode::Asynchronous(part) => asynchronous::lower(self, *part, operands),
            Opcode::Control(control) => control::lower(self, *control, operands),
            Opcode::Identity(Identity::AddDependency) if !operands.is_empty() => Ok(operands.swap_remove(0)),
            Opcode::Identity(Identity::Copy | Identity::Domain) => self.identity(Op::Copy, operands),
            Opcode::Identity(Identity::OptBarrier) => self.identity(Op::OptimizationBarrier, operands),
            Opcode::Single(Single::CustomCall) => custom_call::lower(self, &operands),
            Opcode::Single(Single::Fft) => fft::lower(self, &operands),
            Opcode::Single(Single::RngBitGenerator) => rng_bit_generator::lower(self, &operands),
            Opcode::Token(Token::AfterAll | Token::CreateToken) => Ok(Value::Nothing),
            Opcode::Tuples(tuples) => self.tuples(*tuples, operands),
            Opcode::Reinterpretation(Reinterpretation::Bitcast) => match asynchronous::bytes(self, &operands) {
                Some(bytes) => Ok(bytes),
                None => self.elements(operands),
            },
            Opcode::Binary(_)
            | Opcode::ComplexPart(_)
            | Opcode::Decomposition(_)
            | Opcode::Elementwise(_)
            | Opcode::Indexed(_)
            | Opcode::Movement(_)
            | Opcode::Product(_)
            | Opcode::Ranking(_)
            | Opcode::Reduction(_)
            | Opcode::Reinterpretation(Reinterpretation::BitcastConvert)
            | Opcode::Unary(_) => self.elements(operands),
            Opcode::Collective(_)
            | Opcode::CollectiveDone(_)
            | Opcode::DeviceNumber(_)
            | Opcode::Identity(Identity::AddDependency)
            | Opcode::Other(_)
            | Opcode::Outside(_)
            | Opcode::Single(Single::Constant | Single::Parameter) => self.elements(operands),
        }
    }

    /// Lowers an operation on elements, of complex or of other numbers.
    fn elements(&mut self, operands: Vec<Value>) -> Result<Value> {
        if complex::takes(self, &operands) { complex::lower(self, operands) } else { self.over_arrays(&operands) }
    }

    /// A tuple, or an element of one.
    fn tuples(&mut self, tuples: Tuples, mut operands: Vec<Value>) -> Result<Value> {
        match tuples {
            Tuples::Tuple => Ok(Value::Tuple(operands)),
            Tuples::GetTupleElement => {
                let index = self.attributes().number("index")?;
                match operands.pop() {
                    Some(Value::Tuple(mut parts)) if index < parts.len() => Ok(parts.swap_remove(index)),
                    _ => Err(self.fail(format!("the operand is no tuple with an element {index}"))),
                }
            }
        }
    }

    /// The operand itself, each array of it by `op`.
    fn identity(&mut self, op: Op, mut operands: Vec<Value>) -> Result<Value> {
        let operand = operands.pop().ok_or_else(|| self.fail("the operand is missing"))?;
        let moved = self.each_array(&operand, &mut |emitter, id| emitter.emit(op.clone(), vec![id], None))?;
        // The TPU compiler fuses a conversion into the copy beside it.
        match moved {
            Value::Array(id) => Ok(Value::Array(self.settled(id, &self.claimed_shape()?)?)),
            other => Ok(other),
        }
    }

    /// Lowers an operation over arrays, with its results in the float types that the file claims.
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

    /// The result of a computation for these arguments, inlined in the place of the call.
    pub fn inline(&mut self, attribute: &str, arguments: &[Value]) -> Result<Value> {
        let name = self.attributes().callee(attribute)?;
        self.inline_call(name, arguments)
    }

    pub fn inline_call(&mut self, name: &str, arguments: &[Value]) -> Result<Value> {
        let over = match &self.instruction.opcode {
            Opcode::Control(Control::Map) => Some(self.claimed_shape()?.dims().to_vec()),
            _ => self.scope.over.clone(),
        };
        self.inline_within(name, arguments, over, None)
    }

    /// The result of a computation for these arguments, inlined element by element over the dims `over`, or in an
    /// exchange between devices.
    pub fn inline_within(
        &mut self,
        name: &str,
        arguments: &[Value],
        over: Option<Vec<usize>>,
        exchange: Option<Fusion>,
    ) -> Result<Value> {
        let callee = self.lowering.computation(self.instruction, name)?;
        let scope = Scope {
            within: self.scope.within.clone().or_else(|| Some(self.instruction.name.clone())),
            op_name: self.attributes().op_name().or_else(|| self.scope.op_name.clone()),
            over,
            fusion: exchange.or(self.scope.fusion).or_else(|| self.begun_fusion()),
            tiling: window_config::tiling(&self.attributes()).map(Arc::new).or_else(|| self.scope.tiling.clone()),
            small_call: self.scope.small_call || self.attributes().is_small_call(),
            settings: self.settings.as_deref().map(<[Setting]>::to_vec).unwrap_or_default(),
            depth: self.scope.depth + 1,
        };
        self.lowering.inline(callee, Given::Arguments(arguments), self.body, &scope)
    }

    /// The fusion that begins here; none for a call.
    fn begun_fusion(&mut self) -> Option<Fusion> {
        if self.instruction.opcode != Opcode::Control(Control::Fusion) {
            return None;
        }
        self.lowering.fusions += 1;
        let number = self.lowering.fusions;
        Some(match self.attributes().word("kind") {
            Some("kCustom") => Fusion::Custom { number, rounds: self.lowering.rounds },
            _ if self.scope.small_call => Fusion::SmallCall(number),
            _ => Fusion::Compiled(number),
        })
    }

    /// A value that this instruction gives, with its settings: what it only hands on, made before the instructions from `before`
    /// on, is copied, so that the settings are those of this use alone.
    pub fn under_settings(&mut self, value: Value, before: usize) -> Result<Value> {
        if value.has_bytes() {
            return Ok(value);
        }
        self.each_array(&value, &mut |e, id| if id < before { e.add(Op::Copy, vec![id], None) } else { Ok(id) })
    }

    /// A value of the same structure, each array replaced by what `change` makes of it.
    pub fn each_array(
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
            Value::Devices(each) => {
                let each = each.iter().map(|own| self.each_array(own, change));
                Value::Devices(each.collect::<Result<_>>()?)
            }
            Value::Bytes(_) => return Err(self.unknown("the bytes of an array are only sliced and put together again")),
            Value::Nothing => Value::Nothing,
        })
    }
}
