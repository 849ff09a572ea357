//! The faults that cargo-mutants makes, each put to the tests that meet it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::fault::{self, Fault};
use crate::project::Project;
use crate::runner::{self, Switch};

/// The tests of each part of the source, as arguments of `cargo test`. The library's own tests count for all.
const TESTS: [(&str, &[&str]); 4] = [
    ("src/num/", &["--test num"]),
    ("src/machine/", &["--test machine", "--test golden_tpu", "--test xla_cpu", "--test hlo_eval"]),
    ("src/oracle/", &["--test oracle", "--test hlo_lower"]),
    ("src/check/", &["--test checks"]),
];

/// Tests run together while they take no longer than this, so that a fault is met by the cheap ones first.
const TOGETHER: Duration = Duration::from_millis(500);

/// Tests that take longer than this are not asked: a fault that only they notice deserves a quicker one.
const SLOWEST: Duration = Duration::from_secs(20);

/// A test of an executable.
struct Test {
    target: String,
    executable: PathBuf,
    name: String,
    took: Duration,
    /// The faults that it would meet.
    met: BTreeSet<u32>,
}

/// What became of a fault.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Killed,
    Survived,
    /// No test comes by.
    Unmet,
}

/// Whether every fault in these places whose name contains the text is killed, but for those that are known to change
/// nothing.
pub fn run(root: &Path, places: &[String], text: &str, out: Option<&Path>) -> Result<bool, Failure> {
    let everywhere: Vec<String> = TESTS.iter().map(|(place, _)| place.to_string()).collect();
    let mut faults = fault::generated(root, if places.is_empty() { &everywhere } else { places })?;
    let equivalent = fault::without_equivalents(root, &mut faults)?;
    faults.retain(|fault| fault.name.contains(text));
    println!("{} faults, {equivalent} that change nothing left out", faults.len());
    let started = Instant::now();
    let mut targets = BTreeSet::from(["--lib".to_string()]);
    for (place, tests) in TESTS {
        if faults.iter().any(|fault| fault.file.starts_with(place)) {
            targets.extend(tests.iter().filter(|test| exists(root, test)).map(|test| test.to_string()));
        }
    }
    let mut project = Project::new(root, root.join("target/mutate/project"), &faults)?;
    project.build(&targets)?;
    let alone = project.alone();
    println!("built, {} do not compile ({:.0} s)", alone.len(), started.elapsed().as_secs_f64());
    let tests = tests(&project, &targets)?;
    println!("{} tests recorded ({:.0} s)", tests.len(), started.elapsed().as_secs_f64());

    let numbered: Vec<(u32, &Fault)> = (1..).zip(&faults).filter(|(number, _)| !alone.contains(number)).collect();
    let fates = runner::each(&numbered, |(number, fault)| {
        let started = Instant::now();
        let fate = fate(&project, *number, &tests)?;
        if fate != Fate::Killed {
            println!("{}: {} ({:.1} s)", fate.name(), fault.name, started.elapsed().as_secs_f64());
        }
        Ok(fate)
    })?;
    println!("done ({:.0} s)", started.elapsed().as_secs_f64());
    let mut table = String::new();
    let mut survived = 0;
    for ((_, fault), fate) in numbered.iter().zip(&fates).filter(|(_, fate)| **fate != Fate::Killed) {
        survived += 1;
        let source = std::fs::read_to_string(root.join(&fault.file))?;
        let (_, line) = fault::line_of(&source, fault.range.start);
        writeln!(table, "{}\t{}\t{line}", fate.name(), fault.name)?;
    }
    if let Some(path) = out {
        std::fs::write(path, table)?;
    }
    println!("{} passed, {survived} failed", numbered.len() - survived);
    Ok(survived == 0)
}

impl Fate {
    fn name(self) -> &'static str {
        match self {
            Fate::Killed => "killed",
            Fate::Survived => "SURVIVED",
            Fate::Unmet => "UNMET",
        }
    }
}

/// Whether a test target such as `--test num` is there.
fn exists(root: &Path, target: &str) -> bool {
    target.strip_prefix("--test ").is_some_and(|name| root.join(format!("tests/{name}.rs")).exists())
}

/// All tests of these targets, the quickest first, each run once alone.
fn tests(project: &Project, targets: &BTreeSet<String>) -> Result<Vec<Test>, Failure> {
    let mut all = Vec::new();
    for target in targets {
        let executable = project.executable(target)?;
        for name in runner::names(project.folder(), executable)? {
            all.push((all.len(), target, executable, name));
        }
    }
    let tests = runner::each(&all, |(number, target, executable, name)| {
        let record = runner::scratch("met", *number);
        let arguments = [name.clone(), "--exact".to_string()];
        let outcome = runner::run(project.folder(), executable, &arguments, Switch::Record(&record), SLOWEST)?;
        if outcome.took >= SLOWEST {
            println!("{target} {name} is too slow to be asked");
            return Ok(None);
        }
        if !outcome.passed {
            return Err(format!("{target} {name} fails without any fault").into());
        }
        let met = std::fs::read_to_string(&record)?;
        std::fs::remove_file(&record)?;
        let met = met.lines().map(str::parse).collect::<Result<_, _>>()?;
        let (target, executable, name) = (target.to_string(), executable.to_path_buf(), name.clone());
        Ok(Some(Test { target, executable, name, took: outcome.took, met }))
    })?;
    let mut tests: Vec<Test> = tests.into_iter().flatten().collect();
    tests.sort_by_key(|test| test.took);
    Ok(tests)
}

/// Puts a fault to the tests that meet it, the cheap ones first and together.
fn fate(project: &Project, fault: u32, tests: &[Test]) -> Result<Fate, Failure> {
    let meeting: Vec<&Test> = tests.iter().filter(|test| test.met.contains(&fault)).collect();
    if meeting.is_empty() {
        return Ok(Fate::Unmet);
    }
    let mut groups: Vec<(Duration, Vec<&Test>)> = Vec::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for test in meeting {
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
        let limit = runner::limit(took);
        let outcome = runner::run(project.folder(), &group[0].executable, &arguments, Switch::On(fault), limit)?;
        if !outcome.passed {
            return Ok(Fate::Killed);
        }
    }
    Ok(Fate::Survived)
}
