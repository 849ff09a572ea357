//! `cholesky`, `triangular-solve`, the custom calls that they become and those of other decompositions, as arithmetic.
//!
//! Modelling choice: the textbook's algorithms without blocks, each column or row from those before it, products added up as
//! the machine adds up a reduction (Golub and Van Loan, Matrix Computations, 4th edition, algorithms 4.2.1 and 3.1.1).
//! TPUs take blocks, so that last bits differ; so does LAPACK, which a machine that has it follows.

mod lu;
mod qr;
mod rows;
mod tridiagonal;

use crate::ir::{Binary, Compare, Decomposition, LibraryFunction, Op, Shape, TriangularSystem, Unary, ValueId};
use crate::tensor::DType;

use crate::builder::Emitter;
use crate::builder::Value;
use crate::builder::array_operation::{binary, compare};
use crate::builder::fill::integer;
use crate::builder::library_call;
use crate::error::LowerError;
use crate::opcode;
use qr::SignedZero;

type Result<T> = std::result::Result<T, LowerError>;

/// Rows of a matrix, at most: each is some ten operations.
const ROWS: usize = 1024;

/// Lowers an opcode of its own.
pub fn lower(e: &mut Emitter, decomposition: opcode::Decomposition, operands: &[ValueId]) -> Result<ValueId> {
    match decomposition {
        opcode::Decomposition::Cholesky => {
            let is_lower = e.attributes().flag("lower")?;
            cholesky(e, e.single(operands)?, is_lower)
        }
        opcode::Decomposition::TriangularSolve => triangular_solve(e, operands),
    }
}

/// The value of a custom call, if its target is one of these.
#[expect(clippy::too_many_lines, reason = "one arm for each target")]
pub fn of_target(e: &mut Emitter, target: &str, operands: &[Value]) -> Result<Option<Value>> {
    let lapack =
        target.strip_prefix("lapack_").or(target.strip_prefix("blas_")).map(|name| name.trim_end_matches("_ffi"));
    let arrays: Vec<ValueId> =
        operands.iter().filter_map(|operand| if let Value::Array(id) = operand { Some(*id) } else { None }).collect();
    let function = match (target, lapack) {
        (
            "Cholesky"
            | "CompactWyHelper"
            | "InvertDiagBlocksLowerTriangular"
            | "InvertDiagBlocksUpperTriangular"
            | "LuDecomposition"
            | "LuDecompositionBlock"
            | "LuRealDecompositionBlock"
            | "ProductOfElementaryHouseholderReflectors"
            | "Qr"
            | "QrDecompositionBlock",
            _,
        ) => target,
        (_, Some("spotrf" | "dpotrf")) if target.ends_with("_ffi") => "potrf",
        (_, Some("strsm" | "dtrsm")) if target.ends_with("_ffi") => "trsm",
        (_, Some("sgetrf" | "dgetrf")) if target.ends_with("_ffi") => "getrf",
        (_, Some("sgeqrf" | "dgeqrf")) if target.ends_with("_ffi") => "geqrf",
        (_, Some("sorgqr" | "dorgqr")) if target.ends_with("_ffi") => "orgqr",
        (_, Some("sormqr" | "dormqr")) if target.ends_with("_ffi") => "ormqr",
        (_, Some("sgtsv" | "dgtsv")) if target.ends_with("_ffi") => "gtsv",
        _ => return Ok(None),
    };
    let tuple = |parts: &[ValueId]| Value::Tuple(parts.iter().map(|part| Value::Array(*part)).collect());
    Ok(Some(match (function, &arrays[..]) {
        ("Cholesky", [a]) => Value::Array(cholesky(e, *a, true)?),
        ("potrf", [a]) => {
            let is_lower = letter(e, "uplo")? == 'L';
            let define = |e: &mut Emitter, operands: &[Value]| {
                let [Value::Array(a)] = operands else { return Err(e.fail("one matrix is needed")) };
                let factor = cholesky(e, *a, is_lower)?;
                Ok(Value::Tuple(vec![Value::Array(factor), Value::Array(first_failure(e, factor)?)]))
            };
            match is_lower {
                true => library_call::call(e, LibraryFunction::Cholesky, &[Value::Array(*a)], define)?,
                false => define(e, &[Value::Array(*a)])?,
            }
        }
        ("trsm", [a, b]) => {
            let system = TriangularSystem {
                is_left: letter(e, "side")? == 'L',
                is_lower: letter(e, "uplo")? == 'L',
                is_transposed: letter(e, "trans_x")? != 'N',
                has_ones: letter(e, "diag")? == 'U',
            };
            let operands = [Value::Array(*a), Value::Array(*b)];
            library_call::call(e, LibraryFunction::TriangularSystem(system), &operands, |e, operands| match operands {
                [Value::Array(a), Value::Array(b)] => Ok(Value::Array(solve(e, system, *a, *b)?)),
                _ => Err(e.fail("a matrix and right-hand sides are needed")),
            })?
        }
        ("InvertDiagBlocksLowerTriangular" | "InvertDiagBlocksUpperTriangular", [a]) => {
            let shape = e.shape(*a).clone();
            let (_, rows) = square(e, *a)?;
            let [row, column] = rows_and_columns(e, rows)?;
            let is_diagonal = compare(e, Compare::Eq, row, column)?;
            let ones =
                e.emit(Op::Convert, vec![is_diagonal], Some(Shape::array(shape.element_type(), &[rows, rows])))?;
            let rank = shape.dims().len();
            let identity = e.emit(Op::Broadcast { dims: vec![rank - 2, rank - 1] }, vec![ones], Some(shape))?;
            let is_lower = function == "InvertDiagBlocksLowerTriangular";
            let system = TriangularSystem { is_left: true, is_lower, is_transposed: false, has_ones: false };
            Value::Array(solve(e, system, *a, identity)?)
        }
        ("LuDecomposition" | "LuDecompositionBlock" | "LuRealDecompositionBlock", [a]) => {
            let lu = lu::decompose(e, *a)?;
            tuple(&[lu.packed, lu.pivots, lu.permutation])
        }
        ("getrf", [_]) => in_lapack(e, Decomposition::Lu, &arrays, |e, arrays| {
            let lu = lu::decompose(e, arrays[0])?;
            // LAPACK counts from one.
            let dims = e.shape(lu.pivots).dims().to_vec();
            let one = integer(e, DType::S32, 1, &dims)?;
            let pivots = binary(e, Binary::Add, lu.pivots, one)?;
            Ok(vec![lu.packed, pivots, lu.info])
        })?,
        ("CompactWyHelper", [a]) => Value::Array(qr::compact_wy(e, *a)?),
        ("Qr" | "QrDecompositionBlock", [a]) => tuple(&qr::decompose(e, *a, SignedZero(false))?),
        ("geqrf", [_]) => in_lapack(e, Decomposition::Qr, &arrays, |e, arrays| {
            Ok(qr::decompose(e, arrays[0], SignedZero(true))?.to_vec())
        })?,
        ("ProductOfElementaryHouseholderReflectors", [a, taus]) => Value::Array(qr::product(e, *a, *taus)?),
        ("orgqr", [_, _]) => in_lapack(e, Decomposition::Reflectors, &arrays, |e, arrays| {
            Ok(vec![qr::product(e, arrays[0], arrays[1])?])
        })?,
        ("gtsv", &[below, on, above, sides]) => tuple(&tridiagonal::solve(e, [below, on, above, sides])?),
        ("ormqr", [_, _, _]) => {
            let (is_left, is_transposed) = (is(e, "left")?, is(e, "transpose")?);
            in_lapack(e, Decomposition::Multiplication { is_left, is_transposed }, &arrays, |e, arrays| {
                Ok(vec![qr::times(e, is_left, is_transposed, [arrays[0], arrays[1], arrays[2]])?])
            })?
        }
        _ => return Err(e.unknown(format!("{target} takes real matrices only, one to factor or two to solve"))),
    }))
}

/// A call of LAPACK, beside what it means.
fn in_lapack(
    e: &mut Emitter,
    function: Decomposition,
    arrays: &[ValueId],
    define: impl FnOnce(&mut Emitter, &[ValueId]) -> Result<Vec<ValueId>>,
) -> Result<Value> {
    let operands: Vec<Value> = arrays.iter().map(|id| Value::Array(*id)).collect();
    library_call::call(e, LibraryFunction::Decomposition(function), &operands, |e, operands| {
        let mut arrays = Vec::new();
        operands.iter().for_each(|operand| operand.leaves(&mut arrays));
        Ok(Value::of_parts(define(e, &arrays)?.into_iter().map(Value::Array).collect()))
    })
}

/// `uplo = 76 : ui8` of `backend_config`: a character by its code.
fn letter(e: &Emitter, name: &str) -> Result<char> {
    setting(e, name, "CODE : ui8", |value| value.split(':').next()?.trim().parse::<u8>().ok().map(char::from))
}

/// `left = true` of `backend_config`.
fn is(e: &Emitter, name: &str) -> Result<bool> {
    setting(e, name, "BOOLEAN", |value| value.trim().parse().ok())
}

/// Value of a name in `backend_config`.
fn setting<T>(e: &Emitter, name: &str, form: &str, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    let config = e.attributes().inside_braces("backend_config")?.unwrap_or_default();
    let found = config.split(',').find_map(|field| {
        let (key, value) = field.split_once('=')?;
        if key.trim() == name { read(value) } else { None }
    });
    let why = || {
        let hint = "as XLA prints it; dumps of older versions before optimization leave it out";
        e.unknown_at("backend_config", format!("backend_config must say `{name} = {form}`, {hint}"))
    };
    found.ok_or_else(why)
}

/// `triangular-solve`.
fn triangular_solve(e: &mut Emitter, operands: &[ValueId]) -> Result<ValueId> {
    let [a, b] = operands[..] else { return Err(e.fail("a matrix and right-hand sides are needed")) };
    let attributes = e.attributes();
    let is_transposed = match attributes.word("transpose_a") {
        None | Some("NO_TRANSPOSE") => false,
        // What is solved for here is real.
        Some("TRANSPOSE" | "ADJOINT") => true,
        _ => return Err(e.refuse("transpose_a", "transpose_a is NO_TRANSPOSE, TRANSPOSE or ADJOINT")),
    };
    let system = TriangularSystem {
        is_left: attributes.flag("left_side")?,
        is_lower: attributes.flag("lower")?,
        is_transposed,
        has_ones: attributes.flag("unit_diagonal")?,
    };
    solve(e, system, a, b)
}

/// The dims before a matrix' own two, and its rows; it must be square.
fn square(e: &Emitter, a: ValueId) -> Result<(Vec<usize>, usize)> {
    let shape = e.shape(a);
    match shape.dims() {
        [batch @ .., rows, columns] if rows == columns && shape.dtype().is_some_and(DType::is_float) => {
            if *rows > ROWS {
                return Err(e.unknown(format!("a matrix of {ROWS} rows at most is supported, not {shape}")));
            }
            Ok((batch.to_vec(), *rows))
        }
        _ => Err(e.fail(format!("square matrices of floats are needed, not {shape}"))),
    }
}

/// The number of each element's row and of its column.
fn rows_and_columns(e: &mut Emitter, rows: usize) -> Result<[ValueId; 2]> {
    let shape = Shape::array(DType::S32, &[rows, rows]);
    let row = e.emit(Op::Iota { dim: 0 }, vec![], Some(shape.clone()))?;
    Ok([row, e.emit(Op::Iota { dim: 1 }, vec![], Some(shape))?])
}

/// A matrix' rows as its columns.
fn transpose(e: &mut Emitter, a: ValueId) -> Result<ValueId> {
    let rank = e.shape(a).dims().len();
    let mut permutation: Vec<usize> = (0..rank).collect();
    permutation.swap(rank - 2, rank - 1);
    e.emit(Op::Transpose { permutation }, vec![a], None)
}

/// A block of each matrix: rows and columns from, to.
fn block(e: &mut Emitter, a: ValueId, rows: [usize; 2], columns: [usize; 2]) -> Result<ValueId> {
    let dims = e.shape(a).dims().to_vec();
    let rank = dims.len();
    let (mut start, mut limit) = (vec![0; rank], dims);
    (start[rank - 2], limit[rank - 2]) = (rows[0], rows[1]);
    (start[rank - 1], limit[rank - 1]) = (columns[0], columns[1]);
    e.emit(Op::Slice { start, limit, stride: vec![1; rank] }, vec![a], None)
}

/// An array with one element along a dim, spread along it to `like`.
fn spread(e: &mut Emitter, x: ValueId, along: usize, like: &[usize]) -> Result<ValueId> {
    let dtype = e.shape(x).element_type();
    let kept: Vec<usize> = (0..like.len()).filter(|dim| *dim != along).collect();
    let dims: Vec<usize> = kept.iter().map(|dim| like[*dim]).collect();
    let flat = e.emit(Op::Reshape, vec![x], Some(Shape::array(dtype, &dims)))?;
    e.emit(Op::Broadcast { dims: kept }, vec![flat], Some(Shape::array(dtype, like)))
}

/// The sums along a dim, which stays with one element.
fn sums(e: &mut Emitter, x: ValueId, along: usize) -> Result<ValueId> {
    let (dtype, mut dims) = (e.shape(x).element_type(), e.shape(x).dims().to_vec());
    let (zero, to_apply) = (e.zero(dtype)?, e.adder(dtype));
    let sum = e.emit(Op::Reduce { dims: vec![along], to_apply }, vec![x, zero], None)?;
    dims[along] = 1;
    e.emit(Op::Reshape, vec![sum], Some(Shape::array(dtype, &dims)))
}

/// The factor, with zeros in its other half; of a matrix only the half with its name is read. A matrix that is not positive
/// definite gives NaN from the column on that shows it.
fn cholesky(e: &mut Emitter, a: ValueId, is_lower: bool) -> Result<ValueId> {
    let (batch, rows) = square(e, a)?;
    let (dtype, rank) = (e.shape(a).element_type(), batch.len() + 2);
    let a = if is_lower { a } else { transpose(e, a)? };
    let zero = e.zero(dtype)?;
    let mut factor: Option<ValueId> = None;
    for column in 0..rows {
        let mut below = block(e, a, [column, rows], [column, column + 1])?;
        if let Some(factor) = factor {
            let before = block(e, factor, [column, rows], [0, column])?;
            let row = block(e, factor, [column, column + 1], [0, column])?;
            let dims = e.shape(before).dims().to_vec();
            let row = spread(e, row, rank - 2, &dims)?;
            let products = binary(e, Binary::Multiply, before, row)?;
            let sum = sums(e, products, rank - 1)?;
            below = binary(e, Binary::Subtract, below, sum)?;
        }
        let square = block(e, below, [0, 1], [0, 1])?;
        let pivot = e.emit(Op::Unary(Unary::Sqrt), vec![square], None)?;
        let mut own = pivot;
        if column + 1 < rows {
            let rest = block(e, below, [1, rows - column], [0, 1])?;
            let dims = e.shape(rest).dims().to_vec();
            let divisor = spread(e, pivot, rank - 2, &dims)?;
            let rest = binary(e, Binary::Divide, rest, divisor)?;
            own = e.emit(Op::Concatenate { dim: rank - 2 }, vec![pivot, rest], None)?;
        }
        let mut low = vec![0; rank];
        low[rank - 2] = column as i64;
        own = e.emit(Op::Pad { low, high: vec![0; rank], interior: vec![0; rank] }, vec![own, zero], None)?;
        factor = Some(match factor {
            Some(factor) => e.emit(Op::Concatenate { dim: rank - 1 }, vec![factor, own], None)?,
            None => own,
        });
    }
    match factor {
        Some(factor) if is_lower => Ok(factor),
        Some(factor) => transpose(e, factor),
        None => Ok(a),
    }
}

/// LAPACK's `info`: the first column, from one, whose pivot is no positive number; zero if there is none.
fn first_failure(e: &mut Emitter, factor: ValueId) -> Result<ValueId> {
    let (batch, rows) = square(e, factor)?;
    let mut info: Option<ValueId> = None;
    for column in (0..rows).rev() {
        let pivot = block(e, factor, [column, column + 1], [column, column + 1])?;
        let pivot = e.emit(Op::Reshape, vec![pivot], Some(Shape::array(e.shape(factor).element_type(), &batch)))?;
        let is_number = compare(e, Compare::Eq, pivot, pivot)?;
        let number = integer(e, DType::S32, column as i64 + 1, &batch)?;
        let others = match info {
            Some(others) => others,
            None => integer(e, DType::S32, 0, &batch)?,
        };
        info = Some(e.emit(Op::Select, vec![is_number, others, number], None)?);
    }
    match info {
        Some(info) => Ok(info),
        None => integer(e, DType::S32, 0, &batch),
    }
}

/// The unknowns, one row after the other.
fn solve(e: &mut Emitter, system: TriangularSystem, a: ValueId, b: ValueId) -> Result<ValueId> {
    let (batch, rows) = square(e, a)?;
    let rank = batch.len() + 2;
    let of_sides = e.shape(b).dims();
    let side = if system.is_left { rank - 2 } else { rank - 1 };
    if of_sides.len() != rank || of_sides[..rank - 2] != batch[..] || of_sides[side] != rows {
        return Err(e.fail(format!("{} does not fit the matrix {}", e.shape(b), e.shape(a))));
    }
    // x a = b is a' x' = b'.
    let is_transposed = system.is_transposed == system.is_left;
    let b = if system.is_left { b } else { transpose(e, b)? };
    let a = if is_transposed { transpose(e, a)? } else { a };
    let is_lower = system.is_lower != is_transposed;
    let sides = e.shape(b).dims()[rank - 1];
    let mut known: Option<ValueId> = None;
    for step in 0..rows {
        let row = if is_lower { step } else { rows - 1 - step };
        let columns = if is_lower { [0, row] } else { [row + 1, rows] };
        let mut own = block(e, b, [row, row + 1], [0, sides])?;
        if let Some(known) = known {
            let factors = block(e, a, [row, row + 1], columns)?;
            let factors = transpose(e, factors)?;
            let dims = e.shape(known).dims().to_vec();
            let factors = spread(e, factors, rank - 1, &dims)?;
            let products = binary(e, Binary::Multiply, factors, known)?;
            let sum = sums(e, products, rank - 2)?;
            own = binary(e, Binary::Subtract, own, sum)?;
        }
        if !system.has_ones {
            let pivot = block(e, a, [row, row + 1], [row, row + 1])?;
            let dims = e.shape(own).dims().to_vec();
            let pivot = spread(e, pivot, rank - 1, &dims)?;
            own = binary(e, Binary::Divide, own, pivot)?;
        }
        known = Some(match known {
            Some(known) => {
                let parts = if is_lower { vec![known, own] } else { vec![own, known] };
                e.emit(Op::Concatenate { dim: rank - 2 }, parts, None)?
            }
            None => own,
        });
    }
    let found = known.unwrap_or(b);
    if system.is_left { Ok(found) } else { transpose(e, found) }
}
