//! Equality and storage by bits.

use super::*;

/// Values that compare equal as numbers need not be the same: 1 / +0 is not 1 / -0.
#[test]
fn equal_tensors_have_equal_bits() {
    let f32s = |values: &[f32]| Tensor::new(&[values.len()], Data::F32(values.to_vec()));
    assert_ne!(f32s(&[0.0, 1.0]), f32s(&[-0.0, 1.0]));
    assert_eq!(f32s(&[f32::NAN]), f32s(&[f32::NAN]));
    assert_ne!(f32s(&[f32::NAN]), f32s(&[-f32::NAN]));
    assert_ne!(Tensor::new(&[1], Data::S32(vec![1])), Tensor::new(&[1], Data::U32(vec![1])));
}

/// The shortcuts of `from_f64s` against the codes of the format, NaNs with their signs included.
#[test]
fn floats_are_stored_by_their_codes() {
    let nan = f64::from_bits(0x7ff8_0000_0000_0000);
    for dtype in [DType::F32, DType::BF16, DType::F16, DType::F8E5M2] {
        let Some(format) = dtype.format() else { continue };
        let edges = [0.0, 1e-45, 1e-40, 1e-38, 1.0 / 3.0, 1.0, 65519.0, 3.4e38, 1e39, f64::INFINITY, nan];
        let values: Vec<f64> = edges.into_iter().flat_map(|v| [v, -v]).collect();
        let Some(data) = Data::from_f64s(dtype, &values) else { continue };
        for (i, value) in values.iter().enumerate() {
            let expected = format.encode(num::round_f64(format, *value, Direction::NearestEven));
            assert_eq!(data.bits(i), expected, "{dtype} {value:e}");
        }
    }
}
