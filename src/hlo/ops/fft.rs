//! `fft` as products with matrices of cosines and sines, in the precision `highest`: the definition of the discrete Fourier
//! transform, not the order of operations of a fast one (FACTS 3.7).

use std::sync::Arc;

use crate::ir::{Binary, DotDims, Fft, FftKind, LibraryFunction, Mark, Op, Precision, Shape, Turns, ValueId};
use crate::tensor::{DType, Data, Tensor};

use crate::builder::Emitter;
use crate::builder::Value;
use crate::builder::fill::number;
use crate::builder::library_call;
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// The longest dim that is transformed: its matrices have as many rows and columns.
const LENGTH: usize = 4096;

/// The real and the imaginary part.
type Parts = [ValueId; 2];

/// The transform over the last dims, one for each of `fft_length`.
pub fn lower(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let lengths = e.attributes().numbers("fft_length")?;
    for length in &lengths {
        if *length > LENGTH {
            let why = format!("a length of {length}: up to {LENGTH} are supported; give the result as an argument");
            return Err(e.unknown_at("fft_length", why));
        }
    }
    let word = e.attributes().word("fft_type").unwrap_or_default();
    let kind = match word {
        "FFT" => FftKind::Fft,
        "IFFT" => FftKind::Ifft,
        "RFFT" => FftKind::Rfft,
        "IRFFT" => FftKind::Irfft,
        _ => {
            let why = format!("unknown fft_type `{word}`; known are FFT, IFFT, RFFT and IRFFT");
            return Err(e.unknown_at("fft_type", why));
        }
    };
    if let Some(zeros) = of_nothing(e, &lengths)? {
        return Ok(zeros);
    }
    let first = match operands {
        [Value::Complex([one, _])] if kind != FftKind::Rfft => *one,
        [Value::Array(one)] if kind == FftKind::Rfft && e.shape(*one).dtype().is_some_and(DType::is_float) => *one,
        _ => {
            let why = format!("{word} takes one array, real for RFFT and complex for the others");
            return Err(e.refuse("fft_type", why));
        }
    };
    let dims = e.shape(first).dims().to_vec();
    let Some((outer, last)) = dims.len().checked_sub(lengths.len()).zip(lengths.last()) else {
        return Err(e.refuse("fft_length", format!("{} lengths for an array of {} dims", lengths.len(), dims.len())));
    };
    let mut needed = [&dims[..outer], &lengths[..]].concat();
    if kind == FftKind::Irfft {
        needed[dims.len() - 1] = last / 2 + 1;
    }
    if needed != dims {
        return Err(e.refuse("fft_length", format!("the operand has the dims {dims:?}, but {needed:?} are needed")));
    }
    let fft = Fft { kind, lengths };
    library_call::call(e, LibraryFunction::Fft(fft.clone()), operands, |e, operands| define(e, &fft, operands))
}

/// The zeros that a transform of no elements gives, and one without results; `None` of any other. Source: openxla/xla,
/// `hlo_evaluator.cc` (`FftTransform`); FACTS 7.6.
fn of_nothing(e: &mut Emitter, lengths: &[usize]) -> Result<Option<Value>> {
    let is_complex = e.instruction.shape.is_complex();
    let claimed = if is_complex { e.of_one_part().claimed_shape()? } else { e.claimed_shape()? };
    if !lengths.contains(&0) && claimed.elements() > 0 {
        return Ok(None);
    }
    let zeros = e.zeros(claimed.element_type(), claimed.dims())?;
    Ok(Some(if is_complex { Value::Complex([zeros; 2]) } else { Value::Array(zeros) }))
}

/// The definition, for operands that fit.
fn define(e: &mut Emitter, fft: &Fft, operands: &[Value]) -> Result<Value> {
    let (kind, lengths) = (fft.kind, &fft.lengths);
    let mut arrays = Vec::new();
    operands.iter().for_each(|operand| operand.leaves(&mut arrays));
    let along = arrays.first().map_or(0, |id| e.shape(*id).dims().len() - 1);
    let outer = along + 1 - lengths.len();
    let value = match operands {
        [Value::Array(real)] => {
            let mut parts = halved(e, *real, along)?;
            for dim in (outer..along).rev() {
                parts = whole(e, parts, dim, false)?;
            }
            Value::Complex(parts)
        }
        [Value::Complex(parts)] => {
            let (mut parts, inverse) = (*parts, kind != FftKind::Fft);
            for dim in (outer..along + usize::from(kind != FftKind::Irfft)).rev() {
                parts = whole(e, parts, dim, inverse)?;
            }
            let count = lengths.iter().map(|length| *length as f64).product();
            match kind {
                FftKind::Fft => Value::Complex(parts),
                FftKind::Ifft => Value::Complex([scaled(e, parts[0], count)?, scaled(e, parts[1], count)?]),
                _ => {
                    let real = doubled(e, parts, along, lengths[lengths.len() - 1])?;
                    Value::Array(scaled(e, real, count)?)
                }
            }
        }
        _ => return Err(e.fail("one operand is needed")),
    };
    Ok(value)
}

/// `x / count`, element by element.
fn scaled(e: &mut Emitter, x: ValueId, count: f64) -> Result<ValueId> {
    let count = number(e, x, count)?;
    e.emit(Op::Binary(Binary::Divide), vec![x, count], None)
}

/// A matrix of cosines or sines, each in f64 and rounded to the type of `like`: over the real numbers it is what it stands for.
fn matrix(e: &mut Emitter, like: ValueId, turns: Turns) -> Result<ValueId> {
    let dtype = e.shape(like).element_type();
    let [rows, columns] = turns.dims;
    let of_turn = of_turn(turns.parts);
    let number = |place: usize| {
        let (part, factor) = turns.at(place / columns, place % columns);
        // No zero is negative.
        f64::from(factor) * of_turn[part][usize::from(turns.is_sine)] + 0.0
    };
    let numbers = (0..rows * columns).map(number).collect();
    let matrix = e.emit(Op::Constant(Tensor::new(&[rows, columns], Data::F64(numbers))), vec![], None)?;
    e.body.instructions[matrix].mark = Some(Mark::Turns(Arc::new(turns)));
    if dtype == DType::F64 {
        return Ok(matrix);
    }
    e.emit(Op::Convert, vec![matrix], Some(Shape::array(dtype, &[rows, columns])))
}

/// The sums along a dim of an array's elements times a matrix's columns.
fn product(e: &mut Emitter, x: ValueId, dim: usize, matrix: ValueId) -> Result<ValueId> {
    let rank = e.shape(x).dims().len();
    let dims = DotDims { lhs_contracting: vec![dim], rhs_contracting: vec![0], ..DotDims::default() };
    let result = e.emit(Op::Dot { dims, precision: [Precision::Highest; 2] }, vec![x, matrix], None)?;
    if dim + 1 == rank {
        return Ok(result);
    }
    // The matrix's columns come last.
    let permutation = (0..dim).chain([rank - 1]).chain(dim..rank - 1).collect();
    e.emit(Op::Transpose { permutation }, vec![result], None)
}

/// `(a + bi) e^(-2 pi i j k / n)`, or of the opposite sign, summed over `j`.
fn whole(e: &mut Emitter, [a, b]: Parts, dim: usize, inverse: bool) -> Result<Parts> {
    let n = e.shape(a).dims()[dim];
    let cosines = Turns { dims: [n, n], parts: n, is_sine: false, first_row: 0, factor: 1, spares_ends: false };
    let cosine = matrix(e, a, cosines.clone())?;
    let sine = matrix(e, a, Turns { is_sine: true, ..cosines })?;
    let [ac, bs] = [product(e, a, dim, cosine)?, product(e, b, dim, sine)?];
    let [bc, a_sine] = [product(e, b, dim, cosine)?, product(e, a, dim, sine)?];
    let of_real = if inverse { Binary::Subtract } else { Binary::Add };
    let of_imaginary = if inverse { Binary::Add } else { Binary::Subtract };
    Ok([e.emit(Op::Binary(of_real), vec![ac, bs], None)?, e.emit(Op::Binary(of_imaginary), vec![bc, a_sine], None)?])
}

/// The first `n / 2 + 1` results of a real array, of which the others are the conjugates.
fn halved(e: &mut Emitter, a: ValueId, dim: usize) -> Result<Parts> {
    let n = e.shape(a).dims()[dim];
    let cosines = Turns { dims: [n, n / 2 + 1], parts: n, is_sine: false, first_row: 0, factor: 1, spares_ends: false };
    let cosine = matrix(e, a, cosines.clone())?;
    let sine = matrix(e, a, Turns { is_sine: true, factor: -1, ..cosines })?;
    Ok([product(e, a, dim, cosine)?, product(e, a, dim, sine)?])
}

/// The `n` real results, times `n`, of an array's first half: what its conjugates add doubles all but its ends, whose
/// imaginary parts do not count.
fn doubled(e: &mut Emitter, [a, b]: Parts, dim: usize, n: usize) -> Result<ValueId> {
    let cosines = Turns { dims: [n / 2 + 1, n], parts: n, is_sine: false, first_row: 0, factor: 2, spares_ends: true };
    let cosine = matrix(e, a, cosines.clone())?;
    let real = product(e, a, dim, cosine)?;
    let inner = (n - 1) / 2;
    if inner == 0 {
        return Ok(real);
    }
    let dims = e.shape(b).dims().to_vec();
    let (mut start, mut limit) = (vec![0; dims.len()], dims.clone());
    (start[dim], limit[dim]) = (1, inner + 1);
    let b = e.emit(Op::Slice { start, limit, stride: vec![1; dims.len()] }, vec![b], None)?;
    let sine = matrix(e, b, Turns { dims: [inner, n], is_sine: true, first_row: 1, spares_ends: false, ..cosines })?;
    let imaginary = product(e, b, dim, sine)?;
    e.emit(Op::Binary(Binary::Subtract), vec![real, imaginary], None)
}

/// Cosine and sine of `r / n` of a turn for each `r` below `n`: within 2^-52 of themselves, exact at quarter turns.
fn of_turn(n: usize) -> Vec<[f64; 2]> {
    let of = |r: usize| {
        // Eighths of a turn that lie behind, and what is left of the one before or behind, from 0 to n.
        let (octant, rest) = (8 * r / n, 8 * r % n);
        let from_axis = if octant % 2 == 0 { rest } else { n - rest };
        let half_turns = from_axis as f64 / (4 * n) as f64;
        let (cosine, sine) = (core_math::cospi(half_turns), core_math::sinpi(half_turns));
        match octant {
            0 => [cosine, sine],
            1 => [sine, cosine],
            2 => [-sine, cosine],
            3 => [-cosine, sine],
            4 => [-cosine, -sine],
            5 => [-sine, -cosine],
            6 => [sine, -cosine],
            _ => [cosine, -sine],
        }
        // No zero is negative.
        .map(|x| x + 0.0)
    };
    (0..n).map(of).collect()
}
