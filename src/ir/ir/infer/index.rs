//! Shapes of operations that read or write at positions given by an array of indices.

use super::super::index_dims::{GatherDims, ScatterDims};
use super::{Computation, Result, Shape, ShapeError, are_distinct, array, region, tuple_unless_one};

pub(super) fn gather(dims: &GatherDims, operand: &Shape, indices: &Shape) -> Result<Shape> {
    let ((dtype, source), (index_dtype, index)) = (array(operand)?, array(indices)?);
    ensure!(index_dtype.is_integer(), "gather by {indices}");
    let fits = dims.slice_sizes.len() == source.len()
        && dims.slice_sizes.iter().zip(source).all(|(s, d)| s <= d)
        && dims.index_vector_dim <= index.len()
        && are_batched(source, &dims.operand_batching_dims, index, &dims.start_indices_batching_dims)
        && !dims.start_indices_batching_dims.contains(&dims.index_vector_dim);
    ensure!(fits, "gather of {operand} by {indices} in sizes {:?}", dims.slice_sizes);
    let named =
        [&dims.collapsed_slice_dims, &dims.start_index_map].map(|own| [&own[..], &dims.operand_batching_dims].concat());
    ensure!(
        named.iter().all(|named| are_distinct(named, source.len())),
        "gather of {operand}: dims that are none of it, or stand twice: {dims:?}"
    );
    let mut batch: Vec<usize> = index.to_vec();
    // A dim behind the last one is of vectors of one index.
    let length = if dims.index_vector_dim < batch.len() { batch.remove(dims.index_vector_dim) } else { 1 };
    ensure!(length == dims.start_index_map.len(), "gather by vectors of {length} indices");
    let is_dropped = |d: &usize| named[0].contains(d);
    ensure!(
        named[0].iter().all(|d| dims.slice_sizes[*d] <= 1),
        "gather of {operand} in sizes {:?}: dims that the result has not are of size 1",
        dims.slice_sizes
    );
    let offsets: Vec<usize> = (0..source.len()).filter(|d| !is_dropped(d)).map(|d| dims.slice_sizes[d]).collect();
    ensure!(offsets.len() == dims.offset_dims.len(), "gather with {} offset dims", dims.offset_dims.len());
    let rank = batch.len() + offsets.len();
    ensure!(are_ascending(&dims.offset_dims, rank), "gather with offset dims {:?} of {rank}", dims.offset_dims);
    let (mut batch, mut offsets) = (batch.into_iter(), offsets.into_iter());
    let out = (0..rank).filter_map(|d| if dims.offset_dims.contains(&d) { offsets.next() } else { batch.next() });
    Ok(Shape::Array { dtype, dims: out.collect() })
}

pub(super) fn scatter(dims: &ScatterDims, callee: &Computation, operands: &[&Shape]) -> Result<Shape> {
    let count = operands.len() / 2;
    ensure!(operands.len() % 2 == 1 && count > 0, "scatter needs arrays, indices, and an update for each array");
    let (arrays, indices, updates) = (&operands[..count], operands[count], &operands[count + 1..]);
    let ((_, target), (index_dtype, index)) = (array(arrays[0])?, array(indices)?);
    let (_, update) = array(updates[0])?;
    ensure!(index_dtype.is_integer(), "scatter by {indices}");
    let mut dtypes = Vec::new();
    for (of, by) in arrays.iter().zip(updates) {
        let ((dtype, of_dims), (by_dtype, by_dims)) = (array(of)?, array(by)?);
        ensure!(dtype == by_dtype && of_dims == target && by_dims == update, "scatter of {by} into {of}");
        dtypes.push(dtype);
    }
    region(callee, &[dtypes.clone(), dtypes.clone()].concat(), &dtypes)?;
    let mut batch: Vec<usize> = index.to_vec();
    ensure!(
        dims.index_vector_dim <= batch.len(),
        "scatter by {indices} with index_vector_dim {}",
        dims.index_vector_dim
    );
    let length = if dims.index_vector_dim < batch.len() { batch.remove(dims.index_vector_dim) } else { 1 };
    let named = [&dims.scatter_dims_to_operand_dims, &dims.inserted_window_dims];
    let with_batching = named.map(|own| [&own[..], &dims.input_batching_dims].concat());
    let fits = length == dims.scatter_dims_to_operand_dims.len()
        && with_batching.iter().all(|named| are_distinct(named, target.len()))
        && are_ascending(&dims.update_window_dims, update.len())
        && are_batched(target, &dims.input_batching_dims, index, &dims.scatter_indices_batching_dims)
        && !dims.scatter_indices_batching_dims.contains(&dims.index_vector_dim)
        && target.len() == with_batching[1].len() + dims.update_window_dims.len()
        && update.len() == batch.len() + dims.update_window_dims.len();
    ensure!(fits, "scatter of {} into {} by {indices}: dims do not fit: {dims:?}", updates[0], arrays[0]);
    let counted = (0..update.len()).filter(|d| !dims.update_window_dims.contains(d)).map(|d| update[d]);
    ensure!(counted.eq(batch), "scatter of {} by {indices}", updates[0]);
    let windows = dims.window_sizes(target.len(), update);
    ensure!(windows.iter().zip(target).all(|(w, n)| w <= n), "scatter of {} into {}", updates[0], arrays[0]);
    Ok(tuple_unless_one(arrays.iter().map(|s| (*s).clone()).collect()))
}

/// Whether these dims of an array go along those of the indices: of the same extents, and each of them once.
fn are_batched(array: &[usize], of_array: &[usize], index: &[usize], of_index: &[usize]) -> bool {
    let pairs = || of_array.iter().zip(of_index);
    of_array.len() == of_index.len()
        && are_distinct(of_array, array.len())
        && are_distinct(of_index, index.len())
        && pairs().all(|(a, b)| array[*a] == index[*b])
}

/// Whether each is a dim of an array of this rank, in their order, and none stands twice.
fn are_ascending(dims: &[usize], rank: usize) -> bool {
    dims.is_sorted_by(|a, b| a < b) && dims.last().is_none_or(|last| *last < rank)
}
