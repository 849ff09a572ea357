//! A distribution with its parameters, as text and back.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::num::{self, Format};
use crate::tensor::DType;

use super::parameter::{BF16_VALUES, COMMON};
use super::{Input, InputError, ParameterDoc, find_input};

/// A distribution and its parameters, as in `near-tie[scale=4,ulps=1]`.
///
/// Displayed canonically: keys sorted, defaults left out, numbers in their shortest form that reads back the same. Equal
/// specs display alike and the other way round.
#[derive(Clone)]
pub struct InputSpec {
    input: &'static dyn Input,
    /// Only what differs from its default.
    settings: BTreeMap<&'static str, f64>,
}

impl InputSpec {
    /// The distribution with all its defaults.
    pub fn new(input: &'static dyn Input) -> InputSpec {
        InputSpec { input, settings: BTreeMap::new() }
    }

    /// The distribution.
    pub fn input(&self) -> &'static dyn Input {
        self.input
    }

    /// The value of one of the input's parameters.
    pub fn get(&self, parameter: &ParameterDoc) -> f64 {
        self.settings.get(parameter.name).copied().unwrap_or(parameter.default)
    }

    /// The format that values of a dtype are rounded to: its own, or bf16 where that was asked for and the
    /// dtype holds every bf16 number. `None` for integers and predicates.
    pub fn grid(&self, dtype: DType) -> Option<&'static Format> {
        let format = dtype.format()?;
        let wider = matches!(dtype, DType::F32 | DType::F64);
        Some(if wider && self.get(&BF16_VALUES) != 0.0 { &num::BF16 } else { format })
    }

    /// This spec with one parameter set.
    ///
    /// # Errors
    /// If the distribution has no such parameter, or the value is out of its range.
    pub fn with(mut self, key: &str, value: f64) -> Result<InputSpec, InputError> {
        let parameter = self.parameter(key)?;
        self.set(parameter, value, &number(value))?;
        Ok(self)
    }

    fn parameter(&self, key: &str) -> Result<&'static ParameterDoc, InputError> {
        let known = || self.input.parameters().iter().chain(COMMON);
        known().find(|parameter| parameter.name == key).ok_or_else(|| {
            let hint = crate::name::hint(key, self.input.parameters().iter().chain(COMMON).map(|p| p.name));
            InputError::UnknownParameter { input: self.input.name(), key: key.to_string(), hint }
        })
    }

    fn set(&mut self, parameter: &'static ParameterDoc, value: f64, text: &str) -> Result<(), InputError> {
        let (min, max) = parameter.range;
        if !(min..=max).contains(&value) || parameter.whole && value.fract() != 0.0 {
            return Err(InputError::BadValue {
                input: self.input.name(),
                key: parameter.name,
                value: text.to_string(),
                kind: if parameter.whole { "whole number" } else { "number" },
                min: number(min),
                max: number(max),
            });
        }
        if value == parameter.default {
            self.settings.remove(parameter.name);
        } else {
            self.settings.insert(parameter.name, value);
        }
        Ok(())
    }
}

impl FromStr for InputSpec {
    type Err = InputError;

    fn from_str(text: &str) -> Result<InputSpec, InputError> {
        let syntax = |reason: &str| InputError::Syntax { text: text.to_string(), reason: reason.to_string() };
        let (name, list) = match text.trim().split_once('[') {
            None => (text.trim(), None),
            Some((name, rest)) => {
                (name, Some(rest.strip_suffix(']').ok_or_else(|| syntax("the closing `]` is missing or not last"))?))
            }
        };
        let mut spec = InputSpec::new(find_input(name)?);
        let mut seen = Vec::new();
        for pair in list.into_iter().flat_map(|list| list.split(',')) {
            let (key, value) = pair.split_once('=').ok_or_else(|| syntax("a parameter lacks its `=value`"))?;
            let (key, value) = (key.trim(), value.trim());
            let parameter = spec.parameter(key)?;
            if seen.contains(&parameter.name) {
                return Err(InputError::RepeatedParameter { input: spec.input.name(), key: parameter.name });
            }
            seen.push(parameter.name);
            // What is no number is out of every range, as NaN is.
            spec.set(parameter, value.parse().unwrap_or(f64::NAN), value)?;
        }
        Ok(spec)
    }
}

impl fmt::Display for InputSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.input.name())?;
        if self.settings.is_empty() {
            return Ok(());
        }
        let settings: Vec<String> =
            self.settings.iter().map(|(key, value)| format!("{key}={}", number(*value))).collect();
        write!(f, "[{}]", settings.join(","))
    }
}

impl fmt::Debug for InputSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputSpec({self})")
    }
}

impl PartialEq for InputSpec {
    fn eq(&self, other: &InputSpec) -> bool {
        self.input.name() == other.input.name() && self.settings == other.settings
    }
}

/// The shortest decimal that reads back as `value`, with an exponent where that is shorter than a row of zeros.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-4..1e6).contains(&value.abs()) { format!("{value}") } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<InputSpec, InputError> {
        text.parse()
    }

    #[test]
    fn canonical_form() {
        for (text, canonical) in [
            ("normal", "normal"),
            ("normal[scale=1]", "normal"),
            ("normal[scale=1.50]", "normal[scale=1.5]"),
            (" logits[ scale = 4 , gumbel=1e0 ] ", "logits[gumbel=1,scale=4]"),
            ("normal[scale=2,bf16=1]", "normal[bf16=1,scale=2]"),
            ("ill-conditioned[cond=1e20]", "ill-conditioned[cond=1e20]"),
            ("ill-conditioned[cond=100000000000000000000]", "ill-conditioned[cond=1e20]"),
            ("normal[scale=0.00001]", "normal[scale=1e-5]"),
        ] {
            let spec = parse(text).unwrap();
            assert_eq!(spec.to_string(), canonical);
            assert_eq!(parse(canonical).unwrap(), spec);
        }
        assert_eq!(parse("near-tie").unwrap().with("ulps", 2.0).unwrap().to_string(), "near-tie[ulps=2]");
    }

    #[test]
    fn errors_say_what_to_write() {
        for (text, message) in [
            ("nomral", "unknown input `nomral`; did you mean `normal`?"),
            ("", "unknown input ``; known: clustered, fixture-subnormal,"),
            ("normal[scal=2]", "input `normal` has no parameter `scal`; did you mean `scale`?"),
            ("normal[sigma=2]", "known: scale, bf16"),
            ("normal[scale=2,scale=1]", "parameter `scale` is set twice"),
            ("normal[scale=1,scale=1]", "parameter `scale` is set twice"),
            ("normal[scale=x]", "`scale=x` is not a number from 1e-30 to 1e30"),
            ("normal[scale=nan]", "`scale=nan` is not a number from"),
            ("normal[scale=-1]", "`scale=-1` is not a number from"),
            ("near-tie[ulps=0.5]", "`ulps=0.5` is not a whole number from 0 to 64"),
            ("normal[scale=2", "the closing `]` is missing or not last"),
            ("normal[scale=2]x", "the closing `]` is missing or not last"),
            ("normal[]", "a parameter lacks its `=value`"),
            ("normal[scale]", "a parameter lacks its `=value`; write NAME or NAME[key=value,...]"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
