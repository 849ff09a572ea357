//! The JSON of a custom call's `backend_config`.

use crate::ast::{self, Attribute};
use crate::builder::Emitter;
use crate::error::LowerError;
use crate::file::read_json;

type Result<T> = std::result::Result<T, LowerError>;

/// The JSON of `backend_config`.
pub struct Config {
    fields: serde_json::Value,
    wrong: LowerError,
}

pub fn config(e: &Emitter) -> Result<Config> {
    let attributes = e.attributes();
    let text = match attributes.word("backend_config") {
        Some(text) => text.to_string(),
        None => match attributes.find("backend_config") {
            Some(Attribute { value: ast::Value::Braces(text), .. }) => text.clone(),
            _ => String::new(),
        },
    };
    let read = read_json(text.as_bytes());
    let (fields, repeated) = read.map_err(|error| e.refuse("backend_config", format!("backend_config: {error}")))?;
    if let Some(name) = repeated {
        return Err(e.refuse("backend_config", format!("backend_config has {name:?} twice")));
    }
    Ok(Config { fields, wrong: e.refuse("backend_config", "") })
}

impl Config {
    pub fn value(&self, name: &str) -> Option<&serde_json::Value> {
        self.fields.get(name)
    }

    fn missing(&self, name: &str, what: &str) -> LowerError {
        LowerError { why: format!("backend_config has no {what} `{name}`"), ..self.wrong.clone() }
    }

    pub fn number(&self, name: &str) -> Result<usize> {
        let number = self.value(name).and_then(serde_json::Value::as_u64).and_then(|n| usize::try_from(n).ok());
        number.ok_or_else(|| self.missing(name, "number"))
    }

    pub fn float(&self, name: &str) -> Result<f32> {
        let float = self.value(name).and_then(serde_json::Value::as_f64);
        float.map(|f| f as f32).ok_or_else(|| self.missing(name, "number"))
    }
}
