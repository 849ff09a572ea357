use super::{cholesky, solve};
use crate::ir::{Shape, TriangularSystem};
use crate::machine::probe::{hash, numbers};
use crate::machine::value::Value;
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
