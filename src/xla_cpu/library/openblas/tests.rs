use super::{cholesky, decompose, solve};
use crate::ir::{Decomposition, Shape, TriangularSystem};
use crate::machine::Value;
use crate::machine::probe::{hash, numbers};
use crate::tensor::DType;

/// A matrix with a heavy diagonal.
fn heavy(rows: usize, by: f32) -> Value {
    let mut matrix = numbers(&mut 1, rows * rows);
    matrix.iter_mut().step_by(rows + 1).for_each(|x| *x += by);
    Value::float(DType::F32, matrix)
}

fn square(rows: usize) -> Shape {
    Shape::array(DType::F32, &[rows, rows])
}

/// The bits of SciPy 1.17.1's OpenBLAS: column by column, in quarters, and in halves for two threads.
#[test]
fn factors_are_those_of_openblas() {
    let expected =
        [(30, 4.0, 0x6fad_c1b2_1bf2_5745), (150, 8.0, 0x99f2_c8d1_6ea5_bd17), (300, 12.0, 0xe466_ffdb_8a96_42c4)];
    for (rows, by, bits) in expected {
        let factor = cholesky(&heavy(rows, by), &square(rows)).into_parts().swap_remove(0);
        assert_eq!(hash(factor.f32s().iter().copied()), bits, "{rows}");
    }
}

/// The same for systems of more than one pass, in every direction.
#[test]
fn long_systems_are_those_of_openblas() {
    let rows = 460;
    let expected = [
        (true, true, true, 0x6a73_a621_a002_5aeb),
        (true, true, false, 0x3531_3f84_0186_149d),
        (true, false, true, 0x6b5b_e24c_f16a_220a),
        (true, false, false, 0x401c_f9a8_7398_95c1),
        (false, true, true, 0x7ab7_a3cb_9d68_5e7f),
        (false, true, false, 0xf0cc_83fe_1f5f_b6da),
        (false, false, true, 0x9d23_fc89_b6ba_a9ab),
        (false, false, false, 0x5351_ee8c_02f6_8b4f),
    ];
    for (is_left, is_lower, is_transposed, bits) in expected {
        let system = TriangularSystem { is_left, is_lower, is_transposed, has_ones: false };
        let sides = Value::float(DType::F32, numbers(&mut 2, 2 * rows));
        let unknowns = solve(&system, &heavy(rows, 12.0), &sides, &square(rows));
        assert_eq!(hash(unknowns.f32s().iter().copied()), bits, "{system:?}");
    }
}

fn arrays(sizes: &[&[usize]], function: Decomposition, operands: &[Value]) -> Vec<Value> {
    let shapes: Vec<Shape> = sizes.iter().map(|dims| Shape::array(DType::F32, dims)).collect();
    let result = decompose(function, operands, &shapes.iter().collect::<Vec<_>>());
    if let Value::Tuple(parts) = result { parts } else { vec![result] }
}

fn one(rows: usize, columns: usize) -> Vec<Value> {
    vec![Value::float(DType::F32, numbers(&mut 1, rows * columns))]
}

fn bits(value: &Value) -> u64 {
    match value {
        Value::Integer(_, values) => hash(values.iter().map(|number| *number as f32)),
        floats => hash(floats.f32s().iter().copied()),
    }
}

/// In blocks, in wide ones, and column by column.
#[test]
fn lu_decompositions_are_those_of_openblas() {
    let expected = [
        ([150, 120], [0x90c6_1fbe_66e3_7c72, 0x4844_216e_11c1_2a85]),
        ([9, 40], [0xaaa7_e634_a748_65c4, 0x3443_0e08_eca0_29bf]),
        ([16, 16], [0x8d8e_0357_a296_66f7, 0x37cd_7764_72ef_6465]),
    ];
    for ([rows, columns], packed_and_pivots) in expected {
        let found = arrays(&[&[rows, columns]], Decomposition::Lu, &one(rows, columns));
        assert_eq!([bits(&found[0]), bits(&found[1])], packed_and_pivots, "{rows} by {columns}");
    }
}

/// With kernels of their own for few rows; the product of the reflectors, and on either side of a matrix.
#[test]
fn qr_decompositions_are_those_of_lapack() {
    let expected = [
        ([8, 32], [0xa5eb_23ff_48e6_c58f, 0x81f4_ad50_60f6_878b]),
        ([5, 28], [0xa178_fe62_6e91_ffac, 0xa42f_b637_b3a9_9f73]),
        ([71, 30], [0xfac4_0f0b_2b36_1f5d, 0x9f73_0df2_aba9_5558]),
        ([71, 60], [0x2e7e_ecb8_3403_b453, 0x2ce5_5cb4_2b17_cb99]),
    ];
    let mut found = Vec::new();
    for ([rows, columns], packed_and_taus) in expected {
        found = arrays(&[&[rows, columns]], Decomposition::Qr, &one(rows, columns));
        assert_eq!([bits(&found[0]), bits(&found[1])], packed_and_taus, "{rows} by {columns}");
    }
    let product = arrays(&[&[71, 60], &[60]], Decomposition::Reflectors, &found);
    assert_eq!(bits(&product[0]), 0xeba9_e407_863e_cb31);
    let reflectors = arrays(&[&[71, 30]], Decomposition::Qr, &one(71, 30));
    let expected = [
        (true, true, [71, 5], 0xfd56_dd4d_c56a_a4a8),
        (true, false, [71, 5], 0x5115_622f_496e_28d0),
        (false, true, [7, 71], 0x86a3_9556_e821_6fa8),
        (false, false, [1, 71], 0x7413_6a0a_6de3_e684),
    ];
    for (is_left, is_transposed, sizes, product) in expected {
        let matrix = Value::float(DType::F32, numbers(&mut 2, sizes[0] * sizes[1]));
        let operands = [&reflectors[..], &[matrix]].concat();
        let function = Decomposition::Multiplication { is_left, is_transposed };
        let found = arrays(&[&[71, 30], &[30], &sizes], function, &operands);
        assert_eq!(bits(&found[0]), product, "{function:?}");
    }
}
