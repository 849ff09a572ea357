//! Matrices that are put together row by row.

use crate::ir::{Op, ValueId};
use crate::tensor::DType;

use super::{Emitter, ROWS, Result, block};

/// The dims before a matrix' own two, its rows and its columns.
pub(super) fn matrix(e: &Emitter, a: ValueId) -> Result<(Vec<usize>, [usize; 2])> {
    let shape = e.shape(a);
    match shape.dims() {
        [batch @ .., rows, columns] if shape.dtype().is_some_and(DType::is_float) => {
            if *rows.min(columns) > ROWS {
                let why = format!("a matrix of {ROWS} rows or columns at most is supported, not {shape}");
                return Err(e.unknown(why));
            }
            Ok((batch.to_vec(), [*rows, *columns]))
        }
        _ => Err(e.fail(format!("matrices of floats are needed, not {shape}"))),
    }
}

/// A block of each matrix, if it has elements.
pub(super) fn part(e: &mut Emitter, a: ValueId, rows: [usize; 2], columns: [usize; 2]) -> Result<Option<ValueId>> {
    let is_empty = rows[0] >= rows[1] || columns[0] >= columns[1];
    Ok(if is_empty { None } else { Some(block(e, a, rows, columns)?) })
}

/// Those parts that there are, put one after the other along a dim.
pub(super) fn join(
    e: &mut Emitter,
    dim: usize,
    parts: impl IntoIterator<Item = Option<ValueId>>,
) -> Result<Option<ValueId>> {
    let parts: Vec<ValueId> = parts.into_iter().flatten().collect();
    match parts[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Ok(Some(e.emit(Op::Concatenate { dim }, parts, None)?)),
    }
}
