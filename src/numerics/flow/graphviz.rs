//! The flow as a drawing for Graphviz: values coloured by the formats that they hold, in one cluster a fusion.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

use crate::analysis::Precision;

use super::Flow;
use super::elision::Effect;
use super::finding::FindingKind;
use super::node::Value;

/// The text below the drawing.
const LEGEND: &str = "Numbers in bf16: yellow, f16: orange, f32: blue, f64: violet, integers: grey. Red edge: a conversion drops bits. \
                      Red border: readers see it in several precisions. \
                      Double border: a compiler may drop its rounding for some reader.";

/// The flow in the DOT language. With `all`, constants and the values made of them are drawn as well.
pub fn dot(flow: &Flow, all: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&flow.module));
    out.push_str("  rankdir=TB;\n  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\"];\n");
    let _ = writeln!(out, "  label={};\n  fontname=\"Helvetica\";", quoted(LEGEND));
    let seen_differently: HashSet<&str> = flow
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::TwoViews)
        .flat_map(|finding| finding.values.iter().map(String::as_str))
        .collect();
    let elidable: HashSet<&str> =
        flow.elisions.iter().filter(|e| e.effect == Effect::RoundingRemoved).map(|e| e.value.as_str()).collect();
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
            let mut marks = String::new();
            if seen_differently.contains(value.name.as_str()) {
                marks.push_str(", color=\"#c0392b\", penwidth=2");
            }
            if elidable.contains(value.name.as_str()) {
                marks.push_str(", peripheries=2");
            }
            let label = quoted(&label(value));
            let _ = writeln!(out, "{indent}n{id} [label={label}{marks}, fillcolor=\"{}\"];", colour(value));
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

fn label(value: &Value) -> String {
    let inside = value.fusion.as_deref().and_then(|fusion| value.name.strip_prefix(fusion)?.strip_prefix('/'));
    let mut label = format!("{}\n{} {}", inside.unwrap_or(&value.name), value.what, value.shape);
    if let Some(role) = value.role.as_ref().filter(|role| **role != value.what) {
        let _ = write!(label, "\n{role}");
    }
    if value.is_narrow_in_wide() {
        let _ = write!(label, "\nholds {}", holds(value));
    }
    label
}

fn holds(value: &Value) -> Cow<'static, str> {
    // Several arrays together have no one format.
    if value.opcode == "tuple" {
        return "any".into();
    }
    value.holds.map_or("integers".into(), Precision::name)
}

fn colour(value: &Value) -> &'static str {
    match &*holds(value) {
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
