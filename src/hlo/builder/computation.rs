//! The instructions of a computation, one after the other.

use std::collections::HashMap;

use crate::ast::{self, Operands};
use crate::error::LowerError;
use crate::ir::{Binary, Fusion};
use crate::opcode::{Opcode, Product, Reduction};
use crate::written_shape::Elements;

use super::body::Body;
use super::emitter::{Emitter, Handlers};
use super::facts::unless_known::unless_known;
use super::lowered_value::Value;
use super::lowering::{Given, Lowering, OPERATIONS};
use super::parameter_list;
use super::surroundings::Scope;

type Result<T> = std::result::Result<T, LowerError>;

/// Calls inside calls.
const DEPTH: usize = 128;

/// The scope of a sum or of a product of complex numbers that no fusion holds, as older compilers leave them (FACTS 3.9), whose
/// parts are one code as those of a fusion are, and of a dot that is compiled along with a small loop.
fn code_of_its_own(lowering: &mut Lowering, instruction: &ast::Instruction, scope: &Scope) -> Option<Scope> {
    let is_code_of_its_own = match (&instruction.opcode, instruction.shape.is_complex()) {
        (Opcode::Reduction(Reduction::Reduce), _) | (Opcode::Binary(Binary::Multiply), true) => true,
        (Opcode::Product(Product::Dot), false) => scope.small_call,
        _ => false,
    };
    if !lowering.is_code || scope.fusion.is_some() || scope.mark.is_some() || !is_code_of_its_own {
        return None;
    }
    lowering.fusions += 1;
    let fusion =
        if scope.small_call { Fusion::SmallCall(lowering.fusions) } else { Fusion::Compiled(lowering.fusions) };
    Some(Scope { fusion: Some(fusion), ..scope.clone() })
}

/// Adds a computation's instructions to `body` and returns its root.
pub fn inline<'a>(
    handlers: &'static dyn Handlers,
    lowering: &mut Lowering<'a>,
    computation: &'a ast::Computation,
    given: Given,
    body: &mut Body,
    scope: &Scope,
) -> Result<Value> {
    let name = || computation.name.clone();
    let refuse = |why: String| Err(LowerError { at: computation.at, name: name(), why, is_unknown: false });
    if scope.depth > DEPTH {
        return refuse(format!("calls lie deeper than {DEPTH}"));
    }
    let mut values: HashMap<&str, (Value, &'a ast::Instruction)> =
        HashMap::with_capacity(computation.instructions.len());
    let firsts = parameter_list::firsts(computation, given, lowering.devices);
    for instruction in &computation.instructions {
        // A file whose calls double at each level would never end, though they may lay out nothing.
        let Some(left) = lowering.left.checked_sub(1) else {
            return refuse(format!("calls make more than {OPERATIONS} instructions"));
        };
        lowering.left = left;
        let (body, sources) = (&mut *body, Vec::new());
        let own = code_of_its_own(lowering, instruction, scope);
        let scope = own.as_ref().unwrap_or(scope);
        let settings = lowering.settings_of(instruction, scope);
        let asks = settings.is_some() && lowering.asks(instruction);
        let before = body.instructions.len();
        let (lowering, elements, device) = (&mut *lowering, Elements::Written, None);
        let mut emitter = Emitter { handlers, lowering, body, instruction, sources, scope, settings, elements, device };
        let value = match &instruction.operands {
            Operands::Number(number) => match given {
                Given::Arguments(list) => {
                    let argument = usize::try_from(*number).ok().and_then(|n| list.get(n)).cloned();
                    argument.ok_or_else(|| LowerError::new(instruction, "the caller gives no such argument"))?
                }
                _ => parameter_list::lower(&mut emitter, given, firsts.get(number).copied().unwrap_or_default())?,
            },
            Operands::Values(list) => {
                let mut operands = Vec::with_capacity(list.len());
                for operand in list {
                    let why = || LowerError::new(instruction, format!("{} is not defined before", operand.name));
                    let (value, source) = values.get(operand.name.as_str()).ok_or_else(why)?;
                    operands.push(value.clone());
                    emitter.sources.push(source);
                }
                unless_known(&mut emitter, operands, |e, operands| e.handlers.instruction(e, operands))?
            }
            Operands::Literal(literal) => {
                unless_known(&mut emitter, Vec::new(), |e, _| e.handlers.constant(e, literal))?
            }
        };
        let value = if asks { emitter.under_settings(value, before)? } else { value };
        values.insert(&instruction.name, (value, instruction));
    }
    match computation.instructions.get(computation.root).and_then(|root| values.remove(root.name.as_str())) {
        Some((root, _)) => Ok(root),
        None => refuse("the computation is empty".to_string()),
    }
}
