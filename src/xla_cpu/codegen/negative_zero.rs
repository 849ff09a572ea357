//! LLVM's knowledge of a value's sign.

use crate::ir::{Binary, Computation, Op, Unary, ValueId};

/// Whether LLVM proves that a value is not -0 (`computeKnownFPClass`), and therefore drops the addition of a zero.
pub fn is_no_negative_zero(computation: &Computation, id: ValueId) -> bool {
    let instruction = &computation.instructions[id];
    let operands = &instruction.operands;
    match &instruction.op {
        Op::Binary(Binary::Multiply) if operands[0] == operands[1] => true,
        Op::Binary(Binary::Multiply) => operands.iter().all(|operand| has_no_sign(computation, *operand)),
        // A sum is -0 only of two.
        Op::Binary(Binary::Add) => operands.iter().any(|operand| is_no_negative_zero(computation, *operand)),
        Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } => {
            is_no_negative_zero(computation, operands[0])
        }
        _ => has_no_sign(computation, id),
    }
}

/// Whether LLVM proves that a value's sign bit is clear.
fn has_no_sign(computation: &Computation, id: ValueId) -> bool {
    let instruction = &computation.instructions[id];
    let operands = &instruction.operands;
    match &instruction.op {
        Op::Constant(value) => value.data().to_f32s().iter().all(|v| v.is_sign_positive()),
        Op::Binary(Binary::Multiply) => {
            operands[0] == operands[1] || operands.iter().all(|operand| has_no_sign(computation, *operand))
        }
        Op::Unary(Unary::Abs | Unary::Exponential) => true,
        Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } => has_no_sign(computation, operands[0]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Program};
    use crate::tensor::DType;

    /// The results of one operation on two values: `x` of any sign, `size` of none and `square`, which is no -0.
    fn of(op: Op, operands: [&str; 2]) -> bool {
        let mut b = Builder::new("signs");
        let x = b.parameter("x", DType::F32, &[4]).unwrap();
        let y = b.parameter("y", DType::F32, &[4]).unwrap();
        let size = b.unary(Unary::Abs, x).unwrap();
        let square = b.binary(Binary::Multiply, y, y).unwrap();
        let operands = operands.map(|name| match name {
            "size" => size,
            "square" => square,
            "y" => y,
            _ => x,
        });
        let result = b.op(op, &operands).unwrap();
        let program: Program = b.finish(&[("r", result)]).unwrap();
        is_no_negative_zero(program.entry(), result)
    }

    #[test]
    fn a_sum_is_no_negative_zero_where_one_term_is_none_and_a_product_where_both_have_no_sign() {
        let [add, multiply, subtract] = [Binary::Add, Binary::Multiply, Binary::Subtract].map(Op::Binary);
        for (operands, sum, product) in [
            (["x", "y"], false, false),
            (["x", "x"], false, true),
            (["size", "x"], true, false),
            (["x", "size"], true, false),
            (["square", "x"], true, false),
            (["size", "square"], true, true),
        ] {
            assert_eq!([of(add.clone(), operands), of(multiply.clone(), operands)], [sum, product], "{operands:?}");
            assert!(!of(subtract.clone(), operands), "{operands:?}");
        }
    }
}
