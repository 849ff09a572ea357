//! Operations that a compiler leaves to libraries, as calls of computations that define them.

use std::sync::Arc;

use crate::ir::{self, LibraryFunction, Op};
use crate::tensor::DType;

use super::body::Body;
use super::emitter::Emitter;
use super::lowered_value::Value;
use crate::error::LowerError;
use crate::origin::Origin;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers f32 operands to a call of the computation that `define` writes, marked with the library function that
/// computes it. If libraries are not asked for, or operands are of another type, the computation is inlined.
pub fn call(
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
    let mut inner = Emitter { body: &mut body, ..e.again() };
    let result = define(&mut inner, &parameters)?;
    let mut results = Vec::new();
    result.leaves(&mut results);
    let root = match results[..] {
        [one] => one,
        _ => {
            body.push_results(results.clone(), e.instruction.at, &e.lowering.computations).map_err(|why| e.fail(why))?
        }
    };
    let name = e.instruction.name.clone();
    let to_apply = e.add_computation(ir::Computation { name, instructions: body.instructions, root });
    let call = e.add(Op::Call { to_apply }, arguments, None)?;
    e.body.instructions[call].record(|compiled| compiled.library = Some(Arc::new(function)));
    if results.len() == 1 {
        return e.each_array(&result, &mut |_, _| Ok(call));
    }
    let mut next = 0;
    e.each_array(&result, &mut |e, _| {
        next += 1;
        e.add(Op::GetTupleElement(next - 1), vec![call], None)
    })
}
