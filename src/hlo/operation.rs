//! What each opcode becomes.

use std::cmp::Ordering;

use crate::ir::{
    Binary, Class, Compare, CompareOrder, ComputationId, DotDims, GatherDims, Op, Precision, ScatterDims, Shape, Unary,
    ValueId, Window, WindowDim,
};
use crate::tensor::{DType, Data, Tensor};

use super::ast::Literal;
use super::emit::Emitter;
use super::error::LowerError;
use super::view::WindowSpec;
use super::{constant, convolution, custom_call, layout};

type Result<T> = std::result::Result<T, LowerError>;

/// `constant(...)`.
pub(super) fn constant(e: &mut Emitter, literal: &Literal) -> Result<ValueId> {
    let claimed = e.claimed_shape()?;
    let Shape::Array { dtype, dims } = &claimed else { return Err(e.fail("a constant tuple is not supported")) };
    let tensor = constant::tensor(literal, *dtype, dims).map_err(|why| e.fail(why))?;
    e.emit(Op::Constant(tensor), vec![], Some(claimed))
}

/// Any other operation over arrays.
pub(super) fn lower(e: &mut Emitter, operands: Vec<ValueId>) -> Result<ValueId> {
    let attributes = e.attributes();
    let claimed = e.claimed_shape()?;
    let opcode = e.instruction.opcode.as_str();
    if let Some(unary) = Unary::from_name(opcode) {
        return e.emit(Op::Unary(unary), operands, None);
    }
    if let Some(binary) = Binary::from_name(opcode) {
        let mut operands = operands;
        e.widest(&mut operands)?;
        let of_predicates = operands.iter().all(|o| e.shape(*o).dtype() == Some(DType::Pred));
        // Sums and products of predicates, as the TPU compiler puts padded parts together (XLA's evaluator).
        let binary = match binary {
            Binary::Add if of_predicates => Binary::Or,
            Binary::Multiply if of_predicates => Binary::And,
            _ => binary,
        };
        return e.emit(Op::Binary(binary), operands, None);
    }
    let op = match opcode {
        "broadcast" => return broadcast(e, operands, claimed),
        "bitcast" => return bitcast(e, operands, claimed),
        "dot" => return dot(e, operands, claimed),
        "convolution" => return convolution(e, operands, claimed),
        "custom-call" => return custom_call::lower(e, operands, claimed),
        "iota" => Op::Iota { dim: attributes.number("iota_dimension")? },
        "convert" => Op::Convert,
        "bitcast-convert" => Op::BitcastConvert,
        "reduce-precision" => {
            let bits = |name| attributes.number(name).map(|n| n as u32);
            Op::ReducePrecision { exponent_bits: bits("exponent_bits")?, mantissa_bits: bits("mantissa_bits")? }
        }
        "reshape" => Op::Reshape,
        "transpose" => Op::Transpose { permutation: attributes.numbers("dimensions")? },
        "slice" => {
            let ranges = attributes.ranges("slice")?;
            let part = |i: usize| ranges.iter().map(|r| r[i]).collect();
            Op::Slice { start: part(0), limit: part(1), stride: part(2) }
        }
        "concatenate" => Op::Concatenate { dim: one(e, "dimensions")? },
        "pad" => {
            let padding = attributes.padding("padding")?;
            Op::Pad {
                low: padding.iter().map(|p| p.0).collect(),
                high: padding.iter().map(|p| p.1).collect(),
                interior: padding.iter().map(|p| p.2).collect(),
            }
        }
        "reverse" => Op::Reverse { dims: attributes.numbers("dimensions")? },
        "dynamic-slice" => Op::DynamicSlice { sizes: attributes.numbers("dynamic_slice_sizes")? },
        "dynamic-update-slice" => Op::DynamicUpdateSlice,
        "gather" => Op::Gather(GatherDims {
            offset_dims: attributes.numbers("offset_dims")?,
            collapsed_slice_dims: attributes.numbers("collapsed_slice_dims")?,
            start_index_map: attributes.numbers("start_index_map")?,
            operand_batching_dims: attributes.numbers("operand_batching_dims")?,
            start_indices_batching_dims: attributes.numbers("start_indices_batching_dims")?,
            index_vector_dim: attributes.number("index_vector_dim")?,
            slice_sizes: attributes.numbers("slice_sizes")?,
        }),
        "compare" => {
            let direction = attributes.word("direction").unwrap_or_default();
            let direction = Compare::from_name(direction)
                .ok_or_else(|| e.refuse("direction", format!("unknown direction `{direction}`")))?;
            let order = match attributes.word("type") {
                Some("TOTALORDER") => CompareOrder::Total,
                _ => CompareOrder::Partial,
            };
            Op::Compare { direction, order }
        }
        "select" => Op::Select,
        "clamp" => Op::Clamp,
        "reduce" => {
            let dims = attributes.numbers("dimensions")?;
            return over_region(e, operands, Some, |to_apply| Op::Reduce { dims, to_apply });
        }
        "reduce-window" => {
            let window = attributes.window("window")?;
            if window.iter().any(|w| w.reversed) {
                return Err(e.refuse("window", "a reversed window is not supported"));
            }
            let window = Window(window.iter().map(window_dim).collect());
            return over_region(e, operands, Some, |to_apply| Op::ReduceWindow { window, to_apply });
        }
        "scatter" => {
            let dims = ScatterDims {
                update_window_dims: attributes.numbers("update_window_dims")?,
                inserted_window_dims: attributes.numbers("inserted_window_dims")?,
                scatter_dims_to_operand_dims: attributes.numbers("scatter_dims_to_operand_dims")?,
                input_batching_dims: attributes.numbers("input_batching_dims")?,
                scatter_indices_batching_dims: attributes.numbers("scatter_indices_batching_dims")?,
                index_vector_dim: attributes.number("index_vector_dim")?,
            };
            // N arrays, the indices, N updates: the region takes no index.
            let count = operands.len() / 2;
            let parameter = |operand: usize| match operand.cmp(&count) {
                Ordering::Less => Some(operand),
                Ordering::Equal => None,
                Ordering::Greater => Some(operand - 1),
            };
            return over_region(e, operands, parameter, |to_apply| Op::Scatter { dims, to_apply });
        }
        "sort" => {
            let (dim, stable) = (one(e, "dimensions")?, attributes.flag("is_stable")?);
            // Two parameters for each operand: the elements compared.
            return over_region(
                e,
                operands,
                |operand| Some(2 * operand),
                |to_apply| Op::Sort { dim, stable, to_apply },
            );
        }
        "topk" => Op::TopK { k: attributes.number("k")?, largest: attributes.flag("largest")? },
        other => return Err(e.fail(format!("opcode `{other}` is not supported"))),
    };
    let mut operands = operands;
    if let Op::Concatenate { .. } | Op::DynamicUpdateSlice = op {
        e.widest(&mut operands)?;
    }
    let claimed = if op.class() == Class::Moves { in_type_of(e, &operands, claimed) } else { claimed };
    e.emit(op, operands, Some(claimed))
}

/// What is claimed of elements that are only moved, in the float type they have: compiled programs widen or round them
/// on the way.
fn in_type_of(e: &Emitter, operands: &[ValueId], claimed: Shape) -> Shape {
    let own = operands.first().and_then(|operand| e.shape(*operand).dtype());
    match (own, claimed.dtype()) {
        (Some(own), Some(dtype)) if own.is_float() && dtype.is_float() => claimed.with_dtype(own),
        _ => claimed,
    }
}

/// A reduction, of windows or of whole dims, a scatter or a sort; where its operands and region differ in their float
/// types, in the widest. `parameter` tells which one of the region takes elements of an operand, the first if several do.
///
/// Modelling choice: a bf16 region over f32 operands, as the TPU compiler writes it (FACTS 9), sees them unrounded.
fn over_region(
    e: &mut Emitter,
    mut operands: Vec<ValueId>,
    parameter: impl Fn(usize) -> Option<usize>,
    op: impl FnOnce(ComputationId) -> Op,
) -> Result<ValueId> {
    let mut to_apply = e.region("to_apply")?;
    let takes: Vec<Option<DType>> =
        e.computation(to_apply).parameter_shapes().into_iter().map(|shape| shape.dtype()).collect();
    let other = |(number, operand): (usize, &ValueId)| {
        parameter(number).and_then(|p| takes.get(p)).is_some_and(|dtype| e.shape(*operand).dtype() != *dtype)
    };
    if operands.iter().enumerate().any(other) {
        to_apply = e.wide_region("to_apply")?;
        for operand in &mut operands {
            if e.shape(*operand).dtype() == Some(DType::BF16) {
                let wide = e.shape(*operand).widen();
                *operand = e.emit(Op::Convert, vec![*operand], Some(wide))?;
            }
        }
    }
    e.emit(op(to_apply), operands, None)
}

/// A list that must have one number.
fn one(e: &Emitter, attribute: &str) -> Result<usize> {
    match e.attributes().numbers(attribute)?[..] {
        [one] => Ok(one),
        _ => Err(e.refuse(attribute, format!("{attribute} must be one dim"))),
    }
}

fn window_dim(w: &WindowSpec) -> WindowDim {
    WindowDim {
        size: w.size,
        stride: w.stride,
        pad_low: w.pad.0,
        pad_high: w.pad.1,
        base_dilation: w.lhs_dilate,
        window_dilation: w.rhs_dilate,
    }
}

/// The two operands of an operation that has two.
fn pair(e: &Emitter, operands: &[ValueId]) -> Result<[ValueId; 2]> {
    operands.try_into().map_err(|_| e.fail(format!("two operands are needed, {} are given", operands.len())))
}

fn single(e: &Emitter, operands: &[ValueId]) -> Result<ValueId> {
    match operands[..] {
        [one] => Ok(one),
        _ => Err(e.fail(format!("one operand is needed, {} are given", operands.len()))),
    }
}

/// A broadcast whose dims are not ascending transposes as well.
fn broadcast(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let dims = e.attributes().numbers("dimensions")?;
    let mut operand = single(e, &operands)?;
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|i| dims[*i]);
    if !order.is_sorted() && order.len() == e.shape(operand).dims().len() {
        operand = e.emit(Op::Transpose { permutation: order.clone() }, vec![operand], None)?;
    }
    let dims = order.iter().map(|i| dims[*i]).collect();
    let claimed = in_type_of(e, &[operand], claimed);
    e.emit(Op::Broadcast { dims }, vec![operand], Some(claimed))
}

/// The same memory seen as another array: a reshape, or whatever the two layouts make of it.
fn bitcast(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let mut operand = single(e, &operands)?;
    let mut from = e.shape(operand).clone();
    let converted = from.dtype() != claimed.dtype();
    if let Some(dtype) = claimed.dtype().filter(|_| converted) {
        from = from.with_dtype(dtype);
        operand = e.emit(Op::BitcastConvert, vec![operand], Some(from.clone()))?;
    }
    let (source, own) = (e.operand_layout(0), e.instruction.shape.layout());
    let moved = layout::same_address((from.dims(), source), (claimed.dims(), own));
    let moved = moved.ok_or_else(|| e.fail("the two layouts do not hold the same elements"))?;
    if moved.iter().enumerate().all(|(to, from)| to == *from) && moved.len() == from.elements() {
        if converted && from == claimed {
            return Ok(operand);
        }
        return e.emit(Op::Reshape, vec![operand], Some(claimed));
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
    e.emit(Op::Gather(gather), vec![list, positions], Some(claimed))
}

/// The precision that the operation asks for, and whether its operands are rounded to bf16 first.
fn precision(e: &Emitter) -> Result<([Precision; 2], bool)> {
    let attributes = e.attributes();
    let known = [Precision::Default, Precision::High, Precision::Highest];
    let mut precision = [Precision::Default; 2];
    for (slot, word) in precision.iter_mut().zip(attributes.words("operand_precision")?.unwrap_or_default()) {
        let found = known.into_iter().find(|p| p.name() == word);
        *slot = found.ok_or_else(|| e.refuse("operand_precision", format!("unknown operand_precision `{word}`")))?;
    }
    match attributes.word("algorithm") {
        None | Some("dot_unset" | "unset") => Ok((precision, false)),
        Some("dot_bf16_bf16_f32") => Ok(([Precision::Default; 2], true)),
        Some("dot_bf16_bf16_f32_x3") => Ok(([Precision::High; 2], false)),
        Some("dot_bf16_bf16_f32_x6") => Ok(([Precision::Highest; 2], false)),
        Some(other) => {
            let known = "dot_bf16_bf16_f32, dot_bf16_bf16_f32_x3 and dot_bf16_bf16_f32_x6";
            Err(e.refuse("algorithm", format!("algorithm `{other}` is not supported; a TPU has {known}")))
        }
    }
}

fn dot(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let dims = DotDims {
        lhs_contracting: attributes.numbers("lhs_contracting_dims")?,
        rhs_contracting: attributes.numbers("rhs_contracting_dims")?,
        lhs_batch: attributes.numbers("lhs_batch_dims")?,
        rhs_batch: attributes.numbers("rhs_batch_dims")?,
    };
    let [lhs, rhs] = pair(e, &operands)?;
    product(e, dims, [lhs, rhs], Some(claimed))
}

/// A dot of two operands, rounded to bf16 first where the algorithm says so. Compiled programs mix float types, mask with
/// predicates and multiply by quantised integers: the operands are widened to one float type, exactly. Those of a dot of
/// integers are widened to the result's type, which it accumulates in.
fn product(e: &mut Emitter, dims: DotDims, mut operands: [ValueId; 2], shape: Option<Shape>) -> Result<ValueId> {
    let (precision, rounds) = precision(e)?;
    if rounds {
        for operand in &mut operands {
            let narrow = e.shape(*operand).with_dtype(DType::BF16);
            *operand = e.emit(Op::Convert, vec![*operand], Some(narrow))?;
        }
    }
    let float = operands.iter().filter_map(|o| e.shape(*o).dtype()).find(|dtype| dtype.is_float());
    for operand in &mut operands {
        let (Some(float), Some(dtype)) = (float, e.shape(*operand).dtype()) else { continue };
        // An integer of 8 bits is a number of any format with as many, sign included.
        let holds = float.format().is_some_and(|format| format.fraction_bits >= 7);
        if dtype == DType::Pred || dtype.is_integer() && dtype.bits() <= 8 && holds {
            let number = e.shape(*operand).with_dtype(float);
            *operand = e.emit(Op::Convert, vec![*operand], Some(number))?;
        }
    }
    let given = shape.as_ref().and_then(Shape::dtype).filter(|dtype| dtype.is_integer());
    for operand in &mut operands {
        if let (Some(given), Some(dtype)) = (given, e.shape(*operand).dtype())
            && dtype.is_integer()
            && dtype != given
        {
            let wide = e.shape(*operand).with_dtype(given);
            *operand = e.emit(Op::Convert, vec![*operand], Some(wide))?;
        }
    }
    e.widest(&mut operands)?;
    e.emit(Op::Dot { dims, precision }, operands.to_vec(), shape)
}

fn convolution(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let groups = |name: &str| if attributes.find(name).is_some() { attributes.number(name) } else { Ok(1) };
    let groups = [groups("feature_group_count")?, groups("batch_group_count")?];
    let [mut lhs, mut rhs] = pair(e, &operands)?;
    let labels = attributes.word("dim_labels").ok_or_else(|| e.fail("the attribute dim_labels is missing"))?;
    let window = attributes.window("window")?;
    let as_dot = convolution::as_dot(labels, &window, groups, e.shape(lhs).dims(), e.shape(rhs).dims());
    let as_dot = as_dot.map_err(|why| e.refuse(why.attribute(), why))?;
    for (dim, window) in &as_dot.windows {
        lhs = lay_out(e, lhs, *dim, window)?;
    }
    if !as_dot.reversed.is_empty() {
        rhs = e.emit(Op::Reverse { dims: as_dot.reversed }, vec![rhs], None)?;
    }
    let mut sides = [lhs, rhs];
    for (side, dims) in sides.iter_mut().zip(&as_dot.reshaped) {
        *side = reshaped(e, *side, dims)?;
    }
    // A result may be wider than its operands.
    let result = claimed.dtype().map(|dtype| Shape::array(dtype, &as_dot.given));
    let mut result = product(e, as_dot.dims, sides, result)?;
    if !as_dot.permutation.is_sorted() {
        result = e.emit(Op::Transpose { permutation: as_dot.permutation }, vec![result], None)?;
    }
    reshaped(e, result, &as_dot.output)
}

/// A value in other dims of as many elements; as it is where they are the same.
fn reshaped(e: &mut Emitter, value: ValueId, dims: &[usize]) -> Result<ValueId> {
    let shape = Shape::array(e.shape(value).element_type(), dims);
    if *e.shape(value) == shape { Ok(value) } else { e.emit(Op::Reshape, vec![value], Some(shape)) }
}

/// The elements under a window that moves along `dim`: the dim has the window's positions then, and a new last one the
/// elements under it.
fn lay_out(e: &mut Emitter, value: ValueId, dim: usize, window: &WindowSpec) -> Result<ValueId> {
    let rank = e.shape(value).dims().len();
    let at_dim = |given: i64| (0..rank).map(|d| if d == dim { given } else { 0 }).collect::<Vec<_>>();
    let dtype = e.shape(value).element_type();
    let zero = Data::from_f64s(dtype, &[0.0]).or_else(|| Data::from_i64s(dtype, &[0]));
    let zero = Tensor::new(&[], zero.ok_or_else(|| e.fail(format!("a convolution of {dtype}")))?);
    let zero = e.emit(Op::Constant(zero), vec![], None)?;
    let interior = at_dim(window.lhs_dilate as i64 - 1).into_iter().map(|n| n as usize).collect();
    let pad = Op::Pad { low: at_dim(window.pad.0), high: at_dim(window.pad.1), interior };
    let padded = e.emit(pad, vec![value, zero], None)?;
    let dims = e.shape(padded).dims().to_vec();
    let reach = (window.size - 1) * window.rhs_dilate;
    let mut columns = Vec::with_capacity(window.size);
    for offset in (0..=reach).step_by(window.rhs_dilate) {
        let (mut start, mut limit, mut stride) = (vec![0; rank], dims.clone(), vec![1; rank]);
        (start[dim], limit[dim], stride[dim]) = (offset, dims[dim] - reach + offset, window.stride);
        let column = e.emit(Op::Slice { start, limit, stride }, vec![padded], None)?;
        let positions = e.shape(column).dims().to_vec();
        columns.push(reshaped(e, column, &[positions, vec![1]].concat())?);
    }
    if columns.len() == 1 { Ok(columns[0]) } else { e.emit(Op::Concatenate { dim: rank }, columns, None) }
}
