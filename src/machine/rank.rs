//! Operations that select among elements: sorts and top-k, exact and approximate.

use std::ops::Range;

use crate::analysis::Comparator;
use crate::ir::{ApproxTopK, ComputationId, Instruction, PartialReduce, Shape, approx};
use crate::tensor::DType;

use super::arrange;
use super::backend::Ties;
use super::eval_error::{EvalError, refuse};
use super::evaluate::Machine;
use super::number::Scalar;
use super::operand::Operand;
use super::reduce::rounding_keeps;
use super::refinement::Choices;
use super::scalar::Region;
use super::select;
use super::value::Value;
use super::vector;

type Result<T> = std::result::Result<T, EvalError>;

/// Comparator of a sort's region, if a stable sort of these rows by its key gives the region's order.
fn known_comparator(machine: &Machine, to_apply: ComputationId, rows: &[Value], length: usize) -> Option<Comparator> {
    // A compiler that sorts bf16 writes the comparator in f32 with roundings: they change nothing if all keys are bf16 already.
    let kept = |c: &Comparator| {
        rows.get(c.key).is_some_and(|keys| rounding_keeps(&machine.program.computations[to_apply], &[keys]))
    };
    let rounded = || machine.prepared.regions.comparator_but_for_rounding(to_apply).filter(kept);
    let found = machine.prepared.regions.comparator(to_apply).or_else(rounded)?;
    // Ties go to the lower of these integers: to the first, where they ascend.
    let ascending = |ties: usize| match rows.get(ties) {
        Some(Value::Integer(_, values)) => values.chunks(length.max(1)).all(|row| row.is_sorted_by(|a, b| a < b)),
        _ => false,
    };
    found.ties.is_none_or(ascending).then_some(found)
}

/// Sorts; where the program does not ask for a stable sort, equal elements come to lie as the chip's own sort has them.
pub(super) fn sort(
    machine: &Machine,
    dim: usize,
    stable: bool,
    to_apply: usize,
    operands: Vec<Operand>,
    shapes: &[&Shape],
) -> Result<Value> {
    let dims = shapes[0].dims();
    let length = dims[dim].max(1);
    // The sorted dim goes last, so that each row's elements lie together.
    let mut last: Vec<usize> = (0..dims.len()).filter(|d| *d != dim).collect();
    last.push(dim);
    let whole = operands.into_iter().zip(shapes).map(|(operand, shape)| match operand.is_one_row(length) {
        // The same row for all, such as an iota, is read as it is.
        true if last.is_sorted() => operand.elements().clone(),
        _ => arrange::permute(&operand.into_whole(shape.elements()), dims, &last),
    });
    let rows: Vec<Value> = whole.collect();
    let count = dims.iter().product::<usize>() / length;
    // Programs that ask for no stable sort see what the backend's sort does with ties.
    let ties = if stable { Ties::InOrder } else { machine.mode.chip.ties() };
    let known = known_comparator(machine, to_apply, &rows, length);
    let orders = match known.and_then(|c| rows.get(c.key).map(|key| (c, key))) {
        Some((comparator, Value::Float(_, keys))) => {
            let (keys, flush): (&[f32], bool) = (keys, machine.unit.flush);
            vector::over_rows(count, length, |row| {
                let start = row * length % keys.len();
                select::sort_indices(&keys[start..start + length], comparator, flush, ties)
            })
        }
        // Any other comparator, also one that is no order, is asked pair by pair.
        _ => (0..count)
            .map(|row| sort_by_region(machine, to_apply, &rows, row * length..(row + 1) * length, ties))
            .collect::<Result<_>>()?,
    };
    let moved: Vec<usize> = last.iter().map(|d| dims[*d]).collect();
    let back: Vec<usize> = (0..dims.len()).map(|d| last.iter().position(|l| *l == d).unwrap_or(d)).collect();
    let sorted: Vec<Value> = rows.iter().map(|r| arrange::permute(&r.pick_in_rows(&orders), &moved, &back)).collect();
    Ok(Value::from_parts(sorted))
}

/// The order of a row by any comparator.
fn sort_by_region(
    machine: &Machine,
    to_apply: usize,
    rows: &[Value],
    row: Range<usize>,
    ties: Ties,
) -> Result<Vec<u32>> {
    let mut region = Region::new(machine, to_apply)?;
    let mut order: Vec<usize> = (0..row.len()).collect();
    select::sort_by(ties, &mut order, |a, b| {
        let sides = [row.start + a, row.start + b];
        let arguments = rows.iter().flat_map(|r| sides.into_iter().filter_map(|at| r.scalar(at % r.len())));
        matches!(region.apply(arguments).next(), Some(Scalar::Pred(true)))
    });
    Ok(order.into_iter().map(|at| at as u32).collect())
}

pub(super) fn top_k(
    instruction: &Instruction,
    operand: &Value,
    shape: &Shape,
    k: usize,
    largest: bool,
) -> Result<Value> {
    let width = shape.dims().last().copied().unwrap_or(1).max(1);
    let mut source = Vec::with_capacity(operand.len() / width * k);
    let mut indices = Vec::with_capacity(source.capacity());
    let of_row = |row: usize| row * width..(row + 1) * width;
    let rows = match operand {
        Value::Float(_, values) => {
            let all: &[f32] = values;
            vector::over_rows(all.len() / width, width, |row| select::top_k(&all[of_row(row)], k, largest))
        }
        Value::Double(values) => {
            let all: &[f64] = values;
            vector::over_rows(all.len() / width, width, |row| select::top_k_wide(&all[of_row(row)], k, largest))
        }
        Value::Integer(dtype, values) => {
            let (all, is_unsigned): (&[i64], bool) = (values, *dtype == DType::U64);
            vector::over_rows(all.len() / width, width, |row| {
                select::top_k_of_integers(&all[of_row(row)], k, largest, is_unsigned)
            })
        }
        _ => return Err(refuse(instruction, "topk takes numbers")),
    };
    for (row, best) in rows.into_iter().enumerate() {
        for at in best {
            indices.push(at as i64);
            source.push(row * width + at);
        }
    }
    Ok(Value::Tuple(vec![operand.pick(source.into_iter()), Value::integer(DType::S32, indices)]))
}

pub(super) fn approx_top_k(
    machine: &Machine,
    instruction: &Instruction,
    attributes: &ApproxTopK,
    operands: &[Value],
    shape: &Shape,
) -> Result<Value> {
    let (Value::Float(dtype, values), Value::Integer(_, ids)) = (&operands[0], &operands[1]) else {
        return Err(refuse(instruction, "ApproxTopK takes floats with integer indices"));
    };
    let width = shape.dims().last().copied().unwrap_or(1).max(1);
    // The compiler may have made the output larger than k: its shape decides (FACTS 5.2).
    let size = match &instruction.shape {
        Shape::Tuple(parts) => parts.first().and_then(|p| p.dims().last().copied()).unwrap_or(attributes.k),
        Shape::Array { .. } => attributes.k,
    };
    let flush = machine.unit.flush;
    let (bins, log2_reduction) = if machine.mode.chip.partial_reduce {
        approx::output_size(
            width,
            shape.dims().len(),
            attributes.k,
            attributes.recall_target,
            attributes.reduction_input_size_override,
        )
        .map_err(|error| refuse(instruction, error.to_string()))?
    } else {
        // Off TPUs an exact sort stands in for it (FACTS 5.1).
        (width, 0)
    };
    let binned = binned(machine, values, ids, shape, bins, log2_reduction);
    // For k = 1 the program's own reducer stands there, in which the last of equal values wins (FACTS 5.1).
    let greatest = attributes.aggregate_to_topk && attributes.k == 1;
    let (mut best, mut at) = (Vec::new(), Vec::new());
    for (values, ids) in binned {
        let (values, ids) = if !machine.mode.chip.partial_reduce && !greatest {
            // There it is compiled to a custom call `TopK`, which orders bits as lax.top_k does: a NaN comes first.
            select::top_k(&values, size, true).into_iter().map(|i| (values[i], ids[i])).unzip()
        } else if attributes.aggregate_to_topk {
            select::aggregate(&values, &ids, attributes.k, size, flush)
        } else {
            (values, ids)
        };
        best.extend(values);
        at.extend(ids);
    }
    Ok(Value::Tuple(vec![Value::float(*dtype, best), Value::integer(DType::S32, at)]))
}

pub(super) fn partial_reduce(
    machine: &Machine,
    instruction: &Instruction,
    attributes: &PartialReduce,
    operands: &[Value],
    shape: &Shape,
) -> Result<Value> {
    let (Value::Float(dtype, values), Value::Integer(_, ids)) = (&operands[0], &operands[1]) else {
        return Err(refuse(instruction, "PartialReduce takes floats with integer indices"));
    };
    let bins = match &instruction.shape {
        Shape::Tuple(parts) => parts.first().and_then(|part| part.dims().last().copied()),
        Shape::Array { .. } => None,
    };
    let bins = bins.ok_or_else(|| refuse(instruction, "PartialReduce gives values and indices"))?;
    let (best, at): (Vec<_>, Vec<_>) =
        binned(machine, values, ids, shape, bins, attributes.log2_reduction).into_iter().unzip();
    Ok(Value::Tuple(vec![Value::float(*dtype, best.concat()), Value::integer(DType::S32, at.concat())]))
}

/// Each row's bins with their winners.
fn binned(
    machine: &Machine,
    values: &[f32],
    ids: &[i64],
    shape: &Shape,
    bins: usize,
    log2_reduction: u32,
) -> Vec<(Vec<f32>, Vec<i64>)> {
    let Choices { bins: binning, fault, .. } = machine.mode.choices;
    let width = shape.dims().last().copied().unwrap_or(1).max(1);
    let reduction = select::Reduction {
        bins,
        tiling: approx::tiling(shape.dims().len()),
        log2_reduction,
        binning,
        flush: machine.unit.flush,
        fault,
    };
    select::partial_reduce_batch(values, ids, width, &reduction)
}
