//! Sums, each with the type of its additions.

use crate::flow::Flow;
use crate::flow::finding::list;
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
    // FACTS 2.1: only f32 operands are split.
    if let Some(precision) = accumulation.precision
        && value.reads.iter().any(|r| r.holds.is_some_and(|h| h.name() == "f32"))
    {
        let passes = match precision {
            crate::ir::Precision::Default => "1 bf16 pass",
            crate::ir::Precision::High => "3 bf16 passes",
            crate::ir::Precision::Highest => "6 bf16 passes",
        };
        text.push_str(&format!("; precision {} (f32 operands on a TPU: {passes})", precision.name()));
    }
    if let Some(tiling) = &accumulation.tiling {
        text.push_str(&format!("; {tiling}"));
    }
    Some(text)
}
