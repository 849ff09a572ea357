//! [`ast`](super::ast) to HLO text: the canonical form, shaped like XLA's own printing.
//!
//! Nothing that was read is left out. What is made uniform: spaces and comments, `ENTRY` and `ROOT` (always written),
//! `%` (before all names of a computation that has a signature, before none of one that has not, as XLA's two forms do).

use std::fmt::{self, Display, Formatter, Write};

use super::ast::{Attribute, Computation, Element, Instruction, Layout, Literal, Module, Operands, Shape, Value};

/// Writes items with this between them.
fn joined<T>(
    f: &mut Formatter,
    items: &[T],
    between: &str,
    mut write: impl FnMut(&mut Formatter, &T) -> fmt::Result,
) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            f.write_str(between)?;
        }
        write(f, item)?;
    }
    Ok(())
}

fn attributes(f: &mut Formatter, attributes: &[Attribute]) -> fmt::Result {
    attributes.iter().try_for_each(|attribute| write!(f, ", {attribute}"))
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "HloModule {}", self.name)?;
        attributes(f, &self.attributes)?;
        f.write_str("\n")?;
        for table in &self.tables {
            write!(f, "\n{}\n", table.heading)?;
            table.lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        }
        for (position, computation) in self.computations.iter().enumerate() {
            let entry = if position == self.entry { "ENTRY " } else { "" };
            write!(f, "\n{entry}{computation}\n")?;
        }
        Ok(())
    }
}

impl Display for Computation {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let sigil = if self.signature.is_some() { "%" } else { "" };
        write!(f, "{sigil}{}", self.name)?;
        if let Some(signature) = &self.signature {
            f.write_str(" (")?;
            joined(f, &signature.parameters, ", ", |f, (name, shape)| write!(f, "{name}: {shape}"))?;
            write!(f, ") -> {}", signature.result)?;
        }
        f.write_str(" {\n")?;
        for (position, instruction) in self.instructions.iter().enumerate() {
            f.write_str(if position == self.root { "  ROOT " } else { "  " })?;
            write_instruction(f, instruction, sigil)?;
            f.write_str("\n")?;
        }
        f.write_str("}")?;
        attributes(f, &self.attributes)
    }
}

fn write_instruction(f: &mut Formatter, instruction: &Instruction, sigil: &str) -> fmt::Result {
    let Instruction { name, shape, opcode, operands, .. } = instruction;
    write!(f, "{sigil}{name} = {shape} {opcode}(")?;
    match operands {
        Operands::Number(number) => write!(f, "{number}")?,
        Operands::Literal(literal) => write!(f, "{literal}")?,
        Operands::Values(values) => joined(f, values, ", ", |f, operand| {
            if let Some(shape) = &operand.shape {
                write!(f, "{shape} ")?;
            }
            write!(f, "{sigil}{}", operand.name)
        })?,
    }
    f.write_str(")")?;
    attributes(f, &instruction.attributes)
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match &self.value {
            // Computations are names, with `%` or without.
            Value::Words(names) if self.name.ends_with("_computations") => {
                write!(f, "{}=", self.name)?;
                words(f, names, ", ")
            }
            value => write!(f, "{}={value}", self.name),
        }
    }
}

fn words(f: &mut Formatter, words: &[String], between: &str) -> fmt::Result {
    f.write_str("{")?;
    joined(f, words, between, |f, word| f.write_str(word))?;
    f.write_str("}")
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Value::Word(text) | Value::Braces(text) => f.write_str(text),
            Value::Text(text) => write_text(f, text),
            Value::Words(list) => {
                // XLA parts numbers and settings by a comma, names by a comma and a space.
                words(f, list, if list.iter().any(|word| word.starts_with('%')) { ", " } else { "," })
            }
        }
    }
}

/// A string in quotation marks, escaped the way absl's `CEscape` does it, but for characters beyond ASCII, which stay.
fn write_text(f: &mut Formatter, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '"' | '\\' => write!(f, "\\{c}")?,
            c if c.is_ascii_control() => write!(f, "\\{:03o}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_str("\"")
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Literal::Scalar(text) => f.write_str(text),
            Literal::Elided => f.write_str("{...}"),
            Literal::List(items) => {
                // XLA sets spaces inside the braces of all but vectors.
                let nested = items.iter().any(|item| !matches!(item, Literal::Scalar(_)));
                let (open, close) = if nested { ("{ ", " }") } else { ("{", "}") };
                f.write_str(open)?;
                joined(f, items, ", ", |f, item| write!(f, "{item}"))?;
                f.write_str(close)
            }
            Literal::Tuple(items) if items.is_empty() => f.write_str("()"),
            Literal::Tuple(items) => {
                f.write_str("( ")?;
                joined(f, items, ", ", |f, item| write!(f, "{item}"))?;
                f.write_str(" )")
            }
        }
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Shape::Array { element, dims, layout } => {
                write!(f, "{element}[")?;
                joined(f, dims, ",", |f, dim| write!(f, "{dim}"))?;
                f.write_str("]")?;
                layout.iter().try_for_each(|layout| write!(f, "{layout}"))
            }
            Shape::Tuple(shapes) => {
                f.write_str("(")?;
                joined(f, shapes, ", ", |f, shape| write!(f, "{shape}"))?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Element::Known(dtype) => dtype.name(),
            Element::Other(name) => name,
        })
    }
}

/// Length of the kinds of the dimensions, `D(D,C)`, which XLA wants before the tiles.
fn kinds_of_dimensions(rest: &str) -> usize {
    let Some(inside) = rest.strip_prefix("D(") else { return 0 };
    let Some(end) = inside.find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, ',' | '+' | '~'))) else { return 0 };
    // Anything else stays where it is.
    if inside[end..].starts_with(')') && !inside[end..].starts_with(")(") { "D(".len() + end + 1 } else { 0 }
}

impl Display for Layout {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str("{")?;
        joined(f, &self.minor_to_major, ",", |f, dim| write!(f, "{dim}"))?;
        if !self.tiles.is_empty() || !self.rest.is_empty() {
            f.write_str(":")?;
        }
        let (kinds, rest) = self.rest.split_at(kinds_of_dimensions(&self.rest));
        f.write_str(kinds)?;
        if !self.tiles.is_empty() {
            f.write_str("T")?;
        }
        for tile in &self.tiles {
            f.write_str("(")?;
            joined(f, tile, ",", |f, size| write!(f, "{size}"))?;
            f.write_str(")")?;
        }
        f.write_str(rest)?;
        f.write_str("}")
    }
}
