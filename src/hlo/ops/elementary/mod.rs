//! Inverse trigonometric and hyperbolic functions of floats, as the formulas that StableHLO's decomposition of CHLO makes of them.
//!
//! Source: openxla/stablehlo `ChloDecompositionPatternsMath.td`; jax 0.12.0.1 makes the same instructions of `acos` and its like for
//! every target before it compiles (FACTS 7.7). What a compiler makes of the opcodes themselves, which no JAX program holds, is not
//! published. Over the real numbers each is the function: a constant of a formula is the number that it stands for.

mod hyperbolic;

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, unary};
use crate::builder::fill::number;
use crate::error::LowerError;
use crate::ir::{Binary, Unary, ValueId};
use crate::opcode::Elementary;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers a function of an array of floats, of its shape and type.
///
/// # Errors
/// Of another number of operands, and of an array that holds no floats.
pub fn lower(e: &mut Emitter, function: Elementary, operands: &[ValueId]) -> Result<ValueId> {
    let [x] = *operands else {
        return Err(e.fail(format!("one operand is needed, {} are given", operands.len())));
    };
    let dtype = e.shape(x).element_type();
    if !dtype.is_float() {
        return Err(e.fail(format!("{} of {dtype} is not supported: it is a function of floats", function.name())));
    }
    match function {
        Elementary::Acos => {
            let root = other_leg(e, x)?;
            binary(e, Binary::Atan2, root, x)
        }
        Elementary::Asin => {
            let root = other_leg(e, x)?;
            binary(e, Binary::Atan2, x, root)
        }
        Elementary::Atan => {
            let one = number(e, x, 1.0)?;
            binary(e, Binary::Atan2, x, one)
        }
        Elementary::Acosh => hyperbolic::acosh(e, x),
        Elementary::Asinh => hyperbolic::asinh(e, x),
        Elementary::Atanh => hyperbolic::atanh(e, x),
        Elementary::Cosh => hyperbolic::in_f32(e, x, hyperbolic::cosh),
        Elementary::Sinh => hyperbolic::in_f32(e, x, hyperbolic::sinh),
    }
}

/// `sqrt((1 - x) (x + 1))`: the other leg of a right triangle with a leg of `x` and a hypotenuse of 1.
fn other_leg(e: &mut Emitter, x: ValueId) -> Result<ValueId> {
    let one = number(e, x, 1.0)?;
    let (below, above) = (binary(e, Binary::Subtract, one, x)?, binary(e, Binary::Add, x, one)?);
    let square = binary(e, Binary::Multiply, below, above)?;
    unary(e, Unary::Sqrt, square)
}
