//! The flow as a person reads it, in 100 columns.

use std::collections::HashMap;
use std::fmt::Write;

use super::Flow;
use super::elision::Elision;
use super::finding::{FindingKind, listed};
use super::precision::Precision;
use super::value::{Read, Use, Value};

/// The widest line, unless a name alone is wider.
const COLUMNS: usize = 100;

/// The flow as text. With `all`, values that only move or convert have lines of their own.
pub fn text(flow: &Flow, all: bool) -> String {
    let mut out = String::new();
    let kind = if flow.compiled { "a compiler's output" } else { "not yet compiled" };
    let _ = writeln!(out, "{}: {kind}\n", flow.module);
    let columns = format!("  {:<26} {:<15} {:<18} {:<11} part of", "value", "operation", "type", "numbers");
    let _ = writeln!(out, "{columns}");
    out.push_str(&values(flow, all));
    section(&mut out, "What is computed here", &groups(flow));
    for (kinds, heading) in [
        (&[FindingKind::TwoViews, FindingKind::MixedCompare][..], "One value, several precisions"),
        (&[FindingKind::TwoViewsIfCompiled][..], "One value, several precisions, if compiled"),
        (&[FindingKind::Sum][..], "Sums"),
    ] {
        let found: Vec<String> =
            flow.findings.iter().filter(|f| kinds.contains(&f.kind)).map(|f| f.text.clone()).collect();
        section(&mut out, heading, &found);
    }
    if !flow.modes.is_empty() {
        let mut lines = elisions(&flow.elisions);
        if lines.is_empty() {
            lines.push(format!("None under {}.", listed(&flow.modes.iter().map(String::as_str).collect::<Vec<_>>())));
        }
        section(
            &mut out,
            "Roundings that compilers change (A: simplify-fp-conversions, B: float normalization)",
            &lines,
        );
    }
    let c = &flow.counts;
    let counts = format!(
        "Values: {}, of which compute on floats: {}. Roundings: {}. Views of a rounded value that a compiler may widen: \
         {}. Values with numbers narrower than their type: {}. Values seen in several precisions: {}.",
        c.values, c.computing, c.roundings, c.elidable, c.narrow_in_wide, c.two_views
    );
    out.push('\n');
    wrapped(&mut out, "", "", &counts);
    out
}

fn section(out: &mut String, heading: &str, paragraphs: &[String]) {
    if paragraphs.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{heading}");
    for paragraph in paragraphs {
        wrapped(out, "  - ", "    ", paragraph);
    }
}

fn values(flow: &Flow, all: bool) -> String {
    let mut out = String::new();
    let mut place = None;
    let outside = if flow.compiled { "outside fusions" } else { "entry" };
    let places: HashMap<&str, (u32, u32)> = flow.values.iter().map(|v| (v.name.as_str(), (v.line, v.column))).collect();
    let shown = |v: &&Value| v.is_listed() || v.opcode == "parameter" && v.holds.is_some() || all && !v.constant;
    for value in flow.values.iter().filter(shown) {
        let here = if value.opcode == "parameter" { Some("parameters") } else { value.fusion.as_deref() };
        if place != Some(here) {
            let _ = writeln!(out, "\n{}", here.unwrap_or(outside));
            place = Some(here);
        }
        line(&mut out, value);
        for (heading, uses) in sights(value, &places) {
            let readers: Vec<String> = uses.iter().map(|one| reader(one, value.fusion.as_deref())).collect();
            wrapped(&mut out, "      ", "        ", &format!("{heading}: {}", readers.join(", ")));
        }
        let read = |read: &Read| Some(format!("{} as {}", short(&read.value, value.fusion.as_deref()), read.holds?));
        let reads: Vec<String> = value.reads.iter().filter_map(read).collect();
        // What a value without floats to hand on has seen is all there is to say of it.
        if value.holds.is_none() && !reads.is_empty() {
            wrapped(
                &mut out,
                "      ",
                "        ",
                &format!("sees {}", listed(&reads.iter().map(String::as_str).collect::<Vec<_>>())),
            );
        }
    }
    out
}

fn line(out: &mut String, value: &Value) {
    let holds = match value.holds {
        None => String::new(),
        Some(_) if value.is_narrow_in_wide() => {
            format!("{} in {}", value.holds.map_or("", Precision::name), value.dtype.unwrap_or("a tuple"))
        }
        Some(holds) => holds.to_string(),
    };
    let role = value.role.as_deref().unwrap_or("");
    let what = if role == value.what { "" } else { role };
    let name = short(&value.name, value.fusion.as_deref());
    let text = format!("  {name:<26} {:<15} {:<18} {holds:<11} {what}", value.what, value.shape);
    let _ = writeln!(out, "{}", text.trim_end());
}

/// Uses of a value by how it is seen there, in the order of the first of each.
fn sights<'a>(value: &'a Value, places: &HashMap<&str, (u32, u32)>) -> Vec<(String, Vec<&'a Use>)> {
    let own = |by: &str| places.get(by) == Some(&(value.line, value.column));
    let mut sights: Vec<(String, Vec<&'a Use>)> = Vec::new();
    for one in &value.uses {
        let heading = match (&one.rounded_by, one.holds) {
            (_, None) => "index for".to_string(),
            // The instruction rounds its own result: the file has no conversion for it.
            (Some(by), Some(holds)) if own(by) => format!("stored as {holds} for"),
            (Some(by), Some(holds)) => {
                format!("rounded to {holds} here ({}), for", short(by, value.fusion.as_deref()))
            }
            // A narrow type rounds what is computed in it; a narrow value in a wide type was rounded before.
            (None, Some(holds)) if value.computes && holds.fraction_bits() < 23 => format!("stored as {holds} for"),
            (None, Some(_)) if value.computes => "never rounded before".to_string(),
            (None, Some(holds)) => format!("handed on as {holds} to"),
        };
        match sights.iter_mut().find(|(same, _)| *same == heading) {
            Some((_, uses)) => uses.push(one),
            None => sights.push((heading, vec![one])),
        }
    }
    for (_, uses) in &mut sights {
        uses.dedup_by_key(|one| &one.reader);
    }
    sights
}

fn reader(one: &Use, fusion: Option<&str>) -> String {
    match one.operand {
        None => format!("result {}", one.reader),
        Some(_) => format!("{} ({})", short(&one.reader, fusion), one.what),
    }
}

/// A name without the fusion that the reader is in already.
fn short<'a>(name: &'a str, fusion: Option<&str>) -> &'a str {
    let inside = fusion.and_then(|fusion| name.strip_prefix(fusion)?.strip_prefix('/'));
    inside.unwrap_or(name)
}

/// Each group by the roles of its values; copies are counted.
fn groups(flow: &Flow) -> Vec<String> {
    let roles: HashMap<&str, &str> =
        flow.values.iter().filter_map(|v| Some((v.name.as_str(), v.role.as_deref()?))).collect();
    let mut lines = Vec::new();
    for group in &flow.groups {
        let shape = group.shape.name();
        let mut parts: Vec<(&str, &str, usize)> = Vec::new();
        for name in &group.values {
            let role =
                roles.get(name.as_str()).map_or("", |role| role.strip_prefix(shape).unwrap_or(role).trim_start());
            match parts.iter_mut().find(|(same, _, _)| *same == role) {
                Some((_, _, copies)) => *copies += 1,
                None => parts.push((role, name, 0)),
            }
        }
        let parts: Vec<String> = parts
            .iter()
            .map(|(role, name, copies)| {
                let copied = match copies {
                    0 => String::new(),
                    1 => " and a copy".to_string(),
                    n => format!(" and {n} copies"),
                };
                let gap = if role.is_empty() { "" } else { " " };
                format!("{role}{gap}{name}{copied}")
            })
            .collect();
        lines.push(format!("{shape}: {}", parts.join("; ")));
    }
    lines
}

/// One line for each value and reader, with the modes of each rule.
fn elisions(elisions: &[Elision]) -> Vec<String> {
    type Line<'a> = (&'a Elision, Vec<(&'static str, Vec<&'a str>)>);
    let mut lines: Vec<Line> = Vec::new();
    let mut places = HashMap::new();
    for one in elisions {
        let key = (&one.value, &one.reader, one.operand, one.to.name());
        let at = *places.entry(key).or_insert_with(|| {
            lines.push((one, Vec::new()));
            lines.len() - 1
        });
        let rules = &mut lines[at].1;
        match rules.iter_mut().find(|(rule, _)| *rule == one.rule) {
            Some((_, modes)) => modes.push(&one.mode),
            None => rules.push((one.rule, vec![&one.mode])),
        }
    }
    lines
        .iter()
        .map(|(e, rules)| {
            let via = match e.conversions.is_empty() {
                true => String::new(),
                false => format!(", through {}", e.conversions.join(", ")),
            };
            let what = match &e.reader {
                Some(reader) => format!("{} for {reader}{via}: seen as {} instead of {}", e.value, e.to, e.from),
                None => format!("{}: computed as {} instead of {}", e.value, e.to, e.from),
            };
            let rules: Vec<String> =
                rules.iter().map(|(rule, modes)| format!("{rule} under {}", listed(modes))).collect();
            format!("{what}. {}.", rules.join("; "))
        })
        .collect()
}

/// A paragraph in lines of at most [`COLUMNS`], broken at blanks.
fn wrapped(out: &mut String, first: &str, rest: &str, text: &str) {
    let mut line = first.to_string();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            let _ = writeln!(out, "{line}");
            line = rest.to_string();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{line}");
}
