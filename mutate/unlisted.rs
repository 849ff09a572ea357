//! The faults of a list without tests, each put to all tests that meet it.

use std::path::Path;
use std::time::Instant;

use crate::Failure;
use crate::fault::{self, Fault};
use crate::project::{LIBRARIES, Project};
use crate::runner;
use crate::tests::{self, Choice, Fate, Tests};

/// Whether every fault of this list whose name contains the text is killed by a quick test: of the libraries, and of those in
/// `tests/` that are named, or of all. A fault that names its own tests is put to those, slow ones as well.
pub fn run(root: &Path, list: &Path, text: &str, named: &[String]) -> Result<bool, Failure> {
    let mut faults = fault::of_list(root, list)?;
    faults.retain(|fault| fault.name.contains(text));
    let started = Instant::now();
    let own = |fault: &Fault| match fault.test.is_empty() {
        true => Ok(None),
        false => Choice::new(root, &fault.test, &fault.file).map(Some),
    };
    let own: Vec<Option<Choice>> = faults.iter().map(own).collect::<Result<_, _>>()?;
    let mut choices: Vec<Choice> = own.iter().flatten().cloned().collect();
    if own.contains(&None) {
        choices.extend(chosen_tests(root, named)?);
    }
    choices.sort();
    choices.dedup();
    let mut project = Project::new(root, root.join("target/mutate/unlisted"), &faults, false)?;
    project.build(&choices.iter().map(|choice| choice.target.clone()).collect())?;
    let alone = project.alone();
    println!("{} faults in one build ({:.0} s)", faults.len() - alone.len(), started.elapsed().as_secs_f64());
    let (tests, failing) = Tests::record_passing(&project, &choices, |_| tests::SLOW)?;
    failing.iter().for_each(|name| println!("left out, it fails in the copy: {name}"));
    println!("{} tests pass without a fault ({:.0} s)", tests.len(), started.elapsed().as_secs_f64());
    let numbered: Vec<(u32, &Fault)> = (1..).zip(&faults).collect();
    let fates = runner::each(&numbered, |(number, fault)| {
        let fate = match &own[*number as usize - 1] {
            _ if alone.contains(number) => None,
            Some(choice) => Some(tests.switched(*number, choice)?),
            None => Some(tests.any(*number)?),
        };
        // A constant or a row of a table is to be built alone, with a test that is named.
        println!("{}: {}", fate.map_or("NO SWITCH", Fate::name), fault.name);
        Ok(fate)
    })?;
    let killed = fates.iter().filter(|fate| **fate == Some(Fate::Killed)).count();
    println!("{killed} passed, {} failed", fates.len() - killed);
    Ok(killed == fates.len())
}

/// All tests of the libraries, and those in `tests/` of these names, or all that cargo builds.
fn chosen_tests(root: &Path, named: &[String]) -> Result<Vec<Choice>, Failure> {
    let mut choices = Vec::new();
    for (_, folder) in LIBRARIES {
        choices.push(Choice::new(root, &["--lib".to_string()], Path::new(folder))?);
    }
    for entry in std::fs::read_dir(root.join("tests"))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        // The rules of the project's text say nothing of a fault.
        if path.join("main.rs").exists() && name != "tidy" && (named.is_empty() || named.iter().any(|one| one == name))
        {
            choices.push(Choice::new(root, &["--test".to_string(), name.to_string()], &path)?);
        }
    }
    choices.sort();
    Ok(choices)
}
