//! What the columns of reports mean that belong to no metric and no check.

/// Each with what it holds, sorted by name. Columns of metrics and of checks' figures are documented where these are.
pub static COLUMNS: &[(&str, &str)] = &[
    ("case", "`suite/program[key=value,...]/subject/input/n/seed`, which names a case."),
    ("expected_slope", "What theory says of the slope on log-log axes."),
    ("file", "A file that a suite is made of, from its folder."),
    ("fingerprint", "A hash (FNV-1a) of a file's bytes; of a suite's own file, of what it says without comments."),
    ("fitted", "The fitted power law at that size; empty without a fit."),
    ("fitted_high", "Upper end of the law's 95 % confidence interval at that size."),
    ("fitted_low", "Lower end of the law's 95 % confidence interval at that size."),
    ("found_by", "What found the element that shows the verdict: the check with that verdict, or the first metric."),
    ("index", "The position of that element in the whole result, row-major."),
    ("input", "The input of the case: a distribution, then what arguments are bound to."),
    ("metric", "The column whose growth is fitted."),
    ("mode", "What is judged: a mode, `chip/precision/excess[+refinement...]`, or another subject."),
    ("note", "The fit in words, or why there is none."),
    ("outcome", "What the check `growth` says, whatever the suite expects."),
    ("program", "The program of the case with its parameters."),
    ("residual", "Standard deviation of the metric's natural logarithm about the fitted line."),
    ("result", "The program's result in which the element stands that shows the verdict."),
    ("row", "The row of that element in the whole case, from 0."),
    ("rows", "Rows that the case evaluated."),
    ("seed", "Which input bits; `all` for a fit through the points of all seeds."),
    ("series", "A case's id with `n` in the place of the size."),
    ("size", "The size n, which the program maps to shapes."),
    ("sizes", "How many sizes the fit used."),
    ("slope_high", "Upper end of the slope's 95 % interval."),
    ("slope_low", "Lower end of the slope's 95 % interval."),
    ("suite", "The suite that a file belongs to."),
    ("token_scores", "Bits of the scores that the declared program gives these tokens, every operation rounded."),
    ("tokens", "The tokens in question, the one that should be there first."),
    (
        "truth_hex",
        "Bits of what that element is held against: the truth, or the other of two values that a check compares. \
      Floats in f64, others in the result's type.",
    ),
    ("value", "The metric of the case; empty for all seeds together."),
    ("value_hex", "Bits of what was computed there, in the result's type."),
    ("verdict", "The weightiest verdict of the case's checks."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::better_of;

    #[test]
    fn columns_are_sorted_and_none_is_a_figure() {
        assert!(COLUMNS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(COLUMNS.iter().all(|(name, doc)| better_of(name).is_none() && doc.ends_with('.')));
    }
}
