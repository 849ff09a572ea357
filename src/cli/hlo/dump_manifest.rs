//! The manifest beside a dump, with the releases and settings that made it, as `scripts/dump_hlo.py` writes it.

use std::path::Path;

use serde_json::{Map, Value};

use ulpgate_front::file::read_whole;

use super::Failure;

/// The releases and settings that made a dump, by name: releases, topology, flags, function, shapes, draw, seed.
pub struct DumpManifest(Map<String, Value>);

/// The fields that are told first, in this order. The rest follows by name.
const FIRST: [&str; 6] = ["jax", "jaxlib", "libtpu", "topology", "flags", "function"];

/// The fields that say nothing of the program: the version of the manifest, and the interpreter.
const LEFT_OUT: [&str; 2] = ["manifest", "python"];

impl DumpManifest {
    /// The manifest of a file: of `f.excess_on.hlo` in `f.made.json` beside it; `None` where there is none.
    ///
    /// # Errors
    /// If there is a file of that name that is none.
    pub fn of(file: &Path) -> Result<Option<DumpManifest>, Failure> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let names = name.rmatch_indices('.').map(|(at, _)| format!("{}.made.json", &name[..at]));
        let Some(path) = names.map(|name| file.with_file_name(name)).find(|path| path.is_file()) else {
            return Ok(None);
        };
        let fail = |why: String| Failure::Message(format!("{}: {why}", path.display()));
        let text = read_whole(&path).map_err(|error| fail(format!("failed to read it: {error}")))?;
        match serde_json::from_slice(&text) {
            Ok(Value::Object(fields)) if fields.get("manifest") == Some(&Value::from(1)) => {
                Ok(Some(DumpManifest(fields)))
            }
            Ok(_) => {
                Err(fail("it is no manifest of scripts/dump_hlo.py (\"manifest\": 1); remove it or dump anew".into()))
            }
            Err(error) => Err(fail(format!("it is no JSON: {error}; remove it or dump anew"))),
        }
    }

    /// The differences from this manifest to another: `jax 0.8.1 -> 0.12.0.1`, one a text.
    pub fn changes(&self, after: &DumpManifest) -> Vec<String> {
        let (before, after) = (flat(&self.0), flat(&after.0));
        let names: Vec<&String> = before.iter().chain(&after).map(|(name, _)| name).collect();
        let place = |name: &str| {
            let group = name.split_whitespace().next().unwrap_or_default();
            FIRST.iter().position(|known| *known == group).unwrap_or(FIRST.len())
        };
        let mut names: Vec<(usize, &String)> = names.into_iter().map(|name| (place(name), name)).collect();
        names.sort();
        names.dedup();
        let of = |fields: &[(String, String)], name: &str| {
            fields.iter().find(|(own, _)| own == name).map_or("none".to_string(), |(_, value)| value.clone())
        };
        let sides = names.into_iter().map(|(_, name)| (name, of(&before, name), of(&after, name)));
        let changed = sides.filter(|(_, before, after)| before != after);
        changed.map(|(name, before, after)| format!("{name} {before} -> {after}")).collect()
    }

    /// The topology that a dump was compiled for, such as `v6e:2x2`.
    pub fn topology(&self) -> Option<&str> {
        self.0.get("topology").and_then(Value::as_str)
    }

    /// The manifest as JSON.
    pub fn to_json(&self) -> Value {
        Value::Object(self.0.clone())
    }
}

/// The fields as texts; those of an object each with its own name.
fn flat(fields: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) if !text.is_empty() && !text.chars().any(char::is_control) => text.clone(),
        Value::Array(list) => {
            let texts = list.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_string));
            format!("({})", texts.collect::<Vec<_>>().join(", ").escape_debug())
        }
        other => other.to_string(),
    };
    let mut found = Vec::new();
    for (name, value) in fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        match value {
            Value::Object(inner) => {
                found.extend(inner.iter().map(|(key, value)| (format!("{name} {}", key.escape_debug()), text(value))));
            }
            _ => found.push((name.escape_debug().to_string(), text(value))),
        }
    }
    found
}
