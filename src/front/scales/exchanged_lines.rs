//! Rows, or lines along another axis, that changed places between a quantised tensor and its input.

use super::candidate::Ranked;
use super::read_case::ReadCase;
use super::rounded::{self, Way, code_beside, scale_beside};

/// Lines that are compared with each other, at most: more of them are no exchange of a few.
const MOST_LINES: usize = 64;

/// Parts of a quantised tensor that changed places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Scales,
    Elements,
    Both,
}

impl Moved {
    const ALL: [Moved; 3] = [Moved::Scales, Moved::Elements, Moved::Both];

    fn name(self) -> &'static str {
        match self {
            Moved::Scales => "scales",
            Moved::Elements => "elements",
            Moved::Both => "elements and scales",
        }
    }
}

/// Whether a block's input gives the scale and the elements of two other blocks.
fn gives(case: &ReadCase, top: &Ranked, offset: i64, way: &Way, [own, scale, elements]: [usize; 3]) -> bool {
    let mut block = case.block(own);
    let extreme = case.extreme(&block);
    let other = case.block(scale);
    (block.scale, block.zero, block.codes) = (other.scale, other.zero, case.block(elements).codes);
    if block.codes.len() != block.values.len() {
        return false;
    }
    let zero = block.zero.map(|zero| way.zero.of(zero));
    let is_permitted = top.permits(case, &extreme, code_beside(case.types.scales, block.scale, offset))
        && top.permits_zero(case, &extreme, zero);
    let divisor = scale_beside(case.types.scales, block.scale, offset);
    // Elements of blocks of zeros, and under scales that are no number, say nothing.
    let follows = |divisor| rounded::all_follow(&case.types, way, &block, divisor);
    is_permitted && (!extreme.is_ordinary() || divisor.is_none_or(follows))
}

/// Numbers of the blocks of one line, in order.
fn line(counts: &[usize], axis: usize, at: usize) -> Vec<usize> {
    let inner: usize = counts[axis + 1..].iter().product();
    let outer: usize = counts[..axis].iter().product();
    (0..outer).flat_map(|o| (0..inner).map(move |i| (o * counts[axis] + at) * inner + i)).collect()
}

/// For each line the other one that its blocks have a part of; `None` if a line has none.
fn partners(lines: &[usize], is_from: impl Fn(usize, usize) -> bool) -> Option<Vec<(usize, usize)>> {
    let mut free = lines.to_vec();
    let partner = |own: &usize| {
        let at = free.iter().position(|other| other != own && is_from(*own, *other))?;
        Some((*own, free.remove(at)))
    };
    lines.iter().map(partner).collect()
}

/// The fault in words, if all blocks that do not follow lie in a few lines along one axis, and these follow once they change places.
pub(super) fn fault(case: &ReadCase, top: &Ranked, offset: i64, way: &Way) -> Option<String> {
    let blocks = &case.scales.blocks;
    let wrong = (0..case.scales.codes.len()).filter(|at| !gives(case, top, offset, way, [*at; 3]));
    let wrong: Vec<Vec<usize>> = wrong.map(|at| blocks.place(at)).collect();
    let counts = blocks.counts();
    (0..counts.len()).find_map(|axis| {
        let mut lines: Vec<usize> = wrong.iter().map(|place| place[axis]).collect();
        lines.sort_unstable();
        lines.dedup();
        if !(2..=MOST_LINES).contains(&lines.len()) {
            return None;
        }
        Moved::ALL.into_iter().find_map(|part| {
            let is_from = |own: usize, other: usize| {
                line(&counts, axis, own).into_iter().zip(line(&counts, axis, other)).all(|(own, other)| {
                    let sources = match part {
                        Moved::Scales => [own, other, own],
                        Moved::Elements => [own, own, other],
                        Moved::Both => [own, other, other],
                    };
                    gives(case, top, offset, way, sources)
                })
            };
            let pairs = partners(&lines, is_from)?;
            let (own, other) = pairs.first()?;
            let what = if blocks.sides()[axis] == 1 { "indices" } else { "blocks" };
            let kind = if blocks.sides().len() == 2 && axis == 0 && what == "indices" {
                "rows".to_string()
            } else {
                format!("{what} along axis {axis}")
            };
            let (part, all) = (part.name(), pairs.len());
            Some(format!("the {part} of {all} {kind} are exchanged: {own} has those of {other}"))
        })
    })
}
