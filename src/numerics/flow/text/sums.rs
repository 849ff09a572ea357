//! Sums, each with the type of its additions.

use crate::flow::Flow;
use crate::flow::enumeration::list;
use crate::flow::node::{Read, Value};

use super::wrap::wrap;

pub(super) fn section(out: &mut String, flow: &Flow) {
    // A sum of one number only moves it.
    let sums: Vec<String> =
        flow.values.iter().filter(|v| v.accumulation.as_ref().is_some_and(|a| a.terms > 1)).filter_map(sum).collect();
    if sums.is_empty() {
        return;
    }
    out.push_str("\nSums\n");
    for sum in sums {
        wrap(out, "  ", "    ", &sum);
    }
}

fn sum(value: &Value) -> Option<String> {
    let accumulation = value.accumulation.as_ref()?;
    let terms = if value.opcode == "dot" { "products" } else { "terms" };
    let mut text = format!("{}: {} {terms} in {}", value.name, accumulation.terms, accumulation.dtype);
    if let Some(to) = accumulation.rounded_to {
        text.push_str(&format!(", each partial sum rounded to {to}"));
    }
    let read = |read: &Read| Some(format!("{} ({})", read.value, read.holds?));
    let read: Vec<String> = value.reads.iter().filter_map(read).collect();
    if !read.is_empty() {
        text.push_str(&format!("; of {}", read.join(" and ")));
    }
    let mut seen: Vec<String> = Vec::new();
    for holds in value.uses.iter().filter_map(|u| u.holds).map(|holds| holds.to_string()) {
        if !seen.contains(&holds) {
            seen.push(holds);
        }
    }
    if !seen.is_empty() {
        text.push_str(&format!("; seen in {}", list(&seen.iter().map(String::as_str).collect::<Vec<_>>())));
    }
    // Numbers of bf16 in f32 are taken whole.
    let is_wide = |r: &Read| r.holds.is_some_and(|h| h.name() == "f32") || r.rounded_by.as_ref() == Some(&value.name);
    if let Some(operands) = &accumulation.operands
        && value.reads.iter().any(is_wide)
    {
        text.push_str(&format!("; {operands}"));
    }
    if let Some(tiling) = &accumulation.tiling {
        text.push_str(&format!("; {tiling}"));
    }
    Some(text)
}
