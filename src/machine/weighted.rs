//! Products of a matrix with a vector as compilers write them without a dot: a multiplication by a broadcast, conversions, and a
//! reduction that alone reads them.

use crate::ir::{Binary, Instruction, Op, ValueId};
use crate::tensor::DType;

use super::vector::StepRounding;

/// A product that a reduction reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ReducedProduct {
    /// The operands of the product, as they lie in memory.
    pub operands: [ValueId; 2],
    /// Format to which the product is rounded.
    pub rounded: StepRounding,
    /// Whether `reduce-precision` rounds it: to the same numbers, but a NaN keeps its bits, and the unit does not flush
    /// its subnormals.
    pub keeps_nan: bool,
}

/// The product that `array` is, with operands that are no `producers`; `None` for any other value. Its factors are
/// floats that f32 holds, and it is rounded to f32 or bf16. The function is for machines on which every conversion of
/// f32 to bf16 rounds, and once.
pub(super) fn find(instructions: &[Instruction], producers: &[ValueId], array: ValueId) -> Option<ReducedProduct> {
    let is_producer = |id: ValueId| producers.binary_search(&id).is_ok();
    let (mut id, mut rounded, mut keeps_nan) = (array, StepRounding::F32, false);
    loop {
        let instruction = &instructions[id];
        if !is_producer(id) {
            return None;
        }
        match instruction.shape.dtype()? {
            DType::F32 => {}
            // A value in bf16 between product and sum has been rounded there, wherever the conversion stands.
            DType::BF16 => rounded = StepRounding::Bf16,
            _ => return None,
        }
        match instruction.op {
            Op::Convert | Op::Copy | Op::Reshape => id = instruction.operands[0],
            Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 } => {
                (rounded, keeps_nan) = (StepRounding::Bf16, true);
                id = instruction.operands[0];
            }
            Op::Binary(Binary::Multiply) => break,
            _ => return None,
        }
    }
    // What f32 holds already is the same number in f32.
    let source = |mut id: ValueId| loop {
        let instruction = &instructions[id];
        let keeps = match instruction.op {
            Op::Convert => instruction.shape.dtype() == Some(DType::F32),
            Op::Copy | Op::Reshape => true,
            _ => false,
        };
        match is_producer(id) {
            true if keeps => id = instruction.operands[0],
            true => return None,
            false => return Some(id),
        }
    };
    let &[left, right] = &instructions[id].operands[..] else { return None };
    Some(ReducedProduct { operands: [source(left)?, source(right)?], rounded, keeps_nan })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, ShapeError};

    type Made = Result<ValueId, ShapeError>;

    /// The product that is found in what these steps make of two parameters. All values behind the parameters are producers.
    fn found(dtypes: [DType; 2], steps: fn(&mut Builder, [ValueId; 2]) -> Made) -> Option<ReducedProduct> {
        let mut b = Builder::new("product");
        let factors = [0, 1].map(|at| b.parameter(["x", "y"][at], dtypes[at], &[4]).unwrap());
        let array = steps(&mut b, factors).unwrap();
        let program = b.finish(&[("array", array)]).unwrap();
        let producers: Vec<ValueId> = (2..=array).collect();
        find(&program.entry().instructions, &producers, array)
    }

    fn product(rounded: StepRounding, keeps_nan: bool) -> Option<ReducedProduct> {
        Some(ReducedProduct { operands: [0, 1], rounded, keeps_nan })
    }

    /// A product is rounded where it is bf16 on its way to the sum, and keeps its NaNs where `reduce-precision` does that.
    #[test]
    fn products_are_rounded_as_their_conversions_say() {
        let f32s = [DType::F32; 2];
        let plain = found(f32s, |b, [x, y]| b.binary(Binary::Multiply, x, y));
        assert_eq!(plain, product(StepRounding::F32, false));
        let narrow = found([DType::BF16; 2], |b, [x, y]| {
            let product = b.binary(Binary::Multiply, x, y)?;
            b.convert(product, DType::F32)
        });
        assert_eq!(narrow, product(StepRounding::Bf16, false));
        let short = found(f32s, |b, [x, y]| {
            let product = b.binary(Binary::Multiply, x, y)?;
            b.op(Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 }, &[product])
        });
        assert_eq!(short, product(StepRounding::Bf16, true));
        let other = found(f32s, |b, [x, y]| {
            let product = b.binary(Binary::Multiply, x, y)?;
            b.op(Op::ReducePrecision { exponent_bits: 5, mantissa_bits: 7 }, &[product])
        });
        assert_eq!(other, None);
        assert_eq!(found([DType::F64; 2], |b, [x, y]| b.binary(Binary::Multiply, x, y)), None);
        assert_eq!(found(f32s, |b, [x, y]| b.binary(Binary::Add, x, y)), None);
        // A product that others read as well is none of the sum's own.
        let mut b = Builder::new("shared");
        let x = b.parameter("x", DType::F32, &[4]).unwrap();
        let square = b.binary(Binary::Multiply, x, x).unwrap();
        let program = b.finish(&[("square", square)]).unwrap();
        assert_eq!(find(&program.entry().instructions, &[], square), None);
    }

    /// Factors are taken as they lie in memory if f32 holds them; one that was rounded first is no other value's factor.
    #[test]
    fn factors_that_were_rounded_are_not_followed() {
        let widened = found([DType::BF16, DType::F32], |b, [x, y]| {
            let (x, y) = (b.convert(x, DType::F32)?, b.op(Op::Copy, &[y])?);
            b.binary(Binary::Multiply, x, y)
        });
        assert_eq!(widened, product(StepRounding::F32, false));
        let rounded = found([DType::F32; 2], |b, [x, y]| {
            let (x, y) = (b.convert(x, DType::BF16)?, b.convert(y, DType::BF16)?);
            b.binary(Binary::Multiply, x, y)
        });
        assert_eq!(rounded, None);
    }
}
