//! Elements of a result that the oracle left open, as counts and lines of evidence.

use crate::oracle::{FloatTruth, Top};

use super::{Batch, Tally};

/// Elements that were not rounded, and the first of them.
pub(super) fn leave_elements_open(tally: &mut Tally, batch: &Batch, truth: &FloatTruth) {
    tally.leave_open(truth.open.len(), || {
        let (first, row_length) = (truth.open[0], truth.dims.iter().skip(1).product::<usize>().max(1));
        let (row, element) = (batch.first_row + first / row_length, first % row_length);
        format!("row {row}: element {element} is not known well enough to be rounded, at the highest precision")
    });
}

/// A row whose highest score, or its lead, was not decided: by which tokens.
pub(super) fn leave_top_open(tally: &mut Tally, batch: &Batch, row: usize, top: &Top) {
    const SHOWN: usize = 4;
    tally.leave_open(1, || {
        let row = batch.first_row + row;
        let rivals = || {
            let shown: Vec<String> = top.rivals.iter().take(SHOWN).map(usize::to_string).collect();
            let more = top.rivals.len().saturating_sub(SHOWN);
            shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
        };
        match (&top.best[..], top.runner_up) {
            ([best, ..], _) if !top.rivals.is_empty() => {
                format!("row {row}: nothing told token {best} from {}: equal, or nearer than can be shown", rivals())
            }
            ([best, ..], Some(next)) => format!("row {row}: the lead of token {best} over {next} was not decided"),
            _ if !top.rivals.is_empty() => format!("row {row}: nothing is known of the scores of tokens {}", rivals()),
            _ => format!("row {row}: the highest score was not decided"),
        }
    });
}
