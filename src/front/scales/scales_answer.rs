//! The answer to a question about scales, as JSON has it.

use serde::Serialize;

/// Numbers of blocks that an answer lists, at most.
pub(super) const MOST_NUMBERS: usize = 64;

/// Rules that the bytes of the judged blocks cannot tell apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Class {
    /// Names of the rules, each once.
    pub rules: Vec<String>,
    /// Their forms, each once.
    pub sub_rules: Vec<String>,
    /// Libraries that have them.
    pub libraries: Vec<String>,
    /// The arithmetic of each, in words.
    pub how: Vec<String>,
    /// Judged blocks whose scale is the rule's.
    pub supports: usize,
    /// Judged blocks whose scale is another one.
    pub refutes: usize,
}

/// The first block whose scale the best class does not give.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Number of the block, in row-major order.
    pub block: usize,
    /// Its place along each axis.
    pub place: Vec<usize>,
    /// The largest magnitude of its input.
    pub largest: f64,
    /// Code of the stored scale.
    pub stored: u64,
    /// Codes that the class permits.
    pub rule: Vec<u64>,
    /// Root of the mean square error of what is stored, over that of the input.
    pub stored_error: Option<f64>,
    /// The same with the class's scale, and elements rounded by it.
    pub rule_error: Option<f64>,
    /// Elements of the block that are clamped under the stored scale.
    pub stored_saturated: usize,
    /// Elements that would be clamped under the class's scale.
    pub rule_saturated: usize,
}

/// The first element that does not follow from input and scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherElement {
    /// Number of its block, in row-major order.
    pub block: usize,
    /// Its place in the block, from 0.
    pub place: usize,
    /// The input.
    pub input: f64,
    /// The stored code.
    pub stored: u8,
    /// The code that follows.
    pub expected: u8,
}

/// Scales that elements were rounded by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ElementsAnswer {
    /// Roundings that fit as many blocks.
    pub rounding: Vec<&'static str>,
    /// Forms of the quotient that fit as many blocks.
    pub quotient: Vec<&'static str>,
    /// Whether elements beyond the largest number became that number; `None` where there are none.
    pub saturating: Option<bool>,
    /// Blocks all of whose elements were rounded by the block's scale.
    pub by_their_scale: usize,
    /// Blocks all of whose elements were rounded by another scale, by its steps from the stored one.
    pub by_another_scale: std::collections::BTreeMap<i64, usize>,
    /// Numbers of blocks that were not rounded by their scale, the first 64.
    pub other_blocks: Vec<usize>,
    /// Blocks whose elements no scale near by explains.
    pub by_none: usize,
    /// Blocks not asked: zero, infinite or NaN ones, and those under scales that are no normal number.
    pub not_asked: usize,
    /// Clamped elements.
    pub saturated: usize,
    /// Elements of zero whose sign is not the input's.
    pub turned_zeros: usize,
    /// The first element that does not follow.
    pub first_other: Option<OtherElement>,
    /// Rules whose scales the elements were rounded by, where those are not the stored ones.
    pub rounded_by_rules: Vec<String>,
}

/// The per-tensor scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerTensorAnswer {
    /// The value of the file.
    pub given: Option<f64>,
    /// The input's largest magnitude over 2688.
    pub expected: Option<f64>,
    /// Its part in the scales: used, ignored, missing, inverse, none.
    pub status: &'static str,
}

/// The zero points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZeroPointsAnswer {
    /// Their type; `None` where the file has none.
    pub dtype: Option<&'static str>,
    /// Their part in the elements: used, shifted, negated, ignored, missing.
    pub status: &'static str,
    /// Blocks whose zero point is not the best class's.
    pub disagree: usize,
    /// The number of the first of them.
    pub first_block: Option<usize>,
    /// Its stored zero point.
    pub stored: Option<f64>,
    /// The zero point that the class gives it.
    pub rule: Option<f64>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Whether one class explains all blocks, and nothing else is wrong.
    pub agrees: bool,
    /// The format: mxfp8, mxfp6, mxfp4, nvfp4, int8, int4, fp8.
    pub format: String,
    /// The type of the elements.
    pub element_type: &'static str,
    /// The type of the scales.
    pub scale_type: &'static str,
    /// Elements of a block along its axis, or all of them where it has several axes.
    pub block: usize,
    /// Elements of a block along each axis.
    pub block_shape: Vec<usize>,
    /// The axis along which blocks lie; `None` where a block has several.
    pub axis: Option<usize>,
    /// Order of the codes in a byte.
    pub packing: &'static str,
    /// Number of blocks.
    pub blocks: usize,
    /// Blocks that the classes were judged by, 512 at most.
    pub judged: usize,
    /// Rules of the best class; without the input, those that the bytes do not exclude.
    pub rules: Vec<String>,
    /// Forms of the best class's rules.
    pub sub_rules: Vec<String>,
    /// Libraries of the best class.
    pub libraries: Vec<String>,
    /// All classes, the best first.
    pub classes: Vec<Class>,
    /// Rules that bytes alone exclude, with the first block that does; only without the input.
    pub excluded: Vec<Exclusion>,
    /// Steps by which all scales are beside the rule's or the elements'.
    pub scale_offset: i64,
    /// Whether zero, infinite and NaN blocks have the bytes of a library of the best class.
    pub edges: &'static str,
    /// The per-tensor scale, of formats that may have one.
    pub per_tensor: Option<PerTensorAnswer>,
    /// The zero points, of files or rules that have them.
    pub zero_points: Option<ZeroPointsAnswer>,
    /// Whether the stored scales are reciprocals, by which elements are multiplied.
    pub reciprocal: bool,
    /// Blocks, all of them, whose scale is not the best class's.
    pub disagree: usize,
    /// The first of them.
    pub first_disagreement: Option<Disagreement>,
    /// The elements; `None` without the input.
    pub elements: Option<ElementsAnswer>,
    /// Everything that is wrong, one sentence each.
    pub faults: Vec<String>,
}

/// A rule that the bytes alone exclude.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exclusion {
    /// The rule.
    pub rule: String,
    /// Blocks that exclude it.
    pub blocks: usize,
    /// The first of them.
    pub first_block: usize,
    /// Numbers of the first 64 of them.
    pub numbers: Vec<usize>,
    /// The reason, with the numbers of that block.
    pub because: String,
}
