//! Runs cases in parallel, journals their records, resumes.
//!
//! [`run`] takes a [`Selection`] of suites' cases and evaluates them in [`Group`]s that share inputs and truth
//! ([`evaluate()`]). A [`LockedFolder`] is written by one process at a time, a [`Journal`] in it keeps the records of
//! groups that are done, [`Progress`] shows the progress of a run, and [`Cost`] is its time for the terminal.

mod close_up;
mod cost;
mod error;
mod journal;
mod judge;
mod locked_folder;
mod progress;
mod question;
mod selection;
mod shared;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::deadline;
use crate::oracle::{Oracle, Stats};
use crate::record::Record;
use crate::suite::{Case, Suite};

pub use crate::analysis::{World, check_memory};
pub use crate::budget::{TooLarge, peak_memory};
pub use close_up::{CloseUp, Scores, drawn_scalars, record_of};
pub use cost::{Cost, SuiteCost, slowest};
pub use error::{CaseError, RunError};
use journal::Found;
pub use journal::{Journal, JournalError};
pub use judge::evaluate;
pub use locked_folder::{LOCK, LockError, LockedFolder};
pub use progress::{Progress, Silent};
pub use question::{Question, QuestionError};
pub use selection::{Selection, Shard, ShardError};
pub use shared::{Group, groups};

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// One a case, sorted by id; those of one group alone stand in the group's order.
    pub records: Vec<Record>,
    /// Counts of the methods that found the truths, over the cases that were evaluated.
    pub stats: Stats,
    /// Cases taken from a journal instead of being evaluated.
    pub resumed: usize,
    /// One a group that was evaluated.
    pub costs: Vec<Cost>,
}

/// Settings of a run, whatever its cases.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The oracle, with the precisions in which it searches for the truth.
    pub oracle: Oracle,
    /// Whether to take what an earlier, unfinished run has journaled; no effect without a folder for the journal.
    pub resume: bool,
}

/// Evaluates the selected cases of some suites. Every finished group of cases is journaled at once, where a folder for
/// the journal is given; the result does not depend on the number of threads.
///
/// # Errors
/// A case too large for memory, before anything is evaluated; then the first failure by the order of groups. What
/// finished before it stays in the journal.
pub fn run(
    suites: &[Suite],
    selection: &Selection,
    settings: &Settings,
    journal_folder: Option<&LockedFolder>,
    progress: &dyn Progress,
) -> Result<Outcome, RunError> {
    let selected: Vec<&Case> =
        suites.iter().flat_map(|s| &s.cases).filter(|case| selection.asked.takes(case)).collect();
    let mut groups = groups(&selected);
    groups.retain(|shared, _| selection.shard.takes(shared));
    let groups: Vec<Group> = groups.into_values().collect();
    if let Some(too_large) = groups.par_iter().find_map_first(|group| group.check_memory().err()) {
        return Err(too_large);
    }
    let (journal, known) = match journal_folder {
        Some(folder) => {
            let (journal, found) = Journal::open(folder, suites, settings.resume)?;
            if let Found::Other(why) = &found {
                let path = folder.path().display();
                progress.note(&format!("the journal of {path} is of no use here and is begun anew: {why}"));
            }
            (Some(Mutex::new(journal)), if let Found::Kept { records, .. } = found { records } else { Vec::new() })
        }
        None => (None, Vec::new()),
    };
    let known: BTreeMap<String, Record> = known.into_iter().map(|record| (record.id(), record)).collect();
    let total = groups.iter().map(|g| g.cases.len()).sum();
    progress.start(total);
    let failed = AtomicBool::new(false);
    let deadline = deadline::current();
    let evaluated = |group: &Group| {
        let found: Vec<Record> = group.cases.iter().filter_map(|c| known.get(&c.id).cloned()).collect();
        if found.len() == group.cases.len() {
            progress.advance(&found);
            return Ok(Outcome { resumed: found.len(), records: found, ..Outcome::default() });
        }
        // After a failure the rest would only delay its report.
        if failed.load(Ordering::Relaxed) {
            return Ok(Outcome::default());
        }
        let evaluated = evaluate(group, &settings.oracle).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        if let Some(journal) = &journal {
            let mut journal = journal.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            evaluated.records.iter().try_for_each(|record| journal.append(record))?;
        }
        progress.advance(&evaluated.records);
        Ok(evaluated)
    };
    let outcomes: Vec<Result<Outcome, RunError>> =
        groups.par_iter().map(|group| deadline.within(|| evaluated(group))).collect();
    progress.finish();
    let mut whole = Outcome::default();
    for outcome in outcomes {
        let outcome = outcome?;
        whole.records.extend(outcome.records);
        whole.stats.merge(&outcome.stats);
        whole.resumed += outcome.resumed;
        whole.costs.extend(outcome.costs);
    }
    whole.records.sort_by_cached_key(Record::id);
    Ok(whole)
}
