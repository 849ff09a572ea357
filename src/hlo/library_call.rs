//! Operations that XLA:CPU leaves to libraries, as calls of computations that define them.

use std::sync::Arc;

use crate::ir::{self, LibraryFunction, Op};
use crate::tensor::DType;

use super::emit::Emitter;
use super::error::LowerError;
use super::lower::Body;
use super::lowered_value::Value;
use super::origin::Origin;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers f32 operands to a call of the computation that `define` writes, marked with the library function that
/// computes it. If libraries are not asked for, or operands are of another type, the computation is inlined.
pub(super) fn call(
    e: &mut Emitter,
    function: LibraryFunction,
    operands: &[Value],
    define: impl FnOnce(&mut Emitter, &[Value]) -> Result<Value>,
) -> Result<Value> {
    let mut arguments = Vec::new();
    operands.iter().for_each(|operand| operand.leaves(&mut arguments));
    let narrow = arguments.iter().any(|id| e.shape(*id).dtype() != Some(DType::F32));
    if !e.lowering.libraries || narrow {
        return define(e, operands);
    }
    let mut body = Body::default();
    for (number, id) in arguments.iter().enumerate() {
        let origin = Origin { name: format!("p{number}"), at: e.instruction.at, ..Origin::default() };
        let shape = e.shape(*id).clone();
        let added = body.push(Op::Parameter(number), vec![], Some(shape), &e.lowering.computations, origin);
        added.map_err(|why| e.fail(why))?;
    }
    let mut numbers = 0..;
    let mut parameter = |_: &mut Emitter, id| Ok(numbers.next().unwrap_or(id));
    let parameters =
        operands.iter().map(|operand| e.each_array(operand, &mut parameter)).collect::<Result<Vec<_>>>()?;
    let Emitter { instruction, scope, part, device, .. } = *e;
    let sources = e.sources.clone();
    let settings = e.settings.clone();
    let (lowering, body_of_call) = (&mut *e.lowering, &mut body);
    let mut inner = Emitter { lowering, body: body_of_call, instruction, sources, scope, settings, part, device };
    let result = define(&mut inner, &parameters)?;
    let mut results = Vec::new();
    result.leaves(&mut results);
    let root = match results[..] {
        [one] => one,
        _ => body.push_results(results.clone(), instruction.at, &e.lowering.computations).map_err(|why| e.fail(why))?,
    };
    e.lowering.computations.push(ir::Computation {
        name: instruction.name.clone(),
        instructions: body.instructions,
        root,
    });
    let to_apply = e.lowering.computations.len() - 1;
    let call = e.add(Op::Call { to_apply }, arguments, None)?;
    e.body.instructions[call].library = Some(Arc::new(function));
    if results.len() == 1 {
        return e.each_array(&result, &mut |_, _| Ok(call));
    }
    let mut index = 0..;
    e.each_array(&result, &mut |e, _| e.add(Op::GetTupleElement(index.next().unwrap_or(0)), vec![call], None))
}
