//! NumPy's `.npy`: one array, as `numpy.save` writes it.

use std::borrow::Cow;
use std::path::Path;

use crate::ir::movement::for_each_index;
use crate::tensor::{DType, Data, Tensor};

use super::npy_header::{Header, split};
use super::read_whole;
use super::safetensors::{FileError, room_of_file};

/// The array of a file.
///
/// # Errors
/// If the file cannot be read, breaks the format, or holds records or element types that this project has not. NumPy has no
/// bf16 and no 8-bit floats: files with these as raw bytes (`V2`, `V1`) are refused, as their type is not in the file.
pub fn read(path: &Path) -> Result<Tensor, FileError> {
    read_as(path, None)
}

/// As [`read`], of a file whose element type is known from elsewhere: see [`parse_as`].
///
/// # Errors
/// As [`read`], and if its array does not fit in memory.
pub fn read_as(path: &Path, raw: Option<DType>) -> Result<Tensor, FileError> {
    let _room = room_of_file(path)?;
    let bytes = read_whole(path).map_err(|source| FileError::Unread { path: path.to_path_buf(), source })?;
    parse_as(path, &bytes, raw)
}

/// As [`read`], from the bytes of a file; `path` only names it in errors.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Tensor, FileError> {
    parse_by(path, bytes, element_type)
}

/// As [`parse`], of a file whose element type is known from elsewhere: raw bytes (`V2`, `V1`, as NumPy saves the types of
/// ml_dtypes) are of the type `dtype`, if that has as many bytes.
pub fn parse_as(path: &Path, bytes: &[u8], raw: Option<DType>) -> Result<Tensor, FileError> {
    let parsed = parse_by(path, bytes, |descr| element_type(descr).or_else(|| raw_type(descr, raw?)));
    parsed.map_err(|error| match (error, raw) {
        (FileError::UnsupportedDtype { path, tensor, dtype }, Some(asked)) if dtype.starts_with("|V") => {
            let told =
                format!("{dtype} (raw bytes, as NumPy saves the types of ml_dtypes; {} is asked for)", asked.name());
            FileError::UnsupportedDtype { path, tensor, dtype: told }
        }
        (error, _) => error,
    })
}

/// As [`parse`], raw elements of one byte taken for bytes and of two for bf16.
pub(super) fn parse_with_raw(path: &Path, bytes: &[u8]) -> Result<Tensor, FileError> {
    parse_by(path, bytes, |descr| match descr {
        "|V1" | "<V1" => Some((false, DType::U8, 1)),
        "|V2" | "<V2" => Some((false, DType::BF16, 2)),
        _ => element_type(descr),
    })
}

fn parse_by(
    path: &Path,
    bytes: &[u8],
    element_type: impl Fn(&str) -> Option<(bool, DType, usize)>,
) -> Result<Tensor, FileError> {
    let malformed = |reason: String| FileError::Malformed { path: path.to_path_buf(), format: "npy", reason };
    let (Header { descr, fortran_order, shape }, elements) = split(bytes).map_err(malformed)?;
    let unsupported = |dtype: &str| FileError::UnsupportedDtype {
        path: path.to_path_buf(),
        tensor: "the array".to_string(),
        dtype: dtype.chars().take(LONGEST_TYPE).collect(),
    };
    let descr = descr.ok_or_else(|| unsupported("of records"))?;
    let (is_big_endian, dtype, size) = element_type(&descr).ok_or_else(|| unsupported(&descr))?;
    let count = shape.iter().try_fold(1usize, |product, extent| product.checked_mul(*extent));
    let expected = count.and_then(|count| count.checked_mul(size));
    if expected != Some(elements.len()) {
        let (bytes, told) =
            (elements.len(), expected.map_or("more than memory has".to_string(), |bytes| bytes.to_string()));
        return Err(malformed(format!(
            "{bytes} bytes stand behind its header, and its shape {shape:?} of {descr} has {told}"
        )));
    }
    let mut elements = Cow::Borrowed(elements);
    if fortran_order && shape.len() > 1 {
        elements = Cow::Owned(last_dim_first(&elements, &shape, size));
    }
    if is_big_endian {
        elements.to_mut().chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    let data = Data::from_le_bytes(dtype, &elements);
    data.map(|data| Tensor::new(&shape, data)).map_err(|error| malformed(error.to_string()))
}

/// Elements of `size` bytes in the order of a [`Tensor`], whose last dim runs fastest, from Fortran's order, whose first dim does.
fn last_dim_first(elements: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let mut strides = vec![size; shape.len()];
    for dim in 1..shape.len() {
        strides[dim] = strides[dim - 1] * shape[dim - 1];
    }
    let mut ordered = Vec::with_capacity(elements.len());
    for_each_index(shape, |_, index| {
        let from: usize = index.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
        ordered.extend_from_slice(&elements[from..from + size]);
    });
    ordered
}

/// Characters of an element type that an error repeats.
const LONGEST_TYPE: usize = 40;

/// The type `dtype` with its bytes, where raw bytes of this name may be of it.
fn raw_type(descr: &str, dtype: DType) -> Option<(bool, DType, usize)> {
    let size = match descr.trim_start_matches(['|', '<']) {
        "V1" => 1,
        "V2" => 2,
        _ => return None,
    };
    let held = if dtype == DType::BF16 { 2 } else { usize::from(dtype.is_coded()) };
    (held == size).then_some((false, dtype, size))
}

/// NumPy's name of an element type, such as `<f4`: whether its bytes stand in big-endian order, the type, and its bytes; `None` of
/// those that this project has not.
fn element_type(descr: &str) -> Option<(bool, DType, usize)> {
    let mut rest = descr.chars();
    let order = rest.next()?;
    let (dtype, size) = match rest.as_str() {
        "b1" => (DType::Pred, 1),
        "i1" => (DType::S8, 1),
        "i2" => (DType::S16, 2),
        "i4" => (DType::S32, 4),
        "i8" => (DType::S64, 8),
        "u1" => (DType::U8, 1),
        "u2" => (DType::U16, 2),
        "u4" => (DType::U32, 4),
        "u8" => (DType::U64, 8),
        "f2" => (DType::F16, 2),
        "f4" => (DType::F32, 4),
        "f8" => (DType::F64, 8),
        _ => return None,
    };
    match order {
        '<' => Some((false, dtype, size)),
        '>' => Some((true, dtype, size)),
        // One byte has no order; `=` is that of the machine that wrote the file, which the file does not name.
        '|' if size == 1 => Some((false, dtype, size)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that `numpy.save` writes for an array, in version 1.0 of the format.
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
        let short = error(&saved("<f4", "(3,)", &[0; 8]));
        assert!(
            short.contains("x.npy: not a npy file: 8 bytes stand behind its header, and its shape [3] of <f4 has 12"),
            "{short}"
        );
        assert!(error(&saved("<f4", "(1,)", &[0; 8])).contains("8 bytes stand behind"));
        assert!(error(&saved("<f8", "(4611686018427387904,)", &[0; 8])).contains("has more than memory has"));
        assert!(
            error(&saved("<f8", "(4611686018427387904, 4611686018427387904, 0)", &[])).contains("more than memory")
        );
        assert!(error(&saved("|b1", "(1,)", &[7])).contains("x.npy: not a npy file"));
        let mut records = saved("X", "(1,)", &[0; 4]);
        let at = records.windows(3).position(|word| word == b"'X'").unwrap();
        records[at..at + 3].copy_from_slice(b"[[[");
        assert!(error(&records).contains("dtype of records, which is not supported"), "{}", error(&records));
        for descr in ["<c8", "<M8[ns]", "|S4", "=f4", "|f4", "f4", "<f16", "", "\u{e9}"] {
            assert!(error(&saved(descr, "(1,)", &[0; 4])).contains("which is not supported"), "{descr}");
        }
        assert!(error(&saved(&"f".repeat(9000), "()", &[])).len() < 200);
    }

    /// Raw bytes of an archive without a type from elsewhere: one is a byte, two are bf16, and more are nothing known.
    #[test]
    fn raw_elements_of_two_bytes_are_bf16() {
        let raw = |descr: &str, bytes: &[u8]| parse_with_raw(Path::new("x.npy"), &saved(descr, "(1,)", bytes));
        let two = raw("|V2", &[0x40, 0xc0]).unwrap();
        assert_eq!((two.dtype(), two.data().get_f64(0)), (DType::BF16, -3.0));
        let one = raw("|V1", &[200]).unwrap();
        assert_eq!((one.dtype(), one.data().get_i64(0)), (DType::U8, 200));
        assert!(raw("|V4", &[0; 4]).is_err());
    }

    /// The arrays that `numpy.save` writes of a transposed one: 0 to 23 as 2 by 3 by 4, first dim fastest.
    #[test]
    fn fortran_order_is_read() {
        let read = |descr: &str, shape: &str, bytes: &[u8]| {
            let mut file = saved(descr, shape, bytes);
            let at = file.windows(5).position(|word| word == b"False").unwrap();
            file[at..at + 5].copy_from_slice(b"True ");
            parse(Path::new("x.npy"), &file).unwrap()
        };
        let numbers: Vec<i64> = (0..24).map(|at| at / 12 + at / 4 % 3 * 2 + at % 4 * 6).collect();
        let bytes: Vec<u8> = (0..24).collect();
        let of_bytes = read("|u1", "(2, 3, 4)", &bytes);
        assert_eq!((of_bytes.dims(), of_bytes.data().to_i64s()), (&[2, 3, 4][..], numbers.clone()));
        let words: Vec<u8> = (0..24i32).flat_map(i32::to_be_bytes).collect();
        assert_eq!(read(">i4", "(2, 3, 4)", &words).data().to_i64s(), numbers);
        assert_eq!(read("<f4", "(3, 0)", &[]).dims(), [3, 0]);
        assert_eq!(read("|u1", "(3,)", &[1, 2, 3]).data().to_i64s(), [1, 2, 3]);
    }

    /// Each type in either order of bytes; the numbers are NumPy's of 0x0102...
    #[test]
    fn both_orders_of_bytes_are_read() {
        let read = |descr: &str, bytes: &[u8]| parse(Path::new("x.npy"), &saved(descr, "(1,)", bytes)).unwrap();
        for (name, size) in
            [("i2", 2), ("i4", 4), ("i8", 8), ("u2", 2), ("u4", 4), ("u8", 8), ("f2", 2), ("f4", 4), ("f8", 8)]
        {
            let bytes: Vec<u8> = (1..=size).collect();
            let turned: Vec<u8> = (1..=size).rev().collect();
            assert_eq!(read(&format!(">{name}"), &bytes), read(&format!("<{name}"), &turned), "{name}");
        }
        assert_eq!(read(">i4", &[1, 2, 3, 4]).data().get_i64(0), 0x0102_0304);
        assert_eq!(read(">f8", &1.5f64.to_be_bytes()).data().get_f64(0), 1.5);
        for name in ["<u1", ">u1", "|u1"] {
            assert_eq!(read(name, &[200]).data().get_i64(0), 200);
        }
        assert_eq!([read("|i1", &[200]).data().get_i64(0), read("|b1", &[1]).data().get_i64(0)], [-56, 1]);
    }
}
