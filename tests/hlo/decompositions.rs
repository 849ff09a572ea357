//! LU and QR decompositions from end to end: small cases by hand, others against a decomposition in f64 written down here, in which
//! the truth, rounded to f64, must lie within what f64 loses.

use ulpgate::hlo::{lower, parse};
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::tensor::{Data, Tensor};

use crate::worlds::{self, program};

const MODE: &str = "cpu/f32/as-compiled";

type Matrix = Vec<Vec<f64>>;

fn shape(dims: &[usize]) -> String {
    format!("f64[{}]", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

fn call(target: &str, config: &str, results: &str, operands: &[&[usize]]) -> String {
    let names: Vec<String> = (0..operands.len()).map(|number| format!("x{number}")).collect();
    let mut text = "HloModule m\n\nENTRY e {\n".to_string();
    for (number, dims) in operands.iter().enumerate() {
        text += &format!("  x{number} = {} parameter({number})\n", shape(dims));
    }
    text + &format!(
        "  ROOT r = {results} custom-call({}), custom_call_target=\"{target}\"{config}\n}}\n",
        names.join(", ")
    )
}

fn given(operands: &[(&[usize], &[f64])]) -> Vec<Tensor> {
    operands.iter().map(|(dims, values)| Tensor::new(dims, Data::F64(values.to_vec()))).collect()
}

/// Results of a call, in the machine's f64 and in truth.
#[track_caller]
fn both(target: &str, config: &str, results: &str, operands: &[(&[usize], &[f64])]) -> [Vec<Vec<f64>>; 2] {
    let dims: Vec<&[usize]> = operands.iter().map(|(dims, _)| *dims).collect();
    worlds::both(MODE, &program(&call(target, config, results, &dims)), &given(operands))
}

#[track_caller]
fn alike(target: &str, results: &str, dims: &[usize], values: &[f64]) -> Vec<Vec<f64>> {
    let [machine, truth] = both(target, "", results, &[(dims, values)]);
    assert_eq!(machine, truth, "{target} of {values:?}");
    machine
}

#[track_caller]
fn near(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() < 1e-13, "{what} at {at}: {got}, not {expected}");
    }
}

/// Numbers between -1 and 1 that look like chance.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn matrix(values: &[f64], columns: usize) -> Matrix {
    values.chunks(columns).map(<[f64]>::to_vec).collect()
}

const SIZES: [[usize; 2]; 6] = [[4, 4], [7, 3], [3, 5], [1, 3], [4, 1], [9, 9]];

/// A column's largest magnitude goes first, whatever its sign, and of equal ones the upper one.
#[test]
fn pivots_are_the_first_of_the_largest_magnitudes() {
    let a = [2.0, 3.0, 1.0, -4.0, 2.0, 2.0, 1.0, 3.5, 7.0];
    let packed = [-4.0, 2.0, 2.0, -0.5, 4.0, 2.0, -0.25, 1.0, 5.5];
    let lapack = alike("lapack_dgetrf_ffi", "(f64[3,3], s32[3], s32[])", &[3, 3], &a);
    assert_eq!(lapack, [&packed[..], &[2.0, 2.0, 3.0], &[0.0]]);
    for target in ["LuDecomposition", "LuDecompositionBlock", "LuRealDecompositionBlock"] {
        let found = alike(target, "(f64[3,3], s32[3], s32[3])", &[3, 3], &a);
        assert_eq!(found, [&packed[..], &[1.0, 1.0, 2.0], &[1.0, 0.0, 2.0]]);
    }
    // Batches have pivots of their own; the last row goes first and the first one takes its place.
    let twice = [1.0, 2.0, 0.0, 8.0, 4.0, 4.0, -2.0, 1.0, 2.0, 8.0, 0.5, 1.0];
    let found = alike("LuDecomposition", "(f64[2,3,2], s32[2,2], s32[2,3])", &[2, 3, 2], &twice);
    assert_eq!(found[0], [4.0, 4.0, 0.0, 8.0, 0.25, 0.125, -2.0, 1.0, -1.0, 9.0, -0.25, 1.25 / 9.0]);
    assert_eq!(found[1..], [[2.0, 1.0, 0.0, 1.0].to_vec(), vec![2.0, 1.0, 0.0, 0.0, 1.0, 2.0]]);
}

/// A column of zeros is left as it is and told of; later ones are decomposed all the same.
#[test]
fn zeros_are_no_pivots() {
    let lapack = alike("lapack_dgetrf_ffi", "(f64[2,2], s32[2], s32[])", &[2, 2], &[0.0, 1.0, 0.0, 2.0]);
    assert_eq!(lapack, [vec![0.0, 1.0, 0.0, 2.0], vec![1.0, 2.0], vec![1.0]]);
    let lapack = alike("lapack_dgetrf_ffi", "(f64[2,2], s32[2], s32[])", &[2, 2], &[1.0, 2.0, 2.0, 4.0]);
    assert_eq!(lapack, [vec![2.0, 4.0, 0.5, 0.0], vec![2.0, 2.0], vec![2.0]]);
}

/// The decomposition in f64, by columns and their dots: another order than the one under test.
fn lu(mut a: Matrix) -> (Matrix, Vec<f64>) {
    let (rows, columns) = (a.len(), a[0].len());
    let mut pivots = Vec::new();
    for j in 0..columns {
        for i in 0..rows {
            let sum: f64 = (0..i.min(j)).map(|k| a[i][k] * a[k][j]).sum();
            a[i][j] -= sum;
        }
        if j >= rows {
            continue;
        }
        let mut pivot = j;
        (j..rows).for_each(|i| {
            if a[i][j].abs() > a[pivot][j].abs() {
                pivot = i
            }
        });
        a.swap(j, pivot);
        pivots.push(pivot as f64);
        for i in j + 1..rows {
            a[i][j] /= a[j][j];
        }
    }
    (a, pivots)
}

#[test]
fn lu_decompositions_are_those_of_another_order() {
    for (seed, [rows, columns]) in SIZES.into_iter().enumerate() {
        let a = numbers(rows * columns, seed as u64);
        let (packed, pivots) = lu(matrix(&a, columns));
        let steps = rows.min(columns);
        let results = format!("({}, s32[{steps}], s32[{rows}])", shape(&[rows, columns]));
        let worlds = both("LuDecomposition", "", &results, &[(&[rows, columns], &a)]);
        for (world, found) in ["the machine", "the truth"].iter().zip(&worlds) {
            let what = format!("{world} of {rows} by {columns}");
            assert_eq!(found[1], pivots, "{what}");
            near(&found[0], &packed.concat(), &what);
        }
    }
}

/// Two magnitudes that are equal for a reason that no proof finds: everything that the pivot's choice touches stays open, and no more.
#[test]
fn a_pivot_whose_choice_is_open_is_not_guessed() {
    let text = "HloModule m\n\nENTRY e {\n  x = f64[1,1] parameter(0)\n  y = f64[1,3] parameter(1)\n  root = f64[1,1] sqrt(x)\n  \
                square = f64[1,1] multiply(root, root)\n  column = f64[2,1] concatenate(x, square), dimensions={0}\n  both = \
                f64[2,3] concatenate(y, y), dimensions={0}\n  a = f64[2,4] concatenate(column, both), dimensions={1}\n  ROOT r = \
                (f64[2,4], s32[2], s32[2]) custom-call(a), custom_call_target=\"LuDecomposition\"\n}\n";
    let program = program(text);
    let ask = |x: f64| {
        let arguments = given(&[(&[1, 1], &[x]), (&[1, 3], &[1.0, 2.0, 3.0])]);
        Oracle::default().evaluate(&program, &arguments, &[Demand::Rounded; 3]).unwrap().outputs
    };
    let outputs = ask(2.0);
    let TruthTensor::Float(packed) = &outputs[0] else { panic!("{outputs:?}") };
    assert_eq!(packed.open, (0..8).collect::<Vec<usize>>());
    let last = TruthTensor::Integer { dims: vec![2], values: vec![None, Some(1)] };
    assert_eq!((&outputs[1], &outputs[2]), (&last, &TruthTensor::Integer { dims: vec![2], values: vec![None, None] }));
    let outputs = ask(4.0);
    let TruthTensor::Float(packed) = &outputs[0] else { panic!("{outputs:?}") };
    assert_eq!((&packed.rounded[..], packed.open.len()), (&[4.0, 1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0][..], 0));
}

/// beta has the other sign than the first element, also than a zero's in LAPACK; a column that is done has no reflector.
#[test]
fn reflectors_are_those_of_lapack() {
    let qr = |target: &str, dims: &[usize], values: &[f64]| {
        let steps = dims[0].min(dims[1]);
        alike(target, &format!("({}, f64[{steps}])", shape(dims)), dims, values)
    };
    let column = [0.0, 2.0, 2.0, -2.0, 2.0];
    for target in ["lapack_dgeqrf_ffi", "Qr", "QrDecompositionBlock"] {
        assert_eq!(qr(target, &[5, 1], &column), [vec![-4.0, 0.5, 0.5, -0.5, 0.5], vec![1.0]]);
        // The other column is (3, 4) turned round: -3 after one step, and one element is left alone.
        assert_eq!(qr(target, &[2, 2], &[0.0, 4.0, 8.0, 3.0]), [vec![-8.0, -3.0, 1.0, -4.0], vec![1.0, 0.0]]);
        assert_eq!(qr(target, &[2, 2], &[3.0, 4.0, 0.0, 5.0]), [vec![3.0, 4.0, 0.0, 5.0], vec![0.0, 0.0]]);
        assert_eq!(qr(target, &[1, 2], &[3.0, 4.0]), [vec![3.0, 4.0], vec![0.0]]);
    }
    let mut minus = column;
    minus[0] = -0.0;
    assert_eq!(qr("lapack_dgeqrf_ffi", &[5, 1], &minus)[0], [4.0, -0.5, -0.5, 0.5, -0.5]);
    assert_eq!(qr("Qr", &[5, 1], &minus)[0], [-4.0, 0.5, 0.5, -0.5, 0.5]);
    let [machine, truth] = both("Qr", "", "(f64[2,1], f64[1])", &[(&[2, 1], &[-3.0, 4.0])]);
    near(&machine.concat(), &[5.0, -0.5, 1.6], "the machine");
    assert_eq!(truth.concat(), [5.0, -0.5, 1.6]);
}

/// Q of packed reflectors, row by row, as a product of matrices.
fn product(packed: &Matrix, taus: &[f64]) -> Matrix {
    let rows = packed.len();
    let mut q: Matrix = (0..rows).map(|i| (0..rows).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for (k, tau) in taus.iter().enumerate() {
        let v: Vec<f64> = (0..rows)
            .map(|i| match i.cmp(&k) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => packed[i][k],
            })
            .collect();
        for row in &mut q {
            let dot: f64 = row.iter().zip(&v).map(|(x, v)| x * v).sum();
            row.iter_mut().zip(&v).for_each(|(x, v)| *x -= tau * dot * v);
        }
    }
    q
}

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    let column = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(x, y)| x * y[j]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|j| column(row, j)).collect()).collect()
}

fn transposed(a: &Matrix) -> Matrix {
    (0..a[0].len()).map(|j| a.iter().map(|row| row[j]).collect()).collect()
}

#[test]
fn qr_decompositions_multiply_to_the_matrix() {
    for (seed, [rows, columns]) in SIZES.into_iter().enumerate() {
        let a = numbers(rows * columns, 100 + seed as u64);
        let steps = rows.min(columns);
        let results = format!("({}, f64[{steps}])", shape(&[rows, columns]));
        let worlds = both("lapack_dgeqrf_ffi", "", &results, &[(&[rows, columns], &a)]);
        for found in &worlds {
            let packed = matrix(&found[0], columns);
            let r: Matrix =
                (0..rows).map(|i| (0..columns).map(|j| if i <= j { packed[i][j] } else { 0.0 }).collect()).collect();
            let q = product(&packed, &found[1]);
            near(&times(&q, &r).concat(), &a, &format!("q r of {rows} by {columns}"));
            near(&times(&transposed(&q), &q).concat(), &product(&packed, &[]).concat(), "q' q");
        }
        near(&worlds[0].concat(), &worlds[1].concat(), "the machine beside the truth");
    }
}

/// Reflectors as a matrix, and from either side, either way, with the products written out; T of several at once.
#[test]
fn reflectors_are_multiplied() {
    let (rows, columns) = (5, 3);
    let packed = matrix(&numbers(rows * columns, 7), columns);
    let taus = [1.25, 0.0, 0.75];
    let q = product(&packed, &taus);
    let first: Matrix = q.iter().map(|row| row[..columns].to_vec()).collect();
    let operands: [(&[usize], &[f64]); 2] = [(&[5, 3], &packed.concat()), (&[3], &taus)];
    for target in ["lapack_dorgqr_ffi", "ProductOfElementaryHouseholderReflectors"] {
        for found in both(target, "", "f64[5,3]", &operands) {
            near(&found[0], &first.concat(), target);
        }
    }
    for (left, transpose) in [(true, true), (true, false), (false, true), (false, false)] {
        let dims = if left { [5, 2] } else { [2, 5] };
        let c = numbers(10, 8);
        let q = if transpose { transposed(&q) } else { q.clone() };
        let expected = if left { times(&q, &matrix(&c, 2)) } else { times(&matrix(&c, 5), &q) };
        let config = format!(", backend_config={{left = {left}, transpose = {transpose}}}");
        let operands = [operands[0], operands[1], (&dims[..], &c[..])];
        for found in both("lapack_dormqr_ffi", &config, &shape(&dims), &operands) {
            near(&found[0], &expected.concat(), &config);
        }
    }
    // V' V above the diagonal, ones on it, times -tau; 1 + V T V' is the product.
    let v: Matrix = (0..rows)
        .map(|i| (0..columns).map(|j| if i > j { packed[i][j] } else { f64::from(u8::from(i == j)) }).collect())
        .collect();
    let dots = times(&transposed(&v), &v);
    let scaled = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => -taus[j] * dots[i][j],
        std::cmp::Ordering::Equal => -taus[j],
        std::cmp::Ordering::Greater => 0.0,
    };
    let given: Vec<f64> = (0..9).map(|at| scaled(at / 3, at % 3)).collect();
    for found in both("CompactWyHelper", "", "f64[3,3]", &[(&[3, 3], &given)]) {
        let mut whole = times(&times(&v, &matrix(&found[0], 3)), &transposed(&v));
        whole.iter_mut().enumerate().for_each(|(i, row)| row[i] += 1.0);
        near(&whole.concat(), &q.concat(), "1 + V T V'");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |text: &str| lower(&parse(text).unwrap()).unwrap_err().to_string();
    let text = call("lapack_dorgqr_ffi", "", "f64[5,3]", &[&[5, 3], &[4]]);
    assert!(refused(&text).contains("taus f64[4] do not fit reflectors f64[5,3]"), "{}", refused(&text));
    let config = ", backend_config={left = true, transpose = false}";
    let text = call("lapack_dormqr_ffi", config, "f64[4,2]", &[&[5, 3], &[3], &[4, 2]]);
    assert!(refused(&text).contains("f64[4,2] does not fit reflectors f64[5,3]"), "{}", refused(&text));
    let why = refused(&text.replace("left = true, ", ""));
    assert!(why.contains("backend_config must say `left = BOOLEAN`"), "{why}");
    let why = refused(&call("lapack_zgetrf_ffi", "", "f64[3,3]", &[&[3, 3]]));
    assert!(why.contains("custom call `lapack_zgetrf_ffi` is not supported") && why.contains("lapack_*getrf"), "{why}");
    let why = refused(&call("Qr", "", "(f64[2000,2000], f64[2000])", &[&[2000, 2000]]));
    assert!(why.contains("a matrix of 1024 rows or columns at most is supported, not f64[2000,2000]"), "{why}");
}

/// Rows that change places and rows that stay, against products; batches, and a system without a solution.
#[test]
fn tridiagonal_systems_are_solved() {
    // By rows: (4, 2), (2, 5, 1), (-8, 1, 2), (3, 4); the first one stays, the others change places.
    let diagonals = [[9.0, 2.0, -8.0, 3.0], [4.0, 5.0, 1.0, 4.0], [2.0, 1.0, 2.0, 9.0]];
    let x = [1.0, -2.0, 3.0, 0.5];
    let row = |i: usize, x: &dyn Fn(usize) -> f64| {
        let [below, on, above] = diagonals.map(|diagonal| diagonal[i]);
        (if i > 0 { below * x(i - 1) } else { 0.0 }) + on * x(i) + if i < 3 { above * x(i + 1) } else { 0.0 }
    };
    let sides: Vec<f64> = (0..4).flat_map(|i| [row(i, &|i| x[i]), row(i, &|i| 2.0 * x[3 - i])]).collect();
    let unknowns: Vec<f64> = (0..4).flat_map(|i| [x[i], 2.0 * x[3 - i]]).collect();
    let results = "(f64[4], f64[4], f64[4], f64[4,2], s32[])";
    let operands = [0, 1, 2].map(|at| (&[4][..], &diagonals[at][..]));
    let operands = [operands[0], operands[1], operands[2], (&[4, 2][..], &sides[..])];
    for found in both("lapack_dgtsv_ffi", "", results, &operands) {
        near(&found[3], &unknowns, "the unknowns");
        // (0, 4, 1) is behind (-8, 1, 2), which leaves (0, 3/2, 1) of it, behind (3, 4).
        assert_eq!((&found[1][..], &found[2][..3]), (&[4.0, -8.0, 3.0, -1.0][..], &[2.0, 1.0, 4.0][..]));
        assert_eq!((&found[0][..], &found[4][..]), (&[9.0, 0.0, 2.0, 3.0][..], &[0.0][..]));
    }
    let two = [1.0, 0.0, 0.0, 3.0, 2.0, 0.0, 4.0, 5.0];
    let results = "(f64[2,2], f64[2,2], f64[2,2], f64[2,2,1], s32[2])";
    let (ones, sides) = ([0.0, 0.0, 0.0, 2.0], [1.0, 2.0, 3.0, 4.0]);
    let operands = [(&[2, 2][..], &ones[..]), (&[2, 2], &two[..4]), (&[2, 2], &two[4..]), (&[2, 2, 1], &sides[..])];
    let dims: Vec<&[usize]> = operands.iter().map(|(dims, _)| *dims).collect();
    let text = program(&call("lapack_dgtsv_ffi", "", results, &dims));
    let found = ulpgate::subject::evaluate(&text, &MODE.parse().unwrap(), &given(&operands)).unwrap();
    // (1, 2; 0, 0) has none, (0, 4; 2, 3) changes its rows.
    assert_eq!((found[4].data().to_i64s(), found[3].data().to_f64s()[2..].to_vec()), (vec![2, 0], vec![0.875, 0.75]));
    let why = lower(&parse(&call("lapack_dgtsv_ffi", "", results, &[&[2], &[2, 2], &[2, 2], &[2, 2, 1]])).unwrap());
    let why = why.unwrap_err().to_string();
    assert!(why.contains("f64[2] is no diagonal of a system of 2 rows"), "{why}");
}
