//! NumPy's `.npz`: a ZIP archive of `.npy` files, as `numpy.savez` and `numpy.savez_compressed` write it.
//!
//! The crate `zip` reads and writes the archive; this module says which file is at fault, and bounds what is unfolded.

use std::fs::File;
use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::name::hint;
use crate::tensor::{DType, Tensor};

use super::npy;
use super::safetensors::{FileError, room};

/// The ending of the archive's files.
const ENDING: &str = ".npy";

/// The names of a file's arrays, in its order; only its directory is read.
///
/// # Errors
/// If the file cannot be read, or is no archive of arrays.
pub fn names(path: &Path) -> Result<Vec<String>, FileError> {
    Archive::open(path)?.names()
}

/// One array of a file; no other one is read. Raw elements (`V2`, `V1`: NumPy's form of the types of ml_dtypes) are of the type `raw`, if
/// that has as many bytes.
///
/// # Errors
/// If the file cannot be read or is no archive, has no such array, or the array is one that [`npy::parse_as`] refuses.
pub fn read_one(path: &Path, name: &str, raw: Option<DType>) -> Result<Tensor, FileError> {
    let mut archive = Archive::open(path)?;
    let names = archive.names()?;
    let place = names.iter().position(|other| other == name);
    let place = place.ok_or_else(|| {
        let known = hint(name, names.iter().map(String::as_str));
        malformed(path, format!("it has no array `{name}`; {known}"))
    })?;
    archive.array(place, |path, bytes| npy::parse_as(path, bytes, raw)).map_err(|error| called(name, error))
}

/// An error under the name that the archive has for the array.
fn called(name: &str, error: FileError) -> FileError {
    match error {
        FileError::UnsupportedDtype { path, dtype, .. } => {
            FileError::UnsupportedDtype { path, tensor: name.to_string(), dtype }
        }
        error => error,
    }
}

/// All arrays of a file with their names, without `.npy`, sorted. Elements that NumPy calls `V1` and `V2` (ml_dtypes' types) are bytes and
/// bf16: NumPy keeps no more of them than their size.
///
/// # Errors
/// If the file cannot be read, is no such archive, or holds arrays that [`npy::read`] refuses.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, FileError> {
    let mut archive = Archive::open(path)?;
    let mut tensors = Vec::new();
    for (place, name) in archive.names()?.into_iter().enumerate() {
        let tensor = archive.array(place, npy::parse_with_raw).map_err(|error| called(&name, error))?;
        tensors.push((name, tensor));
    }
    tensors.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(tensors)
}

/// The bytes of an archive of arrays, compressed; equal arrays give equal bytes.
///
/// # Errors
/// If an array is of another type than f32, s32 and u8, or the archive cannot be made.
pub fn write(arrays: &[(String, Tensor)]) -> Result<Vec<u8>, String> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // The earliest time of the format, so that equal arrays give equal bytes.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default());
    for (name, tensor) in arrays {
        let bytes = saved(tensor).ok_or_else(|| format!("array `{name}` is of {}", tensor.dtype().name()))?;
        archive.start_file(format!("{name}{ENDING}"), options).map_err(|error| error.to_string())?;
        archive.write_all(&bytes).map_err(|error| error.to_string())?;
    }
    archive.finish().map(Cursor::into_inner).map_err(|error| error.to_string())
}

fn malformed(path: &Path, reason: String) -> FileError {
    FileError::Malformed { path: path.to_path_buf(), format: "npz", reason }
}

/// An open archive.
struct Archive<'a, R> {
    path: &'a Path,
    zip: ZipArchive<R>,
}

impl<'a> Archive<'a, File> {
    fn open(path: &'a Path) -> Result<Archive<'a, File>, FileError> {
        let file = File::open(path).map_err(|source| FileError::Unread { path: path.to_path_buf(), source })?;
        Archive::of(path, file)
    }
}

impl<'a, R: Read + Seek> Archive<'a, R> {
    fn of(path: &'a Path, source: R) -> Result<Archive<'a, R>, FileError> {
        let zip = ZipArchive::new(source)
            .map_err(|error| malformed(path, format!("it is no whole archive, empty or cut off ({error})")))?;
        Ok(Archive { path, zip })
    }

    /// The arrays' names, in the archive's order.
    fn names(&mut self) -> Result<Vec<String>, FileError> {
        let mut names = Vec::with_capacity(self.zip.len());
        for place in 0..self.zip.len() {
            let fail = |error: zip::result::ZipError| malformed(self.path, format!("file {place} of it: {error}"));
            let file = self.zip.by_index_raw(place).map_err(fail)?;
            let name = file.name().map_err(fail)?;
            let stem = name.strip_suffix(ENDING).ok_or_else(|| {
                malformed(
                    self.path,
                    format!("`{name}` in it is no array: numpy.savez writes files that end in {ENDING}"),
                )
            })?;
            names.push(stem.to_string());
        }
        Ok(names)
    }

    /// The array at a place, from its bytes.
    fn array(
        &mut self,
        place: usize,
        parse: impl FnOnce(&Path, &[u8]) -> Result<Tensor, FileError>,
    ) -> Result<Tensor, FileError> {
        let fail = |error: zip::result::ZipError| malformed(self.path, format!("file {place} of it: {error}"));
        let file = self.zip.by_index(place).map_err(fail)?;
        // The directory says how much is unfolded: no more than that is, and nothing that memory has not.
        let size = file.size();
        // The bytes, and the array that is made of them.
        let _room = room(self.path, 2 * u128::from(size), || format!("file {place} of it"))?;
        let mut bytes = Vec::new();
        let unread = |source| FileError::Unread { path: self.path.to_path_buf(), source };
        file.take(size).read_to_end(&mut bytes).map_err(unread)?;
        parse(self.path, &bytes)
    }
}

/// An array as `numpy.save` writes it, in version 1.0 of the format.
fn saved(tensor: &Tensor) -> Option<Vec<u8>> {
    let descr = match tensor.dtype() {
        DType::F32 => "<f4",
        DType::S32 => "<i4",
        DType::U8 => "|u1",
        _ => return None,
    };
    let extents: String = tensor.dims().iter().map(|size| format!("{size}, ")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", extents.trim_end());
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).ok()?.to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(tensor.data().to_le_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{names, read, read_one, write};
    use crate::tensor::{Data, Tensor};

    #[test]
    fn arrays_come_back_and_equal_ones_give_equal_bytes() {
        let arrays = vec![
            ("c".to_string(), Tensor::new(&[3], Data::S32(vec![1, -2, 3]))),
            ("a.b".to_string(), Tensor::new(&[2, 2], Data::F32(vec![1.5, -0.0, f32::INFINITY, 1e-40]))),
            ("d".to_string(), Tensor::new(&[], Data::U8(vec![7]))),
        ];
        let bytes = write(&arrays).unwrap();
        assert_eq!(write(&arrays).unwrap(), bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        fs::write(&path, &bytes).unwrap();
        assert_eq!(names(&path).unwrap(), ["c", "a.b", "d"]);
        assert_eq!(read_one(&path, "c", None).unwrap(), arrays[0].1);
        assert!(read_one(&path, "cc", None).unwrap_err().to_string().contains("no array `cc`"));
        let mut sorted = arrays;
        sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
        assert_eq!(read(&path).unwrap(), sorted);
    }

    #[test]
    fn bytes_that_are_no_archive_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        fs::write(&path, b"PK").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("not a npz file"));
        assert!(write(&[("x".to_string(), Tensor::new(&[1], Data::F64(vec![1.0])))]).unwrap_err().contains("f64"));
    }
}
