//! Copies and slices that run beside other work, and the pieces of memory in which the TPU compiler streams large operands
//! (FACTS 9).

use crate::ir::{Op, Shape, ValueId};
use crate::tensor::DType;

use crate::ast;
use crate::builder::Emitter;
use crate::builder::{Bytes, Value};
use crate::error::LowerError;
use crate::layout;
use crate::opcode::{Asynchronous, Opcode};
use crate::view::Attributes;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers the start or the end of an asynchronous operation. The start gives a tuple of its operands, its result and a
/// context; the end takes the result from it.
pub fn lower(e: &mut Emitter, part: Asynchronous, mut operands: Vec<Value>) -> Result<Value> {
    match part {
        // (destination, source, context), of which `copy-done` gives the destination.
        Asynchronous::CopyStart => {
            let source = operands.pop().ok_or_else(|| e.fail("the operand is missing"))?;
            Ok(Value::Tuple(vec![source.clone(), source, Value::Nothing]))
        }
        Asynchronous::CopyDone => match operands.pop() {
            Some(Value::Tuple(mut parts)) if !parts.is_empty() => Ok(parts.swap_remove(0)),
            _ => Err(e.fail("the operand is no copy-start")),
        },
        Asynchronous::AsyncStart => {
            let callee = e.attributes().callee("calls")?;
            begun(e, callee, operands)
        }
        Asynchronous::CallStart => {
            let callee = e.attributes().callee("to_apply")?;
            begun(e, callee, operands)
        }
        Asynchronous::SliceStart | Asynchronous::DynamicSliceStart => {
            let is_dynamic = part == Asynchronous::DynamicSliceStart;
            let result = slice(e, &operands, is_dynamic)?;
            Ok(Value::Tuple(vec![Value::Tuple(operands), result, Value::Nothing]))
        }
        Asynchronous::AsyncUpdate | Asynchronous::CallUpdate => update(e, operands),
        Asynchronous::AsyncDone | Asynchronous::CallDone | Asynchronous::DynamicSliceDone | Asynchronous::SliceDone => {
            match operands.pop() {
                Some(Value::Tuple(mut parts)) if parts.len() == 3 => match parts.swap_remove(1) {
                    Value::Nothing if e.instruction.shape.arrays() > 0 => {
                        Err(e.fail("neither the start of the call nor an update gives it operands"))
                    }
                    result => Ok(result),
                },
                _ => Err(e.fail("the operand is no beginning of an asynchronous operation")),
            }
        }
    }
}

/// The number of parameters of a computation.
fn parameters(computation: &ast::Computation) -> usize {
    computation.instructions.iter().filter(|one| matches!(one.operands, ast::Operands::Number(_))).count()
}

/// An asynchronous call with the operands that are given so far: without its result until an update gives the last of them
/// (FACTS 9.4).
fn begun(e: &mut Emitter, callee: &str, operands: Vec<Value>) -> Result<Value> {
    let called = e.lowering.computation(e.instruction, callee)?;
    // An update may give the rest: the call begins when the last operand is there.
    let result = match operands.len() < parameters(called) {
        true => Value::Nothing,
        false => e.inline_call(callee, &operands)?,
    };
    Ok(Value::Tuple(vec![Value::Tuple(operands), result, Value::Nothing]))
}

/// An update of a call that has started. Operands behind the call are those that the start and earlier updates have not given.
fn update(e: &mut Emitter, mut operands: Vec<Value>) -> Result<Value> {
    let more = operands.split_off(operands.len().min(1));
    let started = operands.pop().ok_or_else(|| e.fail("the operand is missing"))?;
    if more.is_empty() {
        return Ok(started);
    }
    let no_call = "the operand is no beginning of an asynchronous operation";
    let chain = chain(e);
    let Some(start) = chain.last().copied() else { return Err(e.fail(no_call)) };
    let Value::Tuple(parts) = started else { return Err(e.fail(no_call)) };
    let mut parts = parts.into_iter();
    let (Some(Value::Tuple(mut given)), Some(result)) = (parts.next(), parts.next()) else {
        return Err(e.fail(no_call));
    };
    if !matches!(result, Value::Nothing) {
        return Err(e.unknown(format!("{} has all of its operands: those of an update have no meaning", start.name)));
    }
    let attributes = Attributes::of(start);
    let callee = attributes.callee("calls").or_else(|_| attributes.callee("to_apply"))?;
    given.extend(more);
    let takes = parameters(e.lowering.computation(start, callee)?);
    if given.len() > takes {
        return Err(e.fail(format!("{} gets {} operands, and {callee} takes {takes}", start.name, given.len())));
    }
    // The call is the start's: its operations are under the settings of all these instructions.
    let (before, asks) = (e.body.instructions.len(), chain.iter().any(|one| e.lowering.asks(one)));
    let own = e.settings.clone();
    let of_chain = chain.iter().filter_map(|one| e.lowering.settings_of(one, e.scope));
    let mut all: Vec<_> = of_chain.chain(own).flat_map(|settings| settings.to_vec()).collect();
    all.sort();
    all.dedup();
    let settings = (!all.is_empty()).then(|| all.into());
    let mut call = Emitter { instruction: start, settings, sources: Vec::new(), ..e.again() };
    let begun = begun(&mut call, callee, given)?;
    if asks { call.under_settings(begun, before) } else { Ok(begun) }
}

/// The instructions from an update's operand back to the `async-start` or `call-start`; empty if there is no such start.
fn chain<'a>(e: &Emitter<'_, 'a>) -> Vec<&'a ast::Instruction> {
    let Some(mut found) = e.sources.first().copied() else { return Vec::new() };
    let holds = |computation: &&ast::Computation| computation.instructions.iter().any(|one| std::ptr::eq(one, found));
    let Some(computation) = e.lowering.module.computations.iter().find(holds) else { return Vec::new() };
    let mut chain = vec![found];
    let updates = [Asynchronous::AsyncUpdate, Asynchronous::CallUpdate].map(Opcode::Asynchronous);
    while updates.contains(&found.opcode) {
        let ast::Operands::Values(operands) = &found.operands else { return Vec::new() };
        let Some(first) = operands.first() else { return Vec::new() };
        let Some(next) = computation.instructions.iter().find(|one| one.name == first.name) else { return Vec::new() };
        found = next;
        chain.push(found);
    }
    let starts = [Asynchronous::AsyncStart, Asynchronous::CallStart].map(Opcode::Asynchronous);
    if starts.contains(&found.opcode) { chain } else { Vec::new() }
}

/// A slice of an array, or of its memory.
fn slice(e: &mut Emitter, operands: &[Value], is_dynamic: bool) -> Result<Value> {
    if let [Value::Bytes(whole)] = operands {
        let ranges = e.attributes().ranges("slice")?;
        let [[start, limit, 1]] = ranges[..] else {
            return Err(e.unknown_at("slice", "bytes are sliced in one piece"));
        };
        let begin = whole.range.start;
        let range = begin + start as u64..begin + limit as u64;
        if range.start > range.end || range.end > whole.range.end {
            return Err(e.refuse("slice", format!("the operand has {} bytes", whole.range.end - begin)));
        }
        return Ok(Value::Bytes(Box::new(Bytes { range, ..(**whole).clone() })));
    }
    let arrays = operands.iter().map(|operand| match operand {
        Value::Array(id) => Ok(*id),
        _ => Err(e.fail("an operand is a tuple, where an array is needed")),
    });
    let arrays: Vec<ValueId> = arrays.collect::<Result<_>>()?;
    let op = if is_dynamic {
        Op::DynamicSlice { sizes: e.attributes().numbers("dynamic_slice_sizes")? }
    } else {
        let ranges = e.attributes().ranges("slice")?;
        let part = |i: usize| ranges.iter().map(|r| r[i]).collect();
        Op::Slice { start: part(0), limit: part(1), stride: part(2) }
    };
    let result = e.emit(op, arrays, None)?;
    let claimed = e.claimed_shape()?;
    match &claimed {
        Shape::Tuple(parts) if parts.get(1) == Some(e.shape(result)) => Ok(Value::Array(result)),
        _ => Err(e.fail(format!("the result is {} by its operands, but {claimed} is claimed", e.shape(result)))),
    }
}

/// The memory of an array as bytes, if that is what a `bitcast` asks for: a list of as many bytes as a wider type takes, with the
/// padding of its layout.
pub fn bytes(e: &Emitter, operands: &[Value]) -> Option<Value> {
    let ([Value::Array(array)], Some(source)) = (operands, e.sources.first()) else { return None };
    let (own, claimed) = (e.shape(*array), e.claimed_shape().ok()?);
    let size = layout::places(own.dims(), source.shape.layout())? as u64 * u64::from(own.element_type().bits() / 8);
    // A `bitcast` to a list of bytes is the compiler's way to move an array in pieces; any other changes types.
    let is_list = matches!(claimed.dtype(), Some(DType::S8 | DType::U8)) && claimed.dims() == [size as usize];
    let is_wide = own.element_type().bits() > 8;
    let bytes = Bytes { array: *array, shape: source.shape.clone(), size, range: 0..size };
    (is_list && is_wide).then(|| Value::Bytes(Box::new(bytes)))
}

/// A shape with its layout, without the memory space.
#[derive(Clone, Copy, PartialEq)]
struct InMemory<'s> {
    element: &'s ast::Element,
    dims: &'s [u64],
    minor_to_major: &'s [u64],
    tiles: &'s [Vec<u64>],
}

impl InMemory<'_> {
    fn of(shape: &ast::Shape) -> Option<InMemory<'_>> {
        let ast::Shape::Array { element, dims, layout: Some(layout) } = shape else { return None };
        Some(InMemory { element, dims, minor_to_major: &layout.minor_to_major, tiles: &layout.tiles })
    }
}

/// `ConcatBitcast`: pieces that lie one behind the other in memory, as one array.
pub fn join(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let whole = InMemory::of(&e.instruction.shape).ok_or_else(|| e.fail("ConcatBitcast needs a layout"))?;
    let pieces: Vec<&Bytes> = operands
        .iter()
        .filter_map(|operand| if let Value::Bytes(piece) = operand { Some(&**piece) } else { None })
        .collect();
    if let (Some(first), true) = (pieces.first(), pieces.len() == operands.len()) {
        // Pieces in another order would be other numbers, of which nothing here knows the bits.
        let in_order = pieces.windows(2).all(|p| p[0].array == p[1].array && p[0].range.end == p[1].range.start);
        let is_all = first.range.start == 0 && pieces.last().is_some_and(|last| last.range.end == last.size);
        if !in_order || !is_all || InMemory::of(&first.shape) != Some(whole) {
            return Err(e.unknown("only the pieces of one array, in order and in its own layout, are supported"));
        }
        return Ok(Value::Array(first.array));
    }
    let InMemory { dims, minor_to_major, tiles, .. } = whole;
    let refused = "only pieces along the dim that varies most slowly in memory, of whole tiles, are supported";
    let dim = *minor_to_major.last().ok_or_else(|| e.unknown(refused))? as usize;
    // How many of the dim's elements lie in one tile.
    let tile = tiles.first().filter(|tile| tile.len() == dims.len()).map_or(1, |tile| tile[0]);
    let mut arrays = Vec::with_capacity(operands.len());
    for (operand, source) in operands.iter().zip(&e.sources) {
        let (Value::Array(id), Some(piece)) = (operand, InMemory::of(&source.shape)) else {
            return Err(e.unknown(refused));
        };
        // A piece that ends inside of a tile has padding behind it, which would lie in the middle of the whole.
        let whole_tiles = piece.dims.get(dim).is_some_and(|n| n.is_multiple_of(tile));
        // Other dims and types that differ, the concatenation refuses.
        if !whole_tiles || (piece.minor_to_major, piece.tiles) != (minor_to_major, tiles) {
            return Err(e.unknown(refused));
        }
        arrays.push(*id);
    }
    let claimed = e.claimed_shape()?;
    Ok(Value::Array(e.emit(Op::Concatenate { dim }, arrays, Some(claimed))?))
}
