//! The faults of `tests/mutations.toml`, each with the test that must turn red.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::Failure;
use crate::fault::{self, Fault};
use crate::project::Project;
use crate::runner;
use crate::tests::{self, Choice, Fate, Tests};

/// Whether every fault of this share whose name contains the text is killed.
pub fn run(root: &Path, text: &str, share: u64) -> Result<bool, Failure> {
    let (faults, mut choices): (Vec<Fault>, Vec<Choice>) = chosen(root, text, share)?.into_iter().unzip();
    let numbered: Vec<(u32, (&Fault, Choice))> = (1..).zip(faults.iter().zip(choices.clone())).collect();
    choices.sort();
    choices.dedup();
    let started = Instant::now();
    let mut project = Project::new(root, root.join("target/mutate/listed"), &faults, false)?;
    project.build(&choices.iter().map(|choice| choice.target.clone()).collect())?;
    let alone = project.alone();
    let switched = faults.len() - alone.len();
    println!("{switched} faults in one build, {} alone ({:.0} s)", alone.len(), started.elapsed().as_secs_f64());
    let tests = Tests::record(&project, &choices, |_| tests::SLOW)?;
    println!("{} tests pass without a fault ({:.0} s)", tests.len(), started.elapsed().as_secs_f64());

    let (mut alone, switched): (Vec<_>, Vec<_>) = numbered.iter().partition(|(number, _)| alone.contains(number));
    // A library in which the fault before was is built again to take that out: neighbours share this build.
    alone.sort_by_key(|(_, (fault, _))| &fault.file);
    let mut fates = runner::each(&switched, |(number, (fault, choice))| {
        let started = Instant::now();
        let fate = tests.switched(*number, choice)?;
        report(fault, fate, started);
        Ok(fate)
    })?;
    for (number, (fault, choice)) in alone {
        let started = Instant::now();
        let builds = project.plant(*number, &BTreeSet::from([choice.target.clone()]))?;
        let fate = if builds { tests.planted(&project, choice)? } else { Fate::Unbuilt };
        report(fault, fate, started);
        fates.push(fate);
    }
    project.update(None)?;
    let killed = fates.iter().filter(|fate| **fate == Fate::Killed).count();
    println!("{killed} passed, {} failed", faults.len() - killed);
    Ok(killed == faults.len())
}

fn report(fault: &Fault, fate: Fate, started: Instant) {
    println!("{}: {} ({:.1} s)", fate.name(), fault.name, started.elapsed().as_secs_f64());
    if matches!(fate, Fate::Survived | Fate::Unmet) {
        println!("  it would go unseen, although {}", fault.why);
    }
}

/// The faults of this share whose name contains the text, with the tests that they name. Neighbours of a share have tests in
/// common: fewer executables are built, and fewer tests recorded, than if each of the list's parts were scattered over all.
fn chosen(root: &Path, text: &str, share: u64) -> Result<Vec<(Fault, Choice)>, Failure> {
    let mut faults = Vec::new();
    for fault in fault::listed(root)? {
        let choice = Choice::new(root, &fault.test, &fault.file)?;
        faults.push((fault, choice));
    }
    faults.sort_by(|(fault, choice), (other, others)| (choice, &fault.file).cmp(&(others, &other.file)));
    let (count, part) = (faults.len() as u64, if share == 1 { 0 } else { commit(root)? % share });
    let is_of_part = |at: u64| at * share / count.max(1) == part;
    let of_part = (0..).zip(faults).filter(|(at, _)| is_of_part(*at)).map(|(_, fault)| fault);
    Ok(of_part.filter(|(fault, _)| fault.name.contains(text)).collect())
}

/// The first digits of the hash of the commit.
fn commit(root: &Path) -> Result<u64, Failure> {
    let said = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output()?;
    let hash = String::from_utf8(said.stdout)?;
    let digits = hash.get(..12).ok_or("git names no commit, whose hash chooses the share")?;
    Ok(u64::from_str_radix(digits, 16)?)
}
