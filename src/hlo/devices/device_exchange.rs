//! `send` and `recv` between devices: a collective permute in two parts (FACTS 6.3). The pairs of
//! devices stand in `frontend_attributes` of both.

use std::borrow::Cow;

use crate::ast::{self, Computation, Instruction, Module, Operand, Operands};
use crate::fields::fields;
use crate::opcode::{Opcode, Outside};
use crate::view::Attributes;

/// The key of the pairs.
const PAIRS: &str = "_xla_send_recv_source_target_pairs";

/// The key of the iterations of a loop in which the devices exchange, which are not followed.
const ITERATIONS: &str = "_xla_send_recv_validation";

/// The pairs of devices between which a `send` or `recv` exchanges, as an attribute's value; `None` if it exchanges with a host.
pub(crate) fn pairs(instruction: &Instruction) -> Option<ast::Value> {
    let is_exchange = matches!(instruction.opcode, Opcode::Outside(Outside::Recv | Outside::Send));
    let text = is_exchange.then(|| field(instruction, PAIRS)).flatten()?;
    Some(if text == "{}" { ast::Value::Words(Vec::new()) } else { ast::Value::Braces(text) })
}

/// A field of `frontend_attributes`, without its quotation marks.
fn field(instruction: &Instruction, name: &str) -> Option<String> {
    let text = Attributes::of(instruction).inside_braces("frontend_attributes").ok().flatten()?;
    let found = fields(&text, ',').find(|(key, _)| *key == name);
    found.map(|(_, value)| value.trim_matches('"').to_string())
}

/// A module whose `recv`s between devices have as a second operand the data of the `send` that they meet: that of the same
/// computation, channel and pairs, the first of several with the first. One that meets none is left as it is.
pub(crate) fn join_exchanges(module: &Module) -> Cow<'_, Module> {
    let exchanges = |computation: &Computation| computation.instructions.iter().any(|one| pairs(one).is_some());
    if !module.computations.iter().any(exchanges) {
        return Cow::Borrowed(module);
    }
    let mut module = module.clone();
    module.computations.iter_mut().for_each(join);
    Cow::Owned(module)
}

/// The channel and the pairs of a `send` or `recv` between devices that exchange in every iteration.
fn meeting(instruction: &Instruction) -> Option<(String, String)> {
    // With bounds of iterations only some rounds of a loop exchange, which a collective permute does not say.
    let pairs = pairs(instruction).filter(|_| field(instruction, ITERATIONS).is_none())?;
    let channel = Attributes::of(instruction).word("channel_id").filter(|channel| *channel != "0");
    Some((channel.unwrap_or_default().to_string(), pairs.to_string()))
}

fn join(computation: &mut Computation) {
    let root = computation.instructions.get(computation.root).map(|root| root.name.clone());
    let named = |outside: Outside, computation: &Computation| -> Vec<(String, (String, String))> {
        let of_opcode = computation.instructions.iter().filter(|one| one.opcode == Opcode::Outside(outside));
        of_opcode.filter_map(|one| Some((one.name.clone(), meeting(one)?))).collect()
    };
    let mut sends = named(Outside::Send, computation);
    for (recv, key) in named(Outside::Recv, computation) {
        let Some(at) = sends.iter().position(|(_, other)| *other == key) else { continue };
        let (send, _) = sends.remove(at);
        meet(&mut computation.instructions, &recv, &send);
    }
    let root = root.and_then(|root| computation.instructions.iter().position(|one| one.name == root));
    computation.root = root.unwrap_or(computation.root);
}

/// Gives a `recv` the data of a `send`. It moves behind the data, unless what it gives is asked for before.
fn meet(instructions: &mut Vec<Instruction>, recv: &str, send: &str) {
    let place = |name: &str| instructions.iter().position(|one| one.name == name);
    let (Some(from), Some(send)) = (place(recv), place(send)) else { return };
    let Operands::Values(operands) = &instructions[send].operands else { return };
    let Some(data) = operands.first().cloned() else { return };
    let Some(behind) = place(&data.name) else { return };
    let takes = |one: &Instruction| match &one.operands {
        Operands::Values(operands) => operands.iter().any(|operand| operand.name == recv),
        Operands::Number(_) | Operands::Literal(_) => false,
    };
    // The permute goes behind the data that it sends. A user of the received value before that would come too early.
    if behind > from && instructions[from..=behind].iter().any(takes) {
        return;
    }
    let mut exchange = instructions.remove(from);
    if let Operands::Values(operands) = &mut exchange.operands {
        operands.push(Operand { shape: None, name: data.name });
    }
    // What stood behind it has moved up by one.
    instructions.insert(if behind > from { behind } else { from }, exchange);
}
