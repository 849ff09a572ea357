//! `ROOT %name = shape opcode(operands), attributes`.

use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::take_while;

use crate::hlo::ast::{Instruction, Operand, Operands, Shape};
use crate::hlo::opcode::{Opcode, Single};

use super::attribute::attributes;
use super::error::{Fault, quote};
use super::lex::{Input, accept, name, number, offset, peek, space, symbol};
use super::literal::literal;
use super::shape::shape;

/// An instruction behind any space, and the offset of its `ROOT`, where it has one.
pub(super) fn instruction(input: &mut Input) -> Result<(Instruction, Option<usize>), Fault> {
    space(input)?;
    let (mut at, mut root) = (offset(input), None);
    let mut named = name(input, "an instruction's name, or \"}\" at the end of the computation")?;
    if named == "ROOT" {
        root = Some(at);
        space(input)?;
        at = offset(input);
        named = name(input, "an instruction's name after \"ROOT\"")?;
    }
    let place = input.state.position(at);
    symbol("=", "\"=\" after the instruction's name").parse_next(input)?;
    let shape = shape(input, 0)?;
    space(input)?;
    let word: &str = take_while(1.., |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .context("an opcode")
        .parse_next(input)?;
    symbol("(", "\"(\" after the opcode").parse_next(input)?;
    let opcode = Opcode::from(word);
    let operands = match opcode {
        Opcode::Single(Single::Parameter) => {
            let number = number(input, "a parameter's number")?;
            input.state.parameter(number, at)?;
            Operands::Number(number)
        }
        Opcode::Single(Single::Constant) => Operands::Literal(literal(input, &shape, 0)?),
        _ => Operands::Values(values(input)?),
    };
    symbol(")", "\")\" after the operands").parse_next(input)?;
    let attributes = attributes(input)?;
    input.state.define(named, at)?;
    let instruction = Instruction { name: named.to_string(), shape, opcode, operands, attributes, at: place };
    Ok((instruction, root))
}

/// Operands up to the closing parenthesis, which is left.
fn values(input: &mut Input) -> Result<Vec<Operand>, Fault> {
    let mut operands = Vec::new();
    space(input)?;
    if peek(input) == b')' {
        return Ok(operands);
    }
    loop {
        operands.push(operand(input)?);
        space(input)?;
        if peek(input) == b')' {
            return Ok(operands);
        }
        if !accept(input, b',')? {
            return Err(Fault::expect(input, "\",\" or \")\" after an operand"));
        }
    }
}

/// `%x`, or `f32[2]{0} %x` as older dumps have it.
fn operand(input: &mut Input) -> Result<Operand, Fault> {
    let shape = inline_shape(input)?;
    space(input)?;
    let at = offset(input);
    let name = name(input, "an operand's name")?;
    if peek(input) == b'(' {
        return Err(Fault::rule(
            at,
            format!("the operand is an instruction {}, which needs a line of its own", quote(name)),
        ));
    }
    input.state.operand(name, at)?;
    Ok(Operand { shape, name: name.to_string() })
}

/// The shape before an operand's name: it begins with a parenthesis, or is a word with a bracket behind.
fn inline_shape(input: &mut Input) -> Result<Option<Box<Shape>>, Fault> {
    space(input)?;
    let mut begins = peek(input) == b'(';
    if !begins {
        let start = input.checkpoint();
        take_while(0.., |c: char| c.is_ascii_alphanumeric()).void().parse_next(input)?;
        space(input)?;
        begins = peek(input) == b'[';
        input.reset(&start);
    }
    if begins { shape(input, 0).map(Box::new).map(Some) } else { Ok(None) }
}
