//! Arithmetic in f64, as a program itself asks for it.

use crate::tensor::DType;

use super::op::{Class, Op};
use super::program::{Computation, Double, Shape};

impl Double {
    /// The operation of this name, if it computes in f64: more than to move or pick numbers, and other than the conversions
    /// that lose nothing of what a pair of f32 holds, or of f32. Those are the same on a machine without f64 (FACTS 9.3).
    pub fn of(name: &str, op: &Op, operands: &[&Shape], result: &Shape) -> Option<Double> {
        let is_f64 = |shape: &Shape| shape.dtype() == Some(DType::F64);
        if !is_f64(result) && !operands.iter().any(|shape| is_f64(shape)) {
            return None;
        }
        let keeps = match op.class() {
            Class::Source => !matches!(op, Op::Iota { .. }),
            Class::Moves | Class::Lists | Class::Calls => true,
            Class::Converts => *op == Op::Convert && operands.iter().all(|from| is_kept(from, result)),
            Class::Elementwise => *op == Op::Select,
            Class::Combines | Class::Ranks => false,
        };
        (!keeps).then(|| Double { name: name.to_string(), opcode: op.opcode().to_string() })
    }

    /// The first of some computations.
    pub fn first_of<'c>(computations: impl IntoIterator<Item = &'c Computation>) -> Option<Double> {
        let of_one = |computation: &'c Computation| {
            computation.instructions.iter().find_map(|instruction| {
                let shapes: Vec<&Shape> =
                    instruction.operands.iter().map(|id| &computation.instructions[*id].shape).collect();
                Double::of(&instruction.name, &instruction.op, &shapes, &instruction.shape)
            })
        };
        computations.into_iter().find_map(of_one)
    }
}

/// Whether a conversion from or to f64 gives the same number by way of a pair of f32: to f32, which is the pair's leading
/// part, and from what 48 bits hold.
fn is_kept(from: &Shape, to: &Shape) -> bool {
    let (Some(from), Some(to)) = (from.dtype(), to.dtype()) else { return false };
    match (from, to) {
        (DType::F64, to) => matches!(to, DType::F32 | DType::F64),
        (from, _) => from.is_float() || from == DType::Pred || from.bits() <= 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binary, Builder, Program, ShapeError, Unary};

    fn first(build: impl FnOnce(&mut Builder) -> Result<usize, ShapeError>) -> Option<String> {
        let mut builder = Builder::new("p");
        let result = build(&mut builder).unwrap();
        let program: Program = builder.finish(&[("r", result)]).unwrap();
        program.double.map(|double| double.opcode)
    }

    #[test]
    fn arithmetic_in_f64_is_told_from_what_moves() {
        let moved = first(|b| {
            let x = b.parameter("x", DType::F64, &[2, 3])?;
            let turned = b.op(Op::Transpose { permutation: vec![1, 0] }, &[x])?;
            b.convert(turned, DType::F32)
        });
        assert_eq!(moved, None);
        for (from, to, kept) in [
            (DType::F64, DType::F32, true),
            (DType::F64, DType::BF16, false),
            (DType::F64, DType::S32, false),
            (DType::F64, DType::Pred, false),
            (DType::BF16, DType::F64, true),
            (DType::S32, DType::F64, true),
            (DType::Pred, DType::F64, true),
            (DType::S64, DType::F64, false),
            (DType::S64, DType::F32, true),
        ] {
            let found = first(|b| {
                let x = b.parameter("x", from, &[2])?;
                b.convert(x, to)
            });
            assert_eq!(found.is_none(), kept, "{from} to {to}: {found:?}");
        }
        let sum = |dtype: DType| {
            first(|b| {
                let x = b.parameter("x", dtype, &[2])?;
                b.reduce(Binary::Add, x, 0.0, &[0])
            })
        };
        assert_eq!(sum(DType::F64).as_deref(), Some("add"));
        assert_eq!(sum(DType::F32), None);
        let root = first(|b| {
            let x = b.parameter("x", DType::F64, &[2])?;
            b.unary(Unary::Sqrt, x)
        });
        assert_eq!(root.as_deref(), Some("sqrt"));
    }
}
