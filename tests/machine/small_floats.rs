//! The floats of eight bits and fewer, against what ml_dtypes makes of them (`scripts/small_floats.py`): all codes, all
//! operands of 16 bits, and all midpoints of f32.

use half::{bf16, f16};
use ulpgate::num::{Direction, FORMATS, Format, find_format, round_f64};

const HASHES: &str = include_str!("../data/small_floats.txt");

/// FNV-1a of 64 bits.
fn fnv(bytes: impl IntoIterator<Item = u8>) -> String {
    let step = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn codes_of(format: &Format) -> impl Iterator<Item = u64> {
    0..1 << format.width()
}

/// The codes of values; a NaN stands for 0.
fn codes(format: &Format, values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let operand = |x: f64| if x.is_nan() { 0.0 } else { x };
    let rounded = |x: f64| round_f64(format, operand(x), Direction::NearestEven);
    values.into_iter().map(|x| format.encode(rounded(x)) as u8).collect()
}

/// f32 numbers at every midpoint of two neighbours and one step beside it, then those below zero.
fn edges(format: &Format) -> Vec<f64> {
    let mut ascending: Vec<f64> =
        codes_of(format).map(|code| format.decode(code).abs()).filter(|v| v.is_finite()).collect();
    ascending.sort_by(f64::total_cmp);
    ascending.dedup();
    let mut middles: Vec<f64> = ascending.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
    let [.., before, last] = ascending[..] else { panic!("{} has two numbers", format.name) };
    middles.push(last + (last - before) / 2.0);
    let near = |x: f32| [x.next_down(), x, x.next_up()];
    let above: Vec<f64> = middles.iter().flat_map(|x| near(*x as f32)).map(f64::from).collect();
    above.iter().copied().chain(above.iter().map(|x| -x)).collect()
}

#[test]
fn every_small_float_is_rounded_as_ml_dtypes_rounds_it() {
    let lines: Vec<Vec<&str>> = HASHES.lines().map(|line| line.split(' ').collect()).collect();
    let formats: Vec<&Format> = lines.iter().map(|line| find_format(line[0]).expect(line[0])).collect();
    for (format, line) in formats.iter().zip(&lines) {
        let own: Vec<f64> = codes_of(format).map(|code| format.decode(code)).collect();
        let bits = own.iter().map(|v| if v.is_nan() { 0x7fc0_0000 } else { (*v as f32).to_bits() });
        let in_all: Vec<u8> = formats.iter().flat_map(|other| codes(other, own.iter().copied())).collect();
        let hashes = [
            fnv(bits.flat_map(u32::to_le_bytes)),
            fnv(codes(format, (0..=u16::MAX).map(|code| bf16::from_bits(code).to_f64()))),
            fnv(codes(format, (0..=u16::MAX).map(|code| f16::from_bits(code).to_f64()))),
            fnv(codes(format, edges(format))),
            fnv(in_all),
        ];
        assert_eq!(hashes.as_slice(), &line[1..], "{}", format.name);
    }
    assert_eq!(formats.len(), FORMATS.iter().filter(|format| format.width() <= 8 && format.name != "toy6").count());
}

/// A code that is a number comes back, and a NaN is one; the only NaN of a format is positive.
#[test]
fn every_code_is_that_of_its_value() {
    for format in FORMATS.iter().filter(|format| format.width() <= 8) {
        for code in codes_of(format) {
            let value = format.decode(code);
            let back = format.encode(value);
            assert!(back == code || value.is_nan() && format.decode(back).is_nan(), "{} {code:#x}", format.name);
            assert!(format.contains(value) && format.contains(format.decode(back)), "{} {code:#x}", format.name);
        }
    }
    for name in ["f8e4m3fnuz", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e8m0fnu"] {
        let format = find_format(name).unwrap();
        assert!(format.decode(format.encode(-f64::NAN)).is_sign_positive(), "{name}");
        // The code of -0 is that of NaN elsewhere.
        assert!(!format.contains(0.0) || format.encode(-0.0) == 0, "{name}");
    }
}

/// Cases that ml_dtypes does not cover: values beyond f32, between midpoints of f32, and toward zero.
#[test]
fn powers_of_two_have_no_zero() {
    let format = find_format("f8e8m0fnu").unwrap();
    let nearest = |x: f64| round_f64(format, x, Direction::NearestEven);
    for nan in [0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.5 * 2f64.powi(127), -1e-300] {
        assert!(nearest(nan).is_nan(), "{nan}");
    }
    for (x, expected) in [
        (1e-300, 2f64.powi(-127)),
        (1.1 * 2f64.powi(-127), 2f64.powi(-126)),
        (0.75, 1.0),
        (1.5, 2.0),
        (1.5f64.next_down(), 1.0),
        (3.0, 4.0),
    ] {
        assert_eq!(nearest(x), expected, "{x}");
    }
    assert_eq!(round_f64(format, 1.9, Direction::TowardZero), 1.0);
    assert_eq!(round_f64(format, 1e300, Direction::TowardZero), 2f64.powi(127));
}
