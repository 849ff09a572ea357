//! The flow as a person reads it, in 100 columns.

use std::fmt::Write;

use super::elision::{Effect, Elision};
use super::finding::{FindingKind, listed};
use super::precision::Precision;
use super::value::{Use, Value};
use super::{Flow, Shape};

/// The widest line, unless a name alone is wider.
const COLUMNS: usize = 100;

/// The flow as text. With `all`, values that only move or convert have lines of their own.
pub fn text(flow: &Flow, all: bool) -> String {
    let mut out = String::new();
    let kind = if flow.compiled { "a compiler's output" } else { "not yet compiled" };
    let _ = writeln!(out, "{}: {kind}", flow.module);
    out.push_str(&values(flow, all));
    section(&mut out, "What is computed here", &groups(flow));
    for (kinds, heading) in [
        (&[FindingKind::TwoViews, FindingKind::MixedCompare][..], "One value, several precisions"),
        (&[FindingKind::TwoViewsIfCompiled][..], "One value, several precisions, if compiled"),
        (&[FindingKind::Sum][..], "Sums"),
    ] {
        let found = flow.findings.iter().filter(|f| kinds.contains(&f.kind)).map(|f| f.text.clone()).collect();
        section(&mut out, heading, &found);
    }
    if !flow.modes.is_empty() {
        let mut lines = elisions(&flow.elisions);
        if lines.is_empty() {
            lines.push(format!("None under {}.", listed(&flow.modes.iter().map(String::as_str).collect::<Vec<_>>())));
        }
        section(&mut out, "Roundings that a compiler changes (rule: mode)", &lines);
    }
    let c = &flow.counts;
    let counts = format!(
        "{} values, of which {} compute on floats. {} roundings, {} of them elidable. {} values hold a narrower format \
         than their type. {} are seen in several precisions.",
        c.values, c.computing, c.roundings, c.elidable, c.narrow_in_wide, c.two_views
    );
    out.push('\n');
    wrapped(&mut out, "", "", &counts);
    out
}

fn section(out: &mut String, heading: &str, paragraphs: &Vec<String>) {
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
    let shown = |v: &&Value| v.is_listed() || v.opcode == "parameter" && v.holds.is_some() || all && !v.constant;
    for value in flow.values.iter().filter(shown) {
        let here = if value.opcode == "parameter" { Some("parameters") } else { value.fusion.as_deref() };
        if place != Some(here) {
            let _ = writeln!(out, "\n{}", here.unwrap_or("outside fusions"));
            place = Some(here);
        }
        line(&mut out, value);
        for (heading, uses) in sights(value) {
            let readers: Vec<String> = uses.iter().map(|one| reader(one, value.fusion.as_deref())).collect();
            wrapped(&mut out, "      ", "        ", &format!("{heading}: {}", readers.join(", ")));
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
fn sights(value: &Value) -> Vec<(String, Vec<&Use>)> {
    let mut sights: Vec<(String, Vec<&Use>)> = Vec::new();
    for one in &value.uses {
        let heading = match (&one.rounded_by, one.holds) {
            (_, None) => "index for".to_string(),
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

fn groups(flow: &Flow) -> Vec<String> {
    let one = |group: &super::Group| {
        let count = group.values.len();
        match group.shape {
            Shape::Softmax | Shape::LogSoftmax | Shape::Cumsum if count > 1 => {
                let names: Vec<&str> = group.values.iter().map(String::as_str).collect();
                format!("{}: {}", group.shape.name(), listed(&names))
            }
            shape => format!("{}: {}", shape.name(), group.values.join(", ")),
        }
    };
    flow.groups.iter().map(one).collect()
}

/// One line for each value and reader, with the modes of each rule.
fn elisions(elisions: &[Elision]) -> Vec<String> {
    type Line<'a> = (&'a Elision, Vec<(&'static str, Vec<&'a str>)>);
    let mut lines: Vec<Line> = Vec::new();
    for one in elisions {
        let same = |e: &Elision| {
            (&e.value, &e.reader, e.operand, e.effect, e.to)
                == (&one.value, &one.reader, one.operand, one.effect, one.to)
        };
        let at = lines.iter().position(|(e, _)| same(e)).unwrap_or_else(|| {
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
            let via =
                if e.conversions.is_empty() { String::new() } else { format!(" through {}", e.conversions.join(", ")) };
            let who = match (&e.reader, e.effect) {
                (Some(reader), Effect::RoundingAdded) => format!("{} is rounded for {reader}{via}", e.value),
                (Some(reader), _) => format!("{} is not rounded for {reader}{via}", e.value),
                (None, _) => format!("{} is computed in a narrower type", e.value),
            };
            let rules: Vec<String> =
                rules.iter().map(|(rule, modes)| format!("{rule}: {}", modes.join(", "))).collect();
            format!("{who} ({} -> {}). {}", e.from, e.to, rules.join("; "))
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
