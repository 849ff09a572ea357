//! Rounding of the additions of a sum.

use crate::num::{BF16, Direction, F16, F32, Format, bf16_nearest, round_f64};
use crate::tensor::DType;

/// Format to which each addition is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StepRounding {
    /// f32: the sum is rounded to its own type at the end.
    #[default]
    F32,
    /// bf16, at every addition.
    Bf16,
    /// f16, at every addition.
    F16,
}

impl StepRounding {
    /// The steps of a sum that is stored in its own type after every addition.
    pub fn own(dtype: DType) -> StepRounding {
        match dtype {
            DType::BF16 => StepRounding::Bf16,
            DType::F16 => StepRounding::F16,
            _ => StepRounding::F32,
        }
    }

    /// The type that each addition is rounded to.
    pub fn dtype(self) -> DType {
        match self {
            StepRounding::F32 => DType::F32,
            StepRounding::Bf16 => DType::BF16,
            StepRounding::F16 => DType::F16,
        }
    }

    /// The format that each addition is rounded to. A sum of two numbers of bf16 or f16 that is rounded to f32 first is
    /// rounded as if once: 24 bits are twice theirs and two more (Figueroa 1995).
    pub fn format(self) -> &'static Format {
        match self {
            StepRounding::F32 => &F32,
            StepRounding::Bf16 => &BF16,
            StepRounding::F16 => &F16,
        }
    }

    /// Accumulators of a bf16 sum that a mode may choose.
    pub const ALL: &'static [StepRounding] = &[StepRounding::F32, StepRounding::Bf16];

    /// The name in a mode, as in `narrow=bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            StepRounding::F32 => "f32",
            StepRounding::Bf16 => "bf16",
            StepRounding::F16 => "f16",
        }
    }

    /// The one of this name among [`StepRounding::ALL`], if there is one.
    pub fn from_name(name: &str) -> Option<StepRounding> {
        StepRounding::ALL.iter().copied().find(|step| step.name() == name)
    }

    /// Description for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            StepRounding::F32 => "accumulated in f32 and rounded once",
            StepRounding::Bf16 => "rounded to bf16 at every addition",
            StepRounding::F16 => "rounded to f16 at every addition",
        }
    }
}

/// Rounding of an addition's sum in f32.
pub(super) trait Step: Copy {
    fn round(sum: f32) -> f32;
}

/// [`StepRounding::F32`], [`StepRounding::Bf16`] and [`StepRounding::F16`] as types.
#[derive(Clone, Copy)]
pub(super) struct InF32;
#[derive(Clone, Copy)]
pub(super) struct InBf16;
#[derive(Clone, Copy)]
pub(super) struct InF16;

impl Step for InF32 {
    #[inline(always)]
    fn round(sum: f32) -> f32 {
        sum
    }
}

impl Step for InBf16 {
    #[inline(always)]
    fn round(sum: f32) -> f32 {
        bf16_nearest(sum)
    }
}

impl Step for InF16 {
    #[inline(always)]
    fn round(sum: f32) -> f32 {
        round_f64(&F16, f64::from(sum), Direction::NearestEven) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 754: 1 + 2^-12 lies between neighbours of bf16 (8 bits) and of f16 (11 bits), and is an f32.
    #[test]
    fn each_addition_is_rounded_to_its_own_type() {
        let sum = 1.0 + 2f32.powi(-12);
        let close = 1.0 + 2f32.powi(-10);
        for (dtype, step) in
            [(DType::F32, StepRounding::F32), (DType::BF16, StepRounding::Bf16), (DType::F16, StepRounding::F16)]
        {
            assert_eq!((StepRounding::own(dtype), step.dtype()), (step, dtype));
        }
        let bits = [StepRounding::F32, StepRounding::Bf16, StepRounding::F16].map(|step| step.format().fraction_bits);
        assert_eq!(bits, [23, 7, 10]);
        assert_eq!([InF32::round(sum), InBf16::round(sum), InF16::round(sum)], [sum, 1.0, 1.0]);
        assert_eq!([InF32::round(close), InBf16::round(close), InF16::round(close)], [close, 1.0, close]);
    }
}
