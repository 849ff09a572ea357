//! JUnit XML, which GitLab, Jenkins, Buildkite and others show as tests.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use ulpgate_front::record::Verdict;

use super::super::Failure;
use super::{Group, Problem, Test};

/// The whole file: a suite a group, with the seconds of the cases that have some. But for times, equal verdicts give equal bytes.
pub fn text(groups: &[Group], seconds: &BTreeMap<&str, f64>) -> Result<String, Failure> {
    let mut report = Report::new("ulpgate");
    for group in groups {
        let mut suite = TestSuite::new(group.name.as_str());
        let mut whole = Duration::ZERO;
        for test in &group.tests {
            let took = Duration::try_from_secs_f64(seconds.get(test.name.as_str()).copied().unwrap_or(0.0));
            let took = took.unwrap_or_default();
            let mut case = case(&group.name, test);
            case.set_time(took);
            suite.add_test_case(case);
            whole += took;
        }
        suite.set_time(whole);
        report.add_test_suite(suite);
    }
    report.to_string().map_err(|error| Failure::Message(format!("failed to write JUnit XML: {error}")))
}

fn case(group: &str, test: &Test) -> TestCase {
    if !test.is_judged && test.problems.is_empty() {
        let mut status = TestCaseStatus::skipped();
        status.set_type(Verdict::Measured.name()).set_message("measured: no check was asked of it");
        let mut case = TestCase::new(test.name.as_str(), status);
        case.set_classname(group);
        return case;
    }
    let Some(first) = test.problems.first() else {
        let mut case = TestCase::new(test.name.as_str(), TestCaseStatus::success());
        case.set_classname(group);
        if !test.known.is_empty() {
            case.set_system_out(format!("known, and still there:\n{}\n", test.known.join("\n")));
        }
        return case;
    };
    // What could not be decided is an error of the test, anything else its result.
    let is_open = first.verdict == Verdict::Undecided.name();
    let mut status = TestCaseStatus::non_success(if is_open { NonSuccessKind::Error } else { NonSuccessKind::Failure });
    status.set_type(first.verdict.as_str()).set_message(said(first));
    let lines = |problem: &Problem| -> Vec<String> {
        std::iter::once(said(problem)).chain(problem.evidence.iter().chain(&problem.next).cloned()).collect()
    };
    let all = test.problems.iter().flat_map(lines);
    status.set_description(all.collect::<Vec<_>>().join("\n"));
    let mut case = TestCase::new(test.name.as_str(), status);
    case.set_classname(group);
    case
}

fn said(problem: &Problem) -> String {
    format!("{}: {}", problem.rule, problem.message)
}
