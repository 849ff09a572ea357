use super::{Column, Mover};
use crate::ir::{Op, movement};
use crate::isa::CHUNK;

/// Columns of every kind of run, all of different values.
fn columns() -> Vec<Column<f64>> {
    let values = |count: usize| (0..count).map(|i| i as f64 + 1.0).collect::<Vec<f64>>();
    let mut all = vec![Column::same(7.0, 5), Column::same(7.0, 1000), Column::same(7.0, 0), Column::new(Vec::new())];
    for (count, run) in [(1, 1), (63, 1), (64, 1), (65, 1), (1000, 1), (300, 3), (5, 63), (5, 64), (5, 65), (4, 200)] {
        all.push(Column::runs(values(count), run));
    }
    all
}

/// However values are stored, the elements are the same to all that read them.
#[test]
fn runs_are_seen_by_nobody() {
    for column in columns() {
        let dense = column.to_vec();
        assert_eq!(column.len(), dense.len());
        assert!((0..dense.len()).all(|at| *column.at(at) == dense[at]));
        assert_eq!(column.map(|v| v + 0.5).to_vec(), dense.iter().map(|v| v + 0.5).collect::<Vec<f64>>());
        for start in (0..dense.len()).step_by(CHUNK) {
            let mut out = [-1.0; CHUNK];
            column.load(start, &mut out);
            let count = CHUNK.min(dense.len() - start);
            assert_eq!(out[..count], dense[start..start + count], "run {} from {start}", column.run());
            // What is behind the last is of no matter, but a number as all the others.
            assert!(out[count..].iter().all(|v| *v == -1.0 || dense.contains(v)));
        }
        for range in [0..0, 0..dense.len(), dense.len() / 3..dense.len(), 1..dense.len() / 2, 2..130] {
            if range.end > dense.len() || range.start > range.end {
                continue;
            }
            let mut expected = vec![99.0];
            expected.extend_from_slice(&dense[range.clone()]);
            for start in (0..expected.len()).step_by(CHUNK) {
                let mut out = [-1.0; CHUNK];
                column.load_range(&range, start, 99.0, &mut out);
                let count = CHUNK.min(expected.len() - start);
                assert_eq!(out[..count], expected[start..start + count], "run {}, {range:?} {start}", column.run());
                assert!(out[count..].iter().all(|v| *v == 0.0), "run {}, {range:?} {start}", column.run());
            }
        }
        let positions: Vec<usize> = (0..dense.len()).rev().step_by(3).collect();
        let picked = column.pick(&positions);
        assert_eq!(picked.to_vec(), positions.iter().map(|at| dense[*at]).collect::<Vec<f64>>());
    }
}

#[test]
fn two_columns_are_tested_element_by_element() {
    let all = columns();
    for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))).filter(|(a, b)| a.len() == b.len()) {
        let (p, q) = (a.to_vec(), b.to_vec());
        for limit in [0.0, 3.0, 1001.0, 1e9] {
            let test = |x: f64, y: f64| x * y < limit;
            let expected: Vec<usize> = (0..p.len()).filter(|at| test(p[*at], q[*at])).collect();
            assert_eq!(a.all_with(b, test), expected.len() == p.len());
            assert_eq!(a.positions_with(b, test), expected);
        }
    }
}

/// A column of one repeated value stays one value when elements are moved: arrays of a parameter cost nothing.
#[test]
fn one_value_stays_one() {
    let same = Column::same(7.0, 1000);
    assert_eq!(same.pick(&[3, 5, 9]).values(), [7.0]);
    assert!(same.is_shared_with(&same.clone()) && !same.is_shared_with(&Column::same(7.0, 1000)));
    let moved = |source: &Column<f64>, op: Op, dims: &[usize], out_dims: &[usize]| {
        Mover { op: &op, dims: vec![dims], starts: &[], starts_dims: &[], out_dims }.apply(&[source])
    };
    for op in [Op::Reshape, Op::Copy, Op::OptimizationBarrier] {
        assert!(moved(&same, op, &[1000], &[10, 100]).is_shared_with(&same));
    }
    let scalar = Column::new(vec![7.0]);
    let spread = moved(&scalar, Op::Broadcast { dims: vec![] }, &[], &[10, 100]);
    assert_eq!((spread.values(), spread.run()), (&[7.0][..], 1000));
    // Spread as well as it is, it is another column than the one it came from.
    assert!(!spread.is_shared_with(&scalar));
    let rows = Column::new(vec![1.0, 2.0]);
    let spread = moved(&rows, Op::Broadcast { dims: vec![0] }, &[2], &[2, 50]);
    assert_eq!((spread.values(), spread.run()), (&[1.0, 2.0][..], 50));
    let spread = moved(&same, Op::Broadcast { dims: vec![1] }, &[1000], &[2, 1000]);
    assert_eq!((spread.values(), spread.run()), (&[7.0][..], 2000));
}

#[test]
fn movements_of_columns_are_those_of_elements() {
    let broadcast = |dims: &[usize]| Op::Broadcast { dims: dims.to_vec() };
    let cases = [
        (broadcast(&[]), vec![], vec![6]),
        (broadcast(&[0]), vec![3], vec![3, 3]),
        (broadcast(&[1]), vec![3], vec![3, 3]),
        (broadcast(&[0, 1]), vec![3, 2], vec![3, 2, 4]),
        (broadcast(&[0, 2]), vec![3, 3], vec![3, 3, 3]),
        (broadcast(&[1, 2]), vec![3, 3], vec![3, 3, 3]),
        (broadcast(&[0]), vec![3], vec![3, 0]),
        (broadcast(&[0]), vec![0], vec![0, 3]),
        (broadcast(&[1]), vec![1], vec![4, 1]),
        (Op::Reshape, vec![3, 2], vec![6]),
        (Op::Reshape, vec![0, 2], vec![0]),
        (Op::Transpose { permutation: vec![1, 0] }, vec![4, 3], vec![3, 4]),
        (Op::Reverse { dims: vec![0] }, vec![4, 3], vec![4, 3]),
    ];
    for (op, dims, out_dims) in cases {
        let count: usize = dims.iter().product();
        let values: Vec<f64> = (0..count).map(|i| i as f64).collect();
        let mut sources = vec![Column::new(values.clone()), Column::same(5.0, count)];
        if count.is_multiple_of(3) && count > 0 {
            sources.push(Column::runs(values[..count / 3].to_vec(), 3));
        }
        for source in sources {
            let mover = Mover { op: &op, dims: vec![&dims], starts: &[], starts_dims: &[], out_dims: &out_dims };
            let moved = mover.apply(&[&source]);
            let dense = source.to_vec();
            let expected = movement::apply(&op, &[(dense.as_slice(), dims.as_slice())], &[], &[], &out_dims);
            assert_eq!(moved.to_vec(), expected, "{op:?} {dims:?} {out_dims:?}");
            assert!(moved.run() > 0, "{op:?} {dims:?} {out_dims:?}");
        }
    }
}

/// Whatever part of a chunk a run takes, and wherever in one it begins.
#[test]
fn chunks_of_all_runs_are_those_of_elements() {
    for run in 2..150 {
        let column = Column::runs((0..60).map(f64::from).collect(), run);
        let dense = column.to_vec();
        for start in (0..dense.len()).step_by(CHUNK) {
            let mut out = [-1.0; CHUNK];
            column.load(start, &mut out);
            let count = CHUNK.min(dense.len() - start);
            assert_eq!(out[..count], dense[start..start + count], "run {run} from {start}");
        }
    }
}

/// From any start, not only where a chunk ends.
#[test]
fn ranges_are_loaded_from_anywhere() {
    let column = Column::new((0..200).map(f64::from).collect());
    for end in 5..200 {
        let mut expected = vec![99.0];
        expected.extend_from_slice(&column.values()[5..end]);
        for start in 0..expected.len() {
            let mut out = [-1.0; CHUNK];
            column.load_range(&(5..end), start, 99.0, &mut out);
            let count = CHUNK.min(expected.len() - start);
            assert_eq!(out[..count], expected[start..start + count], "to {end} from {start}");
            assert!(out[count..].iter().all(|v| *v == 0.0), "to {end} from {start}");
        }
    }
}

#[test]
fn a_range_lies_in_one_run_or_in_several() {
    for column in columns() {
        let run = |at: usize| at / column.run();
        for (start, end) in
            [(0, 0), (2, 2), (0, 1), (0, 3), (1, 3), (2, 5), (3, 6), (60, 65), (63, 64), (64, 65), (7, 14)]
        {
            let expected = start < end && run(start) == run(end - 1);
            assert_eq!(column.is_one_run(&(start..end)), expected, "{start}..{end} in runs of {}", column.run());
        }
    }
}
