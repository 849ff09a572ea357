//! Reductions, windows and scatters.

use crate::analysis::{Cumulative, Reducer, cumulative};
use crate::ir::{Binary, Computation, Instruction, ScatterDims, Shape, Window, movement};
use crate::num::bf16_nearest;
use crate::tensor::DType;

use super::blocks::{Scan, TreeReduction};
use super::eval_error::{EvalError, refuse};
use super::evaluate::Machine;
use super::number::Scalar;
use super::operand::Operand;
use super::scalar::Region;
use super::sum::memory_order;
use super::sum_code::{SumCodes, Terms};
use super::summation::Summation;
use super::value::Value;
use super::vector::{self, StepRounding, SumOrder};
use super::{arrange, integer, select};

type Result<T> = std::result::Result<T, EvalError>;

#[expect(clippy::too_many_lines, reason = "one decision over the terms of a sum")]
pub(super) fn reduce(
    machine: &Machine,
    instruction: &Instruction,
    reduced: &[usize],
    (to_apply, sums): (usize, &SumCodes),
    operands: Vec<Operand>,
    shapes: &[&Shape],
) -> Result<Value> {
    let count = operands.len() / 2;
    let dims = shapes[0].dims();
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).collect();
    // The order of a sum follows memory: the order in which the attribute lists dims changes no loop of XLA.
    let reduced: &[usize] = &memory_order(dims, reduced);
    let order: Vec<usize> = kept.iter().chain(reduced).copied().collect();
    let width: usize = reduced.iter().map(|d| dims[*d]).product();
    let results: usize = kept.iter().map(|d| dims[*d]).product();
    let span = |row: usize| row * width..(row + 1) * width;
    let unit = machine.unit;
    let known = machine.prepared.regions.reducer(to_apply).or_else(|| {
        let floats: Vec<&Value> = operands.iter().map(Operand::elements).collect();
        let region = &machine.program.computations[to_apply];
        let picking = machine.prepared.regions.reducer_but_for_rounding(to_apply).filter(|reducer| reducer.picks());
        // A compiler writes a bf16 reduction in f32, with roundings on the way.
        picking.filter(|_| rounding_keeps(region, &floats))
    });
    let is_float = shapes.first().is_some_and(|shape| shape.element_type().is_float());
    let one_row = is_float && order.is_sorted() && operands.get(1).is_some_and(|o| o.is_one_row(width));
    // Only positions in their order are looked up in one row for all; of f64 each index is a term of its own.
    let looks_up = one_row
        && count == 2
        && matches!(known, Some(Reducer::ArgMax | Reducer::ArgMin))
        && matches!(operands.first().map(Operand::elements), Some(Value::Float(..)))
        && operands.get(1).is_some_and(|ids| ascends(ids.elements(), width));
    let mut whole = operands.into_iter().zip(shapes).enumerate().map(|(i, (operand, shape))| match i {
        1 if looks_up => operand.elements().clone(),
        _ => operand.into_whole(shape.elements()),
    });
    // Reduced dims go last, so that each result's elements lie together.
    let permute = |value: &Value| arrange::permute(value, dims, &order);
    let rows: Vec<Value> = whole.by_ref().take(count).map(|value| permute(&value)).collect();
    let inits: Vec<Value> = whole.collect();
    let extents: Vec<usize> = reduced.iter().map(|d| dims[*d]).collect();
    let summation = |dtype: DType, terms: Terms| {
        // An addition to a zero does not round, so that a sum from zero has one rounding fewer.
        let from_zero = inits[0].f32s()[0] == 0.0;
        Summation::over(machine.mode, sums, (dims, reduced), (dtype, terms), from_zero)
    };
    Ok(match (known, &rows[..]) {
        (Some(Reducer::Binary(Binary::Add)), [Value::Float(dtype, values)]) => {
            let sums = summation(*dtype, Terms::Numbers).of_numbers(values, results, inits[0].f32s()[0]);
            Value::float(*dtype, sums)
        }
        (Some(Reducer::Binary(Binary::Add)), [Value::Products(products)]) if width > 0 => {
            let terms = if products.single().is_some() { Terms::Products } else { Terms::Several };
            Value::float(DType::F32, summation(DType::F32, terms).of_flight(products, inits[0].f32s()[0]))
        }
        (Some(Reducer::Binary(binary @ (Binary::Maximum | Binary::Minimum))), [Value::Float(dtype, values)]) => {
            let init = inits[0].f32s()[0];
            let values: &[f32] = values;
            let extreme = |row| vector::extreme(&values[span(row)], init, binary == Binary::Maximum, &unit);
            Value::float(*dtype, vector::over_rows(results, width, extreme))
        }
        (Some(Reducer::Binary(binary)), [Value::Integer(dtype, values)]) => {
            let init = inits[0].integers()[0];
            // Integers wrap, and every operation here is associative on them: the order decides nothing.
            let fold = |row| values[span(row)].iter().fold(init, |t, v| integer::apply(binary, *dtype, t, *v));
            Value::integer(*dtype, (0..results).map(fold).collect())
        }
        (Some(Reducer::Binary(binary)), [Value::Pred(values)]) => {
            let init = inits[0].preds()[0];
            let fold = |row| values[span(row)].iter().fold(init, |t, v| integer::apply_pred(binary, t, *v));
            Value::pred((0..results).map(fold).collect())
        }
        (
            Some(kind @ (Reducer::ArgMax | Reducer::ArgMin)),
            [Value::Float(dtype, values), Value::Integer(index_type, ids)],
        ) if ascends(&rows[1], width) => {
            let (values, ids): (&[f32], &[i64]) = (values, ids);
            let (init, init_at) = (inits[0].f32s()[0], inits[1].integers()[0]);
            let largest = kind == Reducer::ArgMax;
            let best = vector::over_rows(results, width, |row| {
                let (value, position) = select::argmax(&values[span(row)], unit.flush, largest);
                // One row of indices may serve every row of values.
                let at = ids[(row * width + position) % ids.len()];
                // Only a row of nothing but the init loses to it, at the init's index.
                (value, if value == init && init_at < at { init_at } else { at })
            });
            let (best, at) = best.into_iter().unzip();
            Value::Tuple(vec![Value::float(*dtype, best), Value::integer(*index_type, at)])
        }
        (Some(Reducer::GreaterKeep), [Value::Float(dtype, values), Value::Integer(index_type, ids)]) => {
            let init = (inits[0].f32s()[0], inits[1].integers()[0]);
            let row = |row| select::greater_keep(&values[span(row)], init, &ids[span(row)], machine.unit.flush);
            let (best, at) = (0..results).map(row).unzip();
            Value::Tuple(vec![Value::float(*dtype, best), Value::integer(*index_type, at)])
        }
        (_, [values @ (Value::Float(..) | Value::Double(_))]) if machine.mode.choices.reduce == SumOrder::Tree32 => {
            let init = inits[0].scalar(0).ok_or_else(|| refuse(instruction, "an init that is no scalar"))?;
            let mut region = Region::new(machine, to_apply)?;
            let mut apply = |a, b| region.apply([a, b]).next().unwrap_or(a);
            let tree = TreeReduction::new(&extents);
            let reductions = (0..results).map(|row| {
                let row: Vec<Scalar> = span(row).filter_map(|at| values.scalar(at)).collect();
                tree.reduce(&row, init, |window| window.iter().copied().reduce(&mut apply).unwrap_or(init))
            });
            let reductions: Vec<Scalar> = reductions.collect();
            Value::of_scalars(values.element_type(), &reductions)
        }
        _ => {
            let init: Option<Vec<Scalar>> = inits.iter().map(|init| init.scalar(0)).collect();
            // The region may do anything, so that its order of calls counts: from the init, one element after the
            // other.
            let init = init.ok_or_else(|| refuse(instruction, "an init that is no scalar"))?;
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
            let value = |(c, o): (&Vec<Scalar>, &Value)| Value::of_scalars(o.element_type(), c);
            Value::from_parts(columns.iter().zip(&rows).map(value).collect())
        }
    })
}

/// Whether indices ascend along each row of so many, as those of an argmax do.
fn ascends(ids: &Value, width: usize) -> bool {
    let row = |ids: &[i64]| ids.is_sorted_by(|a, b| a < b);
    matches!(ids, Value::Integer(dtype, ids) if *dtype != DType::U64 && width > 0 && ids.chunks(width).all(row))
}

/// Updates in their own order, one after the other (FACTS 3.11).
pub(super) fn scatter(
    machine: &Machine,
    dims: &ScatterDims,
    to_apply: usize,
    operands: &[Value],
    shapes: &[&Shape],
) -> Result<Value> {
    let count = operands.len() / 2;
    let (arrays, updates) = (&operands[..count], &operands[count + 1..]);
    let starts: Vec<i64> = operands[count].starts().collect();
    let starts_dims = shapes[count].dims();
    let positions = movement::scatter_positions(dims, shapes[0].dims(), &starts, starts_dims, shapes[count + 1].dims());
    let scalars = |value: &Value| (0..value.len()).filter_map(|at| value.scalar(at)).collect::<Vec<Scalar>>();
    let mut columns: Vec<Vec<Scalar>> = arrays.iter().map(scalars).collect();
    let updates: Vec<Vec<Scalar>> = updates.iter().map(scalars).collect();
    let mut region = Region::new(machine, to_apply)?;
    for (from, at) in positions.iter().enumerate() {
        let Some(at) = *at else { continue };
        let current = columns.iter().map(|column| column[at]);
        let arguments: Vec<Scalar> = current.chain(updates.iter().map(|update| update[from])).collect();
        columns.iter_mut().zip(region.apply(arguments)).for_each(|(column, value)| column[at] = value);
    }
    let value = |(column, array): (&Vec<Scalar>, &Value)| Value::of_scalars(array.element_type(), column);
    Ok(Value::from_parts(columns.iter().zip(arrays).map(value).collect()))
}

/// Whether rounding to bf16, if the region rounds at all, changes none of the values.
pub(super) fn rounding_keeps(region: &Computation, values: &[&Value]) -> bool {
    let narrow =
        |shape: &Shape| !matches!(shape.dtype(), Some(d) if d.is_float() && d != DType::BF16 && d != DType::F32);
    let kept = |value: &&Value| match value {
        Value::Float(_, values) => values.iter().all(|v| v.is_nan() || bf16_nearest(*v) == *v),
        Value::Double(_) | Value::Products(_) => false,
        _ => true,
    };
    region.instructions.iter().all(|i| narrow(&i.shape)) && values.iter().all(kept)
}

pub(super) fn reduce_window(
    machine: &Machine,
    instruction: &Instruction,
    window: &Window,
    (to_apply, sums): (usize, &SumCodes),
    operands: &[Value],
    shape: &Shape,
) -> Result<Value> {
    let dims = shape.dims();
    let Some(Cumulative { dim, reversed }) = cumulative(window, dims) else {
        let adds = machine.prepared.regions.reducer(to_apply) == Some(Reducer::Binary(Binary::Add));
        let of_windows =
            |from_zero| Summation::of_windows(machine.mode, sums, (instruction, window), from_zero).filter(|_| adds);
        if let [Value::Float(DType::F32, values), init] = operands
            && let Some(summation) = of_windows(init.f32s()[0] == 0.0)
        {
            let terms: Vec<f32> = terms(instruction, window, (values, dims)).collect();
            let sums = summation.of_numbers(&terms, instruction.shape.elements(), init.f32s()[0]);
            return Ok(Value::float(DType::F32, sums));
        }
        return windows(machine, instruction, window, to_apply, operands, dims);
    };
    // The last dim is the one that sums run along.
    let mut last: Vec<usize> = (0..dims.len()).filter(|d| *d != dim).collect();
    last.push(dim);
    let rows = arrange::permute(&operands[0], dims, &last);
    let length = dims[dim].max(1);
    let known = machine.prepared.regions.reducer(to_apply);
    // Sums from -0 may be -0, and those of the unit's loop begin with +0.
    let zero = matches!(operands[1].scalar(0), Some(Scalar::Float(zero)) if zero.to_bits() == 0);
    let order = machine.mode.choices.scan;
    let running = match (known, &rows) {
        (Some(Reducer::Binary(Binary::Add)), Value::Float(dtype, values)) if zero && !reversed => {
            // A running mass in bf16 is stored in bf16 at every step.
            let mut sums = vector::running_sums(values, length, order, StepRounding::own(*dtype), &machine.unit);
            vector::in_chunks(&mut sums, |_, chunk| vector::round_to(*dtype, chunk));
            Value::float(*dtype, sums)
        }
        _ => {
            let init = operands[1].scalar(0).ok_or_else(|| refuse(instruction, "an init that is no scalar"))?;
            let mut region = Region::new(machine, to_apply)?;
            let apply = |a, b| region.apply([a, b]).next().unwrap_or(a);
            let mut scan = Scan { apply, init, reversed };
            let mut results = Vec::with_capacity(rows.len());
            for start in (0..rows.len()).step_by(length) {
                let row: Vec<Scalar> = (start..start + length).filter_map(|at| rows.scalar(at)).collect();
                results.extend(scan.row(&row, order));
            }
            Value::of_scalars(rows.element_type(), &results)
        }
    };
    let moved: Vec<usize> = last.iter().map(|d| dims[*d]).collect();
    let back: Vec<usize> = (0..dims.len()).map(|d| last.iter().position(|l| *l == d).unwrap_or(d)).collect();
    Ok(arrange::permute(&running, &moved, &back))
}

/// The elements of each window, all of whose places are elements.
fn terms(instruction: &Instruction, window: &Window, (values, dims): (&[f32], &[usize])) -> impl Iterator<Item = f32> {
    let strides = movement::row_major(dims);
    let extents: Vec<usize> = window.0.iter().map(|w| w.size).collect();
    let mut terms = Vec::with_capacity(values.len());
    movement::for_each_index(instruction.shape.dims(), |_, out| {
        movement::for_each_index(&extents, |_, inside| {
            terms.extend(window.element(dims, &strides, out, inside).map(|at| values[at]));
        });
    });
    terms.into_iter()
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
    let init = operands[1].scalar(0).ok_or_else(|| refuse(instruction, "an init that is no scalar"))?;
    let mut region = Region::new(machine, to_apply)?;
    let strides = movement::row_major(dims);
    let extents: Vec<usize> = window.0.iter().map(|w| w.size).collect();
    let mut results = Vec::with_capacity(instruction.shape.elements());
    movement::for_each_index(instruction.shape.dims(), |_, out| {
        let mut state = init;
        movement::for_each_index(&extents, |_, inside| {
            let shown = window.element(dims, &strides, out, inside);
            if let Some(element) = shown.and_then(|at| operands[0].scalar(at)) {
                state = region.apply([state, element]).next().unwrap_or(state);
            }
        });
        results.push(state);
    });
    Ok(Value::of_scalars(operands[0].element_type(), &results))
}
