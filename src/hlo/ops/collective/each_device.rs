//! An operation that is lowered once for each device: what differs between devices stands once for each (docs/design/hlo.md,
//! "Programs for several devices").

use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::opcode::{Asynchronous, Control, Identity, Opcode, Tuples};

type Result<T> = std::result::Result<T, LowerError>;

/// Whether an operation is lowered once for each device: it takes what differs between them, and does not hand it on.
pub fn is_apart(e: &Emitter, operands: &[Value]) -> bool {
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
            | Asynchronous::CallUpdate
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
        | Opcode::BatchNorm(_)
        | Opcode::Binary(_)
        | Opcode::Collective(_)
        | Opcode::CollectiveDone(_)
        | Opcode::ComplexPart(_)
        | Opcode::Decomposition(_)
        | Opcode::DeviceNumber(_)
        | Opcode::Elementary(_)
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

/// Lowers an operation by `lower` once per device, on that device's operands.
pub fn apart(
    e: &mut Emitter,
    operands: &[Value],
    lower: impl Fn(&mut Emitter, Vec<Value>) -> Result<Value>,
) -> Result<Value> {
    let mut each = Vec::new();
    for device in 0..e.lowering.devices.count() {
        let own = operands.iter().map(|operand| operand.on(device)).collect();
        each.push(lower(&mut e.on_device(Some(device)), own)?);
    }
    Ok(Value::of_devices(each))
}
