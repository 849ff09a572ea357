//! A file: header, side tables, computations.

use std::borrow::Cow;

use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::{take_till, take_while};
use winnow::{LocatingSlice, Stateful};

use crate::ast::{Computation, Instruction, Module, Signature, Table, is_name};

use super::attribute::attributes;
use super::error::{Fault, ParseError, quote};
use super::instruction::{Body, instruction};
use super::lex::{Input, accept, name, offset, peek, rest, space, symbol};
use super::scope::Scope;
use super::shape::shape;

/// Side tables, which may be without lines.
const TABLES: [&str; 4] = ["FileNames", "FunctionNames", "FileLocations", "StackFrames"];

/// Reads a module: the unoptimized form and the optimized one, those of older dumps included.
///
/// Names are resolved: those of instructions and computations are unique, and each is defined before it is used.
/// Opcodes and attributes need not be known. A shape that is left out is inferred where XLA's parser infers it, and an instruction inside
/// of operands becomes one of its own. Dynamic dimensions are refused.
///
/// # Errors
///
/// The place where the text stops being HLO, and what was expected there.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut input = Stateful { input: LocatingSlice::new(text), state: Scope::new(text) };
    module(&mut input).map_err(|fault| fault.locate(text))
}

fn module(input: &mut Input) -> Result<Module, Fault> {
    space(input)?;
    let start = input.checkpoint();
    let keyword = take_while(0.., is_name).parse_next(input)?;
    if keyword != "HloModule" {
        input.reset(&start);
        if let Some(told) = other_form(rest(input)) {
            return Err(Fault::rule(offset(input), told));
        }
        return Err(Fault::expect(input, "\"HloModule\" and the module's name"));
    }
    let named = name(input, "the module's name")?.to_string();
    let attributes = attributes(input, None)?;
    let (mut tables, mut computations, mut entry) = (Vec::new(), Vec::new(), None);
    loop {
        space(input)?;
        if rest(input).is_empty() {
            break;
        }
        let start = offset(input);
        let mut first = name(input, "a computation")?;
        if first == "HloModule" {
            return Err(Fault::rule(start, "a second module begins here; a file has one"));
        }
        let is_entry = first == "ENTRY";
        let mut at = start;
        if is_entry {
            if entry.is_some() {
                return Err(Fault::rule(start, "a second computation is marked ENTRY"));
            }
            space(input)?;
            at = offset(input);
            first = name(input, "a computation's name after \"ENTRY\"")?;
        }
        space(input)?;
        if !is_entry && (TABLES.contains(&first) || peek(input).is_ascii_digit()) {
            tables.push(table(input, first)?);
        } else {
            let read = computation(input, first, at, &mut computations)?;
            if is_entry {
                entry = Some(computations.len());
            }
            computations.push(read);
        }
    }
    let Some(last) = computations.len().checked_sub(1) else { return Err(Fault::expect(input, "a computation")) };
    Ok(Module { name: named, attributes, tables, computations, entry: entry.unwrap_or(last) })
}

/// Hint for a text in another form that JAX prints: the name of that form, and the text to give instead. `None` for any
/// other text.
fn other_form(text: &str) -> Option<&'static str> {
    if text.starts_with("module @")
        || text.starts_with("module {")
        || text.starts_with("module attributes")
        || text.starts_with("#loc")
    {
        Some(
            "this is StableHLO, what JAX prints by lowered.as_text(); give HLO: lowered.as_text(dialect=\"hlo\") before \
             compilation, lowered.compile().as_text() after it, or what scripts/dump_hlo.py writes",
        )
    } else if text.starts_with("{ lambda") {
        Some(
            "this is a jaxpr, what jax.make_jaxpr prints; give HLO: jax.jit(f).lower(...).as_text(dialect=\"hlo\"), or what \
             scripts/dump_hlo.py writes",
        )
    } else {
        None
    }
}

/// Lines that begin with a number, behind the heading.
fn table(input: &mut Input, heading: &str) -> Result<Table, Fault> {
    let mut lines = Vec::new();
    while peek(input).is_ascii_digit() {
        let line: &str = take_till(0.., ['\n', '\r']).parse_next(input)?;
        lines.push(line.trim_ascii_end().to_string());
        space(input)?;
    }
    Ok(Table { heading: heading.to_string(), lines })
}

/// A computation behind its name, which stands at this byte, after these.
fn computation<'a>(
    input: &mut Input<'a>,
    name: &'a str,
    at: usize,
    computations: &mut Vec<Computation>,
) -> Result<Computation, Fault> {
    let place = input.state.position(at);
    input.state.enter(name, at)?;
    let signature = if peek(input) == b'(' { Some(signature(input)?) } else { None };
    let expected = if signature.is_some() {
        "\"{\" and the computation's instructions"
    } else {
        "\"{\" or a signature after the computation's name"
    };
    symbol("{", expected).parse_next(input)?;
    let (instructions, root) = instructions(input, name, at, computations)?;
    input.state.leave(Cow::Borrowed(name))?;
    let attributes = attributes(input, None)?;
    Ok(Computation { name: name.to_string(), signature, instructions, root, attributes, at: place })
}

/// Instructions up to the closing brace, and the place of the root among them. The computation's name stands at this byte.
fn instructions(
    input: &mut Input,
    name: &str,
    at: usize,
    computations: &mut Vec<Computation>,
) -> Result<(Vec<Instruction>, usize), Fault> {
    let (mut body, mut root) = (Body { computations, instructions: Vec::new(), in_place: computation_in_place }, None);
    while !accept(input, b'}')? {
        if let Some(at) = instruction(input, &mut body)? {
            if root.is_some() {
                return Err(Fault::rule(at, "a second instruction of this computation is marked ROOT"));
            }
            root = Some(body.instructions.len() - 1);
        }
    }
    let Some(last) = body.instructions.len().checked_sub(1) else {
        return Err(Fault::rule(at, format!("the computation {} has no instructions", quote(name))));
    };
    Ok((body.instructions, root.unwrap_or(last)))
}

/// A computation that stands in the place of its name, `to_apply={ ... }`, whose brace comes next. It is added to those before, under a
/// name made of the attribute and its place, which is given.
fn computation_in_place(
    input: &mut Input,
    attribute: &str,
    computations: &mut Vec<Computation>,
) -> Result<String, Fault> {
    let at = offset(input);
    let place = input.state.position(at);
    let name = format!("{attribute}.at.{}.{}", place.line, place.column);
    let outer = input.state.begin_inner(at)?;
    symbol("{", "\"{\" and a computation's instructions").parse_next(input)?;
    let (instructions, root) = instructions(input, &name, at, computations)?;
    input.state.leave(Cow::Owned(name.clone()))?;
    input.state.end_inner(outer);
    let attributes = Vec::new();
    computations.push(Computation { name: name.clone(), signature: None, instructions, root, attributes, at: place });
    Ok(name)
}

/// `(x: f32[2]) -> f32[2]`, whose bracket comes next.
fn signature(input: &mut Input) -> Result<Signature, Fault> {
    symbol("(", "\"(\" of a signature").parse_next(input)?;
    let mut parameters = Vec::new();
    if !accept(input, b')')? {
        loop {
            let parameter = name(input, "a parameter's name")?.to_string();
            symbol(":", "\":\" and the parameter's shape").parse_next(input)?;
            parameters.push((parameter, shape(input, 0)?));
            if accept(input, b')')? {
                break;
            }
            symbol(",", "\",\" or \")\" in a signature").parse_next(input)?;
        }
    }
    symbol("->", "\"->\" and the shape of the result").parse_next(input)?;
    Ok(Signature { parameters, result: shape(input, 0)? })
}
