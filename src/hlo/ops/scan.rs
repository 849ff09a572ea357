//! `scan`: a computation over the slices of arrays, one after the other, with values that it carries from each step to the next.
//!
//! It is lowered to the loop that XLA's `ScanExpander` makes of it. Where `is_associative` lets a compiler combine elements in another
//! order, it is the running reduction that `ReduceWindowRewriter` makes, whose order is open. Source: openxla/xla
//! `hlo_evaluator.cc` (`HandleScan`), `scan_expander.cc`, `reduce_window_rewriter.cc`; FACTS 7.5.

use std::collections::BTreeSet;

use crate::ast;
use crate::builder::fill::integer;
use crate::builder::{Body, Emitter, Value};
use crate::error::LowerError;
use crate::ir::{self, Binary, Compare, CompareOrder, Op, Setting, Shape, ValueId, Window, WindowDim};
use crate::opcode::{Opcode, Single, Tuples};
use crate::tensor::{DType, Data, Tensor};
use crate::written_shape::{Elements, shape_of};

type Result<T> = std::result::Result<T, LowerError>;

/// A scan as its attributes and operands say.
struct ScanAttributes {
    /// The dim along which the inputs are cut.
    dim: usize,
    steps: usize,
    is_reverse: bool,
    inputs: Vec<Value>,
    carries: Vec<Value>,
    /// The outputs before the first step: zeros, each of which a step replaces.
    outputs: Vec<Value>,
}

/// Lowers a scan: the outputs of all steps side by side, then the values carried out of the last.
pub fn lower(e: &mut Emitter, operands: Vec<Value>) -> Result<Value> {
    let scan = read(e, operands)?;
    if e.lowering.tells(&[e.attributes().callee("to_apply")?]) {
        return Err(e.unknown("devices that exchange values in the steps of a scan are not supported"));
    }
    if scan.steps == 0 {
        return Ok(Value::of_parts(scan.outputs.into_iter().chain(scan.carries).collect()));
    }
    if e.attributes().flag("is_associative")? && !has_one_order(e, &scan)? {
        return in_any_order(e, &scan);
    }
    in_order(e, &scan)
}

fn read(e: &mut Emitter, operands: Vec<Value>) -> Result<ScanAttributes> {
    let attributes = e.attributes();
    let (dim, count) = (attributes.one_number("dimensions")?, attributes.number("num_carries")?);
    let is_reverse = attributes.flag("is_reverse")?;
    let Some(inputs) = operands.len().checked_sub(count).filter(|inputs| *inputs > 0) else {
        let why = format!("num_carries is {count}, and {} operands are given: a scan has an input", operands.len());
        return Err(e.refuse("num_carries", why));
    };
    let mut steps = None;
    for operand in &operands[..inputs] {
        let mut arrays = Vec::new();
        operand.leaves(&mut arrays);
        for id in arrays {
            let Some(extent) = e.shape(id).dims().get(dim).copied() else {
                return Err(e.refuse("dimensions", format!("an input is {}, which has no dim {dim}", e.shape(id))));
            };
            if *steps.get_or_insert(extent) != extent {
                return Err(e.fail(format!("the inputs have other numbers of steps along dim {dim}")));
            }
        }
    }
    let Some(steps) = steps else { return Err(e.fail("an input of a scan is an array")) };
    let mut inputs_and_carries = operands;
    let carries = inputs_and_carries.split_off(inputs);
    let claimed = match &e.instruction.shape {
        ast::Shape::Tuple(parts) => parts.iter().collect(),
        one => vec![one],
    };
    let Some(stacked) = claimed.len().checked_sub(count) else {
        return Err(e.fail(format!("{} results are claimed, and {count} values are carried", claimed.len())));
    };
    let mut outputs = Vec::with_capacity(stacked);
    for shape in &claimed[..stacked] {
        let output = zeros(e, shape)?;
        let mut arrays = Vec::new();
        output.leaves(&mut arrays);
        if let Some(id) = arrays.into_iter().find(|id| e.shape(*id).dims().get(dim) != Some(&steps)) {
            return Err(e.fail(format!("{} is claimed of {steps} steps along dim {dim}", e.shape(id))));
        }
        outputs.push(output);
    }
    Ok(ScanAttributes { dim, steps, is_reverse, inputs: inputs_and_carries, carries, outputs })
}

/// An array of zeros, of real or of complex numbers.
fn zeros(e: &mut Emitter, shape: &ast::Shape) -> Result<Value> {
    let part = shape_of(e.instruction, shape, Elements::of(shape))?;
    let Shape::Array { dtype, dims } = part else { return Err(e.fail("the outputs of a scan are arrays")) };
    Ok(match shape.is_complex() {
        true => Value::Complex([e.zeros(dtype, &dims)?, e.zeros(dtype, &dims)?]),
        false => Value::Array(e.zeros(dtype, &dims)?),
    })
}

/// The loop over the steps.
fn in_order(e: &mut Emitter, scan: &ScanAttributes) -> Result<Value> {
    let first = Value::Array(integer(e, DType::S64, 0, &[])?);
    let state: Vec<Value> = [vec![first], scan.inputs.clone(), scan.outputs.clone(), scan.carries.clone()].concat();
    let state = Value::Tuple(state);
    let mut arrays = Vec::new();
    state.leaves(&mut arrays);
    let shapes: Vec<Shape> = arrays.iter().map(|id| e.shape(*id).clone()).collect();
    let body = region(e, "body", &state, &shapes, |e, given| step(e, scan, given))?;
    let condition = region(e, "condition", &state, &shapes, |e, given| {
        let Some(Value::Array(place)) = given.first() else { return Err(e.fail("the state has no place")) };
        let steps = integer(e, DType::S64, scan.steps as i64, &[])?;
        let op = Op::Compare { direction: Compare::Lt, order: CompareOrder::Partial };
        e.emit(op, vec![*place, steps], Some(Shape::array(DType::Pred, &[])))
    })?;
    let looped = e.emit(Op::While { condition, body }, arrays, None)?;
    let mut index = 0;
    let last = e.each_array(&state, &mut |e, _| {
        index += 1;
        e.emit(Op::GetTupleElement(index - 1), vec![looped], None)
    })?;
    let Value::Tuple(mut parts) = last else { return Err(e.fail("the state is no tuple")) };
    Ok(Value::of_parts(parts.split_off(1 + scan.inputs.len())))
}

/// A computation over the state of the loop, whose root `make` gives.
fn region(
    e: &mut Emitter,
    name: &str,
    state: &Value,
    shapes: &[Shape],
    make: impl FnOnce(&mut Emitter, &[Value]) -> Result<ValueId>,
) -> Result<ir::ComputationId> {
    let name = format!("{}_{name}", e.instruction.name);
    let (mut body, scope) = (Body::default(), e.scope.of_region());
    let mut inner = Emitter { body: &mut body, scope: &scope, sources: Vec::new(), ..e.again() };
    let mut number = 0;
    let given = inner.each_array(state, &mut |e, _| {
        number += 1;
        e.add(Op::Parameter(number - 1), vec![], Some(shapes[number - 1].clone()))
    })?;
    let Value::Tuple(given) = given else { return Err(inner.fail("the state is no tuple")) };
    let root = make(&mut inner, &given)?;
    Ok(e.add_computation(ir::Computation { name, instructions: body.instructions, root }))
}

/// The state after one step: the place of the next, the inputs, the outputs with this step's, the values carried on.
fn step(e: &mut Emitter, scan: &ScanAttributes, given: &[Value]) -> Result<ValueId> {
    let (inputs, outputs) = (scan.inputs.len(), scan.outputs.len());
    let Some(Value::Array(count)) = given.first() else { return Err(e.fail("the state has no place")) };
    let place = if scan.is_reverse {
        let last = integer(e, DType::S64, scan.steps as i64 - 1, &[])?;
        e.emit(Op::Binary(Binary::Subtract), vec![last, *count], None)?
    } else {
        *count
    };
    let mut arguments = Vec::with_capacity(given.len());
    for input in &given[1..=inputs] {
        arguments.push(e.each_array(input, &mut |e, id| slice(e, id, place, scan.dim))?);
    }
    arguments.extend_from_slice(&given[1 + inputs + outputs..]);
    let results = match e.inline("to_apply", &arguments)? {
        Value::Tuple(parts) => parts,
        one => vec![one],
    };
    let expected = outputs + scan.carries.len();
    if results.len() != expected {
        return Err(e.refuse("to_apply", format!("it gives {} values, {expected} are claimed", results.len())));
    }
    let one = integer(e, DType::S64, 1, &[])?;
    let mut next = vec![e.emit(Op::Binary(Binary::Add), vec![*count, one], None)?];
    given[1..=inputs].iter().for_each(|input| input.leaves(&mut next));
    for (output, result) in given[1 + inputs..].iter().zip(&results[..outputs]) {
        let (mut whole, mut own) = (Vec::new(), Vec::new());
        output.leaves(&mut whole);
        result.leaves(&mut own);
        if whole.len() != own.len() {
            return Err(e.refuse("to_apply", "it gives values of other types than are claimed"));
        }
        for (whole, own) in whole.into_iter().zip(own) {
            next.push(update(e, whole, own, place, scan.dim)?);
        }
    }
    for (carry, result) in given[1 + inputs + outputs..].iter().zip(&results[outputs..]) {
        let (mut before, mut own) = (Vec::new(), Vec::new());
        carry.leaves(&mut before);
        result.leaves(&mut own);
        let is_alike = before.len() == own.len() && before.iter().zip(&own).all(|(a, b)| e.shape(*a) == e.shape(*b));
        if !is_alike {
            return Err(e.refuse("to_apply", "it carries on values of other shapes than it is given"));
        }
        next.extend(own);
    }
    let at = e.instruction.at;
    let results = e.body.push_results(next, at, &e.lowering.computations);
    results.map_err(|why| e.fail(why))
}

/// Start indices of a piece of an array: `place` along `dim`, 0 along the others.
fn starts(e: &mut Emitter, rank: usize, place: ValueId, dim: usize) -> Result<Vec<ValueId>> {
    let zero = integer(e, DType::S64, 0, &[])?;
    Ok((0..rank).map(|one| if one == dim { place } else { zero }).collect())
}

/// The piece of an array at a place along `dim`, without that dim.
fn slice(e: &mut Emitter, array: ValueId, place: ValueId, dim: usize) -> Result<ValueId> {
    let shape = e.shape(array).clone();
    let (mut sizes, mut rest) = (shape.dims().to_vec(), shape.dims().to_vec());
    sizes[dim] = 1;
    rest.remove(dim);
    let operands = [vec![array], starts(e, sizes.len(), place, dim)?].concat();
    let piece = e.emit(Op::DynamicSlice { sizes }, operands, None)?;
    e.emit(Op::Reshape, vec![piece], Some(Shape::array(shape.element_type(), &rest)))
}

/// The array with a piece replaced at a place along `dim`.
fn update(e: &mut Emitter, array: ValueId, piece: ValueId, place: ValueId, dim: usize) -> Result<ValueId> {
    let whole = e.shape(array).clone();
    let mut dims = whole.dims().to_vec();
    let Some(extent) = dims.get_mut(dim) else {
        return Err(e.refuse("dimensions", format!("an output is {whole}, which has no dim {dim}")));
    };
    *extent = 1;
    let one = Shape::array(whole.element_type(), &dims);
    let given = e.shape(piece).clone();
    let rest: Vec<usize> = dims.iter().enumerate().filter(|(at, _)| *at != dim).map(|(_, extent)| *extent).collect();
    if given != Shape::array(whole.element_type(), &rest) {
        return Err(e.refuse("to_apply", format!("a step gives {given}, and {whole} is claimed of all steps")));
    }
    let piece = e.emit(Op::Reshape, vec![piece], Some(one))?;
    let operands = [vec![array, piece], starts(e, dims.len(), place, dim)?].concat();
    e.emit(Op::DynamicUpdateSlice, operands, None)
}

/// Whether all orders of the steps' operations give the same bits: integers wrap, and a maximum is one of its operands.
fn has_one_order(e: &Emitter, scan: &ScanAttributes) -> Result<bool> {
    let callee = e.lowering.computation(e.instruction, e.attributes().callee("to_apply")?)?;
    let mut arrays = Vec::new();
    scan.inputs.iter().chain(&scan.carries).chain(&scan.outputs).for_each(|value| value.leaves(&mut arrays));
    let is_exact = |opcode: &Opcode| {
        matches!(
            opcode,
            Opcode::Single(Single::Parameter)
                | Opcode::Tuples(Tuples::Tuple)
                | Opcode::Binary(Binary::Maximum | Binary::Minimum)
        )
    };
    let is_float = |shape: &ast::Shape| matches!(shape, ast::Shape::Array { element: ast::Element::Known(dtype), .. } if dtype.is_float());
    let of_integers = arrays.iter().all(|id| !e.shape(*id).element_type().is_float())
        && !callee.instructions.iter().any(|instruction| is_float(&instruction.shape));
    Ok(of_integers || callee.instructions.iter().all(|instruction| is_exact(&instruction.opcode)))
}

/// The function whose running results an associative scan gives: `c = f(x, carried); (c, c)`.
fn running(e: &Emitter) -> Result<Option<Binary>> {
    let callee = e.lowering.computation(e.instruction, e.attributes().callee("to_apply")?)?;
    let operands = |instruction: &ast::Instruction| -> Vec<String> {
        match &instruction.operands {
            ast::Operands::Values(list) => list.iter().map(|operand| operand.name.clone()).collect(),
            _ => Vec::new(),
        }
    };
    let named = |name: &str| callee.instructions.iter().find(|instruction| instruction.name == name);
    let Some(root) = callee.instructions.get(callee.root) else { return Ok(None) };
    let both = operands(root);
    if root.opcode != Opcode::Tuples(Tuples::Tuple) || both.len() != 2 || both[0] != both[1] {
        return Ok(None);
    }
    let Some(function) = named(&both[0]) else { return Ok(None) };
    let given = operands(function);
    let is_parameter = |name: &String| named(name).is_some_and(|one| one.opcode == Opcode::Single(Single::Parameter));
    let of_both = given.len() == 2 && given[0] != given[1] && given.iter().all(is_parameter);
    Ok(match function.opcode {
        Opcode::Binary(binary @ (Binary::Add | Binary::Multiply)) if of_both => Some(binary),
        _ => None,
    })
}

/// The running sum or product of the carried value and the input, whose order is open.
fn in_any_order(e: &mut Emitter, scan: &ScanAttributes) -> Result<Value> {
    let refused = "a compiler may combine the elements of an associative scan in any order, which is followed for the running sum or \
                   product of one array";
    let (Some(binary), [Value::Array(input)], [Value::Array(carry)], [Value::Array(output)]) =
        (running(e)?, &scan.inputs[..], &scan.carries[..], &scan.outputs[..])
    else {
        return Err(e.unknown_at("is_associative", refused));
    };
    let (shape, dim, steps) = (e.shape(*input).clone(), scan.dim, scan.steps);
    if shape != *e.shape(*output) {
        return Err(e.fail(format!("the running result of {shape} has its shape, but {} is claimed", e.shape(*output))));
    }
    let dtype = shape.element_type();
    let slab = |extent: usize| {
        let mut dims = shape.dims().to_vec();
        dims[dim] = extent;
        Shape::array(dtype, &dims)
    };
    let reversed = |e: &mut Emitter, id: ValueId| match scan.is_reverse {
        true => e.emit(Op::Reverse { dims: vec![dim] }, vec![id], None),
        false => Ok(id),
    };
    let part = |e: &mut Emitter, id: ValueId, range: std::ops::Range<usize>| {
        let (mut start, mut limit) = (vec![0; shape.dims().len()], shape.dims().to_vec());
        (start[dim], limit[dim]) = (range.start, range.end);
        e.emit(Op::Slice { start, limit, stride: vec![1; shape.dims().len()] }, vec![id], None)
    };
    let first = e.emit(Op::Reshape, vec![*carry], Some(slab(1)))?;
    let input = reversed(e, *input)?;
    let all = e.emit(Op::Concatenate { dim }, vec![first, input], None)?;
    // What changes no element: a zero of the other sign would.
    let neutral = if binary == Binary::Add { -0.0 } else { 1.0 };
    let neutral = Data::from_f64s(dtype, &[neutral]).ok_or_else(|| e.fail("a running sum of floats is needed"))?;
    let neutral = e.emit(Op::Constant(Tensor::new(&[], neutral)), vec![], None)?;
    let window = (0..shape.dims().len()).map(|at| {
        let (size, low) = if at == dim { (steps + 1, steps as i64) } else { (1, 0) };
        WindowDim { size, pad_low: low, ..WindowDim::of_size(1) }
    });
    let op = Op::ReduceWindow { window: Window(window.collect()), to_apply: e.combiner(binary, dtype) };
    // A machine has one order, and a compiler the choice: another scan is only the same if it leaves the order open as well.
    let open = Setting::Other { name: "is_associative".to_string(), value: "true".to_string() };
    let own = e.settings.iter().flat_map(|settings| settings.iter().cloned());
    let settings: BTreeSet<Setting> = own.chain([open]).collect();
    let settings = Some(settings.into_iter().collect());
    let sums = Emitter { settings, ..e.again() }.emit(op, vec![all, neutral], None)?;
    let stacked = part(e, sums, 1..steps + 1)?;
    let stacked = reversed(e, stacked)?;
    let last = part(e, sums, steps..steps + 1)?;
    let carried = e.shape(*carry).clone();
    let last = e.emit(Op::Reshape, vec![last], Some(carried))?;
    Ok(Value::Tuple(vec![Value::Array(stacked), Value::Array(last)]))
}
