//! Operations that apply a region or select among elements: reductions, windows, sorts, top-k.

use crate::ir::{
    ApproxTopK, Binary, Instruction, PartialReduce, Reducer, Shape, Window, approx, comparator, is_cumulative,
    movement, reducer,
};
use crate::tensor::DType;

use super::evaluate::{EvalError, Machine, unsupported};
use super::select;
use super::value::Value;
use super::vector::{self, StepRounding};

type Result<T> = std::result::Result<T, EvalError>;

/// The steps of a sum in this type: f32, or as the mode says for a bf16 sum; narrower types accumulate in f32.
fn step_of(machine: &Machine, dtype: DType) -> StepRounding {
    if dtype == DType::BF16 { machine.mode.refinements.narrow.unwrap_or_default() } else { StepRounding::F32 }
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
            let fold = |row: usize| {
                values[span(row)].iter().fold(inits[0].element(0), |total, v| {
                    super::integer::binary(binary, &total, &Value::integer(*dtype, vec![*v]))
                })
            };
            if binary == Binary::Add {
                // The everyday case (counting a mask) without a value for every element.
                let init = inits[0].integers()[0];
                let total = |row: usize| values[span(row)].iter().fold(init, |t, v| t.wrapping_add(*v));
                super::integer::convert(Value::integer(DType::S64, (0..results).map(total).collect()), *dtype)
            } else {
                let parts: Vec<Value> = (0..results).map(fold).collect();
                Value::gather(&parts).unwrap_or_else(|| Value::integer(*dtype, Vec::new()))
            }
        }
        (Some(Reducer::Binary(binary)), [Value::Pred(values)]) => {
            let init = inits[0].preds()[0];
            let fold = |row: usize| {
                values[span(row)].iter().fold(init, |t, v| match binary {
                    Binary::And | Binary::Minimum | Binary::Multiply => t & v,
                    Binary::Or | Binary::Maximum | Binary::Add => t | v,
                    _ => t ^ v,
                })
            };
            Value::pred((0..results).map(fold).collect())
        }
        (Some(kind @ (Reducer::ArgMax | Reducer::ArgMin)), [Value::Float(dtype, values), Value::Integer(_, ids)])
            if (0..results).all(|row| ids[span(row)].is_sorted_by(|a, b| a < b)) =>
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
            let mut columns: Vec<Vec<Value>> = vec![Vec::new(); count];
            for row in 0..results {
                let state = inits.iter().map(|init| init.element(0)).collect();
                let elements = span(row).map(|at| rows.iter().map(|r| r.element(at)).collect());
                let state = fold_region(machine, to_apply, state, elements)?;
                columns.iter_mut().zip(state).for_each(|(column, value)| column.push(value));
            }
            let gathered: Option<Vec<Value>> = columns.iter().map(|c| Value::gather(c)).collect();
            let mut parts = gathered.ok_or_else(|| unsupported(instruction, "an empty result"))?;
            if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) }
        }
    })
}

/// Applies a region to a state and one element after the other.
fn fold_region(
    machine: &Machine,
    to_apply: usize,
    mut state: Vec<Value>,
    elements: impl Iterator<Item = Vec<Value>>,
) -> Result<Vec<Value>> {
    for element in elements {
        let mut arguments = state;
        arguments.extend(element);
        state = match machine.call(to_apply, arguments)? {
            Value::Tuple(parts) => parts,
            single => vec![single],
        };
    }
    Ok(state)
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
    window: &Window,
    to_apply: usize,
    operands: &[Value],
    shape: &Shape,
    out_dims: &[usize],
) -> Result<Value> {
    let known = reducer(&machine.program.computations[to_apply]);
    let dims = shape.dims();
    if let (Some(Reducer::Binary(Binary::Add)), Some(dim), Value::Float(dtype, values)) =
        (known, is_cumulative(window, dims), &operands[0])
        && dim + 1 == dims.len()
    {
        let order = machine.mode.refinements.scan.unwrap_or(machine.mode.chip.scan);
        // A running mass in bf16 is stored in bf16 at every step.
        let step = if *dtype == DType::BF16 { StepRounding::Bf16 } else { StepRounding::F32 };
        let mut out = Vec::with_capacity(values.len());
        for row in values.chunks(dims[dim].max(1)) {
            out.extend(vector::running_sum(row, order, step, &machine.unit));
        }
        vector::round_to(*dtype, &mut out);
        return Ok(Value::float(*dtype, out));
    }
    let strides = movement::row_major(dims);
    let mut groups: Vec<Vec<usize>> = Vec::with_capacity(out_dims.iter().product());
    movement::for_each_index(out_dims, |_, index| {
        let mut group = vec![0isize];
        for (d, w) in window.0.iter().enumerate() {
            let reach: Vec<isize> = (0..w.size)
                .filter_map(|i| {
                    let at = (index[d] * w.stride + i * w.window_dilation) as i64 - w.pad_low;
                    let base = w.base_dilation as i64;
                    let inside = at >= 0 && at % base == 0 && at / base < dims[d] as i64;
                    inside.then(|| (at / base) as isize * strides[d])
                })
                .collect();
            group = group.iter().flat_map(|g| reach.iter().map(move |r| g + r)).collect();
        }
        groups.push(group.into_iter().map(|at| at as usize).collect());
    });
    let mut results = Vec::with_capacity(groups.len());
    for group in groups {
        let elements = group.into_iter().map(|at| vec![operands[0].element(at)]);
        results.extend(fold_region(machine, to_apply, vec![operands[1].element(0)], elements)?);
    }
    Ok(Value::gather(&results).unwrap_or_else(|| operands[0].clone()))
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

/// Insertion sort by any comparator: stable, and it ends whatever the comparator answers.
fn sort_by_region(
    machine: &Machine,
    to_apply: usize,
    operands: &[Value],
    length: usize,
    position: &dyn Fn(usize) -> usize,
) -> Result<Vec<usize>> {
    let mut order: Vec<usize> = Vec::with_capacity(length);
    for item in 0..length {
        let mut slot = order.len();
        while slot > 0 {
            let sides = [position(item), position(order[slot - 1])];
            let arguments = operands.iter().flat_map(|o| sides.map(|at| o.element(at))).collect();
            if !machine.call(to_apply, arguments)?.preds().first().copied().unwrap_or(false) {
                break;
            }
            slot -= 1;
        }
        order.insert(slot, item);
    }
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
    let binned = binned(machine, values, ids, width, bins, log2_reduction);
    let (mut best, mut at) = (Vec::new(), Vec::new());
    for (values, ids) in binned {
        let (values, ids) = if attributes.aggregate_to_topk || !machine.mode.chip.partial_reduce {
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
    let width = shape.dims().last().copied().unwrap_or(1).max(1);
    let (best, at): (Vec<_>, Vec<_>) =
        binned(machine, values, ids, width, bins, attributes.log2_reduction).into_iter().unzip();
    Ok(Value::Tuple(vec![Value::float(*dtype, best.concat()), Value::integer(DType::S32, at.concat())]))
}

/// Each row's bins with their winners.
fn binned(
    machine: &Machine,
    values: &[f32],
    ids: &[i64],
    width: usize,
    bins: usize,
    log2_reduction: u32,
) -> Vec<(Vec<f32>, Vec<i64>)> {
    let r = &machine.mode.refinements;
    let reduction = select::Reduction {
        bins,
        log2_reduction,
        binning: r.bins.unwrap_or_default(),
        flush: machine.unit.flush,
        fault: r.fault.unwrap_or_default(),
    };
    select::partial_reduce_batch(values, ids, width, &reduction)
}
