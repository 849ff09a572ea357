//! Convolutions as dots: the form in which the TPU compiler writes every matmul (FACTS 9), and those with windows.
//!
//! Dims without a window are plain: `bf_io->bf` is `[b,f] x [i,o]`. A spatial dim may be a batch dim in disguise: with
//! `size=n stride=n-1 lhs_dilate=n`, output position `p` meets only element `p` of both operands. Or it may be a free
//! dim of one operand, where the other has one element: with `size=n pad=n-1_n-1 rhs_reversal=1`, of the right one. Or both
//! operands meet in all of it, and it is contracted. Which of these it is, is found by listing what each output position
//! meets, so that no rule about windows is taken on trust. In all other cases the elements under each window are laid out
//! along a dim of their own, which is contracted.

use crate::ir::DotDims;

use crate::view::WindowSpec;

/// A convolution as a dot between operands that are rearranged first: windows laid out, reversed, reshaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsDot {
    /// Dims of the left operand under a window that moves: each becomes one of positions, and a new last dim has the elements
    /// under the window.
    pub windows: Vec<(usize, WindowSpec)>,
    /// Dims of the right operand that are read backwards.
    pub reversed: Vec<usize>,
    /// The operands' dims then: groups are split off, dims of extent one may be gone.
    pub reshaped: [Vec<usize>; 2],
    /// Dimension numbers of the dot.
    pub dims: DotDims,
    /// Dims of the dot's result.
    pub given: Vec<usize>,
    /// Dim `i` of the result is dim `permutation[i]` of what the dot gives, but for groups, which lie apart, and dims of
    /// extent one that a contracted window leaves.
    pub permutation: Vec<usize>,
    /// The result's dims.
    pub output: Vec<usize>,
}

/// Role of one spatial dim in the dot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spatial {
    Batch,
    LhsFree,
    RhsFree,
    Contracted,
    /// With this many positions.
    Windowed(usize),
}

/// Why a convolution has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvolutionError {
    #[error("dim_labels={0} is not of the form bf_io->bf")]
    Labels(String),
    #[error("no window fits into spatial dim {0}, whose kernel has {1} elements")]
    Spatial(usize, usize),
    #[error("{0} and {1} features do not fit {2} groups")]
    Groups(usize, usize, usize),
    #[error("a convolution has feature groups or batch groups, not both")]
    BothGroups,
}

impl ConvolutionError {
    /// The attribute at fault.
    pub fn attribute(&self) -> &'static str {
        match self {
            ConvolutionError::Labels(_) | ConvolutionError::Groups(..) => "dim_labels",
            ConvolutionError::Spatial(..) => "window",
            ConvolutionError::BothGroups => "batch_group_count",
        }
    }
}

/// One operand's dims on their way: labels and extents.
struct Labelled(Vec<(char, usize)>);

impl Labelled {
    fn place(&self, label: char) -> Option<usize> {
        self.0.iter().position(|(c, _)| *c == label)
    }

    fn remove(&mut self, label: char) {
        self.0.retain(|(c, _)| *c != label);
    }

    /// Splits a dim into groups, which come first, and what is inside a group.
    fn split(&mut self, label: char, groups: usize) -> Option<()> {
        let at = self.place(label)?;
        let extent = self.0[at].1;
        self.0[at].1 = extent / groups;
        self.0.insert(at, (GROUP, groups));
        extent.is_multiple_of(groups).then_some(())
    }

    fn extents(&self) -> Vec<usize> {
        self.0.iter().map(|(_, extent)| *extent).collect()
    }
}

/// The label of the dim of groups.
const GROUP: char = 'g';

/// Reads `dim_labels` (`0fb_o0i->0bf`), the window and the counts of feature groups and batch groups.
#[expect(clippy::too_many_lines, reason = "the dims of both operands are taken apart together")]
pub fn as_dot(
    labels: &str,
    window: &[WindowSpec],
    [feature_groups, batch_groups]: [usize; 2],
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
    let written = [left, right].map(|labels| labels.chars().collect::<Vec<char>>());
    let mut left = Labelled(left.chars().zip(lhs.iter().copied()).collect());
    let mut right = Labelled(right.chars().zip(rhs.iter().copied()).collect());
    let (mut windows, mut reversed) = (Vec::new(), Vec::new());
    // Labels of dims that are contracted, on either side, and of batch dims.
    let (mut contracted, mut batch) = (Vec::new(), Vec::new());
    for (d, w) in window.iter().enumerate() {
        let label = char::from_digit(d as u32, 10).ok_or_else(malformed)?;
        let (l, r) = (left.place(label).ok_or_else(malformed)?, right.place(label).ok_or_else(malformed)?);
        // The dim's number in an operand as it is given.
        let own = |side: usize| written[side].iter().position(|c| *c == label).ok_or_else(malformed);
        let kind = spatial(w, left.0[l].1, right.0[r].1).ok_or(ConvolutionError::Spatial(d, right.0[r].1))?;
        match kind {
            Spatial::Batch => batch.push(label),
            Spatial::LhsFree => right.remove(label),
            Spatial::RhsFree => left.remove(label),
            Spatial::Contracted => contracted.push((label, label)),
            Spatial::Windowed(positions) => {
                let under = char::from(b'A' + d as u8);
                windows.push((own(0)?, *w));
                left.0[l].1 = positions;
                left.0.push((under, w.size));
                contracted.push((under, label));
            }
        }
        if w.reversed && matches!(kind, Spatial::Contracted | Spatial::Windowed(_)) {
            reversed.push(own(1)?);
        }
    }
    let groups = feature_groups.max(batch_groups);
    if groups != 1 {
        if feature_groups.min(batch_groups) != 1 {
            return Err(ConvolutionError::BothGroups);
        }
        let features = |side: &Labelled, label| side.place(label).map_or(0, |at| side.0[at].1);
        let wrong = ConvolutionError::Groups(features(&left, 'f'), features(&right, 'o'), groups);
        let split = left.split(if feature_groups > 1 { 'f' } else { 'b' }, groups);
        split.and(right.split('o', groups)).ok_or(wrong)?;
        batch.push(GROUP);
    }
    contracted.push(('f', 'i'));
    let place = |side: &Labelled, label: char| side.place(label).ok_or_else(malformed);
    let mut dims = DotDims::default();
    for (l, r) in &contracted {
        dims.lhs_contracting.push(place(&left, *l)?);
        dims.rhs_contracting.push(place(&right, *r)?);
        if left.0[place(&left, *l)?].1 != right.0[place(&right, *r)?].1 {
            return Err(ConvolutionError::Groups(left.0[place(&left, *l)?].1, right.0[place(&right, *r)?].1, groups));
        }
    }
    for label in &batch {
        dims.lhs_batch.push(place(&left, *label)?);
        dims.rhs_batch.push(place(&right, *label)?);
    }
    // What the dot gives: batch dims, each operand's free dims in order. The right one's `o` is the output's `f`.
    let free = |side: &Labelled, numbers: [&[usize]; 2]| -> Vec<(char, usize)> {
        let bound = |at: &usize| numbers.iter().any(|n| n.contains(at));
        side.0.iter().enumerate().filter(|(at, _)| !bound(at)).map(|(_, dim)| *dim).collect()
    };
    let mut given: Vec<(char, usize)> = dims.lhs_batch.iter().map(|at| left.0[*at]).collect();
    given.extend(free(&left, [&dims.lhs_batch, &dims.lhs_contracting]));
    given.extend(free(&right, [&dims.rhs_batch, &dims.rhs_contracting]).into_iter().map(
        |(label, extent)| match label {
            'o' => ('f', extent),
            other => (other, extent),
        },
    ));
    let (mut permutation, mut result) = (Vec::new(), Vec::new());
    for label in output.chars() {
        let wanted = if label == 'f' { [GROUP, 'f'].as_slice() } else { &[label] };
        let found: Vec<usize> = wanted.iter().filter_map(|label| given.iter().position(|(c, _)| c == label)).collect();
        result.push(found.iter().map(|at| given[*at].1).product());
        permutation.extend(found);
    }
    if permutation.len() != given.len() {
        return Err(malformed());
    }
    let given = given.into_iter().map(|(_, extent)| extent).collect();
    let reshaped = [left.extents(), right.extents()];
    Ok(AsDot { windows, reversed, reshaped, dims, given, permutation, output: result })
}

/// Role of a spatial dim, from the pairs (element of the left operand, element of the window) at each output position;
/// `None` for a window that does not fit.
fn spatial(w: &WindowSpec, lhs: usize, rhs: usize) -> Option<Spatial> {
    if rhs != w.size || w.stride == 0 || w.lhs_dilate == 0 || w.rhs_dilate == 0 || w.size == 0 {
        return None;
    }
    let (stride, dilate) = (w.stride as i64, w.lhs_dilate as i64);
    let extent = (w.size as i128 - 1) * w.rhs_dilate as i128 + 1;
    let padded = (lhs as i128 - 1) * w.lhs_dilate as i128 + 1 + i128::from(w.pad.0) + i128::from(w.pad.1);
    // Positions of all that the window shows fit in a machine word.
    let reach = [extent, padded, w.stride as i128, w.lhs_dilate as i128, w.pad.0.into(), w.pad.1.into()];
    if lhs == 0 || padded < extent || reach.iter().any(|reach| reach.abs() >= 1 << 60) {
        return None;
    }
    let (extent, padded) = (extent as i64, padded as i64);
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
    if positions == 1 && lhs == w.size && lhs > 1 && w.pad == (0, 0) && dilate == 1 && w.rhs_dilate == 1 {
        Some(Spatial::Contracted)
    } else if rhs == 1 && positions_of(lhs) && all(&|p| (p, 0)) {
        Some(Spatial::LhsFree)
    } else if rhs == lhs && positions_of(lhs) && all(&|p| (p, p)) {
        Some(Spatial::Batch)
    } else if lhs == 1 && positions_of(rhs) && all(&|p| (0, p)) {
        Some(Spatial::RhsFree)
    } else {
        Some(Spatial::Windowed(positions as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: WindowSpec =
        WindowSpec { size: 1, stride: 1, pad: (0, 0), lhs_dilate: 1, rhs_dilate: 1, reversed: false };

    /// Without groups.
    fn found(labels: &str, window: &[WindowSpec], lhs: &[usize], rhs: &[usize]) -> AsDot {
        let found = as_dot(labels, window, [1, 1], lhs, rhs).unwrap();
        assert!(found.windows.is_empty() && found.reversed.is_empty());
        found
    }

    #[test]
    fn a_matmul_is_plain() {
        let plain = found("bf_io->bf", &[], &[8, 256], &[256, 1024]);
        assert_eq!((plain.dims, plain.permutation, plain.given), (DotDims::matmul(), vec![0, 1], vec![8, 1024]));
        let transposed = found("fb_oi->fb", &[], &[256, 8], &[1024, 256]);
        let dims = DotDims { lhs_contracting: vec![0], rhs_contracting: vec![1], ..DotDims::default() };
        assert_eq!((transposed.dims, transposed.permutation), (dims, vec![1, 0]));
    }

    /// As the TPU compiler writes the dots of attention (FACTS 9).
    #[test]
    fn a_dilated_window_is_a_batch() {
        let window = WindowSpec { size: 4, stride: 3, lhs_dilate: 4, ..PLAIN };
        let found = found("0fb_o0i->0bf", &[window], &[4, 64, 1], &[128, 4, 64]);
        let dims =
            DotDims { lhs_contracting: vec![1], rhs_contracting: vec![2], lhs_batch: vec![0], rhs_batch: vec![1] };
        assert_eq!((found.dims, found.permutation, found.given), (dims, vec![0, 1, 2], vec![4, 1, 128]));
    }

    #[test]
    fn a_window_of_one_is_a_free_dim() {
        let found = found("b0f_0io->b0f", &[PLAIN], &[2, 5, 16], &[1, 16, 32]);
        let dims = DotDims { lhs_contracting: vec![2], rhs_contracting: vec![0], ..DotDims::default() };
        assert_eq!((found.dims, found.permutation), (dims, vec![0, 1, 2]));
        assert_eq!(found.reshaped, [vec![2, 5, 16], vec![16, 32]]);
    }

    /// As the TPU compiler writes a mixture of experts, `td,edf->tef`.
    #[test]
    fn a_reversed_window_over_one_element_is_a_free_dim_of_the_right_operand() {
        let window = WindowSpec { size: 8, pad: (7, 7), reversed: true, ..PLAIN };
        let experts = found("bf0_0io->b0f", &[window], &[16, 64, 1], &[8, 64, 32]);
        let dims = DotDims { lhs_contracting: vec![1], rhs_contracting: vec![1], ..DotDims::default() };
        assert_eq!((experts.dims, experts.permutation), (dims.clone(), vec![0, 1, 2]));
        assert_eq!(experts.reshaped, [vec![16, 64], vec![8, 64, 32]]);
        let experts = found("bf0_oi0->0fb", &[window], &[16, 64, 1], &[32, 64, 8]);
        assert_eq!((experts.dims, experts.permutation), (dims, vec![2, 1, 0]));
        let unreversed = WindowSpec { reversed: false, ..window };
        let found = as_dot("bf0_0io->b0f", &[unreversed], [1, 1], &[16, 64, 1], &[8, 64, 32]).unwrap();
        assert_eq!(found.windows, [(2, unreversed)]);
    }

    /// As the TPU compiler writes `BTNH,NHD->BTD`: heads and features are contracted together.
    #[test]
    fn a_window_over_all_elements_is_contracted() {
        let window = WindowSpec { size: 4, ..PLAIN };
        let heads = found("b0f_0io->bf0", &[window], &[2, 4, 16], &[4, 16, 64]);
        let dims = DotDims { lhs_contracting: vec![1, 2], rhs_contracting: vec![0, 1], ..DotDims::default() };
        assert_eq!((heads.dims, heads.permutation, heads.given), (dims, vec![0, 1], vec![2, 64]));
    }

    #[test]
    fn a_window_that_moves_is_laid_out() {
        let window = WindowSpec { size: 3, pad: (1, 1), reversed: true, ..PLAIN };
        let found = as_dot("b0f_0io->b0f", &[window], [1, 1], &[2, 5, 16], &[3, 16, 32]).unwrap();
        let dims = DotDims { lhs_contracting: vec![3, 2], rhs_contracting: vec![0, 1], ..DotDims::default() };
        assert_eq!((found.dims, found.permutation, found.given), (dims, vec![0, 1, 2], vec![2, 5, 32]));
        assert_eq!((found.windows, found.reversed), (vec![(1, window)], vec![0]));
        assert_eq!(found.reshaped, [vec![2, 5, 16, 3], vec![3, 16, 32]]);
    }

    /// A convolution for each feature, and the gradient of one, which sums over groups of the batch.
    #[test]
    fn groups_are_batch_dims() {
        let found = as_dot("bf_io->bf", &[], [4, 1], &[2, 8], &[2, 12]).unwrap();
        assert_eq!(found.reshaped, [vec![2, 4, 2], vec![2, 4, 3]]);
        assert_eq!((found.given, found.permutation), (vec![4, 2, 3], vec![1, 0, 2]));
        let found = as_dot("bf_io->bf", &[], [1, 4], &[8, 2], &[2, 12]).unwrap();
        assert_eq!(found.reshaped, [vec![4, 2, 2], vec![2, 4, 3]]);
        assert_eq!((found.given, found.permutation), (vec![4, 2, 3], vec![1, 0, 2]));
    }

    #[test]
    fn what_has_no_meaning_is_refused() {
        assert!(as_dot("bf_io->bf", &[], [1, 1], &[8, 256], &[128, 1024]).is_err());
        assert!(as_dot("bf_io", &[], [1, 1], &[8, 256], &[256, 1024]).is_err());
        assert!(as_dot("bf_io->bf", &[], [3, 1], &[8, 256], &[256, 1024]).is_err());
        assert!(as_dot("bf_io->bf", &[], [2, 2], &[8, 256], &[128, 1024]).is_err());
        let wide = WindowSpec { size: 6, ..PLAIN };
        assert!(as_dot("b0f_0io->b0f", &[wide], [1, 1], &[2, 5, 16], &[6, 16, 32]).is_err());
        assert!(as_dot("b0f_0io->b0f", &[PLAIN], [1, 1], &[2, 5, 16], &[3, 16, 32]).is_err());
    }
}
