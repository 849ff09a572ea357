//! Elements of a result that the oracle left open, as counts and lines of evidence.

use crate::oracle::{FloatTruth, Top};

use super::{Batch, Tally};

/// Elements that were not rounded, and the first of them.
pub(super) fn leave_elements_open(tally: &mut Tally, batch: &Batch, truth: &FloatTruth) {
    tally.leave_open(truth.open.len(), || {
        let (row, element) = place(truth.open[0], &truth.dims, batch.first_row);
        format!("row {row}: element {element} is not known well enough to be rounded, at the highest precision")
    });
}

/// The row of the whole case, and the place in it, of a flat position in a batch that begins at `first_row`.
fn place(at: usize, dims: &[usize], first_row: usize) -> (usize, usize) {
    let row_length = dims.iter().skip(1).product::<usize>().max(1);
    (first_row + at / row_length, at % row_length)
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

#[cfg(test)]
mod tests {
    use super::place;

    /// Rows count from the first of the case, and not of the batch; a row holds all dims but the first.
    #[test]
    fn places_are_those_of_the_whole_case() {
        assert_eq!(
            [place(0, &[4, 2, 3], 0), place(17, &[4, 2, 3], 0), place(17, &[4, 2, 3], 8)],
            [(0, 0), (2, 5), (10, 5)]
        );
        assert_eq!([place(3, &[4], 8), place(0, &[], 5)], [(11, 0), (5, 0)]);
    }
}
