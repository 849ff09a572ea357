//! The findings, each with its readers and the precisions that they see.

use std::fmt::Write;

use crate::flow::Flow;
use crate::flow::finding::{Finding, Sight};

use super::wrap::{name_with_kind, wrap};

pub(super) fn section(out: &mut String, flow: &Flow) {
    if flow.findings.is_empty() {
        out.push_str("\nNo findings: all users of a value see it in the same precision.\n");
        return;
    }
    out.push_str("\nFindings\n");
    for (at, finding) in flow.findings.iter().enumerate() {
        one(out, at + 1, finding);
    }
}

fn one(out: &mut String, number: usize, finding: &Finding) {
    wrap(out, &format!("{number:>3}. "), "     ", &format!("{}: {}", finding.subject, finding.text));
    let mut field = |name: &str, text: &str| {
        let mut first = String::new();
        let _ = write!(first, "       {name:<6} ");
        wrap(out, &first, "              ", text);
    };
    if !finding.modes.is_empty() {
        field("under", &finding.modes.join(", "));
    }
    match finding.values.len() {
        1 => field("value", &finding.values[0]),
        n => field("value", &format!("{} (computed {n} times)", finding.values.join(", "))),
    }
    for view in &finding.views {
        field(&view.holds.name(), &readers(view));
    }
}

fn readers(view: &Sight) -> String {
    let named: Vec<String> =
        view.readers.iter().zip(&view.what).map(|(name, what)| name_with_kind(name, what, None)).collect();
    let by = match view.rounded_by.is_empty() {
        true => String::new(),
        false => format!("; rounded by {}", view.rounded_by.join(", ")),
    };
    format!("-> {}{by}", named.join(", "))
}
