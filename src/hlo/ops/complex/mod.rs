//! Complex numbers: their real and their imaginary parts, as arrays of their own.
//!
//! `complex_function` and the tangents have the compiler's formulas (FACTS 3.6). The other functions are ours, a modelling choice: the
//! compiler's differ in last bits, and more where theirs lose a small part. Infinities, NaN and zeros go as C17 annex G says.

mod complex_function;
mod complex_region;
mod complex_row;
mod exponential;
mod parts;
mod reinterpretation;
mod root;
mod special;
mod trigonometric;
mod truth;

use std::sync::Arc;

use crate::ast::Literal;
use crate::builder::fill::number;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Binary, Compare, CompareOrder, Instruction, LibraryFunction, Op, Shape, Unary, ValueId};
use crate::opcode::{
    ComplexPart, Elementwise, Indexed, Movement, Opcode, Product, Ranking, Reduction, Reinterpretation,
};
use crate::tensor::DType;

use super::constant;
use complex_function as function;
use parts::Parts;

type Result<T> = std::result::Result<T, LowerError>;

/// The functions of one number that are known beside those of `complex_function`.
const KNOWN: [Unary; 10] = [
    Unary::Cosine,
    Unary::ExponentialMinusOne,
    Unary::LogPlusOne,
    Unary::Logistic,
    Unary::Rsqrt,
    Unary::Sign,
    Unary::Sine,
    Unary::Sqrt,
    Unary::Tan,
    Unary::Tanh,
];

/// Whether an operation takes complex numbers or makes them.
pub fn takes(e: &Emitter, operands: &[Value]) -> bool {
    let makes = match &e.instruction.opcode {
        Opcode::ComplexPart(_) => true,
        Opcode::Elementwise(Elementwise::Convert)
        | Opcode::Movement(Movement::Iota)
        | Opcode::Reinterpretation(Reinterpretation::BitcastConvert) => e.instruction.shape.is_complex(),
        _ => false,
    };
    makes || operands.iter().any(|operand| matches!(operand, Value::Complex(_)))
}

/// A constant of complex numbers: its parts, of each element's text `(1, -2)`, or `1`; `None` for one of other numbers.
pub fn constant(e: &mut Emitter, literal: &Literal) -> Result<Option<Value>> {
    if !e.instruction.shape.is_complex() {
        return Ok(None);
    }
    let mut parts = [0; 2];
    for (side, part) in parts.iter_mut().enumerate() {
        *part = constant::lower(&mut e.of_one_part(), &part_of(literal, side))?;
    }
    Ok(Some(Value::Complex(parts)))
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
pub fn lower(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    match &e.instruction.opcode {
        Opcode::Binary(binary) => of_two(e, *binary, operands),
        Opcode::ComplexPart(part) => part_or_whole(e, *part, operands),
        Opcode::Elementwise(Elementwise::Compare) => match operands[..] {
            [Value::Complex(x), Value::Complex(y)] => compare(e, x, y),
            _ => Err(unsupported(e)),
        },
        Opcode::Elementwise(Elementwise::Convert) => match operands {
            [operand] => convert(e, operand),
            _ => Err(unsupported(e)),
        },
        Opcode::Product(Product::Dot) => match operands[..] {
            [Value::Complex(x), Value::Complex(y)] => dot(e, x, y),
            _ => Err(unsupported(e)),
        },
        Opcode::Product(Product::Convolution) => match operands[..] {
            [Value::Complex(x), Value::Complex(y)] => products_of_parts(e, x, y),
            _ => Err(unsupported(e)),
        },
        Opcode::Ranking(Ranking::Sort) => complex_region::sort(e, operands),
        Opcode::Reduction(Reduction::Reduce) if !e.is_sum("to_apply")? || operands.len() > 2 => {
            complex_region::reduce(e, operands)
        }
        Opcode::Reinterpretation(Reinterpretation::BitcastConvert) => reinterpretation::convert(e, operands),
        Opcode::Unary(unary) => of_one(e, *unary, operands),
        Opcode::Movement(Movement::Iota) => counts(e),
        // What moves elements, and what is linear in each part.
        Opcode::Elementwise(Elementwise::Select)
        | Opcode::Indexed(Indexed::DynamicSlice | Indexed::DynamicUpdateSlice | Indexed::Gather)
        | Opcode::Movement(
            Movement::Broadcast
            | Movement::Concatenate
            | Movement::Pad
            | Movement::Reshape
            | Movement::Reverse
            | Movement::Slice
            | Movement::Transpose,
        )
        | Opcode::Reduction(Reduction::Reduce | Reduction::ReduceWindow)
        | Opcode::Reinterpretation(Reinterpretation::Bitcast) => by_parts(e, operands),
        Opcode::Asynchronous(_)
        | Opcode::BatchNorm(_)
        | Opcode::Collective(_)
        | Opcode::CollectiveDone(_)
        | Opcode::Control(_)
        | Opcode::Decomposition(_)
        | Opcode::DeviceNumber(_)
        | Opcode::Elementary(_)
        | Opcode::Elementwise(Elementwise::Clamp | Elementwise::ReducePrecision | Elementwise::StochasticConvert)
        | Opcode::Identity(_)
        | Opcode::Indexed(Indexed::Scatter)
        | Opcode::Movement(Movement::GetDimensionSize | Movement::SetDimensionSize)
        | Opcode::Other(_)
        | Opcode::Outside(_)
        | Opcode::Product(Product::RaggedDot | Product::ScaledDot)
        | Opcode::Ranking(Ranking::TopK)
        | Opcode::Reduction(Reduction::SelectAndScatter)
        | Opcode::Single(_)
        | Opcode::Token(_)
        | Opcode::Tuples(_) => Err(unsupported(e)),
    }
}

/// The error of an operation that is not lowered for complex numbers.
fn unsupported(e: &Emitter) -> LowerError {
    e.unknown(format!(
        "{} of these operands is not supported for complex numbers; beside arithmetic and moves there are {}, power, {}",
        e.instruction.opcode,
        function::KNOWN,
        KNOWN.map(Unary::name).join(", ")
    ))
}

/// A complex number of its parts, or a part of one.
fn part_or_whole(e: &mut Emitter, part: ComplexPart, operands: &[Value]) -> Result<Value> {
    match (part, operands) {
        (ComplexPart::Complex, [Value::Array(re), Value::Array(im)]) => Ok(Value::Complex([*re, *im])),
        (ComplexPart::Imag, [Value::Complex([_, im])]) => Ok(Value::Array(*im)),
        (ComplexPart::Imag, [Value::Array(re)]) => Ok(Value::Array(number(e, *re, 0.0)?)),
        (ComplexPart::Real, [Value::Complex([re, _]) | Value::Array(re)]) => Ok(Value::Array(*re)),
        (ComplexPart::Complex | ComplexPart::Imag | ComplexPart::Real, _) => Err(unsupported(e)),
    }
}

/// A function of one complex number.
fn of_one(e: &mut Emitter, unary: Unary, operands: &[Value]) -> Result<Value> {
    let z = match operands {
        [Value::Complex(z)] => *z,
        _ if unary == Unary::Negate => return by_parts(e, operands),
        _ => return Err(unsupported(e)),
    };
    let parts = match unary {
        Unary::Abs => {
            let size = function::abs(e, z)?;
            mark_whole(e, &[size]);
            return Ok(Value::Array(size));
        }
        Unary::Negate => return by_parts(e, operands),
        Unary::Cosine => trigonometric::cosine(e, z)?,
        Unary::Exponential => function::exponential(e, z)?,
        Unary::ExponentialMinusOne => exponential::exponential_minus_one(e, z)?,
        Unary::Log => function::log(e, z)?,
        Unary::LogPlusOne => exponential::log_plus_one(e, z)?,
        Unary::Logistic => exponential::logistic(e, z)?,
        Unary::Rsqrt => root::rsqrt(e, z)?,
        Unary::Sign => root::sign(e, z)?,
        Unary::Sine => trigonometric::sine(e, z)?,
        Unary::Sqrt => root::sqrt(e, z)?,
        Unary::Tan => trigonometric::tan(e, z)?,
        Unary::Tanh => trigonometric::tanh(e, z)?,
        Unary::Cbrt
        | Unary::Ceil
        | Unary::CountLeadingZeros
        | Unary::Erf
        | Unary::Floor
        | Unary::IsFinite
        | Unary::Not
        | Unary::PopulationCount
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven => return Err(unsupported(e)),
    };
    mark_whole(e, &parts);
    Ok(Value::Complex(parts))
}

/// Marks the parts of what a quotient or a function gives, which compilers rewrite as wholes.
fn mark_whole(e: &mut Emitter, parts: &[ValueId]) {
    for part in parts {
        e.body.instructions[*part].record(|compiled| compiled.of_complex_function = true);
    }
}

/// A function of two complex numbers.
fn of_two(e: &mut Emitter, binary: Binary, operands: &[Value]) -> Result<Value> {
    match (binary, operands) {
        (Binary::Add | Binary::Subtract, _) => by_parts(e, operands),
        (Binary::Multiply, [Value::Complex(x), Value::Complex(y)]) => product(e, *x, *y),
        (Binary::Divide | Binary::Power, [Value::Complex(x), Value::Complex(y)]) => {
            let parts = match binary {
                Binary::Divide => function::divide(e, *x, *y)?,
                _ => exponential::power(e, *x, *y)?,
            };
            mark_whole(e, &parts);
            Ok(Value::Complex(parts))
        }
        (Binary::Maximum, [Value::Complex(x), Value::Complex(y)]) => first_in_order(e, Compare::Gt, *x, *y),
        (Binary::Minimum, [Value::Complex(x), Value::Complex(y)]) => first_in_order(e, Compare::Lt, *x, *y),
        _ => Err(unsupported(e)),
    }
}

/// The number whose real part is first in an order, or whose imaginary part is where the real parts are equal; `y` if none is.
/// Source: openxla/stablehlo, `reference/Element.cpp` (`max`, `min`).
fn first_in_order(e: &mut Emitter, direction: Compare, x: Parts, y: Parts) -> Result<Value> {
    let truth = Shape::array(DType::Pred, e.shape(x[0]).dims());
    let mut compare = |direction: Compare, a: ValueId, b: ValueId| {
        let op = Op::Compare { direction, order: CompareOrder::Partial };
        e.emit(op, vec![a, b], Some(truth.clone()))
    };
    let (re, im) = (compare(direction, x[0], y[0])?, compare(direction, x[1], y[1])?);
    let equal = compare(Compare::Eq, x[0], y[0])?;
    let is_first = e.emit(Op::Select, vec![equal, im, re], None)?;
    let mut part = |a: ValueId, b: ValueId| e.emit(Op::Select, vec![is_first, a, b], None);
    Ok(Value::Complex([part(x[0], y[0])?, part(x[1], y[1])?]))
}

/// Counts along a dim, as complex numbers.
fn counts(e: &mut Emitter) -> Result<Value> {
    let Value::Array(re) = e.of_one_part().over_arrays(&[])? else { return Err(e.fail("an iota gives one array")) };
    let im = number(e, re, 0.0)?;
    Ok(Value::Complex([re, im]))
}

/// `(a + bi) (c + di) = (ac - bd) + (bc + ad) i`, in the order of XLA's emitters: the left product may go unrounded.
fn product(e: &mut Emitter, [a, b]: Parts, [c, d]: Parts) -> Result<Value> {
    let mut binary = |binary: Binary, x: ValueId, y: ValueId| e.emit(Op::Binary(binary), vec![x, y], None);
    let [ac, bd] = [binary(Binary::Multiply, a, c)?, binary(Binary::Multiply, b, d)?];
    let re = binary(Binary::Subtract, ac, bd)?;
    let [bc, ad] = [binary(Binary::Multiply, b, c)?, binary(Binary::Multiply, a, d)?];
    let im = binary(Binary::Add, bc, ad)?;
    for part in [re, im] {
        e.body.instructions[part].record(|compiled| compiled.library = Some(Arc::new(LibraryFunction::ComplexProduct)));
    }
    Ok(Value::Complex([re, im]))
}

/// The real and the imaginary part, each by the operation over arrays.
fn by_parts(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let mut parts = [0; 2];
    for (side, part) in parts.iter_mut().enumerate() {
        let of_part = |operand: &Value| match operand {
            Value::Complex(both) => Value::Array(both[side]),
            other => other.clone(),
        };
        let operands: Vec<Value> = operands.iter().map(of_part).collect();
        match e.of_one_part().over_arrays(&operands)? {
            Value::Array(id) => {
                if let sum @ Instruction { op: Op::Reduce { .. }, .. } = &mut e.body.instructions[id] {
                    sum.record(|compiled| compiled.library = Some(Arc::new(LibraryFunction::ComplexSum)));
                }
                *part = id;
            }
            _ => return Err(e.unknown("several complex arrays at once are not supported")),
        }
    }
    Ok(Value::Complex(parts))
}

/// A dot of complex numbers: of one row in a loop, else four dots of parts.
fn dot(e: &mut Emitter, x: Parts, y: Parts) -> Result<Value> {
    if let Some(parts) = complex_row::product(e, x, y)? {
        return Ok(Value::Complex(parts));
    }
    products_of_parts(e, x, y)
}

/// A dot or convolution as four of parts.
fn products_of_parts(e: &mut Emitter, x: Parts, y: Parts) -> Result<Value> {
    let mut product = |x: ValueId, y: ValueId| match e.of_one_part().over_arrays(&[Value::Array(x), Value::Array(y)])? {
        Value::Array(id) => {
            if let dot @ Instruction { op: Op::Dot { .. }, .. } = &mut e.body.instructions[id] {
                dot.record(|compiled| compiled.library = Some(Arc::new(LibraryFunction::ComplexDot)));
            }
            Ok(id)
        }
        _ => Err(e.fail("a product gives one array")),
    };
    let [ac, bd] = [product(x[0], y[0])?, product(x[1], y[1])?];
    let [ad, bc] = [product(x[0], y[1])?, product(x[1], y[0])?];
    let re = e.emit(Op::Binary(Binary::Subtract), vec![ac, bd], None)?;
    let im = e.emit(Op::Binary(Binary::Add), vec![ad, bc], None)?;
    Ok(Value::Complex([re, im]))
}

fn compare(e: &mut Emitter, x: Parts, y: Parts) -> Result<Value> {
    let direction = e.attributes().word("direction").and_then(Compare::from_name);
    let direction = direction.ok_or_else(|| e.refuse("direction", "unknown direction"))?;
    Ok(Value::Array(function::equal(e, direction, x, y)?))
}

/// The parts in another type, or a real number as a complex one.
fn convert(e: &mut Emitter, operand: &Value) -> Result<Value> {
    let dtype = e.of_one_part().claimed_shape()?.element_type();
    let parts = match operand {
        Value::Complex(parts) => parts.to_vec(),
        Value::Array(real) => vec![*real],
        _ => return Err(e.fail("an array is needed")),
    };
    Ok(Value::Complex(function::convert(e, &parts, dtype)?))
}
