//! Sorts and top-k: each place of a row is a function of the whole row.

use crate::ir::{ApproxTopK, Op, PartialReduce, Shape};

use super::super::evaluate::refuse;
use super::run::{Result, Site, Tracer};
use super::symbol::{Mixer, Symbol};
use super::symbols::Symbols;

pub fn rank(tracer: &Tracer, site: &Site) -> Result<Symbols> {
    let shows_nan = || {
        tracer.grounds.borrow_mut().shows_nan.insert(site.instruction.name.clone());
    };
    let mode = tracer.machine.mode;
    match &site.instruction.op {
        Op::Sort { dim, stable, to_apply } => {
            shows_nan();
            let ties = if *stable { "in order".to_string() } else { format!("{:?}", mode.chip.ties) };
            let mixer = Mixer::new(&format!("sort {ties} {}", mode.chip.flush)).and(tracer.region(*to_apply)?);
            Ok(sort(site, *dim, mixer))
        }
        Op::TopK { largest, .. } => {
            shows_nan();
            let width = site.dims(0).last().copied().unwrap_or(1).max(1);
            // A place's winner does not hang on how many are wanted.
            let mixer = Mixer::new(&format!("topk {largest}"));
            let row = |at: usize| mixer.and_all(site.of(0)[at * width..(at + 1) * width].iter().copied());
            Ok(winners(site, site.of(0).len() / width, row))
        }
        Op::ApproxTopK(ApproxTopK { k, recall_target, aggregate_to_topk, reduction_input_size_override, .. }) => {
            shows_nan();
            let mixer = format!("{k} {recall_target} {aggregate_to_topk} {reduction_input_size_override:?}");
            Ok(binned(tracer, site, &format!("approximate {} {mixer}", mode.chip.partial_reduce)))
        }
        Op::PartialReduce(PartialReduce { log2_reduction, .. }) => {
            Ok(binned(tracer, site, &format!("partial {log2_reduction}")))
        }
        other => Err(refuse(site.instruction, format!("{} ranks nothing", other.opcode()))),
    }
}

/// Of rows with indices of their own, of rank and mode what bins hang on.
fn binned(tracer: &Tracer, site: &Site, name: &str) -> Symbols {
    let choices = tracer.machine.mode.choices;
    let dims = site.dims(0);
    let width = dims.last().copied().unwrap_or(1).max(1);
    let bins = last_extent(&site.instruction.shape);
    let flush = tracer.machine.unit.flush;
    let plan = format!("{} {bins} {:?} {:?} {flush}", dims.len(), choices.bins, choices.fault);
    let mixer = Mixer::new(&format!("{name} {plan}"));
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
    let part = |part: usize| {
        let all = rows.iter().flat_map(|row| (0..best).map(move |at| row.and_count(part).and_count(at).symbol()));
        all.collect::<Vec<Symbol>>()
    };
    let like = site.instruction.shape.clone();
    let parts = match like {
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
    let mut sorted: Vec<Vec<Symbol>> = site.operands.iter().map(|operand| operand.as_array().elements.to_vec()).collect();
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
