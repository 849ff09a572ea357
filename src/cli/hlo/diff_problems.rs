//! The findings of `hlo diff` for CI systems: each change a problem at the line of its value.

use std::path::Path;

use ulpgate_front::hlo::Sources;
use ulpgate_front::hlo::ast::Module;

use super::super::ci::{Group, NOT_JUDGED, Problem, Test};
use super::Failure;
use ulpgate_front::diff::{Change, Outcome};

/// The pairs that were compared so far.
#[derive(Default)]
pub struct DiffProblems {
    tests: Vec<Test>,
    /// The inputs for which the results of all pairs that were run are equal, if they are; `None` where no pair was run.
    equal: Option<Option<EqualFor>>,
    /// Whether the results of tokens of all pairs that were run are equal; `None` where no pair has any.
    equal_tokens: Option<bool>,
}

/// The inputs for which results are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EqualFor {
    /// Those that were given.
    TheseInputs,
    /// All, as was proven.
    AllInputs,
}

/// A finding of one pair, with the line that is printed for it.
pub struct PrintedFinding {
    pub line: String,
    pub problem: Problem,
}

/// The changes and the results of a pair, at the lines of BEFORE.
pub fn told(before: &Path, module: &Module, changes: &[Change], results: &[Outcome]) -> Vec<PrintedFinding> {
    let (file, sources) = (before.display().to_string(), Sources::new(module));
    let of_change = |change: &Change| {
        let line = sources.instruction(&change.name).map_or(1, |instruction| instruction.at.line as usize);
        let problem = Problem {
            rule: change.kind.name().to_string(),
            verdict: "changed".to_string(),
            value: change.name.clone(),
            message: format!("{}: {} -> {}", change.name, change.before, change.after),
            evidence: change.op_name.iter().map(|name| format!("in JAX: {name}")).collect(),
            next: None,
            place: (file.clone(), line),
        };
        PrintedFinding { line: change.to_string(), problem }
    };
    let of_result = |result: &Outcome| {
        let text = result.to_string();
        let mut lines = text.lines().map(str::to_string);
        let first = lines.next().unwrap_or_default();
        let problem = Problem {
            rule: "result-differs".to_string(),
            verdict: "changed".to_string(),
            value: format!("result {}", result.result),
            message: first.clone(),
            evidence: lines.map(|line| line.trim().to_string()).collect(),
            next: None,
            place: (file.clone(), 1),
        };
        PrintedFinding { line: first, problem }
    };
    let differing = results.iter().filter(|result| result.differing > 0);
    changes.iter().map(of_change).chain(differing.map(of_result)).collect()
}

impl DiffProblems {
    /// Notes that a pair was run, for which inputs its results are equal, and whether its results of tokens are, if it has any.
    pub fn ran(&mut self, equal: Option<EqualFor>, equal_tokens: Option<bool>) {
        let own = equal_tokens.unwrap_or(true);
        self.equal_tokens = self.equal_tokens.map(|others| others && own).or(equal_tokens);
        // `None` is the least: one pair that differs decides.
        self.equal = Some(self.equal.map_or(equal, |others| others.min(equal)));
    }

    /// The inputs for which no result of the pairs that were run differs, if so.
    pub fn equal_for(&self) -> Option<EqualFor> {
        self.equal.flatten()
    }

    /// Whether programs with results of tokens were run, and all of these are equal.
    pub fn has_equal_tokens(&self) -> bool {
        self.equal_tokens == Some(true)
    }

    /// Adds a pair, by its name.
    pub fn add(&mut self, name: &Path, found: impl IntoIterator<Item = Problem>) {
        let problems = found.into_iter().collect();
        self.tests.push(Test { name: name.display().to_string(), is_judged: true, known: Vec::new(), problems });
    }

    /// Adds a pair that could not be judged.
    pub fn add_unjudged(&mut self, name: &Path, failure: &Failure) {
        self.tests.push(Test::not_judged(name, failure));
    }

    /// Adds a pair with an accepted list: findings that are not in it, and lines of it that are gone.
    pub fn add_accepted(&mut self, name: &Path, found: Vec<PrintedFinding>, new: &[String], gone: &[String]) {
        let is_new =
            |told: &PrintedFinding| new.contains(&told.line) || told.problem.evidence.iter().any(|own| has(new, own));
        let gone = gone.iter().map(|line| Problem {
            rule: "change-gone".to_string(),
            verdict: "gone".to_string(),
            value: line.clone(),
            message: line.trim().to_string(),
            evidence: Vec::new(),
            next: None,
            place: (name.display().to_string(), 1),
        });
        let problems: Vec<Problem> = found.into_iter().filter(is_new).map(|told| told.problem).chain(gone).collect();
        self.add(name, problems);
    }

    /// The group of all pairs, whose findings have the sentence that names the next command.
    pub fn groups(mut self, next: &str) -> Vec<Group> {
        for problem in self.tests.iter_mut().flat_map(|test| &mut test.problems) {
            if problem.rule != NOT_JUDGED {
                problem.next = Some(next.to_string());
            }
        }
        vec![Group { name: "hlo diff".to_string(), tests: self.tests }]
    }
}

fn has(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.trim() == text)
}
