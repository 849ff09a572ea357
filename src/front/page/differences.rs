//! Changes against a baseline, the first section of the page.

use maud::{Markup, html};

use crate::gate::{Difference, RowChange};

use super::words::case_link;
use super::{Changes, Content};

/// The kinds of change in the order in which they are told, each with its name for people.
const KINDS: [(RowChange, &str); 5] = [
    (RowChange::Worse, "Worse"),
    (RowChange::Changed, "Neither better nor worse"),
    (RowChange::New, "New"),
    (RowChange::Gone, "Gone"),
    (RowChange::Better, "Better"),
];

/// Whether no report differs from the baseline, or there is none.
pub(super) fn is_as_before(content: &Content) -> bool {
    let told = |d: &Difference| KINDS.iter().any(|(change, _)| d.change == *change);
    !content.changes.as_ref().is_some_and(|changes| changes.differences.iter().any(told))
}

/// The changes in a few words; `None` if there was nothing to compare with.
pub(super) fn sentence(content: &Content) -> Option<String> {
    let Changes { baseline, differences } = content.changes.as_ref()?;
    let count = |change: RowChange| differences.iter().filter(|d| d.change == change).count();
    let counts: Vec<String> = KINDS
        .into_iter()
        .map(|(change, _)| (count(change), change.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    Some(match counts.is_empty() {
        true => format!("Nothing changed against the reports in {baseline}."),
        false => format!("Changed against the reports in {baseline}: {}.", counts.join(", ")),
    })
}

/// Every difference, the worst first.
pub(super) fn section(content: &Content) -> Markup {
    html! {
        section #changes aria-labelledby="changes-title" {
            h2 #changes-title { "What changed" }
            @match &content.changes {
                None => p { "There were no earlier reports in this folder, or they say the same. "
                    code { "ulpgate gate --html FILE" } " compares with a baseline." },
                Some(changes) => {
                    p { (sentence(content).unwrap_or_default()) }
                    @for (change, title) in KINDS {
                        (table(title, changes.differences.iter().filter(|d| d.change == change)))
                    }
                }
            }
        }
    }
}

/// Rows of one kind that a reader sees before anything is opened.
const SHOWN: usize = 12;

fn table<'a>(title: &str, differences: impl Iterator<Item = &'a Difference>) -> Markup {
    let differences: Vec<&Difference> = differences.collect();
    let (shown, more) = differences.split_at(differences.len().min(SHOWN));
    html! {
        @if !differences.is_empty() {
            h3 { (title) ": " (differences.len()) }
            (rows(title, shown))
            @if !more.is_empty() {
                details {
                    summary { (more.len()) " more" }
                    (rows(&format!("{title}, more"), more))
                }
            }
        }
    }
}

fn rows(title: &str, differences: &[&Difference]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(title) {
            table {
                thead { tr { th scope="col" { "report" } th scope="col" { "row" } th scope="col" { "before → after" } } }
                tbody {
                    @for Difference { file, row, what, change } in differences {
                        tr {
                            td { (file) }
                            td { (of_row(row, *change)) }
                            td { (what.replace(" -> ", " → ")) }
                        }
                    }
                }
            }
        }
    }
}

/// A case is linked to its row below, where it still has one; a fit or a file has none.
fn of_row(row: &str, change: RowChange) -> Markup {
    html! {
        @if row.is_empty() { "the whole file" }
        @else if row.contains('/') && !row.contains(' ') && change != RowChange::Gone { (case_link(row)) }
        @else { span.id { (row) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_of_a_kind_are_open() {
        let of = |number: usize| Difference {
            file: "a.csv".to_string(),
            row: format!("row {number}"),
            what: "new".to_string(),
            change: RowChange::New,
        };
        let told = |count: usize| {
            let all: Vec<Difference> = (0..count).map(of).collect();
            table("New", all.iter()).into_string()
        };
        let (few, many) = (told(SHOWN), told(SHOWN + 3));
        assert!(!few.contains("<details>") && few.matches("<tr>").count() == SHOWN + 1, "{few}");
        let (open, folded) = many.split_once("<details><summary>3 more</summary>").unwrap();
        assert_eq!([open, folded].map(|part| part.matches("<td>a.csv</td>").count()), [SHOWN, 3]);
    }
}
