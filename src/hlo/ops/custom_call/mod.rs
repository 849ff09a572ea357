//! Lowering of each `custom-call`, by its target.

mod call_config;
mod ragged_kernel;
mod wide;

use crate::analysis::comparator;
use crate::builder::array_operation::unary;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;
use crate::ir::{ApproxTopK, Op, PartialReduce, Shape, Unary, ValueId};

use super::product::scaled;
use super::{asynchronous, factorization};
use call_config::config;

type Result<T> = std::result::Result<T, LowerError>;

/// Targets that mark a value for the compiler or the hardware: the same value comes out (FACTS 9).
const MARKS: &[&str] = &[
    "AssumeGatherIndicesInBound",
    "GatherScatterIndicesBitpacked",
    "LayoutConstraint",
    "MoveToDevice",
    "MoveToHost",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "Sharding",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
];

/// The other targets that are known.
const KNOWN: &[&str] = &[
    "AllocateBuffer",
    "ApproxTopK",
    "Cholesky",
    "CompactWyHelper",
    "ConcatBitcast",
    "InvertDiagBlocksLowerTriangular",
    "InvertDiagBlocksUpperTriangular",
    "LuDecomposition",
    "LuDecompositionBlock",
    "LuRealDecompositionBlock",
    "PartialReduce",
    "PrepareAsyncCallDone",
    "PrepareAsyncCallStart",
    "ProductOfElementaryHouseholderReflectors",
    "Qr",
    "QrDecompositionBlock",
    "TopK",
    "TopKBatchMajorSmallK",
    "X64Combine",
    "X64SplitHigh",
    "X64SplitLow",
    "blas_*trsm",
    "lapack_*geqrf",
    "lapack_*getrf",
    "lapack_*gtsv",
    "lapack_*orgqr",
    "lapack_*ormqr",
    "lapack_*potrf",
];

/// The value of the target, if it is known.
pub fn lower(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let target = e.attributes().word("custom_call_target").unwrap_or_default();
    if let Some(value) = wide::of_complex(e, target, operands) {
        return Ok(value);
    }
    match target {
        "ConcatBitcast" => asynchronous::join(e, operands),
        // Memory for a call that runs beside other work (FACTS 9).
        "PrepareAsyncCallStart" | "PrepareAsyncCallDone" => Ok(Value::Nothing),
        _ if MARKS.contains(&target) => match operands {
            [operand] => e.each_array(operand, &mut |e, id| marked(e, target, id)),
            _ => Err(e.fail(format!("{target} takes one operand"))),
        },
        "tpu_custom_call" => match ragged_kernel::lower(e, operands)? {
            Some(value) => Ok(value),
            None => e.over_arrays(operands),
        },
        _ => match factorization::of_target(e, target, operands)? {
            Some(value) => Ok(value),
            None => e.over_arrays(operands),
        },
    }
}

/// A marked array.
fn marked(e: &mut Emitter, target: &str, id: ValueId) -> Result<ValueId> {
    let copy = e.emit(Op::Copy, vec![id], None)?;
    let claimed = e.instruction.shape.arrays() == 1;
    if claimed && !e.instruction.shape.is_complex() && e.claimed_shape()?.dims() != e.shape(id).dims() {
        let why = format!("{target} cuts an array for several devices: give the program that the compiler cut");
        return Err(e.unknown_at("custom_call_target", why));
    }
    Ok(copy)
}

/// The operation over arrays of the target, if it is known.
#[expect(clippy::too_many_lines, reason = "one arm for each target")]
pub fn over_arrays(e: &mut Emitter, operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    let target = e.attributes().word("custom_call_target").unwrap_or_default();
    match target {
        "X64Combine" => wide::combine(e, &operands, &claimed),
        "X64SplitLow" | "X64SplitHigh" => wide::split(e, &operands, target == "X64SplitHigh"),
        // Modelling choice: memory that the program is to fill holds zeros before.
        "AllocateBuffer" => {
            let Shape::Array { dtype, dims } = &claimed else {
                return Err(e.fail("AllocateBuffer gives one array of numbers"));
            };
            e.zeros(*dtype, dims)
        }
        "TopK" => {
            let Shape::Tuple(parts) = &claimed else { return Err(e.fail("TopK gives values and indices")) };
            let k = parts.first().and_then(|p| p.dims().last().copied()).unwrap_or_default();
            let largest = takes_largest(e)?;
            e.emit(Op::TopK { k, largest }, operands, Some(claimed))
        }
        "TopKBatchMajorSmallK" => largest_integers(e, operands, &claimed),
        "PartialReduce" => {
            let op = match e.attributes().find("backend_config") {
                Some(_) => {
                    let config = config(e)?;
                    PartialReduce {
                        log2_reduction: config.number("log2_reduction")? as u32,
                        reduction_dim: config.number("reduction_dim")?,
                        top_k: config.number("top_k")?,
                        recall_target: config.float("recall_target")?,
                    }
                }
                // As JAX before 0.9 writes it: the shapes tell how many elements fall into a bin.
                None => {
                    let values = operands.first().map(|values| e.shape(*values).dims()).unwrap_or_default();
                    let given = if let Shape::Tuple(parts) = &claimed { parts.first() } else { None };
                    let (Some(n), Some(bins)) = (values.last(), given.and_then(|part| part.dims().last())) else {
                        return Err(e.fail("PartialReduce gives values and indices of the bins of an array"));
                    };
                    let reduction_dim = values.len() - 1;
                    let log2_reduction = n.div_ceil((*bins).max(1)).next_power_of_two().ilog2();
                    PartialReduce { log2_reduction, reduction_dim, top_k: 0, recall_target: 0.0 }
                }
            };
            approximate(e, Op::PartialReduce(op), operands, claimed)
        }
        "ApproxTopK" => {
            let config = config(e)?;
            let whole = config.value("reduction_input_size_override").and_then(serde_json::Value::as_i64);
            let op = ApproxTopK {
                k: config.number("top_k")?,
                reduction_dim: config.number("reduction_dim")?,
                recall_target: config.float("recall_target")?,
                aggregate_to_topk: config
                    .value("aggregate_to_topk")
                    .and_then(serde_json::Value::as_bool)
                    .unwrap_or(true),
                reduction_input_size_override: whole.and_then(|n| usize::try_from(n).ok()),
            };
            approximate(e, Op::ApproxTopK(op), operands, claimed)
        }
        _ if scaled::TARGETS.contains(&target) => scaled::custom_call(e, target, operands, claimed),
        other => {
            let known: Vec<&str> = KNOWN.iter().chain(scaled::TARGETS).chain(MARKS).copied().collect();
            let why = format!(
                "custom call `{other}` is not supported; supported are {}. Cut the program there: dump the part before the call and \
                 the part behind it, which takes the call's results as arguments",
                known.join(", ")
            );
            Err(e.unknown_at("custom_call_target", why))
        }
    }
}

/// The largest integers of each row, from the largest on (FACTS 9.4). Equal integers are one value, so that no order among them
/// is asked for.
fn largest_integers(e: &mut Emitter, operands: Vec<ValueId>, claimed: &Shape) -> Result<ValueId> {
    let operand = e.single(&operands)?;
    let shape = e.shape(operand).clone();
    let dtype = shape.dtype().filter(|dtype| dtype.is_integer());
    let (Some(dtype), Some((&k, rows))) = (dtype, claimed.dims().split_last()) else {
        let why = format!("TopKBatchMajorSmallK of {shape} is not supported: it takes the integers that a key packs");
        return Err(e.unknown_at("custom_call_target", why));
    };
    if claimed.dtype() != Some(dtype) || shape.dims().split_last().is_none_or(|(n, own)| own != rows || *n < k) {
        return Err(e.fail(format!("the largest integers of {shape} are no {claimed}")));
    }
    let dim = rows.len();
    let to_apply = e.larger_first(dtype);
    let sorted = e.emit(Op::Sort { dim, stable: true, to_apply }, operands, None)?;
    let part = Op::Slice { start: vec![0; dim + 1], limit: claimed.dims().to_vec(), stride: vec![1; dim + 1] };
    e.emit(part, vec![sorted], None)
}

/// An approximate top-k of the values that its comparator puts first. The smallest values (`lax.approx_min_k`) are the opposites of the
/// largest opposites: a sign is exact, and turns every order of floats around.
fn approximate(e: &mut Emitter, op: Op, mut operands: Vec<ValueId>, claimed: Shape) -> Result<ValueId> {
    if takes_largest(e)? {
        return e.emit(op, operands, Some(claimed));
    }
    let count = operands.len();
    // Arrays stand before their inits, and values before indices.
    for at in [0, count / 2] {
        let given =
            operands.get(at).copied().ok_or_else(|| e.fail("an approximate top-k takes values and their init"))?;
        operands[at] = unary(e, Unary::Negate, given)?;
    }
    let largest = e.emit(op, operands, Some(claimed))?;
    let [values, places] = [0, 1].map(|part| e.emit(Op::GetTupleElement(part), vec![largest], None));
    let values = unary(e, Unary::Negate, values?)?;
    e.emit(Op::Tuple, vec![values, places?], None)
}

/// Whether the comparator of a custom call puts the largest values first, and not the smallest; any other is refused.
fn takes_largest(e: &mut Emitter) -> Result<bool> {
    if e.attributes().find("called_computations").is_none() {
        return Ok(true);
    }
    let region = e.region("called_computations")?;
    match comparator(e.computation(region)) {
        Some(c) if c.key == 0 => Ok(c.descending),
        _ => {
            let why = "only a comparator that takes the largest or the smallest values first is supported";
            Err(e.unknown_at("called_computations", why))
        }
    }
}
