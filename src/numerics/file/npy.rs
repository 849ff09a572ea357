//! NumPy's `.npy`: one array, as `numpy.save` writes it. The crate `npyz` does the parsing.

use std::path::Path;

use npyz::{DType as Described, Deserialize, NpyFile, Order, TypeChar};

use crate::tensor::{Data, Tensor};

use super::read_whole;
use super::safetensors::FileError;

/// The array of a file.
///
/// # Errors
/// If the file cannot be read, breaks the format, or holds records or element types that this project has not. NumPy has no
/// bf16 and no 8-bit floats: what writes them as raw bytes (`V2`, `V1`) is refused, as their type is not in the file.
pub fn read(path: &Path) -> Result<Tensor, FileError> {
    let bytes = read_whole(path).map_err(|source| FileError::Unread { path: path.to_path_buf(), source })?;
    parse(path, &bytes)
}

/// As [`read`], from the bytes of a file; `path` only names it in errors.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Tensor, FileError> {
    let malformed = |reason: String| FileError::Malformed { path: path.to_path_buf(), format: "npy", reason };
    let file = NpyFile::new(bytes).map_err(|error| malformed(error.to_string()))?;
    let dims: Vec<usize> = file.shape().iter().map(|dim| *dim as usize).collect();
    if file.order() == Order::Fortran && dims.len() > 1 {
        return Err(malformed("its elements are in Fortran's order: save numpy.ascontiguousarray of it".to_string()));
    }
    let unsupported = |dtype: String| FileError::UnsupportedDtype {
        path: path.to_path_buf(),
        tensor: "the array".to_string(),
        dtype,
    };
    let described = file.dtype();
    let Described::Plain(element) = &described else { return Err(unsupported(described.descr())) };
    fn all<T: Deserialize>(file: NpyFile<&[u8]>) -> std::io::Result<Vec<T>> {
        file.into_vec()
    }
    let data = match (element.type_char(), element.size_field()) {
        (TypeChar::Bool, 1) => all(file).map(Data::Pred),
        (TypeChar::Int, 1) => all(file).map(Data::S8),
        (TypeChar::Int, 2) => all(file).map(Data::S16),
        (TypeChar::Int, 4) => all(file).map(Data::S32),
        (TypeChar::Int, 8) => all(file).map(Data::S64),
        (TypeChar::Uint, 1) => all(file).map(Data::U8),
        (TypeChar::Uint, 2) => all(file).map(Data::U16),
        (TypeChar::Uint, 4) => all(file).map(Data::U32),
        (TypeChar::Uint, 8) => all(file).map(Data::U64),
        (TypeChar::Float, 2) => all(file).map(Data::F16),
        (TypeChar::Float, 4) => all(file).map(Data::F32),
        (TypeChar::Float, 8) => all(file).map(Data::F64),
        _ => return Err(unsupported(described.descr())),
    };
    let data = data.map_err(|error| malformed(error.to_string()))?;
    let elements = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim));
    if elements != Some(data.len()) {
        return Err(malformed(format!("it holds {} elements, its shape is {dims:?}", data.len())));
    }
    Ok(Tensor::new(&dims, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `numpy.save` of version 1.0 writes for an array.
    fn saved(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(elements);
        bytes
    }

    #[test]
    fn arrays_are_read() {
        let floats: Vec<u8> = [1.5f32, -0.0, f32::NAN, 3.0e-42].iter().flat_map(|v| v.to_le_bytes()).collect();
        let tensor = parse(Path::new("x.npy"), &saved("<f4", "(2, 2)", &floats)).unwrap();
        let expected = Data::F32(vec![1.5, -0.0, f32::NAN, 3.0e-42]);
        assert_eq!(tensor, Tensor::new(&[2, 2], expected));
        let halves = parse(Path::new("x.npy"), &saved("<f2", "(1,)", &0x3c00u16.to_le_bytes())).unwrap();
        assert_eq!(halves.data().get_f64(0), 1.0);
        let scalar = parse(Path::new("x.npy"), &saved("<i8", "()", &7i64.to_le_bytes())).unwrap();
        assert_eq!((scalar.dims(), scalar.data().get_i64(0)), (&[][..], 7));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let error = |bytes: &[u8]| parse(Path::new("x.npy"), bytes).unwrap_err().to_string();
        assert!(error(b"PK").contains("x.npy: not a npy file"), "{}", error(b"PK"));
        assert!(error(&saved("|V2", "(1,)", &[0; 2])).contains("which is not supported"));
        assert!(error(&saved("<f4", "(3,)", &[0; 8])).contains("x.npy: not a npy file"));
        let fortran = String::from_utf8_lossy(&saved("<f4", "(2, 2)", &[0; 16])).replace("False", "True ");
        assert!(!fortran.is_empty());
    }
}
