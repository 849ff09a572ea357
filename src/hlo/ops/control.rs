//! Loops and choices between computations.

use crate::ir::{Compare, CompareOrder, Op, ValueId};
use crate::tensor::DType;

use crate::ast::Position;
use crate::builder::Emitter;
use crate::builder::Value;
use crate::builder::fill::integer;
use crate::error::LowerError;
use crate::opcode::{Control, Opcode};

type Result<T> = std::result::Result<T, LowerError>;

/// Whether all devices take a loop or a choice together: in it they exchange values, or tell themselves apart.
pub fn is_together(e: &Emitter) -> Result<bool> {
    Ok(match &e.instruction.opcode {
        Opcode::Control(Control::While) => {
            let attributes = e.attributes();
            e.lowering.tells(&[attributes.callee("body")?, attributes.callee("condition")?])
        }
        Opcode::Control(Control::Conditional) => e.lowering.tells(&branches(e)?),
        _ => false,
    })
}

/// Lowers a call, a choice or a loop.
pub fn lower(e: &mut Emitter, control: Control, operands: Vec<Value>) -> Result<Value> {
    match control {
        Control::Call | Control::Map => e.inline("to_apply", &operands),
        Control::Conditional => choose(e, &operands),
        Control::Fusion => e.inline("calls", &operands),
        Control::While => repeat(e, operands),
    }
}

/// A loop.
fn repeat(e: &mut Emitter, mut operands: Vec<Value>) -> Result<Value> {
    let state = operands.pop().ok_or_else(|| e.fail("the operand is missing"))?;
    if is_together(e)? {
        return repeat_together(e, &state);
    }
    // The state is a tuple, if only of one array.
    let body = e.tuple_region("body")?;
    let op = Op::While { condition: e.region("condition")?, body };
    state_after(e, &state, op)
}

/// The state after a loop.
fn state_after(e: &mut Emitter, state: &Value, op: Op) -> Result<Value> {
    let mut arrays = Vec::new();
    state.leaves(&mut arrays);
    let looped = e.emit(op, arrays, None)?;
    let mut index = 0;
    e.each_array(state, &mut |emitter, _| {
        index += 1;
        emitter.emit(Op::GetTupleElement(index - 1), vec![looped], None)
    })
}

/// A loop whose body or condition lets devices exchange values: all of them take each step together, in one loop. What
/// differs after a step differs before the next.
fn repeat_together(e: &mut Emitter, state: &Value) -> Result<Value> {
    let devices = e.lowering.devices.count();
    let mut state = state.clone();
    let body = loop {
        let (mut body, given) = e.open_region("body", &state)?;
        let apart = state.apart_as(&given, devices);
        // What differs may make more differ in the next trip: until nothing new does, the body is read again.
        if count(&apart) == count(&state) {
            let mut arrays = Vec::new();
            given.apart_as(&state, devices).leaves(&mut arrays);
            let results = body.push_results(arrays, Position::default(), &e.lowering.computations);
            let results = results.map_err(|why| e.fail(why))?;
            break e.close_region("body", body, results)?;
        }
        state = apart;
    };
    let (condition, holds) = e.open_region("condition", &state)?;
    let Value::Array(holds) = holds else {
        // One loop stands for all devices: it has one number of trips.
        return Err(e.unknown("devices that exchange values in a loop must take as many steps: its condition differs"));
    };
    let condition = e.close_region("condition", condition, holds)?;
    state_after(e, &state, Op::While { condition, body })
}

/// Number of arrays in a value.
fn count(value: &Value) -> usize {
    let mut arrays = Vec::new();
    value.leaves(&mut arrays);
    arrays.len()
}

/// The computations that a conditional chooses from.
fn branches<'a>(e: &Emitter<'_, 'a>) -> Result<Vec<&'a str>> {
    let attributes = e.attributes();
    Ok(match attributes.words("branch_computations")? {
        Some(names) => names.iter().map(|name| name.trim_start_matches('%')).collect(),
        None => vec![attributes.callee("true_computation")?, attributes.callee("false_computation")?],
    })
}

/// A choice between computations. Both worlds evaluate every branch, and then pick: no branch has effects. A
/// predicate picks the first of two; an index out of range picks the last.
fn choose(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let Some((which, arguments)) = operands.split_first() else {
        return Err(e.fail("the first operand must be a predicate or an index"));
    };
    let which = match which {
        Value::Array(which) => *which,
        Value::Devices(_) => return Err(e.unknown("devices that exchange values in a branch must all take the same")),
        _ => return Err(e.fail("the first operand must be a predicate or an index")),
    };
    let names = branches(e)?;
    let by_predicate = e.shape(which).dtype() == Some(DType::Pred);
    if names.is_empty() || names.len() != arguments.len() || by_predicate && names.len() != 2 {
        return Err(e.fail(format!("{} branches, but {} arguments", names.len(), arguments.len())));
    }
    let mut branches = Vec::new();
    for (name, argument) in names.into_iter().zip(arguments) {
        branches.push(e.inline_call(name, std::slice::from_ref(argument))?);
    }
    if !branches.iter().any(Value::differs) {
        return pick(e, which, branches);
    }
    let mut each = Vec::new();
    for device in 0..e.lowering.devices.count() {
        each.push(pick(e, which, branches.iter().map(|branch| branch.on(device)).collect())?);
    }
    Ok(Value::of_devices(each))
}

/// The result that a predicate or an index picks from those of all branches.
fn pick(e: &mut Emitter, which: ValueId, mut branches: Vec<Value>) -> Result<Value> {
    let by_predicate = e.shape(which).dtype() == Some(DType::Pred);
    let mut picked = branches.pop().ok_or_else(|| e.fail("no branch"))?;
    // From the last branch on, which an index out of range picks.
    for (index, branch) in branches.iter().enumerate().rev() {
        let taken = if by_predicate { which } else { equals(e, which, index)? };
        let mut arrays = Vec::new();
        branch.leaves(&mut arrays);
        let mut arrays = arrays.into_iter();
        picked = e.each_array(&picked, &mut |emitter, other| {
            let array = arrays.next().ok_or_else(|| emitter.fail("the branches differ in their results"))?;
            let spread = emitter.shape(array).with_dtype(DType::Pred);
            let taken = emitter.emit(Op::Broadcast { dims: vec![] }, vec![taken], Some(spread))?;
            emitter.emit(Op::Select, vec![taken, array, other], None)
        })?;
    }
    Ok(picked)
}

/// Whether an integer scalar is this number.
fn equals(e: &mut Emitter, scalar: ValueId, number: usize) -> Result<ValueId> {
    let dtype = e.shape(scalar).element_type();
    let constant = integer(e, dtype, number as i64, &[]).map_err(|_| e.fail("the index is no integer"))?;
    let equal = Op::Compare { direction: Compare::Eq, order: CompareOrder::Partial };
    e.emit(equal, vec![scalar, constant], None)
}
