//! Tensors that a question about scales is put to.

use crate::name::hint;
use crate::tensor::{DType, Tensor};

use super::packed_words::{Layout, Words, is_packed, readings};

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

/// Names of the tensors in a file, in the order of [`Given`]'s fields.
pub const NAMES: [&str; 5] = ["elements", "scales", "per_tensor", "input", "zero_points"];

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
        "words of 32 bits {elements:?} with scales {scales:?}, zero points {zeros:?} and input {input:?} are in no known layout: GPTQ has [K/8,N] and [groups,N/8], AWQ [K,N/8] and [groups,N/8], compressed-tensors [N,K/8] and [N/8,groups]; in GPTQ and AWQ scales are [groups,N], and `g_idx` has groups of one size"
    )]
    Packed {
        /// Dims of the elements' words.
        elements: Vec<usize>,
        /// Dims of the scales.
        scales: Vec<usize>,
        /// Dims of the zero points' words, empty without them.
        zeros: Vec<usize>,
        /// Dims of the input, empty without it.
        input: Vec<usize>,
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

/// The tensors of a file, by their names or those that `map` gives instead, `ROLE=NAME` each.
///
/// # Errors
/// If elements or scales are missing, or the map is not understood.
pub fn find_tensors(tensors: &[(String, Tensor)], map: &[String]) -> Result<Given, ScalesError> {
    let mut names = NAMES.map(str::to_string);
    let mut is_mapped = [false; NAMES.len()];
    for entry in map.iter().flat_map(|entries| entries.split(',')) {
        let parts = entry.split_once('=').map(|(role, name)| (role.trim(), name.trim()));
        let (role, name) =
            parts.filter(|(_, name)| !name.is_empty()).ok_or_else(|| ScalesError::Map(entry.to_string()))?;
        let at = NAMES.iter().position(|known| *known == role).ok_or_else(|| ScalesError::Map(entry.to_string()))?;
        (names[at], is_mapped[at]) = (name.to_string(), true);
    }
    if let Some((name, _)) = tensors.iter().find(|(name, _)| TABLES.iter().any(|part| name.contains(part))) {
        return Err(ScalesError::Table(name.clone()));
    }
    name_packed(tensors, &mut names, is_mapped);
    let find = |name: &str| tensors.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor.clone());
    let missing = |at: usize| ScalesError::Missing {
        name: names[at].clone(),
        role: NAMES[at],
        hint: hint(&names[at], tensors.iter().map(|(name, _)| name.as_str())),
    };
    let optional = |at: usize| match find(&names[at]) {
        None if is_mapped[at] => Err(missing(at)),
        found => Ok(found),
    };
    let elements = find(&names[0]).ok_or_else(|| missing(0))?;
    // google/qwix keeps scales as floats.
    let scales = find(&names[1]).or_else(|| find("scales_float").filter(|_| !is_mapped[1]));
    let scales = scales.ok_or_else(|| missing(1))?;
    let per_tensor = optional(2)?.map(|tensor| one_number(&tensor)).transpose()?;
    let input = optional(3)?;
    if let Some(input) = &input
        && !matches!(input.dtype(), DType::F32 | DType::BF16 | DType::F16)
    {
        return Err(ScalesError::DType { role: "input", dtype: input.dtype(), needed: "f32, bf16 or f16 is needed" });
    }
    let zero_points = optional(4)?;
    if is_packed(&elements) {
        let groups = names[0].strip_suffix("qweight").and_then(|prefix| find(&format!("{prefix}g_idx")));
        let words = Words { elements, scales, zeros: zero_points, groups, input };
        let packed = readings(&words)?;
        let Some((_, first)) = packed.first() else { return Err(ScalesError::NoBlocks) };
        return Ok(Given { packed: packed.clone(), ..first.clone() });
    }
    if let Some(zeros) = &zero_points {
        let is_number = zeros.dtype().is_integer() || matches!(zeros.dtype(), DType::F32 | DType::BF16 | DType::F16);
        if !is_number || !(zeros.len() == scales.len() || zeros.len() == 1) {
            return Err(ScalesError::ZeroPoints(format!(
                "{}{:?} of scales {:?}",
                zeros.dtype(),
                zeros.dims(),
                scales.dims()
            )));
        }
    }
    let may_be_reciprocals = names[1].contains("inv") || names[1].contains("recip");
    Ok(Given { elements, scales, per_tensor, input, zero_points, may_be_reciprocals, packed: Vec::new() })
}

/// Parts of names that bitsandbytes gives to its tables and scales.
const TABLES: [&str; 3] = ["quant_map", "bitsandbytes__", ".absmax"];

/// Names of packed elements, and of the scales and zero points beside them.
const PACKED: [[&str; 3]; 2] =
    [["qweight", "scales", "qzeros"], ["weight_packed", "weight_scale", "weight_zero_point"]];

/// Takes the names of a file with packed elements, where the map gives no others and one tensor has such a name.
fn name_packed(tensors: &[(String, Tensor)], names: &mut [String; NAMES.len()], is_mapped: [bool; NAMES.len()]) {
    let has = |name: &str| tensors.iter().any(|(known, _)| known == name);
    for parts in PACKED {
        let mut ends = tensors.iter().map(|(name, _)| name).filter(|name| name.ends_with(parts[0]));
        if let (Some(only), None, false, false) = (ends.next(), ends.next(), is_mapped[0], has(&names[0])) {
            names[0] = only.clone();
        }
        let Some(prefix) = names[0].strip_suffix(parts[0]).map(str::to_string) else { continue };
        for (at, part) in [(1, parts[1]), (4, parts[2])] {
            let beside = format!("{prefix}{part}");
            if !is_mapped[at] && has(&beside) {
                names[at] = beside;
            }
        }
        return;
    }
}

fn one_number(tensor: &Tensor) -> Result<f32, ScalesError> {
    if !tensor.dtype().is_float() || tensor.len() != 1 {
        return Err(ScalesError::PerTensor(format!("{}{:?}", tensor.dtype(), tensor.dims())));
    }
    let value = tensor.data().get_f64(0) as f32;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err(ScalesError::PerTensor(value.to_string())) }
}
