//! Readings of the bytes: element type, packing, blocks, type and order of the scales. A file may permit several.

use crate::num::{exp2i, floor_log2};
use crate::scaled::{Blocks, E2M1, E2M3, E3M2, E4M3, E5M2, Element, INT4, INT8, ScaleType, UINT4, UINT8};
use crate::tensor::{DType, Data, Tensor};

pub use super::exchange::Exchange;
use super::given::{Given, ScalesError};

/// Order of codes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One code a byte, or elements of a type of their own.
    None,
    /// The even index in the low half.
    LowFirst,
    /// The even index in the high half.
    HighFirst,
    /// Four codes of six bits in three bytes, each code above the ones before it.
    SixLowFirst,
    /// Four codes of six bits in three bytes, each code below the ones before it.
    SixHighFirst,
}

impl Packing {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Packing::None => "one code an element",
            Packing::LowFirst => "low nibble first",
            Packing::HighFirst => "high nibble first",
            Packing::SixLowFirst => "four codes in three bytes, low bits first",
            Packing::SixHighFirst => "four codes in three bytes, high bits first",
        }
    }
}

/// Elements as one reading has them.
#[derive(Clone, Debug)]
pub struct Elements {
    /// Their type.
    pub element: &'static Element,
    /// Order of codes in a byte.
    pub packing: Packing,
    /// Dims of the numbers.
    pub dims: Vec<usize>,
    /// A code a number, row-major.
    pub codes: Vec<u8>,
    /// Whether they were turned.
    pub exchange: Exchange,
}

/// Scales as one reading has them.
#[derive(Clone, Debug)]
pub struct Scales {
    /// The blocks that they belong to.
    pub blocks: Blocks,
    /// Their type.
    pub scale_type: ScaleType,
    /// Codes, in the row-major order of the blocks.
    pub codes: Vec<u64>,
    /// Zero points in the same order.
    pub zeros: Option<Vec<f64>>,
    /// Whether they were turned.
    pub exchange: Exchange,
}

fn reversed(dims: &[usize]) -> Vec<usize> {
    dims.iter().rev().copied().collect()
}

/// Positions in row-major order of `dims` reversed, for each element of the transpose in row-major order of `dims`.
fn transposed<T: Copy>(values: &[T], dims: &[usize]) -> Vec<T> {
    let strides: Vec<usize> = (0..dims.len()).map(|at| dims[..at].iter().product()).collect();
    let place = |mut flat: usize| {
        let mut sum = 0;
        for at in (0..dims.len()).rev() {
            sum += flat % dims[at] * strides[at];
            flat /= dims[at];
        }
        sum
    };
    (0..values.len()).map(|flat| values[place(flat)]).collect()
}

/// Bytes of a tensor whose elements are no wider than a byte.
fn bytes(data: &Data) -> Option<Vec<u8>> {
    match data {
        Data::Coded(_, codes) | Data::U8(codes) => Some(codes.clone()),
        Data::S8(codes) => Some(codes.iter().map(|code| *code as u8).collect()),
        _ => None,
    }
}

/// Two codes a byte as one code each; `kept` is the number of codes of a row, as the last of an odd one is no number.
fn unpacked(bytes: &[u8], row: usize, kept: usize, packing: Packing) -> Vec<u8> {
    let both = |byte: &u8| if packing == Packing::LowFirst { [byte & 15, byte >> 4] } else { [byte >> 4, byte & 15] };
    bytes.chunks(row.max(1)).flat_map(|row| row.iter().flat_map(both).take(kept).collect::<Vec<_>>()).collect()
}

/// Codes of six bits, `kept` in a row of so many bytes, one code each: a row is one stream of bits.
fn six_bits(bytes: &[u8], row: usize, kept: usize, packing: Packing) -> Vec<u8> {
    let code = |row: &[u8], at: usize| {
        let (byte, shift) = (at * 6 / 8, at * 6 % 8);
        let [first, second] = [0, 1].map(|next| row.get(byte + next).copied().map_or(0, u16::from));
        let six = if packing == Packing::SixLowFirst {
            (first | second << 8) >> shift
        } else {
            (first << 8 | second) >> (10 - shift)
        };
        (six & 63) as u8
    };
    bytes.chunks(row.max(1)).flat_map(|row| (0..kept).map(|at| code(row, at)).collect::<Vec<_>>()).collect()
}

/// Readings of the elements, the likeliest first.
#[expect(clippy::too_many_lines, reason = "one reading after another, the likeliest first")]
pub fn elements(given: &Given) -> Result<Vec<Elements>, ScalesError> {
    let stored = &given.elements;
    let refused = || ScalesError::DType {
        role: "elements",
        dtype: stored.dtype(),
        needed: "a type of eight bits at most is needed: float8, float4, int8, int4, or bytes of codes",
    };
    let bytes = bytes(stored.data()).ok_or_else(refused)?;
    let dims = stored.dims().to_vec();
    let input = given.input.as_ref().map(Tensor::dims);
    let all = |most: u8| bytes.iter().all(|byte| *byte <= most);
    let is_whole = input.is_none_or(|input| input == dims);
    let mut found = Vec::new();
    let mut add = |element, packing, dims: &[usize], codes: Vec<u8>| {
        found.push(Elements { element, packing, dims: dims.to_vec(), codes, exchange: Exchange::None });
    };
    let pairs = [Packing::LowFirst, Packing::HighFirst];
    match stored.dtype() {
        DType::F8E4M3FN => add(&E4M3, Packing::None, &dims, bytes.clone()),
        DType::F8E5M2 => add(&E5M2, Packing::None, &dims, bytes.clone()),
        DType::S4 => add(&INT4, Packing::None, &dims, bytes.clone()),
        DType::U4 => add(&UINT4, Packing::None, &dims, bytes.clone()),
        DType::F4E2M1FN => {
            // The reader takes the low half first.
            add(&E2M1, Packing::LowFirst, &dims, bytes.clone());
            // An odd row ends with half a byte, whose other half is no code.
            if dims.last().is_some_and(|last| last % 2 == 0) {
                let turned = bytes.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
                add(&E2M1, Packing::HighFirst, &dims, turned);
            }
        }
        DType::S8 | DType::U8 => {
            let is_signed = stored.dtype() == DType::S8;
            // One code a byte, as the input lies or turned.
            if is_whole || dims.len() == 2 && input.is_some_and(|input| reversed(&dims) == input) {
                let in_bytes: &[(&'static Element, u8)] = if is_signed {
                    &[(&INT8, 255), (&INT4, 255)]
                } else {
                    &[
                        (&E2M1, 15),
                        (&INT4, 15),
                        (&E2M3, 63),
                        (&E3M2, 63),
                        (&E4M3, 255),
                        (&E5M2, 255),
                        (&INT8, 255),
                        (&INT4, 255),
                        (&UINT8, 255),
                        (&UINT4, 15),
                    ]
                };
                for (element, most) in in_bytes.iter().filter(|(_, most)| all(*most)) {
                    let is_small = bytes.iter().all(|byte| (-8..8).contains(&(*byte as i8)));
                    if *most == 255 && element.bits() == 4 && !is_small {
                        continue;
                    }
                    let mask = 0xffu8 >> (8 - element.bits());
                    add(*element, Packing::None, &dims, bytes.iter().map(|byte| byte & mask).collect());
                }
            }
            if let (Some(input), Some((row, before)), false) = (input, dims.split_last(), is_whole)
                && let Some((kept, input_before)) = input.split_last()
                && (before, *row) == (input_before, (kept * 6).div_ceil(8))
            {
                for element in [&E2M3, &E3M2] {
                    for packing in [Packing::SixLowFirst, Packing::SixHighFirst] {
                        add(element, packing, input, six_bits(&bytes, *row, *kept, packing));
                    }
                }
            }
            for axis in (0..dims.len()).rev() {
                let mut whole = dims.clone();
                whole[axis] *= 2;
                let kept = match input {
                    None if axis + 1 == dims.len() => whole[axis],
                    Some(input) if input.len() == dims.len() => input[axis],
                    _ => continue,
                };
                whole[axis] = kept;
                if kept.div_ceil(2) != dims[axis] || input.is_some_and(|input| input != whole) {
                    continue;
                }
                for element in [&E2M1, &INT4, &UINT4] {
                    for packing in pairs {
                        add(element, packing, &whole, unpacked_along(&bytes, &dims, axis, kept, packing));
                    }
                }
            }
        }
        _ => return Err(refused()),
    }
    // Unsigned integers have zero points, and no other elements but integers.
    let has_zeros = given.zero_points.is_some();
    // Without an input nothing would contradict a reading without negative numbers.
    found.retain(|one| if has_zeros { one.element.is_integer() } else { input.is_some() || one.element.min() < 0.0 });
    if has_zeros && found.is_empty() {
        return Err(ScalesError::ZeroPoints(format!("of elements of type {}", stored.dtype())));
    }
    if let Some(input) = input {
        // As the input has them, and turned.
        let mut turned = Vec::new();
        for one in found.iter().filter(|one| one.dims.len() == 2 && reversed(&one.dims) == input) {
            let codes = transposed(&one.codes, input);
            turned.push(Elements { dims: input.to_vec(), codes, exchange: Exchange::Elements, ..one.clone() });
        }
        found.retain(|one| one.dims == input);
        found.extend(turned);
    }
    Ok(found)
}

/// As [`unpacked`], along any axis.
fn unpacked_along(bytes: &[u8], dims: &[usize], axis: usize, kept: usize, packing: Packing) -> Vec<u8> {
    let inner: usize = dims[axis + 1..].iter().product();
    if inner == 1 {
        return unpacked(bytes, dims[axis], kept, packing);
    }
    let mut codes = Vec::new();
    for part in bytes.chunks((dims[axis] * inner).max(1)) {
        for index in 0..kept {
            let row = &part[index / 2 * inner..(index / 2 + 1) * inner];
            let is_low = (index % 2 == 0) == (packing == Packing::LowFirst);
            codes.extend(row.iter().map(|byte| if is_low { byte & 15 } else { byte >> 4 }));
        }
    }
    codes
}

/// Extents of blocks along an axis that give it so many blocks, the usual ones first.
fn sides(dim: usize, count: usize, native: usize) -> Vec<usize> {
    if dim == count {
        return vec![1];
    }
    if count == 0 || dim == 0 {
        return Vec::new();
    }
    if count == 1 {
        return vec![dim];
    }
    // Blocks that a format or a library has come first: several sides fit a dim that no side divides.
    let usual = [native, 32, 16, 64, 128, 256, 512, 1024, 8, 4];
    let mut found: Vec<usize> = Vec::new();
    let whole = if dim.is_multiple_of(count) { dim / count } else { 0 };
    for side in usual.into_iter().chain([whole]) {
        if side > 0 && dim.div_ceil(side) == count && !found.contains(&side) {
            found.push(side);
        }
    }
    found
}

/// Blocks of a tensor of `dims` whose scales have the dims `counts`.
fn blocks_of(dims: &[usize], counts: &[usize], native: usize) -> Vec<Blocks> {
    let mut found = vec![Vec::new()];
    if dims.len() != counts.len() {
        return Vec::new();
    }
    for (dim, count) in dims.iter().zip(counts) {
        let sides = sides(*dim, *count, native);
        found = found
            .iter()
            .flat_map(|before: &Vec<usize>| sides.iter().map(move |side| [before.as_slice(), &[*side]].concat()))
            .collect();
    }
    found.iter().filter_map(|sides| Blocks::new(dims, sides)).collect()
}

/// Dims of scales with as many axes as the elements: those given, without trailing ones, with an axis of one added, or counted along
/// each axis where all lie in one row.
fn scale_dims(dims: &[usize], stored: &[usize], native: usize) -> Vec<Vec<usize>> {
    if stored.len() == dims.len() {
        return vec![stored.to_vec()];
    }
    if stored.len() > dims.len() {
        let is_padded = stored[dims.len()..].iter().all(|extent| *extent == 1);
        return if is_padded { vec![stored[..dims.len()].to_vec()] } else { Vec::new() };
    }
    let mut found = Vec::new();
    if stored.len() + 1 == dims.len() {
        for axis in (0..dims.len()).rev() {
            let mut padded = stored.to_vec();
            padded.insert(axis, 1);
            found.push(padded);
        }
    }
    if stored.len() <= 1 {
        let count: usize = stored.iter().product();
        for axis in (0..dims.len()).rev() {
            let mut counted = dims.to_vec();
            counted[axis] = counted[axis].div_ceil(native);
            if counted.iter().product::<usize>() == count && !found.contains(&counted) {
                found.push(counted);
            }
        }
        let single = vec![1; dims.len()];
        if count == 1 && !found.contains(&single) {
            found.push(single);
        }
    }
    found
}

/// Types that scales may be of, with their codes.
fn scale_types(scales: &Tensor, element: &Element) -> Result<Vec<(ScaleType, Vec<u64>)>, ScalesError> {
    let data = scales.data();
    let bits = || (0..data.len()).map(|at| data.bits(at)).collect::<Vec<u64>>();
    let is_fp4 = element.name == "e2m1";
    Ok(match data.dtype() {
        DType::F8E8M0FNU => vec![(ScaleType::E8M0, bits())],
        DType::F8E4M3FN => vec![(ScaleType::E4M3, bits())],
        DType::U8 if is_fp4 => vec![(ScaleType::E8M0, bits()), (ScaleType::E4M3, bits())],
        DType::U8 => vec![(ScaleType::E8M0, bits())],
        dtype @ (DType::F32 | DType::BF16 | DType::F16) => {
            let values = data.to_f64s();
            let mut found = Vec::new();
            let finite = || values.iter().filter(|value| value.is_finite());
            let is_e4m3 = |value: &f64| {
                crate::num::round_f64(&crate::num::F8E4M3FN, *value, crate::num::Direction::NearestEven) == *value
            };
            // Powers of two, and codes of e4m3, may be kept as floats (google/qwix).
            if element.max_exponent().is_some()
                && finite().all(|value| *value > 0.0 && exp2i(floor_log2(*value)) == *value)
            {
                let byte = |value: &f64| {
                    if value.is_finite() { (floor_log2(*value) + 127).clamp(0, 255) as u64 } else { 255 }
                };
                found.push((ScaleType::E8M0, values.iter().map(byte).collect()));
            }
            if is_fp4 && finite().all(is_e4m3) {
                found.push((ScaleType::E4M3, values.iter().map(|value| crate::num::F8E4M3FN.encode(*value)).collect()));
            }
            found.push((ScaleType::Float(dtype), bits()));
            if values.iter().all(|value| *value > 0.0 && value.is_finite()) {
                found.push((ScaleType::Inverse(dtype), bits()));
            }
            found
        }
        dtype => {
            let needed = "u8, float8_e8m0, float8_e4m3fn, f32, bf16 or f16 is needed";
            return Err(ScalesError::DType { role: "scales", dtype, needed });
        }
    })
}

/// Zero points as numbers, one for each of `count` scales.
fn zeros_of(zeros: &Tensor, count: usize) -> Vec<f64> {
    let numbers = zeros.data().to_f64s();
    if numbers.len() == count { numbers } else { numbers.into_iter().cycle().take(count).collect() }
}

/// Readings of the scales for elements, the likeliest first.
pub fn scales(given: &Given, elements: &Elements) -> Result<Vec<Scales>, ScalesError> {
    let (stored, mut found) = (given.scales.dims(), Vec::new());
    let zeros = given.zero_points.as_ref().map(|zeros| zeros_of(zeros, given.scales.len()));
    for (scale_type, codes) in scale_types(&given.scales, elements.element)? {
        let is_float = matches!(scale_type, ScaleType::Float(_) | ScaleType::Inverse(_));
        // Only the input tells a reciprocal from a scale, and only floats have zero points.
        if matches!(scale_type, ScaleType::Inverse(_)) && given.input.is_none() || zeros.is_some() && !is_float {
            continue;
        }
        let native = if scale_type == ScaleType::E4M3 { 16 } else { 32 };
        let mut push = |dims: &[usize], order: &dyn Fn(Vec<usize>) -> Vec<usize>, exchange| {
            let places = order((0..codes.len()).collect());
            let codes: Vec<u64> = places.iter().map(|at| codes[*at]).collect();
            let zeros = zeros.as_ref().map(|zeros| places.iter().map(|at| zeros[*at]).collect::<Vec<f64>>());
            for blocks in blocks_of(&elements.dims, dims, native) {
                // One scale an element is no block scale.
                if blocks.len() == codes.len() && blocks.sides().iter().any(|side| *side > 1) {
                    found.push(Scales { blocks, scale_type, codes: codes.clone(), zeros: zeros.clone(), exchange });
                }
            }
        };
        for dims in scale_dims(&elements.dims, stored, native) {
            push(&dims, &|places| places, Exchange::None);
            if given.input.is_some() && codes.len() > 2 {
                let rotated = |mut places: Vec<usize>, is_left: bool| {
                    if is_left {
                        places.rotate_left(1)
                    } else {
                        places.rotate_right(1)
                    }
                    places
                };
                // Scales that belong to the neighbour are a fault: read as such it is named.
                push(&dims, &|places| rotated(places, true), Exchange::FromBefore);
                push(&dims, &|places| rotated(places, false), Exchange::FromAfter);
            }
            if given.input.is_some() && dims.iter().filter(|dim| **dim > 1).count() > 1 {
                push(&reversed(&dims), &|places| transposed(&places, &reversed(&dims)), Exchange::ScaleDims);
                push(&dims, &|places| transposed(&places, &dims), Exchange::ScaleOrder);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An axis that scales lack may be any, the last one first.
    #[test]
    fn an_axis_that_is_missing_may_be_any() {
        assert_eq!(scale_dims(&[4, 6, 8], &[4, 6], 32), [[4, 6, 1], [4, 1, 6], [1, 4, 6]]);
        assert_eq!(scale_dims(&[4, 6], &[4, 6, 1, 1], 32), [[4, 6]]);
        assert!(scale_dims(&[4, 6], &[4, 6, 2], 32).is_empty());
        assert_eq!(scale_dims(&[4, 64], &[8], 32), [[8, 1], [1, 8], [4, 2]]);
    }
}
