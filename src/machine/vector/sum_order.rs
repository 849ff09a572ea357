//! Orders of sums and running sums (FACTS 3.2, 3.11).

use std::marker::PhantomData;

use crate::num::flush_f32;

use super::VectorUnit;
use super::arrays::{in_rows, over_rows};
use super::simd::{self, Work};
use super::step::{InBf16, InF16, InF32, Step, StepRounding};

pub use columns::column_sums;
pub use weighted::Weighted;

/// The order of a sum over a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SumOrder {
    /// One addition after the other, from +0.
    Chain,
    /// Registers of 8 x 128 lanes are added lane by lane, then the 8 sublanes in order, then the lanes by halving
    /// (modelling choice for TPUs).
    Lanes,
    /// Windows of 32 elements one addition after the other, and their sums the same way, until one is left
    /// (XLA's TreeReductionRewriter, FACTS 3.11).
    Tree32,
}

impl SumOrder {
    /// Those that modes choose between.
    pub const ALL: &'static [SumOrder] = &[SumOrder::Chain, SumOrder::Lanes, SumOrder::Tree32];

    /// The name in a mode, as in `reduce=chain`.
    pub const fn name(self) -> &'static str {
        match self {
            SumOrder::Chain => "chain",
            SumOrder::Lanes => "lanes",
            SumOrder::Tree32 => "tree32",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<SumOrder> {
        SumOrder::ALL.iter().copied().find(|order| order.name() == name)
    }

    /// Description for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            SumOrder::Chain => "one addition after the other",
            SumOrder::Lanes => {
                "8 x 128 lanes added chunk by chunk, then across sublanes, then halving over the 128 lanes (modelling \
                 choice: the TPU's order is not public)"
            }
            SumOrder::Tree32 => {
                "windows of 32 summed in order, their sums again, as XLA's TreeReductionRewriter; the padding of a \
                 length that is no multiple of 32 is split between both ends, the odd one last"
            }
        }
    }

    /// The most additions that round which one of `count` terms meets. Those to an empty sum are exact.
    pub fn longest_chain(self, count: usize) -> u64 {
        let chain = |count: usize| count.saturating_sub(1);
        let additions = match self {
            SumOrder::Chain => chain(count),
            SumOrder::Lanes => {
                // A term meets the additions of its lane, of the sublanes and of the tree over lanes.
                let registers = count.div_ceil(LANES * SUBLANES);
                // No term meets more additions than there are other terms.
                (chain(registers) + chain(SUBLANES) + LANES.ilog2() as usize).min(chain(count))
            }
            SumOrder::Tree32 if count > TREE => {
                return chain(TREE) as u64 + self.longest_chain(count.div_ceil(TREE));
            }
            SumOrder::Tree32 => chain(count),
        };
        additions as u64
    }
}

/// The order of a running sum over a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOrder {
    /// One addition after the other, from +0.
    Sequential,
    /// Running sums inside blocks of this size, those of the blocks' totals the same way, then one addition.
    Blocked(usize),
}

impl ScanOrder {
    /// Those that modes have.
    pub const ALL: &'static [ScanOrder] = &[ScanOrder::Sequential, ScanOrder::Blocked(16), ScanOrder::Blocked(128)];

    /// The name in a mode, as in `scan=blocked16`.
    pub const fn name(self) -> &'static str {
        match self {
            ScanOrder::Sequential => "sequential",
            ScanOrder::Blocked(16) => "blocked16",
            ScanOrder::Blocked(_) => "blocked128",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<ScanOrder> {
        ScanOrder::ALL.iter().copied().find(|order| order.name() == name)
    }

    /// Description for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            ScanOrder::Sequential => "one addition after the other (modelling choice for TPUs)",
            ScanOrder::Blocked(16) => "in blocks of 16, recursively: XLA's ReduceWindowRewriter (FACTS 3.11)",
            ScanOrder::Blocked(_) => {
                "in blocks of 128, as the TPU compiler's output writes a cumsum of 1024 (the order inside a block is not \
                 public)"
            }
        }
    }
}

/// Additions of the unit; what they do is known when the loops around them are compiled.
#[derive(Clone, Copy)]
struct UnitAdder<const FLUSH: bool, S>(PhantomData<S>);

/// Runs `$body` with `$adder` bound to the adder of a step and a unit.
macro_rules! with_adder {
    (@of $flush:literal, $rounds:ty, $adder:ident => $body:expr) => {{
        let $adder = UnitAdder::<$flush, $rounds>(PhantomData);
        $body
    }};
    ($step:expr, $unit:expr, $adder:ident => $body:expr) => {
        match ($unit.flush, $step) {
            (false, StepRounding::F32) => with_adder!(@of false, InF32, $adder => $body),
            (false, StepRounding::Bf16) => with_adder!(@of false, InBf16, $adder => $body),
            (false, StepRounding::F16) => with_adder!(@of false, InF16, $adder => $body),
            (true, StepRounding::F32) => with_adder!(@of true, InF32, $adder => $body),
            (true, StepRounding::Bf16) => with_adder!(@of true, InBf16, $adder => $body),
            (true, StepRounding::F16) => with_adder!(@of true, InF16, $adder => $body),
        }
    };
}

// They use the macro.
mod columns;
mod unflushed;
mod weighted;

/// Lanes of a vector register, and sublanes.
const LANES: usize = 128;
const SUBLANES: usize = 8;

/// The length of a window of [`SumOrder::Tree32`].
pub const TREE: usize = 32;

/// Chains that run side by side, so that one addition need not wait for the one before: rows, of which more would fall
/// into the same places of the cache, and short blocks.
const ROWS: usize = 4;
const BLOCKS: usize = 8;

/// The sum of a row; +0 for an empty one.
pub fn sum(row: &[f32], order: SumOrder, step: StepRounding, unit: &VectorUnit) -> f32 {
    with_adder!(step, unit, adder => adder.sum(row, order))
}

/// The sums of `count` rows of `width` elements.
pub fn sums(
    values: &[f32],
    count: usize,
    width: usize,
    order: SumOrder,
    step: StepRounding,
    unit: &VectorUnit,
) -> Vec<f32> {
    if width == 1 {
        // In each of these orders one element is added to zeros.
        // The addition still flushes and rounds.
        return with_adder!(step, unit, adder => values.iter().map(|v| adder.add(0.0, *v)).collect());
    }
    if order != SumOrder::Chain || width == 0 {
        return over_rows(count, width, |row| sum(&values[row * width..(row + 1) * width], order, step, unit));
    }
    let groups = over_rows(count.div_ceil(ROWS), width * ROWS, |group| {
        let rows = &values[group * ROWS * width..((group + 1) * ROWS).min(count) * width];
        let mut sums = [0.0; ROWS];
        with_adder!(step, unit, adder => adder.chains::<ROWS>(rows, width, &mut sums[..rows.len() / width]));
        sums
    });
    groups.into_iter().flatten().take(count).collect()
}

/// Running sums of rows of `width` elements, each including its own element.
pub fn running_sums(values: &[f32], width: usize, order: ScanOrder, step: StepRounding, unit: &VectorUnit) -> Vec<f32> {
    let mut out = vec![0.0; values.len()];
    in_rows(&mut out, width, ROWS, |first, out| {
        let rows = &values[first * width..first * width + out.len()];
        with_adder!(step, unit, adder => match order {
            // One block alone is a chain.
            ScanOrder::Blocked(block) if width > block => {
                let rows = rows.chunks(width).zip(out.chunks_mut(width));
                rows.for_each(|(row, out)| adder.scan_in_blocks(row, block, out));
            }
            _ => adder.scan_chains::<ROWS>(rows, width, out),
        });
    });
    out
}

impl<const FLUSH: bool, S: Step> UnitAdder<FLUSH, S> {
    #[inline(always)]
    fn add(self, a: f32, b: f32) -> f32 {
        let sum = if FLUSH { flush_f32(flush_f32(a) + flush_f32(b)) } else { a + b };
        S::round(sum)
    }

    fn chain(self, values: &[f32]) -> f32 {
        // From +0, so that negative zeros alone sum to +0, as XLA's init makes them.
        values.iter().fold(0.0, |sum, v| self.add(sum, *v))
    }

    /// [`UnitAdder::chain`] of each `length` values, `R` of them side by side.
    fn chains<const R: usize>(self, values: &[f32], length: usize, out: &mut [f32]) {
        for (values, out) in values.chunks(R * length).zip(out.chunks_mut(R)) {
            if out.len() < R {
                out.iter_mut().zip(values.chunks(length)).for_each(|(out, row)| *out = self.chain(row));
                continue;
            }
            let mut totals = [0.0; R];
            for i in 0..length {
                for (r, total) in totals.iter_mut().enumerate() {
                    *total = self.add(*total, values[r * length + i]);
                }
            }
            out.copy_from_slice(&totals);
        }
    }

    /// Running sums of each `length` values, `R` of them side by side.
    fn scan_chains<const R: usize>(self, values: &[f32], length: usize, out: &mut [f32]) {
        for (values, out) in values.chunks(R * length).zip(out.chunks_mut(R * length)) {
            if values.len() < R * length {
                for (values, out) in values.chunks(length).zip(out.chunks_mut(length)) {
                    let mut total = 0.0;
                    for (v, out) in values.iter().zip(out) {
                        total = self.add(total, *v);
                        *out = total;
                    }
                }
                continue;
            }
            let mut totals = [0.0; R];
            for i in 0..length {
                for (r, total) in totals.iter_mut().enumerate() {
                    *total = self.add(*total, values[r * length + i]);
                    out[r * length + i] = *total;
                }
            }
        }
    }

    fn sum(self, row: &[f32], order: SumOrder) -> f32 {
        match order {
            SumOrder::Chain => self.chain(row),
            SumOrder::Lanes => simd::widest(LanesOf { adder: self, row }),
            SumOrder::Tree32 => {
                if row.len() <= TREE {
                    return self.chain(row);
                }
                // XLA pads a window operation on both sides (`Padding::kSame`): zeros at the low end only make the
                // first window shorter.
                let padding = row.len().next_multiple_of(TREE) - row.len();
                let (first, others) = row.split_at(TREE - padding / 2);
                let mut windows = vec![0.0; row.len().div_ceil(TREE)];
                windows[0] = self.chain(first);
                let whole = others.len() / TREE;
                self.chains::<BLOCKS>(&others[..whole * TREE], TREE, &mut windows[1..=whole]);
                if others.len() % TREE != 0 {
                    windows[whole + 1] = self.chain(&others[whole * TREE..]);
                }
                self.sum(&windows, order)
            }
        }
    }

    /// [`SumOrder::Lanes`]: registers of sublanes x lanes, added element by element; missing elements are zeros.
    #[inline(always)]
    fn lanes(self, row: &[f32]) -> f32 {
        let mut register = [0.0f32; LANES * SUBLANES];
        for chunk in row.chunks(LANES * SUBLANES) {
            register.iter_mut().zip(chunk).for_each(|(sum, v)| *sum = self.add(*sum, *v));
        }
        let (first, others) = register.split_at_mut(LANES);
        // Of the sublanes that no element reaches one is enough: a second zero changes nothing.
        for sublane in others.chunks(LANES).take(row.len().div_ceil(LANES)) {
            first.iter_mut().zip(sublane).for_each(|(sum, v)| *sum = self.add(*sum, *v));
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            let (low, high) = first.split_at_mut(width);
            low.iter_mut().zip(high).for_each(|(low, high)| *low = self.add(*low, *high));
        }
        first[0]
    }

    /// [`ScanOrder::Blocked`] of a row that is longer than a block.
    fn scan_in_blocks(self, row: &[f32], block: usize, out: &mut [f32]) {
        let whole = row.len() / block * block;
        self.scan_chains::<BLOCKS>(&row[..whole], block, &mut out[..whole]);
        self.scan_chains::<BLOCKS>(&row[whole..], block, &mut out[whole..]);
        let totals: Vec<f32> = out.chunks(block).filter_map(|b| b.last().copied()).collect();
        let mut before = vec![0.0; totals.len()];
        if totals.len() > block {
            self.scan_in_blocks(&totals, block, &mut before);
        } else {
            self.scan_chains::<1>(&totals, totals.len(), &mut before);
        }
        // To the first block a zero is added: a sum that was flushed to -0 becomes +0.
        for (values, total) in out.chunks_mut(block).zip([0.0].into_iter().chain(before)) {
            values.iter_mut().for_each(|v| *v = self.add(*v, total));
        }
    }
}

/// [`UnitAdder::lanes`] of a row.
struct LanesOf<'a, A> {
    adder: A,
    row: &'a [f32],
}

impl<const FLUSH: bool, S: Step> Work for LanesOf<'_, UnitAdder<FLUSH, S>> {
    type Output = f32;

    #[inline(always)]
    fn run(self) -> f32 {
        self.adder.lanes(self.row)
    }
}

#[cfg(test)]
mod tests;
