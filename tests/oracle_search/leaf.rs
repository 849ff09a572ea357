//! Operands: ordinary numbers mixed with those at which arithmetic has edges.

use ulpgate::tensor::{DType, Data};

use super::draw::Draw;

/// The code of the nearest value of a float type.
pub fn code(dtype: DType, value: f64) -> u64 {
    Data::from_f64s(dtype, &[value]).map_or(0, |data| data.bits(0))
}

/// The code of one.
pub fn one_of(dtype: DType) -> u64 {
    if dtype.is_float() { code(dtype, 1.0) } else { 1 }
}

/// Codes of `count` elements.
pub fn codes(draw: &mut Draw, dtype: DType, count: usize) -> Vec<u64> {
    if dtype == DType::Pred {
        return (0..count).map(|_| draw.below(2) as u64).collect();
    }
    if !dtype.is_float() {
        return integers(draw, dtype, count);
    }
    let style = draw.below(12);
    let base = one(draw, dtype, 1);
    let mask = u64::MAX >> (64 - dtype.bits());
    (0..count)
        .map(|i| {
            mask & match style {
                // A constant row, with an odd element now and then.
                4 => {
                    if draw.rarely(12) {
                        one(draw, dtype, 3)
                    } else {
                        base
                    }
                }
                // Neighbours and ties.
                5 => base.wrapping_add(draw.below(3) as u64),
                // What cancels.
                6 => {
                    if i % 2 == 0 {
                        base
                    } else {
                        base ^ 1 << (dtype.bits() - 1)
                    }
                }
                3 => {
                    let style = draw.of(&[1, 2]);
                    one(draw, dtype, style)
                }
                style => one(draw, dtype, style),
            }
        })
        .collect()
}

/// One element in one of the styles.
fn one(draw: &mut Draw, dtype: DType, style: usize) -> u64 {
    let sign = 1u64 << (dtype.bits() - 1);
    let format = dtype.format();
    let fraction_bits = format.map_or(0, |f| f.fraction_bits);
    match style {
        0 => code(dtype, draw.of(&[0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -0.0, 0.5, 7.0, -5.0, 10.0, 61.0])),
        2 => special(draw, dtype),
        // Neighbours of powers of two.
        7 => {
            let power = code(dtype, 2f64.powi(draw.below(25) as i32 - 12));
            let near = power.wrapping_add(draw.below(3) as u64).wrapping_sub(1);
            near | if draw.rarely(3) { sign } else { 0 }
        }
        // Any bits at all.
        8 => draw.bits(dtype.bits()),
        // Large arguments.
        9 => {
            let large = draw.of(&[50.0, 88.7, 104.0, 150.0, 709.8, 745.2, 800.0, 1e4, 1e10, 1e30, 36.8, 300.0]);
            code(dtype, if draw.rarely(2) { -large } else { large })
        }
        // Subnormal numbers.
        10 => {
            let fraction = draw.bits(fraction_bits.max(1));
            fraction | if draw.rarely(2) { sign } else { 0 }
        }
        11 => code(dtype, draw.of(&[1.0, -1.0])),
        _ => {
            let mantissa = 1.0 + draw.bits(32) as f64 / 2f64.powi(32);
            let value = mantissa * 2f64.powi(draw.below(9) as i32 - 5);
            code(dtype, if draw.rarely(2) { -value } else { value })
        }
    }
}

fn special(draw: &mut Draw, dtype: DType) -> u64 {
    let sign = 1u64 << (dtype.bits() - 1);
    let Some(format) = dtype.format() else { return 0 };
    let infinity = code(dtype, f64::INFINITY);
    let one = code(dtype, 1.0);
    let magnitude = match draw.below(14) {
        0 => 0,
        1 => infinity,
        2 => code(dtype, f64::NAN),
        // A NaN with bits in its payload: a signalling one where the first of them is not set.
        3 if format.has_infinities() => {
            code(dtype, f64::NAN) & !(1u64 << (format.fraction_bits - 1)) | 1 | draw.bits(format.fraction_bits) >> 1
        }
        4 => 1,
        5 => code(dtype, format.max_finite()),
        6 => code(dtype, format.min_normal()),
        7 => code(dtype, format.min_normal()).saturating_sub(1),
        8 => one,
        9 => one + 1,
        10 => one - 1,
        11 => code(dtype, 0.5),
        12 => code(dtype, 2.0),
        _ => code(dtype, 1e-7),
    };
    magnitude | if draw.rarely(2) { sign } else { 0 }
}

fn integers(draw: &mut Draw, dtype: DType, count: usize) -> Vec<u64> {
    let mask = u64::MAX >> (64 - dtype.bits());
    let style = draw.below(4);
    (0..count)
        .map(|_| {
            let value = match style {
                0 => draw.below(8) as u64,
                1 => (draw.below(16) as u64).wrapping_sub(8),
                2 => {
                    let top = 1u64 << (dtype.bits() - 1);
                    let edge = draw.of(&[0, 1, u64::MAX, top, top - 1, top + 1, 1 << 53, (1 << 53) + 1, 1 << 24, 255]);
                    edge.wrapping_add(draw.below(3) as u64)
                }
                _ => draw.bits(64),
            };
            value & mask
        })
        .collect()
}
