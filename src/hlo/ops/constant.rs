//! Constants: literals as tensors.

use crate::ast::Literal;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{Op, Shape, ValueId};
use crate::num::Format;
use crate::tensor::{DType, Data, Tensor};

/// A constant of real numbers, or a tuple of such.
pub fn value(e: &mut Emitter, literal: &Literal) -> Result<Value, LowerError> {
    let claimed = e.claimed_shape()?;
    of_shape(e, literal, claimed)
}

fn of_shape(e: &mut Emitter, literal: &Literal, claimed: Shape) -> Result<Value, LowerError> {
    match (literal, claimed) {
        (Literal::Tuple(items), Shape::Tuple(shapes)) if items.len() == shapes.len() => {
            let parts = items.iter().zip(shapes).map(|(item, shape)| of_shape(e, item, shape));
            Ok(Value::Tuple(parts.collect::<Result<_, _>>()?))
        }
        (literal, claimed) => Ok(Value::Array(array(e, literal, claimed)?)),
    }
}

/// An array of real numbers, or of one part of complex ones.
pub fn lower(e: &mut Emitter, literal: &Literal) -> Result<ValueId, LowerError> {
    let claimed = e.claimed_shape()?;
    array(e, literal, claimed)
}

fn array(e: &mut Emitter, literal: &Literal, claimed: Shape) -> Result<ValueId, LowerError> {
    let Shape::Array { dtype, dims } = &claimed else { return Err(e.unknown("this constant tuple is not supported")) };
    let tensor = tensor(literal, *dtype, dims).map_err(|why| match why {
        LiteralError::Elided => e.unknown(why),
        why => e.fail(why),
    })?;
    e.emit(Op::Constant(tensor), vec![], Some(claimed))
}

/// Why a literal is no tensor of its shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    #[error("{written} elements are written where the shape has {count}")]
    Count { written: usize, count: usize },
    #[error(
        "the dump leaves the elements out as {{...}}: dump it with --xla_dump_large_constants, or print it with \
         print_large_constants"
    )]
    Elided,
    #[error("a constant tuple is not supported")]
    Tuple,
    #[error("`{0}` is no float")]
    NoFloat(String),
    #[error("the payload of `{text}` is from 1 to {most:#x} in {format}")]
    Payload { text: String, most: u64, format: &'static str },
    #[error("{format} has no such NaN as `{text}`")]
    NoSuchNan { text: String, format: &'static str },
    #[error("`{text}` is no {dtype}")]
    NoInteger { text: String, dtype: DType },
    #[error("a {0} cannot be written so")]
    Dtype(DType),
}

type Parsed<T> = std::result::Result<T, LiteralError>;

/// The tensor of a literal. An array must have as many elements as its shape says.
pub fn tensor(literal: &Literal, dtype: DType, dims: &[usize]) -> Parsed<Tensor> {
    let mut texts = Vec::new();
    flatten(literal, &mut texts)?;
    let count = dims.iter().product::<usize>();
    if texts.len() != count {
        return Err(LiteralError::Count { written: texts.len(), count });
    }
    let data = if let Some(format) = dtype.format() {
        let values = texts.iter().map(|text| float(text)).collect::<Parsed<Vec<f64>>>()?;
        let mut data = Data::from_f64s(dtype, &values);
        for (at, text) in texts.iter().enumerate().filter(|(at, _)| values[*at].is_nan()) {
            let code = nan(text, format)?;
            data = data.map(|data| data.with_code(at, code));
        }
        data
    } else {
        let values: Parsed<Vec<i64>> = texts.into_iter().map(|t| integer(t, dtype)).collect();
        Data::from_i64s(dtype, &values?)
    };
    data.map(|data| Tensor::new(dims, data)).ok_or(LiteralError::Dtype(dtype))
}

fn flatten<'a>(literal: &'a Literal, into: &mut Vec<&'a str>) -> Parsed<()> {
    match literal {
        Literal::Scalar(text) => into.push(text),
        Literal::Elided => return Err(LiteralError::Elided),
        Literal::List(parts) => parts.iter().try_for_each(|part| flatten(part, into))?,
        Literal::Tuple(_) => return Err(LiteralError::Tuple),
    }
    Ok(())
}

/// A float's text: the shortest decimal that reads back as the same value of its type. Of a NaN only that it is one.
fn float(text: &str) -> Parsed<f64> {
    if unsigned(text).starts_with("nan") {
        return Ok(f64::NAN);
    }
    text.parse().map_err(|_| LiteralError::NoFloat(text.to_string()))
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix('-').unwrap_or(text)
}

/// The bits of `nan`, `-nan` or `nan(0x400001)`: the payload is the whole fraction, and the quiet NaN's if it is absent.
fn nan(text: &str, format: &Format) -> Parsed<u64> {
    let quiet = format.encode(if text.starts_with('-') { -f64::NAN } else { f64::NAN });
    let is_nan = |code: u64| {
        let no_such_nan = || LiteralError::NoSuchNan { text: text.to_string(), format: format.name };
        Some(code).filter(|code| format.decode(*code).is_nan()).ok_or_else(no_such_nan)
    };
    let Some(digits) = unsigned(text).strip_prefix("nan(0x").and_then(|rest| rest.strip_suffix(')')) else {
        return is_nan(quiet);
    };
    let fraction = (1 << format.fraction_bits) - 1;
    let payload = u64::from_str_radix(digits, 16).ok().filter(|payload| *payload != 0 && payload & !fraction == 0);
    let wrong = || LiteralError::Payload { text: text.to_string(), most: fraction, format: format.name };
    let payload = payload.ok_or_else(wrong)?;
    // A format of which one fraction alone is NaN has no payloads.
    is_nan(quiet & !fraction | payload)
}

fn integer(text: &str, dtype: DType) -> Parsed<i64> {
    let wrong = || LiteralError::NoInteger { text: text.to_string(), dtype };
    if dtype == DType::Pred {
        return match text {
            "true" | "1" => Ok(1),
            "false" | "0" => Ok(0),
            _ => Err(wrong()),
        };
    }
    let value: i128 = text.parse().map_err(|_| wrong())?;
    let (low, high) = match (dtype.is_signed(), dtype.bits()) {
        (true, bits) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        (false, bits) => (0, (1i128 << bits) - 1),
    };
    // A u64 above i64::MAX is kept as the i64 of the same bits.
    if (low..=high).contains(&value) { Ok(value as i64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_that_a_type_has_not_are_refused() {
        let of = |text: &str, dtype: DType| tensor(&Literal::Scalar(text.to_string()), dtype, &[]);
        let why = |text: &str, dtype: DType| of(text, dtype).unwrap_err().to_string();
        assert_eq!(why("nan(0x800000)", DType::F32), "the payload of `nan(0x800000)` is from 1 to 0x7fffff in f32");
        assert_eq!(why("-nan(0x0)", DType::BF16), "the payload of `-nan(0x0)` is from 1 to 0x7f in bf16");
        assert!(why("nan(0x10000000000000000)", DType::F64).contains("0xfffffffffffff in f64"));
        assert_eq!(why("nan(0x6)", DType::F8E4M3FN), "f8e4m3fn has no such NaN as `nan(0x6)`");
        assert_eq!(why("nan", DType::F4E2M1FN), "f4e2m1fn has no such NaN as `nan`");
        assert_eq!(why("8", DType::S4), "`8` is no s4");
        assert_eq!(of("-nan", DType::F8E4M3FNUZ).unwrap().data().bits(0), 0x80);
        assert_eq!(of("5.3e+36", DType::F8E8M0FNU).unwrap().data().bits(0), 0xf9);
        assert_eq!(of("-nan(0x400001)", DType::F32).unwrap().data().bits(0), 0xffc0_0001);
    }
}
