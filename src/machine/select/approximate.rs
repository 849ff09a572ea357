//! Approximate top-k: bins that each keep their best element, and what is made of them (FACTS 5.3).

use crate::num::flush_f32;

use super::super::backend::Ties;
use super::best::greater_keep;
use super::ranking::sort_indices;
use crate::analysis::Comparator;
use crate::ir::CompareOrder;

/// Assignment of elements to bins. The compiler's choice is not public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Binning {
    /// The same lane of `2^log2_reduction` neighbouring chunks of 128 elements, or of 1024 where the operand has rank 1 (FACTS 5.3, modelling
    /// choice).
    #[default]
    Strided,
    /// Neighbouring elements, as many in each bin.
    Contiguous,
    /// The same lane of chunks that lie apart: chunk `c` falls into group `c` modulo the number of groups.
    Interleaved,
}

impl Binning {
    /// All of them, the default first.
    pub const ALL: &'static [Binning] = &[Binning::Strided, Binning::Contiguous, Binning::Interleaved];

    /// The name in a mode, as in `bins=contiguous`.
    pub const fn name(self) -> &'static str {
        match self {
            Binning::Strided => "strided",
            Binning::Contiguous => "contiguous",
            Binning::Interleaved => "interleaved",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Binning> {
        Binning::ALL.iter().copied().find(|binning| binning.name() == name)
    }

    /// Description for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            Binning::Strided => "the same lane of neighbouring chunks of 128 (modelling choice)",
            Binning::Contiguous => "neighbouring elements (alternative)",
            Binning::Interleaved => "the same lane of chunks far apart (alternative)",
        }
    }
}

/// A planted fault, to prove that the checks find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PlantedFault {
    /// No fault.
    #[default]
    None,
    /// With more than eight rows that do not fill tiles of eight, half of the bins of the last tile's rows are those of
    /// the tile before.
    PartialReduceBatch,
}

impl PlantedFault {
    /// All of them, the default first.
    pub const ALL: &'static [PlantedFault] = &[PlantedFault::None, PlantedFault::PartialReduceBatch];

    /// The name in a mode, as in `fault=partial-reduce-batch`.
    pub const fn name(self) -> &'static str {
        match self {
            PlantedFault::None => "none",
            PlantedFault::PartialReduceBatch => "partial-reduce-batch",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<PlantedFault> {
        PlantedFault::ALL.iter().copied().find(|fault| fault.name() == name)
    }

    /// Description for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            PlantedFault::None => "no fault",
            PlantedFault::PartialReduceBatch => {
                "with more than eight rows that do not fill tiles of eight, rows of the last tile see the tile before \
                 in half of their bins"
            }
        }
    }
}

/// Parameters of a partial reduction.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// Bins of one row.
    pub bins: usize,
    /// Neighbours that fall into as many bins: 1024 for an operand of rank 1, otherwise 128 (FACTS 5.2).
    pub tiling: usize,
    /// `2^log2_reduction` elements fall into a bin, at most; with 0 and a bin for each element, nothing is reduced.
    pub log2_reduction: u32,
    /// Assignment of elements to bins.
    pub binning: Binning,
    /// Whether subnormals compare as zeros.
    pub flush: bool,
    /// A planted fault.
    pub fault: PlantedFault,
}

/// Rows of a tile.
const TILE: usize = 8;

/// For each row of `width` elements, the best value of every bin with its index. Inside a bin a later element wins
/// ties; a bin that sees no element holds (-inf, -1).
pub fn partial_reduce_batch(
    values: &[f32],
    indices: &[i64],
    width: usize,
    reduction: &Reduction,
) -> Vec<(Vec<f32>, Vec<i64>)> {
    let rows = values.len() / width.max(1);
    // Registers have eight rows (FACTS 3.1): the reported fault shows only where the last tile is not full.
    let whole_tiles = rows / TILE * TILE;
    let faulty = reduction.fault == PlantedFault::PartialReduceBatch && rows > TILE && rows > whole_tiles;
    (0..rows)
        .map(|row| {
            let span = |row: usize| row * width..(row + 1) * width;
            let mut result = reduced(&values[span(row)], &indices[span(row)], reduction);
            if faulty && row >= whole_tiles {
                let other = row - TILE;
                let wrong = reduced(&values[span(other)], &indices[span(other)], reduction);
                let half = reduction.bins / 2;
                result.0[half..].copy_from_slice(&wrong.0[half..]);
                result.1[half..].copy_from_slice(&wrong.1[half..]);
            }
            result
        })
        .collect()
}

fn reduced(row: &[f32], indices: &[i64], reduction: &Reduction) -> (Vec<f32>, Vec<i64>) {
    let Reduction { bins, tiling, log2_reduction, binning, flush, .. } = *reduction;
    // Nothing is left out: every element has a bin of its own.
    if log2_reduction == 0 && bins >= row.len() {
        return (row.to_vec(), indices.to_vec());
    }
    let mut best = vec![f32::NEG_INFINITY; bins];
    let mut at = vec![-1i64; bins];
    if binning == Binning::Contiguous {
        // The last bins may stay empty.
        let each = row.len().div_ceil(bins);
        for (j, (v, index)) in row.iter().zip(indices).enumerate() {
            keep(&mut best[j / each], &mut at[j / each], *v, *index, flush);
        }
        return (best, at);
    }
    // Chunk by chunk, lane by lane: the bins of one chunk lie together.
    for (chunk, (values, ids)) in row.chunks(tiling).zip(indices.chunks(tiling)).enumerate() {
        let group = match binning {
            Binning::Interleaved => chunk % (bins / tiling).max(1),
            _ => chunk >> log2_reduction,
        };
        let start = group * tiling;
        let lanes = best[start..].iter_mut().zip(&mut at[start..]).zip(values.iter().zip(ids));
        for ((best, at), (v, index)) in lanes {
            keep(best, at, *v, *index, flush);
        }
    }
    (best, at)
}

/// `acc > x ? acc : x`.
#[inline(always)]
fn keep(best: &mut f32, at: &mut i64, v: f32, index: i64, flush: bool) {
    // The comparison flushes, and what is kept is the value as it was.
    let stays = if flush { flush_f32(*best) > flush_f32(v) } else { *best > v };
    *best = if stays { *best } else { v };
    *at = if stays { *at } else { index };
}

/// The `size` best of the bins' winners: for k = 1 a reduction in which the last of equal values wins, else a stable
/// sort by `>`. Where there are fewer bins than `size`, the rest is (-inf, -1) (modelling choice, FACTS 5.2).
pub fn aggregate(values: &[f32], indices: &[i64], k: usize, size: usize, flush: bool) -> (Vec<f32>, Vec<i64>) {
    let (mut best, mut at) = if k == 1 {
        let (value, index) = greater_keep(values, (f32::NEG_INFINITY, -1), indices, flush);
        (vec![value], vec![index])
    } else {
        let comparator =
            Comparator { key: 0, descending: true, order: CompareOrder::Partial, canonical: false, ties: None };
        let order = sort_indices(values, comparator, flush, Ties::InOrder);
        order.into_iter().take(size).map(|i| (values[i as usize], indices[i as usize])).unzip()
    };
    // Fewer bins than places: the rest says of itself that there was no element.
    best.resize(size, f32::NEG_INFINITY);
    at.resize(size, -1);
    (best, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins_of(n: usize, bins: usize, log2_reduction: u32, binning: Binning) -> Vec<Vec<usize>> {
        // Which elements share a bin: raise one after the other and see which is displaced.
        let reduction =
            Reduction { bins, tiling: 128, log2_reduction, binning, flush: true, fault: PlantedFault::None };
        let indices: Vec<i64> = (0..n as i64).collect();
        let mut members = vec![Vec::new(); bins];
        for j in 0..n {
            let mut row = vec![0.0; n];
            row[j] = 1.0;
            let (values, _) = &partial_reduce_batch(&row, &indices, n, &reduction)[0];
            members[values.iter().position(|v| *v == 1.0).unwrap()].push(j);
        }
        members
    }

    #[test]
    fn strided_bins_are_lanes_of_neighbouring_chunks() {
        let members = bins_of(1000, 256, 2, Binning::Strided);
        for (bin, members) in members.iter().enumerate() {
            let expected: Vec<usize> = (0..1000).filter(|j| ((j / 128) >> 2) * 128 + j % 128 == bin).collect();
            assert_eq!(*members, expected);
        }
    }

    #[test]
    fn every_binning_is_a_partition() {
        for binning in Binning::ALL {
            let members = bins_of(1024, 256, 2, *binning);
            assert_eq!(members.iter().map(Vec::len).sum::<usize>(), 1024, "{binning:?}");
            assert!(members.iter().all(|m| m.len() == 4), "{binning:?}");
        }
    }

    #[test]
    fn the_fault_bites_in_part_tiles_only() {
        let reduction = Reduction {
            bins: 128,
            tiling: 128,
            log2_reduction: 1,
            binning: Binning::Strided,
            flush: true,
            fault: PlantedFault::PartialReduceBatch,
        };
        let sound = Reduction { fault: PlantedFault::None, ..reduction };
        let width = 256;
        for rows in [1, 2, 7, 8, 9, 16, 20] {
            let values: Vec<f32> = (0..rows * width).map(|i| ((i * 7919) % 10_007) as f32).collect();
            let indices: Vec<i64> = (0..rows * width).map(|i| (i % width) as i64).collect();
            let faulty = partial_reduce_batch(&values, &indices, width, &reduction);
            let expected = partial_reduce_batch(&values, &indices, width, &sound);
            assert_eq!(faulty == expected, rows <= 8 || rows % 8 == 0, "{rows} rows");
        }
    }
}
