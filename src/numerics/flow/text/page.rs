//! The page: heading, findings, groups, the values, sums, and the changes that compilers would make.

use std::collections::HashMap;
use std::fmt::Write;

use crate::flow::enumeration::list;
use crate::flow::{Collective, Flow, Unknown};

use super::wrap::wrap;
use super::{elided, listing, sentence, sums};

/// The flow as text. With `all`, values that only move or convert have lines of their own.
pub fn text(flow: &Flow, all: bool) -> String {
    let mut out = String::new();
    heading(&mut out, flow);
    if !has_floats(flow) {
        return out;
    }
    sentence::section(&mut out, flow);
    groups(&mut out, flow);
    listing::section(&mut out, flow, all);
    sums::section(&mut out, flow);
    elided::section(&mut out, flow);
    out
}

fn heading(out: &mut String, flow: &Flow) {
    let plural = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let c = &flow.counts;
    let mut counts = vec![
        plural(c.computing, "float operation", "float operations"),
        plural(c.roundings, "conversion that drops bits", "conversions that drop bits"),
        plural(c.two_views, "value seen in several precisions", "values seen in several precisions"),
    ];
    if c.rounding_dots > 0 {
        counts.insert(2, plural(c.rounding_dots, "dot that rounds its operands", "dots that round their operands"));
    }
    if !flow.modes.is_empty() {
        counts.push(plural(c.elidable, "rounding that a compiler may drop", "roundings that a compiler may drop"));
    }
    if !has_floats(flow) {
        counts = vec!["no value is a float".to_string()];
    }
    let kind = if flow.compiled { "compiled" } else { "not yet compiled" };
    wrap(out, "", "  ", &format!("{} ({kind}): {}", flow.module, counts.join(", ")));
    if flow.devices > 1 {
        let order = match &flow.collectives[..] {
            [] => {
                "Reductions between devices are taken in the order of their group, each step in the region's type: \
                   a CPU's order, a model for TPUs."
            }
            _ => "Reductions between devices are taken by the file's plan, each step in the region's type.",
        };
        let text = format!(
            "{} devices: what differs between them stands once for each, as NAME@DEVICE. {order}",
            flow.devices
        );
        wrap(out, "", "  ", &text);
    }
    for Collective { name, opcode, devices, plan, order, .. } in &flow.collectives {
        wrap(out, "", "  ", &format!("{name}: {opcode} of {devices} devices, {plan}; {order}."));
    }
    let closed = flow.values.iter().filter(|v| matches!(v.opcode, "while" | "call")).map(|v| v.name.as_str());
    let closed: Vec<&str> = closed.collect();
    if !closed.is_empty() {
        wrap(out, "", "  ", &format!("Not looked into: what is inside {}.", list(&closed)));
    }
    for Unknown { name, what, line, why, results, .. } in &flow.unknown {
        // What else would be understood stands behind a semicolon.
        let why = why.split(';').next().unwrap_or_default();
        let results: Vec<&str> = results.iter().map(String::as_str).collect();
        let follows = match &results[..] {
            [] => "No result follows from it.".to_string(),
            [one] => format!("{one} follows from it."),
            more => format!("{} follow from it.", list(more)),
        };
        wrap(out, "", "  ", &format!("Not understood: {name} ({what}), line {line}: {why}. {follows}"));
    }
}

fn has_floats(flow: &Flow) -> bool {
    flow.values.iter().any(|v| v.holds.is_some() || v.reads.iter().any(|r| r.holds.is_some()))
}

/// Each group by the roles of its values; copies are counted.
fn groups(out: &mut String, flow: &Flow) {
    if flow.groups.is_empty() {
        return;
    }
    let roles: HashMap<&str, &str> =
        flow.values.iter().filter_map(|v| Some((v.name.as_str(), v.role.as_deref()?))).collect();
    out.push_str("\nRecognised\n");
    for group in &flow.groups {
        let shape = group.shape.name();
        let mut parts: Vec<(&str, &str, usize)> = Vec::new();
        for name in &group.values {
            let role = roles.get(name.as_str()).copied().unwrap_or(shape);
            match parts.iter_mut().find(|(same, _, _)| *same == role) {
                Some((_, _, copies)) => *copies += 1,
                None => parts.push((role, name, 0)),
            }
        }
        let copied = |copies: usize| match copies {
            0 => String::new(),
            1 => " and a copy".to_string(),
            n => format!(" and {n} copies"),
        };
        let mut line = String::new();
        match parts.as_slice() {
            // A group of one part is called by it.
            [(role, name, copies)] => {
                let _ = write!(line, "{role}: {name}{}", copied(*copies));
            }
            _ => {
                let part = |(role, name, copies): &(&str, &str, usize)| {
                    let role = role.strip_prefix(shape).unwrap_or(role).trim_start();
                    format!("{role} {name}{}", copied(*copies))
                };
                let _ = write!(line, "{shape}: {}", parts.iter().map(part).collect::<Vec<_>>().join(", "));
            }
        }
        wrap(out, "  ", "    ", &line);
    }
}
