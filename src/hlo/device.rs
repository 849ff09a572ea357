//! Programs for several devices, as one program: what differs between devices stands once for each, and what devices exchange
//! goes from one's values to another's (DESIGN, "Programs for several devices").

use crate::ir::Op;
use crate::tensor::DType;

use super::ast::{self, Module, Position};
use super::emit::Emitter;
use super::error::LowerError;
use super::fill::integer;
use super::lowered_value::Value;
use super::opcode::{Asynchronous, Control, DeviceNumber, Identity, Opcode, Tuples};
use super::{control, manual};

type Result<T> = std::result::Result<T, LowerError>;

/// Devices of a program, at most: each has its own copy of what differs.
const DEVICES: usize = 1024;

/// Number of devices that run a program: each of `replicas` in `partitions` parts. Device `replica * partitions +
/// partition` (XLA's flattened id) is one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Devices {
    pub replicas: usize,
    pub partitions: usize,
    /// Whether the program is cut into partitions: its arguments are what each has of an array, no whole arrays.
    pub are_cut: bool,
}

impl Devices {
    /// As the module's header says: `replica_count` and `num_partitions`, 1 where it says nothing.
    ///
    /// # Errors
    /// If there are more than [`DEVICES`], or a count is no number.
    pub fn of(module: &Module) -> Result<Devices> {
        let fail = |why: String| LowerError {
            at: Position { line: 1, column: 1 },
            name: module.name.clone(),
            why,
            is_unknown: false,
        };
        let count = |name: &str| {
            let Some(attribute) = module.attributes.iter().find(|a| a.name == name) else { return Ok(1) };
            let number = if let ast::Value::Word(word) = &attribute.value { word.parse().ok() } else { None };
            match number {
                Some(number) if (1..=DEVICES).contains(&number) => Ok(number),
                _ => Err(fail(format!("{name} is a number from 1 to {DEVICES}"))),
            }
        };
        let are_cut = module.is_compiled();
        let replicas = count("replica_count")?;
        let partitions = match manual::mesh_devices(module) {
            Some(partitions) if !are_cut => partitions,
            _ => count("num_partitions")?,
        };
        if replicas.saturating_mul(partitions) > DEVICES {
            return Err(fail(format!("{replicas} replicas of {partitions} partitions: {DEVICES} devices at most")));
        }
        Ok(Devices { replicas, partitions, are_cut })
    }

    pub fn count(self) -> usize {
        self.replicas * self.partitions
    }
}

/// For each computation, whether devices tell themselves apart in it or in what it calls: computations stand before those
/// that call them.
pub(super) fn tellers(module: &Module) -> Vec<bool> {
    let mut telling = std::collections::HashMap::new();
    let mut found = Vec::with_capacity(module.computations.len());
    for computation in &module.computations {
        let calls_one = |attribute: &ast::Attribute| match &attribute.value {
            ast::Value::Word(word) => telling.get(word.trim_start_matches('%')) == Some(&true),
            ast::Value::Words(words) => {
                words.iter().any(|word| telling.get(word.trim_start_matches('%')) == Some(&true))
            }
            _ => false,
        };
        let tells = |instruction: &ast::Instruction| {
            is_telling(&instruction.opcode) || instruction.attributes.iter().any(calls_one)
        };
        let tells_one = computation.instructions.iter().any(tells);
        found.push(tells_one);
        telling.insert(computation.name.as_str(), tells_one);
    }
    found
}

/// Whether by an operation of this opcode one device tells itself from another, or learns of another.
fn is_telling(opcode: &Opcode) -> bool {
    matches!(opcode, Opcode::DeviceNumber(_) | Opcode::Collective(_))
}

/// Whether an instruction itself lets devices tell themselves apart, or learn of another.
pub(super) fn tells(instruction: &ast::Instruction) -> bool {
    is_telling(&instruction.opcode) || instruction.opcode.refusal().is_some()
}

/// Whether an operation is lowered once for each device: it takes what differs between them, and does not hand it on.
pub(super) fn is_apart(e: &Emitter, operands: &[Value]) -> bool {
    operands.iter().any(Value::differs) && !hands_on(&e.instruction.opcode)
}

/// Whether an opcode hands on what each device has, or does something with one part after the other.
fn hands_on(opcode: &Opcode) -> bool {
    match opcode {
        Opcode::Asynchronous(
            Asynchronous::AsyncDone
            | Asynchronous::AsyncStart
            | Asynchronous::AsyncUpdate
            | Asynchronous::CallDone
            | Asynchronous::CallStart
            | Asynchronous::CopyDone
            | Asynchronous::CopyStart
            | Asynchronous::DynamicSliceDone
            | Asynchronous::SliceDone,
        )
        | Opcode::Control(Control::Call | Control::Fusion | Control::Map)
        | Opcode::Identity(Identity::Copy | Identity::Domain | Identity::OptBarrier)
        | Opcode::Tuples(Tuples::GetTupleElement | Tuples::Tuple) => true,
        Opcode::Asynchronous(Asynchronous::DynamicSliceStart | Asynchronous::SliceStart)
        | Opcode::Control(Control::Conditional | Control::While)
        | Opcode::Identity(Identity::AddDependency)
        | Opcode::Binary(_)
        | Opcode::Collective(_)
        | Opcode::CollectiveDone(_)
        | Opcode::ComplexPart(_)
        | Opcode::Decomposition(_)
        | Opcode::DeviceNumber(_)
        | Opcode::Elementwise(_)
        | Opcode::Indexed(_)
        | Opcode::Movement(_)
        | Opcode::Other(_)
        | Opcode::Outside(_)
        | Opcode::Product(_)
        | Opcode::Ranking(_)
        | Opcode::Reduction(_)
        | Opcode::Reinterpretation(_)
        | Opcode::Single(_)
        | Opcode::Token(_)
        | Opcode::Unary(_) => false,
    }
}

/// Lowers an operation once per device, on that device's operands.
pub(super) fn apart(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let mut each = Vec::new();
    for device in 0..e.lowering.devices.count() {
        e.device = Some(device);
        let own = e.on_one(operands.iter().map(|operand| operand.on(device)).collect());
        e.device = None;
        each.push(own?);
    }
    Ok(Value::of_devices(each))
}

/// `partition-id` or `replica-id`.
pub(super) fn own_number(e: &mut Emitter, number: DeviceNumber) -> Result<Value> {
    let Devices { replicas, partitions, .. } = e.lowering.devices;
    let is_partition = match number {
        DeviceNumber::PartitionId => true,
        DeviceNumber::ReplicaId => false,
    };
    let mut numbers = Vec::new();
    for number in 0..if is_partition { partitions } else { replicas } {
        numbers.push(Value::Array(integer(e, DType::U32, number as i64, &[])?));
    }
    let own = |device: usize| numbers[if is_partition { device % partitions } else { device / partitions }].clone();
    Ok(Value::of_devices((0..replicas * partitions).map(own).collect()))
}

/// A loop whose body or condition lets devices exchange values: all of them take each step together, in one loop. What
/// differs after a step differs before the next.
pub(super) fn repeat(e: &mut Emitter, state: &Value) -> Result<Value> {
    let devices = e.lowering.devices.count();
    let mut state = state.clone();
    let body = loop {
        let (mut body, given) = e.lowering.open_region(e.instruction, "body", &state, e.scope)?;
        let apart = state.apart_as(&given, devices);
        if count(&apart) == count(&state) {
            let mut arrays = Vec::new();
            given.apart_as(&state, devices).leaves(&mut arrays);
            let results = body.push_results(arrays, Position::default(), &e.lowering.computations);
            let results = results.map_err(|why| e.fail(why))?;
            break e.lowering.close_region(e.instruction, "body", body, results)?;
        }
        state = apart;
    };
    let (condition, holds) = e.lowering.open_region(e.instruction, "condition", &state, e.scope)?;
    let Value::Array(holds) = holds else {
        return Err(e.unknown("devices that exchange values in a loop must take as many steps: its condition differs"));
    };
    let condition = e.lowering.close_region(e.instruction, "condition", condition, holds)?;
    control::state_after(e, &state, Op::While { condition, body })
}

/// Number of arrays in a value.
fn count(value: &Value) -> usize {
    let mut arrays = Vec::new();
    value.leaves(&mut arrays);
    arrays.len()
}
