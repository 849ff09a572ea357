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
    let timeless = |text: &str| -> String {
        let parts = text.split(" time=\"").enumerate();
        parts.map(|(at, part)| if at == 0 { part } else { part.split_once('"').unwrap().1 }).collect()
    };
    assert_eq!(timeless(&folder.read("known.xml")), timeless(&text));
    // Each case has the seconds that it took, and a suite theirs together.
    let report = Report::deserialize_from_str(&text).unwrap();
    let suite = report.test_suites.first().unwrap();
    let took: f64 = suite.test_cases.iter().map(|case| case.time.unwrap().as_secs_f64()).sum();
    assert!(took > 0.0 && (suite.time.unwrap().as_secs_f64() - took).abs() < 0.01, "{text}");
}

#[test]
fn sarif_points_at_the_matrix_that_asks() {
    let folder = folder();
    folder.exits(1, &["run", "--sarif", "found.sarif"]);
    let log: Value = serde_json::from_str(&folder.read("found.sarif")).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let [rule] = run["tool"]["driver"]["rules"].as_array().unwrap().as_slice() else { panic!("{run}") };
    assert_eq!((&rule["id"], &rule["name"]), (&Value::from("dropped_token"), &Value::from("DroppedTokenCheck")));
    // GitHub shows these, and asks for them.
    for text in ["shortDescription", "fullDescription", "help"] {
        let text = rule[text]["text"].as_str().unwrap();
        assert!(text.len() > 20 && text.ends_with(['.', '?']), "{rule}");
    }
    assert!(rule["help"]["markdown"].as_str().unwrap().contains("ulpgate explain CASE"), "{rule}");
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
    let next = format!("%0ANext: `ulpgate explain '{LOST}'` shows why");
    assert!(annotation.contains(&next), "{annotation}");
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
    // SARIF wants a rule's name to be another word than its id.
    let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
    assert_eq!((&rule["id"], &rule["name"]), (&"new".into(), &"NewRow".into()));
}

/// A red gate names the case to look at and the way to accept it, on the terminal as in annotations.
#[test]
fn a_red_gate_names_the_next_command() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    assert!(!folder.exits(0, &["gate"]).out.contains("Next:"));
    let text = folder.read("reports/softmax.csv");
    let (rest, last) = text.trim_end().rsplit_once('\n').unwrap();
    folder.write("reports/softmax.csv", &format!("{rest}\n"));
    let case = last.split(',').next().unwrap();
    let next = format!("`ulpgate explain '{}'` shows the case", case.trim_matches('"'));
    let out = folder.exits(1, &["gate", "--github"]).out;
    let told: String = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("Next: {next}; `ulpgate gate --bless` accepts what there is now.")), "{out}");
    let annotation = out.lines().find(|line| line.starts_with("::error ")).unwrap();
    assert!(annotation.contains(&format!("Next: {next}")), "{annotation}");
    // A case that is gone cannot be explained any more.
    folder.write("reports/softmax.csv", &format!("{text}{}\n", last.replace("/0,", "/7,")));
    let out = folder.exits(1, &["gate", "--github"]).out;
    let annotation = out.lines().find(|line| line.contains("title=gone in ")).unwrap();
    assert!(annotation.ends_with("%0ANext: `ulpgate gate --bless` accepts what there is now."), "{annotation}");
    assert!(!out.contains("ulpgate explain"), "{out}");
    // A finding that no suite expects is not to be accepted by the gate.
    let folder = super::Folder::new(&[("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    folder.exits(1, &["run"]);
    let out = folder.exits(1, &["gate"]).out;
    let told: String = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("shows why; a finding that is meant gets `expect` and `because` in suites/keep.toml"),
        "{out}"
    );
    assert!(!told.contains("--bless"), "{out}");
}

/// So does a red comparison of programs.
#[test]
fn a_red_diff_names_the_next_command() {
    let folder = Folder::new(&[]);
    folder.exits(0, &["init", "."]);
    let [off, on] = ["off", "on"].map(|flag| format!("programs/keep_max.excess_{flag}.hlo"));
    assert_eq!(folder.exits(0, &["hlo", "diff", &off, &off, "--github"]).out, "changes: none\n");
    let out = folder.exits(1, &["hlo", "diff", &off, &on, "--github"]).out;
    let printed: Vec<&str> = out.lines().filter(|line| !line.starts_with("::error ")).collect();
    let told = printed.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("`ulpgate same {off} {on}` says whether any bit changes.")), "{out}");
    let annotations: Vec<&str> = out.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(annotations.len(), 2, "{out}");
    assert!(annotations[0].starts_with(&format!("::error file={off},line=")), "{out}");
    assert!(
        annotations[0].contains("title=rounding-removed in ") && annotations[0].contains("%0ANext: --inputs"),
        "{out}"
    );
    assert!(
        annotations.iter().all(|line| line.matches("Next: ").count() == 1 && !line.contains("ulpgate gate")),
        "{out}"
    );
    folder.exits(2, &["hlo", "diff", &off, &on, "--github", "--json"]);
}
