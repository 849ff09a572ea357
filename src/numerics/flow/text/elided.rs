//! Roundings that compilers may drop or add, and the rules for that, one column a compiler.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use crate::flow::Flow;
use crate::flow::elision::Elision;

use super::wrap::wrap;

/// The widest that the first column grows. A longer entry has a line of its own.
const COLUMN: usize = 60;

/// One line of the table: the change, and the rule under each mode.
struct ElisionLine<'a> {
    change: &'a Elision,
    rules: Vec<&'static str>,
}

pub(super) fn section(out: &mut String, flow: &Flow) {
    if flow.modes.is_empty() {
        return;
    }
    if flow.elisions.is_empty() {
        let _ = writeln!(out, "\nNo rounding is dropped or added under {}.", flow.modes.join(", "));
        return;
    }
    out.push_str("\nRoundings that compilers may drop or add\n");
    wrap(out, "  ", "  ", "A: simplify-fp-conversions, B: float normalization, narrowing: of sums (see FACTS 1.3, 9)");
    // FACTS 1.3: fusion comes after the rules.
    wrap(out, "  ", "  ", "A fusion that computes a value again may see it wider than the rules alone say.");
    let columns: Vec<&str> = flow.modes.iter().map(|mode| mode.rsplit('/').next().unwrap_or(mode)).collect();
    let legend: Vec<String> =
        columns.iter().zip(&flow.modes).map(|(column, mode)| format!("{column}: {mode}")).collect();
    wrap(out, "  ", "  ", &legend.join(", "));
    let lines = lines(flow);
    let width = lines.iter().map(|line| what(line.change).chars().count()).max().unwrap_or(0).min(COLUMN);
    let wide =
        |(at, column): (usize, &&str)| lines.iter().map(|line| line.rules[at].len()).fold(column.len(), usize::max);
    let widths: Vec<usize> = columns.iter().enumerate().map(wide).collect();
    let row = |first: &str, sees: &str, cells: &[&str]| {
        let mut row = format!("  {first:<width$}  {sees:<16}");
        for (cell, &width) in cells.iter().zip(&widths) {
            let _ = write!(row, " {cell:<width$}");
        }
        row.trim_end().to_string()
    };
    let _ = writeln!(out, "{}", row("value -> reader", "", &columns));
    for line in &lines {
        let sees = format!("{}, not {}", line.change.to, line.change.from);
        let mut what = what(line.change);
        if what.chars().count() > COLUMN {
            wrap(out, "  ", "    ", &what);
            what.clear();
        }
        let _ = writeln!(out, "{}", row(&what, &sees, &line.rules));
    }
    let dropped: HashSet<&String> = flow.elisions.iter().flat_map(|elision| &elision.conversions).collect();
    let kept = flow.values.iter().filter(|value| value.rounds_to.is_some() && !dropped.contains(&value.name));
    let kept: Vec<&str> = kept.map(|value| value.name.as_str()).collect();
    if !kept.is_empty() {
        wrap(out, "  ", "    ", &format!("Roundings by a conversion that no rule drops: {}", kept.join(", ")));
    }
}

fn what(change: &Elision) -> String {
    let through = match change.conversions.is_empty() {
        true => String::new(),
        false => format!(" through {}", change.conversions.join(", ")),
    };
    match &change.reader {
        Some(reader) => format!("{} -> {reader}{through}", change.value),
        None => change.value.clone(),
    }
}

/// One line for each value and reader.
fn lines(flow: &Flow) -> Vec<ElisionLine<'_>> {
    let mut lines: Vec<ElisionLine> = Vec::new();
    let mut places = HashMap::new();
    for one in &flow.elisions {
        let key = (&one.value, &one.reader, one.operand, one.to);
        let at = *places.entry(key).or_insert_with(|| {
            lines.push(ElisionLine { change: one, rules: vec!["-"; flow.modes.len()] });
            lines.len() - 1
        });
        if let Some(mode) = flow.modes.iter().position(|mode| *mode == one.mode) {
            lines[at].rules[mode] = one.rule;
        }
    }
    lines
}
