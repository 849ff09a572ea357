//! Meanings of the columns of reports that belong to no metric and no check.

use super::direction::Direction;

/// A column that belongs to no metric and no check.
pub struct Column {
    /// The name in the header.
    pub name: &'static str,
    /// The direction in which a change in it counts.
    pub direction: Direction,
    /// Its contents, for listings.
    pub doc: &'static str,
}

/// All of them, sorted by name. The columns of metrics and of checks' figures are documented with these.
pub static COLUMNS: &[Column] = &[
    Column {
        name: "case",
        direction: Direction::Identifies,
        doc: "`suite/program[key=value,...]/subject/input/n/seed`, which names a case.",
    },
    Column {
        name: "expected_slope",
        direction: Direction::Identifies,
        doc: "What theory says of the slope on log-log axes.",
    },
    Column { name: "file", direction: Direction::Identifies, doc: "A file that a suite is made of, from its folder." },
    Column {
        name: "fingerprint",
        direction: Direction::Identifies,
        doc: "A hash (FNV-1a) of a file's bytes; of a suite's own file, of what it says without comments.",
    },
    Column {
        name: "fitted",
        direction: Direction::Describes,
        doc: "The fitted power law at that size; empty without a fit.",
    },
    Column {
        name: "fitted_high",
        direction: Direction::Describes,
        doc: "Upper end of the law's 95 % confidence interval at that size.",
    },
    Column {
        name: "fitted_low",
        direction: Direction::Describes,
        doc: "Lower end of the law's 95 % confidence interval at that size.",
    },
    Column {
        name: "found_by",
        direction: Direction::Describes,
        doc: "What found the element that shows the verdict: the check with that verdict, or the first metric.",
    },
    Column {
        name: "index",
        direction: Direction::Describes,
        doc: "The position of that element in the whole result, row-major.",
    },
    Column {
        name: "input",
        direction: Direction::Identifies,
        doc: "The input of the case: a distribution, then what arguments are bound to.",
    },
    Column { name: "metric", direction: Direction::Identifies, doc: "The column whose growth is fitted." },
    Column {
        name: "mode",
        direction: Direction::Identifies,
        doc: "What is judged: a mode, `chip/precision/excess[+refinement...]`, or another subject.",
    },
    Column { name: "note", direction: Direction::Describes, doc: "The fit in words, or why there is none." },
    Column {
        name: "outcome",
        direction: Direction::Verdict,
        doc: "What the check `growth` says, whatever the suite expects.",
    },
    Column { name: "program", direction: Direction::Identifies, doc: "The program of the case with its parameters." },
    Column {
        name: "residual",
        direction: Direction::Describes,
        doc: "Standard deviation of the metric's natural logarithm about the fitted line.",
    },
    Column {
        name: "result",
        direction: Direction::Describes,
        doc: "The program's result in which the element stands that shows the verdict.",
    },
    Column { name: "row", direction: Direction::Describes, doc: "The row of that element in the whole case, from 0." },
    Column { name: "rows", direction: Direction::Identifies, doc: "Rows that the case evaluated." },
    Column {
        name: "seed",
        direction: Direction::Identifies,
        doc: "Which input bits; `all` for a fit through the points of all seeds.",
    },
    Column { name: "series", direction: Direction::Identifies, doc: "A case's id with `n` in the place of the size." },
    Column { name: "size", direction: Direction::Identifies, doc: "The size n, which the program maps to shapes." },
    Column { name: "sizes", direction: Direction::Identifies, doc: "How many sizes the fit used." },
    Column { name: "slope_high", direction: Direction::Describes, doc: "Upper end of the slope's 95 % interval." },
    Column { name: "slope_low", direction: Direction::Describes, doc: "Lower end of the slope's 95 % interval." },
    Column { name: "suite", direction: Direction::Identifies, doc: "The suite that a file belongs to." },
    Column {
        name: "token_scores",
        direction: Direction::Describes,
        doc: "Bits of the scores that the declared program gives these tokens, every operation rounded.",
    },
    Column {
        name: "tokens",
        direction: Direction::Describes,
        doc: "The tokens in question, the one that should be there first.",
    },
    Column {
        name: "truth_hex",
        direction: Direction::Describes,
        doc: "Bits of what that element is held against: the truth, or the other of two values that a check compares. \
      Floats in f64, others in the result's type.",
    },
    Column {
        name: "value",
        direction: Direction::Identifies,
        doc: "The metric of the case; empty for all seeds together.",
    },
    Column {
        name: "value_hex",
        direction: Direction::Describes,
        doc: "Bits of what was computed there, in the result's type.",
    },
    Column { name: "verdict", direction: Direction::Verdict, doc: "The weightiest verdict of the case's checks." },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::direction_of;

    #[test]
    fn columns_are_sorted_and_none_is_a_figure() {
        assert!(COLUMNS.is_sorted_by(|a, b| a.name < b.name));
        assert!(
            COLUMNS.iter().all(|column| direction_of(column.name) == column.direction && column.doc.ends_with('.'))
        );
    }
}
