//! Values of constants.

use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::take_while;

use crate::ast::{Element, Literal, Shape};

use super::error::Fault;
use super::lex::{Input, accept, brackets, level, offset, peek, rest, space, symbol};

const SCALAR: &str = "a number, true, false, inf or nan";

/// A literal of this shape behind any space, inside `depth` brackets. Whether lists have the shape's lengths is not
/// asked here.
pub(super) fn literal(input: &mut Input, shape: &Shape, depth: usize) -> Result<Literal, Fault> {
    match shape {
        Shape::Tuple(shapes) => tuple(input, shapes, depth),
        Shape::Array { element, .. } => {
            let complex = matches!(element, Element::Other(name) if name == "c64" || name == "c128");
            array(input, complex, depth)
        }
    }
}

/// `( 1, {2, 3} )`: a literal for each shape.
fn tuple(input: &mut Input, shapes: &[Shape], depth: usize) -> Result<Literal, Fault> {
    space(input)?;
    let at = offset(input);
    let depth = level(depth, at)?;
    symbol("(", "\"(\" of a tuple's value").parse_next(input)?;
    let mut items = Vec::with_capacity(shapes.len());
    for (position, shape) in shapes.iter().enumerate() {
        if position > 0 {
            symbol(",", "\",\" and the value of the tuple's next element").parse_next(input)?;
        }
        items.push(literal(input, shape, depth)?);
    }
    symbol(")", "\")\" after the value of the tuple's last element").parse_next(input)?;
    Ok(Literal::Tuple(items))
}

/// A scalar, `{...}`, or a list of these at any level.
fn array(input: &mut Input, complex: bool, depth: usize) -> Result<Literal, Fault> {
    space(input)?;
    if peek(input) != b'{' {
        return if complex { pair(input) } else { Ok(Literal::Scalar(scalar(input)?.to_string())) };
    }
    let depth = level(depth, offset(input))?;
    input.next_slice(1);
    space(input)?;
    if rest(input).starts_with("...") {
        input.next_slice(3);
        symbol("}", "\"}\" after \"...\"").parse_next(input)?;
        return Ok(Literal::Elided);
    }
    let mut items = Vec::new();
    if accept(input, b'}')? {
        return Ok(Literal::List(items));
    }
    loop {
        items.push(array(input, complex, depth)?);
        if accept(input, b'}')? {
            return Ok(Literal::List(items));
        }
        symbol(",", "\",\" or \"}\" in a list of values").parse_next(input)?;
    }
}

/// `(1, -2)`, a complex number; a real one may stand without its imaginary part.
fn pair(input: &mut Input) -> Result<Literal, Fault> {
    if !accept(input, b'(')? {
        return Ok(Literal::Scalar(scalar(input)?.to_string()));
    }
    let real = scalar(input)?;
    symbol(",", "\",\" and an imaginary part").parse_next(input)?;
    let imaginary = scalar(input)?;
    symbol(")", "\")\" after an imaginary part").parse_next(input)?;
    Ok(Literal::Scalar(format!("({real}, {imaginary})")))
}

/// One number as it stands, behind any space.
fn scalar<'a>(input: &mut Input<'a>) -> Result<&'a str, Fault> {
    space(input)?;
    let (start, fault) = (rest(input), Fault::expect(input, SCALAR));
    let text: &str =
        take_while(0.., |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-')).parse_next(input)?;
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    match unsigned {
        "true" | "false" | "inf" => Ok(text),
        "nan" if peek(input) == b'(' => {
            let at = offset(input);
            let payload = brackets(input)?;
            let digits = payload.strip_prefix("(0x").and_then(|rest| rest.strip_suffix(')'));
            if !digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit())) {
                return Err(Fault::rule(at, "expected the payload of a nan, such as (0x400001)"));
            }
            Ok(&start[..text.len() + payload.len()])
        }
        "nan" => Ok(text),
        _ if is_number(unsigned) => Ok(text),
        _ => Err(fault),
    }
}

/// `1`, `1.5`, `.5`, `1e-06`; no sign.
fn is_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let exponent = bytes.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, exponent) = match exponent {
        None => (bytes, None),
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
    };
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let points = mantissa.iter().filter(|b| **b == b'.').count();
    let mantissa_is =
        mantissa.iter().all(|b| b.is_ascii_digit() || *b == b'.') && points <= 1 && mantissa.len() > points;
    mantissa_is && exponent.is_none_or(|e| digits(e.strip_prefix(b"-").or(e.strip_prefix(b"+")).unwrap_or(e)))
}
