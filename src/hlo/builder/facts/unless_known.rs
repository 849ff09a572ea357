//! Instructions that the tool assigns no semantics to, as opaque functions. They are for users that read a program and
//! do not run it.

use crate::ir::{self, Op, ValueId};

use crate::ast::{self, Attribute, Computation, Element, Operands};
use crate::builder::emitter::Emitter;
use crate::builder::lowered_value::Value;
use crate::builder::lowering::Lowering;
use crate::devices::device;
use crate::error::{LowerError, Unknown};
use crate::opcode::{Opcode, Single};
use crate::written_shape::{Elements, shape_of};

type Result<T> = std::result::Result<T, LowerError>;

/// Attributes that say nothing of what an instruction gives; those of a custom call that do are [`OF_CUSTOM_CALLS`].
const IGNORED: &[&str] =
    &["backend_config", "control-predecessors", "frontend_attributes", "metadata", "origin", "sharding"];

const OF_CUSTOM_CALLS: &[&str] = &["backend_config", "called_computations", "custom_call_target"];

/// Depth of nested calls whose text tells opaque instructions apart.
const DEPTH: usize = 2;

/// Lowers an instruction by `lower`. One without semantics becomes opaque values, if those are asked for.
pub fn unless_known<'a>(
    e: &mut Emitter<'_, 'a>,
    operands: Vec<Value>,
    lower: impl FnOnce(&mut Emitter<'_, 'a>, Vec<Value>) -> Result<Value>,
) -> Result<Value> {
    if e.lowering.unknown.is_none() {
        return lower(e, operands);
    }
    let before = e.body.instructions.len();
    match lower(e, operands.clone()) {
        Err(why) if why.is_unknown => {
            e.body.instructions.truncate(before);
            e.body.origins.truncate(before);
            opaque(e, &operands, why)
        }
        known => known,
    }
}

/// Everything once, in the file's order: a region may be read twice.
pub fn in_order(mut unknown: Vec<Unknown>) -> Vec<Unknown> {
    let place = |one: &Unknown| (one.at.line, one.at.column);
    unknown.sort_by_key(place);
    unknown.dedup_by_key(|one| place(one));
    unknown
}

fn opaque(e: &mut Emitter, operands: &[Value], why: LowerError) -> Result<Value> {
    let mut arrays = Vec::new();
    operands.iter().for_each(|operand| operand.leaves(&mut arrays));
    let instruction = e.instruction;
    let name = e.attributes().word("custom_call_target").unwrap_or(instruction.opcode.name()).to_string();
    let mut terms = terms(e.lowering, instruction, DEPTH);
    terms.extend(arrays.iter().map(|id| format!(" {}", e.shape(*id))));
    // An instruction that gives another value each time, or has no attributes, is known by its number.
    if arrays.is_empty() || instruction.opcode.refusal().is_some() {
        let is_alike =
            |one: &&ir::Instruction| matches!(&one.op, Op::Opaque(other) if other.name == name && other.part == 0);
        terms += &format!(" number {}", e.body.instructions.iter().filter(is_alike).count());
    }
    let differs = operands.iter().any(Value::differs) || device::tells(instruction);
    let devices = if differs { e.lowering.devices.count() } else { 1 };
    let mut call = UnlessKnownCall { arrays, devices, op: ir::Opaque { name: name.clone(), terms, part: 0 } };
    let value = call.whole(e).and_then(|()| call.value(e, &instruction.shape)).map_err(|_| why.clone())?;
    let unknown = Unknown { name: instruction.name.clone(), what: name, at: instruction.at, why: why.why };
    e.lowering.unknown.iter_mut().for_each(|list| list.push(unknown.clone()));
    Ok(value)
}

/// A call of something opaque.
struct UnlessKnownCall {
    arrays: Vec<ValueId>,
    /// Number of devices with a result of their own; 1 if the results are the same on all.
    devices: usize,
    /// Its next result.
    op: ir::Opaque,
}

impl UnlessKnownCall {
    /// Of several devices, each takes its result from one value that all operands decide: every result with all operands of all
    /// devices would grow with the square of the devices.
    fn whole(&mut self, e: &mut Emitter) -> Result<()> {
        if self.devices > 1 && self.arrays.len() > 1 {
            let Some(shape) = first_array(&e.instruction.shape) else { return Ok(()) };
            self.arrays = vec![self.array(e, shape)?];
            self.op.terms = format!("a part of {}", self.op.name);
        }
        Ok(())
    }

    fn value(&mut self, e: &mut Emitter, shape: &ast::Shape) -> Result<Value> {
        if let ast::Shape::Tuple(parts) = shape {
            return Ok(Value::Tuple(parts.iter().map(|part| self.value(e, part)).collect::<Result<_>>()?));
        }
        if shape.is_token() {
            return Ok(Value::Nothing);
        }
        let mut each = Vec::with_capacity(self.devices);
        for device in 0..self.devices {
            let e = &mut e.on_device((self.devices > 1).then_some(device));
            each.push(match shape.is_complex() {
                true => Value::Complex([self.array(e, shape)?, self.array(e, shape)?]),
                false => Value::Array(self.array(e, shape)?),
            });
        }
        Ok(if self.devices > 1 { Value::Devices(each) } else { each.swap_remove(0) })
    }

    fn array(&mut self, e: &mut Emitter, shape: &ast::Shape) -> Result<ValueId> {
        let shape = shape_of(e.instruction, shape, Elements::of(shape))?;
        let id = e.emit(Op::Opaque(self.op.clone()), self.arrays.clone(), Some(shape))?;
        self.op.part += 1;
        Ok(id)
    }
}

/// The first array of a shape.
fn first_array(shape: &ast::Shape) -> Option<&ast::Shape> {
    match shape {
        ast::Shape::Tuple(parts) => parts.iter().find_map(first_array),
        array => Some(array).filter(|array| !array.is_token()),
    }
}

/// Text of an instruction, without its name, its operands, and the attributes that concern its compilation.
fn terms(lowering: &Lowering, instruction: &ast::Instruction, depth: usize) -> String {
    let mut text = shape(&instruction.shape);
    let is_call = instruction.opcode == Opcode::Single(Single::CustomCall);
    let tells = |name: &str| if is_call { OF_CUSTOM_CALLS.contains(&name) } else { !IGNORED.contains(&name) };
    for attribute in instruction.attributes.iter().filter(|attribute| tells(&attribute.name)) {
        let called = called(lowering, attribute);
        text += &match (attribute.name.as_str(), &called[..]) {
            ("backend_config", _) => format!(" {}", config(&attribute.value)),
            (_, []) => format!(" {attribute}"),
            (name, _) if depth == 0 => format!(" {name}"),
            (name, called) => {
                let called: Vec<String> = called.iter().map(|one| body(lowering, one, depth - 1)).collect();
                format!(" {name}={}", called.join(","))
            }
        };
    }
    text
}

/// The configuration of a custom call; of a kernel's, the kernel: compilers add to the rest.
fn config(value: &ast::Value) -> String {
    let text = if let ast::Value::Text(text) = value { text.clone() } else { value.to_string() };
    let kernel = serde_json::from_str::<serde_json::Value>(&text).ok();
    kernel.and_then(|fields| fields.get("custom_call_config").map(ToString::to_string)).unwrap_or(text)
}

/// The computations that an attribute names.
fn called<'a>(lowering: &Lowering<'a>, attribute: &Attribute) -> Vec<&'a Computation> {
    let words = match &attribute.value {
        ast::Value::Word(word) => std::slice::from_ref(word),
        ast::Value::Words(words) => words,
        _ => &[],
    };
    words.iter().filter_map(|word| lowering.find(word.trim_start_matches('%'))).collect()
}

/// Text of a computation, without the names of its values.
fn body(lowering: &Lowering, computation: &Computation, depth: usize) -> String {
    let place = |name: &str| computation.instructions.iter().position(|one| one.name == name).unwrap_or_default();
    let instruction = |one: &ast::Instruction| {
        let operands = match &one.operands {
            Operands::Values(list) => list.iter().map(|of| place(&of.name).to_string()).collect::<Vec<_>>().join(","),
            Operands::Number(number) => number.to_string(),
            Operands::Literal(literal) => literal.to_string(),
        };
        format!("{} {}({operands})", terms(lowering, one, depth), one.opcode)
    };
    let list: Vec<String> = computation.instructions.iter().map(instruction).collect();
    format!("{{{}; {}}}", list.join("; "), computation.root)
}

/// A shape without layouts.
fn shape(of: &ast::Shape) -> String {
    match of {
        ast::Shape::Array { element, dims, .. } => {
            let element = match element {
                Element::Known(dtype) => dtype.name(),
                Element::Other(name) => name,
            };
            format!("{element}{dims:?}")
        }
        ast::Shape::Tuple(parts) => format!("({})", parts.iter().map(shape).collect::<Vec<_>>().join(", ")),
    }
}
