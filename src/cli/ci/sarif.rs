//! SARIF 2.1.0 (OASIS), which GitHub's code scanning and editors show at lines of files.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use ulpgate_front::check::find_check;
use ulpgate_front::diff::ChangeKind;

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
    let Described { name, short, full, next } = described(kind);
    let help = format!("{full}\n\n{next}");
    json!({
        "id": id,
        "name": name,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": help, "markdown": help},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["numerics"], "precision": "very-high"},
    })
}

/// The texts of a rule.
struct Described {
    /// A name for people, which SARIF wants to be another word than the id.
    name: String,
    /// A sentence.
    short: String,
    /// The documentation in full.
    full: String,
    /// Ways to go on from a result.
    next: &'static str,
}

const NEXT_OF_CASE: &str = "The message names the case. `ulpgate explain CASE` shows its worst rows and the program as compiled; \
                            a finding that is meant gets `expect` and `because` in its suite.";
const NEXT_OF_ROW: &str = "`ulpgate explain CASE` shows a case; `ulpgate gate --bless` accepts changed reports.";
const NEXT_OF_CHANGE: &str = "The message names the value, and the next command. `ulpgate hlo diff BEFORE AFTER --accept FILE --bless` \
                              accepts what there is now.";
const NEXT_OF_RESULT: &str = "The message says what is wrong, as far as it is known. `ulpgate judge` prints all of it.";

/// The texts of a kind of rule: the documentation of a check or of a kind of change, a change of a report, or another verdict.
fn described(kind: &str) -> Described {
    if let Some(check) = find_check(kind) {
        let full = check.doc();
        let asks = full.strip_prefix("Asks: ").unwrap_or(full);
        let end = asks.find(['.', '?']).map_or(asks.len(), |at| at + 1);
        let name = format!("{}Check", pascal(kind));
        return Described { name, short: asks[..end].to_string(), full: full.to_string(), next: NEXT_OF_CASE };
    }
    if let Some(change) = ChangeKind::ALL.into_iter().find(|change| change.name() == kind) {
        let full = change.doc();
        let end = full.find(['.', ':', ';']).unwrap_or(full.len());
        let name = format!("{}Change", pascal(kind));
        return Described { name, short: format!("{}.", &full[..end]), full: full.to_string(), next: NEXT_OF_CHANGE };
    }
    let of_row = |text: &'static str| (format!("{}Row", pascal(kind)), text, NEXT_OF_ROW);
    let (name, text, next) = match kind {
        "better" => of_row("A row of a report is better than the committed one."),
        "worse" => of_row("A row of a report is worse than the committed one."),
        "changed" => of_row("A row of a report is another one, and neither better nor worse."),
        "new" => of_row("A row or report is not among the committed ones."),
        "gone" => of_row("A committed row or report is not there any more."),
        "result-differs" => {
            (pascal(kind), "A result of two programs on the given inputs has other bits.", NEXT_OF_CHANGE)
        }
        "change-gone" => (pascal(kind), "A change of the accepted list no longer occurs.", NEXT_OF_CHANGE),
        "not-judged" => (pascal(kind), "A pair of programs could not be judged.", NEXT_OF_CHANGE),
        "judge" => (
            "JudgedResult".to_string(),
            "A result is outside of what is permitted, or not known to be inside.",
            NEXT_OF_RESULT,
        ),
        _ => (pascal(kind), "An error grows with size at another rate than its suite says.", NEXT_OF_CASE),
    };
    Described { name, short: text.to_string(), full: text.to_string(), next }
}

/// A name without separators, each word with a capital.
fn pascal(kind: &str) -> String {
    let words = kind.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

fn result(test: &Test, problem: &Problem) -> Value {
    let (file, line) = &problem.place;
    let mut said = format!("{}: {}: {}", problem.verdict, test.name, problem.message);
    for line in problem.evidence.iter().chain(&problem.next) {
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
