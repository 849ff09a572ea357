//! Dimension numbers of operations that read or write at positions given by an array of indices.

/// Dimension numbers of `gather`, as HLO names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GatherDims {
    /// Dims of the result along which a slice lies, ascending; the others go over the index vectors.
    pub offset_dims: Vec<usize>,
    /// Dims of the array, of slice size 1, that the result does not have.
    pub collapsed_slice_dims: Vec<usize>,
    /// For each element of an index vector, the dim of the array along which it says where a slice starts.
    pub start_index_map: Vec<usize>,
    /// Dims of the array, of slice size 1, that the result does not have and whose index is that of a dim of the start
    /// indices.
    pub operand_batching_dims: Vec<usize>,
    /// For each of `operand_batching_dims`, that dim of the start indices.
    pub start_indices_batching_dims: Vec<usize>,
    /// The dim of the start indices along which an index vector lies; their rank if each start index is one by itself.
    pub index_vector_dim: usize,
    /// Extents of a slice, one a dim of the array.
    pub slice_sizes: Vec<usize>,
}

/// Dimension numbers of `scatter`, as HLO names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScatterDims {
    /// Dims of the updates along which a window lies, ascending; the others go over the index vectors.
    pub update_window_dims: Vec<usize>,
    /// Dims of the arrays, of window size 1, that the updates do not have.
    pub inserted_window_dims: Vec<usize>,
    /// For each element of an index vector, the dim of the arrays along which it says where a window starts.
    pub scatter_dims_to_operand_dims: Vec<usize>,
    /// Dims of the arrays, of window size 1, that the updates do not have and whose index is that of a dim of the start
    /// indices.
    pub input_batching_dims: Vec<usize>,
    /// For each of `input_batching_dims`, that dim of the start indices.
    pub scatter_indices_batching_dims: Vec<usize>,
    /// The dim of the start indices along which an index vector lies; their rank if each start index is one by itself.
    pub index_vector_dim: usize,
}

impl ScatterDims {
    /// Extents of a window, one a dim of an array of `rank` dims.
    pub fn window_sizes(&self, rank: usize, update_dims: &[usize]) -> Vec<usize> {
        let mut extents = self.update_window_dims.iter().map(|d| update_dims[*d]);
        let inserted = |d: &usize| self.inserted_window_dims.contains(d) || self.input_batching_dims.contains(d);
        (0..rank).map(|d| if inserted(&d) { 1 } else { extents.next().unwrap_or(1) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ScatterDims;

    /// A window has one element along dims that updates do not have, and their extents in order along the others.
    #[test]
    fn windows_have_the_extents_of_updates() {
        let dims = ScatterDims {
            update_window_dims: vec![0, 2],
            inserted_window_dims: vec![1],
            input_batching_dims: vec![2],
            ..ScatterDims::default()
        };
        assert_eq!(dims.window_sizes(4, &[5, 9, 7]), [5, 1, 1, 7]);
    }
}
