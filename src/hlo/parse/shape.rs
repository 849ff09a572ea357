//! Shapes and layouts.

use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::take_while;

use crate::hlo::ast::{Element, Layout, Shape};
use crate::tensor::DType;

use super::error::Fault;
use super::lex::{Input, accept, brackets, level, number, offset, peek, rest, space, symbol};

/// Element types of HLO that [`DType`] has not. Source: openxla `primitive_util`.
const OTHER: [&str; 4] = ["c64", "c128", "token", "opaque"];

const ARRAY: &str = "a shape such as f32[2,3] or (f32[2], s32[])";

/// A shape behind any space, with its layout, inside `depth` tuples.
pub(super) fn shape(input: &mut Input, depth: usize) -> Result<Shape, Fault> {
    space(input)?;
    if peek(input) == b'(' { tuple(input, depth) } else { array(input) }
}

/// `(f32[2], s32[])`, whose bracket comes next.
fn tuple(input: &mut Input, depth: usize) -> Result<Shape, Fault> {
    let depth = level(depth, offset(input))?;
    symbol("(", "\"(\" of a tuple's shape").parse_next(input)?;
    let mut shapes = Vec::new();
    if accept(input, b')')? {
        return Ok(Shape::Tuple(shapes));
    }
    loop {
        shapes.push(shape(input, depth)?);
        if accept(input, b')')? {
            return Ok(Shape::Tuple(shapes));
        }
        symbol(",", "\",\" or \")\" in the shape of a tuple").parse_next(input)?;
    }
}

/// `f32[2,3]{1,0}`, which comes next.
fn array(input: &mut Input) -> Result<Shape, Fault> {
    let at = offset(input);
    let name: &str = take_while(1.., |c: char| c.is_ascii_alphanumeric()).context(ARRAY).parse_next(input)?;
    space(input)?;
    if peek(input) != b'[' {
        return Err(Fault::rule(at, format!("expected {ARRAY}, found {name:?} without dimensions")));
    }
    let element = match DType::from_name(name) {
        Some(dtype) => Element::Known(dtype),
        None if OTHER.contains(&name) => Element::Other(name.to_string()),
        None => return Err(Fault::rule(at, format!("HLO has no element type {name:?}"))),
    };
    symbol("[", "\"[\" after the element type").parse_next(input)?;
    let mut dims = Vec::new();
    if !accept(input, b']')? {
        loop {
            dims.push(dim(input)?);
            if accept(input, b']')? {
                break;
            }
            symbol(",", "\",\" or \"]\" after a dimension").parse_next(input)?;
        }
    }
    Ok(Shape::Array { element, dims, layout: layout(input)? })
}

fn dim(input: &mut Input) -> Result<u64, Fault> {
    space(input)?;
    if matches!(peek(input), b'<' | b'?') {
        return Err(Fault::rule(offset(input), "this dimension is dynamic, and only static ones are supported"));
    }
    number(input, "a dimension")
}

/// A layout, where one comes next: a brace behind a shape may also begin a computation's body.
fn layout(input: &mut Input) -> Result<Option<Layout>, Fault> {
    let start = input.checkpoint();
    if !accept(input, b'{')? {
        return Ok(None);
    }
    if !matches!(next(input)?, b'0'..=b'9' | b':' | b'}') {
        input.reset(&start);
        return Ok(None);
    }
    let mut layout = Layout::default();
    if !matches!(next(input)?, b':' | b'}') {
        loop {
            layout.minor_to_major.push(number(input, "a dimension's number in a layout")?);
            if matches!(next(input)?, b':' | b'}') {
                break;
            }
            symbol(",", "\",\", \":\" or \"}\" in a layout").parse_next(input)?;
        }
    }
    if accept(input, b':')? {
        while next(input)? != b'}' {
            part(input, &mut layout)?;
        }
    }
    symbol("}", "\"}\" at the end of a layout").parse_next(input)?;
    Ok(Some(layout))
}

/// The next byte behind any space.
fn next(input: &mut Input) -> Result<u8, Fault> {
    space(input)?;
    Ok(peek(input))
}

/// `T(8,128)(2,1)`, `S(1)`, `#(u32)`: one of the things behind a layout's colon.
fn part(input: &mut Input, layout: &mut Layout) -> Result<(), Fault> {
    let start = rest(input);
    let key: &str = take_while(1.., |c: char| c.is_ascii_alphabetic() || matches!(c, '#' | '*'))
        .context("a part of a layout such as T(8,128) or S(1)")
        .parse_next(input)?;
    if peek(input) != b'(' {
        return Err(Fault::expect(input, "\"(\" after the letter of a layout's part"));
    }
    let mut tiles = Some(Vec::new());
    while peek(input) == b'(' {
        let group = brackets(input)?;
        tiles = tiles.and_then(|mut tiles| {
            tiles.push(tile(group)?);
            Some(tiles)
        });
    }
    match tiles {
        Some(tiles) if key == "T" && layout.tiles.is_empty() => layout.tiles = tiles,
        // As it stands: it bears on no value.
        _ => layout.rest.push_str(&start[..start.len() - rest(input).len()]),
    }
    Ok(())
}

/// `(8,128)`; `None` where a size is no number: `(*,128)`.
fn tile(group: &str) -> Option<Vec<u64>> {
    let inside = group.strip_prefix('(')?.strip_suffix(')')?;
    if inside.trim_ascii().is_empty() {
        return Some(Vec::new());
    }
    inside.split(',').map(|size| size.trim_ascii().parse().ok()).collect()
}
