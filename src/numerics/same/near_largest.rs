//! Inputs of rows that are alike, of numbers near the largest one: a sum or mean that overflows in one program alone is shown by
//! them, and by no others.

use crate::input::Sampler;
use crate::ir::Shape;
use crate::num::exp2i;
use crate::tensor::Tensor;

use super::SameError;
use super::standing_out::below;
use super::witness::{Difference, Search, floats, nearest, streams};

/// Powers of two below the largest one, each for one input: sums of so many numbers, about, end at the largest number.
const BELOW_LARGEST: i32 = 8;

impl Search<'_> {
    /// Runs both programs on inputs whose numbers are a power of two near the largest number of their type, or the number below it; gives
    /// what differs.
    pub fn near_largest(&mut self, block: usize) -> Result<Option<Difference>, SameError> {
        let trial = self.tried;
        for below_largest in 0..BELOW_LARGEST {
            let large = self.alignment.large();
            let mut sampler = streams(trial).sampler(u64::MAX, 3);
            let mut arguments = self.arguments(trial);
            for (argument, shape) in arguments.iter_mut().zip(self.alignment.shapes(large)) {
                if let Some(alike) = rows_alike(shape, below_largest, &mut sampler) {
                    *argument = alike;
                }
            }
            let (_, found) = self.try_on(&arguments, trial, block)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Floats of which each row has the same numbers, along the last dim: a quarter positive, a quarter negative, the others zero. An eighth
/// of them is a step smaller. `None` for any other type.
fn rows_alike(shape: &Shape, below_largest: i32, sampler: &mut Sampler) -> Option<Tensor> {
    let dtype = shape.element_type();
    let format = dtype.format()?;
    let number = exp2i(format.emax() - below_largest);
    let smaller = below(number, |value| nearest(dtype, value));
    let length = shape.dims().last().copied().unwrap_or(1).max(1);
    let signs: Vec<f64> = (0..length).map(|_| [1.0, -1.0, 0.0, 0.0][sampler.below(4) as usize]).collect();
    let mut value = |at: usize| signs[at % length] * if sampler.below(8) == 0 { smaller } else { number };
    let numbers: Vec<f64> = (0..shape.elements()).map(&mut value).collect();
    Some(Tensor::new(shape.dims(), floats(dtype, &numbers)?))
}
