//! Shape plus typed row-major storage: the values that programs take and give.

mod bytes;
mod dtype;
mod exactly;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use half::{bf16, f16};

use crate::num::{self, Direction};

pub use bytes::BytesError;
pub use dtype::{DTYPES, DType};
pub use exactly::Unfit;

/// Elements in row-major order. Types of fewer bits than eight, and the eight-bit floats, are kept as their codes.
///
/// Two are equal if their bits are: +0 and -0 differ, and a NaN equals one with the same sign and payload.
#[derive(Clone, Debug)]
pub enum Data {
    /// Predicates.
    Pred(Vec<bool>),
    /// Elements of [`DType::S8`].
    S8(Vec<i8>),
    /// Elements of [`DType::S16`].
    S16(Vec<i16>),
    /// Elements of [`DType::S32`].
    S32(Vec<i32>),
    /// Elements of [`DType::S64`].
    S64(Vec<i64>),
    /// Elements of [`DType::U8`].
    U8(Vec<u8>),
    /// Elements of [`DType::U16`].
    U16(Vec<u16>),
    /// Elements of [`DType::U32`].
    U32(Vec<u32>),
    /// Elements of [`DType::U64`].
    U64(Vec<u64>),
    /// Codes of a float type of eight bits at most, or of an integer type of fewer bits ([`DType::is_coded`]); bits above
    /// them are zero.
    Coded(DType, Vec<u8>),
    /// Elements of [`DType::F16`].
    F16(Vec<f16>),
    /// Elements of [`DType::BF16`].
    BF16(Vec<bf16>),
    /// Elements of [`DType::F32`].
    F32(Vec<f32>),
    /// Elements of [`DType::F64`].
    F64(Vec<f64>),
}

/// Runs `$body` with `$v` bound to the vector inside, whatever its element type.
macro_rules! each_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            $crate::tensor::Data::Pred($v) => $body,
            $crate::tensor::Data::S8($v) => $body,
            $crate::tensor::Data::S16($v) => $body,
            $crate::tensor::Data::S32($v) => $body,
            $crate::tensor::Data::S64($v) => $body,
            $crate::tensor::Data::U8($v) => $body,
            $crate::tensor::Data::U16($v) => $body,
            $crate::tensor::Data::U32($v) => $body,
            $crate::tensor::Data::U64($v) => $body,
            $crate::tensor::Data::Coded(_, $v) => $body,
            $crate::tensor::Data::F16($v) => $body,
            $crate::tensor::Data::BF16($v) => $body,
            $crate::tensor::Data::F32($v) => $body,
            $crate::tensor::Data::F64($v) => $body,
        }
    };
}

/// As [`each_data!`], rewrapping what `$body` makes of the vector in the same variant.
macro_rules! map_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            $crate::tensor::Data::Pred($v) => $crate::tensor::Data::Pred($body),
            $crate::tensor::Data::S8($v) => $crate::tensor::Data::S8($body),
            $crate::tensor::Data::S16($v) => $crate::tensor::Data::S16($body),
            $crate::tensor::Data::S32($v) => $crate::tensor::Data::S32($body),
            $crate::tensor::Data::S64($v) => $crate::tensor::Data::S64($body),
            $crate::tensor::Data::U8($v) => $crate::tensor::Data::U8($body),
            $crate::tensor::Data::U16($v) => $crate::tensor::Data::U16($body),
            $crate::tensor::Data::U32($v) => $crate::tensor::Data::U32($body),
            $crate::tensor::Data::U64($v) => $crate::tensor::Data::U64($body),
            $crate::tensor::Data::Coded(dtype, $v) => $crate::tensor::Data::Coded(*dtype, $body),
            $crate::tensor::Data::F16($v) => $crate::tensor::Data::F16($body),
            $crate::tensor::Data::BF16($v) => $crate::tensor::Data::BF16($body),
            $crate::tensor::Data::F32($v) => $crate::tensor::Data::F32($body),
            $crate::tensor::Data::F64($v) => $crate::tensor::Data::F64($body),
        }
    };
}

impl PartialEq for Data {
    fn eq(&self, other: &Data) -> bool {
        macro_rules! compare {
            ($($integer:ident)*; $($float:ident)*) => {
                match (self, other) {
                    $((Data::$integer(a), Data::$integer(b)) => a == b,)*
                    $((Data::$float(a), Data::$float(b)) => {
                        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
                    })*
                    (Data::Coded(dtype, a), Data::Coded(other, b)) => dtype == other && a == b,
                    _ => false,
                }
            };
        }
        compare!(Pred S8 S16 S32 S64 U8 U16 U32 U64; F16 BF16 F32 F64)
    }
}

impl Eq for Data {}

impl Hash for Data {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.dtype(), self.len()).hash(state);
        (0..self.len()).for_each(|i| self.bits(i).hash(state));
    }
}

impl Data {
    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        match self {
            Data::Pred(_) => DType::Pred,
            Data::S8(_) => DType::S8,
            Data::S16(_) => DType::S16,
            Data::S32(_) => DType::S32,
            Data::S64(_) => DType::S64,
            Data::U8(_) => DType::U8,
            Data::U16(_) => DType::U16,
            Data::U32(_) => DType::U32,
            Data::U64(_) => DType::U64,
            Data::Coded(dtype, _) => *dtype,
            Data::F16(_) => DType::F16,
            Data::BF16(_) => DType::BF16,
            Data::F32(_) => DType::F32,
            Data::F64(_) => DType::F64,
        }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        each_data!(self, v => v.len())
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends elements of the same type.
    ///
    /// # Panics
    /// If the types differ: a bug in the caller.
    fn extend(&mut self, more: &Data) {
        macro_rules! append {
            ($($variant:ident)*) => {
                match (self, more) {
                    $((Data::$variant(a), Data::$variant(b)) => a.extend_from_slice(b),)*
                    (Data::Coded(dtype, a), Data::Coded(other, b)) if dtype == other => a.extend_from_slice(b),
                    (a, b) => panic!("{} elements after {}", b.dtype(), a.dtype()),
                }
            };
        }
        append!(Pred S8 S16 S32 S64 U8 U16 U32 U64 F16 BF16 F32 F64);
    }

    /// Elements of a float type; values that it does not have are rounded to nearest even. `None` if `dtype` is
    /// no float.
    pub fn from_f64s(dtype: DType, values: &[f64]) -> Option<Data> {
        let format = dtype.format()?;
        let round = |v: &f64| num::round_f64(format, *v, Direction::NearestEven);
        let code = |v: &f64| format.encode(round(v));
        Some(match dtype {
            DType::F64 => Data::F64(values.to_vec()),
            // A cast may give a NaN of either sign; the code has the right one.
            DType::F32 => {
                let cast = |v: &f64| if v.is_nan() { f32::from_bits(code(v) as u32) } else { *v as f32 };
                Data::F32(values.iter().map(cast).collect())
            }
            // Rounded to bf16, an f32 holds it exactly, and the top half of that is its code.
            DType::BF16 => {
                let top = |v: &f64| ((round(v) as f32).to_bits() >> 16) as u16;
                let cast = |v: &f64| bf16::from_bits(if v.is_nan() { code(v) as u16 } else { top(v) });
                Data::BF16(values.iter().map(cast).collect())
            }
            DType::F16 => Data::F16(values.iter().map(|v| f16::from_bits(code(v) as u16)).collect()),
            _ => Data::Coded(dtype, values.iter().map(|v| code(v) as u8).collect()),
        })
    }

    /// Float elements from f32 values that belong to `dtype` already (the machine's working form), exactly.
    /// `None` if `dtype` is no float.
    pub fn from_f32s(dtype: DType, values: Vec<f32>) -> Option<Data> {
        match dtype {
            DType::F32 => Some(Data::F32(values)),
            // The top half of an f32 that belongs to bf16 is its code.
            DType::BF16 => {
                Some(Data::BF16(values.iter().map(|v| bf16::from_bits((v.to_bits() >> 16) as u16)).collect()))
            }
            _ => {
                let wide: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
                Data::from_f64s(dtype, &wide)
            }
        }
    }

    /// The same with element `i` of a float type replaced by the one of these bits; other types stay as they are.
    #[must_use]
    pub fn with_code(mut self, i: usize, code: u64) -> Data {
        match &mut self {
            Data::F64(v) => v[i] = f64::from_bits(code),
            Data::F32(v) => v[i] = f32::from_bits(code as u32),
            Data::BF16(v) => v[i] = bf16::from_bits(code as u16),
            Data::F16(v) => v[i] = f16::from_bits(code as u16),
            Data::Coded(dtype, v) if dtype.is_float() => v[i] = code as u8,
            _ => {}
        }
        self
    }

    /// Integer or predicate elements, wrapped to `dtype`'s width. `None` if `dtype` is a float.
    pub fn from_i64s(dtype: DType, values: &[i64]) -> Option<Data> {
        Some(match dtype {
            DType::Pred => Data::Pred(values.iter().map(|v| *v != 0).collect()),
            DType::S8 => Data::S8(values.iter().map(|v| *v as i8).collect()),
            DType::S16 => Data::S16(values.iter().map(|v| *v as i16).collect()),
            DType::S32 => Data::S32(values.iter().map(|v| *v as i32).collect()),
            DType::S64 => Data::S64(values.to_vec()),
            DType::U8 => Data::U8(values.iter().map(|v| *v as u8).collect()),
            DType::U16 => Data::U16(values.iter().map(|v| *v as u16).collect()),
            DType::U32 => Data::U32(values.iter().map(|v| *v as u32).collect()),
            DType::U64 => Data::U64(values.iter().map(|v| *v as u64).collect()),
            DType::S1 | DType::S2 | DType::S4 | DType::U1 | DType::U2 | DType::U4 => {
                let mask = (1 << dtype.bits()) - 1;
                Data::Coded(dtype, values.iter().map(|v| *v as u8 & mask).collect())
            }
            _ => return None,
        })
    }

    /// Element `i` of a float type, exactly; an integer or predicate as the nearest f64.
    #[inline]
    pub fn get_f64(&self, i: usize) -> f64 {
        match self {
            Data::F64(v) => v[i],
            Data::F32(v) => f64::from(v[i]),
            Data::BF16(v) => f64::from(v[i].to_f32()),
            Data::F16(v) => f64::from(v[i].to_f32()),
            Data::Coded(dtype, v) => match dtype.format() {
                Some(format) => format.decode(u64::from(v[i])),
                None => self.get_i64(i) as f64,
            },
            Data::U64(v) => v[i] as f64,
            _ => self.get_i64(i) as f64,
        }
    }

    /// Element `i` of an integer type or a predicate, a u64 as the i64 of its bits; a float is truncated and saturated.
    #[inline]
    pub fn get_i64(&self, i: usize) -> i64 {
        match self {
            Data::Pred(v) => i64::from(v[i]),
            Data::S8(v) => i64::from(v[i]),
            Data::S16(v) => i64::from(v[i]),
            Data::S32(v) => i64::from(v[i]),
            Data::S64(v) => v[i],
            Data::U8(v) => i64::from(v[i]),
            Data::U16(v) => i64::from(v[i]),
            Data::U32(v) => i64::from(v[i]),
            Data::U64(v) => v[i] as i64,
            Data::Coded(dtype, v) if dtype.is_integer() => {
                let above = 64 - dtype.bits();
                let high = u64::from(v[i]) << above;
                if dtype.is_signed() { high as i64 >> above } else { (high >> above) as i64 }
            }
            _ => self.get_f64(i) as i64,
        }
    }

    /// The bits of element `i`, zero-extended.
    #[inline]
    pub fn bits(&self, i: usize) -> u64 {
        match self {
            Data::F64(v) => v[i].to_bits(),
            Data::F32(v) => u64::from(v[i].to_bits()),
            Data::BF16(v) => u64::from(v[i].to_bits()),
            Data::F16(v) => u64::from(v[i].to_bits()),
            Data::Coded(_, v) => u64::from(v[i]),
            _ => self.get_i64(i) as u64 & (u64::MAX >> (64 - self.dtype().bits())),
        }
    }

    /// All elements as [`Data::get_f64`] gives them.
    pub fn to_f64s(&self) -> Vec<f64> {
        match self {
            Data::F64(v) => v.clone(),
            Data::F32(v) => v.iter().map(|x| f64::from(*x)).collect(),
            Data::BF16(v) => v.iter().map(|x| f64::from(f32::from_bits(u32::from(x.to_bits()) << 16))).collect(),
            _ => (0..self.len()).map(|i| self.get_f64(i)).collect(),
        }
    }

    /// All elements of a float type other than f64 as f32, exactly; f64 is rounded.
    pub fn to_f32s(&self) -> Vec<f32> {
        match self {
            Data::F32(v) => v.clone(),
            Data::BF16(v) => v.iter().map(|x| f32::from_bits(u32::from(x.to_bits()) << 16)).collect(),
            _ => (0..self.len()).map(|i| self.get_f64(i) as f32).collect(),
        }
    }

    /// All elements as [`Data::get_i64`] gives them.
    pub fn to_i64s(&self) -> Vec<i64> {
        match self {
            Data::S64(v) => v.clone(),
            Data::S32(v) => v.iter().map(|x| i64::from(*x)).collect(),
            Data::Pred(v) => v.iter().map(|x| i64::from(*x)).collect(),
            _ => (0..self.len()).map(|i| self.get_i64(i)).collect(),
        }
    }
}

/// A dense array; a clone shares the elements. Two are equal if their types, dims and bits are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    dims: Vec<usize>,
    data: Arc<Data>,
}

impl Tensor {
    /// An array of these dims, `data` being its elements in row-major order.
    ///
    /// # Panics
    /// If `data` does not hold exactly as many elements as `dims` says: a bug in the caller, never bad input.
    pub fn new(dims: &[usize], data: Data) -> Tensor {
        assert_eq!(dims.iter().product::<usize>(), data.len(), "elements against dims {dims:?}");
        Tensor { dims: dims.to_vec(), data: Arc::new(data) }
    }

    /// A rank-0 float of `dtype`, rounded to nearest even. `None` if `dtype` is no float.
    pub fn scalar(dtype: DType, value: f64) -> Option<Tensor> {
        Some(Tensor::new(&[], Data::from_f64s(dtype, &[value])?))
    }

    /// A rank-0 integer or predicate of `dtype`. `None` if `dtype` is a float.
    pub fn scalar_int(dtype: DType, value: i64) -> Option<Tensor> {
        Some(Tensor::new(&[], Data::from_i64s(dtype, &[value])?))
    }

    /// The extents, the slowest dim first; none for a scalar.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The elements, row-major.
    #[inline]
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// Number of elements: the product of the dims.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether some dim is 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same elements under other dims of the same product.
    ///
    /// # Panics
    /// If the products differ: a bug in the caller.
    pub fn reshape(self, dims: &[usize]) -> Tensor {
        assert_eq!(dims.iter().product::<usize>(), self.len(), "elements against dims {dims:?}");
        Tensor { dims: dims.to_vec(), data: self.data }
    }

    /// The elements at some indices of the leading dim; a scalar as it is.
    ///
    /// # Panics
    /// If there are no such indices: a bug in the caller.
    pub fn rows(&self, rows: std::ops::Range<usize>) -> Tensor {
        let mut dims = self.dims.clone();
        let Some(first) = dims.first_mut() else { return self.clone() };
        let width = self.len() / (*first).max(1);
        *first = rows.len();
        Tensor::new(&dims, map_data!(self.data(), v => v[rows.start * width..rows.end * width].to_vec()))
    }

    /// The elements at these places, counted row-major, as a tensor of these dims.
    ///
    /// # Panics
    /// If there are no such places, or not as many as the dims say: a bug in the caller.
    pub fn pick(&self, dims: &[usize], places: &[usize]) -> Tensor {
        Tensor::new(dims, map_data!(self.data(), v => places.iter().map(|at| v[*at]).collect()))
    }

    /// Tensors that differ in their leading dim only, put together along it.
    ///
    /// # Panics
    /// If there is none, or element types differ: a bug in the caller.
    pub fn stack(parts: &[Tensor]) -> Tensor {
        let mut joined = parts[0].clone();
        for part in &parts[1..] {
            joined.dims[0] += part.dims[0];
            Arc::make_mut(&mut joined.data).extend(&part.data);
        }
        joined
    }
}

#[cfg(test)]
mod tests;
