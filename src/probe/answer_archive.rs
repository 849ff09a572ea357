//! NumPy's `.npz`: a zip archive of `.npy` files, as `numpy.savez` and `numpy.savez_compressed` write it.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::file::npy;
use crate::tensor::{DType, Tensor};

/// Bytes that all arrays of a file of answers may have; ours have less than a hundredth of it.
const LONGEST: u64 = 1 << 28;

/// The bytes of an archive of arrays, compressed; equal arrays give equal bytes.
///
/// # Errors
/// If an array has a type that is written by no name of NumPy's, or the archive cannot be made.
pub(super) fn write(arrays: &[(String, Tensor)]) -> Result<Vec<u8>, String> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // The earliest time of the format, so that equal arrays give equal bytes.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default());
    for (name, tensor) in arrays {
        let bytes = saved(tensor).ok_or_else(|| format!("array `{name}` is of {}", tensor.dtype().name()))?;
        archive.start_file(format!("{name}.npy"), options).map_err(|error| error.to_string())?;
        archive.write_all(&bytes).map_err(|error| error.to_string())?;
    }
    archive.finish().map(Cursor::into_inner).map_err(|error| error.to_string())
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

/// The arrays of an archive, by name.
///
/// # Errors
/// If it is no archive of arrays, or unfolds to more than 256 MiB.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<(String, Tensor)>, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| format!("it is no .npz archive: {error}"))?;
    let (mut arrays, mut room) = (Vec::new(), LONGEST);
    for at in 0..archive.len() {
        let file = archive.by_index(at).map_err(|error| format!("file {at} of the archive: {error}"))?;
        let name = file.name().map_err(|error| format!("file {at} of the archive: {error}"))?.into_owned();
        let Some(array) = name.strip_suffix(".npy").map(str::to_string) else {
            return Err(format!("`{name}` in the archive is no array: numpy.savez writes files that end in .npy"));
        };
        let mut content = Vec::new();
        file.take(room + 1).read_to_end(&mut content).map_err(|error| format!("`{name}` in the archive: {error}"))?;
        room = room
            .checked_sub(content.len() as u64)
            .ok_or_else(|| format!("its arrays have more than {LONGEST} bytes, and answers have less than 1 MiB"))?;
        let tensor =
            npy::parse(Path::new(&name), &content).map_err(|error| format!("{error} (in {})", path.display()))?;
        arrays.push((array, tensor));
    }
    Ok(arrays)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{read, write};
    use crate::tensor::{Data, Tensor};

    #[test]
    fn arrays_come_back_and_equal_ones_give_equal_bytes() {
        let arrays = vec![
            ("a.b".to_string(), Tensor::new(&[2, 2], Data::F32(vec![1.5, -0.0, f32::INFINITY, 1e-40]))),
            ("c".to_string(), Tensor::new(&[3], Data::S32(vec![1, -2, 3]))),
            ("d".to_string(), Tensor::new(&[], Data::U8(vec![7]))),
        ];
        let bytes = write(&arrays).unwrap();
        assert_eq!(read(Path::new("x.npz"), &bytes).unwrap(), arrays);
        assert_eq!(write(&arrays).unwrap(), bytes);
    }

    #[test]
    fn bytes_that_are_no_archive_are_refused() {
        assert!(read(Path::new("x.npz"), b"PK").unwrap_err().contains("no .npz archive"));
        assert!(write(&[("x".to_string(), Tensor::new(&[1], Data::F64(vec![1.0])))]).unwrap_err().contains("f64"));
    }
}
