//! The report of a move, as lines and as JSON.

use serde::Serialize;

use crate::evaluation::TokenKind;

use super::{
    Aspect, HonestCounts, KeptResult, KeptTolerance, MovedResult, MovedResults, MovedTokens, OperationChanges, Survival,
};

/// One side of a move, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideText {
    /// The file.
    pub file: String,
    /// The machine, as chip/precision/excess.
    pub mode: String,
}

/// All that is known of a move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortReport {
    /// The version of this form: 1.
    pub version: u32,
    /// The first side.
    pub from: SideText,
    /// The second side.
    pub to: SideText,
    /// The operations that change.
    pub operations: OperationChanges,
    /// The results on both chips.
    pub results: MovedResults,
    /// The tolerance, where one is asked about.
    pub tolerance: Option<KeptTolerance>,
}

impl PortReport {
    /// Whether the tolerance survives; without one, whether nothing changes.
    pub fn is_kept(&self) -> bool {
        match &self.tolerance {
            Some(kept) => kept.verdict == Survival::Survives,
            None => self.operations.changes.is_empty() && !self.results.differ(),
        }
    }

    /// The report as `ulpgate port` prints it: first the tokens, the results and the tolerance, for whose sake the move is judged, then
    /// the operations as their cause.
    pub fn lines(&self) -> Vec<String> {
        let (from, to) = (&self.from, &self.to);
        let mut lines = vec![format!("{} ({}) -> {} ({})", from.mode, from.file, to.mode, to.file)];
        let MovedResults { inputs, results, tokens, truth_unknown } = &self.results;
        lines.push(format!("results on {inputs}, errors against the truth"));
        if let Some(why) = truth_unknown {
            lines.push(format!("  the truth is not known: {}", why.replace(['\n', '\r'], " ")));
        }
        lines.extend(tokens.iter().map(token_line));
        lines.extend(results.iter().map(result_line));
        if let Some(kept) = &self.tolerance {
            lines.extend(tolerance_lines(kept));
        }
        lines.extend(self.operation_lines());
        lines
    }

    fn operation_lines(&self) -> Vec<String> {
        let changes = &self.operations.changes;
        let count = |aspect: Aspect| changes.iter().filter(|change| change.aspect == aspect).count();
        let counts = Aspect::ALL.into_iter().map(|aspect| (aspect, count(aspect))).filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts.map(|(aspect, count)| format!("{count} {}", aspect.name())).collect();
        let counts = if counts.is_empty() { "none".to_string() } else { counts.join(", ") };
        let mut lines = vec![format!("operations that change: {counts}")];
        lines.extend(changes.iter().take(SHOWN).map(|change| format!("  {change}")));
        if changes.len() > SHOWN {
            lines.push(format!("  and {} more: --json has all", changes.len() - SHOWN));
        }
        lines.extend(self.operations.notes.iter().map(|note| format!("  note: {note}")));
        lines
    }
}

/// Operations that are shown.
const SHOWN: usize = 12;

fn result_line(result: &MovedResult) -> String {
    let MovedResult { result: name, shape, is_float, elements, differing, before, after } = result;
    let what = match differing {
        0 => "equal, bit for bit".to_string(),
        _ => format!("{differing} of {elements} elements differ"),
    };
    let Some((before, after)) = before.zip(*after) else { return format!("  {name} {shape}: {what}") };
    let (from, to) = (short(before.largest), short(after.largest));
    if !is_float {
        return format!("  {name} {shape}: {what}; largest difference from the truth {from} -> {to}");
    }
    let largest = format!("largest error {from} -> {to} ulps");
    let rms = before.relative_rms.zip(after.relative_rms);
    let rms = rms.map(|(before, after)| format!(", relative rms {before:.2e} -> {after:.2e}")).unwrap_or_default();
    format!("  {name} {shape}: {what}; {largest}{rms}")
}

fn token_line(tokens: &MovedTokens) -> String {
    let MovedTokens { result, kind, rows, changed, wrong: [before, after], undecided, lost } = tokens;
    // Of scores a token is the place of the largest.
    let tokens = if *kind == TokenKind::Scores { "argmax of" } else { "tokens of" };
    let mut line =
        format!("  {tokens} {result}: {changed} of {rows} rows change; not the exact ones: {before} -> {after}");
    if let Some([before, after]) = lost {
        line += &format!("; rows without the most probable token: {before} -> {after}");
    }
    if undecided.iter().any(|open| *open > 0) {
        line += &format!("; not decided: {} -> {}", undecided[0], undecided[1]);
    }
    line
}

fn tolerance_lines(kept: &KeptTolerance) -> Vec<String> {
    let KeptTolerance { tolerance, reference, verdict, results } = kept;
    let mut lines = vec![format!("tolerance {tolerance} against {reference}: {}", verdict.name())];
    for result in results {
        let KeptResult { result: name, verdict, why, before, after, proposal, derivation } = result;
        let failed = format!("{} -> {} of {} honest runs fail", before.failed, after.failed, after.runs);
        let errors = format!("largest error {} -> {} of what is allowed", share(before), share(after));
        let why = match verdict {
            Survival::Flaky => format!(" ({})", why.trim_start_matches("flaky: ")),
            _ => String::new(),
        };
        lines.push(format!("  {name}: {}{why}; {failed}; {errors}", verdict.name()));
        if *verdict != Survival::Survives {
            lines.push(format!("    proposal: {proposal}"));
            lines.push(format!("    because: {derivation}"));
        }
    }
    lines
}

fn share(counts: &HonestCounts) -> String {
    counts.largest.map_or("infinitely much".to_string(), |largest| format!("{largest:.3}"))
}

/// A distance to three digits or to its whole ulps; a larger one than a million, as near a truth of almost zero, by its power of ten.
fn short(value: f64) -> String {
    match value {
        v if v.is_infinite() => "infinitely many".to_string(),
        v if v >= 1e6 => format!("{v:.2e}"),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 || v == 0.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::ErrorFigures;
    use crate::tensor::DType;

    /// Integers have no ulps.
    #[test]
    fn integers_are_told_by_their_difference() {
        let line = |dtype: DType| {
            let figures = |largest| Some(ErrorFigures { largest, relative_rms: None });
            let (result, shape, is_float) = ("out0".to_string(), format!("{dtype}[8]"), dtype.is_float());
            let (before, after) = (figures(0.0), figures(3.0));
            result_line(&MovedResult { result, shape, is_float, elements: 8, differing: 2, before, after })
        };
        let told = "  out0 s32[8]: 2 of 8 elements differ; largest difference from the truth 0.00 -> 3.00";
        assert_eq!(line(DType::S32), told);
        assert!(line(DType::Pred).contains("difference from the truth") && line(DType::BF16).ends_with("-> 3.00 ulps"));
    }

    /// Rows that are open on one chip alone are told.
    #[test]
    fn open_rows_of_either_chip_are_told() {
        let line = |undecided: [usize; 2]| {
            let (result, kind) = ("out0".to_string(), TokenKind::Tokens);
            token_line(&MovedTokens { result, kind, rows: 4, changed: 1, wrong: [0, 1], undecided, lost: None })
        };
        assert!(line([0, 2]).ends_with("; not decided: 0 -> 2") && line([2, 0]).ends_with("; not decided: 2 -> 0"));
        assert!(line([0, 0]).ends_with("not the exact ones: 0 -> 1"));
    }
}
