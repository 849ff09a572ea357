//! Lowering of each opcode.

use std::cmp::Ordering;

use crate::ir::{
    Binary, Class, Compare, CompareOrder, ComputationId, GatherDims, Op, ScatterDims, Shape, Unary, ValueId,
};
use crate::tensor::{DType, Data, Tensor};

use super::ast::Literal;
use super::constant::LiteralError;
use super::emit::Emitter;
use super::error::LowerError;
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
#[expect(clippy::too_many_lines, reason = "one arm for each opcode")]
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
        "bitcast" | "bitcast-convert" => {
            let operand = single(e, &operands)?;
            let is_memory = opcode == "bitcast";
            return if is_memory {
                bitcast::bitcast(e, operand, claimed)
            } else {
                bitcast::convert(e, operand, claimed)
            };
        }
        "dot" => return product::dot(e, operands, claimed),
        "ragged-dot" => return product::ragged_dot(e, operands, claimed),
        "convolution" => return product::convolution(e, operands, claimed),
        "custom-call" => return custom_call::over_arrays(e, operands, claimed),
        "iota" => Op::Iota { dim: attributes.number("iota_dimension")? },
        "convert" => Op::Convert,
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
            return over_region(e, operands, "to_apply", Some, |to_apply| Op::Reduce { dims, to_apply });
        }
        "reduce-window" => return windows::reduce(e, operands, claimed),
        "select-and-scatter" => return windows::select_and_scatter(e, &operands),
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
            return over_region(e, operands, "to_apply", parameter, |to_apply| Op::Scatter { dims, to_apply });
        }
        "sort" => {
            let (dim, stable) = (one(e, "dimensions")?, attributes.flag("is_stable")?);
            // Two parameters for each operand: the elements compared.
            return over_region(
                e,
                operands,
                "to_apply",
                |operand| Some(2 * operand),
                |to_apply| Op::Sort { dim, stable, to_apply },
            );
        }
        "get-dimension-size" | "set-dimension-size" => return dimension_size(e, &operands, &claimed),
        "cholesky" => {
            let is_lower = attributes.flag("lower")?;
            return factorization::cholesky(e, single(e, &operands)?, is_lower);
        }
        "triangular-solve" => return factorization::triangular_solve(e, &operands),
        "topk" => Op::TopK { k: attributes.number("k")?, largest: attributes.flag("largest")? },
        other => return Err(e.unknown(format!("opcode `{other}` is not supported"))),
    };
    let mut operands = operands;
    match op {
        Op::Concatenate { .. } | Op::DynamicUpdateSlice | Op::Pad { .. } => e.widest(&mut operands)?,
        Op::Clamp => {
            e.widest(&mut operands)?;
            return e.emit(op, operands, None);
        }
        Op::Select if operands.len() == 3 => {
            e.widest(&mut operands[1..])?;
            return e.emit(op, operands, None);
        }
        _ => {}
    }
    let claimed = if op.class() == Class::Moves { in_type_of(e, &operands, claimed) } else { claimed };
    e.emit(op, operands, Some(claimed))
}

/// Why an opcode is refused whatever its operands, if it is.
pub(super) fn refusal(opcode: &str) -> Option<&'static str> {
    match opcode {
        "rng" | "rng-get-and-update-state" => {
            Some("its bits are those of a generator inside the compiler's runtime: give them as an argument")
        }
        "infeed" | "outfeed" | "recv" | "recv-done" | "send" | "send-done" => {
            Some("what it exchanges with the world outside is not known")
        }
        _ => None,
    }
}

/// The size of a dim, which is the one in its shape: none changes while a program runs.
fn dimension_size(e: &mut Emitter, operands: &[ValueId], claimed: &Shape) -> Result<ValueId> {
    let (dim, array) = (one(e, "dimensions")?, operands.first().copied().ok_or_else(|| e.fail("an array is needed"))?);
    let size = e.shape(array).dims().get(dim).copied();
    let size = size.ok_or_else(|| e.refuse("dimensions", format!("{} has no dim {dim}", e.shape(array))))?;
    if e.instruction.opcode == "get-dimension-size" {
        let size = Data::from_i64s(DType::S32, &[size as i64]).ok_or_else(|| e.fail("a size beyond s32"))?;
        return e.emit(Op::Constant(Tensor::new(&[], size)), vec![], Some(claimed.clone()));
    }
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
