//! Parameters: one for each array that a file's parameter is made of, for each part of a complex number, and for each device
//! that has its own.

use std::collections::HashMap;

use crate::ir::Op;

use super::emitter::Emitter;
use super::lowered_value::Value;
use super::lowering::Given;
use crate::ast::{self, Computation, Operands};
use crate::devices::device::Devices;
use crate::error::LowerError;
use crate::written_shape::{Elements, shape_of};

type Result<T> = std::result::Result<T, LowerError>;

/// The numbers of a parameter's first array: among all arrays with complex numbers in two parts and what differs once for each
/// device, and among the arrays that the file names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct First {
    own: usize,
    named: usize,
}

/// Number of parameters of a shape on one device.
fn arrays(shape: &ast::Shape) -> usize {
    match shape {
        ast::Shape::Tuple(parts) => parts.iter().map(arrays).sum(),
        token if token.is_token() => 0,
        other => 1 + usize::from(other.is_complex()),
    }
}

/// Whether devices have arguments of their own: of a compiled program, or of one with replicas, where it is not marked as
/// `sharding={replicated}`. A program that is not cut into partitions yet takes whole arrays.
fn is_apart(parameter: &ast::Instruction, given: Given, devices: Devices) -> bool {
    let is_marked = |attribute: &ast::Attribute| {
        let words = if let ast::Value::Words(words) = &attribute.value { &words[..] } else { &[] };
        attribute.name == "sharding" && words.first().is_some_and(|word| word == "replicated")
    };
    let is_shared = devices.replicas == 1 && (!devices.are_cut || parameter.attributes.iter().any(is_marked));
    matches!(given, Given::Entry) && devices.count() > 1 && !is_shared
}

/// Number of each parameter's first array, by the parameter's number in the file.
pub fn firsts(computation: &Computation, given: Given, devices: Devices) -> HashMap<u64, First> {
    let parameters = computation.instructions.iter();
    let mut parameters: Vec<(u64, &ast::Instruction)> =
        parameters.filter_map(|i| if let Operands::Number(n) = i.operands { Some((n, i)) } else { None }).collect();
    parameters.sort_unstable_by_key(|(number, _)| *number);
    let mut next = First::default();
    let mut firsts = HashMap::new();
    for (number, parameter) in parameters {
        firsts.insert(number, next);
        let each = if is_apart(parameter, given, devices) { devices.count() } else { 1 };
        next.own += each * arrays(&parameter.shape);
        next.named += parameter.shape.arrays();
    }
    firsts
}

/// The parameter, from `first` on.
pub fn lower(e: &mut Emitter, given: Given, first: First) -> Result<Value> {
    let devices = e.lowering.devices;
    let count = if is_apart(e.instruction, given, devices) { devices.count() } else { 1 };
    let mut next = first;
    of_shape(e, &e.instruction.shape, &Apart { given, count }, None, &mut next)
}

/// A parameter with an array for each device.
struct Apart<'g> {
    given: Given<'g>,
    /// Number of copies of each array, if no state determines it.
    count: usize,
}

fn of_shape(
    e: &mut Emitter,
    shape: &ast::Shape,
    apart: &Apart,
    state: Option<&Value>,
    next: &mut First,
) -> Result<Value> {
    let state = match (state, apart.given) {
        (None, Given::Like(whole)) => Some(whole),
        _ => state,
    };
    if let ast::Shape::Tuple(shapes) = shape {
        let mut parts = Vec::with_capacity(shapes.len());
        for (index, shape) in shapes.iter().enumerate() {
            let own = match state {
                Some(Value::Tuple(values)) => values.get(index),
                _ => None,
            };
            if state.is_some() && own.is_none() {
                return Err(e.fail("the loop's state is another tuple"));
            }
            parts.push(of_shape(e, shape, apart, own, next)?);
        }
        return Ok(Value::Tuple(parts));
    }
    let name = format!("arg{}", next.named);
    next.named += 1;
    if shape.is_token() {
        return Ok(Value::Nothing);
    }
    let count = match state {
        Some(Value::Devices(each)) => each.len(),
        Some(_) => 1,
        None => apart.count,
    };
    let own = shape_of(e.instruction, shape, Elements::of(shape))?;
    let is_entry = matches!(apart.given, Given::Entry);
    let mut values = Vec::with_capacity(count);
    for device in 0..count {
        let name = if count > 1 { format!("{name}@{device}") } else { name.clone() };
        let e = &mut e.on_device((count > 1).then_some(device));
        let mut part = |e: &mut Emitter, suffix: &str| {
            next.own += 1;
            if is_entry {
                let names = &mut e.body.argument_names;
                names.resize(names.len().max(next.own), String::new());
                names[next.own - 1] = format!("{name}{suffix}");
            }
            e.add(Op::Parameter(next.own - 1), vec![], Some(own.clone()))
        };
        let value = match shape.is_complex() {
            true => Value::Complex([part(e, ".real")?, part(e, ".imag")?]),
            false => Value::Array(part(e, "")?),
        };
        values.push(value);
    }
    Ok(if count > 1 { Value::Devices(values) } else { values.swap_remove(0) })
}
