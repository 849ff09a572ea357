//! Reductions tile by tile: the elementwise operations before one are computed for as many elements at a time as stay in the
//! cache, so that their results never stand in memory as a whole, as in the loop that a compiler makes of them. A tile is a run
//! of elements as they lie in memory. What an element becomes does not depend on the tile that it lies in.

use std::ops::Range;

use crate::analysis::Reducer;
use crate::ir::{Binary, Computation, Instruction, Op, Shape, ValueId};
use crate::tensor::DType;

use super::elements::Elements;
use super::eval_error::{EvalError, refuse};
use super::evaluate::Machine;
use super::integer::conversion_steps;
use super::operand::Operand;
use super::prepared::Frame;
use super::sum::{RowSum, memory_order};
use super::sum_code::Terms;
use super::summation::{Summation, Way};
use super::value::Value;
use super::vector::{self, Weighted};
use super::weighted::{self, ReducedProduct};

/// Elements of a tile: with its sources it stays in the second cache, and one thread computes it.
const TILE: usize = 1 << 14;
/// The fewest columns that tiles are cut along: runs of fewer elements are not worth a tile.
const FEWEST: usize = 64;

/// An array whose elements in the middle are reduced, row-major.
#[derive(Clone, Copy)]
struct Layout {
    outer: usize,
    reduced: usize,
    inner: usize,
}

/// Reduction of elements to a result.
enum Reduction {
    Sum(Summation),
    Largest(bool),
}

/// The value of a reduction and of the `producers` that nobody else reads, of a computation's values so far; `None` where it is
/// not one of floats that lie side by side.
pub fn reduce(
    machine: &Machine,
    computation: &Computation,
    frame: &Frame,
    id: ValueId,
    values: &[Option<Operand>],
) -> Result<Option<Value>, EvalError> {
    let (instructions, producers) = (&computation.instructions, &frame.producers[id]);
    let reduction = &instructions[id];
    let (Op::Reduce { dims: reduced, to_apply }, &[array, init]) = (&reduction.op, &reduction.operands[..]) else {
        return Ok(None);
    };
    let shape = &instructions[array].shape;
    let (dims, reduced) = (shape.dims(), memory_order(shape.dims(), reduced));
    let Some(layout) = Layout::new(dims, &reduced) else { return Ok(None) };
    // Rows that nothing is computed for can be reduced where they are.
    if layout.inner == 1 && producers.is_empty() || layout.is_narrow() {
        return Ok(None);
    }
    let dtype = reduction.shape.dtype().filter(|dtype| dtype.is_float() && *dtype != DType::F64);
    let is_float = |value: &Operand| matches!(value.elements(), Value::Float(..));
    let (Some(dtype), Some(init)) = (dtype, values[init].as_ref().filter(|init| is_float(init))) else {
        return Ok(None);
    };
    // Products that are not rounded yet have sums of their own.
    if values[array].as_ref().is_some_and(|array| !is_float(array)) {
        return Ok(None);
    }
    let init = init.elements().f32s()[0];
    let how = match machine.prepared.regions.reducer(*to_apply) {
        Some(Reducer::Binary(Binary::Add)) => {
            let (codes, of) = (&frame.kernels[id].sums, (dims, &reduced[..]));
            let sum = Summation::over(machine.mode, codes, of, (dtype, Terms::Numbers), init == 0.0);
            // Whether all of its terms are -0 as well is not known on the way.
            if sum.is_minus_zero(init) {
                return Ok(None);
            }
            Reduction::Sum(sum)
        }
        Some(Reducer::Binary(binary @ (Binary::Maximum | Binary::Minimum))) if layout.inner == 1 => {
            Reduction::Largest(binary == Binary::Maximum)
        }
        _ => return Ok(None),
    };
    let site = Site { machine, instructions, frame, producers, array, values, layout };
    let of_unit = match &how {
        Reduction::Sum(sum) => match sum.way() {
            Way::Unit(sum) => Some(sum),
            _ => None,
        },
        Reduction::Largest(_) => None,
    };
    if let Some(results) = of_unit.and_then(|sum| site.weighted(sum, init)) {
        return Ok(Some(Value::float(dtype, results)));
    }
    let results = match (of_unit, &how) {
        (Some(sum), _) if layout.inner > 1 => site.columns(sum, init)?,
        // A code's order is known along rows only.
        _ if layout.inner > 1 => None,
        (_, how) => Some(site.rows(how, init)?),
    };
    Ok(results.map(|results| Value::float(dtype, results)))
}

impl Layout {
    /// `None` where the reduced dims do not lie side by side or there is nothing to reduce. Dims of one element part none.
    fn new(dims: &[usize], reduced: &[usize]) -> Option<Layout> {
        let long: Vec<usize> = (0..dims.len()).filter(|d| dims[*d] != 1).collect();
        let first = long.iter().position(|d| reduced.contains(d))?;
        let end = long.iter().rposition(|d| reduced.contains(d))? + 1;
        let side_by_side = long[first..end].iter().all(|d| reduced.contains(d));
        let size = |range: &[usize]| range.iter().map(|d| dims[*d]).product();
        let layout =
            Layout { outer: size(&long[..first]), reduced: size(&long[first..end]), inner: size(&long[end..]) };
        (side_by_side && layout.elements() > 0).then_some(layout)
    }

    fn elements(self) -> usize {
        self.outer * self.reduced * self.inner
    }

    /// Whether it is cut along columns, of which there are few.
    fn is_narrow(self) -> bool {
        (2..FEWEST).contains(&self.inner) && self.reduced * self.inner > TILE
    }
}

/// An operand's elements at `range`.
fn part(operand: &Operand, range: &Range<usize>) -> Operand {
    let (value, count) = (operand.elements(), operand.elements().len());
    let Some(each) = operand.each() else { return Operand::whole(value.clone().stretch(range.clone())) };
    let from = range.start / each % count;
    let end = from + range.len().div_ceil(each);
    match range.start % each {
        _ if count == 1 => operand.clone(),
        // More than one round of the values: their pattern is the same from the start.
        0 if from == 0 && end > count => operand.clone(),
        0 if end <= count => Operand::spread(value.clone().stretch(from..end), each),
        _ => Operand::whole(value.pick(range.clone().map(|at| at / each % count))),
    }
}

/// Results one after the other; `None` where some are missing.
fn joined(parts: impl Iterator<Item = Result<Option<Vec<f32>>, EvalError>>) -> Result<Option<Vec<f32>>, EvalError> {
    let parts: Option<Vec<Vec<f32>>> = parts.collect::<Result<_, _>>()?;
    Ok(parts.map(|parts| parts.concat()))
}

/// A matrix and a vector, of two operands of which one is whole and the other one is repeated so that each of `reduced` numbers
/// meets one of its own, where `inner` columns lie side by side.
fn matrix_and_vector(operands: [&Operand; 2], [reduced, inner]: [usize; 2]) -> Option<[&[f32]; 2]> {
    let [matrix, vector] = match operands.map(Operand::each) {
        [None, Some(_)] => operands,
        [Some(_), None] => [operands[1], operands[0]],
        _ => return None,
    };
    match [matrix, vector].map(Operand::elements) {
        [Value::Float(_, matrix), Value::Float(_, factors)]
            if vector.each() == Some(inner) && factors.len() == reduced =>
        {
            Some([matrix, factors])
        }
        _ => None,
    }
}

/// A reduction and all that its elements are computed from.
struct Site<'a> {
    machine: &'a Machine<'a>,
    instructions: &'a [Instruction],
    frame: &'a Frame,
    producers: &'a [ValueId],
    /// The array that is reduced.
    array: ValueId,
    values: &'a [Option<Operand>],
    layout: Layout,
}

impl Site<'_> {
    /// The sums of products of a matrix with a vector, as compilers write them; `None` for anything else.
    fn weighted(&self, sum: &RowSum, init: f32) -> Option<Vec<f32>> {
        let Layout { reduced, inner, .. } = self.layout;
        // A library or a contraction leaves roundings out.
        // The kernel rounds products to bf16 by itself: that has to be what the conversion does.
        let rounds_once = conversion_steps(DType::F32, DType::BF16).eq([DType::BF16]);
        if self.machine.mode.chip.plans_code() || !rounds_once {
            return None;
        }
        let ReducedProduct { operands, rounded, keeps_nan } =
            weighted::find(self.instructions, self.producers, self.array)?;
        if !operands.iter().all(|id| self.is_tiled(*id)) {
            return None;
        }
        let [left, right] = operands.map(|id| self.values[id].as_ref());
        let [matrix, factors] = matrix_and_vector([left?, right?], [reduced, inner])?;
        // Rows of all matrices are rows of one.
        let size = if inner == 1 { matrix.len() } else { reduced * inner };
        let of_matrix = |matrix| {
            let weighted = Weighted { matrix, factors, rounded };
            if keeps_nan { sum.of_unflushed(weighted, inner, init) } else { sum.of_weighted(weighted, inner, init) }
        };
        let sums: Option<Vec<Vec<f32>>> = matrix.chunks(size).map(of_matrix).collect();
        sums.map(|sums| sums.concat())
    }

    /// The results along rows, some rows at a time.
    fn rows(&self, how: &Reduction, init: f32) -> Result<Vec<f32>, EvalError> {
        let Layout { outer, reduced, .. } = self.layout;
        let at_once = (TILE / reduced).max(1);
        let of_tile = |tile: usize| -> Result<Vec<f32>, EvalError> {
            let rows = tile * at_once..outer.min((tile + 1) * at_once);
            let elements = self.elements(rows.start * reduced..rows.end * reduced)?;
            let extreme = |row, largest| vector::extreme(row, init, largest, &self.machine.unit);
            Ok(match how {
                Reduction::Sum(sum) => sum.of_numbers(&elements, rows.len(), init),
                Reduction::Largest(largest) => elements.chunks(reduced).map(|row| extreme(row, *largest)).collect(),
            })
        };
        let tiles = vector::over_rows(outer.div_ceil(at_once), at_once * reduced, of_tile);
        Ok(tiles.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The sums along columns: of several matrices at a time or of some rows of one. `None` where they are known along rows only.
    fn columns(&self, sum: &RowSum, init: f32) -> Result<Option<Vec<f32>>, EvalError> {
        let Layout { outer, reduced, inner } = self.layout;
        let size = reduced * inner;
        let of_matrix = |at: usize| {
            let at_once = (TILE / inner).max(1);
            let rows = |rows: Range<usize>| self.elements(at * size + rows.start * inner..at * size + rows.end * inner);
            sum.of_columns(inner, at_once, init, rows)
        };
        let of_matrices = |matrices: Range<usize>| -> Result<Option<Vec<f32>>, EvalError> {
            let elements = self.elements(matrices.start * size..matrices.end * size)?;
            let of_matrix = |matrix: &[f32]| {
                sum.of_columns(inner, reduced, init, |rows| Ok(&matrix[rows.start * inner..rows.end * inner]))
            };
            joined(elements.chunks(size).map(of_matrix))
        };
        // Small matrices share a tile, since each alone would not be worth a thread's turn.
        let at_once = TILE / size;
        let tiles = if at_once < 2 {
            vector::over_rows(outer, size, of_matrix)
        } else {
            let of_tile = |tile: usize| of_matrices(tile * at_once..outer.min((tile + 1) * at_once));
            vector::over_rows(outer.div_ceil(at_once), at_once * size, of_tile)
        };
        joined(tiles.into_iter())
    }

    /// The elements that are reduced at `range`.
    fn elements(&self, range: Range<usize>) -> Result<Elements<f32>, EvalError> {
        let mut computed: Vec<Option<Operand>> = vec![None; self.producers.len()];
        for (at, id) in self.producers.iter().enumerate() {
            let instruction = &self.instructions[*id];
            let operands: Result<Vec<Operand>, EvalError> =
                instruction.operands.iter().map(|operand| self.operand(*operand, &mut computed, &range)).collect();
            let shapes: Vec<Shape> =
                instruction.operands.iter().map(|operand| self.shape(*operand, range.len())).collect();
            let shapes: Vec<&Shape> = shapes.iter().collect();
            computed[at] = Some(self.machine.instruction(instruction, &self.frame.kernels[*id], operands?, &shapes)?);
        }
        match self.operand(self.array, &mut computed, &range)?.into_whole(range.len()) {
            Value::Float(_, elements) => Ok(elements),
            _ => Err(refuse(&self.instructions[self.array], "it is reduced as floats")),
        }
    }

    fn is_tiled(&self, id: ValueId) -> bool {
        self.instructions[id].shape.elements() == self.layout.elements()
    }

    /// A value's elements at `range`; a producer's are read once.
    fn operand(
        &self,
        id: ValueId,
        computed: &mut [Option<Operand>],
        range: &Range<usize>,
    ) -> Result<Operand, EvalError> {
        let operand = match (self.producers.binary_search(&id), &self.values[id]) {
            (Ok(at), _) => computed[at].take(),
            (Err(_), Some(value)) if self.is_tiled(id) => Some(part(value, range)),
            (Err(_), value) => value.clone(),
        };
        operand.ok_or_else(|| refuse(&self.instructions[id], "it has no value"))
    }

    fn shape(&self, id: ValueId, count: usize) -> Shape {
        let shape = &self.instructions[id].shape;
        if self.is_tiled(id) { Shape::array(shape.element_type(), &[count]) } else { shape.clone() }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::{Binary, Builder, Op, Program, Window, WindowDim};
    use crate::probe::numbers;
    use crate::tensor::{DType, Data, Tensor};
    use crate::{Arithmetic, evaluate, vector};

    /// Numbers in bf16 times a vector along one dim, rounded to bf16, stored as what is asked for, and their reduction over the
    /// middle dim.
    fn program(dims: [usize; 3], along: usize, dtype: DType, reducer: Option<Binary>) -> Program {
        let mut b = Builder::new("weighted");
        let w = b.parameter("w", DType::BF16, &dims).unwrap();
        let x = b.parameter("x", DType::F32, &[dims[along]]).unwrap();
        let wide = b.convert(w, DType::F32).unwrap();
        let spread = b.broadcast(x, &dims, &[along]).unwrap();
        let product = b.binary(Binary::Multiply, spread, wide).unwrap();
        let stored = match dtype {
            DType::F32 => b.op(Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 }, &[product]).unwrap(),
            _ => b.convert(product, dtype).unwrap(),
        };
        let result = reducer.map(|reducer| b.reduce(reducer, stored, 0.0, &[1]).unwrap());
        b.finish(&[("result", result.unwrap_or(stored))]).unwrap()
    }

    /// Whatever lies in a tile, the bits are those of sums over the stored products: rows, several matrices at a time, some rows
    /// of one matrix, and too few columns for tiles.
    #[test]
    fn tiles_do_not_show() {
        let shapes =
            [[9000, 7, 1], [3, 20_000, 1], [50, 40, 70], [2, 576, 100], [1, 1500, 64], [2, 3000, 10], [3, 1, 5]];
        let modes =
            ["v5e/default/off", "v5e/default/off+narrow=bf16", "cpu/default/off", "cpu/default/off+reduce=tree32"];
        for dims @ [outer, reduced, inner] in shapes {
            for along in 0..3 {
                let w = Data::from_f32s(DType::BF16, numbers(&mut 1, outer * reduced * inner)).unwrap();
                let x = Data::from_f32s(DType::F32, numbers(&mut 2, dims[along])).unwrap();
                let arguments = [Tensor::new(&dims, w), Tensor::new(&[dims[along]], x)];
                for (mode, dtype) in modes.into_iter().flat_map(|mode| [(mode, DType::BF16), (mode, DType::F32)]) {
                    let mode: Arithmetic = mode.parse().unwrap();
                    let run = |reducer| {
                        let results = evaluate(&program(dims, along, dtype, reducer), &mode, &arguments).unwrap();
                        results[0].data().to_f32s()
                    };
                    let (stored, sums, largest) = (run(None), run(Some(Binary::Add)), run(Some(Binary::Maximum)));
                    for at in 0..outer * inner {
                        let row: Vec<f32> =
                            (0..reduced).map(|r| stored[(at / inner * reduced + r) * inner + at % inner]).collect();
                        let step = mode.step_of(dtype);
                        let mut sum = [vector::sum(&row, mode.choices.reduce, step, &mode.vector_unit())];
                        vector::round_to(dtype, &mut sum);
                        let what = format!("{dims:?} along {along} in {mode}, {dtype}: {at}");
                        assert_eq!(sums[at].to_bits(), sum[0].to_bits(), "{what}");
                        assert_eq!(largest[at], row.iter().copied().fold(0.0, f32::max), "{what}");
                    }
                }
            }
        }
    }

    /// Sums from -0 of products that are all -0, along rows and columns, of one row and in windows.
    #[test]
    fn sums_from_minus_zero_keep_its_sign() {
        let modes =
            ["v5e/default/off", "v5e/default/off+reduce=tree32", "v5e/default/off+scan=sequential", "cpu/default/off"];
        for (mode, init) in modes.into_iter().flat_map(|mode| [(mode, 0.0), (mode, -0.0)]) {
            let mut b = Builder::new("signs");
            let x = b.parameter("x", DType::F32, &[40, 40]).unwrap();
            let one = b.parameter("one", DType::F32, &[40, 40]).unwrap();
            let product = b.binary(Binary::Multiply, x, one).unwrap();
            let mut results: Vec<_> = [0, 1].map(|dim| b.reduce(Binary::Add, product, init, &[dim]).unwrap()).into();
            let zero = b.constant(DType::F32, init).unwrap();
            let to_apply = b.binary_region(Binary::Add, DType::F32).unwrap();
            let running = WindowDim { pad_low: 39, ..WindowDim::of_size(40) };
            for window in [running, WindowDim { pad_low: 1, ..WindowDim::of_size(2) }] {
                let window = Window(vec![WindowDim::of_size(1), window]);
                let op = Op::ReduceWindow { window, to_apply };
                results.push(b.op(op, &[product, zero]).unwrap());
            }
            let names = ["columns", "rows", "running", "pairs"];
            let results: Vec<_> = names.into_iter().zip(results).collect();
            let program = b.finish(&results).unwrap();
            let filled = |value: f32| Tensor::new(&[40, 40], Data::F32(vec![value; 1600]));
            let results = evaluate(&program, &mode.parse().unwrap(), &[filled(-0.0), filled(1.0)]).unwrap();
            for (name, result) in names.into_iter().zip(results) {
                let init = (init as f32).to_bits();
                assert!(result.data().to_f32s().iter().all(|sum| sum.to_bits() == init), "{name} {mode} {init}");
            }
        }
    }
}
