//! Divisors of which a compiler may take the reciprocal once for many elements.

use crate::ir::{Binary, Computation, Fusion, Instruction, Op};

/// Whether an instruction is a division by one number for many dividends, a broadcast or a constant, outside of fusions that are
/// compiled already: a compiler may turn it into a multiplication by the reciprocal.
pub fn divides_by_one_number(computation: &Computation, instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Binary(Binary::Divide) if !instruction.fusion().is_some_and(Fusion::is_compiled) => {
            is_one_number(computation, instruction.operands[1])
        }
        _ => false,
    }
}

/// Whether a divisor is a broadcast or a constant, seen through moves and conversions.
fn is_one_number(computation: &Computation, id: usize) -> bool {
    let instruction = &computation.instructions[id];
    match instruction.op {
        Op::Constant(_) | Op::Broadcast { .. } => true,
        Op::Convert | Op::Reshape | Op::Copy | Op::Transpose { .. } => {
            is_one_number(computation, instruction.operands[0])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::divides_by_one_number;
    use crate::ir::{Binary, Builder, Compiled, Fusion, Op, Program, ValueId};
    use crate::tensor::DType;

    /// `x / of(y)`, or `of(y) / x`, for a value made of parameter `y`.
    fn quotient(is_divisor: bool, of: impl Fn(&mut Builder, ValueId) -> ValueId) -> (Program, ValueId) {
        let mut b = Builder::new("quotient");
        let x = b.parameter("x", DType::F32, &[2, 3]).unwrap();
        let y = b.parameter("y", DType::F32, &[]).unwrap();
        let other = of(&mut b, y);
        let [left, right] = if is_divisor { [x, other] } else { [other, x] };
        let quotient = b.binary(Binary::Divide, left, right).unwrap();
        (b.finish(&[("q", quotient)]).unwrap(), quotient)
    }

    fn is_by_one((program, quotient): &(Program, ValueId)) -> bool {
        divides_by_one_number(program.entry(), &program.entry().instructions[*quotient])
    }

    /// A broadcast of one number, behind a move or conversion that leaves it one.
    fn moved(b: &mut Builder, number: ValueId, way: usize) -> ValueId {
        let splat = |b: &mut Builder, dims: &[usize]| b.splat(number, dims).unwrap();
        match way {
            0 => splat(b, &[2, 3]),
            1 => {
                let wide = splat(b, &[6]);
                b.reshape(wide, &[2, 3]).unwrap()
            }
            2 => {
                let turned = splat(b, &[3, 2]);
                b.op(Op::Transpose { permutation: vec![1, 0] }, &[turned]).unwrap()
            }
            3 => {
                let own = splat(b, &[2, 3]);
                b.op(Op::Copy, &[own]).unwrap()
            }
            _ => {
                let narrow = b.convert(number, DType::BF16).unwrap();
                let narrow = b.splat(narrow, &[2, 3]).unwrap();
                b.convert(narrow, DType::F32).unwrap()
            }
        }
    }

    #[test]
    fn one_number_is_seen_through_moves_and_conversions() {
        for way in 0..5 {
            assert!(is_by_one(&quotient(true, |b, y| moved(b, y, way))), "{way}");
            assert!(!is_by_one(&quotient(false, |b, y| moved(b, y, way))), "{way}: it is the dividend");
        }
        let mut b = Builder::new("scalars");
        let x = b.parameter("x", DType::F32, &[]).unwrap();
        let three = b.constant(DType::F32, 3.0).unwrap();
        let by = b.binary(Binary::Divide, x, three).unwrap();
        let of = b.binary(Binary::Divide, three, x).unwrap();
        let program = b.finish(&[("by", by), ("of", of)]).unwrap();
        let of_each = [by, of].map(|id| divides_by_one_number(program.entry(), &program.entry().instructions[id]));
        assert_eq!(of_each, [true, false], "a constant, and a parameter");
    }

    /// A quotient of compiled code is one because its compiler left it one.
    #[test]
    fn a_fusion_that_is_compiled_keeps_its_quotient() {
        let (mut program, id) = quotient(true, |b, y| moved(b, y, 0));
        let entry = program.entry;
        for (fusion, is_by_one) in [(Fusion::Compiled(0), false), (Fusion::Apart(0), true)] {
            let compiled = Compiled { fusion: Some(fusion), ..Compiled::default() };
            program.computations[entry].instructions[id].compiled = Some(compiled.into());
            let found = divides_by_one_number(program.entry(), &program.entry().instructions[id]);
            assert_eq!(found, is_by_one, "{fusion:?}");
        }
    }
}
