use super::{Step, SumLoop, columns_of, find_sum_loops};
use crate::ir::{Binary, Builder, Fusion, GatherDims, Op, ShapeError, Unary, ValueId, Window, WindowDim};
use crate::tensor::DType;

type Built = Result<ValueId, ShapeError>;

/// The loop of a sum over `dims` of the term that `body` makes of an array of `extents` and a row of as many columns.
fn of(extents: &[usize], dims: &[usize], body: impl Fn(&mut Builder, ValueId, ValueId) -> Built) -> SumLoop {
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
    made.for_each(|instruction| instruction.record(|compiled| compiled.fusion = Some(Fusion::Compiled(0))));
    let mut products = vec![false; computation.instructions.len()];
    products[term] = true;
    let inner = vec![None; products.len()];
    find_sum_loops(computation, (&products, &inner, &computation.uses()), |_| true)[sum]
}

fn square(builder: &mut Builder, x: ValueId) -> Built {
    builder.binary(Binary::Multiply, x, x)
}

/// The number of rows side by side, and whether products are rounded first.
fn rows(sum_loop: SumLoop) -> (usize, bool) {
    match sum_loop {
        SumLoop::Rows(rows) => (rows.lanes, rows.rounds_products),
        _ => (1, false),
    }
}

/// Rows as in the optimised LLVM IR of jaxlib 0.10.2.
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
    assert_eq!([[16, 9], [4, 9], [2, 9], [16, 8]].map(differences), [(8, false), (4, false), (2, false), (8, false)]);
}

/// Sums over two dims with a kept one between or behind them, as in the optimised LLVM IR of jaxlib 0.10.2.
#[test]
fn rows_may_stand_apart() {
    let lanes = |extents: &[usize], dims: &[usize]| match of(extents, dims, |b, x, _| square(b, x)) {
        SumLoop::Rows(rows) => (rows.lanes, rows.columns),
        _ => (1, 1),
    };
    let inner = |[rows, columns]: [usize; 2]| lanes(&[2, rows, 3, columns], &[1, 3]);
    assert_eq!([[16, 4], [16, 5], [32, 12]].map(inner), [(8, 4), (1, 1), (1, 1)]);
    assert_eq!(lanes(&[8, 8, 8], &[0, 1]), (1, 1));
    assert_eq!(lanes(&[8, 4, 8], &[0, 1]), (8, 4));
    // A group norm, and the norm of an optimizer.
    assert_eq!(lanes(&[2, 8, 8, 8, 4], &[1, 2, 4]), (8, 4));
    assert_eq!(lanes(&[32, 16], &[0, 1]), (1, 1));
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
    // Of up to ten columns LLVM looks at what unrolling saves, but not beside calls.
    assert_eq!((of(10, 26), of(11, 24)), (SumLoop::Chain, SumLoop::Chain));
    assert!(matches!((of(10, 27), of(11, 25)), (SumLoop::Columns(_), SumLoop::Columns(_))));
}

/// Lanes as in the optimised LLVM IR of jaxlib 0.10.2.
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

/// A mean of squares, as in the optimised LLVM IR of jaxlib 0.10.2: both arrays are read at one index, whatever shapes
/// a bitcast gave them before.
#[test]
fn arrays_are_read_as_they_lie() {
    let of_shapes = |wide: &[usize], narrow: &[usize]| {
        rows(of(&[32, 32], &[0, 1], |b, _, _| {
            let wide = b.parameter("wide", DType::F32, wide)?;
            let wide = b.reshape(wide, &[32, 32])?;
            let narrow = b.parameter("narrow", DType::BF16, narrow)?;
            let read = b.convert(narrow, DType::F32)?;
            let read = b.reshape(read, &[32, 32])?;
            let difference = b.binary(Binary::Subtract, wide, read)?;
            square(b, difference)
        }))
    };
    for (wide, narrow) in [([32, 1, 32], [2, 16, 32]), ([32, 32, 1], [32, 4, 8]), ([4, 8, 32], [4, 8, 32])] {
        assert_eq!(of_shapes(&wide, &narrow), (8, false), "{wide:?} {narrow:?}");
    }
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

/// Lanes, registers, lanes for the remainder, and whether the last step is masked, as in jaxlib 0.10.2.
#[test]
fn columns_fill_registers_by_their_number() {
    let columns = |extent: usize| {
        let step = Step { widest: 8, most_registers: 4, operations: 1, leaves_last: false, is_of_sums: false };
        let columns = columns_of(extent, step, |_| 1.0).unwrap();
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

/// A window that cuts an array into parts is a sum over two dims, as the optimised LLVM IR of jaxlib 0.10.2 has it:
/// four rows of eight side by side. With padding its loops have branches.
#[test]
fn windows_of_two_dims_take_rows_side_by_side() {
    let of = |window: [usize; 2], pad: i64| {
        let mut builder = Builder::new("m");
        let x = builder.parameter("x", DType::F32, &[64, 8]).unwrap();
        let sums = builder.cumsum(x, 0).unwrap();
        let mut program = builder.finish(&[("r", sums)]).unwrap();
        let entry = program.entry;
        let computation = &mut program.computations[entry];
        let dims = window.map(|size| WindowDim { stride: size, pad_high: pad, ..WindowDim::of_size(size) });
        let instruction = &mut computation.instructions[sums];
        let Op::ReduceWindow { window, .. } = &mut instruction.op else { panic!("{:?}", instruction.op) };
        *window = Window(dims.to_vec());
        instruction.record(|compiled| compiled.fusion = Some(Fusion::Compiled(0)));
        let products = vec![false; computation.instructions.len()];
        let inner = vec![None; products.len()];
        let loops = find_sum_loops(computation, (&products, &inner, &computation.uses()), |_| true);
        rows(loops[sums]).0
    };
    assert_eq!([of([32, 8], 0), of([32, 1], 0), of([32, 8], 32)], [4, 1, 1]);
}

/// A sum of sums: the loop over terms is not the innermost one, which alone the emitters let LLVM unroll.
#[test]
fn sums_of_sums_take_columns_side_by_side() {
    let sum_loop = of(&[2, 8], &[0], |builder, x, _| {
        let within = builder.reduce(Binary::Add, x, 0.0, &[0])?;
        square(builder, within)
    });
    assert!(matches!(sum_loop, SumLoop::Columns(columns) if columns.lanes == 8), "{sum_loop:?}");
}
