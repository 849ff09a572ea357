//! Dimension numbers of `dot`, brought to one form.

/// Contracting and batch dims of the two operands. The result's dims are batch, lhs free, rhs free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DotDims {
    /// Dims of the left operand that are summed over.
    pub lhs_contracting: Vec<usize>,
    /// For each of those, the right operand's dim that it is summed with.
    pub rhs_contracting: Vec<usize>,
    /// Dims of the left operand that stay, place by place with the right operand's.
    pub lhs_batch: Vec<usize>,
    /// For each of those, the right operand's dim.
    pub rhs_batch: Vec<usize>,
}

impl DotDims {
    /// `[m,k] x [k,n]`.
    pub fn matmul() -> DotDims {
        DotDims { lhs_contracting: vec![1], rhs_contracting: vec![0], ..DotDims::default() }
    }

    /// The number of products in one sum, for a left operand of these dims.
    pub fn products(&self, lhs: &[usize]) -> usize {
        self.lhs_contracting.iter().map(|d| lhs[*d]).product()
    }

    /// Dims of an operand that are neither contracting nor batch, ascending.
    pub fn free(rank: usize, contracting: &[usize], batch: &[usize]) -> Vec<usize> {
        (0..rank).filter(|d| !contracting.contains(d) && !batch.contains(d)).collect()
    }
}

/// A dot as `batch` products `[m,k] x [k,n]`: transpose each operand, then read it row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotPlan {
    /// The number of matrix products: the places of the batch dims.
    pub batch: usize,
    /// Rows of the left operand: the places of its free dims.
    pub m: usize,
    /// Products of one sum: the places of the contracting dims.
    pub k: usize,
    /// Columns of the right operand: the places of its free dims.
    pub n: usize,
    /// `lhs` in the order batch, free, contracting; `None` where it already is.
    pub lhs_transpose: Option<Permutation>,
    /// `rhs` in the order batch, contracting, free; `None` where it already is.
    pub rhs_transpose: Option<Permutation>,
    /// Whether `rhs` lies in the order batch, free, contracting: each sum's elements side by side.
    pub rhs_in_rows: bool,
    /// The extents by dims, as far as the choice of a unit depends on them.
    pub extents: DotExtents,
}

/// The extents of a dot's dims, of which [`DotPlan`] has the products.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotExtents {
    /// Those of the batch dims.
    pub batch: Vec<usize>,
    /// Those of the contracting dims.
    pub contracting: Vec<usize>,
    /// Those of the left and of the right operand's free dims, ascending by dim.
    pub free: [Vec<usize>; 2],
}

/// A permutation of an operand's dims.
pub type Permutation = Vec<usize>;

impl DotPlan {
    /// The plan for operands of dims `lhs` and `rhs`, which must have passed [`super::infer`].
    pub fn new(dims: &DotDims, lhs: &[usize], rhs: &[usize]) -> DotPlan {
        let extents = |shape: &[usize], which: &[usize]| which.iter().map(|d| shape[*d]).collect::<Vec<_>>();
        let lhs_free = DotDims::free(lhs.len(), &dims.lhs_contracting, &dims.lhs_batch);
        let rhs_free = DotDims::free(rhs.len(), &dims.rhs_contracting, &dims.rhs_batch);
        let lhs_order = [&dims.lhs_batch[..], &lhs_free, &dims.lhs_contracting].concat();
        let rhs_order = [&dims.rhs_batch[..], &dims.rhs_contracting, &rhs_free].concat();
        let rhs_rows = [&dims.rhs_batch[..], &rhs_free, &dims.rhs_contracting].concat();
        let extents = DotExtents {
            batch: extents(lhs, &dims.lhs_batch),
            contracting: extents(lhs, &dims.lhs_contracting),
            free: [extents(lhs, &lhs_free), extents(rhs, &rhs_free)],
        };
        let unless_sorted = |order: Vec<usize>| if order.is_sorted() { None } else { Some(order) };
        DotPlan {
            batch: extents.batch.iter().product(),
            m: extents.free[0].iter().product(),
            k: extents.contracting.iter().product(),
            n: extents.free[1].iter().product(),
            lhs_transpose: unless_sorted(lhs_order),
            rhs_transpose: unless_sorted(rhs_order),
            rhs_in_rows: rhs_rows.is_sorted(),
            extents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DotDims, DotPlan};

    /// Every way to give three dims of each operand one role each: orders are batch, free, contracting on the left, and batch,
    /// contracting, free on the right, and nothing is moved that lies so already.
    #[test]
    fn operands_are_brought_to_one_order() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for (left, right) in orders.iter().flat_map(|left| orders.iter().map(move |right| (left, right))) {
            // Extents of batch, contracting and free dims.
            let (batch, k, m, n) = (2, 3, 5, 7);
            let dims_of = |[b, c, f]: [usize; 3], free: usize| {
                let mut dims = [0; 3];
                (dims[b], dims[c], dims[f]) = (batch, k, free);
                dims
            };
            let (lhs, rhs) = (dims_of(*left, m), dims_of(*right, n));
            let dims = DotDims {
                lhs_contracting: vec![left[1]],
                rhs_contracting: vec![right[1]],
                lhs_batch: vec![left[0]],
                rhs_batch: vec![right[0]],
            };
            assert_eq!(dims.products(&lhs), k);
            let plan = DotPlan::new(&dims, &lhs, &rhs);
            assert_eq!([plan.batch, plan.m, plan.k, plan.n], [batch, m, k, n]);
            let unless_there = |order: [usize; 3]| (order != [0, 1, 2]).then(|| order.to_vec());
            assert_eq!(plan.lhs_transpose, unless_there([left[0], left[2], left[1]]), "{dims:?}");
            assert_eq!(plan.rhs_transpose, unless_there(*right), "{dims:?}");
            assert_eq!(plan.rhs_in_rows, [right[0], right[2], right[1]] == [0, 1, 2], "{dims:?}");
        }
        let turned = DotDims { lhs_contracting: vec![0], rhs_contracting: vec![1], ..DotDims::default() };
        let plan = DotPlan::new(&turned, &[3, 5], &[7, 3]);
        assert_eq!((plan.lhs_transpose, plan.rhs_transpose), (Some(vec![1, 0]), Some(vec![1, 0])));
        let all = DotDims { lhs_contracting: vec![0, 1], rhs_contracting: vec![0, 1], ..DotDims::default() };
        assert_eq!((all.products(&[3, 5]), DotPlan::new(&all, &[3, 5], &[3, 5]).k), (15, 15));
    }
}
