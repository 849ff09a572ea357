//! The same bits seen as another type or another array: `bitcast` and `bitcast-convert`.

use crate::ir::{Binary, GatherDims, Op, Shape, ValueId};
use crate::tensor::{DType, Data, Tensor};

use crate::ast::Layout;
use crate::builder::Emitter;
use crate::builder::fill::integer;
use crate::error::LowerError;
use crate::layout;
use crate::opcode::Reinterpretation;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers either of them.
pub fn lower(
    e: &mut Emitter,
    reinterpretation: Reinterpretation,
    operands: &[ValueId],
    claimed: Shape,
) -> Result<ValueId> {
    let operand = e.single(operands)?;
    match reinterpretation {
        Reinterpretation::Bitcast => bitcast(e, operand, claimed),
        Reinterpretation::BitcastConvert => convert(e, operand, claimed),
    }
}

/// `bitcast-convert`. Between types of two widths an element of the wider one stands for a last dim of narrower ones, the
/// lowest bits first: integers are taken apart and put together by shifts.
pub fn convert(e: &mut Emitter, mut operand: ValueId, claimed: Shape) -> Result<ValueId> {
    let (mut from, to) = (e.shape(operand).element_type(), claimed.element_type());
    if from.bits() == to.bits() {
        return e.emit(Op::BitcastConvert, vec![operand], Some(claimed));
    }
    // A predicate is a byte, 0 or 1.
    if from == DType::Pred {
        (operand, from) = (e.convert(operand, DType::U8)?, DType::U8);
    }
    let unsigned = |e: &Emitter, dtype: DType| match dtype.bits() {
        _ if dtype == DType::Pred => {
            let why = format!(
                "bitcast-convert of {from} to predicates is not supported: a byte of it may be neither 0 nor 1"
            );
            Err(e.unknown(why))
        }
        1 => Ok(DType::U1),
        2 => Ok(DType::U2),
        4 => Ok(DType::U4),
        8 => Ok(DType::U8),
        16 => Ok(DType::U16),
        32 => Ok(DType::U32),
        _ => Ok(DType::U64),
    };
    let (from_bits, to_bits) = (unsigned(e, from)?, unsigned(e, to)?);
    let operand = bits_as(e, operand, from_bits)?;
    let dims = e.shape(operand).dims().to_vec();
    let result = if from.bits() < to.bits() {
        let parts = (to.bits() / from.bits()) as usize;
        let Some((&last, outer)) = dims.split_last().filter(|(last, _)| **last == parts) else {
            return Err(e.fail(format!("the last dim of {from} must have {parts} elements for each {to}")));
        };
        let mut whole = None;
        for part in 0..last {
            let (mut start, mut limit) = (vec![0; dims.len()], dims.clone());
            (start[outer.len()], limit[outer.len()]) = (part, part + 1);
            let part_of = Op::Slice { start, limit, stride: vec![1; dims.len()] };
            let lower = e.emit(part_of, vec![operand], None)?;
            let lower = e.emit(Op::Reshape, vec![lower], Some(Shape::array(from_bits, outer)))?;
            let wide = e.emit(Op::Convert, vec![lower], Some(Shape::array(to_bits, outer)))?;
            let raised = shifted(e, Binary::ShiftLeft, wide, part as u32 * from.bits())?;
            whole = Some(match whole {
                None => raised,
                Some(lower) => e.emit(Op::Binary(Binary::Or), vec![lower, raised], None)?,
            });
        }
        whole.ok_or_else(|| e.fail("no part"))?
    } else {
        let parts = (from.bits() / to.bits()) as usize;
        let beside = [dims.clone(), vec![1]].concat();
        let mut narrow = Vec::with_capacity(parts);
        for part in 0..parts {
            let lowered = shifted(e, Binary::ShiftRightLogical, operand, part as u32 * to.bits())?;
            let lowered = e.emit(Op::Convert, vec![lowered], Some(Shape::array(to_bits, &dims)))?;
            narrow.push(e.emit(Op::Reshape, vec![lowered], Some(Shape::array(to_bits, &beside)))?);
        }
        e.emit(Op::Concatenate { dim: dims.len() }, narrow, None)?
    };
    bits_as(e, result, to)
}

/// The bits as a type of the same width.
fn bits_as(e: &mut Emitter, value: ValueId, dtype: DType) -> Result<ValueId> {
    let shape = e.shape(value).with_dtype(dtype);
    if *e.shape(value) == shape { Ok(value) } else { e.emit(Op::BitcastConvert, vec![value], Some(shape)) }
}

/// All elements shifted by as many bits.
fn shifted(e: &mut Emitter, shift: Binary, value: ValueId, bits: u32) -> Result<ValueId> {
    if bits == 0 {
        return Ok(value);
    }
    let shape = e.shape(value).clone();
    let bits = integer(e, shape.element_type(), i64::from(bits), shape.dims())?;
    e.emit(Op::Binary(shift), vec![value, bits], None)
}

/// The same memory seen as another array: a reshape, or whatever the two layouts make of it.
fn bitcast(e: &mut Emitter, mut operand: ValueId, claimed: Shape) -> Result<ValueId> {
    let mut from = e.shape(operand).clone();
    let converted = from.dtype() != claimed.dtype();
    if let Some(dtype) = claimed.dtype().filter(|_| converted) {
        from = from.with_dtype(dtype);
        operand = e.emit(Op::BitcastConvert, vec![operand], Some(from.clone()))?;
    }
    if from.elements() == 0 && claimed.elements() == 0 {
        return e.emit(Op::Reshape, vec![operand], Some(claimed));
    }
    let (source, own) = (e.operand_layout(0), e.instruction.shape.layout());
    let tiles = |layout: Option<&Layout>| layout.is_some_and(|layout| !layout.tiles.is_empty());
    if let Some(seen) = seen_as(e, operand, &claimed, converted, [source, own])? {
        return Ok(seen);
    }
    // A value inside a fusion is in no memory, and may be written without the tiles that its user has: then the order of dims is
    // all that the two layouts say.
    if tiles(source) != tiles(own) {
        let [source, own] = [source, own].map(|layout| {
            layout.map(|layout| Layout { minor_to_major: layout.minor_to_major.clone(), ..Layout::default() })
        });
        if let Some(seen) = seen_as(e, operand, &claimed, converted, [source.as_ref(), own.as_ref()])? {
            return Ok(seen);
        }
    }
    Err(e.fail("the two layouts do not hold the same elements"))
}

/// A value's memory in the first of two layouts, seen as the claimed array in the second; `None` where they do not hold the same
/// elements. `converted` says that the value's bits are of another type in the file.
fn seen_as(
    e: &mut Emitter,
    mut operand: ValueId,
    claimed: &Shape,
    converted: bool,
    [source, own]: [Option<&Layout>; 2],
) -> Result<Option<ValueId>> {
    let from = e.shape(operand).clone();
    if let Some((dims, permutation)) = layout::as_transpose((from.dims(), source), (claimed.dims(), own)) {
        if permutation.is_sorted() && converted && from == *claimed {
            return Ok(Some(operand));
        }
        if !permutation.is_sorted() {
            let seen = Shape::array(from.element_type(), &dims);
            operand = e.emit(Op::Reshape, vec![operand], Some(seen))?;
            operand = e.emit(Op::Transpose { permutation }, vec![operand], None)?;
        }
        return e.emit(Op::Reshape, vec![operand], Some(claimed.clone())).map(Some);
    }
    // A position for each place of the operand, and for each element of the result, twice.
    let places = layout::places(from.dims(), source).unwrap_or_else(|| from.elements());
    e.reserve([places.saturating_add(2usize.saturating_mul(claimed.elements()))])?;
    let Some(moved) = layout::same_address((from.dims(), source), (claimed.dims(), own)) else { return Ok(None) };
    if moved.iter().enumerate().all(|(to, from)| to == *from) && moved.len() == from.elements() {
        if converted && from == *claimed {
            return Ok(Some(operand));
        }
        return e.emit(Op::Reshape, vec![operand], Some(claimed.clone())).map(Some);
    }
    // Element by element: the operand as a list, and the position of each result in it.
    let dtype = from.element_type();
    let list = e.emit(Op::Reshape, vec![operand], Some(Shape::array(dtype, &[from.elements()])))?;
    let positions: Vec<i64> = moved.iter().map(|from| *from as i64).collect();
    let positions = Data::from_i64s(DType::S64, &positions).map(|data| Tensor::new(claimed.dims(), data));
    let positions = positions.ok_or_else(|| e.fail("the result is no array"))?;
    let positions = e.emit(Op::Constant(positions), vec![], None)?;
    let gather = GatherDims {
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: claimed.dims().len(),
        slice_sizes: vec![1],
        ..GatherDims::default()
    };
    e.emit(Op::Gather(gather), vec![list, positions], Some(claimed.clone())).map(Some)
}
