//! `ulpgate list`: names of all kinds, each with its own documentation.

use std::io::Write;

use clap::{Args, ValueEnum};

use crate::check::CHECKS;
use crate::input::INPUTS;
use crate::machine::{CHIPS, PRECISIONS, REFINEMENTS};
use crate::metric::METRICS;
use crate::num::FORMATS;
use crate::page;
use crate::program::PROGRAMS;
use crate::record::Verdict;
use crate::report::{COLUMNS, REPORTS};
use crate::rewrite::POLICIES;

use super::{Exit, Failure, suites};

#[derive(Args)]
pub struct ListArguments {
    /// Kind of names to list; all kinds if absent
    what: Option<Kind>,
    /// Print as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// The things that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    Chips,
    Precisions,
    Excess,
    Refinements,
    Formats,
    Programs,
    Inputs,
    Metrics,
    Checks,
    Columns,
    Verdicts,
    Reports,
    Suites,
}

/// A name with its documentation.
pub struct Entry {
    /// The kind of the thing.
    pub kind: Kind,
    /// The name as suites and the command line write it.
    pub name: String,
    /// Its own documentation.
    pub doc: String,
}

/// All names of one kind, or of every kind.
pub fn entries(what: Option<Kind>) -> Result<Vec<Entry>, Failure> {
    let mut list = Vec::new();
    let mut add = |kind: Kind, name: &str, doc: &str| {
        if what.is_none_or(|w| w == kind) {
            list.push(Entry { kind, name: name.to_string(), doc: doc.to_string() });
        }
    };
    CHIPS.iter().for_each(|c| add(Kind::Chips, c.name, c.doc));
    PRECISIONS.iter().for_each(|p| add(Kind::Precisions, p.name, p.doc));
    POLICIES.iter().for_each(|p| add(Kind::Excess, p.name, p.doc));
    for row in REFINEMENTS {
        for (value, doc) in (row.values)() {
            add(Kind::Refinements, &format!("{}={value}", row.key), &format!("{} Here: {doc}.", row.doc));
        }
    }
    for f in FORMATS {
        let doc =
            format!("1 + {} + {} bits, largest finite value {}", f.exponent_bits, f.fraction_bits, f.max_finite());
        add(Kind::Formats, f.name, &doc);
    }
    for p in PROGRAMS {
        let parameters: Vec<String> =
            p.parameters().iter().map(|d| format!("{} (default {}): {}", d.name, d.default, d.doc)).collect();
        add(Kind::Programs, p.name(), &format!("{} Parameters: {}.", p.doc(), parameters.join("; ")));
    }
    INPUTS.iter().for_each(|i| add(Kind::Inputs, i.name(), i.doc()));
    METRICS.iter().for_each(|m| add(Kind::Metrics, m.name(), &format!("[{}] {}", m.unit().name(), m.doc())));
    for c in CHECKS {
        let figures: Vec<String> =
            c.figures().iter().map(|f| format!("{} [{}]: {}", f.name, f.unit.name(), f.doc)).collect();
        add(Kind::Checks, c.name(), &format!("{} Figures: {}.", c.doc(), figures.join("; ")));
    }
    for c in CHECKS {
        for f in c.figures() {
            let doc = format!("[{}] {}, a figure of the check {}.", f.unit.name(), f.doc, c.name());
            add(Kind::Columns, f.name, &doc);
        }
    }
    COLUMNS.iter().for_each(|column| add(Kind::Columns, column.name, column.doc));
    Verdict::ALL.iter().for_each(|v| add(Kind::Verdicts, v.name(), v.doc()));
    REPORTS.iter().for_each(|r| add(Kind::Reports, r.name(), r.doc()));
    add(Kind::Reports, page::FORM.0, page::FORM.1);
    if what.is_none_or(|w| w == Kind::Suites) {
        match suites(&[]) {
            Ok(suites) => {
                let entry = |s: crate::suite::Suite| Entry { kind: Kind::Suites, name: s.name, doc: s.claim };
                list.extend(suites.into_iter().map(entry));
            }
            // Listing everything works in any folder; listing suites needs some.
            Err(failure) if what.is_some() => return Err(failure),
            Err(_) => {}
        }
    }
    Ok(list)
}

pub fn run(arguments: &ListArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let list = entries(arguments.what)?;
    if arguments.json {
        let values: Vec<serde_json::Value> =
            list.iter().map(|e| serde_json::json!({"kind": kind_name(e.kind), "name": e.name, "doc": e.doc})).collect();
        writeln!(out, "{:#}", serde_json::Value::Array(values))?;
        return Ok(Exit::AsExpected);
    }
    let mut last = None;
    for entry in &list {
        if last != Some(entry.kind) {
            let gap = if last.is_some() { "\n" } else { "" };
            writeln!(out, "{gap}{}", kind_name(entry.kind))?;
            last = Some(entry.kind);
        }
        writeln!(out, "  {:<20} {}", entry.name, entry.doc)?;
    }
    Ok(Exit::AsExpected)
}

fn kind_name(kind: Kind) -> String {
    kind.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}
