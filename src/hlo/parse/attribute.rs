//! `name=value`, and lists of these.

use std::collections::HashSet;

use winnow::prelude::*;
use winnow::stream::Stream;
use winnow::token::take_while;

use crate::ast::{Attribute, Computation, Value};

use super::error::{Fault, quote};
use super::lex::{Input, accept, brackets, name, offset, peek, rest, space, string, symbol};
use super::scope::is_call;
use super::shape::{entry_layout, shape};

/// A reader of a computation that stands in the place of its name, behind this attribute: gives the name under which it goes to the
/// computations before.
pub(super) type InPlace = fn(&mut Input, &str, &mut Vec<Computation>) -> Result<String, Fault>;

/// `, name=value` as often as it stands, behind any space. Each name stands once, as in XLA's own parser.
///
/// Instructions may hold a computation in the place of its name, which goes to `computations`.
pub(super) fn attributes(
    input: &mut Input,
    mut computations: Option<(&mut Vec<Computation>, InPlace)>,
) -> Result<Vec<Attribute>, Fault> {
    let (mut attributes, mut names) = (Vec::new(), HashSet::new());
    while accept(input, b',')? {
        attributes.push(attribute(input, &mut names, computations.as_mut().map(|(list, read)| (&mut **list, *read)))?);
    }
    Ok(attributes)
}

fn attribute<'a>(
    input: &mut Input<'a>,
    names: &mut HashSet<&'a str>,
    computations: Option<(&mut Vec<Computation>, InPlace)>,
) -> Result<Attribute, Fault> {
    space(input)?;
    let start = offset(input);
    let at = input.state.position(start);
    let name = name(input, "an attribute's name after \",\"")?;
    if !names.insert(name) {
        return Err(Fault::rule(start, format!("the attribute {} stands here a second time", quote(name))));
    }
    symbol("=", "\"=\" after an attribute's name").parse_next(input)?;
    space(input)?;
    let start = offset(input);
    let value = match computations {
        Some((computations, read)) if is_call(name) && peek(input) == b'{' && words(rest(input)).is_none() => {
            Value::Word(read(input, name, computations)?)
        }
        _ => value(input, name)?,
    };
    match &value {
        Value::Word(word) => input.state.check_calls(name, std::slice::from_ref(word), start)?,
        Value::Words(words) => input.state.check_calls(name, words, start)?,
        _ => {}
    }
    Ok(Attribute { name: name.to_string(), value, at })
}

/// The value of the attribute of this name, which comes next.
fn value(input: &mut Input, name: &str) -> Result<Value, Fault> {
    match peek(input) {
        b'"' | b'\'' => {
            let text = string(input)?;
            // A string whose bytes are no UTF-8 stays as it stands.
            Ok(unescape(text).map_or_else(|| Value::Word(text.to_string()), Value::Text))
        }
        b'{' if name == "entry_computation_layout" => Ok(Value::Braces(entry_layout(input)?.to_string())),
        b'{' => match words(rest(input)) {
            Some((words, length)) => {
                input.next_slice(length);
                Ok(Value::Words(words))
            }
            None => Ok(Value::Braces(brackets(input)?.to_string())),
        },
        _ => Ok(Value::Word(word(input, name)?.to_string())),
    }
}

/// Whether a word beside brackets may contain this character: `b0f_0io->b0f`, `-3`, `%region_0.1`.
fn is_word(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, ',' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '/' | '\\')
}

/// Whether a word of a list in braces may contain this character.
fn is_listed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '%')
}

/// A word with the brackets in it, `[2,4]<=[8]`, perhaps with a space, `mesh['x'=2] {'x'}`, or a value with its shape,
/// `s32[2]{0} {1, 2}`.
fn word<'a>(input: &mut Input<'a>, name: &str) -> Result<&'a str, Fault> {
    let start = rest(input);
    if name == "literal" && peek(input) != b'(' {
        shape(input, 0)?;
        space(input)?;
    }
    let before = rest(input).len();
    loop {
        take_while(0.., is_word).void().parse_next(input)?;
        if !matches!(peek(input), b'(' | b'[' | b'{') {
            break;
        }
        brackets(input)?;
    }
    // `mesh['x'=2,'y'=2] {'x'}`
    if start.starts_with("mesh[") && rest(input).trim_start().starts_with('{') {
        space(input)?;
        brackets(input)?;
    }
    let left = rest(input).len();
    if left == before {
        return Err(Fault::expect(input, "an attribute's value"));
    }
    Ok(&start[..start.len() - left])
}

/// `{1,0}` at the beginning of a text: its words, and its length.
fn words(text: &str) -> Option<(Vec<String>, usize)> {
    let end =
        text.bytes().skip(1).position(|b| !(is_listed(char::from(b)) || matches!(b, b',') || b.is_ascii_whitespace()));
    let end = end? + 1;
    if text.as_bytes()[end] != b'}' {
        return None;
    }
    let inside = text[1..end].trim_ascii();
    if inside.is_empty() {
        return Some((Vec::new(), end + 1));
    }
    let words = inside.split(',').map(str::trim_ascii);
    if !words.clone().all(|word| !word.is_empty() && word.chars().all(is_listed)) {
        return None;
    }
    Some((words.map(str::to_string).collect(), end + 1))
}

/// A string's text, without its quotation marks and with its escapes undone (those of absl's `CUnescape`); `None` if
/// the text is no UTF-8 or an escape is unknown.
fn unescape(quoted: &str) -> Option<String> {
    let inside = &quoted.as_bytes()[1..quoted.len() - 1];
    if !inside.contains(&b'\\') {
        return Some(quoted[1..quoted.len() - 1].to_string());
    }
    let mut bytes = Vec::with_capacity(inside.len());
    let mut at = 0;
    while let Some(&byte) = inside.get(at) {
        at += 1;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escape = *inside.get(at)?;
        at += 1;
        let plain = match escape {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'v' => 11,
            b'f' => 12,
            b'0'..=b'7' => {
                // Up to three octal digits.
                let more = inside[at..].iter().take(2).take_while(|b| matches!(b, b'0'..=b'7')).count();
                let code = inside[at - 1..at + more].iter().fold(0, |code, b| code * 8 + u32::from(b - b'0'));
                at += more;
                u8::try_from(code).ok()?
            }
            b'x' => {
                let digits = inside[at..].iter().take(2).take_while(|b| b.is_ascii_hexdigit()).count();
                let text = str::from_utf8(&inside[at..at + digits]).ok()?;
                at += digits;
                u8::from_str_radix(text, 16).ok()?
            }
            b'"' | b'\'' | b'\\' | b'?' => escape,
            _ => return None,
        };
        bytes.push(plain);
    }
    String::from_utf8(bytes).ok()
}
