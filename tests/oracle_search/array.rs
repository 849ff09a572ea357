//! The origins of elements: the judge's own arithmetic of indices.

use super::ast::{Node, Op, Window};

/// Indices of an array.
pub struct Index;

impl Index {
    /// All of them, row-major.
    pub fn all(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
        (0..dims.iter().product()).map(|flat| Index::of(flat, dims))
    }

    fn of(mut flat: usize, dims: &[usize]) -> Vec<usize> {
        let mut index = vec![0; dims.len()];
        for d in (0..dims.len()).rev() {
            index[d] = flat % dims[d];
            flat /= dims[d];
        }
        index
    }

    fn flat(index: &[usize], dims: &[usize]) -> usize {
        index.iter().zip(dims).fold(0, |flat, (i, n)| flat * n + i)
    }
}

/// The flat positions that each result of a reduction over these dims reduces, in order.
pub fn groups(dims: &[usize], reduced: &[usize]) -> Vec<Vec<usize>> {
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).map(|d| dims[d]).collect();
    let mut groups = vec![Vec::new(); kept.iter().product()];
    for (flat, index) in Index::all(dims).enumerate() {
        let own: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).map(|d| index[d]).collect();
        groups[Index::flat(&own, &kept)].push(flat);
    }
    groups
}

/// The flat positions that each result of a windowed reduction sees.
pub fn window_groups(dims: &[usize], windows: &[Window], out_dims: &[usize]) -> Vec<Vec<usize>> {
    let sizes: Vec<usize> = windows.iter().map(|w| w.size).collect();
    let group = |out: Vec<usize>| {
        let at = |within: Vec<usize>| -> Option<usize> {
            let mut index = Vec::new();
            for (d, w) in windows.iter().enumerate() {
                let place = (out[d] * w.stride + within[d] * w.window_dilation) as i64 - w.low;
                let dilation = w.base_dilation as i64;
                if place < 0 || place % dilation != 0 || place / dilation >= dims[d] as i64 {
                    return None;
                }
                index.push((place / dilation) as usize);
            }
            Some(Index::flat(&index, dims))
        };
        Index::all(&sizes).filter_map(at).collect()
    };
    Index::all(out_dims).map(group).collect()
}

/// For an operation that only moves elements: the operand and the place in it of each result. `None` if it is none,
/// `Some(None)` if a start is not known.
#[allow(clippy::type_complexity, reason = "a list of places, if it is known, if there is one")]
#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
pub fn moved(
    node: &Node,
    dims: &[&[usize]],
    integers: impl Fn(usize) -> Vec<Option<i128>>,
) -> Option<Option<Vec<(usize, usize)>>> {
    let out = &node.dims;
    let of_first = |place: &dyn Fn(&[usize]) -> Vec<usize>| -> Vec<(usize, usize)> {
        Index::all(out).map(|index| (0, Index::flat(&place(&index), dims[0]))).collect()
    };
    // A start moved so that `size` elements from it on lie inside.
    let inside = |start: i128, extent: usize, size: usize| start.clamp(0, (extent - size) as i128) as usize;
    let starts = |first: usize, sizes: &[usize]| -> Option<Vec<usize>> {
        let start = |d: usize| Some(inside(integers(first + d)[0]?, dims[0][d], sizes[d]));
        (0..sizes.len()).map(start).collect()
    };
    Some(Some(match &node.op {
        Op::Copy | Op::Barrier | Op::Reshape => (0..node.len()).map(|at| (0, at)).collect(),
        Op::Broadcast { dims: along } => of_first(&|index| along.iter().map(|d| index[*d]).collect()),
        Op::Transpose { permutation } => of_first(&|index| {
            let mut source = vec![0; index.len()];
            permutation.iter().zip(index).for_each(|(d, i)| source[*d] = *i);
            source
        }),
        Op::Slice { start, stride, .. } => {
            of_first(&|index| (0..index.len()).map(|d| start[d] + index[d] * stride[d]).collect())
        }
        Op::Reverse { dims: flipped } => of_first(&|index| {
            let turned = |d: usize| if flipped.contains(&d) { out[d] - 1 - index[d] } else { index[d] };
            (0..index.len()).map(turned).collect()
        }),
        Op::Concatenate { dim } => Index::all(out)
            .map(|mut index| {
                let mut operand = 0;
                while index[*dim] >= dims[operand][*dim] {
                    index[*dim] -= dims[operand][*dim];
                    operand += 1;
                }
                (operand, Index::flat(&index, dims[operand]))
            })
            .collect(),
        Op::Pad { low, interior, .. } => Index::all(out)
            .map(|index| {
                let mut source = Vec::new();
                for d in 0..index.len() {
                    let (place, step) = (index[d] as i64 - low[d], interior[d] as i64 + 1);
                    if place < 0 || place % step != 0 || place / step >= dims[0][d] as i64 {
                        return (1, 0);
                    }
                    source.push((place / step) as usize);
                }
                (0, Index::flat(&source, dims[0]))
            })
            .collect(),
        Op::DynamicSlice { sizes } => match starts(1, sizes) {
            Some(starts) => of_first(&|index| index.iter().zip(&starts).map(|(i, s)| i + s).collect()),
            None => return Some(None),
        },
        Op::DynamicUpdateSlice => {
            let Some(starts) = starts(2, dims[1]) else { return Some(None) };
            Index::all(out)
                .enumerate()
                .map(|(flat, index)| {
                    let within: Option<Vec<usize>> =
                        (0..index.len()).map(|d| index[d].checked_sub(starts[d]).filter(|i| *i < dims[1][d])).collect();
                    within.map_or((0, flat), |within| (1, Index::flat(&within, dims[1])))
                })
                .collect()
        }
        Op::Take => {
            let rows: Option<Vec<i128>> = integers(1).into_iter().collect();
            let Some(rows) = rows else { return Some(None) };
            of_first(&|index| [&[inside(rows[index[0]], dims[0][0], 1)], &index[1..]].concat())
        }
        _ => return None,
    }))
}
