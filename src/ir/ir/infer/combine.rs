//! Shapes of operations that make each element from many.

use super::super::window::Window;
use super::{
    Computation, DotDims, Result, Shape, ShapeError, are_distinct, array, region, scalar_of, tuple_unless_one,
};

pub(super) fn reduce(dims: &[usize], callee: &Computation, operands: &[&Shape]) -> Result<Shape> {
    let count = operands.len() / 2;
    ensure!(count > 0 && operands.len().is_multiple_of(2), "reduce needs as many inits as arrays");
    let (_, first) = array(operands[0])?;
    ensure!(
        are_distinct(dims, first.len()),
        "reduce of {} along {dims:?}, which are not dims of it, once each",
        operands[0]
    );
    let kept: Vec<usize> = (0..first.len()).filter(|d| !dims.contains(d)).map(|d| first[d]).collect();
    let mut dtypes = Vec::new();
    for (operand, init) in operands[..count].iter().zip(&operands[count..]) {
        let (dtype, shape) = array(operand)?;
        ensure!(shape == first, "reduce of {} together with {operand}", operands[0]);
        scalar_of(init, dtype)?;
        dtypes.push(dtype);
    }
    region(callee, &[&dtypes[..], &dtypes].concat(), &dtypes)?;
    Ok(tuple_unless_one(dtypes.iter().map(|d| Shape::array(*d, &kept)).collect()))
}

pub(super) fn dot(dims: &DotDims, lhs: &Shape, rhs: &Shape, given: Option<&Shape>) -> Result<Shape> {
    let ((lhs_dtype, l), (rhs_dtype, r)) = (array(lhs)?, array(rhs)?);
    let ranges = are_distinct(&[&dims.lhs_contracting[..], &dims.lhs_batch].concat(), l.len())
        && are_distinct(&[&dims.rhs_contracting[..], &dims.rhs_batch].concat(), r.len());
    let pairs = |a: &[usize], b: &[usize]| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| l[*x] == r[*y]);
    let fits = ranges && pairs(&dims.lhs_contracting, &dims.rhs_contracting) && pairs(&dims.lhs_batch, &dims.rhs_batch);
    let DotDims { lhs_contracting, rhs_contracting, lhs_batch, rhs_batch } = dims;
    ensure!(
        fits,
        "dot of {lhs} with {rhs}: dims {lhs_contracting:?} do not contract with {rhs_contracting:?}, batch dims \
         {lhs_batch:?} and {rhs_batch:?}"
    );
    let are_numbers = lhs_dtype.is_float() || lhs_dtype.is_integer();
    ensure!(
        lhs_dtype == rhs_dtype && are_numbers,
        "dot of {lhs} with {rhs}: operands of one float or integer type only"
    );
    let mut out: Vec<usize> = dims.lhs_batch.iter().map(|d| l[*d]).collect();
    out.extend(DotDims::free(l.len(), &dims.lhs_contracting, &dims.lhs_batch).iter().map(|d| l[*d]));
    out.extend(DotDims::free(r.len(), &dims.rhs_contracting, &dims.rhs_batch).iter().map(|d| r[*d]));
    // A dot of floats may give a wider type than its operands (preferred_element_type).
    let dtype = given.and_then(Shape::dtype).unwrap_or(lhs_dtype);
    let fits = if lhs_dtype.is_float() { dtype.is_float() } else { dtype == lhs_dtype };
    ensure!(fits, "dot of {lhs} with {rhs} gives no {dtype}");
    Ok(Shape::Array { dtype, dims: out })
}

/// Dims of a windowed operation's result.
pub(super) fn window_dims(window: &Window, dims: &[usize]) -> Result<Vec<usize>> {
    ensure!(window.0.len() == dims.len(), "a window of {} dims over {} dims", window.0.len(), dims.len());
    let mut out = Vec::new();
    for (w, n) in window.0.iter().zip(dims) {
        ensure!(w.size > 0 && w.stride > 0 && w.base_dilation > 0 && w.window_dilation > 0, "an empty window");
        let [size, n] = [w.size, *n].map(|extent| extent as i128);
        let base = if n == 0 { 0 } else { (n - 1) * w.base_dilation as i128 + 1 };
        let padded = base + i128::from(w.pad_low) + i128::from(w.pad_high);
        let extent = (size - 1) * w.window_dilation as i128 + 1;
        let places = if padded < extent { 0 } else { (padded - extent) / w.stride as i128 + 1 };
        // Positions of all that a window shows fit in a machine word, and are a step and an edge away from its end.
        let reach = [padded, extent, w.stride as i128, w.base_dilation as i128, w.pad_low.into(), w.pad_high.into()];
        let fits = reach.iter().all(|reach| reach.abs() < 1 << 60) && places <= Shape::MOST_ELEMENTS as i128;
        ensure!(fits, "a window of {} over {n}, which reaches further than can be counted", w.size);
        out.push(places as usize);
    }
    let shown = window.0.iter().try_fold(1usize, |shown, w| shown.checked_mul(w.size));
    let countable = shown.is_some_and(|shown| shown <= Shape::MOST_ELEMENTS);
    ensure!(countable, "a window of more than {} elements", Shape::MOST_ELEMENTS);
    Ok(out)
}
