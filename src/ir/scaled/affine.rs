//! Scales of integers over a zero point, and the zero points: a block's numbers lie between its least and its largest one.
//!
//! Each form follows the operations of its library in the type of the input, rounding by rounding.

use super::element_type::Element;
use super::exponent::Maximum;
use super::extreme::Extreme;

/// Arithmetic of a scale and its zero point, as one library has it. `least` and `largest` are the element type's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Affine {
    /// The range with zero in it; the zero point is `round(least - low / s)` (google/qwix).
    RoundedSum,
    /// As [`Affine::RoundedSum`], times the f32 reciprocal, as a compiler for CPUs divides by a constant (FACTS 11.4).
    RoundedSumByReciprocal,
    /// The range with zero in it; the zero point is `least - round(low / s)` (torchao).
    RoundedQuotient,
    /// As [`Affine::RoundedQuotient`], of the range as it is (torchao).
    WithoutZero,
    /// The zero point is a float, the number of the middle element: `low + s mid` (torchao for tinygemm).
    FloatMiddle,
    /// The zero point is a float, the block's least number (KIVI).
    FloatLeast,
    /// The larger one of `low / least` and `high / largest`, over the middle element (torchao).
    NoClip,
}

/// The element that stands for zero under symmetric rules: 0 of signed types, 128 of uint8.
pub(super) fn middle(element: &Element) -> f64 {
    (element.min() + element.max() + 1.0) / 2.0
}

/// Arithmetic in the type of a block's input.
fn typed(extreme: &Extreme) -> impl Fn(f32) -> f32 {
    let of = Maximum { value: 0.0, dtype: extreme.dtype };
    move |value| of.in_type(value)
}

impl Affine {
    /// The least and the largest number that the form takes the range from.
    fn ends(self, extreme: &Extreme) -> (f32, f32) {
        match self {
            Affine::WithoutZero | Affine::FloatMiddle | Affine::FloatLeast => (extreme.low, extreme.high),
            Affine::RoundedSum | Affine::RoundedSumByReciprocal | Affine::RoundedQuotient | Affine::NoClip => {
                (extreme.low.min(0.0), extreme.high.max(0.0))
            }
        }
    }

    /// The scale of a block, in the type of the input.
    pub fn scale(self, extreme: &Extreme, element: &Element) -> f32 {
        let round = typed(extreme);
        let ((low, high), (least, largest)) = (self.ends(extreme), (element.min() as f32, element.max() as f32));
        let scale = match self {
            Affine::NoClip if least < 0.0 => round(low / least).max(round(high / largest)),
            Affine::NoClip => round(high / largest),
            Affine::RoundedSumByReciprocal => round(round(high - low) * (1.0 / (largest - least))),
            _ => round(round(high - low) / (largest - least)),
        };
        let smallest = smallest_normal(extreme);
        match self {
            Affine::RoundedSum | Affine::RoundedSumByReciprocal if scale < round(smallest.sqrt()) => 1.0,
            Affine::RoundedSum | Affine::RoundedSumByReciprocal | Affine::FloatLeast => scale,
            _ => scale.max(smallest),
        }
    }

    /// The zero point of a block: an integer of the element type, or a float in the type of the input.
    pub fn zero_point(self, extreme: &Extreme, element: &Element) -> f64 {
        let round = typed(extreme);
        let (low, scale) = (self.ends(extreme).0, self.scale(extreme, element));
        let (least, largest) = (element.min() as f32, element.max() as f32);
        let zero = match self {
            Affine::NoClip => return middle(element),
            Affine::FloatLeast => low,
            Affine::FloatMiddle => round(low + round(scale * middle(element) as f32)),
            Affine::RoundedSum | Affine::RoundedSumByReciprocal => {
                round(least - round(low / scale)).round_ties_even().clamp(least, largest)
            }
            Affine::RoundedQuotient | Affine::WithoutZero => {
                round(least - round(low / scale).round_ties_even()).clamp(least, largest)
            }
        };
        f64::from(zero)
    }
}

/// The smallest normal number of the type of a block's input.
pub(super) fn smallest_normal(extreme: &Extreme) -> f32 {
    if extreme.dtype == crate::tensor::DType::F16 { 2f32.powi(-14) } else { f32::MIN_POSITIVE }
}

#[cfg(test)]
mod tests {
    use super::super::element_type::INT8;
    use super::{Affine, Extreme};
    use crate::tensor::DType;

    /// A scale of 1 and a least number of -6.59375 in bf16: torchao takes -7 from -128, qwix rounds -121.40625 to bf16, which has
    /// -121.5 there, and then to an even integer.
    #[test]
    fn zero_points_of_both_libraries_part_on_bf16() {
        let block = Extreme::of([-6.59375, 248.0], DType::BF16);
        assert_eq!(Affine::RoundedQuotient.scale(&block, &INT8), 1.0);
        assert_eq!(Affine::RoundedQuotient.zero_point(&block, &INT8), -121.0);
        assert_eq!(Affine::RoundedSum.zero_point(&block, &INT8), -122.0);
    }
}
