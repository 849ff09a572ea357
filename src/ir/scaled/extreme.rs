//! The ends of a block's numbers, from which rules take its scale.

use crate::tensor::DType;

/// A block's largest magnitude, with all that its elements may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extreme {
    /// The largest magnitude of the elements that are numbers; infinite where one is, 0 where all are zero or NaN.
    pub value: f32,
    /// The least of these elements, 0 where there is none.
    pub low: f32,
    /// The largest of these elements, 0 where there is none.
    pub high: f32,
    /// Whether an element is NaN.
    pub has_nan: bool,
    /// The type of the input.
    pub dtype: DType,
}

impl Extreme {
    /// The extreme of a block's elements.
    pub fn of(values: impl IntoIterator<Item = f32>, dtype: DType) -> Extreme {
        let (mut low, mut high, mut has_nan) = (f32::INFINITY, f32::NEG_INFINITY, false);
        for value in values {
            has_nan |= value.is_nan();
            // A NaN is never the larger one, nor the smaller.
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            (low, high) = (0.0, 0.0);
        }
        Extreme { value: low.abs().max(high.abs()), low, high, has_nan, dtype }
    }

    /// Whether a rule's arithmetic decides the scale: the block has a number other than zero, and neither infinity nor NaN.
    pub fn is_ordinary(&self) -> bool {
        self.value > 0.0 && self.value.is_finite() && !self.has_nan
    }
}

#[cfg(test)]
mod tests {
    use super::Extreme;
    use crate::tensor::DType;

    /// A NaN is seen at any place of a block, and the numbers beside it keep their ends.
    #[test]
    fn ends_are_those_of_the_numbers() {
        const INFINITY: f32 = f32::INFINITY;
        for (numbers, low, high, value) in [
            (&[][..], 0.0, 0.0, 0.0),
            (&[0.0, -0.0], 0.0, 0.0, 0.0),
            (&[-3.0, -1.0], -3.0, -1.0, 3.0),
            (&[1.0, 2.5], 1.0, 2.5, 2.5),
            (&[-4.0, 2.0, 1.0], -4.0, 2.0, 4.0),
            (&[-INFINITY, 1.0], -INFINITY, 1.0, INFINITY),
            (&[1e-45], 1e-45, 1e-45, 1e-45),
        ] {
            for nan in [None, Some(0), Some(numbers.len())] {
                let mut block = numbers.to_vec();
                nan.into_iter().for_each(|at| block.insert(at, f32::NAN));
                let extreme = Extreme::of(block.iter().copied(), DType::F32);
                assert_eq!((extreme.low, extreme.high, extreme.value), (low, high, value), "{block:?}");
                assert_eq!(extreme.has_nan, nan.is_some(), "{block:?}");
                let is_ordinary = value > 0.0 && value < INFINITY && nan.is_none();
                assert_eq!(extreme.is_ordinary(), is_ordinary, "{block:?}");
            }
        }
    }
}
