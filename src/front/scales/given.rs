//! Tensors that a question about scales is put to.

use crate::tensor::{DType, Tensor};

/// Elements and their scales, with all that is known of how they came about.
#[derive(Clone, Debug)]
pub struct Given {
    /// The elements: codes of a type of their own, or bytes of one code or two.
    pub elements: Tensor,
    /// The scales: bytes of e8m0, codes of e4m3, or floats.
    pub scales: Tensor,
    /// The per-tensor scale of two-level formats.
    pub per_tensor: Option<f32>,
    /// The tensor that was quantised: f32, bf16 or f16.
    pub input: Option<Tensor>,
    /// Zero points of integers: one a scale, or one of all; integers or floats.
    pub zero_points: Option<Tensor>,
    /// Whether the name of the scales says that they may be reciprocals (`scale_inv`).
    pub may_be_reciprocals: bool,
    /// Readings of words of 32 bits that hold integers; empty of other files.
    pub packed: Vec<(Layout, Given)>,
}

/// Why a question cannot be judged: exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScalesError {
    /// The file has no tensor of a name that is needed.
    #[error("there is no tensor `{name}`; {hint}: name it with --map {role}=NAME")]
    Missing {
        /// The name that was looked for.
        name: String,
        /// The part that it would play.
        role: &'static str,
        /// The nearest name, or all names.
        hint: String,
    },
    /// A part of `--map` is no `ROLE=NAME`.
    #[error(
        "--map `{0}` is not of the form elements=NAME, scales=NAME, per_tensor=NAME, zero_points=NAME or input=NAME"
    )]
    Map(String),
    /// A mapping names a role a second time.
    #[error("--map {0}= is given twice: a role has one tensor")]
    MappedTwice(String),
    /// A tensor has a type that its part cannot have.
    #[error("{role} is {dtype}; {needed}")]
    DType {
        /// The part.
        role: &'static str,
        /// The type found.
        dtype: DType,
        /// Types that it may have.
        needed: &'static str,
    },
    /// The per-tensor scale is no single positive number.
    #[error("per_tensor is {0}: one positive finite number is needed")]
    PerTensor(String),
    /// The tensors' dims do not belong together.
    #[error(
        "elements {elements:?} ({dtype}), scales {scales:?}{input} do not fit: the scales' dims are the number of blocks along each axis, e2m1 and int4 in bytes have half as many bytes along an axis as numbers"
    )]
    Dims {
        /// Dims of the elements as stored.
        elements: Vec<usize>,
        /// Type of the elements as stored.
        dtype: DType,
        /// Dims of the scales.
        scales: Vec<usize>,
        /// Dims of the input in words, empty without one.
        input: String,
    },
    /// The zero points are not as many as the scales, or belong to no integers.
    #[error(
        "zero_points {0}: integers or floats are needed, one for each scale or one of all, and elements that are integers"
    )]
    ZeroPoints(String),
    /// Words of 32 bits are in none of the known layouts.
    #[error(
        "words of 32 bits {elements:?} with scales {scales:?}, zero points {zeros} and input {input} are in no known layout: GPTQ has [K/8,N] and [groups,N/8], AWQ [K,N/8] and [groups,N/8], compressed-tensors [N,K/8] and [N/8,groups]; in GPTQ and AWQ scales are [groups,N], and `g_idx` has groups of one size"
    )]
    Packed {
        /// Dims of the elements' words.
        elements: Vec<usize>,
        /// Dims of the scales.
        scales: Vec<usize>,
        /// Dims of the zero points' words, "none" without them.
        zeros: String,
        /// Dims of the input, "none" without it.
        input: String,
    },
    /// Elements are indices of a table.
    #[error(
        "`{0}` belongs to bitsandbytes' NF4, FP4 or int8: elements are indices of a table of numbers over the largest magnitude of a block, not numbers of a format, and no rule here makes them"
    )]
    Table(String),
    /// No block says anything: all are zero, infinite or NaN.
    #[error("no block has a number other than zero, infinities and NaN: nothing tells rules apart")]
    NoBlocks,
}

/// Layout of codes in words of 32 bits. K is the axis of the groups and N the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Elements [K/p,N], zero points less one [groups,N/p], each word's codes from its low bits on (AutoGPTQ, GPTQModel, vLLM `gptq`).
    Gptq,
    /// As [`Layout::Gptq`], zero points as they are (GPTQModel's `gptq_v2`).
    GptqV2,
    /// Elements [K,N/8] and zero points [groups,N/8], a word's codes being those of columns 0, 2, 4, 6, 1, 3, 5, 7 (AutoAWQ, vLLM `awq`).
    Awq,
    /// As [`Layout::Awq`], with columns in order.
    AwqInOrder,
    /// Elements [N,K/p] and zero points [N/p,groups], integers above their least one (compressed-tensors `pack-quantized`).
    Compressed,
}

impl Layout {
    pub(super) const ALL: [Layout; 5] =
        [Layout::Gptq, Layout::GptqV2, Layout::Awq, Layout::AwqInOrder, Layout::Compressed];

    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Gptq => "GPTQ: 32-bit words along axis 0, zero points less one",
            Layout::GptqV2 => "GPTQ v2: 32-bit words along axis 0, zero points as they are",
            Layout::Awq => "AWQ: 32-bit words along axis 1, columns 0, 2, 4, 6, 1, 3, 5, 7",
            Layout::AwqInOrder => "32-bit words along axis 1, columns in order (AWQ interleaves them)",
            Layout::Compressed => "compressed-tensors: 32-bit words along axis 1",
        }
    }

    /// The fault in words, `None` of layouts that libraries read.
    pub fn fault(self) -> Option<&'static str> {
        let is_other = self == Layout::AwqInOrder;
        is_other.then_some("the codes of a word lie in the order of columns: AWQ's readers take 0, 2, 4, 6, 1, 3, 5, 7")
    }

    /// Columns of a word's codes, from the low bits on.
    pub(super) fn columns(self, per_word: usize) -> Vec<usize> {
        if self == Layout::Awq { vec![0, 2, 4, 6, 1, 3, 5, 7] } else { (0..per_word).collect() }
    }

    /// Axes that words lie along, of elements and of zero points.
    pub(super) fn axes(self) -> [usize; 2] {
        match self {
            Layout::Gptq | Layout::GptqV2 => [0, 1],
            Layout::Awq | Layout::AwqInOrder => [1, 1],
            Layout::Compressed => [1, 0],
        }
    }
}
