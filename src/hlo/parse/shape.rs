//! Shapes and layouts.

use std::collections::HashSet;

use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::take_while;

use crate::ast::{Element, Layout, Shape};
use crate::name::quantity;
use crate::tensor::DType;

use super::error::{Fault, quote};
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
    if name == "b" && peek(input) == b'(' {
        return Err(Fault::rule(
            at,
            "b(...) is a buffer, memory that calls write, and only arrays and tuples are supported",
        ));
    }
    if peek(input) != b'[' {
        return Err(Fault::rule(at, format!("expected {ARRAY}, found {} without dimensions", quote(name))));
    }
    let element = match DType::from_name(name) {
        Some(dtype) => Element::Known(dtype),
        None if OTHER.contains(&name) => Element::Other(name.to_string()),
        None => return Err(Fault::rule(at, format!("HLO has no element type {}", quote(name)))),
    };
    symbol("[", "\"[\" after the element type").parse_next(input)?;
    let mut dims = Vec::new();
    if !accept(input, b']')? {
        loop {
            dims.push(dim(input, dims.len())?);
            if accept(input, b']')? {
                break;
            }
            symbol(",", "\",\" or \"]\" after a dimension").parse_next(input)?;
        }
    }
    let layout = layout(input, dims.len())?;
    Ok(Shape::Array { element, dims, layout })
}

/// `{(f32[2]{0}, s32[])->f32[2]{0}}`, which comes next: the shapes of the arguments and of the result, as it stands.
pub(super) fn entry_layout<'a>(input: &mut Input<'a>) -> Result<&'a str, Fault> {
    let start = input.checkpoint();
    let whole = brackets(input)?;
    input.reset(&start);
    symbol("{", "\"{\" of the entry's layout").parse_next(input)?;
    tuple(input, 0)?;
    symbol("->", "\"->\" and the shape of the result").parse_next(input)?;
    shape(input, 0)?;
    symbol("}", "\"}\" at the end of the entry's layout").parse_next(input)?;
    Ok(whole)
}

/// The extent of the dimension of this number.
fn dim(input: &mut Input, number_of: usize) -> Result<u64, Fault> {
    space(input)?;
    if matches!(peek(input), b'<' | b'?') {
        let written: String =
            rest(input).chars().take_while(|c| matches!(c, '<' | '=' | '?') || c.is_ascii_digit()).collect();
        let why = format!(
            "dimension {number_of} is dynamic ({}), and only static ones are supported: give the program for one size",
            quote(&written)
        );
        return Err(Fault::rule(offset(input), why));
    }
    number(input, "a dimension")
}

/// The layout of an array of so many dimensions, where one comes next: a brace behind a shape may also begin a computation's
/// body. Source of what a layout may be: openxla `LayoutUtil::ValidateLayoutForShape`.
fn layout(input: &mut Input, rank: usize) -> Result<Option<Layout>, Fault> {
    let start = input.checkpoint();
    if !accept(input, b'{')? {
        return Ok(None);
    }
    let at = offset(input);
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
    check_order(&layout.minor_to_major, rank).map_err(|why| Fault::rule(at, why))?;
    if accept(input, b':')? {
        let mut keys = HashSet::new();
        while next(input)? != b'}' {
            part(input, &mut layout, &mut keys)?;
        }
    }
    symbol("}", "\"}\" at the end of a layout").parse_next(input)?;
    Ok(Some(layout))
}

/// That a layout's order, where it has one, names each dimension of an array once.
fn check_order(minor_to_major: &[u64], rank: usize) -> Result<(), String> {
    if minor_to_major.is_empty() {
        return Ok(());
    }
    let (dims, layout) = (quantity(rank, "dimension"), quantity(minor_to_major.len(), "dimension"));
    if minor_to_major.len() != rank {
        return Err(format!("this layout orders {layout}, and the array has {dims}"));
    }
    let mut is_ordered = vec![false; rank];
    for dim in minor_to_major {
        let known = usize::try_from(*dim).ok().and_then(|dim| is_ordered.get_mut(dim));
        match known {
            None => return Err(format!("this layout orders dimension {dim}, and the array has {dims}, from 0")),
            Some(true) => return Err(format!("this layout orders dimension {dim} twice")),
            Some(is_ordered) => *is_ordered = true,
        }
    }
    Ok(())
}

/// The next byte behind any space.
fn next(input: &mut Input) -> Result<u8, Fault> {
    space(input)?;
    Ok(peek(input))
}

/// `T(8,128)(2,1)`, `S(1)`, `#(u32)`: one of the things behind a layout's colon. `keys` are those that stand before it.
fn part<'a>(input: &mut Input<'a>, layout: &mut Layout, keys: &mut HashSet<&'a str>) -> Result<(), Fault> {
    let (start, at) = (rest(input), offset(input));
    let key: &str = take_while(1.., |c: char| c.is_ascii_alphabetic() || matches!(c, '#' | '*'))
        .context("a part of a layout such as T(8,128) or S(1)")
        .parse_next(input)?;
    if !keys.insert(key) {
        return Err(Fault::rule(at, format!("the part {} of this layout stands here a second time", quote(key))));
    }
    if peek(input) != b'(' {
        return Err(Fault::expect(input, "\"(\" after the letter of a layout's part"));
    }
    let mut tiles = Some(Vec::new());
    while peek(input) == b'(' {
        let at = offset(input);
        let group = brackets(input)?;
        if key == "T" {
            let tile = tile(group).map_err(|why| Fault::rule(at, why))?;
            tiles = tiles.zip(tile).map(|(mut tiles, tile)| {
                tiles.push(tile);
                tiles
            });
        }
    }
    match tiles {
        Some(tiles) if key == "T" => layout.tiles = tiles,
        // As it stands: it bears on no value.
        _ => layout.rest.push_str(&start[..start.len() - rest(input).len()]),
    }
    Ok(())
}

/// `(8,128)`; `None` of a tile that joins dimensions, `(*,128)`.
///
/// # Errors
/// If it is no tile: it has no sizes, or one that is no number from 1.
fn tile(group: &str) -> Result<Option<Vec<u64>>, String> {
    let inside = group.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(group);
    let size = |size: &str| match size.trim_ascii() {
        "*" => Ok(None),
        text => match text.parse() {
            Ok(0) => Err("a tile has no size 0".to_string()),
            Ok(size) => Ok(Some(size)),
            Err(_) => Err(format!("a tile's size is a number from 1 or \"*\", not {}", quote(text))),
        },
    };
    // Each is looked at, so that none behind a `*` is overlooked.
    let sizes = inside.split(',').map(size).collect::<Result<Vec<Option<u64>>, String>>()?;
    Ok(sizes.into_iter().collect())
}
