//! The loops that LLVM makes of a sum in a fusion that it compiles: unrolled, or with several elements side by side.
//!
//! Each addition may be reordered (`reassoc`), so the loop vectorizer takes a sum where its estimate of costs says that
//! it pays (`LoopVectorizationCostModel`, with the costs of an x86-64 processor with AVX-512 whose registers are used
//! in halves of 256 bits). It takes innermost loops only: that over the innermost dim, or, where that one was unrolled
//! before (`LoopFullUnrollPass`), the one around it.

use crate::ir::{
    Computation, ComputationId, Fusion, Instruction, LibraryFunction, Op, Shape, ValueId, Window, WindowDim,
};
use crate::tensor::DType;

use super::super::library::{DotOrder, LibraryDot};
use super::inner::Inner;
use super::negative_zero::is_no_negative_zero;
use super::sum_term::{RUN, Term, WIDEST};
use super::unroll::{ANALYZED, UNROLLED, UNROLLED_IF_ANALYZED, is_small};

pub use super::super::sum_loop_order::{Beside, Columns, DotLoop, Rows, SumLoop};

/// A step of a loop over the innermost dim.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Elements of the widest register.
    pub widest: usize,
    /// The most registers that may be interleaved.
    pub most_registers: usize,
    /// Instructions for each element, but the addition.
    pub operations: usize,
    /// Whether the last element stays alone.
    pub leaves_last: bool,
    /// Whether each term is a sum, whose elements may stand apart: then few terms pay no more than many.
    pub is_of_sums: bool,
}

/// The fewest iterations of a loop that may have a remainder (`TinyTripCountVectorThreshold`).
const REST: usize = 16;

/// Columns of rows that are read as one run of memory whose terms are computed for all of a run's elements at once, and
/// not joined with the sum.
const JOIN_ROUNDED: [usize; 5] = [2, 3, 4, 6, 8];

/// The most registers that may be interleaved (x86's `getMaxInterleaveFactor`).
const MOST_REGISTERS: usize = 4;

/// The fewest elements of a step for which LLVM vectorizes the remainder, too (`EpilogueVectorizationMinVF`).
const REST_IN_LANES: usize = 16;

/// For each value of a computation, the order of its terms if it is a sum of f32 in a fusion that is compiled or left
/// to a library. `sums` says which regions add, `products` which values are unrounded products (`find_contractions`),
/// and `inner` which values belong to terms whose products join one after the other (`find_inner_products`). `uses`
/// counts the reads of each value.
pub fn find_sum_loops(
    computation: &Computation,
    (products, inner, uses): (&[bool], &[Option<Inner>], &[usize]),
    sums: impl Fn(ComputationId) -> bool,
) -> Vec<SumLoop> {
    let sum_loop = |instruction: &Instruction| match (&instruction.op, &instruction.operands[..]) {
        // The two parts are added at once, which the vectorizer does not do.
        (Op::Reduce { .. }, _) if instruction.library() == Some(&LibraryFunction::ComplexSum) => SumLoop::Chain,
        (Op::Reduce { dims, to_apply }, &[term, init])
            if instruction.fusion().is_some_and(Fusion::is_compiled)
                && instruction.shape.dtype() == Some(DType::F32)
                && sums(*to_apply) =>
        {
            of_sum(computation, instruction, dims, [term, init], (products[term], inner[term].is_some()))
        }
        (Op::Reduce { to_apply, .. }, &[term, _])
            if matches!(instruction.fusion(), Some(Fusion::Custom { .. })) && products[term] && sums(*to_apply) =>
        {
            LibraryDot::of_sum(computation, instruction, uses).map_or(SumLoop::Chain, |dot| {
                let lanes_and_depth = DotOrder::of_sum(&dot).plan_of_all();
                SumLoop::Dot(DotLoop { sizes: dot.sizes, lanes_and_depth })
            })
        }
        (Op::ReduceWindow { window, to_apply }, &[array, _])
            if instruction.fusion().is_some_and(Fusion::is_compiled)
                && instruction.fusion() != computation.instructions[array].fusion()
                && instruction.shape.dtype() == Some(DType::F32)
                && sums(*to_apply) =>
        {
            of_windows(computation.instructions[array].shape.dims(), window, instruction.fusion())
        }
        _ => SumLoop::Chain,
    };
    computation.instructions.iter().map(sum_loop).collect()
}

/// Whether nothing is left of the innermost loop of a sum: it is unrolled before or after LLVM vectorizes it.
pub fn leaves_no_loop(computation: &Computation, sum: ValueId) -> bool {
    let instruction = &computation.instructions[sum];
    let (Op::Reduce { dims, .. }, &[term, init]) = (&instruction.op, &instruction.operands[..]) else { return false };
    let extents = computation.instructions[term].shape.dims();
    let Some(innermost) = (0..extents.len()).rev().find(|d| dims.contains(d) && extents[*d] > 1) else { return true };
    let term_of = Term::new(computation, instruction.fusion(), term, (innermost, None));
    let may_unroll = !term_of.sums();
    let is_plain = !term_of.is_opaque() && term_of.is_regular();
    is_plain
        && match of_sum(computation, instruction, dims, [term, init], (false, false)) {
            SumLoop::Columns(columns) => columns.unrolled,
            _ => may_unroll && term_of.is_unrolled(extents[innermost]),
        }
}

fn of_sum(
    computation: &Computation,
    instruction: &Instruction,
    dims: &[usize],
    [id, init]: [ValueId; 2],
    (is_product, joins): (bool, bool),
) -> SumLoop {
    let extents = computation.instructions[id].shape.dims();
    let mut long = (0..extents.len()).rev().filter(|d| extents[*d] > 1);
    // Dims of one element are no loops; what is summed is innermost, whatever lies there in memory.
    let mut summed = (0..extents.len()).rev().filter(|d| dims.contains(d) && extents[*d] > 1);
    let Some(innermost) = summed.next() else { return SumLoop::Chain };
    let around = summed.next();
    let columns = extents[innermost];
    let count: usize = dims.iter().map(|d| extents[*d]).product();
    let zero = is_zero(computation, init);
    let from_products = (is_product || joins) && zero && is_no_negative_zero(computation, id);
    let outside = (0..innermost).rev().find(|d| extents[*d] > 1).filter(|_| long.next() == Some(innermost));
    let term = Term::new(computation, instruction.fusion(), id, (innermost, around.or(outside)));
    // A loop with one within is not the innermost one.
    let may_unroll = !term.sums();
    if !may_unroll || !term.is_unrolled(columns) {
        // Calls for one element at a time cost as much masked.
        let widest = if term.calls_alone() && columns < REST && columns.is_multiple_of(4) { 4 } else { term.widest() };
        let is_within = extents.iter().filter(|extent| **extent > 1).count() > 1;
        let step = Step {
            widest,
            most_registers: term.most_registers(is_within),
            operations: term.operations(),
            leaves_last: term.leaves_last(false),
            is_of_sums: term.sums(),
        };
        let columns = columns_of(columns, step, |lanes| term.cost_along(lanes));
        let columns = columns.filter(|columns| term.is_regular() && (!columns.masked || term.can_be_masked()));
        return columns.map_or(SumLoop::Chain, SumLoop::Columns);
    }
    // A loop over what is summed is inside of one over what is kept.
    let lanes = around.or(outside).and_then(|rows| cheapest_lanes(extents[rows], columns, &term));
    let multiplies = if lanes == Some(2) { columns > 5 } else { columns > 4 };
    let rounds_products = match joins {
        true => {
            let whole = columns < RUN || lanes == Some(WIDEST) || around.is_none();
            JOIN_ROUNDED.contains(&columns) && whole && term.reads_runs()
        }
        false => columns <= RUN && term.is_of_runs() && (multiplies || !term.has_factor_alone(id)),
    };
    match (lanes, around) {
        (Some(lanes), Some(around)) => {
            let extent = extents[around];
            let alone = usize::from(extent >= REST && term.leaves_last(true));
            SumLoop::Rows(Rows { lanes, alone, columns, extent, rounds_products })
        }
        (Some(lanes), None) if rounds_products => {
            let extent = outside.map_or(1, |rows| extents[rows]);
            SumLoop::ChainOfRounded(Beside { count: extent / lanes * lanes, extent })
        }
        _ if from_products && (is_small(count, term.instructions())) => SumLoop::ChainOfTwo,
        _ => SumLoop::Chain,
    }
}

/// The order of the elements in the windows that cut an array into equal parts: each sums one part, read in place.
fn of_windows(dims: &[usize], window: &Window, fusion: Option<Fusion>) -> SumLoop {
    let cuts = |(extent, dim): (&usize, &WindowDim)| {
        let part = WindowDim { stride: dim.size, ..WindowDim::of_size(dim.size) };
        dim.size > 0 && *dim == part && extent.is_multiple_of(dim.size)
    };
    if dims.len() != window.0.len() || !dims.iter().zip(&window.0).all(cuts) {
        return SumLoop::Chain;
    }
    // The number of parts along each dim and the elements of one; those of one element are no loops.
    let loops =
        dims.iter().zip(&window.0).flat_map(|(extent, dim)| [(extent / dim.size.max(1), false), (dim.size, true)]);
    let loops: Vec<(usize, bool)> = loops.filter(|(extent, _)| *extent > 1).collect();
    let of = |number: usize, dims: &[usize]| {
        Instruction::new(String::new(), Op::Parameter(number), Vec::new(), Shape::array(DType::F32, dims))
    };
    let all: Vec<usize> = loops.iter().map(|(extent, _)| *extent).collect();
    let kept: Vec<usize> = loops.iter().filter(|(_, is_summed)| !is_summed).map(|(extent, _)| *extent).collect();
    let reduced: Vec<usize> = (0..loops.len()).filter(|d| loops[*d].1).collect();
    let instructions = vec![of(0, &all), of(1, &[])];
    let sum = of(2, &kept).with_record(|compiled| compiled.fusion = fusion);
    let computation = Computation { name: String::new(), instructions, root: 0 };
    of_sum(&computation, &sum, &reduced, [0, 1], (false, false))
}

/// The number of rows that are summed side by side, if that pays by the costs of x86's `TargetTransformInfo`.
fn cheapest_lanes(rows: usize, columns: usize, term: &Term) -> Option<usize> {
    if !term.is_regular() {
        return None;
    }
    // Of few rows none may be left over.
    let whole = |lanes: &usize| rows >= REST || rows.is_multiple_of(*lanes);
    let few = rows.is_power_of_two() || rows >= REST;
    let candidates = lanes_up_to(rows.min(term.widest())).filter(|_| few).filter(whole);
    let cost = |lanes: usize| {
        let (steps, left) = (rows / lanes, rows % lanes);
        steps as f64 * term.cost(lanes, columns, steps) + left as f64 * term.cost(1, columns, left)
    };
    let mut best = (None, rows as f64 * term.cost(1, columns, rows));
    for lanes in candidates {
        if lanes == 2 && (rows > 2 || term.arrays() > 1) {
            continue;
        }
        if cost(lanes) < best.1 {
            best = (Some(lanes), cost(lanes));
        }
    }
    best.0
}

/// LLVM's loop over the innermost dim, from the `cost` of a step of so many lanes; `None` if it takes each element
/// alone.
fn columns_of(extent: usize, step: Step, cost: impl Fn(usize) -> f64) -> Option<Columns> {
    let Step { widest, most_registers, operations, leaves_last, is_of_sums } = step;
    if extent <= 2 {
        return None;
    }
    if extent < REST {
        let lanes = extent.next_power_of_two().min(widest);
        let masked = !extent.is_multiple_of(lanes);
        let turns = extent.div_ceil(lanes);
        if is_of_sums && turns as f64 * cost(lanes) >= extent as f64 * cost(1) {
            return None;
        }
        let unrolled = turns == 1 || turns * (operations + 1) < UNROLLED;
        return Some(Columns { extent, lanes, registers: 1, masked, alone: 0, lanes_of_rest: 1, unrolled });
    }
    let alone = usize::from(leaves_last);
    let lanes = cheapest(extent, widest, &cost);
    let registers = registers(extent - alone, lanes).min(1 << most_registers.ilog2());
    let turns = (extent - alone) / (lanes * registers);
    let rest = extent % (lanes * registers);
    let lanes_of_rest = match lanes * registers >= REST_IN_LANES {
        true if leaves_last && rest <= lanes => 1,
        true if leaves_last => lanes,
        true => cheapest(rest, widest, &cost),
        false => 1,
    };
    let instructions = turns * registers * (operations + 1);
    let unrolled = turns == 1 || instructions < if turns <= ANALYZED { UNROLLED_IF_ANALYZED } else { UNROLLED };
    let columns = Columns { extent, lanes, registers, masked: false, alone, lanes_of_rest, unrolled };
    (lanes > 1).then_some(columns)
}
/// The number of lanes whose steps cost least, with single steps for the remainder; of equal costs the fewest lanes.
fn cheapest(extent: usize, widest: usize, cost: impl Fn(usize) -> f64) -> usize {
    let all = |lanes: usize| (extent / lanes) as f64 * cost(lanes) + (extent % lanes) as f64 * cost(1);
    let cheaper = |best: usize, lanes: usize| if all(lanes) < all(best) { lanes } else { best };
    lanes_up_to(extent.min(widest)).fold(1, cheaper)
}

fn lanes_up_to(most: usize) -> impl Iterator<Item = usize> {
    [2, 4, 8, 16].into_iter().filter(move |lanes| *lanes <= most)
}

/// The number of registers that are interleaved (`selectInterleaveCount` for a known count): half of those that the
/// elements fill, or all of them if the remainder is the same.
fn registers(extent: usize, lanes: usize) -> usize {
    let below = |count: usize| 1 << count.clamp(1, MOST_REGISTERS).ilog2();
    let (few, many) = (below(extent / (2 * lanes)), below(extent / lanes));
    if extent % (lanes * few) == extent % (lanes * many) { many } else { few }
}

fn is_zero(computation: &Computation, id: ValueId) -> bool {
    matches!(&computation.instructions[id].op, Op::Constant(value) if value.data().to_f32s() == [0.0])
}

#[cfg(test)]
mod tests;
