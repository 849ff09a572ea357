//! SARIF 2.1.0 (OASIS), which GitHub's code scanning and editors show at lines of files.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Group, Problem, Test, problems};

/// The whole file: a result for each problem, at the line of the suite or report that it is about.
pub fn text(groups: &[Group]) -> String {
    let rules: BTreeSet<&str> = problems(groups).map(|(_, problem)| problem.rule.as_str()).collect();
    let rules: Vec<Value> = rules.into_iter().map(|rule| json!({"id": rule})).collect();
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
