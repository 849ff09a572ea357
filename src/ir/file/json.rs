//! JSON whose objects name each of their values once.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// The first name that stands twice in one object of a text, at any depth. Readers of JSON take the last of its values in silence, and
/// the safetensors format forbids it. `None` where there is none, or the text is no JSON, which is for its reader to say.
pub fn repeated_name(text: &[u8]) -> Option<String> {
    let mut found = None;
    Names(&mut found).deserialize(&mut serde_json::Deserializer::from_slice(text)).ok()?;
    found
}

/// A walk through a text that keeps nothing but the repeated name.
struct Names<'f>(&'f mut Option<String>);

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<(), D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Names(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = object.next_key::<String>()? {
            object.next_value_seed(Names(&mut *self.0))?;
            if !seen.insert(name.clone()) {
                self.0.get_or_insert(name);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::repeated_name;

    #[test]
    fn a_name_is_repeated_in_one_object_alone() {
        for (text, found) in [
            (r#"{"a": 1, "b": [1.5, null, true, "a", -3], "c": {"a": {}, "b": 2}}"#, None),
            (r#"{"a": 1, "b": 2, "a": 1}"#, Some("a")),
            (r#"[{"a": 1}, {"b": [{"c": 1, "c": 2}]}]"#, Some("c")),
            (r#"{"\u0061": 1, "a": 2}"#, Some("a")),
            (r#"{"a": 1, "a": 2"#, None),
            ("", None),
        ] {
            assert_eq!(repeated_name(text.as_bytes()).as_deref(), found, "{text}");
        }
    }
}
