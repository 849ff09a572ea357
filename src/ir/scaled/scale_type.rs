//! Types of scales, and the numbers that their codes stand for.

use crate::num::F8E4M3FN;
use crate::tensor::DType;

/// Kind of the scales of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleType {
    /// Bytes of powers of two: exponent + 127, 255 for NaN (OCP MX).
    E8M0,
    /// Codes of e4m3, one a block, over a per-tensor f32 where there is one (NVFP4).
    E4M3,
    /// Floats of the type, one a channel, group or block.
    Float(DType),
    /// Reciprocals of scales, as floats of the type.
    Inverse(DType),
}

impl ScaleType {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            ScaleType::E8M0 => "e8m0",
            ScaleType::E4M3 => "e4m3",
            ScaleType::Float(dtype) | ScaleType::Inverse(dtype) => dtype.name(),
        }
    }

    /// Number that a scale's code stands for; floats are coded by their bits.
    pub fn decode(self, code: u64) -> f64 {
        match self {
            ScaleType::E8M0 => crate::num::F8E8M0FNU.decode(code),
            ScaleType::E4M3 => F8E4M3FN.decode(code),
            ScaleType::Float(dtype) => dtype.format().map_or(f64::NAN, |format| format.decode(code)),
            ScaleType::Inverse(dtype) => dtype.format().map_or(f64::NAN, |format| 1.0 / format.decode(code)),
        }
    }
}
