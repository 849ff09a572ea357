//! `ROOT %name = shape opcode(operands), attributes`; the shape may be left out, and operands may be instructions.

use std::borrow::Cow;

use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::take_while;

use crate::ast::{Attribute, Computation, Instruction, Operand, Operands, Position, Shape, Value};
use crate::opcode::{Movement, Opcode, Single, Tuples};

use super::attribute::{InPlace, attributes};
use super::error::{Fault, quote};
use super::lex::{Input, accept, level, name, number, offset, peek, rest, space, symbol};
use super::literal::literal;
use super::missing_shape::missing_shape;
use super::shape::shape;
use super::wrapped_start::{is_wrapped, long_form};

/// The instructions of a computation that is being read, and the computations before it.
pub(super) struct Body<'m> {
    pub computations: &'m mut Vec<Computation>,
    pub instructions: Vec<Instruction>,
    /// The reader of a computation in the place of its name.
    pub in_place: InPlace,
}

/// Reads an instruction behind any space, after those that stand inside its operands; gives the offset of its `ROOT`, where it has one.
pub(super) fn instruction(input: &mut Input, body: &mut Body) -> Result<Option<usize>, Fault> {
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
    let shape = if begins_shape(input)? || !begins_call(input) { Some(shape(input, 0)?) } else { None };
    let right = Right { name: Cow::Borrowed(named), at, place, shape, has_attributes: true };
    right.read(input, body, 0)?;
    Ok(root)
}

/// The text behind an instruction's equals sign, or an instruction inside of operands.
struct Right<'a> {
    name: Cow<'a, str>,
    /// Byte at which its name stands, or the instruction itself.
    at: usize,
    place: Position,
    /// `None` where the text has none.
    shape: Option<Shape>,
    has_attributes: bool,
}

impl<'a> Right<'a> {
    /// Reads from the opcode on, inside `depth` instructions, and adds the instruction to the body.
    fn read(self, input: &mut Input<'a>, body: &mut Body, depth: usize) -> Result<(), Fault> {
        space(input)?;
        let opcode_at = offset(input);
        let word: &str = take_while(1.., |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            .context("an opcode")
            .parse_next(input)?;
        symbol("(", "\"(\" after the opcode").parse_next(input)?;
        let opcode = Opcode::from(word);
        let operands = match (&opcode, &self.shape) {
            (Opcode::Single(Single::Parameter), _) => {
                let number = number(input, "a parameter's number")?;
                input.state.parameter(number, self.at)?;
                Operands::Number(number)
            }
            (Opcode::Single(Single::Constant), Some(shape)) => Operands::Literal(literal(input, shape, 0)?),
            (Opcode::Single(Single::Constant), None) => return Err(needs_shape(opcode_at, word)),
            _ => Operands::Values(values(input, body, depth)?),
        };
        symbol(")", "\")\" after the operands").parse_next(input)?;
        let attributes = if self.has_attributes {
            attributes(input, Some((&mut *body.computations, body.in_place)))?
        } else {
            Vec::new()
        };
        let none = Shape::Tuple(Vec::new());
        let mut instruction =
            Instruction { name: self.name.to_string(), shape: none, opcode, operands, attributes, at: self.place };
        spread_scalar(&mut instruction, body, input);
        instruction.shape = match self.shape {
            Some(shape) => shape,
            None => inferred(&instruction, body, input).ok_or_else(|| needs_shape(opcode_at, word))?,
        };
        if is_wrapped(&instruction.opcode) {
            let shapes = operand_shapes(&instruction, body, input).unwrap_or_default();
            let shapes: Vec<Shape> = shapes.into_iter().cloned().collect();
            instruction = long_form(instruction, &shapes, body.computations);
        }
        input.state.define(self.name, self.at, body.instructions.len())?;
        body.instructions.push(instruction);
        Ok(())
    }
}

fn needs_shape(at: usize, opcode: &str) -> Fault {
    let opcode = quote(opcode);
    Fault::rule(at, format!("the shape of this {opcode} does not follow from its operands: write it before the opcode"))
}

/// The dims of a broadcast may be left out where its operand is a scalar.
fn spread_scalar(instruction: &mut Instruction, body: &Body, input: &Input) {
    let is_broadcast = instruction.opcode == Opcode::Movement(Movement::Broadcast);
    if !is_broadcast || instruction.attributes.iter().any(|attribute| attribute.name == "dimensions") {
        return;
    }
    let is_scalar = |shape: &&Shape| matches!(shape, Shape::Array { dims, .. } if dims.is_empty());
    if operand_shapes(instruction, body, input).is_some_and(|shapes| shapes.len() == 1 && shapes.iter().all(is_scalar))
    {
        let value = Value::Words(Vec::new());
        instruction.attributes.insert(0, Attribute { name: "dimensions".to_string(), value, at: instruction.at });
    }
}

/// The shapes of the instructions that the operands name.
fn operand_shapes<'m>(instruction: &Instruction, body: &'m Body, input: &Input) -> Option<Vec<&'m Shape>> {
    let Operands::Values(operands) = &instruction.operands else { return None };
    let shape = |operand: &Operand| {
        let place = input.state.place(&operand.name)?;
        body.instructions.get(place).map(|instruction| &instruction.shape)
    };
    operands.iter().map(shape).collect()
}

/// The shape of an instruction that the text gives none.
fn inferred(instruction: &Instruction, body: &Body, input: &Input) -> Option<Shape> {
    let shapes = operand_shapes(instruction, body, input)?;
    missing_shape(instruction, &shapes, &|name| {
        let computation = body.computations.iter().rev().find(|computation| computation.name == name)?;
        computation.instructions.get(computation.root).map(|root| root.shape.clone())
    })
}

/// Operands up to the closing parenthesis, which is left, inside `depth` instructions.
fn values<'a>(input: &mut Input<'a>, body: &mut Body, depth: usize) -> Result<Vec<Operand>, Fault> {
    let mut operands = Vec::new();
    space(input)?;
    if peek(input) == b')' {
        return Ok(operands);
    }
    loop {
        operands.push(operand(input, body, depth)?);
        space(input)?;
        if peek(input) == b')' {
            return Ok(operands);
        }
        if !accept(input, b',')? {
            return Err(Fault::expect(input, "\",\" or \")\" after an operand"));
        }
    }
}

/// `%x`, `f32[2]{0} %x` as older dumps have it, `%x#1` for an element of a tuple, or an instruction without a name and attributes.
fn operand<'a>(input: &mut Input<'a>, body: &mut Body, depth: usize) -> Result<Operand, Fault> {
    space(input)?;
    let begin = offset(input);
    let shape = if begins_shape(input)? { Some(shape(input, 0)?) } else { None };
    space(input)?;
    let at = offset(input);
    if begins_call(input) {
        let depth = level(depth, at)?;
        let place = input.state.position(begin);
        let name = nameless(&rest(input)[..opcode_length(rest(input))], place);
        let right = Right { name: Cow::Owned(name.clone()), at: begin, place, shape, has_attributes: false };
        right.read(input, body, depth)?;
        return Ok(Operand { shape: None, name });
    }
    let mut name = name(input, "an operand's name")?.to_string();
    input.state.operand(&name, at)?;
    while peek(input) == b'#' {
        name = element(input, body, name, at)?;
    }
    Ok(Operand { shape: shape.map(Box::new), name })
}

/// `#1` behind an operand, which comes next: an instruction that takes this element of it.
fn element(input: &mut Input, body: &mut Body, of: String, at: usize) -> Result<String, Fault> {
    let here = offset(input);
    let place = input.state.position(here);
    input.next_slice(1);
    let index = number(input, "the number of a tuple's element after \"#\"")?;
    let shape = input.state.place(&of).and_then(|place| body.instructions.get(place)).and_then(|operand| {
        let Shape::Tuple(parts) = &operand.shape else { return None };
        parts.get(usize::try_from(index).ok()?).cloned()
    });
    let shape =
        shape.ok_or_else(|| Fault::rule(here, format!("{} is no tuple with an element {index}", quote(&of))))?;
    let name = nameless("get-tuple-element", place);
    let attributes = vec![Attribute { name: "index".to_string(), value: Value::Word(index.to_string()), at: place }];
    let operands = Operands::Values(vec![Operand { shape: None, name: of }]);
    let opcode = Opcode::Tuples(Tuples::GetTupleElement);
    input.state.define(Cow::Owned(name.clone()), at, body.instructions.len())?;
    body.instructions.push(Instruction { name: name.clone(), shape, opcode, operands, attributes, at: place });
    Ok(name)
}

/// The name of an instruction that has none in the text: its opcode and its place.
fn nameless(opcode: &str, place: Position) -> String {
    format!("{opcode}.at.{}.{}", place.line, place.column)
}

/// Length of the word at the beginning of a text that may be an opcode.
fn opcode_length(text: &str) -> usize {
    text.bytes().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))).unwrap_or(text.len())
}

/// Whether an opcode with a parenthesis behind comes next.
fn begins_call(input: &Input) -> bool {
    let text = rest(input);
    let length = opcode_length(text);
    let first = text.as_bytes().first().copied().unwrap_or(0);
    // `b(f32[2])` is the shape of a buffer.
    first.is_ascii_alphabetic() && &text[..length] != "b" && text[length..].trim_ascii_start().starts_with('(')
}

/// Whether a shape comes next: it begins with a parenthesis, or is a word with a bracket behind.
fn begins_shape(input: &mut Input) -> Result<bool, Fault> {
    space(input)?;
    if peek(input) == b'(' {
        return Ok(true);
    }
    let start = input.checkpoint();
    take_while(0.., |c: char| c.is_ascii_alphanumeric()).void().parse_next(input)?;
    space(input)?;
    let begins = peek(input) == b'[';
    input.reset(&start);
    Ok(begins)
}
