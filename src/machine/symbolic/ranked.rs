//! Sorts and top-k: each place of a row is a function of the whole row.

use crate::analysis::Comparator;
use crate::ir::{ApproxTopK, CompareOrder, ComputationId, Op, PartialReduce, Shape};
use crate::tensor::DType;

use super::super::backend::Ties;
use super::super::eval_error::refuse;
use super::run::{Result, Site, Tracer};
use super::symbol::{Mixer, Symbol};
use super::symbol_key::{Bins, Key};
use super::symbols::Symbols;

pub fn rank(tracer: &Tracer, site: &Site) -> Result<Symbols> {
    let shows_nan = || {
        tracer.grounds.borrow_mut().shows_nan.insert(site.instruction.name.clone());
    };
    let mode = tracer.machine.mode;
    match &site.instruction.op {
        Op::Sort { dim, stable, to_apply } => {
            shows_nan();
            let ties = if *stable { Ties::InOrder } else { mode.chip.ties() };
            if !*stable && ties == Ties::InOrder {
                tracer.grounds.borrow_mut().unstable.insert(site.instruction.name.clone());
            }
            let by_key = || sort_by_key(tracer, site, *dim, ties, *to_apply);
            if let Some(sorted) = sort_packed(tracer, site, *dim, *to_apply).or_else(by_key) {
                return Ok(sorted);
            }
            let mixer = Key::Sort { ties, flush: mode.chip.flush }.mixer().and(tracer.region(*to_apply)?);
            Ok(sort(site, *dim, mixer))
        }
        Op::TopK { largest, .. } => {
            shows_nan();
            let width = site.dims(0).last().copied().unwrap_or(1).max(1);
            // A place's winner does not hang on how many are wanted.
            let dtype = site.shapes[0].element_type();
            let mixer = match dtype.is_float() {
                true => by_bits(*largest),
                false => Key::ByInteger { descending: *largest, dtype }.mixer(),
            };
            let row = |at: usize| mixer.and_all(site.of(0)[at * width..(at + 1) * width].iter().copied());
            let found = winners(site, site.of(0).len() / width, row);
            if let [_, places] = found.arrays()[..] {
                places.elements.iter().for_each(|place| tracer.place_of_row(*place, width));
            }
            Ok(found)
        }
        Op::ApproxTopK(ApproxTopK { k, recall_target, aggregate_to_topk, reduction_input_size_override, .. }) => {
            shows_nan();
            let kind = Bins::Approximate {
                k: *k,
                recall_target: recall_target.to_bits(),
                aggregate_to_topk: *aggregate_to_topk,
                reduction_input_size_override: *reduction_input_size_override,
                partial_reduce: mode.chip.partial_reduce,
            };
            Ok(binned(tracer, site, kind))
        }
        Op::PartialReduce(PartialReduce { log2_reduction, .. }) => {
            Ok(binned(tracer, site, Bins::Partial { log2_reduction: *log2_reduction }))
        }
        other => Err(refuse(site.instruction, format!("{} ranks nothing", other.opcode()))),
    }
}

/// The order of floats by IEEE totalOrder, ties in the order of places: of top-k, and of sorts that come to the same.
pub(super) fn by_bits(descending: bool) -> Mixer {
    Key::ByBits { descending }.mixer()
}

/// A sort of integers in each of which a float and its place are packed.
fn sort_packed(tracer: &Tracer, site: &Site, dim: usize, to_apply: ComputationId) -> Option<Symbols> {
    let ([operand], dtype) = (&site.operands[..], site.shapes[0].element_type()) else { return None };
    let found = tracer.machine.prepared.regions.comparator(to_apply)?;
    if !dtype.is_integer() {
        return None;
    }
    let (dims, elements) = (site.dims(0), &operand.as_array().elements);
    let (length, inner) = (dims[dim], dims[dim + 1..].iter().product::<usize>());
    let mut sorted = elements.to_vec();
    for lane in 0..elements.len() / length.max(1) {
        let place = |i: usize| lane / inner * length * inner + lane % inner + i * inner;
        let row: Vec<Symbol> = (0..length).map(|i| elements[place(i)]).collect();
        let keys = tracer.ranked_keys(&row, dtype, found.descending)?;
        for i in 0..length {
            sorted[place(i)] = tracer.ranked_key(&keys, i)?;
        }
    }
    Some(Symbols::array(sorted))
}

/// A stable sort by one key: the places depend on the keys alone.
fn sort_by_key(tracer: &Tracer, site: &Site, dim: usize, ties: Ties, to_apply: ComputationId) -> Option<Symbols> {
    let regions = &tracer.machine.prepared.regions;
    let (dims, length) = (site.dims(0), site.dims(0)[dim]);
    let inner: usize = dims[dim + 1..].iter().product();
    let lanes = site.of(0).len() / length.max(1);
    let place = |lane: usize, i: usize| lane / inner * length * inner + lane % inner + i * inner;
    let region = &tracer.machine.program.computations[to_apply];
    // A comparator may round its operands to bf16, as compilers make it of a sort in bf16. Keys that are bf16 already are then
    // compared as they are.
    let narrow = region.instructions.iter().all(|i| match i.shape.dtype() {
        Some(dtype) if dtype.is_float() => matches!(dtype, DType::F32 | DType::BF16),
        _ => true,
    });
    let kept = |c: &Comparator| narrow && site.of(c.key).iter().all(|symbol| symbol.is_bf16());
    let rounded = || regions.comparator_but_for_rounding(to_apply).filter(kept);
    let found = regions.comparator(to_apply).or_else(rounded)?;
    let counts = |operand: usize| {
        (0..lanes).all(|lane| (0..length).all(|i| site.of(operand)[place(lane, i)].integer() == Some(i as i64)))
    };
    // Ties by an operand of places 0, 1, 2 are those of a stable sort; by any other operand they are not by the key alone.
    let key = site.shapes.get(found.key)?.element_type();
    if !key.is_float() || key == DType::F64 || ties != Ties::InOrder || !found.ties.is_none_or(counts) {
        return None;
    }
    let mixer = match (found.order, found.canonical) {
        (CompareOrder::Total, false) => by_bits(found.descending),
        (order, canonical) => {
            Key::StableSort { descending: found.descending, order, canonical, flush: tracer.machine.unit.flush }.mixer()
        }
    };
    let part = |operand: usize| {
        let list = Key::SortedLane.mixer();
        let counts = counts(operand);
        let mut sorted = site.of(operand).to_vec();
        for lane in 0..lanes {
            let of = |operand: usize| (0..length).map(move |i| site.of(operand)[place(lane, i)]);
            let order = mixer.and_all(of(found.key));
            if counts {
                (0..length).for_each(|i| tracer.place_of_row(order.and_count(1).and_count(i).symbol(), length));
            }
            // The number tells apart what is made of one order: the keys, the places, and an operand that goes with them.
            let row = if operand == found.key {
                order.and_count(0)
            } else if counts {
                order.and_count(1)
            } else {
                order.and_count(2).and(list.and_all(of(operand)).symbol())
            };
            for i in 0..length {
                sorted[place(lane, i)] = row.and_count(i).symbol();
            }
            if operand == found.key {
                // A permutation of bf16 numbers is of bf16 numbers: a later rounding to bf16 then changes nothing.
                let like = of(operand).all(Symbol::is_bf16);
                let typed = |symbol: Symbol| if like { symbol.in_type(DType::BF16) } else { symbol };
                (0..length).for_each(|i| sorted[place(lane, i)] = typed(sorted[place(lane, i)]));
            }
        }
        Symbols::array(sorted)
    };
    Some(Symbols::from_parts((0..site.operands.len()).map(part).collect()))
}

/// Winners of bins. The fingerprint covers the rows with their indices, the rank, and the parts of the mode that bins
/// depend on.
fn binned(tracer: &Tracer, site: &Site, kind: Bins) -> Symbols {
    let choices = tracer.machine.mode.choices;
    let dims = site.dims(0);
    let width = dims.last().copied().unwrap_or(1).max(1);
    let bins = last_extent(&site.instruction.shape);
    let flush = tracer.machine.unit.flush;
    let (binning, fault) = (choices.bins, choices.fault);
    let mixer = Key::Bins { kind, rank: dims.len(), bins, binning, fault, flush }.mixer();
    let inits: Vec<Symbol> = (2..site.operands.len()).flat_map(|at| site.of(at)).copied().collect();
    let row = |at: usize| {
        let of = |operand: usize| site.of(operand)[at * width..(at + 1) * width].iter().copied();
        mixer.and_all(of(0)).and_all(of(1)).and_all(inits.iter().copied())
    };
    winners(site, site.of(0).len() / width, row)
}

fn last_extent(shape: &Shape) -> usize {
    match shape {
        Shape::Array { dims, .. } => dims.last().copied().unwrap_or(1),
        Shape::Tuple(parts) => parts.first().map_or(1, last_extent),
    }
}

/// Values and indices of the best of each row.
fn winners(site: &Site, rows: usize, row: impl Fn(usize) -> Mixer) -> Symbols {
    let best = last_extent(&site.instruction.shape);
    let rows: Vec<Mixer> = (0..rows).map(row).collect();
    let width = site.dims(0).last().copied().unwrap_or(1).max(1);
    let like: Vec<bool> = site.of(0).chunks(width).map(|row| row.iter().all(|symbol| symbol.is_bf16())).collect();
    let part = |part: usize| {
        let winners = rows.iter().zip(&like).flat_map(|(row, like)| {
            let typed = |symbol: Symbol| if *like && part == 0 { symbol.in_type(DType::BF16) } else { symbol };
            (0..best).map(move |at| typed(row.and_count(part).and_count(at).symbol()))
        });
        winners.collect::<Vec<Symbol>>()
    };
    let parts = match &site.instruction.shape {
        Shape::Tuple(parts) => parts.len(),
        Shape::Array { .. } => 1,
    };
    Symbols::from_parts((0..parts).map(|at| Symbols::array(part(at))).collect())
}

fn sort(site: &Site, dim: usize, mixer: Mixer) -> Symbols {
    let dims = site.dims(0);
    let length = dims[dim];
    let inner: usize = dims[dim + 1..].iter().product();
    let outer: usize = dims[..dim].iter().product();
    let mut sorted: Vec<Vec<Symbol>> =
        site.operands.iter().map(|operand| operand.as_array().elements.to_vec()).collect();
    for lane in 0..outer * inner {
        let first = lane / inner * length * inner + lane % inner;
        let of = |operand: usize| (0..length).map(move |i| site.of(operand)[first + i * inner]);
        let lane = (0..site.operands.len()).fold(mixer, |mixer, operand| mixer.and_all(of(operand)));
        for (part, elements) in sorted.iter_mut().enumerate() {
            for i in 0..length {
                elements[first + i * inner] = lane.and_count(part).and_count(i).symbol();
            }
        }
    }
    Symbols::from_parts(sorted.into_iter().map(Symbols::array).collect())
}
