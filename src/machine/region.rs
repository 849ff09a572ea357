//! Operations that apply a region or select among elements: reductions, windows, sorts, top-k.

use crate::ir::{
    ApproxTopK, Binary, Instruction, PartialReduce, Reducer, Shape, Window, approx, comparator, is_cumulative,
    movement, reducer,
};
use crate::tensor::DType;

use super::evaluate::{EvalError, Machine, unsupported};
use super::scalar::{Region, Scalar};
use super::value::Value;
use super::vector::{self, StepRounding};
use super::{integer, select};

type Result<T> = std::result::Result<T, EvalError>;

/// The steps of a sum in this type: f32, or as the mode says for a bf16 sum; narrower types accumulate in f32.
fn step_of(machine: &Machine, dtype: DType) -> StepRounding {
    if dtype == DType::BF16 {
        machine.mode.refinements.narrow.unwrap_or(machine.mode.chip.narrow)
    } else {
        StepRounding::F32
    }
}

pub(super) fn reduce(
    machine: &Machine,
    instruction: &Instruction,
    reduced: &[usize],
    to_apply: usize,
    operands: Vec<Value>,
    shapes: &[&Shape],
) -> Result<Value> {
    let count = operands.len() / 2;
    let dims = shapes[0].dims();
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).collect();
    let order: Vec<usize> = kept.iter().chain(reduced).copied().collect();
    // Reduced dims go last, so that each result's elements lie together.
    let rows: Vec<Value> = operands[..count].iter().map(|o| permuted(o, dims, &order)).collect();
    let width: usize = reduced.iter().map(|d| dims[*d]).product();
    let results: usize = kept.iter().map(|d| dims[*d]).product();
    let span = |row: usize| row * width..(row + 1) * width;
    let inits = &operands[count..];
    let known = reducer(&machine.program.computations[to_apply]);
    Ok(match (known, &rows[..]) {
        (Some(Reducer::Binary(Binary::Add)), [Value::Float(dtype, values)]) => {
            let sum_order = machine.mode.refinements.reduce.unwrap_or(machine.mode.chip.sum);
            let step = step_of(machine, *dtype);
            let init = inits[0].f32s()[0];
            let total = |row| {
                let sum = vector::sum(&values[span(row)], sum_order, step, &machine.unit);
                if init == 0.0 { sum } else { vector::binary(Binary::Add, &[init], &[sum], &machine.unit)[0] }
            };
            let mut out: Vec<f32> = (0..results).map(total).collect();
            vector::round_to(*dtype, &mut out);
            Value::float(*dtype, out)
        }
        (Some(Reducer::Binary(binary @ (Binary::Maximum | Binary::Minimum))), [Value::Float(dtype, values)]) => {
            let init = inits[0].f32s()[0];
            let extreme = |row| vector::extreme(&values[span(row)], init, binary == Binary::Maximum, &machine.unit);
            Value::float(*dtype, (0..results).map(extreme).collect())
        }
        (Some(Reducer::Binary(binary)), [Value::Integer(dtype, values)]) => {
            let init = inits[0].integers()[0];
            let fold = |row| values[span(row)].iter().fold(init, |t, v| integer::apply(binary, *dtype, t, *v));
            Value::integer(*dtype, (0..results).map(fold).collect())
        }
        (Some(Reducer::Binary(binary)), [Value::Pred(values)]) => {
            let init = inits[0].preds()[0];
            let fold = |row| values[span(row)].iter().fold(init, |t, v| integer::apply_pred(binary, t, *v));
            Value::pred((0..results).map(fold).collect())
        }
        (Some(kind @ (Reducer::ArgMax | Reducer::ArgMin)), [Value::Float(dtype, values), Value::Integer(_, ids)])
            if width > 0 && (0..results).all(|row| ids[span(row)].is_sorted_by(|a, b| a < b)) =>
        {
            let mut best = Vec::with_capacity(results);
            let mut at = Vec::with_capacity(results);
            let largest = kind == Reducer::ArgMax;
            for row in 0..results {
                let (value, position) = select::argmax(&values[span(row)], machine.unit.flush, largest);
                let init = inits[0].f32s()[0];
                // Only a row of nothing but the init loses to it, at the init's index.
                let all_init = value == init && inits[1].integers()[0] < ids[row * width + position];
                best.push(value);
                at.push(if all_init { inits[1].integers()[0] } else { ids[row * width + position] });
            }
            Value::Tuple(vec![Value::float(*dtype, best), Value::integer(DType::S32, at)])
        }
        (Some(Reducer::GreaterKeep), [Value::Float(dtype, values), Value::Integer(index_type, ids)]) => {
            let init = (inits[0].f32s()[0], inits[1].integers()[0]);
            let row = |row| select::greater_keep(&values[span(row)], init, &ids[span(row)], machine.unit.flush);
            let (best, at) = (0..results).map(row).unzip();
            Value::Tuple(vec![Value::float(*dtype, best), Value::integer(*index_type, at)])
        }
        _ => {
            let init: Option<Vec<Scalar>> = inits.iter().map(|init| init.scalar(0)).collect();
            let init = init.ok_or_else(|| unsupported(instruction, "an init that is no scalar"))?;
            let mut region = Region::new(machine, to_apply)?;
            let mut columns: Vec<Vec<Scalar>> = vec![Vec::with_capacity(results); count];
            for row in 0..results {
                let mut state = init.clone();
                for at in span(row) {
                    let arguments = state.iter().copied().chain(rows.iter().filter_map(|r| r.scalar(at)));
                    state = region.apply(arguments).collect();
                }
                columns.iter_mut().zip(state).for_each(|(column, value)| column.push(value));
            }
            let value = |(c, o): (&Vec<Scalar>, &Value)| Value::of_scalars(o.dtype().unwrap_or(DType::Pred), c);
            let mut parts: Vec<Value> = columns.iter().zip(&rows).map(value).collect();
            if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) }
        }
    })
}

fn permuted(value: &Value, dims: &[usize], order: &[usize]) -> Value {
    if order.is_sorted() {
        return value.clone();
    }
    let mut positions = vec![0usize; dims.iter().product()];
    let permuted: Vec<usize> = order.iter().map(|d| dims[*d]).collect();
    let strides = movement::row_major(dims);
    movement::for_each_index(&permuted, |flat, index| {
        positions[flat] = index.iter().zip(order).map(|(i, d)| i * strides[*d] as usize).sum();
    });
    value.pick(positions.into_iter())
}

pub(super) fn reduce_window(
    machine: &Machine,
    instruction: &Instruction,
    window: &Window,
    to_apply: usize,
    operands: &[Value],
    shape: &Shape,
) -> Result<Value> {
    let dims = shape.dims();
    let Some(dim) = is_cumulative(window, dims) else {
        return windows(machine, instruction, window, to_apply, operands, dims);
    };
    // The last dim is the one that sums run along.
    let mut last: Vec<usize> = (0..dims.len()).filter(|d| *d != dim).collect();
    last.push(dim);
    let rows = permuted(&operands[0], dims, &last);
    let length = dims[dim].max(1);
    let known = reducer(&machine.program.computations[to_apply]);
    let zero = matches!(operands[1].scalar(0), Some(Scalar::Float(0.0)));
    let running = match (known, &rows) {
        (Some(Reducer::Binary(Binary::Add)), Value::Float(dtype, values)) if zero => {
            let order = machine.mode.refinements.scan.unwrap_or(machine.mode.chip.scan);
            // A running mass in bf16 is stored in bf16 at every step.
            let step = if *dtype == DType::BF16 { StepRounding::Bf16 } else { StepRounding::F32 };
            let sums = values.chunks(length).flat_map(|row| vector::running_sum(row, order, step, &machine.unit));
            let mut sums: Vec<f32> = sums.collect();
            vector::round_to(*dtype, &mut sums);
            Value::float(*dtype, sums)
        }
        _ => {
            // A window from the init over all elements so far is the window before it and one element more.
            let init = operands[1].scalar(0).ok_or_else(|| unsupported(instruction, "an init that is no scalar"))?;
            let mut region = Region::new(machine, to_apply)?;
            let mut state = init;
            let mut results = Vec::with_capacity(rows.len());
            for at in 0..rows.len() {
                let before = if at % length == 0 { init } else { state };
                state = region.apply([Some(before), rows.scalar(at)].into_iter().flatten()).next().unwrap_or(before);
                results.push(state);
            }
            Value::of_scalars(rows.dtype().unwrap_or(DType::Pred), &results)
        }
    };
    let moved: Vec<usize> = last.iter().map(|d| dims[*d]).collect();
    let back: Vec<usize> = (0..dims.len()).map(|d| last.iter().position(|l| *l == d).unwrap_or(d)).collect();
    Ok(permuted(&running, &moved, &back))
}

/// Each window from the init, its elements in row-major order; positions outside the operand are skipped, as XLA does.
fn windows(
    machine: &Machine,
    instruction: &Instruction,
    window: &Window,
    to_apply: usize,
    operands: &[Value],
    dims: &[usize],
) -> Result<Value> {
    let init = operands[1].scalar(0).ok_or_else(|| unsupported(instruction, "an init that is no scalar"))?;
    let mut region = Region::new(machine, to_apply)?;
    let strides = movement::row_major(dims);
    let extents: Vec<usize> = window.0.iter().map(|w| w.size).collect();
    let mut results = Vec::with_capacity(instruction.shape.elements());
    movement::for_each_index(instruction.shape.dims(), |_, out| {
        let mut state = init;
        movement::for_each_index(&extents, |_, inside| {
            let mut at = 0;
            for (d, w) in window.0.iter().enumerate() {
                let position = (out[d] * w.stride + inside[d] * w.window_dilation) as i64 - w.pad_low;
                let dilation = w.base_dilation as i64;
                if position < 0 || position % dilation != 0 || position / dilation >= dims[d] as i64 {
                    return;
                }
                at += (position / dilation) as isize * strides[d];
            }
            if let Some(element) = operands[0].scalar(at as usize) {
                state = region.apply([state, element]).next().unwrap_or(state);
            }
        });
        results.push(state);
    });
    Ok(Value::of_scalars(operands[0].dtype().unwrap_or(DType::Pred), &results))
}

/// Sorts stably. An unstable sort is modelled as a stable one: which index wins a tie is not pinned by the HLO.
pub(super) fn sort(
    machine: &Machine,
    dim: usize,
    to_apply: usize,
    operands: Vec<Value>,
    shapes: &[&Shape],
) -> Result<Value> {
    let dims = shapes[0].dims();
    let inner: usize = dims[dim + 1..].iter().product();
    let length = dims[dim];
    let total: usize = dims.iter().product();
    let known = comparator(&machine.program.computations[to_apply]);
    let mut source = vec![0usize; total];
    for lane in 0..total / length.max(1) {
        let start = lane / inner * inner * length + lane % inner;
        let position = |i: usize| start + i * inner;
        let order = match known.and_then(|c| operands.get(c.key).map(|key| (c, key))) {
            Some((comparator, Value::Float(_, keys))) => {
                let row: Vec<f32> = (0..length).map(|i| keys[position(i)]).collect();
                select::sort_indices(&row, comparator, machine.unit.flush)
            }
            _ => sort_by_region(machine, to_apply, &operands, length, &position)?,
        };
        for (i, from) in order.into_iter().enumerate() {
            source[position(i)] = position(from);
        }
    }
    let mut sorted: Vec<Value> = operands.iter().map(|o| o.pick(source.iter().copied())).collect();
    Ok(if sorted.len() == 1 { sorted.remove(0) } else { Value::Tuple(sorted) })
}

/// Merge sort by any comparator: stable, and it ends whatever the comparator answers.
fn sort_by_region(
    machine: &Machine,
    to_apply: usize,
    operands: &[Value],
    length: usize,
    position: &dyn Fn(usize) -> usize,
) -> Result<Vec<usize>> {
    let mut region = Region::new(machine, to_apply)?;
    let mut order: Vec<usize> = (0..length).collect();
    select::merge_sort(&mut order, |a, b| {
        let sides = [position(a), position(b)];
        let arguments = operands.iter().flat_map(|o| sides.into_iter().filter_map(|at| o.scalar(at)));
        matches!(region.apply(arguments).next(), Some(Scalar::Pred(true)))
    });
    Ok(order)
}

pub(super) fn top_k(
    instruction: &Instruction,
    operand: &Value,
    shape: &Shape,
    k: usize,
    largest: bool,
) -> Result<Value> {
    let Value::Float(_, values) = operand else {
        return Err(unsupported(instruction, "topk takes floats up to f32"));
    };
    let width = shape.dims().last().copied().unwrap_or(1).max(1);
    let mut source = Vec::with_capacity(values.len() / width * k);
    let mut indices = Vec::with_capacity(source.capacity());
    for (row, values) in values.chunks(width).enumerate() {
        for at in select::top_k(values, k, largest) {
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
        return Err(unsupported(instruction, "ApproxTopK takes floats with integer indices"));
    };
    let width = shape.dims().last().copied().unwrap_or(1).max(1);
    let size = match &instruction.shape {
        Shape::Tuple(parts) => parts.first().and_then(|p| p.dims().last().copied()).unwrap_or(attributes.k),
        Shape::Array { .. } => attributes.k,
    };
    let flush = machine.unit.flush;
    let (bins, log2_reduction) = if machine.mode.chip.partial_reduce {
        let (bins, log2) = approx::output_size(
            width,
            shape.dims().len(),
            attributes.k,
            attributes.recall_target,
            false,
            attributes.reduction_input_size_override,
        )
        .map_err(|why| unsupported(instruction, why))?;
        (bins, log2.unwrap_or(0))
    } else {
        // Off TPUs an exact sort stands in for it (FACTS 5.1).
        (width, 0)
    };
    let binned = binned(machine, values, ids, shape, bins, log2_reduction);
    let greatest = attributes.aggregate_to_topk && attributes.k == 1;
    let (mut best, mut at) = (Vec::new(), Vec::new());
    for (values, ids) in binned {
        let (values, ids) = if !machine.mode.chip.partial_reduce && !greatest {
            // XLA:CPU compiles it to a custom call `TopK`, which orders bits as lax.top_k does: a NaN comes first.
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
        return Err(unsupported(instruction, "PartialReduce takes floats with integer indices"));
    };
    let Shape::Tuple(parts) = &instruction.shape else {
        return Err(unsupported(instruction, "PartialReduce gives values and indices"));
    };
    let bins = parts.first().and_then(|p| p.dims().last().copied()).unwrap_or(0);
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
    let r = &machine.mode.refinements;
    let width = shape.dims().last().copied().unwrap_or(1).max(1);
    let reduction = select::Reduction {
        bins,
        tiling: approx::tiling(shape.dims().len()),
        log2_reduction,
        binning: r.bins.unwrap_or_default(),
        flush: machine.unit.flush,
        fault: r.fault.unwrap_or_default(),
    };
    select::partial_reduce_batch(values, ids, width, &reduction)
}
