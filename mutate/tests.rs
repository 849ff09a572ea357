//! The tests of the copy: which faults each would meet, and what becomes of a fault that is put to them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Failure;
use crate::project::{self, Project};
use crate::runner::{self, Switch};

/// Tests that take longer than this are asked last, where a fault names them, and else not at all: a fault that only
/// they notice deserves a quicker one.
pub const SLOW: Duration = Duration::from_secs(3);

/// The time that a test may compute at most.
const SLOWEST: Duration = Duration::from_secs(300);

/// Tests run together while they take no longer than this, so that a fault is met by the cheap ones first.
const TOGETHER: Duration = Duration::from_millis(500);

/// The tests of some executables, the quickest first.
pub struct Tests {
    folder: PathBuf,
    tests: Vec<Test>,
}

/// A test of an executable.
struct Test {
    /// The arguments of `cargo test` that choose the executable.
    target: String,
    executable: PathBuf,
    name: String,
    took: Duration,
    /// The faults that it would meet; unknown of slow tests.
    met: Option<BTreeSet<u32>>,
}

/// The outcome of a fault.
#[derive(Clone, Copy, PartialEq)]
pub enum Fate {
    Killed,
    Survived,
    /// No test comes by.
    Unmet,
    /// The project does not build with it: it is no fault.
    Unbuilt,
}

impl Fate {
    pub fn name(self) -> &'static str {
        match self {
            Fate::Killed => "killed",
            Fate::Survived => "SURVIVED",
            Fate::Unmet => "UNMET",
            Fate::Unbuilt => "DOES NOT BUILD",
        }
    }
}

impl Tests {
    /// Runs each test that one of these choices names once, alone and without a fault. All of them must pass: a fault
    /// must be what turns a test red. Those that take longer than `slow` says of their target are shown to pass when it matters.
    pub fn record(
        project: &Project,
        choices: &[Choice],
        slow: impl Fn(&str) -> Duration + Sync,
    ) -> Result<Self, Failure> {
        let (tests, failing) = Self::record_passing(project, choices, slow)?;
        match failing.first() {
            Some(name) => Err(format!("cargo test {name} fails without any fault").into()),
            None => Ok(tests),
        }
    }

    /// As [`Tests::record`], with the tests that fail in the copy apart: it has not all files of the project.
    pub fn record_passing(
        project: &Project,
        choices: &[Choice],
        slow: impl Fn(&str) -> Duration + Sync,
    ) -> Result<(Self, Vec<String>), Failure> {
        let folder = project.folder();
        let targets: BTreeSet<&str> = choices.iter().map(|choice| choice.target.as_str()).collect();
        let mut all = Vec::new();
        for target in targets {
            let executable = project.executable(target)?;
            let names = runner::names(folder, executable)?;
            for choice in choices.iter().filter(|choice| choice.target == target) {
                // A library as a whole may have no tests of its own.
                if !choice.filters.is_empty() && !names.iter().any(|name| choice.names(target, name)) {
                    return Err(format!("cargo test {target} {} runs no test", choice.filters.join(" ")).into());
                }
            }
            for name in names {
                if choices.iter().any(|choice| choice.names(target, &name)) {
                    all.push((all.len(), target, executable, name));
                }
            }
        }
        let recorded = runner::each(&all, |(number, target, executable, name)| {
            let met = std::env::temp_dir().join(format!("mutate-{}-{number}.met", std::process::id()));
            let arguments = [name.clone(), "--exact".to_string()];
            let outcome = runner::run(folder, executable, &arguments, Switch::Record(&met), slow(target))?;
            let (target, executable, name) = (target.to_string(), executable.to_path_buf(), name.clone());
            if outcome.too_long {
                println!("slow: {target} {name}");
                return Ok(Ok(Test { target, executable, name, took: SLOWEST, met: None }));
            }
            if !outcome.passed {
                return Ok(Err(format!("{target} {name}")));
            }
            // There is no file where nothing of the library runs.
            let numbers = std::fs::read_to_string(&met).unwrap_or_default();
            let _ = std::fs::remove_file(&met);
            let met = Some(numbers.lines().map(str::parse).collect::<Result<_, _>>()?);
            Ok(Ok(Test { target, executable, name, took: outcome.took, met }))
        })?;
        let (mut tests, mut failing): (Vec<Test>, Vec<String>) = (Vec::new(), Vec::new());
        for recorded in recorded {
            match recorded {
                Ok(test) => tests.push(test),
                Err(name) => failing.push(name),
            }
        }
        tests.sort_by_key(|test| test.took);
        Ok((Self { folder: folder.to_path_buf(), tests }, failing))
    }

    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// Puts a fault that has a switch to all tests that are not slow and meet it, the cheap ones first.
    pub fn any(&self, fault: u32) -> Result<Fate, Failure> {
        let meets = |test: &&Test| test.met.as_ref().is_some_and(|met| met.contains(&fault));
        self.fate(self.tests.iter().filter(meets).collect(), Switch::On(fault))
    }

    /// Puts a fault that has a switch to the chosen tests that may meet it, the cheap ones first.
    pub fn switched(&self, fault: u32, choice: &Choice) -> Result<Fate, Failure> {
        let may_meet = |test: &&Test| test.met.as_ref().is_none_or(|met| met.contains(&fault));
        let chosen = self.tests.iter().filter(|test| choice.names(&test.target, &test.name)).filter(may_meet);
        self.fate(chosen.collect(), Switch::On(fault))
    }

    /// Puts the fault that is planted to the chosen tests, the cheap ones first. The executables are new.
    pub fn planted(&self, project: &Project, choice: &Choice) -> Result<Fate, Failure> {
        let mut tests = Vec::new();
        for test in self.tests.iter().filter(|test| choice.names(&test.target, &test.name)) {
            let (target, name, met) = (test.target.clone(), test.name.clone(), None);
            let executable = project.executable(&target)?.to_path_buf();
            tests.push(Test { target, executable, name, took: test.took, met });
        }
        self.fate(tests.iter().collect(), Switch::Off)
    }

    fn fate(&self, tests: Vec<&Test>, switch: Switch) -> Result<Fate, Failure> {
        if tests.is_empty() {
            return Ok(Fate::Unmet);
        }
        let mut groups: Vec<(Duration, Vec<&Test>)> = Vec::new();
        let mut open: BTreeMap<&str, usize> = BTreeMap::new();
        for test in tests {
            let fits = |at: &&usize| groups[**at].0 + test.took <= TOGETHER;
            match open.get(test.target.as_str()).filter(fits) {
                Some(&at) => {
                    groups[at].0 += test.took;
                    groups[at].1.push(test);
                }
                None => {
                    open.insert(&test.target, groups.len());
                    groups.push((test.took, vec![test]));
                }
            }
        }
        for (took, group) in groups {
            let mut arguments: Vec<String> = group.iter().map(|test| test.name.clone()).collect();
            arguments.push("--exact".to_string());
            // A fault may keep a test from ever ending.
            let limit = (10 * took + Duration::from_secs(10)).min(SLOWEST);
            let run = |switch| runner::run(&self.folder, &group[0].executable, &arguments, switch, limit);
            if run(switch)?.passed {
                continue;
            }
            if took == SLOWEST && matches!(switch, Switch::On(_)) && !run(Switch::Off)?.passed {
                return Err(format!("cargo test {} {arguments:?} fails without any fault", group[0].target).into());
            }
            return Ok(Fate::Killed);
        }
        Ok(Fate::Survived)
    }
}

/// Tests that arguments of `cargo test` choose.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choice {
    /// `--lib LIBRARY`, or `--test NAME`.
    pub target: String,
    /// Parts of names; none chooses all.
    filters: Vec<String>,
}

impl Choice {
    /// Those that these arguments choose for a fault in this file ([`project::library`]).
    pub fn new(root: &Path, test: &[String], file: &Path) -> Result<Self, Failure> {
        match test {
            [flag, filters @ ..] if flag == "--lib" => {
                let named: Vec<(&str, String)> =
                    filters.iter().map(|filter| project::library(root, file, filter)).collect();
                let (library, _) = named.first().cloned().unwrap_or_else(|| project::library(root, file, ""));
                if named.iter().any(|(other, _)| *other != library) {
                    return Err(format!("{test:?}: the tests are of several libraries").into());
                }
                let target = format!("{flag} {}", library.replace('-', "_"));
                // The name of a library alone asks for all its tests.
                let filters = named.into_iter().map(|(_, filter)| filter).filter(|filter| !filter.is_empty());
                Ok(Self { target, filters: filters.collect() })
            }
            [flag, name, filters @ ..] if flag == "--test" => {
                Ok(Self { target: format!("{flag} {name}"), filters: filters.to_vec() })
            }
            _ => Err(format!("{test:?}: tests are chosen by --lib or --test NAME, and filters").into()),
        }
    }

    fn names(&self, target: &str, test: &str) -> bool {
        self.target == target && (self.filters.is_empty() || self.filters.iter().any(|part| test.contains(part)))
    }
}
