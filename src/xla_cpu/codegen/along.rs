//! The dims of a sum's term that the dims of the values in it run along.

/// For each dim of a value, the dims of the term that it runs along, with their extents: several where a reshape joined
/// them.
pub type Along = Vec<Dims>;
pub type Dims = Vec<(usize, usize)>;

/// Stands for the position that a gather reads, which varies in all loops.
pub const SOMEWHERE: usize = 1 << 20;

/// Stands behind the last dim, with the number of neighbours that share an element.
pub const SHARED: usize = SOMEWHERE + 2;

/// Whether a value varies along the dim.
pub fn changes_with(along: &Along, dim: usize) -> bool {
    along.iter().flatten().any(|(along, _)| *along == dim || *along == SOMEWHERE)
}

/// The number of dims up to the last one that runs along any.
pub fn end_of(along: &Along) -> usize {
    along.iter().rposition(|dims| !dims.is_empty()).map_or(0, |last| last + 1)
}

/// Whether neighbours along the dim are neighbours in memory.
pub fn lies_beside(along: &Along, dim: Option<usize>) -> bool {
    along.last().and_then(|dims| dims.last()).map(|(dim, _)| *dim) == dim && dim.is_some()
}

/// The entries of an array's dims, moved so that the dim of adjacent elements is the last one.
pub fn minor_last<T: Clone>(dims: &[T], minor: Option<usize>) -> Vec<T> {
    let mut dims = dims.to_vec();
    if let Some(minor) = minor.filter(|minor| *minor < dims.len()) {
        dims[minor..].rotate_left(1);
    }
    dims
}

/// Stands for the elements that a slice with a stride skips.
const BETWEEN: usize = SOMEWHERE + 1;

/// The dims that an array's dims run along, if a slice takes one element of so many.
pub fn between(along: &Along, strides: &[usize]) -> Along {
    let of = |(dims, stride): (&Dims, &usize)| {
        let skips = (*stride > 1 && !dims.is_empty()).then_some((BETWEEN, *stride));
        dims.iter().copied().chain(skips).collect()
    };
    along.iter().zip(strides).map(of).collect()
}

/// The dims that an array's dims run along, in the order of its memory. Dims of one element are left out, and
/// consecutive parts of one dim are joined.
pub fn in_memory(extents: &[usize], along: &Along) -> Along {
    let mut flat: Along = Vec::new();
    for dims in extents.iter().zip(along).filter(|(extent, _)| **extent != 1).map(|(_, dims)| dims) {
        if dims.is_empty() {
            flat.push(Dims::new());
        }
        for (dim, extent) in dims {
            match flat.last_mut().and_then(|last| last.last_mut()) {
                Some((last, joined)) if last == dim => *joined *= extent,
                _ => flat.push(vec![(*dim, *extent)]),
            }
        }
    }
    flat
}

/// The dims that an array's dims run along, from those of its broadcast along `dims`.
pub fn before_broadcast(dims: &[usize], along: &Along) -> Along {
    dims.iter().map(|dim| along[*dim].clone()).collect()
}

/// The number of neighbours along `dim` that share an element of an array that is broadcast along `dims`.
pub fn sharers(dims: &[usize], along: &Along, dim: usize) -> usize {
    let parts = along.iter().enumerate().rev().flat_map(|(d, parts)| parts.iter().rev().map(move |part| (d, part)));
    let own = parts.filter(|(_, (along, _))| *along == dim);
    own.take_while(|(d, _)| !dims.contains(d)).map(|(_, (_, extent))| extent).product()
}

/// The dims that an array's dims run along, from those of its transpose.
pub fn before_transpose(permutation: &[usize], along: &Along) -> Along {
    let mut before = vec![Dims::new(); along.len()];
    permutation.iter().zip(along).for_each(|(from, along)| before[*from].clone_from(along));
    before
}

/// The dims that an array's dims run along, from those of its reshape: each dim stays, is joined from several, or is
/// split into several. `None` for other reshapes.
pub fn before_reshape(before: &[usize], after: &[usize], along: &Along) -> Option<Along> {
    // Dims that run along nothing stay in the place of their extent.
    let parts = after.iter().zip(along).flat_map(|(extent, dims)| match &dims[..] {
        [] => vec![(*extent, None)],
        // Of a dim that is sliced the loop runs along a part.
        [(dim, _)] => vec![(*extent, Some(*dim))],
        dims => dims.iter().map(|dim| (dim.1, Some(dim.0))).collect(),
    });
    let mut parts = parts.filter(|(extent, _)| *extent != 1);
    // The inner part of a dim of which outer ones are taken.
    let mut left = None;
    let before = before.iter().map(|extent| {
        let (mut dims, mut joined) = (Dims::new(), 1);
        while joined < *extent {
            let (whole, dim) = left.take().or_else(|| parts.next())?;
            let missing = extent / joined;
            // What is parted otherwise is not followed.
            if !extent.is_multiple_of(joined * whole.min(missing)) || !whole.is_multiple_of(missing.min(whole)) {
                return None;
            }
            let taken = whole.min(missing);
            left = (taken < whole).then(|| (whole / taken, dim));
            joined *= taken;
            dims.extend(dim.map(|dim| (dim, taken)));
        }
        (joined == *extent).then_some(dims)
    });
    let before: Option<Along> = before.collect();
    before.filter(|_| left.is_none() && parts.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::{BETWEEN, before_reshape, between, in_memory};

    #[test]
    fn dims_are_joined_and_parted() {
        let along = vec![vec![(0, 32)], vec![(1, 6)]];
        let parted = vec![vec![(0, 2)], vec![(0, 16)], vec![(1, 2)], vec![(1, 3)]];
        assert_eq!(before_reshape(&[2, 16, 2, 3], &[32, 6], &along), Some(parted.clone()));
        assert_eq!(before_reshape(&[192], &[32, 6], &along), Some(vec![vec![(0, 32), (1, 6)]]));
        assert_eq!(before_reshape(&[32, 1, 6], &[32, 6], &along), Some(vec![vec![(0, 32)], vec![], vec![(1, 6)]]));
        let of_both = vec![vec![(0, 16)], vec![(0, 2), (1, 6)]];
        assert_eq!(before_reshape(&[16, 12], &[32, 6], &along), Some(of_both));
        for otherwise in [&[24, 8][..], &[5, 39], &[32, 4], &[32, 0]] {
            assert_eq!(before_reshape(otherwise, &[32, 6], &along), None, "{otherwise:?}");
        }
        assert_eq!(in_memory(&[2, 16, 2, 3], &parted), along);
        assert_eq!(in_memory(&[32, 1, 6], &vec![vec![(0, 32)], vec![], vec![(1, 6)]]), along);
        // Of a dim of which a part is taken all elements lie in memory.
        let part = vec![vec![(0, 4)], vec![(1, 12)]];
        let lies = vec![vec![(0, 4), (1, 13)], vec![], vec![]];
        assert_eq!(before_reshape(&[52, 1, 1], &[4, 13], &part), Some(lies));
        assert_eq!(between(&part, &[1, 2]), vec![vec![(0, 4)], vec![(1, 12), (BETWEEN, 2)]]);
        // Elements of one index among five lie apart.
        let apart = vec![vec![(0, 32)], vec![], vec![(1, 6)]];
        assert_eq!(in_memory(&[32, 5, 6], &apart), apart);
    }
}
