//! What dims of a sum's term the dims of the values in it run along.

/// For each dim of a value, the dims of the term that it runs along, with their extents: several where a reshape joined them.
pub type Along = Vec<Dims>;
pub type Dims = Vec<(usize, usize)>;

/// In the place of a dim: where a gather reads, which changes in all loops.
pub const SOMEWHERE: usize = 1 << 20;

/// Whether a value is another one along the dim.
pub fn changes_with(along: &Along, dim: usize) -> bool {
    along.iter().flatten().any(|(along, _)| *along == dim || *along == SOMEWHERE)
}

/// Behind the last dim that runs along any.
pub fn end_of(along: &Along) -> usize {
    along.iter().rposition(|dims| !dims.is_empty()).map_or(0, |last| last + 1)
}

/// Whether neighbours along the dim are neighbours in memory.
pub fn lies_beside(along: &Along, dim: Option<usize>) -> bool {
    along.last().and_then(|dims| dims.last()).map(|(dim, _)| *dim) == dim && dim.is_some()
}

/// Along what the dims run of an array that is given another shape, where each dim stays, or takes the place of several;
/// `None` if more changes.
pub fn before_reshape(before: &[usize], after: &[usize], along: &Along) -> Option<Along> {
    // Dims that run along nothing stay in the place of their extent.
    let parts = after.iter().zip(along).flat_map(|(extent, dims)| match &dims[..] {
        [] => vec![(*extent, None)],
        dims => dims.iter().map(|dim| (dim.1, Some(*dim))).collect(),
    });
    let mut parts = parts.filter(|(extent, _)| *extent != 1);
    let before = before.iter().map(|extent| {
        let (mut dims, mut joined) = (Dims::new(), 1);
        while joined < *extent {
            let (extent, dim) = parts.next()?;
            joined *= extent;
            dims.extend(dim);
        }
        (joined == *extent).then_some(dims)
    });
    let before: Option<Along> = before.collect();
    before.filter(|_| parts.next().is_none())
}
