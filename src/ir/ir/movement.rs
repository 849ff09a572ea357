//! Operations that only move elements, generic over their type. Nothing computes here, so both worlds share them.

#[cfg(test)]
mod tests;

use std::mem::needs_drop;
use std::ops::Range;

use super::index_dims::{GatherDims, ScatterDims};
use super::op::{ElementMove, Op};
use super::window::Window;

/// Elements of both dims in a tile of a transpose: lines of the cache are used up while they are there.
const TILE: usize = 16;

/// An array's elements with its dims in another order, row-major.
pub fn permute<T: Clone>(elements: &[T], dims: &[usize], order: &[usize]) -> Vec<T> {
    if order.is_sorted() {
        return elements.to_vec();
    }
    let out: Vec<usize> = order.iter().map(|d| dims[*d]).collect();
    apply(&Op::Transpose { permutation: order.to_vec() }, &[(elements, dims)], &[], &[], &out)
}

/// Start, limit and stride of a slice along one dim, in the form that all slices of these places share: it ends with its last
/// place, and one place needs no stride.
pub fn places_of_slice(start: usize, limit: usize, stride: usize) -> (usize, usize, usize) {
    match (limit - start).div_ceil(stride) {
        count @ (0 | 1) => (start, start + count, 1),
        count => (start, start + (count - 1) * stride + 1, stride),
    }
}

/// Positions, in an operand of these dims, of the elements of a result of `rank` dims: that of the first one, and the
/// step from one to the next along each dim. `None` if the operation picks elements in another way.
pub fn steps(op: &Op, dims: &[usize], rank: usize) -> Option<(isize, Vec<isize>)> {
    steps_of(op.movement()?, dims, rank)
}

/// [`steps`] of a movement.
fn steps_of(movement: ElementMove<'_>, dims: &[usize], rank: usize) -> Option<(isize, Vec<isize>)> {
    let strides = row_major(dims);
    match movement {
        ElementMove::Broadcast { dims: along } => {
            let mut steps = vec![0; rank];
            for (d, out) in along.iter().enumerate() {
                steps[*out] = strides[d];
            }
            Some((0, steps))
        }
        ElementMove::Transpose { permutation } => Some((0, permutation.iter().map(|d| strides[*d]).collect())),
        ElementMove::Slice { start, stride, .. } => {
            let base = start.iter().zip(&strides).map(|(s, step)| *s as isize * step).sum();
            Some((base, stride.iter().zip(&strides).map(|(s, step)| *s as isize * step).collect()))
        }
        ElementMove::Reverse { dims: flipped } => {
            let mut steps = strides.clone();
            let mut base = 0;
            for d in flipped {
                base += (dims[*d] as isize - 1) * strides[*d];
                steps[*d] = -strides[*d];
            }
            Some((base, steps))
        }
        ElementMove::Identity
        | ElementMove::Reshape
        | ElementMove::Concatenate { .. }
        | ElementMove::Pad { .. }
        | ElementMove::DynamicSlice { .. }
        | ElementMove::DynamicUpdateSlice
        | ElementMove::Gather(_) => None,
    }
}

/// The result of an operation of [`super::Class::Moves`], row-major in `out_dims`.
///
/// `operands` are (elements, dims); `starts` are the already read start indices of `dynamic-slice`,
/// `dynamic-update-slice` and `gather`.
/// Shapes must have passed [`super::infer`].
///
/// # Panics
/// For an operation of another class.
pub fn apply<T: Clone>(
    op: &Op,
    operands: &[(&[T], &[usize])],
    starts: &[i64],
    starts_dims: &[usize],
    out_dims: &[usize],
) -> Vec<T> {
    let (source, dims) = operands[0];
    if out_dims.contains(&0) {
        return Vec::new();
    }
    let strides = row_major(dims);
    let Some(movement) = op.movement() else { unreachable!("{} does not move elements", op.opcode()) };
    match movement {
        ElementMove::Identity | ElementMove::Reshape => source.to_vec(),
        ElementMove::Broadcast { .. }
        | ElementMove::Transpose { .. }
        | ElementMove::Slice { .. }
        | ElementMove::Reverse { .. } => {
            let (base, steps) = steps_of(movement, dims, out_dims.len()).unwrap_or_default();
            strided(source, base, &steps, out_dims)
        }
        ElementMove::DynamicSlice { sizes } => {
            strided(source, clamped_base(starts, dims, sizes, &strides), &strides, out_dims)
        }
        ElementMove::DynamicUpdateSlice => {
            let (part, part_dims) = operands[1];
            let mut out = source.to_vec();
            update(&mut out, dims, part, part_dims, starts);
            out
        }
        ElementMove::Concatenate { dim } => {
            let inner: usize = dims[dim + 1..].iter().product();
            let outer: usize = dims[..dim].iter().product();
            let mut out = Vec::with_capacity(out_dims.iter().product());
            for o in 0..outer {
                for (part, part_dims) in operands {
                    let chunk = part_dims[dim] * inner;
                    out.extend_from_slice(&part[o * chunk..(o + 1) * chunk]);
                }
            }
            out
        }
        ElementMove::Pad { low, interior, .. } => {
            let fill = operands[1].0[0].clone();
            let mut out = vec![fill; out_dims.iter().product()];
            let out_strides = row_major(out_dims);
            for_each_index(dims, |flat, index| {
                let mut at = 0;
                for (d, i) in index.iter().enumerate() {
                    let position = low[d] + (i * (interior[d] + 1)) as i64;
                    if position < 0 || position >= out_dims[d] as i64 {
                        return;
                    }
                    at += position as isize * out_strides[d];
                }
                out[at as usize] = source[flat].clone();
            });
            out
        }
        ElementMove::Gather(numbers) => gather(numbers, source, dims, starts, starts_dims, out_dims),
    }
}

/// The range of a `slice` or `dynamic-slice` in its operand, if its elements lie side by side; `None` if not, and for
/// other operations. The arguments are those of [`apply`].
pub fn stretch(op: &Op, dims: &[usize], starts: &[i64], out_dims: &[usize]) -> Option<Range<usize>> {
    let strides = row_major(dims);
    let base = match op {
        Op::Slice { start, stride, .. } if stride.iter().all(|step| *step == 1) => {
            start.iter().zip(&strides).map(|(s, step)| *s as isize * step).sum()
        }
        Op::DynamicSlice { sizes } => clamped_base(starts, dims, sizes, &strides),
        _ => return None,
    };
    // One element of each of the first dims, some of the next, and all of the others.
    let first = out_dims.iter().position(|n| *n != 1).unwrap_or(out_dims.len());
    let rest = (first + 1).min(dims.len());
    let base = base as usize;
    (out_dims[rest..] == dims[rest..]).then(|| base..base + out_dims.iter().product::<usize>())
}

/// `dynamic-update-slice`: puts `part` at the clamped start indices into `array`. Both are row-major.
pub fn update<T: Clone>(array: &mut [T], dims: &[usize], part: &[T], part_dims: &[usize], starts: &[i64]) {
    let strides = row_major(dims);
    let base = clamped_base(starts, dims, part_dims, &strides);
    let Some((&run, outer)) = part_dims.split_last() else {
        return array.clone_from_slice(part);
    };
    if part.is_empty() {
        return;
    }
    for_each_index(outer, |row, index| {
        let at: isize = index.iter().zip(&strides).map(|(i, step)| *i as isize * step).sum();
        let at = (base + at) as usize;
        array[at..at + run].clone_from_slice(&part[row * run..(row + 1) * run]);
    });
}

/// The first element of a window of these sizes, moved so that it lies inside.
fn clamped_base(starts: &[i64], dims: &[usize], sizes: &[usize], strides: &[isize]) -> isize {
    let clamped = starts.iter().zip(dims).zip(sizes).map(|((s, d), n)| clamp_start(*s, *d, *n));
    clamped.zip(strides).map(|(s, step)| s as isize * step).sum()
}

/// Calls `visit(flat position, index)` for every index of `dims` in row-major order.
pub fn for_each_index(dims: &[usize], mut visit: impl FnMut(usize, &[usize])) {
    let mut index = vec![0; dims.len()];
    let mut pace = crate::deadline::Pace::default();
    for flat in 0..dims.iter().product() {
        pace.spend(1);
        visit(flat, &index);
        for d in (0..dims.len()).rev() {
            index[d] += 1;
            if index[d] < dims[d] {
                break;
            }
            index[d] = 0;
        }
    }
}

/// The index along each of `dims` of a row-major position; 0 along a dim without elements.
pub fn index_of(dims: &[usize], position: usize) -> Vec<usize> {
    let (mut index, mut rest) = (vec![0; dims.len()], position);
    for (at, extent) in dims.iter().enumerate().rev() {
        index[at] = rest % (*extent).max(1);
        rest /= (*extent).max(1);
    }
    index
}

/// The index of a row-major position as text, such as `[3,17]`.
pub fn index_text(dims: &[usize], position: usize) -> String {
    let index: Vec<String> = index_of(dims, position).iter().map(usize::to_string).collect();
    format!("[{}]", index.join(","))
}

/// Elements of one step along each dim.
pub fn row_major(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d] as isize;
    }
    strides
}

/// Reads `source[base + index . steps]` for every index of `dims`.
fn strided<T: Clone>(source: &[T], base: isize, steps: &[isize], dims: &[usize]) -> Vec<T> {
    let total: usize = dims.iter().product();
    if total == 0 {
        return Vec::new();
    }
    let (dims, steps) = joined(dims, steps);
    let Some((&inner, outer)) = dims.split_last() else {
        return vec![source[base as usize].clone()];
    };
    let inner_step = steps[outer.len()];
    let start = |index: &[usize]| base + index.iter().zip(&steps).map(|(i, s)| *i as isize * s).sum::<isize>();
    // What has to be dropped is not made twice.
    if let Some(along) = steps.iter().position(|step| *step == 1).filter(|d| *d < outer.len() && !needs_drop::<T>()) {
        let mut out = vec![source[base as usize].clone(); total];
        let out_steps = row_major(&dims);
        let [long, out_step] = [dims[along], out_steps[along] as usize];
        let mut others = outer.to_vec();
        others[along] = 1;
        for_each_index(&others, |_, index| {
            let to = index.iter().zip(&out_steps).map(|(i, s)| *i as isize * s).sum::<isize>() as usize;
            let from = start(index);
            for i in (0..inner).step_by(TILE) {
                for j in (0..long).step_by(TILE) {
                    for j in j..long.min(j + TILE) {
                        let from = from + j as isize;
                        let row = &mut out[to + j * out_step..][..inner];
                        for (i, out) in row.iter_mut().enumerate().skip(i).take(TILE) {
                            out.clone_from(&source[(from + i as isize * inner_step) as usize]);
                        }
                    }
                }
            }
        });
        return out;
    }
    let mut out = Vec::with_capacity(total);
    for_each_index(outer, |_, index| {
        let start = start(index);
        match inner_step {
            0 => out.extend(std::iter::repeat_n(source[start as usize].clone(), inner)),
            1 => out.extend_from_slice(&source[start as usize..start as usize + inner]),
            step => out.extend((0..inner as isize).map(|i| source[(start + i * step) as usize].clone())),
        }
    });
    out
}

/// The same walk with as few dims as can be: those of one element go, and two that one step walks along become one.
fn joined(dims: &[usize], steps: &[isize]) -> (Vec<usize>, Vec<isize>) {
    let mut walk: Vec<(usize, isize)> = Vec::new();
    for (n, step) in dims.iter().copied().zip(steps.iter().copied()).filter(|(n, _)| *n != 1) {
        match walk.last_mut() {
            Some(last) if last.1 == n as isize * step => *last = (last.0 * n, step),
            _ => walk.push((n, step)),
        }
    }
    walk.into_iter().unzip()
}

/// A slice's start moved so that `size` elements lie inside `extent`.
fn clamp_start(start: i64, extent: usize, size: usize) -> usize {
    start.clamp(0, (extent - size) as i64) as usize
}

/// The dims of the start indices of a `gather` or `scatter`, by index vectors.
struct StartDims {
    /// The dims of the start indices; without an index vector they count as vectors of one.
    dims: Vec<usize>,
    strides: Vec<isize>,
    vector_dim: usize,
}

impl StartDims {
    fn new(dims: &[usize], vector_dim: usize) -> StartDims {
        let mut dims = dims.to_vec();
        if vector_dim == dims.len() {
            dims.push(1);
        }
        StartDims { strides: row_major(&dims), dims, vector_dim }
    }

    /// The index of the first element of an index vector, from its places along the other dims.
    fn first(&self, places: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut index = vec![0; self.dims.len()];
        let others = (0..self.dims.len()).filter(|d| *d != self.vector_dim);
        others.zip(places).for_each(|(d, place)| index[d] = place);
        index
    }

    /// The position of an element of the index vector with this first one.
    fn position(&self, first: &[usize], element: usize) -> usize {
        let first: isize = first.iter().zip(&self.strides).map(|(i, s)| *i as isize * s).sum();
        (first + element as isize * self.strides[self.vector_dim]) as usize
    }
}

/// The place along one dim where a window of a `scatter` starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowStart {
    /// This place, whatever the start indices are.
    At(usize),
    /// The start index at this position of their array, row-major.
    Index(usize),
}

/// Calls a function for each update element of a `scatter`, in the updates' order: with its position among them, the start of
/// its window and its place in the window along each dim of the arrays, which have this rank. Shapes must have passed
/// [`super::infer`].
pub fn for_each_update(
    numbers: &ScatterDims,
    rank: usize,
    starts_dims: &[usize],
    update_dims: &[usize],
    mut f: impl FnMut(usize, &[WindowStart], &[usize]),
) {
    let starts = StartDims::new(starts_dims, numbers.index_vector_dim);
    let inserted = |d: &usize| !numbers.inserted_window_dims.contains(d) && !numbers.input_batching_dims.contains(d);
    let window_targets: Vec<usize> = (0..rank).filter(inserted).collect();
    let (mut start, mut offsets) = (vec![WindowStart::At(0); rank], vec![0; rank]);
    for_each_index(update_dims, |from, index| {
        let batch = (0..update_dims.len()).filter(|d| !numbers.update_window_dims.contains(d)).map(|d| index[d]);
        let first = starts.first(batch);
        for (element, d) in numbers.scatter_dims_to_operand_dims.iter().enumerate() {
            start[*d] = WindowStart::Index(starts.position(&first, element));
        }
        for (d, from) in numbers.input_batching_dims.iter().zip(&numbers.scatter_indices_batching_dims) {
            start[*d] = WindowStart::At(first[*from]);
        }
        for (offset, d) in numbers.update_window_dims.iter().zip(&window_targets) {
            offsets[*d] = index[*offset];
        }
        f(from, &start, &offsets);
    });
}

/// The position of each update element of a `scatter` in the arrays, which have these dims, in the updates' order.
/// `None` for the elements of a window that does not lie inside. Positions are row-major. Shapes must have passed
/// [`super::infer`].
pub fn scatter_positions(
    numbers: &ScatterDims,
    dims: &[usize],
    starts: &[i64],
    starts_dims: &[usize],
    update_dims: &[usize],
) -> Vec<Option<usize>> {
    let strides = row_major(dims);
    let sizes = numbers.window_sizes(dims.len(), update_dims);
    let mut positions = Vec::with_capacity(update_dims.iter().product());
    for_each_update(numbers, dims.len(), starts_dims, update_dims, |_, windows, offsets| {
        let start = |d: usize| match windows[d] {
            WindowStart::At(place) => place as i64,
            WindowStart::Index(position) => starts[position],
        };
        let is_inside = (0..dims.len()).all(|d| (0..=(dims[d] - sizes[d]) as i64).contains(&start(d)));
        let place = |d: usize| (start(d) + offsets[d] as i64) as isize * strides[d];
        positions.push(is_inside.then(|| (0..dims.len()).map(place).sum::<isize>() as usize));
    });
    positions
}

fn gather<T: Clone>(
    numbers: &GatherDims,
    source: &[T],
    dims: &[usize],
    starts: &[i64],
    starts_dims: &[usize],
    out_dims: &[usize],
) -> Vec<T> {
    let strides = row_major(dims);
    let vectors = StartDims::new(starts_dims, numbers.index_vector_dim);
    let sliced = |d: &usize| !numbers.collapsed_slice_dims.contains(d) && !numbers.operand_batching_dims.contains(d);
    let offset_sources: Vec<usize> = (0..dims.len()).filter(sliced).collect();
    let mut out = Vec::with_capacity(out_dims.iter().product());
    // Along a last dim that is one of the windows', elements lie side by side.
    let (mut walked, mut run) = (out_dims.to_vec(), 1);
    let ends = [numbers.offset_dims.last(), offset_sources.last()].map(|last| last.map(|last| last + 1));
    if ends == [Some(out_dims.len()), Some(dims.len())] {
        run = std::mem::replace(&mut walked[out_dims.len() - 1], 1);
    }
    for_each_index(&walked, |_, index| {
        let batch = (0..out_dims.len()).filter(|d| !numbers.offset_dims.contains(d)).map(|d| index[d]);
        let first = vectors.first(batch);
        let mut position = vec![0usize; dims.len()];
        for (element, d) in numbers.start_index_map.iter().enumerate() {
            position[*d] = clamp_start(starts[vectors.position(&first, element)], dims[*d], numbers.slice_sizes[*d]);
        }
        for (d, from) in numbers.operand_batching_dims.iter().zip(&numbers.start_indices_batching_dims) {
            position[*d] = first[*from];
        }
        for (offset, d) in numbers.offset_dims.iter().zip(&offset_sources) {
            position[*d] += index[*offset];
        }
        let at: isize = position.iter().zip(&strides).map(|(i, s)| *i as isize * s).sum();
        out.extend_from_slice(&source[at as usize..at as usize + run]);
    });
    out
}

impl Window {
    /// The element of an array of these dims and strides that is at `inside` in the window of the result's element
    /// `out`; `None` if that is padding.
    pub fn element(&self, dims: &[usize], strides: &[isize], out: &[usize], inside: &[usize]) -> Option<usize> {
        let mut at = 0;
        for (d, w) in self.0.iter().enumerate() {
            let position = (out[d] * w.stride + inside[d] * w.window_dilation) as i64 - w.pad_low;
            let dilation = w.base_dilation as i64;
            if position < 0 || position % dilation != 0 || position / dilation >= dims[d] as i64 {
                return None;
            }
            at += (position / dilation) as isize * strides[d];
        }
        Some(at as usize)
    }
}
