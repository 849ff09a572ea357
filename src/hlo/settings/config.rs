//! `backend_config`: what a compiler notes of an instruction. JSON, or the `name = value` of a custom call.

use serde_json::{Map, Value as Json};

use crate::ast::{Attribute, Instruction, Value};
use crate::fields::fields;
use crate::file::read_json;
use crate::ir::{CollectiveAlgorithm, Setting};
use crate::opcode::{Opcode, Single};
use crate::view::Attributes;

use super::attribute_table::{self as known, Meaning};

/// Adds the settings of a configuration. Of an instruction that is exact a plan decides nothing.
pub fn of(instruction: &Instruction, attribute: &Attribute, is_exact: bool, settings: &mut Vec<Setting>) {
    let text = match &attribute.value {
        Value::Text(text) | Value::Braces(text) | Value::Word(text) => text.trim(),
        Value::Words(words) if words.is_empty() => return,
        Value::Words(_) => return settings.push(super::other(attribute)),
    };
    if text.is_empty() {
        return;
    }
    match read_json(text.as_bytes()) {
        // Which of two values a compiler takes is not known: the whole is compared.
        Ok((Json::Object(_), Some(_))) => settings.push(super::other(attribute)),
        Ok((Json::Object(config), None)) => of_object(instruction, &config, is_exact, settings),
        _ if instruction.opcode == Opcode::Single(Single::CustomCall) => {
            let Some(inside) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
                return settings.push(super::other(attribute));
            };
            let unknown = |(name, value): &(&str, &str)| !is_of_target(instruction, name, value);
            let unknown = fields(inside, ',').filter(unknown);
            settings.extend(unknown.map(|(name, value)| kept(name, value.to_string())));
        }
        _ => settings.push(super::other(attribute)),
    }
}

fn kept(name: &str, value: String) -> Setting {
    Setting::Other { name: format!("backend_config.{name}"), value }
}

/// Whether the target of a custom call follows a key, or does what it says anyway.
fn is_of_target(instruction: &Instruction, name: &str, value: &str) -> bool {
    let target = Attributes::of(instruction).word("custom_call_target").unwrap_or_default();
    let is_called = |pattern: &str| match pattern.split_once('*') {
        Some((start, end)) => {
            let bare = target.strip_suffix("_ffi").unwrap_or(target);
            bare.len() >= pattern.len() - 1 && bare.starts_with(start) && bare.ends_with(end)
        }
        None => target == pattern,
    };
    let follows = known::FOLLOWED_OF_CUSTOM_CALLS.iter().any(|(of, keys)| is_called(of) && keys.contains(&name));
    let does = |(of, key, values): &(&str, &str, &[&str])| is_called(of) && *key == name && values.contains(&value);
    follows || known::OF_CUSTOM_CALLS.iter().any(does)
}

fn of_object(instruction: &Instruction, config: &Map<String, Json>, is_exact: bool, settings: &mut Vec<Setting>) {
    let computes = !is_exact && !known::MOVES.contains(&instruction.opcode);
    for (name, value) in config {
        let meaning = known::CONFIG.iter().find(|(known, _)| known == name).map(|(_, meaning)| *meaning);
        match (name.as_str(), meaning) {
            ("collective_algorithm_config", _) => match algorithm(value) {
                Some(algorithm) => settings.push(Setting::CollectiveAlgorithm(algorithm)),
                None => settings.push(kept(name, value.to_string())),
            },
            ("flag_configs", _) => of_flags(value, computes, settings),
            // The text of a kernel is compared as it stands, but for the two that are known by name.
            ("custom_call_config", _) if !is_ragged_kernel(instruction) => {}
            (_, Some(Meaning::Nested)) => of_nested(name, value, settings),
            (_, Some(Meaning::Plan)) => {
                if computes && !is_empty(value) {
                    settings.push(kept(name, value.to_string()));
                }
            }
            (_, Some(meaning)) if is_followed_or_harmless(meaning, value) => {}
            _ if is_of_target(instruction, name, &value.to_string()) => {}
            _ => settings.push(kept(name, value.to_string())),
        }
    }
}

fn is_followed_or_harmless(meaning: Meaning, value: &Json) -> bool {
    match meaning {
        Meaning::Harmless(_) | Meaning::Followed => true,
        Meaning::FollowedAs(known) => value.as_str() == Some(known),
        Meaning::Plan | Meaning::Nested => false,
    }
}

/// Whether a call is one of the kernels of which reading follows the name and the precision alone (`ragged_kernel`).
fn is_ragged_kernel(instruction: &Instruction) -> bool {
    let name = Attributes::of(instruction).op_name().unwrap_or_default();
    name.rsplit('/').next().is_some_and(|last| last.starts_with("ragged-dot"))
}

fn of_nested(name: &str, value: &Json, settings: &mut Vec<Setting>) {
    let Json::Object(fields) = value else { return settings.push(kept(name, value.to_string())) };
    for (field, value) in fields {
        let path = format!("{name}.{field}");
        let meaning = known::NESTED.iter().find(|(known, _)| *known == path).map(|(_, meaning)| *meaning);
        if !meaning.is_some_and(|meaning| is_followed_or_harmless(meaning, value)) {
            settings.push(kept(&path, value.to_string()));
        }
    }
}

/// Flags of a compiler for one operation.
fn of_flags(value: &Json, computes: bool, settings: &mut Vec<Setting>) {
    let Json::Array(flags) = value else { return settings.push(kept("flag_configs", value.to_string())) };
    for flag in flags {
        let name = flag.get("flag_type").and_then(Json::as_str);
        let is_harmless = name.is_some_and(|name| known::FLAGS.iter().any(|(known, _)| *known == name));
        if computes && !is_harmless {
            settings.push(kept("flag_configs", flag.to_string()));
        }
    }
}

/// Whether a value says nothing: lists and objects of nothing.
fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(list) => list.iter().all(is_empty),
        Json::Object(fields) => fields.values().all(is_empty),
        _ => false,
    }
}

/// The algorithm of a collective, where its configuration has one.
pub fn algorithm_of(attribute: &Attribute) -> Option<CollectiveAlgorithm> {
    algorithm(&value_of(attribute, "collective_algorithm_config")?)
}

/// The number of packed operations, where a fusion's configuration has one.
pub fn packed_operations(attribute: &Attribute) -> Option<u64> {
    value_of(attribute, "bf16_mapped_op_count")?.get("integer")?.as_str()?.parse().ok()
}

/// The value of a key of a configuration; `None` where it has none.
fn value_of(attribute: &Attribute, key: &str) -> Option<Json> {
    let (Value::Text(text) | Value::Braces(text) | Value::Word(text)) = &attribute.value else { return None };
    // Most configurations have no such key: only what names it is parsed.
    if !text.contains(key) {
        return None;
    }
    let mut config: Map<String, Json> = serde_json::from_str(text).ok()?;
    config.remove(key)
}

fn algorithm(value: &Json) -> Option<CollectiveAlgorithm> {
    let fields = value.as_object()?;
    let text = |name: &str| fields.get(name).map_or(Some(""), Json::as_str).map(str::to_string);
    let details = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "emitter" | "strategy"));
    let mut details: Vec<(String, String)> = details.map(|(name, value)| (name.clone(), value.to_string())).collect();
    details.sort();
    Some(CollectiveAlgorithm { emitter: text("emitter")?, strategy: text("strategy")?, details })
}
