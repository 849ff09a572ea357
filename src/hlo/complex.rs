//! Complex numbers: their real and their imaginary parts, as arrays of their own.

use crate::ir::{Binary, Op, ValueId};

use super::emit::Emitter;
use super::error::LowerError;
use super::lower::Value;

type Result<T> = std::result::Result<T, LowerError>;

/// Operations that take real and imaginary parts apart: those that move elements, and what is linear in each part.
const APART: &[&str] = &[
    "add",
    "bitcast",
    "broadcast",
    "concatenate",
    "dynamic-slice",
    "dynamic-update-slice",
    "gather",
    "negate",
    "pad",
    "reshape",
    "reverse",
    "select",
    "slice",
    "subtract",
    "transpose",
];

/// Whether an operation takes complex numbers or makes them.
pub(super) fn takes(e: &Emitter, operands: &[Value]) -> bool {
    matches!(e.instruction.opcode.as_str(), "complex" | "real" | "imag")
        || operands.iter().any(|operand| matches!(operand, Value::Complex(_)))
}

/// What becomes of such an operation.
pub(super) fn lower(e: &mut Emitter, operands: Vec<Value>) -> Result<Value> {
    let opcode = e.instruction.opcode.as_str();
    match (opcode, &operands[..]) {
        ("complex", [Value::Array(re), Value::Array(im)]) => Ok(Value::Complex([*re, *im])),
        ("real", [Value::Complex([re, _])]) => Ok(Value::Array(*re)),
        ("imag", [Value::Complex([_, im])]) => Ok(Value::Array(*im)),
        ("real", [Value::Array(re)]) => Ok(Value::Array(*re)),
        // (a + bi) (c + di) = (ac - bd) + (ad + bc) i, as XLA's emitters write it.
        ("multiply", [Value::Complex([a, b]), Value::Complex([c, d])]) => {
            let mut binary = |binary: Binary, x: ValueId, y: ValueId| e.emit(Op::Binary(binary), vec![x, y], None);
            let [ac, bd] = [binary(Binary::Multiply, *a, *c)?, binary(Binary::Multiply, *b, *d)?];
            let re = binary(Binary::Subtract, ac, bd)?;
            let [ad, bc] = [binary(Binary::Multiply, *a, *d)?, binary(Binary::Multiply, *b, *c)?];
            let im = binary(Binary::Add, ad, bc)?;
            Ok(Value::Complex([re, im]))
        }
        _ if APART.contains(&opcode) => {
            let mut parts = [0; 2];
            for (side, part) in parts.iter_mut().enumerate() {
                let of_part = |operand: &Value| match operand {
                    Value::Complex(both) => Value::Array(both[side]),
                    other => other.clone(),
                };
                let operands: Vec<Value> = operands.iter().map(of_part).collect();
                e.part = true;
                let lowered = e.over_arrays(&operands);
                e.part = false;
                match lowered? {
                    Value::Array(id) => *part = id,
                    _ => return Err(e.fail("several complex arrays at once are not supported")),
                }
            }
            Ok(Value::Complex(parts))
        }
        _ => Err(e.fail(format!("{opcode} of these operands is not supported for complex numbers"))),
    }
}
