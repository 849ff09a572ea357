//! The tensors of a file, by their names.

use crate::name::hint;
use crate::tensor::{DType, Tensor};

use super::given::{Given, ScalesError};
use super::packed_words::{Words, is_packed, readings};

/// Names of the tensors in a file, in the order of [`Given`]'s fields.
pub const NAMES: [&str; 5] = ["elements", "scales", "per_tensor", "input", "zero_points"];

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
        if is_mapped[at] {
            return Err(ScalesError::MappedTwice(role.to_string()));
        }
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
        let Some((_, first)) = packed.first().cloned() else { return Err(ScalesError::NoBlocks) };
        return Ok(Given { packed, ..first });
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
