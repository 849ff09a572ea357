//! Elements as bytes, as files and other languages hold them.

use half::{bf16, f16};

use super::{DType, Data};

/// Why bytes are no elements of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BytesError {
    /// The type has no such element.
    #[error("element {at} is {byte}, which {dtype} does not have")]
    NoElement {
        /// The element, from 0.
        at: usize,
        /// Its byte.
        byte: u8,
        /// The type.
        dtype: DType,
    },
    /// The last element is not whole.
    #[error("{bytes} bytes are no whole number of elements of {size} bytes")]
    Length {
        /// The number of bytes.
        bytes: usize,
        /// The number of bytes of an element.
        size: usize,
    },
}

impl Data {
    /// The elements in order, little-endian, each in the whole bytes that it needs: a predicate is 0 or 1, a float of fewer
    /// than eight bits its code, an integer of fewer its value as one of eight bits.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            Data::Coded(dtype, v) if dtype.is_float() => v.clone(),
            Data::Coded(..) => (0..self.len()).map(|i| self.get_i64(i) as u8).collect(),
            _ => {
                let size = element_size(self.dtype());
                (0..self.len()).flat_map(|i| self.bits(i).to_le_bytes().into_iter().take(size)).collect()
            }
        }
    }

    /// Elements of `dtype` from bytes as [`Data::to_le_bytes`] gives them, bit for bit: a signalling NaN stays what it is.
    ///
    /// # Errors
    /// If an element is cut off, or one that the type does not have.
    pub fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Result<Data, BytesError> {
        /// Elements of `N` bytes each.
        fn words<const N: usize, T>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks::<N>().0.iter().map(|word| from(*word)).collect()
        }
        let size = element_size(dtype);
        if !bytes.len().is_multiple_of(size) {
            return Err(BytesError::Length { bytes: bytes.len(), size });
        }
        let refuse = |is_wrong: &dyn Fn(u8) -> bool| match bytes.iter().position(|byte| is_wrong(*byte)) {
            Some(at) => Err(BytesError::NoElement { at, byte: bytes[at], dtype }),
            None => Ok(()),
        };
        Ok(match dtype {
            DType::Pred => {
                refuse(&|byte| byte > 1)?;
                Data::Pred(bytes.iter().map(|byte| *byte == 1).collect())
            }
            DType::S8 => Data::S8(words(bytes, i8::from_le_bytes)),
            DType::S16 => Data::S16(words(bytes, i16::from_le_bytes)),
            DType::S32 => Data::S32(words(bytes, i32::from_le_bytes)),
            DType::S64 => Data::S64(words(bytes, i64::from_le_bytes)),
            DType::U8 => Data::U8(bytes.to_vec()),
            DType::U16 => Data::U16(words(bytes, u16::from_le_bytes)),
            DType::U32 => Data::U32(words(bytes, u32::from_le_bytes)),
            DType::U64 => Data::U64(words(bytes, u64::from_le_bytes)),
            DType::F16 => Data::F16(words(bytes, f16::from_le_bytes)),
            DType::BF16 => Data::BF16(words(bytes, bf16::from_le_bytes)),
            DType::F32 => Data::F32(words(bytes, |word| f32::from_bits(u32::from_le_bytes(word)))),
            DType::F64 => Data::F64(words(bytes, |word| f64::from_bits(u64::from_le_bytes(word)))),
            coded if coded.is_float() => {
                refuse(&|byte| u32::from(byte) >> coded.bits() != 0)?;
                Data::Coded(coded, bytes.to_vec())
            }
            coded => {
                let mask = (1 << coded.bits()) - 1;
                let data = Data::Coded(coded, bytes.iter().map(|byte| byte & mask).collect());
                let differs = |at: &usize| data.get_i64(*at) as u8 != bytes[*at];
                if let Some(at) = (0..bytes.len()).find(differs) {
                    return Err(BytesError::NoElement { at, byte: bytes[at], dtype });
                }
                data
            }
        })
    }
}

/// Whole bytes of one element.
fn element_size(dtype: DType) -> usize {
    dtype.bits().div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DTYPES;

    #[test]
    fn elements_come_back_bit_for_bit() {
        for dtype in DTYPES {
            let size = element_size(dtype);
            // All bytes that an element of one byte can be, or all second halves of longer ones.
            let bytes: Vec<u8> = match dtype {
                DType::Pred => vec![0, 1, 1],
                _ if dtype.is_integer() && dtype.bits() < 8 => {
                    let data = Data::from_i64s(dtype, &(0..1 << dtype.bits()).collect::<Vec<_>>()).unwrap();
                    data.to_le_bytes()
                }
                _ if size == 1 => (0..=((1u32 << dtype.bits()) - 1) as u8).collect(),
                _ => (0..=255).flat_map(|high| (1..size as u8).chain([high])).collect(),
            };
            let data = Data::from_le_bytes(dtype, &bytes).unwrap();
            assert_eq!((data.dtype(), data.len()), (dtype, bytes.len() / size));
            assert_eq!(data.to_le_bytes(), bytes, "{dtype}");
        }
    }

    #[test]
    fn values_stand_where_little_endian_puts_them() {
        let bf16 = Data::from_le_bytes(DType::BF16, &[0x80, 0x3f, 0, 0xc0]).unwrap();
        assert_eq!(bf16.to_f64s(), [1.0, -2.0]);
        let s4 = Data::from_le_bytes(DType::S4, &[0xff, 7]).unwrap();
        assert_eq!(s4.to_i64s(), [-1, 7]);
        assert_eq!(s4.bits(0), 15);
    }

    #[test]
    fn what_is_no_element_is_refused() {
        let refused = |dtype, bytes: &[u8]| Data::from_le_bytes(dtype, bytes).unwrap_err();
        assert_eq!(refused(DType::F32, &[0; 6]), BytesError::Length { bytes: 6, size: 4 });
        let element = |at, byte, dtype| BytesError::NoElement { at, byte, dtype };
        assert_eq!(refused(DType::Pred, &[0, 2]), element(1, 2, DType::Pred));
        assert_eq!(refused(DType::F4E2M1FN, &[15, 16]), element(1, 16, DType::F4E2M1FN));
        assert_eq!(refused(DType::S4, &[8]), element(0, 8, DType::S4));
        assert_eq!(refused(DType::U4, &[16]), element(0, 16, DType::U4));
    }
}
