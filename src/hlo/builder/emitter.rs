//! One instruction of a file on its way into a program: the operations that are added, with all that the file says of
//! them. The meaning of an opcode is not known here ([`Handlers`]).

use std::sync::Arc;

use crate::ast::{self, Layout, Literal};
use crate::budget;
use crate::error::LowerError;
use crate::ir::{self, Class, ComputationId, Op, Setting, Shape, ValueId};
use crate::layout;
use crate::opcode::{Opcode, Single};
use crate::origin::Origin;
use crate::settings::{self, Packed};
use crate::tensor::DType;
use crate::view::Attributes;
use crate::written_shape::{Elements, shape_of};

use super::body::Body;
use super::first_double;
use super::lowered_value::Value;
use super::lowering::{Lowering, OPERATIONS};
use super::surroundings::Scope;

type Result<T> = std::result::Result<T, LowerError>;

/// Handlers of opcodes. They stand above the builder, which calls them where a computation holds instructions.
pub trait Handlers: Sync {
    /// Lowers an instruction of these operands, on all devices.
    ///
    /// # Errors
    /// If it has no meaning, or contradicts itself.
    fn instruction(&self, e: &mut Emitter, operands: Vec<Value>) -> Result<Value>;

    /// Lowers an instruction over arrays of real numbers, with a result in the types that its operands give.
    ///
    /// # Errors
    /// As [`Handlers::instruction`].
    fn over_arrays(&self, e: &mut Emitter, operands: Vec<ValueId>) -> Result<ValueId>;

    /// Lowers a constant.
    ///
    /// # Errors
    /// As [`Handlers::instruction`].
    fn constant(&self, e: &mut Emitter, literal: &Literal) -> Result<Value>;
}

/// One instruction of the file on its way into a body.
pub struct Emitter<'e, 'a> {
    pub handlers: &'static dyn Handlers,
    pub lowering: &'e mut Lowering<'a>,
    pub body: &'e mut Body,
    pub instruction: &'a ast::Instruction,
    /// The instructions that its operands name.
    pub sources: Vec<&'a ast::Instruction>,
    pub scope: &'e Scope,
    /// Its settings that the machine does not follow, with those of all that surrounds it.
    pub settings: Option<Arc<[Setting]>>,
    /// The reading of its shape's element type.
    pub elements: Elements,
    /// The device that it is lowered for, where devices differ.
    pub device: Option<usize>,
}

impl<'a> Emitter<'_, 'a> {
    /// The same instruction for one part of complex numbers, until the emitter that is given back goes.
    pub fn of_one_part(&mut self) -> Emitter<'_, 'a> {
        Emitter { elements: Elements::OnePart, ..self.again() }
    }

    /// The same instruction for one device, or for all alike, until the emitter that is given back goes.
    pub fn on_device(&mut self, device: Option<usize>) -> Emitter<'_, 'a> {
        Emitter { device, ..self.again() }
    }

    /// The same instruction once more.
    pub fn again(&mut self) -> Emitter<'_, 'a> {
        Emitter {
            handlers: self.handlers,
            lowering: self.lowering,
            body: self.body,
            instruction: self.instruction,
            sources: self.sources.clone(),
            scope: self.scope,
            settings: self.settings.clone(),
            elements: self.elements,
            device: self.device,
        }
    }

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

    /// The operand of an operation of one.
    pub fn single(&self, operands: &[ValueId]) -> Result<ValueId> {
        match operands[..] {
            [one] => Ok(one),
            _ => Err(self.fail(format!("one operand is needed, {} are given", operands.len()))),
        }
    }

    /// The layout of an operand, where one is written.
    pub fn operand_layout(&self, operand: usize) -> Option<&'a Layout> {
        self.sources.get(operand).and_then(|source| source.shape.layout())
    }

    /// The result's shape as the file claims it, for results that are arrays or tuples of arrays.
    pub fn claimed_shape(&self) -> Result<Shape> {
        shape_of(self.instruction, &self.instruction.shape, self.elements)
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
        if self.lowering.double.is_none() {
            self.lowering.double = first_double::of(self.instruction, &self.sources, self.body, id);
        }
        if !self.shape(id).is_countable() {
            let (shape, most) = (self.shape(id), Shape::MOST_ELEMENTS);
            return Err(self.fail(format!("{shape} is an array of more than {most} elements, extents of 0 aside")));
        }
        let written = self.instruction.shape.layout();
        let minor = layout::minor_dim(self.shape(id).dims(), written);
        let products = self.body.products(id);
        // An `fft` is a dot here alone.
        let is_for_unit = self.lowering.for_tpu && self.instruction.opcode != Opcode::Single(Single::Fft);
        let is_packed = self.scope.packed == Packed::All && settings::has_code_of_its_own(&self.body.instructions[id]);
        let instruction = &mut self.body.instructions[id];
        instruction.mark = self.scope.mark.clone();
        instruction.settings = self.settings.clone();
        instruction.record(|compiled| {
            (compiled.fusion, compiled.minor, compiled.packed) = (self.scope.fusion, minor, is_packed);
            if let Some(k) = products {
                compiled.on_matrix_unit = is_for_unit;
                compiled.tiling = self.scope.tiling.as_ref().map(|tiling| Arc::new(tiling.of_k(k)));
            }
        });
        Ok(id)
    }

    /// Asks for memory that lists of so many numbers of 8 bytes are about to take.
    pub fn reserve(&self, numbers: impl IntoIterator<Item = usize>) -> Result<()> {
        let what = || format!("a list of positions in {}", self.instruction.name);
        budget::reserve(budget::bytes_of(numbers, 8), what).map(drop).map_err(|error| self.fail(error))
    }

    /// Lowers an operation over arrays, with its results in the float types that the file claims.
    pub fn over_arrays(&mut self, operands: &[Value]) -> Result<Value> {
        let array = |value: &Value| match value {
            Value::Array(id) => Ok(*id),
            // Some targets take tuples.
            _ if self.instruction.opcode == Opcode::Single(Single::CustomCall) => {
                Err(self.unknown("an operand of this custom call is a tuple"))
            }
            _ => Err(self.fail("an operand is a tuple, where an array is needed")),
        };
        let operands = operands.iter().map(array).collect::<Result<_>>()?;
        let result = self.handlers.over_arrays(self, operands)?;
        let claimed = self.claimed_shape()?;
        let (Shape::Tuple(parts), Shape::Tuple(claimed_parts)) = (self.shape(result), &claimed) else {
            return Ok(Value::Array(self.settle(result, &claimed)?));
        };
        if parts.len() != claimed_parts.len() {
            return Err(self.fail(format!("the shape is {} by its operands", self.shape(result))));
        }
        let parts = claimed_parts.iter().enumerate().map(|(index, claimed)| {
            let element = self.emit(Op::GetTupleElement(index), vec![result], None)?;
            Ok(Value::Array(self.settle(element, claimed)?))
        });
        Ok(Value::Tuple(parts.collect::<Result<_>>()?))
    }

    /// `result` in the claimed float type. Compiled programs mix float types in one operation: it is computed in the
    /// widest of them and its result is rounded to the claimed one.
    pub fn settle(&mut self, result: ValueId, claimed: &Shape) -> Result<ValueId> {
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

    /// A value that this instruction gives, with its settings: what it only hands on, made before the instructions from `before`
    /// on, is copied, so that the settings are those of this use alone. Of a token, of a piece of memory, and of an exchange with the
    /// world outside, they are the module's.
    pub fn under_settings(&mut self, value: Value, before: usize) -> Result<Value> {
        let mut arrays = Vec::new();
        value.leaves(&mut arrays);
        let holds_none = value.has_bytes() || arrays.is_empty();
        if holds_none || matches!(self.instruction.opcode, Opcode::Outside(_)) {
            self.lowering.of_no_array.extend(self.settings.iter().flat_map(|settings| settings.iter().cloned()));
        }
        if holds_none {
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
