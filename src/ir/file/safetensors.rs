//! The safetensors format: an 8-byte length, a JSON header, then the elements, little-endian and row-major.
//!
//! Source: huggingface/safetensors, README, section "Format". The crate of the same name does the parsing; this module
//! maps element types both ways and says which file is at fault, and how.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Metadata, View};
use safetensors::{Dtype, SafeTensorError, SafeTensors};

use crate::budget::{self, Reserved, TooLarge};
use crate::name::hint;
use crate::tensor::{BytesError, DTYPES, DType, Data, Tensor};

use super::{read_whole, repeated_name, write_whole};

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read.
    #[error("{}: failed to read it: {source}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Its arrays do not fit in memory.
    #[error("{}: {source}; save a part of it, such as fewer rows, or run where there is more memory", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// The bytes that are needed, and those that are free.
        source: Box<TooLarge>,
    },
    /// The file could not be written.
    #[error("{}: failed to write it: {source}", path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The bytes break the format.
    #[error("{}: not a {format} file: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The format's name.
        format: &'static str,
        /// The violation, with the sizes that show it.
        reason: String,
    },
    /// The format has the element type of a tensor, but this crate does not.
    #[error("{}: tensor `{tensor}` has dtype {dtype}, which is not supported", path.display())]
    UnsupportedDtype {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The element type as the format calls it, such as `F6_E2M3`.
        dtype: String,
    },
    /// A tensor has an element that its type does not have, a name that is reserved, or the name of another one.
    #[error("{}: tensor `{tensor}`: {fault}", path.display())]
    BadTensor {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        tensor: String,
        /// The fault, of an element or of the name.
        fault: TensorFault,
    },
}

/// Fault of one tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorFault {
    /// An element is no value of the type, such as a truth value other than 0 and 1.
    #[error(transparent)]
    Element(#[from] BytesError),
    /// The file has no tensor of this name.
    #[error("the file has no such tensor; {hint}")]
    Missing {
        /// The nearest name, or all of them.
        hint: String,
    },
    /// The bytes are not those of the dims.
    #[error("it has {has} elements, its shape is {dims:?}")]
    Elements {
        /// The number of elements that the bytes hold.
        has: usize,
        /// The dims that the header states.
        dims: Vec<usize>,
    },
    /// Elements of four bits do not fill whole bytes.
    #[error("{0} elements of four bits do not fill whole bytes, as the format asks for")]
    HalfByte(usize),
    /// Two tensors of a file have one name.
    #[error("the name is given twice")]
    RepeatedName,
    /// The format keeps `__metadata__` for itself.
    #[error("the name is reserved")]
    ReservedName,
}

/// Bytes of a `C64`: the real part, then the imaginary one, f32 each.
const COMPLEX: usize = 8;

/// The format's name in errors.
const NAME: &str = "safetensors";

/// The element type in which a file has elements of a type: the type itself, and of one that the format has not the narrowest that
/// has all its values.
pub fn stored_as(dtype: DType) -> DType {
    match dtype {
        DType::S1 | DType::S2 | DType::S4 => DType::S8,
        DType::U1 | DType::U2 | DType::U4 => DType::U8,
        DType::F8E3M4 | DType::F8E4M3 | DType::F8E4M3B11FNUZ => DType::F16,
        own => own,
    }
}

/// Elements as they are stored: see [`stored_as`].
fn widened(data: &Data) -> Cow<'_, Data> {
    let numbers = 0..data.len();
    match stored_as(data.dtype()) {
        own if own == data.dtype() => Cow::Borrowed(data),
        DType::S8 => Cow::Owned(Data::S8(numbers.map(|i| data.get_i64(i) as i8).collect())),
        DType::U8 => Cow::Owned(Data::U8(numbers.map(|i| data.get_i64(i) as u8).collect())),
        _ => Cow::Owned(Data::F16(numbers.map(|i| half::f16::from_f64(data.get_f64(i))).collect())),
    }
}

/// The element type of safetensors. `F8_E4M3` is the variant without infinities, e4m3fn.
fn format_name(dtype: DType) -> Dtype {
    match dtype {
        DType::Pred => Dtype::BOOL,
        DType::S8 | DType::S1 | DType::S2 | DType::S4 => Dtype::I8,
        DType::S16 => Dtype::I16,
        DType::S32 => Dtype::I32,
        DType::S64 => Dtype::I64,
        DType::U8 | DType::U1 | DType::U2 | DType::U4 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::F4E2M1FN => Dtype::F4,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::F8E4M3FN => Dtype::F8_E4M3,
        DType::F8E4M3FNUZ => Dtype::F8_E4M3FNUZ,
        DType::F8E5M2FNUZ => Dtype::F8_E5M2FNUZ,
        DType::F8E8M0FNU => Dtype::F8_E8M0,
        DType::F16 | DType::F8E3M4 | DType::F8E4M3 | DType::F8E4M3B11FNUZ => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
    }
}

/// All tensors of a file with their names, sorted by name, bit for bit. One of complex numbers, `C64`, is two of f32, its name
/// with `.real` and `.imag` behind it.
///
/// # Errors
/// If the file cannot be read, breaks the format, or has an element type that this crate does not.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, FileError> {
    let _room = room_of_file(path)?;
    let bytes = read_whole(path).map_err(|source| FileError::Unread { path: path.to_path_buf(), source })?;
    parse(path, &bytes)
}

/// As [`read`], from the bytes of a file; `path` only names it in errors.
///
/// # Errors
/// As [`read`], but for [`FileError::Unread`].
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<(String, Tensor)>, FileError> {
    let file = SafeTensors::deserialize(bytes).map_err(|error| FileError::Malformed {
        path: path.to_path_buf(),
        format: NAME,
        reason: reason(&error, bytes),
    })?;
    // The header is sound, so its length is within the file.
    let header = SafeTensors::read_metadata(bytes).ok().and_then(|(length, _)| bytes.get(LENGTH..LENGTH + length));
    header.map_or(Ok(()), |header| check_names(path, header))?;
    let mut tensors = Vec::new();
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::C64 {
            tensors.push((name.to_string(), tensor_of(path, name, view.dtype(), view.shape(), view.data())?));
            continue;
        }
        for (part, offset) in [("real", 0), ("imag", COMPLEX / 2)] {
            let bytes: Vec<u8> = view
                .data()
                .chunks_exact(COMPLEX)
                .flat_map(|both| &both[offset..offset + COMPLEX / 2])
                .copied()
                .collect();
            tensors.push((format!("{name}.{part}"), tensor_of(path, name, Dtype::F32, view.shape(), &bytes)?));
        }
    }
    tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(tensors)
}

/// The names of the tensors of a file, sorted. Only the header is read.
///
/// # Errors
/// As [`read`], but for element types.
pub fn names(path: &Path) -> Result<Vec<String>, FileError> {
    let (_, metadata, _) = open(path)?;
    let mut names: Vec<String> = metadata.tensors().into_keys().collect();
    names.sort_unstable();
    Ok(names)
}

/// Room for what is read of a file, held until it is there.
pub(super) fn room(path: &Path, bytes: u128, what: impl FnOnce() -> String) -> Result<Reserved, FileError> {
    budget::reserve(bytes, what)
        .map_err(|source| FileError::Memory { path: path.to_path_buf(), source: Box::new(source) })
}

/// Room for the bytes of a whole file, and for the arrays that are made of them.
pub(super) fn room_of_file(path: &Path) -> Result<Reserved, FileError> {
    let metadata = std::fs::metadata(path).map_err(|source| FileError::Unread { path: path.to_path_buf(), source })?;
    room(path, 2 * u128::from(metadata.len()), || "all of its arrays".to_string())
}

/// A file with its header, and the bytes of its tensors.
fn open(path: &Path) -> Result<(std::fs::File, Metadata, std::ops::Range<u64>), FileError> {
    let unread = |source| FileError::Unread { path: path.to_path_buf(), source };
    let mut file = std::fs::File::open(path).map_err(unread)?;
    let size = file.metadata().map_err(unread)?.len();
    let malformed = |reason: String| FileError::Malformed { path: path.to_path_buf(), format: NAME, reason };
    let mut length = [0; LENGTH];
    file.read_exact(&mut length).map_err(|_| malformed(format!("{size} bytes, too few for the length of a header")))?;
    let claimed = u64::from_le_bytes(length);
    if claimed > size.saturating_sub(LENGTH as u64) {
        return Err(malformed(claims_too_much(claimed, size - LENGTH as u64)));
    }
    let _room = room(path, u128::from(claimed), || "the header".to_string())?;
    let mut header = vec![0; claimed as usize];
    file.read_exact(&mut header).map_err(unread)?;
    let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| malformed(error.to_string()))?;
    check_names(path, &header)?;
    Ok((file, metadata, LENGTH as u64 + claimed..size))
}

/// Refuses a header that names a tensor twice.
fn check_names(path: &Path, header: &[u8]) -> Result<(), FileError> {
    match repeated_name(header) {
        Some(tensor) => {
            Err(FileError::BadTensor { path: path.to_path_buf(), tensor, fault: TensorFault::RepeatedName })
        }
        None => Ok(()),
    }
}

/// One tensor of a file. Of the others only the header is read.
///
/// # Errors
/// As [`read`], and if the file has no tensor of this name.
pub fn read_one(path: &Path, name: &str) -> Result<Tensor, FileError> {
    let unread = |source| FileError::Unread { path: path.to_path_buf(), source };
    let malformed = |reason: String| FileError::Malformed { path: path.to_path_buf(), format: NAME, reason };
    let (mut file, metadata, elements) = open(path)?;
    let info = metadata.info(name).ok_or_else(|| {
        let known = metadata.tensors();
        let mut names: Vec<&str> = known.keys().map(String::as_str).collect();
        names.sort_unstable();
        let fault = TensorFault::Missing { hint: hint(name, names) };
        FileError::BadTensor { path: path.to_path_buf(), tensor: name.to_string(), fault }
    })?;
    let (start, end) = info.data_offsets;
    let held = (elements.end - elements.start) as usize;
    if start > end || end > held {
        return Err(malformed(format!("tensor `{name}` ends at byte {end} of its elements, the file holds {held}")));
    }
    // The bytes, and the elements that are made of them.
    let _room = room(path, 2 * (end - start) as u128, || format!("tensor `{name}`"))?;
    let mut bytes = vec![0; end - start];
    file.seek(SeekFrom::Start(elements.start + start as u64)).map_err(unread)?;
    file.read_exact(&mut bytes).map_err(unread)?;
    tensor_of(path, name, info.dtype, &info.shape, &bytes)
}

/// A tensor from the bytes of its elements.
fn tensor_of(path: &Path, name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<Tensor, FileError> {
    let Some(known) = DTYPES.into_iter().find(|known| stored_as(*known) == *known && format_name(*known) == dtype)
    else {
        let (path, tensor, dtype) = (path.to_path_buf(), name.to_string(), dtype.to_string());
        return Err(FileError::UnsupportedDtype { path, tensor, dtype });
    };
    let bad = |fault| FileError::BadTensor { path: path.to_path_buf(), tensor: name.to_string(), fault };
    let data = decode(known, bytes).map_err(bad)?;
    let elements = shape.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
    if elements != Some(data.len()) {
        return Err(bad(TensorFault::Elements { has: data.len(), dims: shape.to_vec() }));
    }
    Ok(Tensor::new(shape, data))
}

/// Writes `tensors` to `path`, whole or not at all, in the types that [`stored_as`] gives. The bytes depend only on the names and tensors, not on their order:
/// the widest types come first, then names in order, as the crate sorts them for alignment.
///
/// # Errors
/// If the file cannot be written, two tensors have one name, a name is reserved, or elements of four bits do not fill bytes.
pub fn write(path: &Path, tensors: &[(String, Tensor)]) -> Result<(), FileError> {
    let bytes = to_bytes(path, tensors)?;
    write_whole(path, &bytes).map_err(|source| FileError::Unwritten { path: path.to_path_buf(), source })
}

/// The bytes of the file that [`write()`] writes; `path` only names it in errors.
///
/// # Errors
/// As [`write()`], but for [`FileError::Unwritten`].
pub fn to_bytes(path: &Path, tensors: &[(String, Tensor)]) -> Result<Vec<u8>, FileError> {
    let mut names: Vec<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let repeated = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| (pair[0], TensorFault::RepeatedName));
    // The header's own field of this name holds strings.
    let reserved = names.iter().find(|name| **name == METADATA).map(|name| (*name, TensorFault::ReservedName));
    if let Some((name, fault)) = repeated.or(reserved) {
        return Err(FileError::BadTensor { path: path.to_path_buf(), tensor: name.to_string(), fault });
    }
    let mut views = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let bad = |fault| FileError::BadTensor { path: path.to_path_buf(), tensor: name.clone(), fault };
        views.push((name.as_str(), Encoded::new(tensor).map_err(bad)?));
    }
    safetensors::serialize(views, None).map_err(|error| FileError::Malformed {
        path: path.to_path_buf(),
        format: NAME,
        reason: error.to_string(),
    })
}

const METADATA: &str = "__metadata__";
/// Bytes of the header's length.
const LENGTH: usize = 8;

/// A header that is longer than the file's `rest` behind its length. The first bytes of NumPy's files are no length.
fn claims_too_much(claimed: u64, rest: u64) -> String {
    let form = match claimed.to_le_bytes() {
        [b'P', b'K', 3, 4, ..] => ".npz",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => ".npy",
        _ => return format!("the header claims {claimed} bytes, the file holds {rest} after its length"),
    };
    format!(
        "it is a {form} file of NumPy; here a .safetensors file is read, which `safetensors.numpy.save_file(dict(numpy.load(FILE)), OUT)` writes"
    )
}

/// The violation of the format, with the sizes that show it.
fn reason(error: &SafeTensorError, bytes: &[u8]) -> String {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else {
        return format!("{} bytes, too few for the length of a header", bytes.len());
    };
    let claimed = u64::from_le_bytes(*length);
    match error {
        SafeTensorError::InvalidHeaderLength | SafeTensorError::HeaderTooLarge => {
            claims_too_much(claimed, rest.len() as u64)
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            // The header was sound, so its size is within the file and it parses again.
            let (header, data) = rest.split_at(rest.len().min(claimed as usize));
            let described = serde_json::from_slice::<Metadata>(header).map_or(0, |metadata| metadata.data_len());
            let fault = if data.len() < described { "it is truncated" } else { "bytes are left over" };
            format!("the header describes {described} bytes of elements, the file holds {}: {fault}", data.len())
        }
        SafeTensorError::InvalidHeaderDeserialization(_) => {
            let header = rest.get(..claimed as usize).unwrap_or(rest);
            match unknown_dtype(header) {
                Some((tensor, dtype)) => {
                    format!("tensor `{tensor}` has dtype {dtype}, which the format does not have")
                }
                None => error.to_string(),
            }
        }
        SafeTensorError::TensorInvalidInfo => {
            "a tensor's shape and dtype do not fill the bytes that the header gives it".to_string()
        }
        SafeTensorError::InvalidOffset(name) => {
            format!("the bytes of tensor `{name}` overlap its neighbour's, leave a gap, or end before they begin")
        }
        SafeTensorError::ValidationOverflow => "a tensor's shape has more elements than can be addressed".to_string(),
        other => other.to_string(),
    }
}

/// The tensor of a header whose dtype the format does not have, with that dtype.
fn unknown_dtype(header: &[u8]) -> Option<(String, String)> {
    let tensors: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let dtypes = tensors.into_iter().filter_map(|(name, info)| Some((name, info.get("dtype")?.clone())));
    let mut unknown = dtypes.filter(|(_, dtype)| serde_json::from_value::<Dtype>(dtype.clone()).is_err());
    unknown.next().map(|(name, dtype)| (name, dtype.as_str().map_or(dtype.to_string(), str::to_string)))
}

fn decode(dtype: DType, bytes: &[u8]) -> Result<Data, TensorFault> {
    match dtype {
        // Two elements a byte, the first one in the lower half.
        coded if coded.bits() == 4 => {
            Ok(Data::Coded(coded, bytes.iter().flat_map(|pair| [pair & 15, pair >> 4]).collect()))
        }
        dtype => Data::from_le_bytes(dtype, bytes).map_err(TensorFault::from),
    }
}

/// A tensor with its elements as bytes.
struct Encoded<'a> {
    dims: &'a [usize],
    dtype: Dtype,
    bytes: Vec<u8>,
}

impl<'a> Encoded<'a> {
    fn new(tensor: &'a Tensor) -> Result<Encoded<'a>, TensorFault> {
        let data = &*widened(tensor.data());
        let dtype = format_name(data.dtype());
        let size = data.dtype().bits() as usize / 8;
        let bytes = match size {
            0 if data.len() % 2 == 1 => return Err(TensorFault::HalfByte(data.len())),
            0 => (0..data.len()).step_by(2).map(|i| (data.bits(i) | data.bits(i + 1) << 4) as u8).collect(),
            _ => data.to_le_bytes(),
        };
        Ok(Encoded { dims: tensor.dims(), dtype, bytes })
    }
}

impl View for Encoded<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.dims
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests;
