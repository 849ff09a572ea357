//! Output for CI systems: JUnit XML, SARIF, and GitHub's annotations and step summary, all made of one list of
//! verdicts.

mod github;
mod junit;
mod sarif;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ulpgate_front::gate::{Difference, RowChange};
use ulpgate_front::record::{SuiteRecord, Verdict};
use ulpgate_front::report::{Unexpected, findings};
use ulpgate_front::run::Cost;
use ulpgate_front::suite::Suite;

use super::summary::{next_of_differences, next_step};
use super::{Failure, SUITES, check_target, write_file};

/// Output for a CI system, beside that for the terminal.
#[derive(Args, Clone, Default)]
pub struct Formats {
    /// Write every verdict as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write what is not as expected as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Print annotations for GitHub Actions, and append to its step summary
    #[arg(long, conflicts_with = "json")]
    github: bool,
}

/// Tests of one kind, such as the cases of a suite.
pub struct Group {
    /// Such as the suite's name.
    pub name: String,
    /// The results that were judged.
    pub tests: Vec<Test>,
}

/// One result that was judged.
pub struct Test {
    /// Such as a case's id.
    pub name: String,
    /// Whether a check was asked.
    pub is_judged: bool,
    /// Findings that are known, a line each.
    pub known: Vec<String>,
    /// Results that are not as expected; none if the test passed.
    pub problems: Vec<Problem>,
}

/// Something that is not as expected.
pub struct Problem {
    /// The kind of check that found it, such as `dropped_token`, or the change of a report, such as `worse`.
    pub rule: String,
    /// The verdict, such as `unexpected-finding`.
    pub verdict: String,
    /// The part of the test that it is about, such as a value's name; empty where it is about all of it. A rule has one
    /// problem of a part.
    pub value: String,
    /// The description, on one line.
    pub message: String,
    /// The evidence, a line each.
    pub evidence: Vec<String>,
    /// The sentence that names the next command; none where there is none.
    pub next: Option<String>,
    /// The file to begin with, and the line there.
    pub place: (String, usize),
}

/// The rule of a question that could not be judged.
pub const NOT_JUDGED: &str = "not-judged";

impl Test {
    /// A question about `file` that could not be judged, and the reason.
    pub fn not_judged(file: &Path, failure: &Failure) -> Test {
        let Failure::Message(why) = failure;
        let problem = Problem {
            rule: NOT_JUDGED.to_string(),
            verdict: Verdict::Undecided.name().to_string(),
            value: String::new(),
            message: why.replace(['\n', '\r'], " "),
            evidence: Vec::new(),
            next: None,
            place: (file.display().to_string(), 1),
        };
        Test { name: file.display().to_string(), is_judged: true, known: Vec::new(), problems: vec![problem] }
    }
}

impl Formats {
    /// Holds the files that were asked for to what can be written, before anything is evaluated: `read` are files that
    /// the command reads.
    pub fn check(&self, read: impl Iterator<Item = PathBuf> + Clone) -> Result<(), Failure> {
        if self.junit.is_some() && self.junit == self.sarif {
            return Err(Failure::Message("--junit and --sarif name one file: give each its own".to_string()));
        }
        self.junit.iter().chain(&self.sarif).try_for_each(|path| check_target(path, read.clone()))
    }

    /// Writes the files that were asked for, each of them whether the others can be written or not, and prints what
    /// GitHub reads. `costs` are the times of cases that ran, which JUnit shows.
    pub fn write(
        &self,
        costs: &[Cost],
        groups: impl FnOnce() -> Vec<Group>,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if self.junit.is_none() && self.sarif.is_none() && !self.github {
            return Ok(());
        }
        let groups = groups();
        let junit =
            self.junit.as_ref().map(|path| write_file(path, &junit::text(&groups, &seconds(costs))?)).transpose();
        let sarif = self.sarif.as_ref().map(|path| write_file(path, &sarif::text(&groups))).transpose();
        let summary = if self.github {
            github::annotate(&groups, out)?;
            github::append_summary(&groups)
        } else {
            Ok(())
        };
        junit.and(sarif).and(summary)
    }

    /// Passes a result on. The reason of a failure is written to the files that were asked for, too: a CI system that finds no
    /// file shows nothing.
    pub fn tell_failure<T>(
        &self,
        command: &str,
        file: &Path,
        result: Result<T, Failure>,
        out: &mut dyn Write,
    ) -> Result<T, Failure> {
        if let Err(failure) = &result {
            let tests = vec![Test::not_judged(file, failure)];
            self.write(&[], || vec![Group { name: command.to_string(), tests }], out)?;
        }
        result
    }
}

/// The seconds of each case: those of its group, which it shares input and truth with, in equal parts.
fn seconds(costs: &[Cost]) -> BTreeMap<&str, f64> {
    let of_group = |cost: &Cost| cost.seconds / cost.cases.len().max(1) as f64;
    costs.iter().flat_map(|cost| cost.cases.iter().map(move |case| (case.as_str(), of_group(cost)))).collect()
}

/// All problems, each with its test.
fn problems(groups: &[Group]) -> impl Iterator<Item = (&Test, &Problem)> {
    groups.iter().flat_map(|group| &group.tests).flat_map(|test| test.problems.iter().map(move |p| (test, p)))
}

/// The file of a suite.
fn file_of(suite: &str) -> String {
    format!("{SUITES}/{suite}.toml")
}

/// Places of the cases of some suites: files and lines.
pub struct Places(BTreeMap<String, (String, usize)>);

impl Places {
    /// The line of each case's matrix, and the file of each suite.
    pub fn of(suites: &[Suite]) -> Places {
        let mut places = BTreeMap::new();
        for suite in suites {
            let file = file_of(&suite.name);
            let of_case = |case: &ulpgate_front::suite::Case| (case.id.clone(), (file.clone(), case.line.unwrap_or(1)));
            places.extend(suite.cases.iter().map(of_case));
            places.insert(suite.name.clone(), (file, 1));
        }
        Places(places)
    }

    /// The place of a case, or of the suite of a series.
    fn of_id(&self, id: &str) -> Option<(String, usize)> {
        self.0.get(id).or_else(|| self.0.get(id.split('/').next()?)).cloned()
    }
}

/// A group a suite: its cases, and its series that are fitted.
pub fn of_suites(suites: &[SuiteRecord], places: &Places) -> Vec<Group> {
    suites.iter().map(|suite| of_suite(suite, places)).collect()
}

fn of_suite(suite: &SuiteRecord, places: &Places) -> Group {
    let mut problems: BTreeMap<String, Vec<Problem>> = BTreeMap::new();
    for found in findings(suite) {
        let place = places.of_id(&found.of).unwrap_or_else(|| (file_of(suite.name()), 1));
        let Unexpected { verdict, check, of, note, because, evidence } = found;
        let because = because.map(|because| format!("expected because {because}"));
        let next = Some(format!("Next: {}.", next_step(&of, verdict)));
        let problem = Problem {
            rule: check,
            verdict: verdict.name().to_string(),
            value: String::new(),
            message: note,
            evidence: because.into_iter().chain(evidence).collect(),
            next,
            place,
        };
        problems.entry(of).or_default().push(problem);
    }
    let mut tests = Vec::new();
    for record in &suite.cases {
        let name = record.id();
        let known = record.checks.iter().filter(|check| check.verdict().is_known());
        let known = known.map(|check| format!("{}: {}", check.column(), check.note)).collect();
        let problems = problems.remove(&name).unwrap_or_default();
        tests.push(Test { name, is_judged: !record.checks.is_empty(), known, problems });
    }
    for record in &suite.series {
        let (series, growth) = (record.series.to_string(), format!("growth of {}", record.metric));
        let known = record.verdict().is_known().then(|| format!("{growth}: {}", record.check.note));
        let of_series = problems.remove(&series).unwrap_or_default();
        let (mine, others) = of_series.into_iter().partition(|problem| problem.rule == growth);
        problems.insert(series.clone(), others);
        tests.push(Test {
            name: format!("{series} {growth}"),
            is_judged: true,
            known: known.into_iter().collect(),
            problems: mine,
        });
    }
    Group { name: suite.name().to_string(), tests }
}

/// The group of a gate's comparisons: a test for each row that differs, or one that passed.
pub fn of_differences(differences: &[Difference], baseline: &str, places: &Places) -> Group {
    let is_told = |difference: &&Difference| difference.change != RowChange::Stray;
    let mut tests: Vec<Test> = differences
        .iter()
        .filter(is_told)
        .map(|difference @ Difference { file, row, change, what }| {
            let place = places.of_id(row).unwrap_or_else(|| (format!("{baseline}/{file}"), 1));
            let problem = Problem {
                rule: change.name().to_string(),
                verdict: change.name().to_string(),
                value: String::new(),
                message: if what.is_empty() { format!("{} in {file}", change.name()) } else { what.clone() },
                evidence: Vec::new(),
                next: Some(next_of_differences([difference])),
                place,
            };
            let name = if row.is_empty() { file.clone() } else { format!("{file} {row}") };
            Test { name, is_judged: true, known: Vec::new(), problems: vec![problem] }
        })
        .collect();
    if tests.is_empty() {
        tests.push(Test {
            name: format!("as in {baseline}"),
            is_judged: true,
            known: Vec::new(),
            problems: Vec::new(),
        });
    }
    Group { name: "gate".to_string(), tests }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(value: &str, verdict: &str) -> Problem {
        Problem {
            rule: "bound".to_string(),
            verdict: verdict.to_string(),
            value: value.to_string(),
            message: "too far, by 2: 100 %".to_string(),
            evidence: Vec::new(),
            next: None,
            place: ("a,b:c.toml".to_string(), 3),
        }
    }

    fn group(problems: Vec<Problem>) -> Group {
        let test = Test { name: "t".to_string(), is_judged: true, known: Vec::new(), problems };
        Group { name: "g".to_string(), tests: vec![test] }
    }

    /// Two problems of one rule in one case are two alerts, each with a fingerprint of its own.
    #[test]
    fn fingerprints_tell_the_values_of_a_case_apart() {
        let text = sarif::text(&[group(vec![problem("out0", "worse"), problem("out1", "worse")])]);
        let log: serde_json::Value = serde_json::from_str(&text).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        let prints: Vec<&str> =
            results.iter().map(|result| result["partialFingerprints"]["caseAndRule/v1"].as_str().unwrap()).collect();
        assert_eq!(prints, ["t bound out0", "t bound out1"]);
    }

    /// A comma or colon ends a property of a workflow command, and the end of a line the command.
    #[test]
    fn annotations_escape_what_would_end_them() {
        let mut out = Vec::new();
        let next = Some("Next: look.".to_string());
        let told = Problem { next, ..problem("", "worse") };
        assert!(github::annotate(&[group(vec![told])], &mut out).is_ok());
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with(
                "::error file=a%2Cb%3Ac.toml,line=3,title=bound in t::too far, by 2: 100 %25%0ANext: look."
            ),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1);
    }

    /// JUnit tells what could not be decided from what failed.
    #[test]
    fn an_undecided_case_is_an_error_and_no_failure() {
        let of =
            |verdict: &str| junit::text(&[group(vec![problem("", verdict)])], &BTreeMap::new()).unwrap_or_default();
        let [open, failed] = [ulpgate_front::record::Verdict::Undecided.name(), "worse"].map(of);
        assert!(open.contains("<error ") && !open.contains("<failure "), "{open}");
        assert!(failed.contains("<failure ") && !failed.contains("<error "), "{failed}");
    }

    /// The seconds of a group are shared by its cases, so that they add up to those of the run.
    #[test]
    fn seconds_of_cases_add_up_to_those_of_their_groups() {
        let cost = |cases: &[&str], seconds: f64| Cost {
            suite: "s".to_string(),
            cases: cases.iter().map(ToString::to_string).collect(),
            work: 1.0,
            seconds,
        };
        let costs = [cost(&["a", "b"], 3.0), cost(&["c"], 0.5)];
        let found = seconds(&costs);
        assert_eq!(["a", "b", "c"].map(|case| found[case]), [1.5, 1.5, 0.5]);
    }
}
