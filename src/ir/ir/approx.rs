//! The output size of an approximate top-k, as XLA computes it before compilation.

use super::program::Shape;

/// Why an approximate top-k has no size, or its bins do not hold its operand.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BinsError {
    /// The operand is a part of something smaller.
    #[error("reduction_input_size_override {whole} is below the operand's own size {n}")]
    WholeBelowPart {
        /// The size stated for the whole.
        whole: usize,
        /// The operand's own.
        n: usize,
    },
    /// A recall that is no share.
    #[error("recall_target {0} lies outside (0, 1]")]
    RecallTarget(f32),
    /// A reduction by more than any size.
    #[error("log2_reduction {0} is out of range")]
    Log2Reduction(u32),
    /// The result claimed is no pair.
    #[error("PartialReduce gives (values, indices)")]
    NoTuple,
    /// The operand has no dim.
    #[error("PartialReduce reduces the last dim, and a scalar has none")]
    Scalar,
    /// Nothing is reduced, but the sizes differ.
    #[error("PartialReduce without reduction gives the {n} elements, not {bins} bins")]
    Unreduced {
        /// The operand's size.
        n: usize,
        /// The result's.
        bins: usize,
    },
    /// Fewer bins than the reduction leaves.
    #[error("PartialReduce of {n} by 2^{log2_reduction} needs {least} bins, in chunks of {tiling}, not {bins}")]
    TooFew {
        /// The operand's size.
        n: usize,
        /// The reduction, as a power of two.
        log2_reduction: u32,
        /// The bins that are needed.
        least: usize,
        /// The number that the operand is padded to a multiple of.
        tiling: usize,
        /// The result's size.
        bins: usize,
    },
}

/// `(size, log2_reduction)` for an operand of `n` values along the reduced dim and rank `rank`.
///
/// Follows `hlo/builder/lib/approx_topk_shape.cc` (FACTS 5.2) step by step. `log2_reduction` is 0
/// where nothing is reduced, that is, where the result is exact. An aggregated result has `k` values instead.
///
/// # Errors
/// If the whole is smaller than its part, or the recall is no share.
pub fn output_size(
    n: usize,
    rank: usize,
    k: usize,
    recall_target: f32,
    reduction_input_size_override: Option<usize>,
) -> Result<(usize, u32), BinsError> {
    let tiling = tiling(rank);
    if n <= tiling {
        return Ok((n, 0));
    }
    let logical = match reduction_input_size_override {
        Some(whole) if n > whole => {
            return Err(BinsError::WholeBelowPart { whole, n });
        }
        Some(whole) => whole,
        None => n,
    };
    if k == 1 {
        return Ok((tiling, ceil_log2(logical.div_ceil(tiling))));
    }
    if recall_target == 1.0 {
        return Ok((n, 0));
    }
    if !(recall_target > 0.0 && recall_target < 1.0) {
        return Err(BinsError::RecallTarget(recall_target));
    }
    // A correctly rounded logarithm: the same bins on every platform.
    let promised = (1.0 - k as f64) / core_math::log(f64::from(recall_target));
    let bins = (promised.floor() as usize).max(tiling).min(logical);
    let log2_reduction = floor_log2(logical / bins.max(1)).min(ceil_log2(n / tiling));
    if log2_reduction == 0 {
        return Ok((n, 0));
    }
    Ok((n.div_ceil(tiling).div_ceil(1 << log2_reduction) * tiling, log2_reduction))
}

/// `claimed`, the (values, indices) that a `PartialReduce` of an operand with these `dims` is said to give, if every
/// element has a bin: chunks of the tiling (1024 elements at rank 1, otherwise 128) are reduced `2^log2_reduction` at a
/// time (FACTS 5.3).
pub(super) fn with_enough_bins(dims: &[usize], log2_reduction: u32, claimed: Shape) -> Result<Shape, BinsError> {
    let [.., n] = *dims else { return Err(BinsError::Scalar) };
    let bins = match &claimed {
        Shape::Tuple(parts) => parts.first().and_then(|part| part.dims().last().copied()),
        Shape::Array { .. } => None,
    };
    let bins = bins.ok_or(BinsError::NoTuple)?;
    let Some(together) = 1usize.checked_shl(log2_reduction) else {
        return Err(BinsError::Log2Reduction(log2_reduction));
    };
    let tiling = tiling(dims.len());
    let least = n.div_ceil(tiling).div_ceil(together) * tiling;
    let enough = if log2_reduction == 0 { bins == n } else { bins.is_multiple_of(tiling) && bins >= least };
    if enough {
        return Ok(claimed);
    }
    Err(match log2_reduction {
        0 => BinsError::Unreduced { n, bins },
        _ => BinsError::TooFew { n, log2_reduction, least, tiling, bins },
    })
}

/// Elements that are reduced side by side: a whole register for an operand of rank 1, otherwise its lanes (FACTS 5.2).
pub const fn tiling(rank: usize) -> usize {
    if rank == 1 { 1024 } else { 128 }
}

fn floor_log2(n: usize) -> u32 {
    n.checked_ilog2().unwrap_or(0)
}

fn ceil_log2(n: usize) -> u32 {
    if n <= 1 { 0 } else { (n - 1).ilog2() + 1 }
}

#[cfg(test)]
mod tests {
    use super::{BinsError, Shape, output_size, with_enough_bins};
    use crate::tensor::DType;

    #[test]
    fn a_partial_reduction_has_a_bin_for_every_element() {
        let claimed =
            |bins: usize| Shape::Tuple([DType::F32, DType::S32].map(|t| Shape::array(t, &[8, bins])).to_vec());
        let check = |n: usize, log2: u32, bins: usize| with_enough_bins(&[8, n], log2, claimed(bins)).is_ok();
        assert!(check(128256, 7, 1024) && check(32000, 5, 1024) && check(100, 0, 100));
        assert!(!check(128256, 6, 1024) && !check(128256, 7, 1000) && !check(128256, 7, 0) && !check(100, 0, 128));
        assert!(check(1024, 63, 128) && !check(1024, 63, 64) && !check(1024, 64, 128));
        let flat = |bins: usize| Shape::Tuple([DType::F32, DType::S32].map(|t| Shape::array(t, &[bins])).to_vec());
        let of_rank_1 = |bins: usize| with_enough_bins(&[32000], 4, flat(bins)).is_ok();
        assert!(of_rank_1(2048) && !of_rank_1(1920) && !of_rank_1(1024));
        assert!(with_enough_bins(&[8, 100], 0, Shape::array(DType::F32, &[8, 100])).is_err());
    }

    /// FACTS 5.2, and sizes measured on jaxlib 0.10.2 for rank 2.
    #[test]
    fn sizes_are_those_of_jaxlib() {
        let cases = [
            (32000, 2, 40, 0.95, 1024, 5),
            (128256, 2, 40, 0.95, 1024, 7),
            (151936, 2, 64, 0.95, 2432, 6),
            (256000, 2, 64, 0.95, 2048, 7),
            (32000, 2, 64, 0.99, 8064, 2),
            (32000, 1, 40, 0.95, 2048, 4),
            (32000, 2, 1, 0.95, 128, 8),
            (256000, 2, 128, 0.5, 256, 10),
            (32000, 2, 1000, 0.1, 512, 6),
        ];
        for (n, rank, k, recall, size, log2) in cases {
            assert_eq!(output_size(n, rank, k, recall, None), Ok((size, log2)), "n = {n}, k = {k}");
        }
        let measured = [
            (1000, 10, 0.95, 256),
            (32768, 64, 0.95, 2048),
            (128256, 40, 0.95, 1024),
            (262144, 256, 0.99, 32768),
            (4096, 1, 0.95, 128),
            (1048576, 128, 0.9, 2048),
        ];
        for (n, k, recall, size) in measured {
            assert_eq!(output_size(n, 2, k, recall, None).map(|s| s.0), Ok(size), "n = {n}, k = {k}");
        }
        assert_eq!(output_size(32000, 2, 40, 0.95, Some(256000)), Ok((128, 8)));
        // The whole is no smaller than its part.
        for whole in [100, 16_000, 31_999] {
            let refused = BinsError::WholeBelowPart { whole, n: 32000 };
            assert_eq!(output_size(32000, 2, 40, 0.95, Some(whole)), Err(refused));
        }
        assert_eq!(output_size(32000, 2, 40, 0.95, Some(32000)), output_size(32000, 2, 40, 0.95, None));
        assert!(output_size(32000, 2, 40, 0.0, None).is_err());
    }

    /// Whole chunks of bins, and at least as many as elements of which each holds `2^log2_reduction` need.
    #[test]
    fn a_partial_reduction_has_whole_chunks_of_bins() {
        for (dims, log2_reduction, chunk, least) in
            [(&[4, 4096][..], 2, 128, 1024), (&[4096], 2, 1024, 1024), (&[3, 500], 1, 128, 256)]
        {
            for bins in 0..=4096 {
                let claimed = Shape::Tuple(vec![Shape::array(DType::F32, &[bins]), Shape::array(DType::S32, &[bins])]);
                let found = with_enough_bins(dims, log2_reduction, claimed);
                assert_eq!(found.is_ok(), bins >= least && bins.is_multiple_of(chunk), "{dims:?}, {bins} bins");
            }
        }
    }
}
