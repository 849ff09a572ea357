//! Position at which a text stops being HLO, and the text expected there.

use winnow::error::{AddContext, ParserError};
use winnow::stream::{Location, Stream};

use crate::ast::{Position, is_name};

/// Text that is no HLO: `line 12, column 7: expected "=" after the instruction's name, found "("`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1, in characters.
    pub column: u32,
    /// The text expected and the text found, or the rule that is broken.
    pub message: String,
}

/// An error on its way out of the parsers: a byte offset instead of a line and column.
#[derive(Debug)]
pub(super) struct Fault {
    at: usize,
    reason: FaultReason,
}

#[derive(Debug)]
enum FaultReason {
    /// A parser failed that has not said yet what it expects.
    Unexpected,
    Expected(&'static str),
    Rule(String),
}

/// The longest piece of the text that a message repeats to say what was found, in bytes.
const FOUND: usize = 40;

/// The longest name that a message repeats in full, in bytes. Those of compilers have up to some hundred.
const NAMED: usize = 256;

/// A name in quotation marks for a message; of a longer one the beginning, and how much was left out.
pub(super) fn quote(name: &str) -> String {
    match name.char_indices().nth(NAMED) {
        None => format!("{name:?}"),
        Some((end, _)) => {
            format!("{:?} ({} more characters)", format!("{}...", &name[..end]), name[end..].chars().count())
        }
    }
}

impl Fault {
    /// This was expected at the next character.
    pub(super) fn expect(input: &impl Location, what: &'static str) -> Fault {
        Fault { at: input.current_token_start(), reason: FaultReason::Expected(what) }
    }

    /// The text at this byte breaks a rule.
    pub(super) fn rule(at: usize, message: impl Into<String>) -> Fault {
        Fault { at, reason: FaultReason::Rule(message.into()) }
    }

    /// The same with line and column.
    pub(super) fn locate(self, text: &str) -> ParseError {
        let Position { line, column } = Lines::new(text).position(self.at);
        let message = match self.reason {
            FaultReason::Unexpected => format!("unexpected {}", found(text, self.at)),
            FaultReason::Expected(what) => format!("expected {what}, found {}", found(text, self.at)),
            FaultReason::Rule(message) => message,
        };
        ParseError { line, column, message }
    }
}

impl<I: Stream + Location> ParserError<I> for Fault {
    type Inner = Fault;

    fn from_input(input: &I) -> Fault {
        Fault { at: input.current_token_start(), reason: FaultReason::Unexpected }
    }

    fn into_inner(self) -> Result<Fault, Fault> {
        Ok(self)
    }
}

impl<I: Stream> AddContext<I, &'static str> for Fault {
    /// The innermost parser knows best.
    fn add_context(self, _: &I, _: &I::Checkpoint, what: &'static str) -> Fault {
        match self.reason {
            FaultReason::Unexpected => Fault { reason: FaultReason::Expected(what), ..self },
            _ => self,
        }
    }
}

/// The text at a byte, for a message: a name or number whole, other characters alone.
fn found(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or("");
    let Some(first) = rest.chars().next() else { return "the end of the text".to_string() };
    let sign = usize::from(first == '%');
    let end = rest[sign..].find(|c| !is_name(c)).map_or(rest.len(), |end| end + sign);
    match &rest[..end] {
        "" | "%" => format!("{:?}", first.to_string()),
        word if word.len() > FOUND => format!("{:?}", format!("{}...", &word[..FOUND])),
        word => format!("{word:?}"),
    }
}

/// Turns byte offsets that do not fall into places, each byte counted once.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    offset: usize,
    place: Position,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Lines<'a> {
        Lines { text, offset: 0, place: Position { line: 1, column: 1 } }
    }

    /// Place of the character at this byte, which is not before the byte asked for last.
    pub(super) fn position(&mut self, offset: usize) -> Position {
        let passed = self.text.as_bytes().get(self.offset..offset).unwrap_or(&[]);
        let line = match passed.iter().rposition(|byte| *byte == b'\n') {
            None => passed,
            Some(last) => {
                let lines = passed.iter().filter(|byte| **byte == b'\n').count();
                self.place.line = self.place.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
                self.place.column = 1;
                &passed[last + 1..]
            }
        };
        // A character is counted at its first byte; the others are 0b10xxxxxx.
        let characters = line.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.place.column = self.place.column.saturating_add(u32::try_from(characters).unwrap_or(u32::MAX));
        self.offset = offset.max(self.offset);
        self.place
    }
}
