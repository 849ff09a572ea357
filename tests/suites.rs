//! Every case of every suite as a test of its own name: `cargo test --test suites NAME`.
//!
//! Cases of one subject share input and truth, so the first of them to run evaluates them all.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Failed, Trial};
use ulpgate::oracle::Oracle;
use ulpgate::record::{Record, SuiteRecord, Verdict};
use ulpgate::run::{self, Group};
use ulpgate::suite::{self, Asked, Suite};

type Evaluated = Result<HashMap<String, Record>, String>;
/// A suite's name with one group of its cases and their results, once they are there.
type Shared = (&'static str, Arc<OnceLock<Evaluated>>, Arc<Group<'static>>);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
    // Trials outlive this function's borrows: the suites live as long as the process.
    let suites: &'static [Suite] = match suite::load_folder(&folder) {
        Ok(suites) => Box::leak(suites.into_boxed_slice()),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let cases: Vec<_> = suites.iter().flat_map(|s| &s.cases).filter(|c| !c.slow).collect();
    let mut trials = Vec::new();
    let mut evaluated: Vec<Shared> = Vec::new();
    for group in run::groups(&cases).into_values() {
        let group = Arc::new(group);
        let results = Arc::new(OnceLock::new());
        for case in &group.cases {
            let (group, results, id) = (group.clone(), results.clone(), case.id.clone());
            trials.push(Trial::test(case.id.clone(), move || judge(results.get_or_init(|| evaluate(&group)), &id)));
        }
        let suite = group.cases.first().map_or("", |c| c.problem.suite.as_str());
        evaluated.push((suite, results, group));
    }
    // One test a suite for its fits, over the cases that the tests above have evaluated or that it evaluates itself.
    for suite in suites.iter().filter(|s| s.cases.iter().any(|c| !c.fits.is_empty())) {
        let of_suite: Vec<_> =
            evaluated.iter().filter(|(name, ..)| *name == suite.name).map(|(_, r, g)| (r.clone(), g.clone())).collect();
        trials.push(Trial::test(format!("{}/growth", suite.name), move || {
            let mut records = Vec::new();
            for (results, group) in &of_suite {
                records.extend(results.get_or_init(|| evaluate(group)).clone()?.into_values());
            }
            let suites = SuiteRecord::all_of(std::slice::from_ref(suite), records, &Asked::default());
            let judged: Vec<_> = suites.into_iter().flat_map(|suite| suite.series).collect();
            let wrong: Vec<_> = judged.into_iter().filter(|series| !series.verdict().as_expected()).collect();
            if wrong.is_empty() { Ok(()) } else { Err(Failed::from(format!("{wrong:#?}"))) }
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn evaluate(group: &Group) -> Evaluated {
    let outcome = run::evaluate(group, &Oracle::default()).map_err(|e| e.to_string())?;
    Ok(outcome.records.into_iter().map(|r| (r.id(), r)).collect())
}

fn judge(evaluated: &Evaluated, id: &str) -> Result<(), Failed> {
    let records = evaluated.as_ref().map_err(Failed::from)?;
    let record = records.get(id).ok_or("the case gave no record")?;
    if record.verdict() < Verdict::Undecided {
        return Ok(());
    }
    let lines: Vec<String> = record
        .checks
        .iter()
        .filter(|c| !c.verdict().as_expected())
        .map(|c| format!("{}: {}: {}\n{}", c.verdict().name(), c.column(), c.note, c.evidence.join("\n")))
        .collect();
    Err(Failed::from(lines.join("\n")))
}
