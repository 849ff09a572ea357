//! The flow as a drawing for Graphviz: values coloured by what they hold, in one cluster a fusion.

use std::fmt::Write;

use super::Flow;
use super::value::Value;

/// The flow in the DOT language. With `all`, constants and what is made of them are drawn as well.
pub fn dot(flow: &Flow, all: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&flow.module));
    out.push_str("  rankdir=TB;\n  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\"];\n");
    let drawn = |value: &Value| all || !value.constant;
    let mut clusters: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (id, value) in flow.values.iter().enumerate().filter(|(_, v)| drawn(v)) {
        let fusion = value.fusion.as_deref();
        match clusters.iter_mut().find(|(name, _)| *name == fusion) {
            Some((_, members)) => members.push(id),
            None => clusters.push((fusion, vec![id])),
        }
    }
    for (at, (fusion, members)) in clusters.iter().enumerate() {
        let indent = if fusion.is_some() { "    " } else { "  " };
        if let Some(name) = fusion {
            let _ = writeln!(out, "  subgraph cluster_{at} {{\n    label={};", quoted(name));
        }
        for id in members {
            let value = &flow.values[*id];
            let label = format!("{}\n{} {}\nholds {}", value.name, value.what, value.shape, holds(value));
            let _ = writeln!(out, "{indent}n{id} [label={}, fillcolor=\"{}\"];", quoted(&label), colour(value));
        }
        if fusion.is_some() {
            out.push_str("  }\n");
        }
    }
    for (id, value) in flow.values.iter().enumerate().filter(|(_, v)| drawn(v)) {
        for operand in value.operands.iter().filter(|o| drawn(&flow.values[**o])) {
            // The edge into a rounding is where bits are lost.
            let style = if value.rounds_to.is_some() { " [color=\"#c0392b\", penwidth=2]" } else { "" };
            let _ = writeln!(out, "  n{operand} -> n{id}{style};");
        }
    }
    out.push_str("}\n");
    out
}

fn holds(value: &Value) -> &'static str {
    value.holds.map_or("integers", |holds| holds.name())
}

fn colour(value: &Value) -> &'static str {
    match holds(value) {
        "f64" => "#c39bd3",
        "f32" => "#aed6f1",
        "tf32" => "#a3e4d7",
        "bf16" => "#f9e79f",
        "f16" => "#f5cba7",
        "integers" => "#d5d8dc",
        "any" => "#ffffff",
        _ => "#f1948a",
    }
}

/// A string of the DOT language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
