//! Findings as lines for people and as JSON.

use std::fmt;

use serde_json::{Value, json};

use super::super::change::{Change, Difference};
use super::super::outcome::{Maximum, Outcome};
use super::super::result_difference::{Lost, Right, Verdict};

impl Difference {
    /// `changes`, `unmatched` and `not_understood`, and `results` where both programs were run.
    pub fn to_json(&self, results: Option<&[Outcome]>) -> Value {
        let ([left, right], [lost, new]) = (&self.unmatched, &self.not_understood.apart);
        let changes: Vec<Value> = self.changes.iter().map(change).collect();
        let mut value = json!({
            "changes": changes,
            "unmatched": {"before": left, "after": right},
            "not_understood": {"before": lost, "after": new, "alike": self.not_understood.alike},
        });
        if let Some(results) = results {
            value["results"] = json!(results);
        }
        value
    }
}

fn change(change: &Change) -> Value {
    json!({
        "kind": change.kind.name(),
        "name": change.name,
        "op_name": change.op_name,
        "before": change.before,
        "after": change.after,
    })
}

/// `result N ...:` and below it lines indented by two spaces.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_result(self, f)
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each verdict")]
fn write_result(result: &Outcome, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Outcome { result: index, shape, elements, differing, rows, rows_differing, .. } = result;
    if *differing == 0 {
        let nans = result.nans_of_other_bits;
        return writeln!(
            out,
            "result {index} {shape}: equal but for the bits of {nans} NaNs, which IEEE 754 leaves open"
        );
    }
    write!(out, "result {index} {shape}: {differing} of {elements} elements differ")?;
    match rows == elements {
        true => writeln!(out)?,
        false => writeln!(out, ", in {rows_differing} of {rows} rows")?,
    }
    match &result.verdict {
        Verdict::Float { format, before, change, after, zero_in_one, not_finite_in_one, largest, scores } => {
            match before {
                Some(before) => writeln!(out, "  before: up to {} from the truth", ulps(*before, format))?,
                None => no_truth(result, out)?,
            }
            write!(out, "  after: up to {} from before", ulps(*change, format))?;
            match after {
                Some(after) => writeln!(out, ", up to {} from the truth", ulps(*after, format))?,
                None => writeln!(out)?,
            }
            if result.is_of_zero_signs() {
                writeln!(out, "  after: signs of zeros alone differ")?;
            }
            if *zero_in_one > 0 {
                writeln!(out, "  after: {zero_in_one} elements are zero in one of the two, not in the other")?;
            }
            if *not_finite_in_one > 0 {
                write!(out, "  after: {not_finite_in_one} elements are infinite or NaN in one of the two, ")?;
                writeln!(out, "and another value in the other")?;
            }
            if largest.count() > 0 {
                let label = if *scores { "tokens" } else { "largest" };
                write!(out, "  {label}: the largest element is another in {} of {rows} rows; ", largest.count())?;
                agreement(largest, out)?;
            }
        }
        Verdict::Integers { change, right } => {
            write!(out, "  after: up to {change} from before; ")?;
            agreement(right, out)?;
            if right.undecided > 0 {
                no_truth(result, out)?;
            }
        }
        Verdict::Tokens { right, tied, lost } => {
            write!(out, "  tokens: of {rows_differing} rows that changed, ")?;
            agreement(right, out)?;
            if let Some(tied) = tied.filter(|tied| *tied > 0) {
                writeln!(out, "  tokens: in {tied} of them all values are the same: their order hangs on ties")?;
            }
            write_lost(*lost, *rows, out)?;
            if right.undecided > 0 {
                no_truth(result, out)?;
            }
        }
        Verdict::Kept { before, after, truth, empty_before, empty_after, lost } => {
            write!(out, "  tokens: kept {before} before, {after} after")?;
            match truth {
                Some(truth) => writeln!(out, ", {truth} in truth")?,
                None => writeln!(out)?,
            }
            writeln!(out, "  tokens: rows that keep none: {empty_before} before, {empty_after} after, of {rows}")?;
            write_lost(*lost, *rows, out)?;
            if truth.is_none() {
                no_truth(result, out)?;
            }
        }
    }
    if let Some(Maximum { maximum, of, rows, unreached_before, unreached_after }) = result.maximum
        && unreached_before + unreached_after > 0
    {
        write!(
            out,
            "  tokens: rows in which no element of result {of} reaches its maximum, result {maximum}, so that "
        )?;
        writeln!(out, "`p >= max(p)` keeps no token: {unreached_before} before, {unreached_after} after, of {rows}")?;
    }
    Ok(())
}

fn write_lost(lost: Option<Lost>, rows: usize, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(Lost { before, after }) = lost else { return Ok(()) };
    writeln!(out, "  tokens: rows that lost the most probable token: {before} before, {after} after, of {rows}")
}

fn agreement(right: &Right, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Right { before, after, neither, .. } = right;
    writeln!(out, "the truth agrees with before in {before}, with after in {after}, with neither in {neither}")
}

fn no_truth(result: &Outcome, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let why = result.truth_unknown.as_deref().unwrap_or("undecided at the highest precision");
    writeln!(out, "  truth: not known: {}", why.replace(['\n', '\r'], " "))
}

/// A distance in ulps, to three digits.
fn ulps(value: f64, format: &str) -> String {
    match value {
        v if v.is_infinite() => format!("infinitely many ulps of {format}"),
        v if v >= 100.0 => format!("{v:.0} ulps of {format}"),
        v if v >= 10.0 => format!("{v:.1} ulps of {format}"),
        v if v >= 1.0 || v == 0.0 => format!("{v:.2} ulps of {format}"),
        v => format!("{v:.3} ulps of {format}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{ChangeKind, NotUnderstood};

    /// In JSON each side has its own name.
    #[test]
    fn before_and_after_keep_their_names() {
        let names = |of: &[&str]| of.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let change = Change {
            kind: ChangeKind::Narrowed,
            name: "sum".to_string(),
            op_name: None,
            before: "sum in f32".to_string(),
            after: "sum in bf16".to_string(),
            of_unit: false,
        };
        let difference = Difference {
            changes: vec![change],
            unmatched: [names(&["a"]), names(&["b", "c"])],
            not_understood: NotUnderstood { apart: [names(&["lost"]), names(&["new"])], alike: names(&["same"]) },
            ..Difference::default()
        };
        let json = difference.to_json(None);
        assert_eq!(json["unmatched"], json!({"before": ["a"], "after": ["b", "c"]}));
        assert_eq!(json["not_understood"], json!({"before": ["lost"], "after": ["new"], "alike": ["same"]}));
        let (before, after) = (&json["changes"][0]["before"], &json["changes"][0]["after"]);
        assert_eq!((before, after), (&json!("sum in f32"), &json!("sum in bf16")));
        assert!(json.get("results").is_none());
    }
}
