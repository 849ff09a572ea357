//! Shapes of operations that read or write at positions given by an array of indices.

use super::super::index_dims::{GatherDims, ScatterDims};
use super::{Computation, Result, Shape, ShapeError, array, region, tuple_unless_one};

pub(super) fn gather(dims: &GatherDims, operand: &Shape, indices: &Shape) -> Result<Shape> {
    let ((dtype, source), (index_dtype, index)) = (array(operand)?, array(indices)?);
    ensure!(index_dtype.is_integer(), "gather by {indices}");
    let fits = dims.slice_sizes.len() == source.len()
        && dims.slice_sizes.iter().zip(source).all(|(s, d)| s <= d)
        && dims.index_vector_dim <= index.len()
        && dims.operand_batching_dims.len() == dims.start_indices_batching_dims.len();
    ensure!(fits, "gather of {operand} by {indices} in sizes {:?}", dims.slice_sizes);
    let mut batch: Vec<usize> = index.to_vec();
    if dims.index_vector_dim < batch.len() {
        let length = batch.remove(dims.index_vector_dim);
        ensure!(length == dims.start_index_map.len(), "gather by vectors of {length} indices");
    }
    let dropped = |d: &usize| dims.collapsed_slice_dims.contains(d) || dims.operand_batching_dims.contains(d);
    let offsets: Vec<usize> = (0..source.len()).filter(|d| !dropped(d)).map(|d| dims.slice_sizes[d]).collect();
    ensure!(offsets.len() == dims.offset_dims.len(), "gather with {} offset dims", dims.offset_dims.len());
    let (mut batch, mut offsets) = (batch.into_iter(), offsets.into_iter());
    let rank = batch.len() + offsets.len();
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
    let named = [&dims.scatter_dims_to_operand_dims, &dims.inserted_window_dims, &dims.input_batching_dims];
    let fits = length == dims.scatter_dims_to_operand_dims.len()
        && named.into_iter().flatten().all(|d| *d < target.len())
        && dims.update_window_dims.iter().all(|d| *d < update.len())
        && dims.scatter_indices_batching_dims.iter().all(|d| *d < index.len() && *d != dims.index_vector_dim)
        && dims.input_batching_dims.len() == dims.scatter_indices_batching_dims.len()
        && target.len() == named[1].len() + named[2].len() + dims.update_window_dims.len()
        && update.len() == batch.len() + dims.update_window_dims.len();
    ensure!(fits, "scatter of {} into {} by {indices}: dims do not fit: {dims:?}", updates[0], arrays[0]);
    let counted = (0..update.len()).filter(|d| !dims.update_window_dims.contains(d)).map(|d| update[d]);
    ensure!(counted.eq(batch), "scatter of {} by {indices}", updates[0]);
    let windows = dims.window_sizes(target.len(), update);
    ensure!(windows.iter().zip(target).all(|(w, n)| w <= n), "scatter of {} into {}", updates[0], arrays[0]);
    Ok(tuple_unless_one(arrays.iter().map(|s| (*s).clone()).collect()))
}
