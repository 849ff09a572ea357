//! Formats that CI systems read: JUnit XML, SARIF, GitHub's annotations and step summary.

use std::process::Command;

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::Value;

use super::{Folder, KEEP, SOFTMAX, TINY, edited};

/// A suite in which nothing is found, and one with a finding that nobody expects.
fn folder() -> Folder {
    Folder::new(&[("tiny", TINY), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))])
}

const LOST: &str = "keep/keep_max[rows=64]/v5e/default/cpu/normal/256/0";

#[test]
fn junit_has_a_test_for_every_case() {
    let folder = folder();
    folder.exits(1, &["run", "--junit", "junit.xml"]);
    let report = Report::deserialize_from_str(&folder.read("junit.xml")).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (2, 1, 0));
    let [keep, tiny] = report.test_suites.as_slice() else { panic!("{report:?}") };
    assert_eq!((keep.name.as_str(), tiny.name.as_str()), ("keep", "tiny"));
    assert!(matches!(tiny.test_cases[0].status, TestCaseStatus::Success { .. }));
    assert_eq!(keep.test_cases[0].name.as_str(), LOST);
    let TestCaseStatus::NonSuccess { kind, message, ty, description, .. } = &keep.test_cases[0].status else {
        panic!("{keep:?}")
    };
    assert_eq!((*kind, ty.as_ref().map(|ty| ty.as_str())), (NonSuccessKind::Failure, Some("unexpected-finding")));
    assert!(message.as_ref().is_some_and(|text| text.as_str().contains("of 64 rows lost")), "{message:?}");
    assert!(description.as_ref().is_some_and(|text| text.as_str().contains("\nrow ")), "{description:?}");
    // Known findings pass, and are told; the same verdicts are the same bytes.
    let known = "kind = \"dropped_token\"\nexpect = \"finding\"\nbecause = \"it reads both views\"";
    let known = edited(KEEP, &[("EXCESS", "cpu"), ("kind = \"dropped_token\"", known)]);
    folder.write("suites/keep.toml", &known);
    folder.exits(0, &["run", "--junit", "known.xml"]);
    let text = folder.read("known.xml");
    assert!(text.contains("known, and still there:\ndropped_token: "), "{text}");
    folder.exits(0, &["run", "--junit", "known.xml"]);
    assert_eq!(folder.read("known.xml"), text);
}

#[test]
fn sarif_points_at_the_matrix_that_asks() {
    let folder = folder();
    folder.exits(1, &["run", "--sarif", "found.sarif"]);
    let log: Value = serde_json::from_str(&folder.read("found.sarif")).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"], serde_json::json!([{"id": "dropped_token"}]));
    let [result] = run["results"].as_array().unwrap().as_slice() else { panic!("{run}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&Value::from("dropped_token"), &Value::from("error")));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "suites/keep.toml");
    let line = place["region"]["startLine"].as_u64().unwrap() as usize;
    assert_eq!(folder.read("suites/keep.toml").lines().nth(line - 1), Some("[[matrix]]"));
    // Nothing found is a log without results, not none at all.
    folder.exits(0, &["run", "tiny", "--sarif", "none.sarif"]);
    let log: Value = serde_json::from_str(&folder.read("none.sarif")).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let folder = folder();
    let ran = |code: i32, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
        let ran =
            command.args(arguments).current_dir(folder.path(".")).env("GITHUB_STEP_SUMMARY", "summary.md").output();
        let ran = ran.unwrap();
        assert_eq!(ran.status.code(), Some(code));
        String::from_utf8(ran.stdout).unwrap()
    };
    folder.write("summary.md", "before\n");
    let out = ran(1, &["run", "--github"]);
    let annotation = out.lines().find(|line| line.starts_with("::error ")).unwrap();
    let title = format!("::error file=suites/keep.toml,line=5,title=dropped_token in {LOST}::");
    assert!(annotation.starts_with(&title) && annotation.contains("%0Arow "), "{annotation}");
    let summary = folder.read("summary.md");
    assert!(summary.starts_with("before\n## ulpgate: 1 problem\n"), "{summary}");
    assert!(summary.contains("\n| tiny | 1 | 0 | 0 |\n"), "{summary}");
    assert!(summary.contains(&format!("\n- **unexpected-finding** `{LOST}`: dropped_token: ")), "{summary}");
    folder.exits(2, &["run", "--github", "--json"]);
}

#[test]
fn a_gate_adds_what_differs_from_the_reports() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    folder.exits(0, &["gate", "--junit", "same.xml"]);
    let report = Report::deserialize_from_str(&folder.read("same.xml")).unwrap();
    let gate = report.test_suites.last().unwrap();
    assert_eq!((gate.name.as_str(), gate.tests, gate.failures), ("gate", 1, 0));
    let text = folder.read("reports/softmax.csv");
    let (rest, last) = text.trim_end().rsplit_once('\n').unwrap();
    folder.write("reports/softmax.csv", &format!("{rest}\n"));
    folder.exits(1, &["gate", "--junit", "new.xml", "--sarif", "new.sarif"]);
    let report = Report::deserialize_from_str(&folder.read("new.xml")).unwrap();
    let gate = report.test_suites.last().unwrap();
    let case = last.split("/0,").next().unwrap();
    assert_eq!(gate.test_cases[0].name.as_str(), format!("softmax.csv {case}/0"));
    assert_eq!(gate.failures, 1);
    let log: Value = serde_json::from_str(&folder.read("new.sarif")).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "new");
    assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "suites/softmax.toml");
}
