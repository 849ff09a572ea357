//! Shapes of what makes each element from many.

use super::super::window::Window;
use super::{Computation, DotDims, Result, Shape, ShapeError, array, region, scalar_of, tuple_unless_one};

pub(super) fn reduce(dims: &[usize], callee: &Computation, operands: &[&Shape]) -> Result<Shape> {
    let count = operands.len() / 2;
    ensure!(count > 0 && operands.len().is_multiple_of(2), "reduce needs as many inits as arrays");
    let (_, first) = array(operands[0])?;
    ensure!(dims.iter().all(|d| *d < first.len()), "reduce of {} along {dims:?}", operands[0]);
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
    let in_range = |which: &[usize], rank: usize| which.iter().all(|d| *d < rank);
    let ranges = in_range(&dims.lhs_contracting, l.len())
        && in_range(&dims.lhs_batch, l.len())
        && in_range(&dims.rhs_contracting, r.len())
        && in_range(&dims.rhs_batch, r.len());
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
        let base = if *n == 0 { 0 } else { ((n - 1) * w.base_dilation + 1) as i64 };
        let padded = base + w.pad_low + w.pad_high;
        let extent = ((w.size - 1) * w.window_dilation + 1) as i64;
        out.push(if padded < extent { 0 } else { ((padded - extent) as usize) / w.stride + 1 });
    }
    Ok(out)
}
