//! The faults of `tests/mutations.toml`, each with the test that must turn red.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Failure;
use crate::fault::{self, Fault};
use crate::project::Project;
use crate::runner::{self, Outcome, Switch};

/// Whether every fault of this share whose name contains the text is killed.
pub fn run(root: &Path, text: &str, share: u64) -> Result<bool, Failure> {
    let part = if share == 1 { 0 } else { commit(root)? % share };
    let mut faults = Vec::new();
    for (at, fault) in (0..).zip(fault::listed(root)?) {
        if at % share == part && fault.name.contains(text) {
            faults.push(fault);
        }
    }
    let numbered: Vec<(u32, &Fault)> = (1..).zip(&faults).collect();
    let mut tests: Vec<&Vec<String>> = faults.iter().map(|fault| &fault.test).collect();
    tests.sort();
    tests.dedup();
    let mut targets = BTreeSet::new();
    for test in &tests {
        targets.insert(runner::target(test)?.0);
    }
    let started = Instant::now();
    let mut project = Project::new(root, root.join("target/mutate/project"), &faults)?;
    project.build(&targets)?;
    let alone = project.alone();
    let switched = faults.len() - alone.len();
    println!("{switched} faults in one build, {} alone ({:.0} s)", alone.len(), started.elapsed().as_secs_f64());

    // A fault must be what turns a test red: without one, all of them pass.
    let sound: BTreeMap<&Vec<String>, Duration> = runner::each(&tests, |test| {
        let outcome = tested(&project, test, Switch::Off, Duration::from_secs(3600))?;
        match outcome {
            Outcome { tests: 0, .. } => Err(format!("cargo test {} runs no test", test.join(" ")).into()),
            Outcome { passed: false, .. } => {
                Err(format!("cargo test {} fails without any fault", test.join(" ")).into())
            }
            Outcome { took, .. } => Ok((*test, took)),
        }
    })?
    .into_iter()
    .collect();

    let together: Vec<(u32, &Fault)> = numbered.iter().copied().filter(|(number, _)| !alone.contains(number)).collect();
    let killed = runner::each(&together, |(number, fault)| {
        let outcome = tested(&project, &fault.test, Switch::On(*number), runner::limit(sound[&fault.test]))?;
        report(fault, !outcome.passed, outcome.took);
        Ok(!outcome.passed)
    })?;
    let mut survived = killed.iter().filter(|killed| !**killed).count();
    for (number, fault) in numbered.iter().filter(|(number, _)| alone.contains(number)) {
        let started = Instant::now();
        let target = BTreeSet::from([runner::target(&fault.test)?.0]);
        // A fault that does not build is no fault.
        if !project.plant(*number, &target)? {
            return Err(format!("{}: the project does not build with it", fault.name).into());
        }
        let outcome = tested(&project, &fault.test, Switch::Off, runner::limit(sound[&fault.test]))?;
        report(fault, !outcome.passed, started.elapsed());
        survived += usize::from(outcome.passed);
    }
    project.update(None)?;
    println!("{} passed, {survived} failed", faults.len() - survived);
    Ok(survived == 0)
}

/// Runs the tests that arguments of `cargo test` choose.
fn tested(project: &Project, test: &[String], switch: Switch, limit: Duration) -> Result<Outcome, Failure> {
    let (target, filters) = runner::target(test)?;
    runner::run(project.folder(), project.executable(&target)?, filters, switch, limit)
}

fn report(fault: &Fault, killed: bool, took: Duration) {
    let verdict = if killed { "killed" } else { "SURVIVED" };
    println!("{verdict}: {} ({:.1} s)", fault.name, took.as_secs_f64());
    if !killed {
        println!("  it would go unseen, although {}", fault.why);
    }
}

/// The first digits of the hash of the commit.
fn commit(root: &Path) -> Result<u64, Failure> {
    let said = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output()?;
    let hash = String::from_utf8(said.stdout)?;
    let digits = hash.get(..12).ok_or("git names no commit, whose hash chooses the share")?;
    Ok(u64::from_str_radix(digits, 16)?)
}
