//! The table of docs/published.md, and the rows of it that README shows.

use std::path::Path;

use crate::set::{Found, Set, Value, Verdict};

const BEGIN: &str = "<!-- The table is what `cargo test --test published` finds. -->";
const HEAD: &str = "| source | chip | printed | emulated | outcome |\n|---|---|---|---|---|";
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
    format!("{HEAD}\n{}", rows.join("\n"))
}

/// Holds docs/published.md to the table.
pub fn hold_page(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/published.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (_, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("docs/published.md has no line `{BEGIN}`"));
    let (shown, _) = rest.split_once(END).unwrap_or_else(|| panic!("docs/published.md has no line `{END}`"));
    assert!(
        shown.trim() == table,
        "docs/published.md shows another table; put this between its two comments:\n\n{table}\n"
    );
}

/// Holds README to the table: each row that it shows is one of the table, some equal and some not, and its counts are the table's.
pub fn hold_readme(rows: &[String]) {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let section = readme.split("\n## ").find(|section| section.starts_with("What real TPUs printed\n"));
    let section = section.expect("README has no heading `What real TPUs printed`");
    let (said, shown) = section.split_once(HEAD).expect("README has no table below that heading");
    let count = |outcome: &str| {
        let is_so = |row: &&String| row.rsplit(" | ").next().is_some_and(|cell| cell.starts_with(outcome));
        rows.iter().filter(is_so).count()
    };
    let [equal, inside, not] = ["equal", "inside", "not reproduced"].map(count);
    let counts = format!(
        "Of {} comparisons with values that real TPUs printed, {equal} are equal in all printed digits, {inside} lie inside of a bound, and {not} are not \
         reproduced.",
        rows.len()
    );
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(&counts), "README does not say: {counts}");
    let shown: Vec<&str> = shown.lines().filter(|line| line.starts_with("| ")).collect();
    for row in &shown {
        assert!(rows.iter().any(|known| known == row), "README shows another value: {row}");
    }
    assert!((4..=6).contains(&shown.len()), "{} rows in README", shown.len());
    for outcome in ["| equal |", "| inside: ", "| not reproduced"] {
        assert!(shown.iter().any(|row| row.contains(outcome)), "README shows no value that is `{outcome}`");
    }
}
