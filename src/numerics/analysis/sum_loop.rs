//! The loops that LLVM makes of a sum in a fusion that it compiles: unrolled, or with several elements side by side.
//!
//! Each addition may be reordered (`reassoc`), so the loop vectorizer takes a sum where its estimate of costs says that it
//! pays (`LoopVectorizationCostModel`, with the costs of an x86-64 processor with AVX-512 whose registers are used in halves of
//! 256 bits). It takes innermost loops only: that over the innermost dim, or, where that one was unrolled before
//! (`LoopFullUnrollPass`), the one around it.

use crate::ir::{Computation, ComputationId, Fusion, Instruction, Op, ValueId};
use crate::tensor::DType;

use super::emission::is_no_negative_zero;
use super::sum_term::Term;
use super::unroll::{is_small, is_unrolled};

/// In what order a sum adds its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumLoop {
    /// One after the other.
    Chain,
    /// One after the other without a loop, from a zero that is left out: of the first two products the first joins the second
    /// before it is rounded.
    ChainOfTwo,
    /// One after the other, products rounded before they are added: several sums are taken side by side.
    ChainOfRounded,
    /// Several rows side by side.
    Rows(Rows),
    /// Several elements of each row side by side.
    Columns(Columns),
}

/// Rows of two reduced dims that are summed side by side, each its columns one after the other; the sums are joined by halving,
/// and rows left over follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// How many rows.
    pub lanes: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Whether products are rounded before they are added: LLVM's `VectorCombine` multiplies elements of up to eight columns as
    /// they lie in memory, all rows at once, before it parts them by columns.
    pub rounds_products: bool,
    /// Whether each row begins with two products: there is no loop left, and no zero.
    pub starts_with_two: bool,
}

/// Elements of the innermost dim that are summed side by side: registers of `lanes` elements, `registers` of them in turn. The
/// registers are joined in order, their lanes by halving, and what is left over follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Elements of the innermost dim.
    pub extent: usize,
    /// Elements of a register.
    pub lanes: usize,
    /// Registers that take turns.
    pub registers: usize,
    /// Whether the last step leaves out lanes, so that nothing is left over.
    pub masked: bool,
    /// Lanes of a register for what is left over; 1 where it follows element by element.
    pub lanes_of_rest: usize,
    /// Whether the first register begins with two products too: nothing is added to its first ones.
    pub starts_with_two: bool,
}

/// Iterations from which on a loop may have a rest (`TinyTripCountVectorThreshold`).
const REST: usize = 16;

/// Registers that may take turns (x86's `getMaxInterleaveFactor`).
const MOST_REGISTERS: usize = 4;

/// Elements a step from which on LLVM vectorizes what is left over, too (`EpilogueVectorizationMinVF`).
const REST_IN_LANES: usize = 16;

/// The most columns whose elements LLVM reads as one run of memory (`MaxInterleaveGroupFactor`).
const RUN: usize = 8;

/// For each value of a computation, how it is added up if it is a sum of f32 in a fusion that is compiled; `sums` says which
/// regions add, `products` which values are products that are not rounded (`find_contractions`).
pub fn find_sum_loops(
    computation: &Computation,
    products: &[bool],
    sums: impl Fn(ComputationId) -> bool,
) -> Vec<SumLoop> {
    let sum_loop = |instruction: &Instruction| match (&instruction.op, &instruction.operands[..]) {
        (Op::Reduce { dims, to_apply }, &[term, init])
            if instruction.fusion.is_some_and(Fusion::is_compiled)
                && instruction.shape.dtype() == Some(DType::F32)
                && sums(*to_apply) =>
        {
            of_sum(computation, instruction, dims, [term, init], products[term])
        }
        _ => SumLoop::Chain,
    };
    computation.instructions.iter().map(sum_loop).collect()
}

fn of_sum(
    computation: &Computation,
    instruction: &Instruction,
    dims: &[usize],
    [id, init]: [ValueId; 2],
    is_product: bool,
) -> SumLoop {
    let extents = computation.instructions[id].shape.dims();
    let mut long = (0..extents.len()).rev().filter(|d| extents[*d] > 1);
    // Dims of one element are no loops; what is summed is innermost, whatever lies there in memory.
    let mut summed = (0..extents.len()).rev().filter(|d| dims.contains(d) && extents[*d] > 1);
    let Some(innermost) = summed.next() else { return SumLoop::Chain };
    let around = summed.next();
    let columns = extents[innermost];
    let count: usize = dims.iter().map(|d| extents[*d]).product();
    let zero = is_zero(computation, init);
    let from_products = is_product && zero && is_no_negative_zero(computation, id);
    let outside = (0..innermost).rev().find(|d| extents[*d] > 1).filter(|_| long.next() == Some(innermost));
    let term = Term::new(computation, instruction.fusion, id, innermost, around.or(outside));
    if !is_unrolled(columns, term.instructions()) {
        let starts_with_two = from_products && around.is_none();
        let columns = Columns::new(columns, starts_with_two, term.widest(), |lanes| term.cost_along(lanes));
        return columns.filter(|_| term.is_regular()).map_or(SumLoop::Chain, SumLoop::Columns);
    }
    let lanes = outside.filter(|outside| around.is_none_or(|around| around == *outside));
    let lanes = lanes.and_then(|outside| cheapest_lanes(extents[outside], columns, &term));
    let multiplies = if lanes == Some(2) { columns > 5 } else { columns > 4 };
    let rounds_products = columns <= RUN && term.products().is_some_and(|products| multiplies || products > 1);
    match lanes {
        Some(lanes) if around.is_some() => {
            let starts_with_two = from_products && around.is_some_and(|around| extents[around] == lanes);
            SumLoop::Rows(Rows { lanes, columns, rounds_products, starts_with_two })
        }
        Some(_) if rounds_products => SumLoop::ChainOfRounded,
        _ if from_products && is_small(count, term.instructions()) => SumLoop::ChainOfTwo,
        _ => SumLoop::Chain,
    }
}

/// How many rows are summed side by side, if it pays: costs as x86's `TargetTransformInfo` has them.
fn cheapest_lanes(rows: usize, columns: usize, term: &Term) -> Option<usize> {
    if !term.is_regular() {
        return None;
    }
    // Of few rows none may be left over.
    let whole = |lanes: &usize| rows >= REST || rows.is_multiple_of(*lanes);
    let few = rows.is_power_of_two() || rows >= REST;
    let candidates = lanes_up_to(rows.min(term.widest())).filter(|_| few).filter(whole);
    let cost = |lanes: usize| {
        let (steps, left) = (rows / lanes, rows % lanes);
        steps as f64 * term.cost(lanes, columns) + left as f64 * term.cost(1, columns)
    };
    let mut best = (None, rows as f64 * term.cost(1, columns));
    for lanes in candidates {
        if lanes == 2 && (rows > 2 || term.arrays() > 1) {
            continue;
        }
        if cost(lanes) < best.1 {
            best = (Some(lanes), cost(lanes));
        }
    }
    best.0
}

impl Columns {
    /// How LLVM takes a loop over the innermost dim, where a step of so many lanes costs what `cost` says; `None` where it takes
    /// each element alone.
    pub fn new(extent: usize, starts_with_two: bool, widest: usize, cost: impl Fn(usize) -> f64) -> Option<Columns> {
        if extent <= 2 {
            return None;
        }
        if extent < REST {
            let lanes = extent.next_power_of_two().min(widest);
            let masked = !extent.is_multiple_of(lanes);
            return Some(Columns { extent, lanes, registers: 1, masked, lanes_of_rest: 1, starts_with_two });
        }
        let lanes = cheapest(extent, widest, &cost);
        let registers = registers(extent, lanes);
        let rest = extent % (lanes * registers);
        let lanes_of_rest = if lanes * registers >= REST_IN_LANES { cheapest(rest, widest, &cost) } else { 1 };
        (lanes > 1).then_some(Columns { extent, lanes, registers, masked: false, lanes_of_rest, starts_with_two })
    }
}

/// Lanes whose steps, single ones for what is left over among them, cost least; of several the fewest lanes.
fn cheapest(extent: usize, widest: usize, cost: impl Fn(usize) -> f64) -> usize {
    let all = |lanes: usize| (extent / lanes) as f64 * cost(lanes) + (extent % lanes) as f64 * cost(1);
    let cheaper = |best: usize, lanes: usize| if all(lanes) < all(best) { lanes } else { best };
    lanes_up_to(extent.min(widest)).fold(1, cheaper)
}

fn lanes_up_to(most: usize) -> impl Iterator<Item = usize> {
    [2, 4, 8, 16].into_iter().filter(move |lanes| *lanes <= most)
}

/// How many registers take turns (`selectInterleaveCount` for a known count): half of what the elements fill, or all of it if
/// as much is left over.
fn registers(extent: usize, lanes: usize) -> usize {
    let below = |count: usize| 1 << count.clamp(1, MOST_REGISTERS).ilog2();
    let (few, many) = (below(extent / (2 * lanes)), below(extent / lanes));
    if extent % (lanes * few) == extent % (lanes * many) { many } else { few }
}

fn is_zero(computation: &Computation, id: ValueId) -> bool {
    matches!(&computation.instructions[id].op, Op::Constant(value) if value.data().to_f32s() == [0.0])
}

#[cfg(test)]
mod tests {
    use super::{Columns, SumLoop, find_sum_loops};
    use crate::ir::{Binary, Builder, Fusion, GatherDims, Op, ShapeError, Unary, ValueId};
    use crate::tensor::DType;

    /// The loop of a sum over `dims` of what `body` makes of an array of `extents` and a row of as many columns.
    fn of(
        extents: &[usize],
        dims: &[usize],
        body: impl Fn(&mut Builder, ValueId, ValueId) -> Result<ValueId, ShapeError>,
    ) -> SumLoop {
        let mut builder = Builder::new("m");
        let x = builder.parameter("x", DType::F32, extents).unwrap();
        let last = extents.len() - 1;
        let row = builder.parameter("row", DType::F32, &extents[last..]).unwrap();
        let spread = builder.broadcast(row, extents, &[last]).unwrap();
        let term = body(&mut builder, x, spread).unwrap();
        let sum = builder.reduce(Binary::Add, term, 0.0, dims).unwrap();
        let mut program = builder.finish(&[("r", sum)]).unwrap();
        let entry = program.entry;
        let computation = &mut program.computations[entry];
        let made = computation.instructions.iter_mut().filter(|i| !matches!(i.op, Op::Parameter(_)));
        made.for_each(|instruction| instruction.fusion = Some(Fusion::Compiled(0)));
        let mut products = vec![false; computation.instructions.len()];
        products[term] = true;
        find_sum_loops(computation, &products, |_| true)[sum]
    }

    fn square(builder: &mut Builder, x: ValueId) -> Result<ValueId, ShapeError> {
        builder.binary(Binary::Multiply, x, x)
    }

    /// How many rows, and whether products are rounded first.
    fn rows(sum_loop: SumLoop) -> (usize, bool) {
        match sum_loop {
            SumLoop::Rows(rows) => (rows.lanes, rows.rounds_products),
            _ => (1, false),
        }
    }

    /// What the optimised LLVM IR of jaxlib 0.10.2 shows.
    #[test]
    fn rows_are_taken_side_by_side_where_it_pays() {
        let plain = |extents: [usize; 2]| rows(of(&extents, &[0, 1], |_, x, _| Ok(x))).0;
        let lanes = [[32, 4], [20, 8], [2, 5], [12, 4], [24, 6], [16, 9], [3, 8], [17, 4]].map(plain);
        assert_eq!(lanes, [8, 4, 2, 1, 8, 1, 1, 8]);
        // Elements that stand apart are dear: two products an element do not pay, a difference and a product do.
        let squares = |extents: [usize; 2]| rows(of(&extents, &[0, 1], |b, x, _| square(b, x)));
        assert_eq!([[16, 9], [16, 4], [16, 5], [16, 8]].map(squares), [(1, false), (8, false), (8, true), (4, true)]);
        let differences = |extents: [usize; 2]| {
            rows(of(&extents, &[0, 1], |b, x, row| {
                let difference = b.binary(Binary::Subtract, x, row)?;
                square(b, difference)
            }))
        };
        assert_eq!(
            [[16, 9], [4, 9], [2, 9], [16, 8]].map(differences),
            [(8, false), (4, false), (2, false), (8, false)]
        );
    }

    #[test]
    fn long_terms_leave_a_loop_over_columns() {
        let of = |extent: usize, logs: usize| {
            of(&[5, extent], &[1], |b, x, _| (0..logs).try_fold(x, |x, _| b.unary(Unary::Log, x)))
        };
        // 32 (1 + n + 2) + 2 instructions, of at most 299.
        assert_eq!(of(32, 6), SumLoop::Chain);
        let SumLoop::Columns(columns) = of(32, 7) else { panic!("it is unrolled") };
        assert_eq!((columns.lanes, columns.registers), (8, 4));
        // Of up to ten columns LLVM looks at what unrolling saves.
        assert_eq!((of(10, 27), of(11, 24)), (SumLoop::Chain, SumLoop::Chain));
        assert!(matches!((of(10, 32), of(11, 25)), (SumLoop::Columns(_), SumLoop::Columns(_))));
    }

    /// What the optimised LLVM IR of jaxlib 0.10.2 shows.
    #[test]
    fn calls_beside_narrow_reads_take_sixteen_lanes() {
        let lanes = |dtype: DType, extent: usize, unary: Unary| {
            let sum_loop = of(&[4, extent], &[1], |b, x, _| {
                let narrow = b.parameter("narrow", dtype, &[4, extent])?;
                let read = b.convert(narrow, DType::F32)?;
                let sum = b.binary(Binary::Add, x, read)?;
                (0..16).try_fold(sum, |x, _| b.unary(unary, x))
            });
            let SumLoop::Columns(columns) = sum_loop else { panic!("it is unrolled") };
            (columns.lanes, columns.masked)
        };
        for unary in [Unary::Exponential, Unary::Log, Unary::Logistic] {
            assert_eq!([lanes(DType::BF16, 48, unary), lanes(DType::S8, 144, unary)], [(16, false); 2]);
            assert_eq!(lanes(DType::F32, 48, unary), (8, false));
        }
        assert_eq!([lanes(DType::BF16, 48, Unary::Tanh), lanes(DType::BF16, 48, Unary::Sqrt)], [(8, false); 2]);
        // The last step leaves out lanes; what costs as much takes the fewer lanes.
        let of = [13, 20, 24].map(|extent| lanes(DType::BF16, extent, Unary::Logistic));
        assert_eq!(of, [(16, true), (4, false), (8, false)]);
    }

    /// As jaxlib 0.10.2 has it: the elements of a gather, which are read one by one, side by side.
    #[test]
    fn a_gather_may_stand_in_a_loop() {
        let of = |extent: usize| {
            of(&[4, extent], &[1], |b, x, _| {
                let places = b.parameter("places", DType::S32, &[4 * extent, 2])?;
                let numbers = GatherDims {
                    offset_dims: vec![],
                    collapsed_slice_dims: vec![0, 1],
                    start_index_map: vec![0, 1],
                    index_vector_dim: 1,
                    slice_sizes: vec![1, 1],
                    ..GatherDims::default()
                };
                let read = b.op(Op::Gather(numbers), &[x, places])?;
                b.reshape(read, &[4, extent])
            })
        };
        // 16 (14 + 2) + 2 instructions, of at most 299.
        assert_eq!(of(16), SumLoop::Chain);
        let lanes = [20, 32, 64].map(|extent| match of(extent) {
            SumLoop::Columns(columns) => (columns.lanes, columns.registers),
            other => panic!("{other:?}"),
        });
        assert_eq!(lanes, [(4, 4), (8, 4), (8, 4)]);
    }

    /// Lanes, registers, lanes for what is left over, and whether the last step is masked, as jaxlib 0.10.2 has them.
    #[test]
    fn columns_fill_registers_by_their_number() {
        let columns = |extent: usize| {
            let columns = Columns::new(extent, false, 8, |_| 1.0).unwrap();
            (columns.lanes, columns.registers, columns.lanes_of_rest, columns.masked)
        };
        for (extent, expected) in [
            (8, (8, 1, 1, false)),
            (12, (8, 1, 1, true)),
            (16, (8, 2, 1, false)),
            (18, (8, 2, 2, false)),
            (20, (4, 4, 4, false)),
            (22, (4, 4, 2, false)),
            (24, (8, 1, 1, false)),
            (28, (4, 2, 1, false)),
            (32, (8, 4, 1, false)),
            (36, (8, 4, 4, false)),
            (48, (8, 2, 1, false)),
            (56, (8, 2, 8, false)),
        ] {
            assert_eq!(columns(extent), expected, "{extent}");
        }
    }
}
