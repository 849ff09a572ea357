//! Settings of a file: what its attributes and configurations say that reading does not follow ([`crate::ir::Setting`]).
//!
//! Every attribute is known by name (`attribute_table`): reading follows it, or it decides no bit. Any other one is kept, so that no proof
//! passes over it.

mod attribute_table;
mod config;
mod exact_fusion;
mod packed_count;

use std::collections::HashMap;

use crate::ir::{CollectiveAlgorithm, ResultAccuracy, Setting};

use crate::opcode::{Asynchronous, Collective, Elementwise, Opcode, Ranking, Single};

use super::ast::{Attribute, Computation, Instruction, Module, Value};
use super::fields::fields;
use super::view::Attributes;
pub(super) use packed_count::{Packed, has_code_of_its_own, packed_part};

use attribute_table as known;

/// The treatment of an attribute, for tests and listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Reading follows it.
    Followed,
    /// It decides no bit, for this reason.
    Harmless(&'static str),
    /// It is kept and compared.
    Kept,
}

/// The treatment of an attribute of an opcode; configurations are known key by key and count as kept.
pub fn treatment(opcode: &Opcode, attribute: &str) -> Known {
    if known::is_followed(opcode, attribute) {
        return Known::Followed;
    }
    let harmless = known::HARMLESS.iter().find(|(name, _)| *name == attribute);
    harmless.map_or(Known::Kept, |(_, reason)| Known::Harmless(reason))
}

/// The attributes that reading follows, each with the opcodes that have it.
pub fn opcodes_by_attribute() -> impl Iterator<Item = (&'static str, &'static [Opcode])> {
    known::FOLLOWED.iter().copied()
}

/// Whether a call is compiled as one function: the compiler marks small loops so (`SmallWhileLoopHoistingPass`).
pub(super) fn is_small_call(call: &Attributes) -> bool {
    let attributes = call.inside_braces("frontend_attributes").ok().flatten().unwrap_or_default();
    attributes.contains(&format!("{}=\"true\"", known::SMALL_CALL))
}

/// The settings of the module's header.
pub(super) fn of_module(module: &Module) -> Vec<Setting> {
    let mut settings = Vec::new();
    for attribute in &module.attributes {
        match attribute.name.as_str() {
            "frontend_attributes" => of_frontend(attribute, &mut settings),
            name if known::FOLLOWED_OF_MODULES.contains(&name) || is_harmless(name) => {}
            _ => settings.push(other(attribute)),
        }
    }
    settings.sort();
    settings
}

/// The algorithm of a collective, where its `backend_config` has one.
pub(super) fn algorithm(instruction: &Instruction) -> Option<CollectiveAlgorithm> {
    instruction.attributes.iter().find(|a| a.name == "backend_config").and_then(config::algorithm_of)
}

/// The operations of a fusion that are emitted packed, as its `backend_config` counts them.
fn packed_operations(instruction: &Instruction) -> Option<u64> {
    instruction.attributes.iter().find(|a| a.name == "backend_config").and_then(config::packed_operations)
}

/// The settings of a module's instructions, each read once.
#[derive(Default)]
pub(super) struct Read {
    /// By the address of the instruction, which stays where it is while its module is lowered.
    known: HashMap<*const Instruction, Vec<Setting>>,
}

impl Read {
    /// The settings of an instruction, with those of its callees: of computations that are inlined, those behind their braces alone.
    /// `find` gives the computation of a name.
    pub fn of<'a>(
        &mut self,
        instruction: &'a Instruction,
        find: &impl Fn(&str) -> Option<&'a Computation>,
    ) -> &[Setting] {
        let key = std::ptr::from_ref(instruction);
        if !self.known.contains_key(&key) {
            let mut settings = Vec::new();
            let is_exact = exact_fusion::is_exact(instruction, find);
            of_attributes(instruction, is_exact, &mut settings);
            for attribute in &instruction.attributes {
                for computation in called(attribute, find) {
                    of_computation(computation, is_exact, &mut settings);
                    if is_inlined(&instruction.opcode) {
                        continue;
                    }
                    for inner in &computation.instructions {
                        settings.extend_from_slice(self.of(inner, find));
                    }
                }
            }
            settings.sort();
            settings.dedup();
            self.known.insert(key, settings);
        }
        self.known.get(&key).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Whether the computations of an opcode are lowered instruction by instruction, each with its own settings.
fn is_inlined(opcode: &Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Control(_)
            | Opcode::Single(Single::Scan)
            | Opcode::Asynchronous(Asynchronous::AsyncStart | Asynchronous::CallStart)
            | Opcode::Collective(Collective::AllReduce | Collective::AllReduceStart | Collective::ReduceScatter)
    )
}

/// The computations that an attribute names.
fn called<'a>(
    attribute: &'a Attribute,
    find: &impl Fn(&str) -> Option<&'a Computation>,
) -> impl Iterator<Item = &'a Computation> {
    let words = match &attribute.value {
        Value::Word(word) => std::slice::from_ref(word),
        Value::Words(words) => words,
        _ => &[],
    };
    words.iter().filter_map(|word| find(word.trim_start_matches('%')))
}

fn is_harmless(name: &str) -> bool {
    known::HARMLESS.iter().any(|(known, _)| *known == name)
}

/// An attribute as it stands.
fn other(attribute: &Attribute) -> Setting {
    Setting::Other { name: attribute.name.clone(), value: attribute.value.to_string() }
}

/// Adds the settings behind a computation's braces. Of one that is exact the thread decides nothing.
fn of_computation(computation: &Computation, is_exact: bool, settings: &mut Vec<Setting>) {
    for attribute in &computation.attributes {
        match attribute.name.as_str() {
            "execution_thread" if is_exact => {}
            "execution_thread" => of_thread(attribute, settings),
            "frontend_attributes" => of_frontend(attribute, settings),
            name if is_harmless(name) => {}
            _ => settings.push(other(attribute)),
        }
    }
}

/// Adds the settings of an instruction's own attributes. Of one that is exact neither plan nor thread decides anything.
fn of_attributes(instruction: &Instruction, is_exact: bool, settings: &mut Vec<Setting>) {
    let opcode = &instruction.opcode;
    for attribute in &instruction.attributes {
        match attribute.name.as_str() {
            "backend_config" => config::of(instruction, attribute, is_exact, settings),
            "frontend_attributes" => of_frontend(attribute, settings),
            "metadata" => {
                let unknown = |(name, _): &(&str, &str)| !known::METADATA.contains(name);
                let fields = fields(inside(attribute), ' ').filter(unknown);
                settings.extend(fields.map(|(name, value)| of_key(attribute, name, value)));
            }
            "async_execution_thread" if is_exact => {}
            "async_execution_thread" => of_thread(attribute, settings),
            "result_accuracy" if matches!(opcode, Opcode::Unary(_)) => match accuracy(attribute) {
                Some(Accuracy::Default) => {}
                Some(Accuracy::Asked(accuracy)) => settings.push(Setting::Accuracy(accuracy)),
                None => settings.push(other(attribute)),
            },
            // Integers are compared in the order of their type.
            "type" if *opcode == Opcode::Elementwise(Elementwise::Compare) => {
                if !matches!(&attribute.value, Value::Word(word) if word == "FLOAT" || word == "TOTALORDER") {
                    settings.push(other(attribute));
                }
            }
            // Equal elements of `topk` are taken by the lower index, as in a stable sort.
            "is_stable" if *opcode == Opcode::Ranking(Ranking::TopK) => {
                if !matches!(&attribute.value, Value::Word(word) if word == "true") {
                    settings.push(other(attribute));
                }
            }
            name if known::is_followed(opcode, name) || is_harmless(name) => {}
            _ => settings.push(other(attribute)),
        }
    }
}

/// The thread that a computation runs on: the default one, or another unit of the chip.
fn of_thread(attribute: &Attribute, settings: &mut Vec<Setting>) {
    if !matches!(&attribute.value, Value::Text(thread) | Value::Word(thread) if thread == "main") {
        settings.push(other(attribute));
    }
}

fn of_frontend(attribute: &Attribute, settings: &mut Vec<Setting>) {
    let unknown = |(name, _): &(&str, &str)| !known::FRONTEND.iter().any(|(known, _)| known == name);
    let fields = fields(inside(attribute), ',').filter(unknown);
    settings.extend(fields.map(|(name, value)| of_key(attribute, name, value)));
}

/// A key inside an attribute.
fn of_key(attribute: &Attribute, name: &str, value: &str) -> Setting {
    Setting::Other { name: format!("{}.{name}", attribute.name), value: value.to_string() }
}

/// The text between an attribute's outermost braces; all of another text.
fn inside(attribute: &Attribute) -> &str {
    match &attribute.value {
        Value::Braces(text) => {
            let text = text.trim();
            text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text)
        }
        Value::Word(text) | Value::Text(text) => text,
        Value::Words(words) => words.first().map_or("", String::as_str),
    }
}

/// An accuracy as it is written.
enum Accuracy {
    Default,
    Asked(ResultAccuracy),
}

/// `{mode=highest}` or `{tolerance={atol=0,rtol=1e-05,ulps=2}}`; `None` for anything else.
fn accuracy(attribute: &Attribute) -> Option<Accuracy> {
    let mut given = fields(inside(attribute), ',');
    let (field, None) = (given.next()?, given.next()) else { return None };
    match field {
        ("mode", "default") => Some(Accuracy::Default),
        ("mode", "highest") => Some(Accuracy::Asked(ResultAccuracy::Highest)),
        ("tolerance", value) => {
            let (mut atol, mut rtol, mut ulps) = (0f64, 0f64, 0i64);
            for (name, value) in fields(value.strip_prefix('{')?.strip_suffix('}')?, ',') {
                match name {
                    "atol" => atol = value.parse().ok()?,
                    "rtol" => rtol = value.parse().ok()?,
                    "ulps" => ulps = value.parse().ok()?,
                    _ => return None,
                }
            }
            Some(Accuracy::Asked(ResultAccuracy::Tolerance { atol: atol.to_bits(), rtol: rtol.to_bits(), ulps }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
