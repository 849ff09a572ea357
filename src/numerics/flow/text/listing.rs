//! The values, each with its readers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write;

use crate::flow::Flow;
use crate::flow::node::{Read, Use, Value};

use super::wrap::{reader, short, wrap};

/// Readers from which on a list that stands above already is named by its value.
const MANY: usize = 4;

/// One line a value, and under it one for each precision in which readers see it. With `all`, values that only move or
/// convert have lines too.
pub(super) fn section(out: &mut String, flow: &Flow, all: bool) {
    let shown = |v: &&Value| v.is_listed() || v.opcode == "parameter" && v.holds.is_some() || all && !v.constant;
    out.push_str("\nFlow\n");
    out.push_str(
        "  numbers: the format that all its numbers belong to; \"rounded\": computed, and rounded to its type\n",
    );
    out.push_str("  bf16 (convert.1) -> y: y sees the value in bf16, because convert.1 rounds it\n\n");
    let _ = writeln!(out, "  {:<26} {:<15} {:<18} {:<12} part of", "value", "operation", "type", "numbers");
    let mut place = None;
    // Lists of readers, each with the value that has it first.
    let mut told: HashMap<String, String> = HashMap::new();
    let outside = if flow.compiled { "outside fusions" } else { "entry" };
    let (parameters, others): (Vec<&Value>, Vec<&Value>) =
        flow.values.iter().filter(shown).partition(|v| v.opcode == "parameter");
    for value in parameters.into_iter().chain(others) {
        let fusion = value.fusion.as_deref();
        let here = if value.opcode == "parameter" { Some("parameters") } else { fusion };
        if place != Some(here) {
            let _ = writeln!(out, " {}", here.unwrap_or(outside));
            place = Some(here);
        }
        line(out, value);
        for code in &value.code {
            wrap(out, "      ", "        ", code);
        }
        for (seen, uses) in sights(value) {
            let readers: Vec<String> = uses.iter().map(|one| reader(one, fusion)).collect();
            let each = readers.join(", ");
            let listed = match told.entry(each.clone()) {
                // All values of an exchange have the readers of all: listed for each, they would be as many as its square.
                Entry::Occupied(first) if uses.len() > MANY => format!("the {} readers of {}", uses.len(), first.get()),
                first => {
                    first.or_insert_with(|| value.name.clone());
                    each
                }
            };
            wrap(out, "      ", "        ", &format!("{seen} -> {listed}"));
        }
        let read = |read: &Read| Some(format!("{} in {}", short(&read.value, fusion), read.holds?));
        let reads: Vec<String> = value.reads.iter().filter_map(read).collect();
        // What a value without floats to hand on has seen is all there is to say of it.
        if value.holds.is_none() && !reads.is_empty() {
            wrap(out, "      ", "        ", &format!("sees {}", reads.join(", ")));
        }
    }
}

fn line(out: &mut String, value: &Value) {
    let numbers = match value.holds {
        None => String::new(),
        Some(holds) if value.is_narrow_in_wide() => format!("{holds} in {}", value.dtype.unwrap_or("a tuple")),
        // Wider types round as well, but there is nothing wider to compare with.
        Some(holds) if value.computes && holds.fraction_bits < crate::num::F32.fraction_bits => {
            format!("{holds} rounded")
        }
        Some(holds) => holds.to_string(),
    };
    let role = value.role.as_deref().unwrap_or("");
    let part = if role == value.what { "" } else { role };
    let name = short(&value.name, value.fusion.as_deref());
    let named = format!("  {name:<26} {:<15} {}", value.what, value.shape);
    let tail = format!("{numbers:<12} {part}");
    let line = format!("{named:<63} {}", tail.trim_end());
    match line.chars().count() > super::wrap::COLUMNS {
        true => {
            let _ = writeln!(out, "{named}\n{:<63} {}", "", tail.trim_end());
        }
        false => {
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}

/// Uses of a value by its appearance there, in the order of the first of each.
fn sights(value: &Value) -> Vec<(String, Vec<&Use>)> {
    let mut sights: Vec<(String, Vec<&Use>)> = Vec::new();
    for one in &value.uses {
        let seen = match (&one.rounded_by, one.holds) {
            (_, None) => "index".to_string(),
            (Some(by), Some(holds)) if *by == value.name => format!("{holds} (its type)"),
            (Some(by), Some(holds)) => format!("{holds} ({})", short(by, value.fusion.as_deref())),
            (None, Some(holds)) => holds.to_string(),
        };
        match sights.iter_mut().find(|(same, _)| *same == seen) {
            Some((_, uses)) => uses.push(one),
            None => sights.push((seen, vec![one])),
        }
    }
    for (_, uses) in &mut sights {
        uses.dedup_by_key(|one| &one.reader);
    }
    sights
}
