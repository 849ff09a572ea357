//! Numbers of 64 bits as two of 32, as the TPU compiler takes them apart: integers as two halves, f64 as a pair of f32 whose
//! sum it is, complex numbers as their parts (FACTS 9.3).

use crate::ir::{Binary, Op, Shape, Unary, ValueId};
use crate::tensor::DType;

use crate::builder::fill::integer;
use crate::builder::{Emitter, Value};
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// Bits of a half.
const HALF: i64 = 32;

/// `X64Combine(real, imaginary)`, and the parts `X64SplitLow` and `X64SplitHigh` of complex numbers; `None` of other numbers.
pub fn of_complex(e: &Emitter, target: &str, operands: &[Value]) -> Option<Value> {
    match (target, operands) {
        ("X64SplitLow", [Value::Complex([real, _])]) => Some(Value::Array(*real)),
        ("X64SplitHigh", [Value::Complex([_, imaginary])]) => Some(Value::Array(*imaginary)),
        ("X64Combine", [Value::Array(real), Value::Array(imaginary)]) => {
            let are_parts = [real, imaginary].iter().all(|part| e.shape(**part).dtype() == Some(DType::F32));
            (e.instruction.shape.is_complex() && are_parts).then_some(Value::Complex([*real, *imaginary]))
        }
        _ => None,
    }
}

/// `X64Combine(low, high)`: integers of two halves; `X64Combine(leading, rest)`: f64 of two f32.
pub fn combine(e: &mut Emitter, operands: &[ValueId], claimed: &Shape) -> Result<ValueId> {
    let [low, high] = operands[..] else { return Err(e.fail("X64Combine takes two parts")) };
    let are = |e: &Emitter, known: &[DType]| {
        [low, high].iter().all(|part| e.shape(*part).dtype().is_some_and(|dtype| known.contains(&dtype)))
    };
    match claimed.dtype() {
        Some(DType::F64) if are(e, &[DType::F32]) => sum(e, [low, high], claimed),
        Some(DType::U64 | DType::S64) if are(e, &[DType::U32, DType::S32]) => joined(e, [low, high], claimed),
        _ => {
            let parts = [low, high].map(|part| e.shape(part).to_string()).join(" and ");
            let why = "X64Combine joins halves of 32 bits to an integer of 64, or two f32 to an f64";
            Err(e.fail(format!("{why}, not {parts} to {claimed}")))
        }
    }
}

/// The sum of a pair.
fn sum(e: &mut Emitter, pair: [ValueId; 2], claimed: &Shape) -> Result<ValueId> {
    let mut wide = pair;
    for part in &mut wide {
        *part = e.emit(Op::Convert, vec![*part], Some(claimed.clone()))?;
    }
    e.emit(Op::Binary(Binary::Add), wide.to_vec(), None)
}

/// Integers of two halves.
fn joined(e: &mut Emitter, [low, high]: [ValueId; 2], claimed: &Shape) -> Result<ValueId> {
    let dims = claimed.dims().to_vec();
    let mut wide = [low, high];
    for half in &mut wide {
        if e.shape(*half).dtype() == Some(DType::S32) {
            *half = e.emit(Op::BitcastConvert, vec![*half], Some(Shape::array(DType::U32, &dims)))?;
        }
        *half = e.emit(Op::Convert, vec![*half], Some(Shape::array(DType::U64, &dims)))?;
    }
    let half = integer(e, DType::U64, HALF, &dims)?;
    let upper = e.emit(Op::Binary(Binary::ShiftLeft), vec![wide[1], half], None)?;
    let both = e.emit(Op::Binary(Binary::Or), vec![upper, wide[0]], None)?;
    match claimed.dtype() {
        Some(DType::S64) => e.emit(Op::BitcastConvert, vec![both], Some(claimed.clone())),
        _ => Ok(both),
    }
}

/// `X64SplitLow` or `X64SplitHigh`: a half of each integer; of f64 the pair's leading part, or the rest.
pub fn split(e: &mut Emitter, operands: &[ValueId], is_high: bool) -> Result<ValueId> {
    let [whole] = operands[..] else { return Err(e.fail("one operand is needed")) };
    let dims = e.shape(whole).dims().to_vec();
    let whole = match e.shape(whole).dtype() {
        Some(DType::F64) => return part_of_pair(e, whole, is_high),
        Some(DType::U64) => whole,
        Some(DType::S64) => e.emit(Op::BitcastConvert, vec![whole], Some(Shape::array(DType::U64, &dims)))?,
        _ => return Err(e.fail(format!("numbers of 64 bits are taken apart, not {}", e.shape(whole)))),
    };
    let half = if is_high {
        let half = integer(e, DType::U64, HALF, &dims)?;
        e.emit(Op::Binary(Binary::ShiftRightLogical), vec![whole, half], None)?
    } else {
        let mask = integer(e, DType::U64, i64::from(u32::MAX), &dims)?;
        e.emit(Op::Binary(Binary::And), vec![whole, mask], None)?
    };
    e.emit(Op::Convert, vec![half], Some(Shape::array(DType::U32, &dims)))
}

/// The f64 rounded to f32, or that rounding's error rounded to f32: 0 beside what is not finite (XLA's `SplitF64ToF32`).
fn part_of_pair(e: &mut Emitter, whole: ValueId, is_rest: bool) -> Result<ValueId> {
    let wide = e.shape(whole).clone();
    let narrow = wide.with_dtype(DType::F32);
    // No rewrite leaves out a rounding across a barrier: the pair is made of it.
    let rounded = e.emit(Op::Convert, vec![whole], Some(narrow.clone()))?;
    let leading = e.emit(Op::OptimizationBarrier, vec![rounded], None)?;
    if !is_rest {
        return Ok(leading);
    }
    let again = e.emit(Op::Convert, vec![leading], Some(wide))?;
    let error = e.emit(Op::Binary(Binary::Subtract), vec![whole, again], None)?;
    let rest = e.emit(Op::Convert, vec![error], Some(narrow.clone()))?;
    let is_finite = e.emit(Op::Unary(Unary::IsFinite), vec![leading], None)?;
    let nothing = e.zeros(DType::F32, narrow.dims())?;
    e.emit(Op::Select, vec![is_finite, rest, nothing], None)
}
