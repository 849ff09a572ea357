//! A judgement of layers for people, and for programs.

use serde_json::{Value, json};

use crate::judge::Verdict;
use crate::name::printable_lines;

use super::weigh::told;
use super::{Along, Layer, Layers, SIDES, Side};

/// Indices that a line lists.
const LISTED: usize = 8;

impl Layers {
    /// The judgement as `ulpgate layers --json` prints it; `docs/schema/layers.json` has its schema. `program` is what the program
    /// is called.
    pub fn to_json(&self, program: &str) -> Value {
        let of = |pair: &[Option<String>; 2]| json!({ "a": pair[0], "b": pair[1] });
        json!({
            "version": 1,
            "program": program,
            "verdict": self.verdict(),
            "modes": of(&self.modes),
            "first_outside": of(&self.first_outside),
            "layers": self.layers,
            "notes": self.notes,
        })
    }

    /// The judgement as `ulpgate layers` prints it: a line a layer, then the layers that are not honest, with reasons.
    pub fn lines(&self) -> Vec<String> {
        let width = self.layers.iter().map(|layer| layer.name.len()).max().unwrap_or(0).max("layer".len());
        let row = |name: &str, columns: [&str; 5]| {
            let [drift, inherited, explained, a, b] = columns;
            format!("{name:width$}  {drift:>9}  {inherited:>10}  {explained:>9}  {a:<12}  {b}").trim_end().to_string()
        };
        let mut lines = vec![row("layer", ["drift", "from input", "roundings", "A", "B"])];
        for layer in &self.layers {
            let figure = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.2e}"));
            let [drift, inherited, explained] = [layer.drift, layer.inherited, layer.explained].map(figure);
            let [a, b] = [&layer.a, &layer.b].map(|side| side.as_ref().map_or("-".to_string(), Side::word));
            lines.push(row(&layer.name, [&drift, &inherited, &explained, &a, &b]));
        }
        for layer in &self.layers {
            for (side, name) in [&layer.a, &layer.b].into_iter().zip(SIDES) {
                let wrong = side.as_ref().filter(|side| matches!(side.verdict, Verdict::Outside | Verdict::Unknown));
                lines.extend(wrong.into_iter().flat_map(|side| side.lines(name, layer)));
            }
        }
        for (name, (first, mode)) in SIDES.iter().zip(self.first_outside.iter().zip(&self.modes)) {
            let mode = mode.as_ref().map_or(String::new(), |mode| format!(", held to {mode}"));
            lines.push(match first {
                Some(first) => format!("{name}: first outside is {first}{mode}"),
                None => format!("{name}: no layer is outside{mode}"),
            });
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        printable_lines(lines)
    }
}

impl Side {
    /// The verdict with the error over the explained one.
    fn word(&self) -> String {
        let ratio = self.ratio.map_or(String::new(), |ratio| format!(" {}", told(ratio)));
        match self.verdict {
            Verdict::Bits => "bits".to_string(),
            Verdict::Conforming => ratio.trim_start().to_string(),
            Verdict::Outside => format!("OUTSIDE{ratio}"),
            Verdict::Unknown => "UNKNOWN".to_string(),
        }
    }

    /// The reasons, of a layer that is not honest.
    fn lines(&self, side: &str, layer: &Layer) -> Vec<String> {
        let from = match self.judged_from.is_empty() {
            true => "the program's arguments".to_string(),
            false => self.judged_from.join(", "),
        };
        let operations = match layer.operations.as_slice() {
            [] => "no operation".to_string(),
            [one] => one.clone(),
            [first, .., last] => format!("{} operations from {first} to {last}", layer.operations.len()),
        };
        let verdict = self.verdict.name().to_uppercase();
        let mut lines = vec![format!("{} {} of {side}: {verdict}, from {from}: {operations}", layer.name, layer.shape)];
        lines.extend(self.because.iter().map(|why| format!("  {why}")));
        lines.extend(self.along.iter().map(|along| format!("  {}", along.line())));
        for pattern in &self.pattern {
            lines.push(format!("  {}: {} (explains {:.1} %)", pattern.kind, pattern.says, 100.0 * pattern.explained));
        }
        lines
    }
}

impl Along {
    /// The indices, the shorter list of the two.
    fn line(&self) -> String {
        let list = |indices: &[usize]| {
            let more = indices.len().saturating_sub(LISTED);
            let shown: Vec<String> = indices.iter().take(LISTED).map(usize::to_string).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", shown.join(", "))
        };
        let all = self.right.len() + self.outside.len();
        match self.right.len() < self.outside.len() {
            true => format!("dim {}: right at {} of {all} indices, {}", self.dim, self.right.len(), list(&self.right)),
            false => {
                format!("dim {}: outside at {} of {all} indices, {}", self.dim, self.outside.len(), list(&self.outside))
            }
        }
    }
}
