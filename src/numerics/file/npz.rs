//! NumPy's `.npz`: a ZIP archive of `.npy` files, as `numpy.savez` writes it, uncompressed.
//!
//! Source: PKWARE APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.16 (its end), 4.5.3 (ZIP64).

use std::path::Path;

use crate::tensor::Tensor;

use super::npy;
use super::read_whole;
use super::safetensors::FileError;

/// All arrays of a file with their names, without `.npy`, sorted. Elements that NumPy calls `V1` and `V2` (ml_dtypes' types) are bytes and
/// bf16: NumPy keeps no more of them than their size.
///
/// # Errors
/// If the file cannot be read, is no such archive, is compressed, or holds arrays that [`npy::read`] refuses.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, FileError> {
    let bytes = read_whole(path).map_err(|source| FileError::Unread { path: path.to_path_buf(), source })?;
    let malformed = |reason: String| FileError::Malformed { path: path.to_path_buf(), format: "npz", reason };
    let mut tensors = Vec::new();
    for (name, array) in entries(&bytes).map_err(malformed)? {
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_string();
        tensors.push((name, npy::parse_with_raw(path, array)?));
    }
    tensors.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(tensors)
}

/// A little-endian number of an archive.
fn number(bytes: &[u8], at: usize, size: usize) -> Result<u64, String> {
    let field = at.checked_add(size).and_then(|end| bytes.get(at..end));
    let field = field.ok_or_else(|| format!("it ends within a field at byte {at}"))?;
    Ok(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// Names and contents of an archive's files, from its central directory.
fn entries(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, String> {
    const END: &[u8] = b"PK\x05\x06";
    let end = bytes
        .windows(END.len())
        .rposition(|word| word == END)
        .ok_or("it has no central directory: not a ZIP archive")?;
    let mut at = number(bytes, end + 16, 4)? as usize;
    let count = number(bytes, end + 10, 2)?;
    let mut found = Vec::new();
    for _ in 0..count {
        if number(bytes, at, 4)? != 0x0201_4b50 {
            return Err(format!("its central directory has no entry at byte {at}"));
        }
        let method = number(bytes, at + 10, 2)?;
        let (mut size, mut start) = (number(bytes, at + 24, 4)?, number(bytes, at + 42, 4)?);
        let [name_length, extra, comment] =
            [28, 30, 32].map(|field| number(bytes, at + field, 2).unwrap_or(0) as usize);
        let name = bytes.get(at + 46..at + 46 + name_length).ok_or("it ends within a name")?;
        let name = String::from_utf8_lossy(name).into_owned();
        if method != 0 {
            return Err(format!("`{name}` is compressed: write it with numpy.savez, not savez_compressed"));
        }
        // ZIP64 keeps numbers that do not fit in an extra field, in this order.
        let mut field = at + 46 + name_length;
        let extra_end = field + extra;
        while field + 4 <= extra_end {
            let (kind, length) = (number(bytes, field, 2)?, number(bytes, field + 2, 2)? as usize);
            if kind == 1 {
                let mut inside = field + 4;
                if size == 0xffff_ffff {
                    size = number(bytes, inside, 8)?;
                    // The compressed size stands between.
                    inside += 16;
                }
                if start == 0xffff_ffff {
                    start = number(bytes, inside, 8)?;
                }
            }
            field += 4 + length;
        }
        let local = usize::try_from(start).map_err(|_| format!("`{name}` begins at byte {start}"))?;
        let skipped = number(bytes, local.saturating_add(26), 2)? + number(bytes, local.saturating_add(28), 2)?;
        let begin = local as u64 + 30 + skipped;
        let inside = begin.checked_add(size).and_then(|end| bytes.get(begin as usize..end as usize));
        found.push((
            name.clone(),
            inside.ok_or_else(|| format!("`{name}` of {size} bytes reaches beyond the archive"))?,
        ));
        at += 46 + name_length + extra + comment;
    }
    Ok(found)
}
