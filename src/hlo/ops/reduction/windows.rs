//! Windows that move over an array: `reduce-window` and `select-and-scatter`, the gradient of a maximum over windows.

use crate::ir::{Binary, Compare, CompareOrder, ComputationId, Op, ScatterDims, Shape, ValueId, Window, WindowDim};
use crate::tensor::{DType, Data, Tensor};

use crate::builder::Emitter;
use crate::error::LowerError;
use crate::ops::mixed_types::{in_type_of, over_region};
use crate::view::WindowSpec;

type Result<T> = std::result::Result<T, LowerError>;

/// Elements that a window shows at most, where each of them is an array of its own.
const SHOWN: usize = 4096;

/// Elements that all windows show together at most, where the program holds the index of each (8 bytes).
const INDICES: usize = 1 << 26;

/// `reduce-window`: running sums and other windows over one array as they stand, windows over several arrays as a reduction of
/// what each place of the window shows.
pub fn reduce(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let window = window(e)?;
    let [array, _] = operands[..] else { return reduce_together(e, &operands, &window) };
    let Some(dims) = window.whole_dims(e.shape(array).dims()) else {
        return over_region(e, operands, "to_apply", Some, |to_apply| Op::ReduceWindow { window, to_apply });
    };
    // Windows each of which shows all elements along some dims: they are reduced once, and what they give is spread.
    let kept: Vec<usize> = (0..claimed.dims().len()).filter(|dim| !dims.contains(dim)).collect();
    let reduced = over_region(e, operands, "to_apply", Some, |to_apply| Op::Reduce { dims, to_apply })?;
    let claimed = in_type_of(e, &[reduced], claimed);
    e.emit(Op::Broadcast { dims: kept }, vec![reduced], Some(claimed))
}

/// N arrays and N inits: what a place of the window shows of each array lies along a last dim, which is reduced.
fn reduce_together(e: &mut Emitter, operands: &[ValueId], window: &Window) -> Result<ValueId> {
    let (arrays, inits) = operands.split_at(operands.len() / 2);
    let mut together = Vec::with_capacity(operands.len());
    for (array, init) in arrays.iter().zip(inits) {
        let mut shown = Vec::new();
        for view in views(e, *array, *init, window)? {
            let Shape::Array { dtype, mut dims } = e.shape(view).clone() else {
                return Err(e.fail("arrays are needed"));
            };
            dims.push(1);
            shown.push(e.emit(Op::Reshape, vec![view], Some(Shape::array(dtype, &dims)))?);
        }
        together.push(e.emit(Op::Concatenate { dim: window.0.len() }, shown, None)?);
    }
    together.extend(inits);
    let dims = vec![window.0.len()];
    over_region(e, together, "to_apply", Some, |to_apply| Op::Reduce { dims, to_apply })
}

/// `select-and-scatter(array, source, init)`: in each window one element takes the window's number of the source; what one
/// element takes is combined by `scatter`. An element stays chosen while `select(it, next)` holds, else the next is; padding
/// is never chosen.
///
/// Modelling choice: elements are compared in row-major order. Ties and NaN depend on it: a CPU's code compares columns
/// first in windows with padding behind their last one.
///
/// Semantics: openxla `docs/operation_semantics.md`, SelectAndScatter.
#[expect(clippy::too_many_lines, reason = "the steps of one lowering, in order")]
pub fn select_and_scatter(e: &mut Emitter, operands: &[ValueId]) -> Result<ValueId> {
    let [array, source, init] = operands[..] else { return Err(e.fail("an array, a source and an init are needed")) };
    let select = e.region("select")?;
    let Some((direction, order)) = comparison(e, select) else {
        return Err(e.unknown_at("select", "of `select` regions comparisons of both parameters are supported"));
    };
    let window = window(e)?;
    let shape = e.shape(array).clone();
    let (dtype, dims) = (shape.element_type(), shape.dims());
    let zero = e.zero(dtype)?;
    let views = views(e, array, zero, &window)?;
    let source_dims = e.shape(source).dims().to_vec();
    if views.iter().any(|view| e.shape(*view).dims() != source_dims) {
        return Err(e.fail(format!("the window has other places than {}", e.shape(source))));
    }
    let indices = views.len().checked_mul(source_dims.iter().product());
    if indices.is_none_or(|indices| indices > INDICES) {
        let why = format!("windows that show {INDICES} elements together at most are supported here");
        return Err(e.unknown_at("window", why));
    }
    // Positions of each view, as numbers and as an array, and masks of them.
    e.reserve(indices.into_iter().chain([3]))?;
    // Where no element stands, the first index behind the array: nothing is scattered there.
    let nowhere = shape.elements() as i64;
    let mut best: Option<(ValueId, ValueId, Vec<bool>)> = None;
    for (view, offset) in views.into_iter().zip(offsets(&window)) {
        let places = places(&source_dims, dims, &window, &offset);
        let is_inside: Vec<bool> = places.iter().map(Option::is_some).collect();
        let numbers: Vec<i64> = places.into_iter().map(|place| place.map_or(nowhere, |place| place as i64)).collect();
        let index = held(e, Data::from_i64s(DType::S64, &numbers), &source_dims)?;
        let Some((value, at, was_inside)) = best else {
            best = Some((view, index, is_inside));
            continue;
        };
        let mut keeps = e.emit(Op::Compare { direction, order }, vec![value, view], None)?;
        for (mask, binary, is_needed) in [
            (was_inside.clone(), Binary::And, was_inside.contains(&false)),
            (is_inside.iter().map(|inside| !inside).collect(), Binary::Or, is_inside.contains(&false)),
        ] {
            if is_needed {
                let mask = held(e, Some(Data::Pred(mask)), &source_dims)?;
                keeps = e.emit(Op::Binary(binary), vec![keeps, mask], None)?;
            }
        }
        let value = e.emit(Op::Select, vec![keeps, value, view], None)?;
        let at = e.emit(Op::Select, vec![keeps, at, index], None)?;
        best = Some((value, at, was_inside.iter().zip(&is_inside).map(|(was, is)| *was || *is).collect()));
    }
    let Some((_, at, _)) = best else { return Err(e.fail("the window shows nothing")) };
    let (elements, places) = (shape.elements(), source_dims.iter().product());
    let flat = |e: &mut Emitter, id: ValueId, dims: &[usize]| {
        let dtype = e.shape(id).element_type();
        e.emit(Op::Reshape, vec![id], Some(Shape::array(dtype, dims)))
    };
    let at = flat(e, at, &[places, 1])?;
    let updates = flat(e, source, &[places])?;
    let start = e.emit(Op::Broadcast { dims: vec![] }, vec![init], Some(Shape::array(dtype, &[elements])))?;
    let to_flat = ScatterDims {
        inserted_window_dims: vec![0],
        scatter_dims_to_operand_dims: vec![0],
        index_vector_dim: 1,
        ..ScatterDims::default()
    };
    let parameter = |operand: usize| [Some(0), None, Some(1)][operand];
    let combined = over_region(e, vec![start, at, updates], "scatter", parameter, |to_apply| Op::Scatter {
        dims: to_flat,
        to_apply,
    })?;
    flat(e, combined, dims)
}

/// The window that the instruction names.
fn window(e: &Emitter) -> Result<Window> {
    let window = e.attributes().window("window")?;
    if window.iter().any(|w| w.reversed) {
        return Err(e.unknown_at("window", "a reversed window is not supported"));
    }
    let dim = |w: &WindowSpec| WindowDim {
        size: w.size,
        stride: w.stride,
        pad_low: w.pad.0,
        pad_high: w.pad.1,
        base_dilation: w.lhs_dilate,
        window_dilation: w.rhs_dilate,
    };
    Ok(Window(window.iter().map(dim).collect()))
}

/// The places in a window, in row-major order.
fn offsets(window: &Window) -> Vec<Vec<usize>> {
    let mut offsets = vec![Vec::new()];
    for dim in &window.0 {
        let longer = |offset: &Vec<usize>| {
            let offset = offset.clone();
            (0..dim.size)
                .map(move |next| offset.iter().copied().chain([next]).collect::<Vec<usize>>())
                .collect::<Vec<_>>()
        };
        offsets = offsets.iter().flat_map(longer).collect();
    }
    offsets
}

/// For each place in the window the array of what it shows, one element for each place of the window; `fill` where there is
/// padding.
fn views(e: &mut Emitter, array: ValueId, fill: ValueId, window: &Window) -> Result<Vec<ValueId>> {
    let dims = e.shape(array).dims().to_vec();
    let shown = window.0.iter().try_fold(1usize, |product, dim| product.checked_mul(dim.size));
    if shown.is_none_or(|shown| shown > SHOWN) || dims.len() != window.0.len() {
        let why = format!(
            "a window of {SHOWN} elements at most is supported here, with a size for each dim of {}",
            e.shape(array)
        );
        return Err(e.unknown_at("window", why));
    }
    let padded = e.emit(
        Op::Pad {
            low: window.0.iter().map(|dim| dim.pad_low).collect(),
            high: window.0.iter().map(|dim| dim.pad_high).collect(),
            interior: window.0.iter().map(|dim| dim.base_dilation.saturating_sub(1)).collect(),
        },
        vec![array, fill],
        None,
    )?;
    let extents = e.shape(padded).dims().to_vec();
    let reach = |dim: &WindowDim| dim.size.saturating_sub(1).saturating_mul(dim.window_dilation);
    if window
        .0
        .iter()
        .zip(&extents)
        .any(|(dim, extent)| reach(dim) >= *extent || dim.stride == 0 || dim.base_dilation == 0)
    {
        return Err(e.refuse("window", format!("the window has no place in {}", e.shape(array))));
    }
    let view = |offset: Vec<usize>| {
        let start: Vec<usize> = offset.iter().zip(&window.0).map(|(at, dim)| at * dim.window_dilation).collect();
        let last = window.0.iter().zip(&extents).map(|(dim, extent)| extent - reach(dim));
        let limit = start.iter().zip(last).map(|(start, last)| start + last).collect();
        let stride = window.0.iter().map(|dim| dim.stride).collect();
        e.emit(Op::Slice { start, limit, stride }, vec![padded], None)
    };
    offsets(window).into_iter().map(view).collect()
}

/// For each place of the window the flat position of what a place in it shows, `None` where that is padding.
fn places(window_places: &[usize], dims: &[usize], window: &Window, offset: &[usize]) -> Vec<Option<usize>> {
    let along = |dim: usize, place: usize| -> Option<usize> {
        let WindowDim { stride, pad_low, base_dilation, window_dilation, .. } = window.0[dim];
        let at = (place * stride + offset[dim] * window_dilation) as i64 - pad_low;
        let at = usize::try_from(at).ok()?;
        (at % base_dilation == 0 && at / base_dilation < dims[dim]).then_some(at / base_dilation)
    };
    let mut flat = vec![Some(0)];
    for (dim, count) in window_places.iter().enumerate() {
        let next = |before: &Option<usize>| {
            let before = *before;
            (0..*count).map(move |place| Some(before? * dims[dim] + along(dim, place)?)).collect::<Vec<_>>()
        };
        flat = flat.iter().flat_map(next).collect();
    }
    flat
}

/// The comparison of its first parameter with its second that a region is, widened perhaps.
fn comparison(e: &Emitter, region: ComputationId) -> Option<(Compare, CompareOrder)> {
    let region = e.computation(region);
    let at = |id: ValueId| &region.instructions[id];
    let parameter = |id: ValueId| {
        let source = if at(id).op == Op::Convert { at(id).operands[0] } else { id };
        let widens = id == source || at(source).shape.widen() == at(id).shape;
        matches!(at(source).op, Op::Parameter(_)).then_some(&at(source).op).filter(|_| widens)
    };
    let Op::Compare { direction, order } = at(region.root).op else { return None };
    let [first, second] = at(region.root).operands[..] else { return None };
    match (parameter(first)?, parameter(second)?) {
        (Op::Parameter(0), Op::Parameter(1)) => Some((direction, order)),
        _ => None,
    }
}

/// An array that the program holds.
fn held(e: &mut Emitter, data: Option<Data>, dims: &[usize]) -> Result<ValueId> {
    let data = data.ok_or_else(|| e.fail("an index beyond s64"))?;
    e.emit(Op::Constant(Tensor::new(dims, data)), vec![], None)
}
