//! Literals as tensors.

use crate::tensor::{DType, Data, Tensor};

use super::ast::Literal;

/// The tensor that a literal stands for, or why it is none. An array's elements must be as many as its shape says.
pub(super) fn tensor(literal: &Literal, dtype: DType, dims: &[usize]) -> Result<Tensor, String> {
    let mut texts = Vec::new();
    flatten(literal, &mut texts)?;
    let count = dims.iter().product::<usize>();
    if texts.len() != count {
        return Err(format!("{} elements are written where the shape has {count}", texts.len()));
    }
    let data = if dtype.is_float() {
        let values: Result<Vec<f64>, String> = texts.into_iter().map(float).collect();
        Data::from_f64s(dtype, &values?)
    } else {
        let values: Result<Vec<i64>, String> = texts.into_iter().map(|t| integer(t, dtype)).collect();
        Data::from_i64s(dtype, &values?)
    };
    data.map(|data| Tensor::new(dims, data)).ok_or_else(|| format!("a {dtype} cannot be written so"))
}

fn flatten<'a>(literal: &'a Literal, into: &mut Vec<&'a str>) -> Result<(), String> {
    match literal {
        Literal::Scalar(text) => into.push(text),
        Literal::Elided => {
            return Err("the dump leaves the elements out as {...}: dump it with --xla_dump_large_constants, or \
                        print it with print_large_constants"
                .to_string());
        }
        Literal::List(parts) => parts.iter().try_for_each(|part| flatten(part, into))?,
        Literal::Tuple(_) => return Err("a constant tuple is not supported".to_string()),
    }
    Ok(())
}

/// A float's text: the shortest decimal that reads back as the same value of its type. A NaN's payload is dropped.
fn float(text: &str) -> Result<f64, String> {
    if text.trim_start_matches(['-', '+']).starts_with("nan") {
        return Ok(f64::NAN);
    }
    text.parse().map_err(|_| format!("`{text}` is no float"))
}

fn integer(text: &str, dtype: DType) -> Result<i64, String> {
    let wrong = || format!("`{text}` is no {dtype}");
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
