//! JSON whose objects name each of their values once.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The value of a text, and the first name that stands twice in one object of it, at any depth. Readers of JSON take the last of its
/// values in silence, and the safetensors format forbids it.
///
/// # Errors
/// If the text is no JSON.
pub fn read_json(text: &[u8]) -> serde_json::Result<(Value, Option<String>)> {
    let mut repeated = None;
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Reading(&mut repeated).deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, repeated))
}

/// The first name that stands twice in one object of a text; `None` where there is none, or the text is no JSON, which is for its reader
/// to say.
pub fn repeated_name(text: &[u8]) -> Option<String> {
    read_json(text).ok()?.1
}

/// A walk through a text that makes its value and keeps the repeated name.
struct Reading<'f>(&'f mut Option<String>);

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Value, D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // JSON has finite numbers alone.
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Reading(&mut *self.0))? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            let value = object.next_value_seed(Reading(&mut *self.0))?;
            if fields.insert(name.clone(), value).is_some() {
                self.0.get_or_insert(name);
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::read_json;

    #[test]
    fn a_name_is_repeated_in_one_object_alone() {
        for (text, found) in [
            (r#"{"a": 1, "b": [1.5, null, true, "a", -3], "c": {"a": {}, "b": 2}}"#, None),
            (r#"{"a": 1, "b": 2, "a": 1}"#, Some("a")),
            (r#"[{"a": 1}, {"b": [{"c": 1, "c": 2}]}]"#, Some("c")),
            (r#"{"\u0061": 1, "a": 2}"#, Some("a")),
        ] {
            let (value, repeated) = read_json(text.as_bytes()).unwrap();
            assert_eq!(repeated.as_deref(), found, "{text}");
            assert_eq!(value, serde_json::from_str::<serde_json::Value>(text).unwrap(), "{text}");
        }
        for text in ["", r#"{"a": 1, "a": 2"#, r#"{"a": 1} b"#] {
            assert!(read_json(text.as_bytes()).is_err(), "{text}");
        }
    }
}
