//! Tensors for a program's arguments.

use std::ops::Range;

use crate::deadline;
use crate::num::{Direction, Format, round_f64};
use crate::tensor::{DType, Data, Tensor};

use super::{Argument, InputError, InputKey, InputSpec, Row, Sampler, Streams};

/// Values for `arguments`, in order.
///
/// `rows` counts along the leading dim of the first argument, whose dims are those of this part; row r has the same bits
/// whichever rows are asked for with it. The other arguments are always whole. Floats follow the spec, rounded once to
/// nearest even (to bf16 and thereby to the dtype, if the spec says so); a value beyond the dtype's range becomes the
/// result of that rounding. Integers are uniform below the width of the first argument, as indices into its rows are
/// (below their dtype's limit, if that is less), and predicates are fair coins, whatever the spec.
///
/// # Errors
/// If the first argument has not as many rows as are asked for, the distribution cannot fill the arguments, or they do
/// not fit in memory.
pub fn generate(
    spec: &InputSpec,
    key: &InputKey,
    arguments: &[Argument],
    rows: Range<u64>,
) -> Result<Vec<Tensor>, InputError> {
    Ok(each(&|_| spec, &|_| false, key, arguments, rows)?.into_iter().flatten().collect())
}

/// [`generate`] with a spec for each argument; none for those that are given otherwise.
pub(super) fn each<'s>(
    spec: &dyn Fn(usize) -> &'s InputSpec,
    is_given: &dyn Fn(usize) -> bool,
    key: &InputKey,
    arguments: &[Argument],
    rows: Range<u64>,
) -> Result<Vec<Option<Tensor>>, InputError> {
    if let Some(first) = arguments.first() {
        let asked = rows.end.saturating_sub(rows.start);
        // Each row has a stream of its own: another number of rows would give other rows their bits.
        if first.rows() as u64 != asked {
            return Err(InputError::Rows { argument: first.name.clone(), has: first.rows(), asked });
        }
    }
    let sizes = arguments.iter().map(Argument::elements).collect::<Result<Vec<_>, _>>()?;
    let streams = Streams::new(key);
    let tensor = |number: usize| {
        if is_given(number) {
            return Ok(None);
        }
        let (argument, spec) = (&arguments[number], spec(number));
        let input = spec.input();
        input.check(spec, arguments).map_err(|source| InputError::Unsuitable { input: input.name(), source })?;
        // Only the first argument has rows of the batch; weights are the same for all of them.
        let first_row = if number == 0 { rows.start } else { 0 };
        let place = Place { number, first_row, size: sizes[number] };
        let data = match spec.grid(argument.dtype) {
            Some(grid) => floats(spec, &streams, arguments, place, grid)?,
            None => integers(&streams, arguments, place)?,
        };
        Ok(Some(Tensor::new(&argument.dims, data)))
    };
    (0..arguments.len()).map(tensor).collect()
}

/// An argument's number, its first row, and its number of elements.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    first_row: u64,
    size: usize,
}

/// Calls `fill` for each row's part of the argument, with the row's index and stream.
fn each_row<T: Clone + Default>(
    streams: &Streams,
    arguments: &[Argument],
    place: Place,
    mut fill: impl FnMut(u64, &mut Sampler, &mut [T]),
) -> Result<Vec<T>, InputError> {
    let argument = &arguments[place.number];
    let mut values = Vec::new();
    let too_large = |_| InputError::TooLarge { argument: argument.name.clone(), dims: argument.dims.clone() };
    // A size that a suite asks for may be beyond memory: that is an error and no abort.
    values.try_reserve_exact(place.size).map_err(too_large)?;
    values.resize(place.size, T::default());
    let per_row = (place.size / argument.rows().max(1)).max(1);
    for (index, part) in (place.first_row..).zip(values.chunks_mut(per_row)) {
        deadline::check();
        fill(index, &mut streams.sampler(place.number as u64, index), part);
    }
    Ok(values)
}

fn floats(
    spec: &InputSpec,
    streams: &Streams,
    arguments: &[Argument],
    place: Place,
    grid: &'static Format,
) -> Result<Data, InputError> {
    let argument = &arguments[place.number];
    let width = argument.width().max(1);
    let values = each_row(streams, arguments, place, |index, sampler, part| {
        let row = Row { spec, arguments, argument: place.number, index, format: grid, streams };
        for out in part.chunks_mut(width) {
            deadline::check();
            spec.input().fill(&row, sampler, out);
        }
        // A type that is filled with another's numbers keeps to that grid; its own grid is rounded to when it is stored.
        if argument.dtype.format() != Some(grid) {
            part.iter_mut().for_each(|v| *v = round_f64(grid, *v, Direction::NearestEven));
        }
    })?;
    match Data::from_f64s(argument.dtype, &values) {
        Some(data) => Ok(data),
        None => unreachable!("only a float type has a grid"),
    }
}

fn integers(streams: &Streams, arguments: &[Argument], place: Place) -> Result<Data, InputError> {
    let argument = &arguments[place.number];
    let dtype = argument.dtype;
    let value_bits = dtype.bits() - u32::from(dtype.is_signed());
    let limit = match dtype {
        DType::Pred => 2,
        // Integers are taken for indices into the first argument's rows, where the type holds these.
        _ => (arguments[0].width() as u64).min(1u64.checked_shl(value_bits).unwrap_or(u64::MAX)),
    };
    let values = each_row(streams, arguments, place, |_, sampler, part: &mut [i64]| {
        part.iter_mut().for_each(|v| *v = sampler.below(limit) as i64);
    })?;
    match Data::from_i64s(dtype, &values) {
        Some(data) => Ok(data),
        None => unreachable!("every float type has a grid"),
    }
}
