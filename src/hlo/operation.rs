//! Lowering of each opcode.

use std::cmp::Ordering;

use crate::ir::{Binary, Compare, CompareOrder, ComputationId, GatherDims, Op, ScatterDims, Shape, ValueId};
use crate::tensor::{DType, Data, Tensor};

use super::ast::Literal;
use super::constant::LiteralError;
use super::emit::Emitter;
use super::error::LowerError;
use super::opcode::{
    Decomposition, Elementwise, Indexed, Movement, Opcode, Ranking, Reduction, Reinterpretation, Single,
};
use super::{bitcast, constant, custom_call, factorization, product, windows};

type Result<T> = std::result::Result<T, LowerError>;

/// `constant(...)`.
pub(super) fn constant(e: &mut Emitter, literal: &Literal) -> Result<ValueId> {
    let claimed = e.claimed_shape()?;
    let Shape::Array { dtype, dims } = &claimed else { return Err(e.unknown("a constant tuple is not supported")) };
    let tensor = constant::tensor(literal, *dtype, dims).map_err(|why| match why {
        LiteralError::Elided => e.unknown(why),
        why => e.fail(why),
    })?;
    e.emit(Op::Constant(tensor), vec![], Some(claimed))
}

/// Any other operation over arrays.
pub(super) fn lower(e: &mut Emitter, operands: Vec<ValueId>) -> Result<ValueId> {
    let claimed = e.claimed_shape()?;
    match &e.instruction.opcode {
        Opcode::Binary(binary) => of_two(e, *binary, operands),
        Opcode::Decomposition(Decomposition::Cholesky) => {
            let is_lower = e.attributes().flag("lower")?;
            factorization::cholesky(e, single(e, &operands)?, is_lower)
        }
        Opcode::Decomposition(Decomposition::TriangularSolve) => factorization::triangular_solve(e, &operands),
        Opcode::Elementwise(function) => elementwise(e, *function, operands, claimed),
        Opcode::Indexed(indexed) => at_indices(e, *indexed, operands, claimed),
        Opcode::Movement(movement) => moved(e, *movement, operands, claimed),
        Opcode::Product(product) => product::lower(e, *product, operands, claimed),
        Opcode::Ranking(ranking) => ranked(e, *ranking, operands, claimed),
        Opcode::Reduction(reduction) => reduced(e, *reduction, operands, claimed),
        Opcode::Reinterpretation(Reinterpretation::Bitcast) => {
            let operand = single(e, &operands)?;
            bitcast::bitcast(e, operand, claimed)
        }
        Opcode::Reinterpretation(Reinterpretation::BitcastConvert) => {
            let operand = single(e, &operands)?;
            bitcast::convert(e, operand, claimed)
        }
        Opcode::Single(Single::CustomCall) => custom_call::over_arrays(e, operands, claimed),
        Opcode::Unary(unary) => e.emit(Op::Unary(*unary), operands, None),
        // Those of other values than arrays, and those that have no meaning here.
        Opcode::Asynchronous(_)
        | Opcode::Collective(_)
        | Opcode::CollectiveDone(_)
        | Opcode::ComplexPart(_)
        | Opcode::Control(_)
        | Opcode::DeviceNumber(_)
        | Opcode::Identity(_)
        | Opcode::Other(_)
        | Opcode::Outside(_)
        | Opcode::Single(Single::Constant | Single::Fft | Single::Parameter | Single::RngBitGenerator)
        | Opcode::Token(_)
        | Opcode::Tuples(_) => {
            let opcode = &e.instruction.opcode;
            Err(e.unknown(format!("opcode `{opcode}` is not supported{}", opcode.hint())))
        }
    }
}

/// A function of two operands, in the widest of their float types.
fn of_two(e: &mut Emitter, binary: Binary, mut operands: Vec<ValueId>) -> Result<ValueId> {
    e.widest(&mut operands)?;
    let of_predicates = operands.iter().all(|o| e.shape(*o).dtype() == Some(DType::Pred));
    // Sums and products of predicates, as the TPU compiler puts padded parts together (XLA's evaluator).
    let binary = match binary {
        Binary::Add if of_predicates => Binary::Or,
        Binary::Multiply if of_predicates => Binary::And,
        _ => binary,
    };
    e.emit(Op::Binary(binary), operands, None)
}

/// Another function of elements.
fn elementwise(e: &mut Emitter, function: Elementwise, mut operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    match function {
        Elementwise::Clamp => {
            e.widest(&mut operands)?;
            e.emit(Op::Clamp, operands, None)
        }
        Elementwise::Compare => {
            let direction = attributes.word("direction").unwrap_or_default();
            let direction = Compare::from_name(direction)
                .ok_or_else(|| e.refuse("direction", format!("unknown direction `{direction}`")))?;
            let order = match attributes.word("type") {
                Some("TOTALORDER") => CompareOrder::Total,
                _ => CompareOrder::Partial,
            };
            e.emit(Op::Compare { direction, order }, operands, Some(claimed))
        }
        Elementwise::Convert => e.emit(Op::Convert, operands, Some(claimed)),
        Elementwise::ReducePrecision => {
            let bits = |name| attributes.number(name).map(|n| n as u32);
            let op =
                Op::ReducePrecision { exponent_bits: bits("exponent_bits")?, mantissa_bits: bits("mantissa_bits")? };
            e.emit(op, operands, Some(claimed))
        }
        Elementwise::Select if operands.len() == 3 => {
            e.widest(&mut operands[1..])?;
            e.emit(Op::Select, operands, None)
        }
        Elementwise::Select => e.emit(Op::Select, operands, Some(claimed)),
    }
}

/// Elements moved to places that the text says.
fn moved(e: &mut Emitter, movement: Movement, mut operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let op = match movement {
        Movement::Broadcast => return broadcast(e, operands, claimed),
        Movement::GetDimensionSize => return own_size(e, &operands, claimed),
        Movement::SetDimensionSize => return given_size(e, &operands),
        Movement::Iota => {
            let op = Op::Iota { dim: attributes.number("iota_dimension")? };
            return e.emit(op, operands, Some(claimed));
        }
        Movement::Concatenate => Op::Concatenate { dim: one(e, "dimensions")? },
        Movement::Pad => {
            let padding = attributes.padding("padding")?;
            Op::Pad {
                low: padding.iter().map(|p| p.0).collect(),
                high: padding.iter().map(|p| p.1).collect(),
                interior: padding.iter().map(|p| p.2).collect(),
            }
        }
        Movement::Reshape => Op::Reshape,
        Movement::Reverse => Op::Reverse { dims: attributes.numbers("dimensions")? },
        Movement::Slice => {
            let ranges = attributes.ranges("slice")?;
            let part = |i: usize| ranges.iter().map(|r| r[i]).collect();
            Op::Slice { start: part(0), limit: part(1), stride: part(2) }
        }
        Movement::Transpose => Op::Transpose { permutation: attributes.numbers("dimensions")? },
    };
    if matches!(movement, Movement::Concatenate | Movement::Pad) {
        e.widest(&mut operands)?;
    }
    let claimed = in_type_of(e, &operands, claimed);
    e.emit(op, operands, Some(claimed))
}

/// Elements taken from, or put at, places that are computed.
fn at_indices(e: &mut Emitter, indexed: Indexed, mut operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let op = match indexed {
        Indexed::DynamicSlice => Op::DynamicSlice { sizes: attributes.numbers("dynamic_slice_sizes")? },
        Indexed::DynamicUpdateSlice => {
            e.widest(&mut operands)?;
            Op::DynamicUpdateSlice
        }
        Indexed::Gather => Op::Gather(GatherDims {
            offset_dims: attributes.numbers("offset_dims")?,
            collapsed_slice_dims: attributes.numbers("collapsed_slice_dims")?,
            start_index_map: attributes.numbers("start_index_map")?,
            operand_batching_dims: attributes.numbers("operand_batching_dims")?,
            start_indices_batching_dims: attributes.numbers("start_indices_batching_dims")?,
            index_vector_dim: attributes.number("index_vector_dim")?,
            slice_sizes: attributes.numbers("slice_sizes")?,
        }),
        Indexed::Scatter => return scatter(e, operands),
    };
    let claimed = in_type_of(e, &operands, claimed);
    e.emit(op, operands, Some(claimed))
}

/// N arrays, the indices, N updates, combined by a region.
fn scatter(e: &mut Emitter, operands: Vec<ValueId>) -> Result<ValueId> {
    let attributes = e.attributes();
    let dims = ScatterDims {
        update_window_dims: attributes.numbers("update_window_dims")?,
        inserted_window_dims: attributes.numbers("inserted_window_dims")?,
        scatter_dims_to_operand_dims: attributes.numbers("scatter_dims_to_operand_dims")?,
        input_batching_dims: attributes.numbers("input_batching_dims")?,
        scatter_indices_batching_dims: attributes.numbers("scatter_indices_batching_dims")?,
        index_vector_dim: attributes.number("index_vector_dim")?,
    };
    // The region takes no index.
    let count = operands.len() / 2;
    let parameter = |operand: usize| match operand.cmp(&count) {
        Ordering::Less => Some(operand),
        Ordering::Equal => None,
        Ordering::Greater => Some(operand - 1),
    };
    over_region(e, operands, "to_apply", parameter, |to_apply| Op::Scatter { dims, to_apply })
}

/// Elements in order.
fn ranked(e: &mut Emitter, ranking: Ranking, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    match ranking {
        Ranking::Sort => {
            let (dim, stable) = (one(e, "dimensions")?, attributes.flag("is_stable")?);
            // Two parameters for each operand: the elements compared.
            let parameter = |operand| Some(2 * operand);
            over_region(e, operands, "to_apply", parameter, |to_apply| Op::Sort { dim, stable, to_apply })
        }
        Ranking::TopK => {
            let op = Op::TopK { k: attributes.number("k")?, largest: attributes.flag("largest")? };
            e.emit(op, operands, Some(claimed))
        }
    }
}

/// Elements combined by a region.
fn reduced(e: &mut Emitter, reduction: Reduction, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    match reduction {
        Reduction::Reduce => {
            let dims = e.attributes().numbers("dimensions")?;
            over_region(e, operands, "to_apply", Some, |to_apply| Op::Reduce { dims, to_apply })
        }
        Reduction::ReduceWindow => windows::reduce(e, operands, claimed),
        Reduction::SelectAndScatter => windows::select_and_scatter(e, &operands),
    }
}

/// The size of a dim, which is the one in its shape: none changes while a program runs.
fn size(e: &Emitter, operands: &[ValueId]) -> Result<(ValueId, usize)> {
    let (dim, array) = (one(e, "dimensions")?, operands.first().copied().ok_or_else(|| e.fail("an array is needed"))?);
    let size = e.shape(array).dims().get(dim).copied();
    let size = size.ok_or_else(|| e.refuse("dimensions", format!("{} has no dim {dim}", e.shape(array))))?;
    Ok((array, size))
}

/// `get-dimension-size`.
fn own_size(e: &mut Emitter, operands: &[ValueId], claimed: Shape) -> Result<ValueId> {
    let (_, size) = size(e, operands)?;
    let size = Data::from_i64s(DType::S32, &[size as i64]).ok_or_else(|| e.fail("a size beyond s32"))?;
    e.emit(Op::Constant(Tensor::new(&[], size)), vec![], Some(claimed))
}

/// `set-dimension-size`, of the size that the dim has.
fn given_size(e: &mut Emitter, operands: &[ValueId]) -> Result<ValueId> {
    let (array, size) = size(e, operands)?;
    let given = operands.get(1).map(|given| &e.body.instructions[*given].op);
    match given {
        Some(Op::Constant(given)) if given.data().to_i64s().first() == Some(&(size as i64)) => {
            e.emit(Op::Copy, vec![array], None)
        }
        _ => Err(e.unknown(format!("a size other than the shape's {size} is not supported"))),
    }
}

/// The claimed shape of elements that are only moved, in their own float type: compiled programs widen or round them on
/// the way.
pub(super) fn in_type_of(e: &Emitter, operands: &[ValueId], claimed: Shape) -> Shape {
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
pub(super) fn over_region(
    e: &mut Emitter,
    mut operands: Vec<ValueId>,
    attribute: &str,
    parameter: impl Fn(usize) -> Option<usize>,
    op: impl FnOnce(ComputationId) -> Op,
) -> Result<ValueId> {
    let mut to_apply = e.region(attribute)?;
    let takes: Vec<Option<DType>> =
        e.computation(to_apply).parameter_shapes().into_iter().map(|shape| shape.dtype()).collect();
    let other = |(number, operand): (usize, &ValueId)| {
        parameter(number).and_then(|p| takes.get(p)).is_some_and(|dtype| e.shape(*operand).dtype() != *dtype)
    };
    if operands.iter().enumerate().any(other) {
        to_apply = e.wide_region(attribute)?;
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
