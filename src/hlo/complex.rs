//! Complex numbers: their real and their imaginary parts, as arrays of their own.

use std::sync::Arc;

use crate::ir::{Binary, Compare, Instruction, LibraryFunction, Op, ValueId};

use super::ast::Literal;
use super::emit::Emitter;
use super::error::LowerError;
use super::lowered_value::Value;
use super::parameter_list::is_complex;
use super::{complex_function as function, complex_more as more, complex_row as row, operation};

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
    "reduce",
    "reduce-window",
    "reshape",
    "reverse",
    "select",
    "slice",
    "subtract",
    "transpose",
];

/// Whether an operation takes complex numbers or makes them.
pub(super) fn takes(e: &Emitter, operands: &[Value]) -> bool {
    let opcode = e.instruction.opcode.as_str();
    matches!(opcode, "complex" | "real" | "imag")
        || opcode == "convert" && is_complex(&e.instruction.shape)
        || operands.iter().any(|operand| matches!(operand, Value::Complex(_)))
}

/// A constant: its parts, of each element's text `(1, -2)`, or `1`.
fn constant(e: &mut Emitter, literal: &Literal) -> Result<Option<Value>> {
    if !is_complex(&e.instruction.shape) {
        return Ok(None);
    }
    let mut parts = [0; 2];
    for (side, part) in parts.iter_mut().enumerate() {
        let literal = part_of(literal, side);
        e.part = true;
        let constant = operation::constant(e, &literal);
        e.part = false;
        *part = constant?;
    }
    Ok(Some(Value::Complex(parts)))
}

/// A constant, of complex or of other numbers.
pub(super) fn any_constant(e: &mut Emitter, literal: &Literal) -> Result<Value> {
    match constant(e, literal)? {
        Some(complex) => Ok(complex),
        None => Ok(Value::Array(operation::constant(e, literal)?)),
    }
}

/// The literal of one part.
fn part_of(literal: &Literal, side: usize) -> Literal {
    match literal {
        Literal::Scalar(text) => {
            let pair =
                text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).and_then(|text| text.split_once(", "));
            let (real, imaginary) = pair.unwrap_or((text, "0"));
            Literal::Scalar(if side == 0 { real } else { imaginary }.to_string())
        }
        Literal::List(list) => Literal::List(list.iter().map(|literal| part_of(literal, side)).collect()),
        other => other.clone(),
    }
}

/// Lowers an operation on complex numbers.
#[expect(clippy::too_many_lines, reason = "one arm for each opcode")]
pub(super) fn lower(e: &mut Emitter, operands: Vec<Value>) -> Result<Value> {
    let opcode = e.instruction.opcode.as_str();
    match (opcode, &operands[..]) {
        ("complex", [Value::Array(re), Value::Array(im)]) => Ok(Value::Complex([*re, *im])),
        ("real", [Value::Complex([re, _])]) => Ok(Value::Array(*re)),
        ("imag", [Value::Complex([_, im])]) => Ok(Value::Array(*im)),
        ("real", [Value::Array(re)]) => Ok(Value::Array(*re)),
        // (a + bi) (c + di) = (ac - bd) + (bc + ad) i, in the order of XLA's emitters: the left product may go unrounded.
        ("multiply", [Value::Complex([a, b]), Value::Complex([c, d])]) => {
            let mut binary = |binary: Binary, x: ValueId, y: ValueId| e.emit(Op::Binary(binary), vec![x, y], None);
            let [ac, bd] = [binary(Binary::Multiply, *a, *c)?, binary(Binary::Multiply, *b, *d)?];
            let re = binary(Binary::Subtract, ac, bd)?;
            let [bc, ad] = [binary(Binary::Multiply, *b, *c)?, binary(Binary::Multiply, *a, *d)?];
            let im = binary(Binary::Add, bc, ad)?;
            for part in [re, im] {
                e.body.instructions[part].library = Some(Arc::new(LibraryFunction::ComplexProduct));
            }
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
                    Value::Array(id) => {
                        if let Instruction { op: Op::Reduce { .. }, library, .. } = &mut e.body.instructions[id] {
                            *library = Some(Arc::new(LibraryFunction::ComplexSum));
                        }
                        *part = id;
                    }
                    _ => return Err(e.unknown("several complex arrays at once are not supported")),
                }
            }
            Ok(Value::Complex(parts))
        }
        ("divide", [Value::Complex(x), Value::Complex(y)]) => Ok(Value::Complex(function::divide(e, *x, *y)?)),
        ("exponential", [Value::Complex(x)]) => Ok(Value::Complex(function::exponential(e, *x)?)),
        ("log", [Value::Complex(x)]) => Ok(Value::Complex(function::log(e, *x)?)),
        ("dot", [Value::Complex(x), Value::Complex(y)]) => {
            if let Some(parts) = row::product(e, *x, *y)? {
                return Ok(Value::Complex(parts));
            }
            let mut product = |x: ValueId, y: ValueId| {
                e.part = true;
                let product = e.over_arrays(&[Value::Array(x), Value::Array(y)]);
                e.part = false;
                match product? {
                    Value::Array(id) => {
                        if let Instruction { op: Op::Dot { .. }, library, .. } = &mut e.body.instructions[id] {
                            *library = Some(Arc::new(LibraryFunction::ComplexDot));
                        }
                        Ok(id)
                    }
                    _ => Err(e.fail("a dot gives one array")),
                }
            };
            let [ac, bd] = [product(x[0], y[0])?, product(x[1], y[1])?];
            let [ad, bc] = [product(x[0], y[1])?, product(x[1], y[0])?];
            let re = e.emit(Op::Binary(Binary::Subtract), vec![ac, bd], None)?;
            let im = e.emit(Op::Binary(Binary::Add), vec![ad, bc], None)?;
            Ok(Value::Complex([re, im]))
        }
        ("power", [Value::Complex(x), Value::Complex(y)]) => Ok(Value::Complex(more::power(e, *x, *y)?)),
        (_, [Value::Complex(x)]) if more::KNOWN.contains(&opcode) => Ok(Value::Complex(more::of_one(e, opcode, *x)?)),
        ("abs", [Value::Complex(x)]) => Ok(Value::Array(function::abs(e, *x)?)),
        ("compare", [Value::Complex(x), Value::Complex(y)]) => {
            let direction = e.attributes().word("direction").and_then(Compare::from_name);
            let direction = direction.ok_or_else(|| e.refuse("direction", "unknown direction"))?;
            Ok(Value::Array(function::equal(e, direction, *x, *y)?))
        }
        ("convert", [operand]) => {
            e.part = true;
            let claimed = e.claimed_shape();
            e.part = false;
            let dtype = claimed?.element_type();
            let parts = match operand {
                Value::Complex(parts) => parts.to_vec(),
                Value::Array(real) => vec![*real],
                _ => return Err(e.fail("an array is needed")),
            };
            Ok(Value::Complex(function::convert(e, &parts, dtype)?))
        }
        _ => {
            let why = format!(
                "{opcode} of these operands is not supported for complex numbers; beside arithmetic and moves there are {}, \
                 power, {}",
                function::KNOWN,
                more::KNOWN.join(", ")
            );
            Err(e.unknown(why))
        }
    }
}
