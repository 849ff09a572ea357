//! Typed views of an instruction's attributes.

use std::collections::HashSet;

use super::ast::{Attribute, Instruction, Value};
use super::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// The attributes of one instruction, by name.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    instruction: &'a Instruction,
}

impl<'a> Attributes<'a> {
    pub fn of(instruction: &'a Instruction) -> Attributes<'a> {
        Attributes { instruction }
    }

    pub fn find(&self, name: &str) -> Option<&'a Attribute> {
        self.instruction.attributes.iter().find(|a| a.name == name)
    }

    /// The attribute of this name is at fault: an error at its place, or at the instruction's if it is not there.
    pub fn refuse(&self, name: &str, why: impl ToString) -> LowerError {
        let error = LowerError::new(self.instruction, why);
        LowerError { at: self.find(name).map_or(error.at, |attribute| attribute.at), ..error }
    }

    fn missing(&self, name: &str) -> LowerError {
        self.refuse(name, format!("the attribute {name} is missing"))
    }

    fn wrong(&self, attribute: &Attribute, expected: &str) -> LowerError {
        self.refuse(&attribute.name, format!("{} is not {expected}", attribute.name))
    }

    /// A bare word or a quoted text.
    pub fn word(&self, name: &str) -> Option<&'a str> {
        match &self.find(name)?.value {
            Value::Word(word) | Value::Text(word) => Some(word),
            _ => None,
        }
    }

    pub fn number(&self, name: &str) -> Result<usize> {
        let attribute = self.find(name).ok_or_else(|| self.missing(name))?;
        let number = self.word(name).and_then(|w| w.parse().ok());
        number.ok_or_else(|| self.wrong(attribute, "a number"))
    }

    /// A flag; one that is not there is false.
    pub fn flag(&self, name: &str) -> Result<bool> {
        let Some(attribute) = self.find(name) else { return Ok(false) };
        match self.word(name) {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(self.wrong(attribute, "true or false")),
        }
    }

    /// `{1,0}`; a list that is not there is empty.
    pub fn numbers(&self, name: &str) -> Result<Vec<usize>> {
        let Some(attribute) = self.find(name) else { return Ok(Vec::new()) };
        let Value::Words(words) = &attribute.value else { return Err(self.wrong(attribute, "a list of numbers")) };
        let numbers: Option<_> = words.iter().map(|w| w.parse().ok()).collect();
        numbers.ok_or_else(|| self.wrong(attribute, "a list of numbers"))
    }

    /// A list that must have one number.
    pub fn one_number(&self, name: &str) -> Result<usize> {
        match self.numbers(name)?[..] {
            [one] => Ok(one),
            _ => Err(self.refuse(name, format!("{name} must be one dim"))),
        }
    }

    /// A list of words, such as `{high,highest}`.
    pub fn words(&self, name: &str) -> Result<Option<&'a [String]>> {
        match self.find(name) {
            None => Ok(None),
            Some(Attribute { value: Value::Words(words), .. }) => Ok(Some(words)),
            Some(other) => Err(self.wrong(other, "a list of words")),
        }
    }

    /// The text between an attribute's outermost braces.
    pub fn inside_braces(&self, name: &str) -> Result<Option<String>> {
        match self.find(name) {
            None => Ok(None),
            Some(Attribute { value: Value::Words(words), .. }) => Ok(Some(words.join(","))),
            Some(Attribute { value: Value::Braces(text), .. }) => {
                Ok(Some(text.trim().trim_start_matches('{').trim_end_matches('}').to_string()))
            }
            Some(other) => Err(self.wrong(other, "a value in braces")),
        }
    }

    /// `{[0:2], [0:4:1]}`: start, limit and stride, one a dim.
    pub fn ranges(&self, name: &str) -> Result<Vec<[usize; 3]>> {
        let attribute = self.find(name).ok_or_else(|| self.missing(name))?;
        let text = self.inside_braces(name)?.unwrap_or_default();
        let range = |part: &str| {
            let inner = part.trim().strip_prefix('[')?.strip_suffix(']')?;
            let numbers: Vec<usize> = inner.split(':').map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
            match numbers[..] {
                [start, limit] => Some([start, limit, 1]),
                [start, limit, stride] => Some([start, limit, stride]),
                _ => None,
            }
        };
        let parts = text.split(',').filter(|p| !p.trim().is_empty());
        parts.map(range).collect::<Option<_>>().ok_or_else(|| self.wrong(attribute, "a list of [start:limit:stride]"))
    }

    /// `0_1x2_3_1`: low, high and interior padding, one a dim.
    pub fn padding(&self, name: &str) -> Result<Vec<(i64, i64, usize)>> {
        let attribute = self.find(name).ok_or_else(|| self.missing(name))?;
        let dim = |part: &str| {
            let numbers: Vec<&str> = part.split('_').collect();
            match numbers[..] {
                [low, high] => Some((low.parse().ok()?, high.parse().ok()?, 0)),
                [low, high, interior] => Some((low.parse().ok()?, high.parse().ok()?, interior.parse().ok()?)),
                _ => None,
            }
        };
        let text = self.word(name).unwrap_or_default();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        text.split('x').map(dim).collect::<Option<_>>().ok_or_else(|| self.wrong(attribute, "low_high_interior a dim"))
    }

    /// `{size=1x512 stride=1x2 pad=0_0x511_0 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}`; none if it is not there.
    pub fn window(&self, name: &str) -> Result<Vec<WindowSpec>> {
        let Some(attribute) = self.find(name) else { return Ok(Vec::new()) };
        let text = self.inside_braces(name)?.unwrap_or_default();
        window(&text).ok_or_else(|| self.wrong(attribute, "a window"))
    }

    /// The computation that an attribute names, without `%`; for a list, the first.
    pub fn callee(&self, name: &str) -> Result<&'a str> {
        let attribute = self.find(name).ok_or_else(|| self.missing(name))?;
        let word = match &attribute.value {
            Value::Word(word) => word,
            Value::Words(words) if !words.is_empty() => &words[0],
            _ => return Err(self.wrong(attribute, "the name of a computation")),
        };
        Ok(word.trim_start_matches('%'))
    }

    /// `op_name` of the metadata: where the value comes from in the user's program.
    pub fn op_name(&self) -> Option<String> {
        let Value::Braces(text) = &self.find("metadata")?.value else { return None };
        let start = text.find("op_name=\"")? + "op_name=\"".len();
        Some(text[start..].split('"').next()?.to_string()).filter(|name| !name.is_empty())
    }
}

/// One dim of a window, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowSpec {
    pub size: usize,
    pub stride: usize,
    pub pad: (i64, i64),
    pub lhs_dilate: usize,
    pub rhs_dilate: usize,
    pub reversed: bool,
}

fn window(text: &str) -> Option<Vec<WindowSpec>> {
    let fields: Vec<(&str, Vec<&str>)> = text
        .split_whitespace()
        .map(|field| field.split_once('=').map(|(key, value)| (key, value.split('x').collect())))
        .collect::<Option<_>>()?;
    let field = |key: &str| fields.iter().find(|(k, _)| *k == key).map(|(_, values)| values);
    let known = ["size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"];
    let mut seen = HashSet::new();
    if fields.iter().any(|(key, _)| !known.contains(key) || !seen.insert(key)) {
        return None;
    }
    let rank = field("size").map_or(0, Vec::len);
    if fields.iter().any(|(_, values)| values.len() != rank) {
        return None;
    }
    let number = |key: &str, d: usize, default: usize| field(key).map_or(Some(default), |v| v[d].parse().ok());
    (0..rank)
        .map(|d| {
            let pad = match field("pad") {
                None => (0, 0),
                Some(values) => {
                    let (low, high) = values[d].split_once('_')?;
                    (low.parse().ok()?, high.parse().ok()?)
                }
            };
            Some(WindowSpec {
                size: number("size", d, 1)?,
                stride: number("stride", d, 1)?,
                pad,
                lhs_dilate: number("lhs_dilate", d, 1)?,
                rhs_dilate: number("rhs_dilate", d, 1)?,
                reversed: number("rhs_reversal", d, 0)? != 0,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_read() {
        let plain = WindowSpec { size: 1, stride: 1, pad: (0, 0), lhs_dilate: 1, rhs_dilate: 1, reversed: false };
        let cumsum = WindowSpec { size: 1024, pad: (1023, 0), ..plain };
        assert_eq!(window("size=1x1024 pad=0_0x1023_0"), Some(vec![plain, cumsum]));
        let batch = WindowSpec { size: 4, stride: 3, lhs_dilate: 4, ..plain };
        assert_eq!(window("size=4 stride=3 lhs_dilate=4"), Some(vec![batch]));
        assert_eq!(window(""), Some(vec![]));
        for broken in ["size=1x2 stride=1", "size=a", "size=1 colour=2", "size=1 pad=3", "size=1 stride=2 stride=1"] {
            assert_eq!(window(broken), None, "{broken}");
        }
    }
}
