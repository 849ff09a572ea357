//! The table of docs/published.md.

use std::path::Path;

use crate::set::{Found, Set, Value, Verdict};

const BEGIN: &str = "<!-- The table is what `cargo test --test published` finds. -->";
const END: &str = "<!-- The end of the table. -->";

/// A row of the table.
pub fn row(set: &Set, value: &Value, found: &Found) -> String {
    let printed = value.numbers();
    let (first, others) = (&printed[0], printed.len() - 1);
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    let emulated = match (&found.refused, found.numbers.first()) {
        // An equal f32 may be nearest to several decimals: one digit more shows it.
        (None, Some(number)) if found.verdict == Verdict::Equal && first.like(*number) != first.text() => {
            first.finer(*number) + &more
        }
        (None, Some(number)) => first.like(*number) + &more,
        _ => "refused".to_string(),
    };
    let outcome = match found.verdict {
        Verdict::Equal => "equal".to_string(),
        Verdict::Inside => format!("inside: {}", value.because),
        Verdict::NotReproduced if found.equal > 0 => {
            format!("not reproduced ({} of {} equal): {}", found.equal, found.numbers.len(), value.because)
        }
        Verdict::NotReproduced => format!("not reproduced: {}", value.because),
    };
    let Set { source, chip, .. } = set;
    format!("| {source}: {} | {chip} | {}{more} | {emulated} | {outcome} |", value.what, first.text())
}

pub fn whole(rows: &[String]) -> String {
    let head = "| source | chip | printed | emulated | outcome |\n|---|---|---|---|---|";
    format!("{head}\n{}", rows.join("\n"))
}

/// Holds docs/published.md to the table.
pub fn hold_readme(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/published.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (_, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("docs/published.md has no line `{BEGIN}`"));
    let (shown, _) = rest.split_once(END).unwrap_or_else(|| panic!("docs/published.md has no line `{END}`"));
    assert!(
        shown.trim() == table,
        "docs/published.md shows another table; put this between its two comments:\n\n{table}\n"
    );
}
