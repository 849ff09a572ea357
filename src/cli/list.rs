//! `ulpgate list`: names of all kinds, each on a line; `explain` and `--json` have the whole documentation.

use std::io::Write;

use clap::{Args, ValueEnum};

use ulpgate_front::check::CHECKS;
use ulpgate_front::diff::ChangeKind;
use ulpgate_front::explore::FAMILIES;
use ulpgate_front::input::INPUTS;
use ulpgate_front::judge::FAULT_KINDS;
use ulpgate_front::machine::{CHIPS, PRECISIONS, REFINEMENTS};
use ulpgate_front::metric::METRICS;
use ulpgate_front::num::FORMATS;
use ulpgate_front::page;
use ulpgate_front::program::PROGRAMS;
use ulpgate_front::record::Verdict;
use ulpgate_front::report::{COLUMNS, REPORTS};
use ulpgate_front::rewrite::POLICIES;

use super::glossary::WORDS;
use super::summary::wrap;
use super::terminal::width;
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
    Changes,
    Families,
    Faults,
    Reports,
    Words,
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
    /// The same in a few words, for a line of a list.
    short: String,
}

/// All names of one kind, or of every kind.
pub fn entries(what: Option<Kind>) -> Result<Vec<Entry>, Failure> {
    let mut list = Vec::new();
    let mut add_as = |kind: Kind, name: &str, doc: &str, short: &str| {
        if what.is_none_or(|w| w == kind) {
            list.push(Entry {
                kind,
                name: name.to_string(),
                doc: doc.to_string(),
                short: first_sentence(short).to_string(),
            });
        }
    };
    CHIPS.iter().for_each(|c| add_as(Kind::Chips, c.name, c.doc, c.doc));
    PRECISIONS.iter().for_each(|p| add_as(Kind::Precisions, p.name, p.doc, p.doc));
    POLICIES.iter().for_each(|p| add_as(Kind::Excess, p.name, p.doc, p.doc));
    for row in REFINEMENTS {
        for (value, doc) in (row.values)(CHIPS) {
            add_as(Kind::Refinements, &format!("{}={value}", row.key), &format!("{} Here: {doc}.", row.doc), doc);
        }
    }
    let mut add = |kind: Kind, name: &str, doc: &str| add_as(kind, name, doc, doc);
    for f in FORMATS {
        // Of f64 all digits would be 309.
        let largest = f.max_finite();
        let largest = if largest < 1e9 { largest.to_string() } else { format!("{largest:e}") };
        let doc = format!("1 + {} + {} bits, largest finite value {largest}", f.exponent_bits, f.fraction_bits);
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
    ChangeKind::ALL.iter().for_each(|kind| add(Kind::Changes, kind.name(), kind.doc()));
    FAMILIES.iter().for_each(|family| add(Kind::Families, family.name, family.doc));
    FAULT_KINDS.iter().for_each(|(kind, doc)| add(Kind::Faults, kind, doc));
    REPORTS.iter().for_each(|r| add(Kind::Reports, r.name(), r.doc()));
    add(Kind::Reports, page::FORM.0, page::FORM.1);
    WORDS.iter().for_each(|(word, doc)| add(Kind::Words, word, doc));
    if what.is_none_or(|w| w == Kind::Suites) {
        match suites(&[]) {
            Ok(suites) => list.extend(suites.into_iter().map(of_suite)),
            // Listing everything works in any folder; listing suites needs some.
            Err(failure) if what.is_some() => return Err(failure),
            Err(_) => {}
        }
    }
    Ok(list)
}

/// The entry of a suite.
fn of_suite(suite: ulpgate_front::suite::Suite) -> Entry {
    Entry { kind: Kind::Suites, name: suite.name, short: suite.claim.clone(), doc: suite.claim }
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
        let name = format!("  {:<20} ", entry.name);
        writeln!(out, "{}", line(&name, &entry.short, width()))?;
    }
    writeln!(out)?;
    wrap("`ulpgate explain NAME` says all of a name; `ulpgate list KIND` lists one kind.", "", out)?;
    Ok(Exit::AsExpected)
}

/// A name and what follows it, as far as a line of so many columns has room.
fn line(name: &str, text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(name.chars().count());
    if text.chars().count() <= room {
        return format!("{name}{text}");
    }
    const MORE: &str = "...";
    let kept: String = text.chars().take(room.saturating_sub(MORE.len())).collect();
    // A word is not cut where another one stands before it.
    let kept = kept.rsplit_once(' ').map_or(kept.as_str(), |(words, _)| words);
    format!("{name}{}{MORE}", kept.trim_end_matches([',', ';', ':']))
}

/// A text up to its first full stop. The questions of a check are told by the first one.
fn first_sentence(text: &str) -> &str {
    let text = text.strip_prefix("Asks: ").unwrap_or(text);
    // A point between spaces is a product's, and the last one of three leaves something out.
    let is_end = |at: &usize| !["e.g", " ", ".."].iter().any(|before| text[..*at].ends_with(before));
    let end = text.match_indices(". ").map(|(at, _)| at).find(is_end);
    end.map_or(text, |at| &text[..at]).trim_end_matches('.')
}

/// The word of a kind on the command line.
pub(super) fn kind_name(kind: Kind) -> String {
    kind.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_list_is_one_sentence_that_fits() {
        assert_eq!(first_sentence("Asks: is it so? Yes. Why it matters: x."), "is it so? Yes");
        assert_eq!(first_sentence("TPU v2: 128 x 128 (FACTS 3.4). Orders."), "TPU v2: 128 x 128 (FACTS 3.4)");
        assert_eq!(first_sentence("out = lhs . rhs, rounded once. More."), "out = lhs . rhs, rounded once");
        assert_eq!(first_sentence("sum = a + b + ... + z in order. More."), "sum = a + b + ... + z in order");
        assert_eq!(line("  name ", "some words here", 80), "  name some words here");
        assert_eq!(line("  name ", "some words, here and there", 24), "  name some words...");
        assert_eq!(line("  name ", "some words, here", 4), "  name ...");
    }
}
