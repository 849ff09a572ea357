//! Convolutions that stand for dots: the form in which the TPU compiler writes every matmul (FACTS 9).
//!
//! Dims without a window are plain: `bf_io->bf` is `[b,f] x [i,o]`. A spatial dim may be a batch dim in disguise: with
//! `size=n stride=n-1 lhs_dilate=n`, output position `p` meets only element `p` of both operands. Or it may be a free
//! dim of one operand, where the other has one element: with `size=n pad=n-1_n-1 rhs_reversal=1`, of the right one. Which
//! of these it is, is found by listing what each output position meets, so that no rule about windows is taken on trust.

use crate::ir::DotDims;

use super::view::WindowSpec;

/// A convolution as a dot between transposed and reshaped operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AsDot {
    /// Dims of the left and of the right operand, of extent one, that are dropped before the dot; ascending.
    pub dropped: [Vec<usize>; 2],
    /// Dimension numbers, over the operands without the dropped dims.
    pub dims: DotDims,
    /// Output dim `i` is dim `permutation[i]` of the dot's result.
    pub permutation: Vec<usize>,
}

/// How one spatial dim behaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spatial {
    Batch,
    LhsFree,
    RhsFree,
}

/// Why a convolution stands for no dot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConvolutionError {
    #[error("dim_labels={0} is not of the form bf_io->bf")]
    Labels(String),
    #[error("spatial dim {0} meets several elements: only convolutions that stand for a dot are supported")]
    Spatial(usize),
    #[error("feature groups are not supported")]
    FeatureGroups,
}

impl ConvolutionError {
    /// The attribute at fault.
    pub fn attribute(&self) -> &'static str {
        match self {
            ConvolutionError::Labels(_) | ConvolutionError::FeatureGroups => "dim_labels",
            ConvolutionError::Spatial(_) => "window",
        }
    }
}

/// Reads `dim_labels` (`0fb_o0i->0bf`) and the window.
pub(super) fn as_dot(
    labels: &str,
    window: &[WindowSpec],
    lhs: &[usize],
    rhs: &[usize],
) -> Result<AsDot, ConvolutionError> {
    let malformed = || ConvolutionError::Labels(labels.to_string());
    let (inputs, output) = labels.split_once("->").ok_or_else(malformed)?;
    let (left, right) = inputs.split_once('_').ok_or_else(malformed)?;
    let fits = left.len() == lhs.len() && right.len() == rhs.len() && output.len() == lhs.len();
    if !fits || window.len() + 2 != lhs.len() {
        return Err(malformed());
    }
    let place = |labels: &str, label: char| labels.chars().position(|c| c == label).ok_or_else(malformed);
    let digit = |d: usize| char::from_digit(d as u32, 10).ok_or_else(malformed);
    let mut kinds = Vec::new();
    for (d, w) in window.iter().enumerate() {
        let (l, r) = (place(left, digit(d)?)?, place(right, digit(d)?)?);
        kinds.push(spatial(w, lhs[l], rhs[r]).ok_or(ConvolutionError::Spatial(d))?);
    }
    let mut dropped = [vec![], vec![]];
    for (d, kind) in kinds.iter().enumerate() {
        match kind {
            Spatial::Batch => {}
            Spatial::LhsFree => dropped[1].push(place(right, digit(d)?)?),
            Spatial::RhsFree => dropped[0].push(place(left, digit(d)?)?),
        }
    }
    dropped.iter_mut().for_each(|dims| dims.sort_unstable());
    // An operand's dims once those are gone.
    let kept = |side: usize, dim: usize| dim - dropped[side].iter().filter(|d| **d < dim).count();
    let (contracted, features) = (place(left, 'f')?, place(right, 'i')?);
    if lhs[contracted] != rhs[features] {
        return Err(ConvolutionError::FeatureGroups);
    }
    let mut dims = DotDims {
        lhs_contracting: vec![kept(0, contracted)],
        rhs_contracting: vec![kept(1, features)],
        ..DotDims::default()
    };
    let mut batch = Vec::new();
    for (d, _) in kinds.iter().enumerate().filter(|(_, kind)| **kind == Spatial::Batch) {
        dims.lhs_batch.push(kept(0, place(left, digit(d)?)?));
        dims.rhs_batch.push(kept(1, place(right, digit(d)?)?));
        batch.push(digit(d)?);
    }
    let free = |labels: &str, side: usize, contracted: char| -> Vec<char> {
        let kept = labels.chars().enumerate().filter(|(at, _)| !dropped[side].contains(at)).map(|(_, c)| c);
        kept.filter(|c| *c != contracted && !batch.contains(c)).collect()
    };
    // What the dot gives: batch dims, each operand's free dims in order. The right one's `o` is the output's `f`.
    let given = [batch.clone(), free(left, 0, 'f'), free(right, 1, 'i')].concat();
    let given: Vec<char> = given.into_iter().map(|c| if c == 'o' { 'f' } else { c }).collect();
    let permutation = output.chars().map(|c| given.iter().position(|g| *g == c).ok_or_else(malformed));
    Ok(AsDot { dropped, dims, permutation: permutation.collect::<Result<_, _>>()? })
}

/// What the output positions of a spatial dim meet: (element of the left operand, element of the window) pairs.
fn spatial(w: &WindowSpec, lhs: usize, rhs: usize) -> Option<Spatial> {
    if rhs != w.size || w.stride == 0 || w.lhs_dilate == 0 || w.rhs_dilate == 0 || w.size == 0 {
        return None;
    }
    let (stride, dilate) = (w.stride as i64, w.lhs_dilate as i64);
    let extent = (w.size as i64 - 1) * w.rhs_dilate as i64 + 1;
    let padded = (lhs as i64 - 1) * dilate + 1 + w.pad.0 + w.pad.1;
    if lhs == 0 || padded < extent {
        return None;
    }
    let positions = (padded - extent) / stride + 1;
    let met = |position: i64| {
        let pairs = (0..w.size as i64).filter_map(move |k| {
            let at = position * stride + k * w.rhs_dilate as i64 - w.pad.0;
            let inside = at >= 0 && at % dilate == 0 && at / dilate < lhs as i64;
            let k = if w.reversed { w.size as i64 - 1 - k } else { k };
            inside.then_some((at / dilate, k))
        });
        pairs.collect::<Vec<_>>()
    };
    let all = |expected: &dyn Fn(i64) -> (i64, i64)| (0..positions).all(|p| met(p) == [expected(p)]);
    let positions_of = |extent: usize| positions == extent as i64;
    if rhs == 1 && positions_of(lhs) && all(&|p| (p, 0)) {
        Some(Spatial::LhsFree)
    } else if rhs == lhs && positions_of(lhs) && all(&|p| (p, p)) {
        Some(Spatial::Batch)
    } else if lhs == 1 && positions_of(rhs) && all(&|p| (0, p)) {
        Some(Spatial::RhsFree)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: WindowSpec =
        WindowSpec { size: 1, stride: 1, pad: (0, 0), lhs_dilate: 1, rhs_dilate: 1, reversed: false };

    #[test]
    fn a_matmul_is_plain() {
        let found = as_dot("bf_io->bf", &[], &[8, 256], &[256, 1024]);
        assert_eq!(found, Ok(AsDot { dropped: [vec![], vec![]], dims: DotDims::matmul(), permutation: vec![0, 1] }));
        let transposed = as_dot("fb_oi->fb", &[], &[256, 8], &[1024, 256]).map(|f| (f.dims, f.permutation));
        let dims = DotDims { lhs_contracting: vec![0], rhs_contracting: vec![1], ..DotDims::default() };
        assert_eq!(transposed, Ok((dims, vec![1, 0])));
    }

    /// As the TPU compiler writes the dots of attention (FACTS 9).
    #[test]
    fn a_dilated_window_is_a_batch() {
        let window = WindowSpec { size: 4, stride: 3, lhs_dilate: 4, ..PLAIN };
        let found = as_dot("0fb_o0i->0bf", &[window], &[4, 64, 1], &[128, 4, 64]);
        let dims =
            DotDims { lhs_contracting: vec![1], rhs_contracting: vec![2], lhs_batch: vec![0], rhs_batch: vec![1] };
        assert_eq!(found, Ok(AsDot { dropped: [vec![], vec![]], dims, permutation: vec![0, 1, 2] }));
    }

    #[test]
    fn a_window_of_one_is_a_free_dim() {
        let found = as_dot("b0f_0io->b0f", &[PLAIN], &[2, 5, 16], &[1, 16, 32]);
        let dims = DotDims { lhs_contracting: vec![2], rhs_contracting: vec![0], ..DotDims::default() };
        assert_eq!(found, Ok(AsDot { dropped: [vec![], vec![0]], dims, permutation: vec![0, 1, 2] }));
    }

    /// As the TPU compiler writes a mixture of experts, `td,edf->tef`.
    #[test]
    fn a_reversed_window_over_one_element_is_a_free_dim_of_the_right_operand() {
        let window = WindowSpec { size: 8, pad: (7, 7), reversed: true, ..PLAIN };
        let found = as_dot("bf0_0io->b0f", &[window], &[16, 64, 1], &[8, 64, 32]);
        let dims = DotDims { lhs_contracting: vec![1], rhs_contracting: vec![1], ..DotDims::default() };
        assert_eq!(found, Ok(AsDot { dropped: [vec![2], vec![]], dims: dims.clone(), permutation: vec![0, 1, 2] }));
        let found = as_dot("bf0_oi0->0fb", &[window], &[16, 64, 1], &[32, 64, 8]);
        assert_eq!(found, Ok(AsDot { dropped: [vec![2], vec![]], dims, permutation: vec![2, 1, 0] }));
        let unreversed = WindowSpec { reversed: false, ..window };
        assert!(as_dot("bf0_0io->b0f", &[unreversed], &[16, 64, 1], &[8, 64, 32]).is_err());
    }

    #[test]
    fn what_is_no_dot_is_refused() {
        let window = WindowSpec { size: 3, pad: (1, 1), ..PLAIN };
        assert!(as_dot("b0f_0io->b0f", &[window], &[2, 5, 16], &[3, 16, 32]).is_err());
        let reversed = WindowSpec { size: 4, stride: 3, lhs_dilate: 4, reversed: true, ..PLAIN };
        assert!(as_dot("0fb_o0i->0bf", &[reversed], &[4, 64, 1], &[128, 4, 64]).is_err());
        assert!(as_dot("bf_io->bf", &[], &[8, 256], &[128, 1024]).is_err());
        assert!(as_dot("bf_io", &[], &[8, 256], &[256, 1024]).is_err());
    }
}
