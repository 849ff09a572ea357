//! `X-start`, `X-update` and `X-done`, short for an asynchronous call of a computation that holds the operation X alone.
//!
//! Source: openxla/xla `hlo_parser.cc` (`async_wrapped_opcode`).

use crate::ast::{Attribute, Computation, Instruction, Operand, Operands, Shape, Value};
use crate::opcode::{Asynchronous, Opcode, Single};

/// Attributes of the call, not of the operation that it wraps.
const OF_CALL: [&str; 2] = ["async_execution_thread", "control-predecessors"];

/// Whether an opcode is short for a part of an asynchronous call.
pub(super) fn is_wrapped(opcode: &Opcode) -> bool {
    let Opcode::Other(name) = opcode else { return false };
    let known =
        |suffix: &str| name.strip_suffix(suffix).is_some_and(|base| !matches!(Opcode::from(base), Opcode::Other(_)));
    ["-start", "-update", "-done"].into_iter().any(known)
}

/// The instruction in its long form. `operands` are the shapes of its operands; the computation that a start calls goes to
/// `computations`.
pub(super) fn long_form(
    mut instruction: Instruction,
    operands: &[Shape],
    computations: &mut Vec<Computation>,
) -> Instruction {
    let Opcode::Other(name) = &instruction.opcode else { return instruction };
    let asynchronous = |part: Asynchronous| Opcode::Asynchronous(part);
    if name.ends_with("-update") {
        instruction.opcode = asynchronous(Asynchronous::AsyncUpdate);
        return instruction;
    }
    let Some(base) = name.strip_suffix("-start") else {
        instruction.opcode = asynchronous(Asynchronous::AsyncDone);
        return instruction;
    };
    // A start of another shape is refused where it is lowered.
    let Shape::Tuple(parts) = &instruction.shape else { return instruction };
    let Some(result) = parts.get(1).cloned() else { return instruction };
    let at = instruction.at;
    let (opcode, callee) = (Opcode::from(base), format!("{base}.at.{}.{}", at.line, at.column));
    let parameter = |(number, shape): (usize, &Shape)| Instruction {
        name: format!("operand.{number}"),
        shape: shape.clone(),
        opcode: Opcode::Single(Single::Parameter),
        operands: Operands::Number(number as u64),
        attributes: Vec::new(),
        at,
    };
    let mut instructions: Vec<Instruction> = operands.iter().enumerate().map(parameter).collect();
    let given = instructions.iter().map(|one| Operand { shape: None, name: one.name.clone() }).collect();
    let (mut own, wrapped) =
        instruction.attributes.into_iter().partition::<Vec<Attribute>, _>(|a| OF_CALL.contains(&a.name.as_str()));
    own.insert(0, Attribute { name: "calls".to_string(), value: Value::Word(callee.clone()), at });
    let operands = Operands::Values(given);
    instructions.push(Instruction {
        name: "wrapped".to_string(),
        shape: result,
        opcode,
        operands,
        attributes: wrapped,
        at,
    });
    let root = instructions.len() - 1;
    computations.push(Computation { name: callee, signature: None, instructions, root, attributes: Vec::new(), at });
    Instruction { opcode: asynchronous(Asynchronous::AsyncStart), attributes: own, ..instruction }
}
