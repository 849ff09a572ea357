//! Elements taken from, or put at, places that are computed.

use std::cmp::Ordering;

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ir::{GatherDims, Op, ScatterDims, Shape, ValueId};
use crate::opcode::Indexed;

use super::mixed_types::{in_type_of, over_region};

type Result<T> = std::result::Result<T, LowerError>;

/// Elements taken from, or put at, places that are computed.
pub fn lower(e: &mut Emitter, indexed: Indexed, mut operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let attributes = e.attributes();
    let op = match indexed {
        Indexed::DynamicSlice => {
            operands = scalar_starts(e, operands, 1)?;
            Op::DynamicSlice { sizes: attributes.numbers("dynamic_slice_sizes")? }
        }
        Indexed::DynamicUpdateSlice => {
            operands = scalar_starts(e, operands, 2)?;
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

/// Operands with a scalar for each dim where a slice starts. One array of as many starts, behind the first `arrays` operands, is the
/// older form, which XLA still reads (openxla `ShapeInference::InferDynamicSliceShape`).
fn scalar_starts(e: &mut Emitter, mut operands: Vec<ValueId>, arrays: usize) -> Result<Vec<ValueId>> {
    let rank = operands.first().map_or(0, |array| e.shape(*array).dims().len());
    let [starts] = operands[arrays.min(operands.len())..] else { return Ok(operands) };
    if e.shape(starts).dims() != [rank] {
        return Ok(operands);
    }
    operands.truncate(arrays);
    let scalar = Shape::array(e.shape(starts).element_type(), &[]);
    for dim in 0..rank {
        let slice = Op::Slice { start: vec![dim], limit: vec![dim + 1], stride: vec![1] };
        let start = e.emit(slice, vec![starts], None)?;
        operands.push(e.emit(Op::Reshape, vec![start], Some(scalar.clone()))?);
    }
    Ok(operands)
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
