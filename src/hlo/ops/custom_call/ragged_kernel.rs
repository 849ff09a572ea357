//! The kernels that the TPU compiler puts in the place of a `ragged-dot`: `tpu_custom_call`s of its own, which it names
//! `ragged-dot-metadata` (where the groups of rows lie) and `ragged-dot-none` (the product). They are known by these names, by
//! their operands and by their text (FACTS 9).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::ir::{Binary, DotDims, Op, Precision, ValueId};
use crate::tensor::DType;

use super::call_config::config;
use crate::builder::Emitter;
use crate::builder::Value;
use crate::builder::fill;
use crate::error::LowerError;
use crate::ops::product;

type Result<T> = std::result::Result<T, LowerError>;

/// Lowers one of the two kernels; `None` for any other.
pub fn lower(e: &mut Emitter, operands: &[Value]) -> Result<Option<Value>> {
    let name = e.attributes().op_name().unwrap_or_default();
    match name.rsplit('/').next() {
        Some("ragged-dot-metadata") => places(e, operands).map(Some),
        Some("ragged-dot-none") => rows_by_groups(e, operands).map(|id| Some(Value::Array(id))),
        _ => Ok(None),
    }
}

/// Sizes s32[g] to the rows at which groups begin, s32[g+1], the last of them where all end. The other three results say which
/// tile of rows meets which group; only the other kernel reads them.
fn places(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let [Value::Array(sizes)] = operands else { return Err(e.fail("one array is needed: the groups' sizes")) };
    let ends = product::running_sums(e, *sizes)?;
    let zero = fill::integer(e, e.shape(*sizes).element_type(), 0, &[1])?;
    let offsets = e.emit(Op::Concatenate { dim: 0 }, vec![zero, ends], None)?;
    Ok(Value::Tuple(vec![Value::Array(offsets), Value::Nothing, Value::Nothing, Value::Nothing]))
}

/// Rows [m,k] in groups, each of which meets its matrix of [g,k,n]; or, for the gradient of these matrices, the rows [m,k] of each group
/// with its rows of [m,n], summed over them. That kernel adds tile by tile to an f32 accumulator, as one dot over all rows does.
fn rows_by_groups(e: &mut Emitter, operands: &[Value]) -> Result<ValueId> {
    let wrong = || e.fail("where groups begin, rows and matrices are needed");
    let [places @ .., Value::Array(lhs), Value::Array(rhs)] = operands else { return Err(wrong()) };
    // JAX 0.6.2's libtpu hands over the number of tiles once, later ones twice.
    let array = |value: &Value| if let Value::Array(id) = value { Some(*id) } else { None };
    let offsets = places.iter().find_map(array).ok_or_else(wrong)?;
    let precision = precision(e, e.shape(*lhs).element_type())?;
    let sizes = sizes(e, offsets)?;
    let claimed = e.claimed_shape()?;
    // The masked operand is [g,m,k].
    let [lhs_contracting, rhs_contracting] = match [*lhs, *rhs].map(|id| e.shape(id).dims().len()) {
        [2, 3] => [vec![0, 2], vec![0, 1]],
        [2, 2] => [vec![1], vec![0]],
        _ => {
            return Err(e.unknown(format!(
                "rows {} and {} of a ragged dot are not supported: [m,k] and [g,k,n] or [m,n]",
                e.shape(*lhs),
                e.shape(*rhs)
            )));
        }
    };
    let dims = DotDims { lhs_contracting, rhs_contracting, ..DotDims::default() };
    product::over_groups(e, [*lhs, *rhs, sizes], 0, dims, ([precision; 2], false), claimed)
}

/// The groups' sizes: those that [`places`] was given, or else the differences of where groups begin.
fn sizes(e: &mut Emitter, offsets: ValueId) -> Result<ValueId> {
    let instruction = |id: ValueId| &e.body.instructions[id];
    if let (Op::Concatenate { .. }, [_, ends]) = (&instruction(offsets).op, &instruction(offsets).operands[..])
        && let (Op::Dot { .. }, [sizes, _]) = (&instruction(*ends).op, &instruction(*ends).operands[..])
    {
        return Ok(*sizes);
    }
    let count = e.shape(offsets).dims().iter().product::<usize>();
    let part = |start: usize| Op::Slice { start: vec![start], limit: vec![count + start - 1], stride: vec![1] };
    let ends = e.emit(part(1), vec![offsets], None)?;
    let starts = e.emit(part(0), vec![offsets], None)?;
    e.emit(Op::Binary(Binary::Subtract), vec![ends, starts], None)
}

/// Precision of the kernel's products, from its own text. The text says nothing else that a result depends on. K is one
/// block, and rows of no group stay as they are in memory (a modelling choice: zeros, as `ragged-dot` has them).
fn precision(e: &Emitter, of: DType) -> Result<Precision> {
    let config = config(e)?;
    let call = config.value("custom_call_config");
    let body = call.and_then(|call| call.get("body")).and_then(serde_json::Value::as_str).unwrap_or_default();
    let text = STANDARD.decode(body).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let [has_bf16, has_fp32] =
        ["contract_precision<bf16>", "contract_precision<fp32>"].map(|precision| text.contains(precision));
    match (has_bf16, has_fp32) {
        (true, false) => Ok(Precision::Default),
        (false, true) => Ok(Precision::Highest),
        // One pass or several is the same for numbers that are bf16 already.
        _ if of == DType::BF16 => Ok(Precision::Default),
        _ => Err(e.unknown_at("backend_config", "the kernel does not say how many bf16 passes its products take")),
    }
}
