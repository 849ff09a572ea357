//! Large matmuls: a block of rows and columns is judged in every mode, and all elements are compared with the mode that explains
//! the block.
//!
//! The block is a matmul of its own: rows of the left operand and columns of the right one. All that judges a result judges it.
//! If it is accepted, the nearest mode that is quick computes the whole product once, and no element may be farther from that than an honest
//! one. A result that is not accepted in this way is judged as a whole, which takes longer and names what is wrong.

use crate::analysis::{PlainMatmul, plain_matmul};
use crate::ir::{Program, Shape};
use crate::machine::Mode;
use crate::name::quantity;
use crate::subject::evaluate;
use crate::tensor::Tensor;

use super::figures::{differences, relative_rms};
use super::members::work;
use super::recording::Found;
use super::{JudgeError, Judged, Part, Recording, Settings, Verdict};

/// Products from which on a block is judged first.
pub const LARGE: u128 = 100_000_000;

/// Rows and columns of the block, at most.
const EXTENT: usize = 64;

/// Factor by which the difference of an element may exceed the largest of the block, and that of a row or column its root mean
/// square.
const LARGEST: f64 = 3.0;

/// Factor by which all differences together may exceed the root mean square of the block's.
const TOGETHER: f64 = 1.5;

/// A block of a matmul.
struct Block {
    matmul: PlainMatmul,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Block {
    fn new(program: &Program, settings: &Settings) -> Option<Block> {
        let [output] = program.outputs()[..] else { return None };
        let matmul = plain_matmul(program.entry(), output)?;
        let [m, _, n] = matmul.sizes;
        let (rows, columns) = (spread(m), spread(n));
        let is_whole = rows.len() == m && columns.len() == n;
        // A product of an argument with itself has no rows apart from its columns.
        let is_square = matmul.parameters[0] == matmul.parameters[1];
        (work(program) >= settings.block_from.unwrap_or(LARGE) && !is_whole && !is_square).then_some(Block {
            matmul,
            rows,
            columns,
        })
    }

    /// The program of the block alone.
    fn program(&self, program: &Program) -> Program {
        let (mut block, output) = (program.clone(), program.outputs()[0]);
        let (entry, [lhs, rhs]) = (block.entry, self.matmul.operands);
        let computation = &mut block.computations[entry];
        for (value, dims) in [(lhs, self.lhs_dims()), (rhs, self.rhs_dims()), (output, self.dims())] {
            if let Some(dtype) = computation.instructions[value].shape.dtype() {
                computation.instructions[value].shape = Shape::array(dtype, &dims);
            }
        }
        // A tuple of one result.
        if computation.root != output {
            let shape = computation.instructions[output].shape.clone();
            computation.instructions[computation.root].shape = Shape::Tuple(vec![shape]);
        }
        block
    }

    fn lhs_dims(&self) -> [usize; 2] {
        [self.rows.len(), self.matmul.sizes[1]]
    }

    fn rhs_dims(&self) -> [usize; 2] {
        [self.matmul.sizes[1], self.columns.len()]
    }

    fn dims(&self) -> [usize; 2] {
        [self.rows.len(), self.columns.len()]
    }

    /// The program's arguments with the rows and columns of the block.
    fn arguments(&self, arguments: &[Tensor]) -> Vec<Tensor> {
        let ([_, k, n], [lhs, rhs]) = (self.matmul.sizes, self.matmul.parameters);
        let mut taken = arguments.to_vec();
        let of_rows: Vec<usize> = self.rows.iter().flat_map(|row| row * k..(row + 1) * k).collect();
        taken[lhs] = arguments[lhs].pick(&self.lhs_dims(), &of_rows);
        let of_columns = (0..k).flat_map(|at| self.columns.iter().map(move |column| at * n + column));
        taken[rhs] = arguments[rhs].pick(&self.rhs_dims(), &of_columns.collect::<Vec<_>>());
        taken
    }

    /// Flat positions in the whole result, in the block's order.
    fn places(&self) -> Vec<usize> {
        let n = self.matmul.sizes[2];
        self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| row * n + column)).collect()
    }
}

/// Up to [`EXTENT`] places of `count`, spread evenly, the first and the last among them.
fn spread(count: usize) -> Vec<usize> {
    if count <= EXTENT {
        return (0..count).collect();
    }
    (0..EXTENT).map(|at| at * (count - 1) / (EXTENT - 1)).collect()
}

/// The judgement of a large matmul by a block of it; `None` where the program is no such matmul, or the block is not accepted.
///
/// # Errors
/// If the recording cannot be read, or the program cannot be evaluated.
pub(super) fn accept(
    program: &Program,
    arguments: &[Tensor],
    recording: &Recording,
    settings: &Settings,
    found: &[Found],
) -> Result<Option<Judged>, JudgeError> {
    let ([found], None, None, Some(block)) =
        (found, &settings.compiled, &settings.tokens, Block::new(program, settings))
    else {
        return Ok(None);
    };
    let tensor = recording.read(program, found)?;
    let places = block.places();
    let of_block = (program.output_names[0].clone(), tensor.pick(&block.dims(), &places));
    let settings = Settings { block_from: Some(u128::MAX), ..settings.clone() };
    let (part, taken) = (block.program(program), block.arguments(arguments));
    let of_block = Recording::of_arrays(vec![of_block]);
    let mut judged = super::judge_part(&mut None, &part, &taken, &of_block, &settings, Part::Block)?;
    let is_accepted = matches!(judged.verdict(), Verdict::Bits | Verdict::Conforming);
    let [result] = &mut judged.results[..] else { return Ok(None) };
    let Some(nearest) = result.nearest.as_mut().filter(|_| is_accepted) else { return Ok(None) };
    let name = result.modes.first().unwrap_or(&nearest.mode).clone();
    let Ok(mode) = name.parse::<Mode>() else { return Ok(None) };
    let computed = evaluate(program, &mode, arguments)?;
    let Some(computed) = computed.first() else { return Ok(None) };
    let (observed, values) = (tensor.data().to_f64s(), computed.data().to_f64s());
    let is_equal = tensor.data() == computed.data();
    let is_bits = result.verdict == Verdict::Bits;
    if !is_equal && (is_bits || !is_honest(&block, &observed, &values, arguments)) {
        return Ok(None);
    }
    nearest.differences = differences(&observed, &values);
    nearest.relative_rms = relative_rms(&observed, &values);
    result.recorded_as = found.recorded_as.clone();
    result.shape = Shape::array(tensor.dtype(), tensor.dims()).to_string();
    if let Some(error) = &mut result.error {
        error.largest_at = places[error.largest_at];
    }
    let ([rows, columns], count) = (block.dims(), observed.len());
    result.because.push(format!(
        "{} and {} were judged in every mode; the error is that of this sample",
        quantity(rows, "row"),
        quantity(columns, "column")
    ));
    result.because.push(match is_equal {
        true => format!("all {count} elements have the bits of {name}"),
        false => format!("no one of all {count} elements is much farther from {name} than those of the sample are"),
    });
    Ok(Some(judged))
}

/// Whether the differences of all elements are as those of the block: the largest, those of each row and column, and all together;
/// each beside the lengths of the row and the column that its element is the product of.
fn is_honest(block: &Block, observed: &[f64], values: &[f64], arguments: &[Tensor]) -> bool {
    let [_, k, n] = block.matmul.sizes;
    let [lhs, rhs] = block.matmul.parameters.map(|number| arguments[number].data().to_f64s());
    let rows: Vec<f64> = lhs.chunks(k).map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt()).collect();
    let mut columns = vec![0.0; n];
    for row in rhs.chunks(n) {
        columns.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
    }
    columns.iter_mut().for_each(|sum| *sum = f64::sqrt(*sum));
    let scaled: Vec<f64> = (observed.iter().zip(values).enumerate())
        .map(|(at, (x, y))| match x == y || x.is_nan() && y.is_nan() {
            true => 0.0,
            false => (x - y).abs() / (rows[at / n] * columns[at % n]),
        })
        .collect();
    let places = block.places();
    let largest = places.iter().map(|at| scaled[*at]).fold(0.0, f64::max);
    let rms = (places.iter().map(|at| scaled[*at] * scaled[*at]).sum::<f64>() / places.len() as f64).sqrt();
    let squares = |line: &[f64]| line.iter().map(|z| z * z).sum::<f64>();
    let mut by_column = vec![0.0; n];
    for row in scaled.chunks(n) {
        by_column.iter_mut().zip(row).for_each(|(sum, z)| *sum += z * z);
    }
    let of_line = (LARGEST * rms).powi(2);
    // A difference that is NaN, as of an infinity beside a number, fails each of these.
    scaled.chunks(n).all(|row| squares(row) <= n as f64 * of_line)
        && by_column.iter().all(|sum| *sum <= rows.len() as f64 * of_line)
        && squares(&scaled) <= scaled.len() as f64 * (TOGETHER * rms).powi(2)
        && scaled.iter().all(|z| *z <= LARGEST * largest)
}
