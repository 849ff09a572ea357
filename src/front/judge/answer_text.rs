//! A judgement for people, and for programs.

use serde_json::{Value, json};

use crate::ir::movement::index_text;
use crate::name::{printable_lines, quantity};

use super::evidence::Pattern;
use super::{Judged, JudgedResult, Verdict};

/// Modes that a line names.
const MODES: usize = 4;

/// The share of a difference from which on a cause explains all of it, but for roundings.
const WHOLE: f64 = 0.995;

/// Tokens that are listed.
const TOKENS: usize = 8;

impl Judged {
    /// The judgement as `ulpgate judge --json` prints it; `docs/schema/judge.json` has its schema. `program` is what the program
    /// is called.
    pub fn to_json(&self, program: &str) -> Value {
        json!({
            "version": 1,
            "program": program,
            "verdict": self.verdict(),
            "results": self.results,
            "notes": self.notes,
        })
    }

    /// The judgement as `ulpgate judge` prints it.
    pub fn lines(&self) -> Vec<String> {
        let notes = self.notes.iter().map(|note| format!("note: {note}"));
        let lines = self.results.iter().flat_map(JudgedResult::lines).chain(notes);
        printable_lines(lines)
    }
}

impl JudgedResult {
    /// The judgement of one result: its verdict, and below it reasons, patterns and figures.
    pub fn lines(&self) -> Vec<String> {
        let recorded = if self.recorded_as == self.name { String::new() } else { format!(" ({})", self.recorded_as) };
        let mut lines = vec![format!("{}{recorded} {}: {}", self.name, self.shape, self.verdict.name().to_uppercase())];
        lines.extend(self.because.iter().map(|why| format!("  {why}")));
        for cause in told_causes(&self.pattern) {
            lines.push(format!("  {}: {} (explains {:.1} %)", cause.kind, cause.says, 100.0 * cause.explained));
        }
        lines.extend(
            self.pattern.iter().filter(|pattern| pattern.is_place()).map(|place| format!("  where: {}", place.says)),
        );
        self.figures(&mut lines);
        lines
    }

    /// The modes, errors and tokens.
    fn figures(&self, lines: &mut Vec<String>) {
        if !self.modes.is_empty() {
            let more = self.modes.len().saturating_sub(MODES);
            let more = if more > 0 { format!(" and {more} more that compute it alike") } else { String::new() };
            let shown: Vec<&str> = self.modes.iter().take(MODES).map(String::as_str).collect();
            lines.push(format!("  same bits: {}{more}", shown.join(", ")));
        } else if let Some(nearest) = &self.nearest {
            let (mode, rms) = (&nearest.mode, nearest.relative_rms);
            let (elements, of) = (nearest.differences.elements, nearest.differences.of);
            // Of a more accurate result it is the mode that errs: a large multiple would read as a fault.
            let is_news = self.verdict == Verdict::Conforming && nearest.orders > 10.0;
            let orders = match is_news {
                true => String::new(),
                false => format!(", {} times that of two orders of sums", factor(nearest.orders)),
            };
            lines.push(format!(
                "  nearest: {mode}, differs by a relative rms of {rms:.2e}{orders}; {elements} of {of} elements differ"
            ));
        }
        if let Some(error) = &self.error {
            let ratio = self.ratio.map_or(String::new(), |ratio| format!(", {} times that mode's", factor(ratio)));
            let [half, nine, most] = error.quantiles;
            let (rms, largest) = (error.relative_rms, error.largest);
            let at = index_text(&self.dims, error.largest_at);
            lines.push(format!(
                "  error: relative rms {rms:.2e}{ratio}; absolute at most {half:.1e} in 50 % of elements, {nine:.1e} in 90 %, {most:.1e} in 99 %; largest {largest:.1e} at {at}"
            ));
        }
        if let Some(detectable) = &self.detectable {
            lines.push(format!("  power: {detectable}"));
        }
        if self.outside.unknown > 0 {
            let (elements, unknown) = (quantity(self.outside.elements, "element"), self.outside.unknown);
            lines.push(format!("  permitted: {elements} outside, {unknown} not known"));
        }
        for token in self.tokens.iter().flatten().take(TOKENS) {
            let margin = token.margin_ulp.map_or(String::new(), |margin| {
                let side = if margin < 0.0 { "ahead" } else { "behind" };
                format!(", {:.2} ulp {side}", margin.abs())
            });
            let at = index_text(&self.dims, token.element);
            let (recorded, declared) = (token.recorded, token.declared);
            lines.push(format!("  token {at}: {recorded} instead of {declared}{margin}: {}", token.because));
        }
    }
}

/// The causes, down to the first that explains all of the difference: beside it no other is one.
fn told_causes(pattern: &[Pattern]) -> Vec<&Pattern> {
    let mut causes: Vec<&Pattern> = pattern.iter().filter(|one| !one.is_place()).collect();
    let whole = causes.iter().position(|cause| cause.explained >= WHOLE);
    causes.truncate(whole.map_or(causes.len(), |at| at + 1));
    causes
}

/// A factor with as many digits as a reader needs.
fn factor(value: f64) -> String {
    if value < 1000.0 { format!("{value:.3}") } else { format!("{value:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cause_is_told_behind_one_of_all() {
        let kinds = |list: &[(&'static str, f64)]| {
            let of = |(kind, explained): &(&'static str, f64)| Pattern::new(kind, String::new(), *explained);
            let pattern: Vec<Pattern> = list.iter().map(of).collect();
            told_causes(&pattern).iter().map(|cause| cause.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[("constant", 1.0), ("scaled", 0.84), ("everywhere", 1.0)]), ["constant"]);
        assert_eq!(kinds(&[("dropped", 0.88), ("rows", 1.0), ("scaled", 0.84)]), ["dropped", "scaled"]);
    }

    #[test]
    fn a_large_factor_is_told_by_its_magnitude() {
        assert_eq!([factor(0.6612), factor(78.508), factor(2_032_348.9)], ["0.661", "78.508", "2.0e6"]);
    }
}
