//! Meanings of the columns of reports that belong to no metric and no check.

use super::direction::ColumnDirection;

/// A column that belongs to no metric and no check.
pub struct ColumnDoc {
    /// The name in the header.
    pub name: &'static str,
    /// The direction in which a change in it counts.
    pub direction: ColumnDirection,
    /// Its contents, for listings.
    pub doc: &'static str,
}

/// All of them, sorted by name. The columns of metrics and of checks' figures are documented with these.
pub static COLUMNS: &[ColumnDoc] = &[
    ColumnDoc {
        name: "case",
        direction: ColumnDirection::Identifies,
        doc: "`suite/program[key=value,...]/subject/input/n/seed`, which names a case.",
    },
    ColumnDoc {
        name: "expected_slope",
        direction: ColumnDirection::Identifies,
        doc: "What theory says of the slope on log-log axes.",
    },
    ColumnDoc {
        name: "file",
        direction: ColumnDirection::Identifies,
        doc: "A file that a suite is made of, from its folder.",
    },
    ColumnDoc {
        name: "fingerprint",
        direction: ColumnDirection::Identifies,
        doc: "A hash (FNV-1a) of a file's bytes; of a suite's own file, of what it says without comments.",
    },
    ColumnDoc {
        name: "fitted",
        direction: ColumnDirection::Describes,
        doc: "The fitted power law at that size; empty without a fit.",
    },
    ColumnDoc {
        name: "fitted_high",
        direction: ColumnDirection::Describes,
        doc: "Upper end of the law's 95 % confidence interval at that size.",
    },
    ColumnDoc {
        name: "fitted_low",
        direction: ColumnDirection::Describes,
        doc: "Lower end of the law's 95 % confidence interval at that size.",
    },
    ColumnDoc {
        name: "found_by",
        direction: ColumnDirection::Describes,
        doc: "What found the element that shows the verdict: the check with that verdict, or the first metric.",
    },
    ColumnDoc {
        name: "index",
        direction: ColumnDirection::Describes,
        doc: "The position of that element in the whole result, row-major.",
    },
    ColumnDoc {
        name: "input",
        direction: ColumnDirection::Identifies,
        doc: "The input of the case: a distribution, then what arguments are bound to.",
    },
    ColumnDoc { name: "metric", direction: ColumnDirection::Identifies, doc: "The column whose growth is fitted." },
    ColumnDoc {
        name: "mode",
        direction: ColumnDirection::Identifies,
        doc: "What is judged: a mode, `chip/precision/excess[+refinement...]`, or another subject.",
    },
    ColumnDoc { name: "note", direction: ColumnDirection::Describes, doc: "The fit in words, or why there is none." },
    ColumnDoc {
        name: "outcome",
        direction: ColumnDirection::Verdict,
        doc: "What the check `growth` says, whatever the suite expects.",
    },
    ColumnDoc {
        name: "program",
        direction: ColumnDirection::Identifies,
        doc: "The program of the case with its parameters.",
    },
    ColumnDoc {
        name: "residual",
        direction: ColumnDirection::Describes,
        doc: "Standard deviation of the metric's natural logarithm about the fitted line.",
    },
    ColumnDoc {
        name: "result",
        direction: ColumnDirection::Describes,
        doc: "The program's result in which the element stands that shows the verdict.",
    },
    ColumnDoc {
        name: "row",
        direction: ColumnDirection::Describes,
        doc: "The row of that element in the whole case, from 0.",
    },
    ColumnDoc { name: "rows", direction: ColumnDirection::Identifies, doc: "Rows that the case evaluated." },
    ColumnDoc {
        name: "seed",
        direction: ColumnDirection::Identifies,
        doc: "Which input bits; `all` for a fit through the points of all seeds.",
    },
    ColumnDoc {
        name: "series",
        direction: ColumnDirection::Identifies,
        doc: "A case's id with `n` in the place of the size.",
    },
    ColumnDoc {
        name: "size",
        direction: ColumnDirection::Identifies,
        doc: "The size n, which the program maps to shapes.",
    },
    ColumnDoc { name: "sizes", direction: ColumnDirection::Identifies, doc: "How many sizes the fit used." },
    ColumnDoc {
        name: "slope_high",
        direction: ColumnDirection::Describes,
        doc: "Upper end of the slope's 95 % interval.",
    },
    ColumnDoc {
        name: "slope_low",
        direction: ColumnDirection::Describes,
        doc: "Lower end of the slope's 95 % interval.",
    },
    ColumnDoc { name: "suite", direction: ColumnDirection::Identifies, doc: "The suite that a file belongs to." },
    ColumnDoc {
        name: "token_scores",
        direction: ColumnDirection::Describes,
        doc: "Bits of the scores that the declared program gives these tokens, every operation rounded.",
    },
    ColumnDoc {
        name: "tokens",
        direction: ColumnDirection::Describes,
        doc: "The tokens in question, the one that should be there first.",
    },
    ColumnDoc {
        name: "truth_hex",
        direction: ColumnDirection::Describes,
        doc: "Bits of what that element is held against: the truth, or the other of two values that a check compares. \
      Floats in f64, others in the result's type.",
    },
    ColumnDoc {
        name: "value",
        direction: ColumnDirection::Identifies,
        doc: "The metric of the case; empty for all seeds together.",
    },
    ColumnDoc {
        name: "value_hex",
        direction: ColumnDirection::Describes,
        doc: "Bits of what was computed there, in the result's type.",
    },
    ColumnDoc {
        name: "verdict",
        direction: ColumnDirection::Verdict,
        doc: "The weightiest verdict of the case's checks.",
    },
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
