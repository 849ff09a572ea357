//! Tokens: spaces and comments, symbols, names, numbers, bracketed text, strings.

use winnow::ascii::digit1;
use winnow::combinator::{opt, preceded};
use winnow::prelude::*;
use winnow::stream::{Location, Stream};
use winnow::token::{literal, take_till, take_until, take_while};
use winnow::{LocatingSlice, Stateful};

use crate::ast::is_name;

use super::error::Fault;
use super::scope::Scope;

/// The text not read yet, and what is known of the text before.
pub(super) type Input<'a> = Stateful<LocatingSlice<&'a str>, Scope<'a>>;

/// The largest depth of nested brackets. Real files have fewer than ten levels.
pub(super) const LEVELS: usize = 256;

/// The text not read yet.
pub(super) fn rest<'a>(input: &Input<'a>) -> &'a str {
    let rest: &&'a str = input.input.as_ref();
    rest
}

/// The byte offset of the next character.
pub(super) fn offset(input: &Input) -> usize {
    input.current_token_start()
}

/// The next byte, or 0 at the end of the text.
pub(super) fn peek(input: &Input) -> u8 {
    rest(input).as_bytes().first().copied().unwrap_or(0)
}

/// White space, `/*...*/` and `//...`.
pub(super) fn space(input: &mut Input) -> Result<(), Fault> {
    loop {
        take_while(0.., [' ', '\n', '\r', '\t']).void().parse_next(input)?;
        if peek(input) != b'/' {
            return Ok(());
        }
        if rest(input).starts_with("//") {
            take_till(0.., ['\n', '\r']).void().parse_next(input)?;
        } else if rest(input).starts_with("/*") {
            let at = offset(input);
            // Behind the opening `/*`, whose star does not close the comment.
            input.next_slice(2);
            if opt((take_until::<_, _, Fault>(0.., "*/"), "*/")).parse_next(input)?.is_none() {
                return Err(Fault::rule(at, "a comment begins here and does not end"));
            }
        } else {
            return Ok(());
        }
    }
}

/// This symbol behind any space.
pub(super) fn symbol<'a>(text: &'static str, expected: &'static str) -> impl Parser<Input<'a>, (), Fault> {
    preceded(space, literal(text)).void().context(expected)
}

/// Whether this byte comes next behind any space; it is passed.
pub(super) fn accept(input: &mut Input, byte: u8) -> Result<bool, Fault> {
    space(input)?;
    let next = peek(input) == byte;
    if next {
        input.next_slice(1);
    }
    Ok(next)
}

/// A name without its `%`, behind any space.
pub(super) fn name<'a>(input: &mut Input<'a>, expected: &'static str) -> Result<&'a str, Fault> {
    space(input)?;
    let sign = usize::from(peek(input) == b'%');
    let first = rest(input).as_bytes().get(sign).copied().unwrap_or(0);
    if !(first.is_ascii_alphabetic() || first == b'_') {
        return Err(Fault::expect(input, expected));
    }
    input.next_slice(sign);
    take_while(1.., is_name).parse_next(input)
}

/// A number without sign, behind any space.
pub(super) fn number(input: &mut Input, expected: &'static str) -> Result<u64, Fault> {
    space(input)?;
    let at = offset(input);
    let digits: &str = digit1.context(expected).parse_next(input)?;
    digits.parse().map_err(|_| Fault::rule(at, format!("a number is {} at most", u64::MAX)))
}

/// Whether one more level of brackets, which begins at this byte, is not too deep.
pub(super) fn level(depth: usize, at: usize) -> Result<usize, Fault> {
    if depth < LEVELS { Ok(depth + 1) } else { Err(Fault::rule(at, format!("more than {LEVELS} levels of brackets"))) }
}

/// Text from an opening bracket, which comes next, to the one that closes it, both included. Brackets of other kinds need
/// not match; none counts in strings and comments.
pub(super) fn brackets<'a>(input: &mut Input<'a>) -> Result<&'a str, Fault> {
    let (start, text) = (offset(input), rest(input));
    let bytes = text.as_bytes();
    let open = peek(input);
    let close = match open {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    };
    let (mut depth, mut at) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' {
            at +=
                quoted(&bytes[at..]).ok_or_else(|| Fault::rule(start + at, "a string begins here and does not end"))?;
            continue;
        }
        if byte == b'/' && bytes.get(at + 1) == Some(&b'*') {
            let end = text.get(at + 2..).and_then(|rest| rest.find("*/"));
            at += 4 + end.ok_or_else(|| Fault::rule(start + at, "a comment begins here and does not end"))?;
            continue;
        }
        if byte == open {
            depth = level(depth, start + at)?;
        } else if byte == close {
            depth -= 1;
        }
        at += 1;
        if depth == 0 {
            return Ok(input.next_slice(at));
        }
    }
    let [open, close] = [open, close].map(char::from);
    Err(Fault::rule(start, format!("\"{open}\" begins here and no \"{close}\" ends it")))
}

/// Bytes from an opening quotation mark to the closing one, both included.
fn quoted(bytes: &[u8]) -> Option<usize> {
    let mark = bytes.first()?;
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == mark => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// A string with its quotation marks, one of which comes next.
pub(super) fn string<'a>(input: &mut Input<'a>) -> Result<&'a str, Fault> {
    let at = offset(input);
    let end = quoted(rest(input).as_bytes());
    let end = end.ok_or_else(|| Fault::rule(at, "a string begins here and does not end"))?;
    Ok(input.next_slice(end))
}
