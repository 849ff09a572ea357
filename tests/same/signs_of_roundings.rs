//! Comparisons with zero: a rounding to bf16 keeps the sign of what is no subnormal, and makes no zero of it.

use super::{ask, is_same};

/// A product that is compared with a number, rounded to bf16 first or not.
fn compared(rounds: bool, direction: &str, with: &str) -> String {
    let (rounded, read) = match rounds {
        true => ("  r = f32[8] reduce-precision(m), exponent_bits=8, mantissa_bits=7\n", "r"),
        false => ("", "m"),
    };
    format!(
        "HloModule m, is_scheduled=true\n\nENTRY e {{\n  x = f32[8] parameter(0)\n  y = f32[8] parameter(1)\n  \
         m = f32[8] multiply(x, y)\n{rounded}  c = f32[] constant({with})\n  z = f32[8] broadcast(c), dimensions={{}}\n  \
         ROOT p = pred[8] compare({read}, z), direction={direction}\n}}\n"
    )
}

fn is_the_same(mode: &str, direction: &str, with: &str) -> bool {
    is_same(&ask(&compared(false, direction, with), &compared(true, direction, with), mode, &[]))
}

#[test]
fn a_rounding_keeps_the_sign_of_what_is_no_subnormal() {
    for direction in ["EQ", "NE", "LT", "LE", "GT", "GE"] {
        for zero in ["0", "-0"] {
            assert!(is_the_same("v5e/default/as-compiled", direction, zero), "{direction} {zero}");
        }
    }
    // With another number than zero the rounding shows, and so it does with subnormals.
    assert!(!is_the_same("v5e/default/as-compiled", "LT", "1"));
    assert!(!is_the_same("cpu/f32/as-compiled", "NE", "0"));
}
