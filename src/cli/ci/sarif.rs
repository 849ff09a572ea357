//! SARIF 2.1.0 (OASIS), which GitHub's code scanning and editors show at lines of files.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::check::find_check;

use super::{Group, Problem, Test, problems};

/// The whole file: a result for each problem, at the line of the suite or report that it is about.
pub fn text(groups: &[Group]) -> String {
    let rules: BTreeSet<&str> = problems(groups).map(|(_, problem)| problem.rule.as_str()).collect();
    let rules: Vec<Value> = rules.into_iter().map(rule).collect();
    let results: Vec<Value> = problems(groups).map(|(test, problem)| result(test, problem)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "ulpgate", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

/// A rule with the texts that GitHub asks for: a name, two descriptions and a help.
fn rule(id: &str) -> Value {
    let kind = id.split('[').next().unwrap_or(id);
    let (short, full) = described(kind);
    let help = format!(
        "{full}\n\nThe message names the case. `ulpgate explain CASE` shows its worst rows and the program as compiled; a finding \
         that is meant gets `expect` and `because` in its suite, and `ulpgate gate --bless` accepts changed reports."
    );
    json!({
        "id": id,
        "name": pascal(kind),
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": help, "markdown": help},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["numerics"], "precision": "very-high"},
    })
}

/// A rule in a sentence, and in full: the documentation of the check, or the change of a report.
fn described(kind: &str) -> (String, String) {
    if let Some(check) = find_check(kind) {
        let full = check.doc();
        let asks = full.strip_prefix("Asks: ").unwrap_or(full);
        let end = asks.find(['.', '?']).map_or(asks.len(), |at| at + 1);
        return (asks[..end].to_string(), full.to_string());
    }
    let text = match kind {
        "better" => "A row of a report is better than the committed one.",
        "worse" => "A row of a report is worse than the committed one.",
        "changed" => "A row of a report is another one, and neither better nor worse.",
        "new" => "A row or report is not among the committed ones.",
        "gone" => "A committed row or report is not there any more.",
        kind if kind.starts_with("growth of ") => "An error grows with size at another rate than its suite says.",
        _ => "A result is not what is permitted.",
    };
    (text.to_string(), text.to_string())
}

/// A name without separators, each word with a capital.
fn pascal(kind: &str) -> String {
    let words = kind.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

fn result(test: &Test, problem: &Problem) -> Value {
    let (file, line) = &problem.place;
    let mut said = format!("{}: {}: {}", problem.verdict, test.name, problem.message);
    for line in &problem.evidence {
        said.push('\n');
        said.push_str(line);
    }
    let fingerprint = format!("{} {} {}", test.name, problem.rule, problem.value);
    json!({
        "ruleId": problem.rule,
        "level": "error",
        "message": {"text": said},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": file}, "region": {"startLine": line}},
            "logicalLocations": [{"fullyQualifiedName": test.name}],
        }],
        // The same problem of the same case is one alert, wherever the suite moved it.
        "partialFingerprints": {"caseAndRule/v1": fingerprint.trim_end()},
    })
}
