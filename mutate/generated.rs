//! The faults that cargo-mutants makes, each put to the tests that meet it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::fault::{self, Fault};
use crate::project::Project;
use crate::runner;
use crate::tests::{self, Choice, Fate, Tests};
use crate::{Arguments, Failure};

/// The tests of each part of the source, beside those of the library, which count for all.
const TESTS: [(&str, &[&str]); 4] = [
    ("src/ir/num/", &["machine"]),
    ("src/machine/", &["machine", "hlo"]),
    ("src/oracle/", &["oracle", "oracle_search", "hlo"]),
    ("src/numerics/check/", &["checks", "bounds"]),
];

/// The time that a test may take that is asked about a fault which quick tests did not see.
const PATIENCE: Duration = Duration::from_secs(15);

/// Whether every fault in these places whose name contains the text is killed, but for those that are known to change
/// nothing.
pub fn run(root: &Path, arguments: &Arguments) -> Result<bool, Failure> {
    let Arguments { text, places, optimized, out, again, .. } = arguments;
    let everywhere: Vec<String> = TESTS.iter().map(|(place, _)| place.to_string()).collect();
    let mut faults = fault::generated(root, if places.is_empty() { &everywhere } else { places })?;
    let equivalent = fault::without_equivalents(root, &mut faults)?;
    faults.retain(|fault| fault.name.contains(text.as_str()));
    if let Some(table) = again {
        fault::retain_those_of(root, table, &mut faults)?;
    }
    // What no quick test saw, a slow one of the library may: all others would take minutes a fault.
    let patience = |target: &str| if again.is_some() && target.starts_with("--lib") { PATIENCE } else { tests::SLOW };
    println!("{} faults, {equivalent} that change nothing left out", faults.len());
    let started = Instant::now();
    let library = |fault: &Fault| Choice::new(root, &["--lib".to_string()], &fault.file);
    let mut choices: Vec<Choice> =
        faults.iter().map(library).collect::<Result<BTreeSet<_>, _>>()?.into_iter().collect();
    for (place, names) in TESTS {
        if faults.iter().any(|fault| fault.file.starts_with(place)) {
            for name in names {
                choices.push(Choice::new(root, &["--test".to_string(), name.to_string()], Path::new(place))?);
            }
        }
    }
    let mut project = Project::new(root, root.join("target/mutate/generated"), &faults, *optimized)?;
    let targets: BTreeSet<String> = choices.iter().map(|choice| choice.target.clone()).collect();
    project.build(&targets)?;
    let alone = project.alone();
    println!("built, {} do not compile ({:.0} s)", alone.len(), started.elapsed().as_secs_f64());
    let tests = Tests::record(&project, &choices, patience)?;
    println!("{} tests pass without a fault ({:.0} s)", tests.len(), started.elapsed().as_secs_f64());

    let numbered: Vec<(u32, &Fault)> = (1..).zip(&faults).filter(|(number, _)| !alone.contains(number)).collect();
    let fates = runner::each(&numbered, |(number, fault)| {
        let started = Instant::now();
        let fate = tests.any(*number)?;
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
