//! glibc's `atan2f`, `cbrtf` and `tanf` up to 2.40, which XLA:CPU calls: Sun's fdlibm in f32, without fused multiply-adds
//! (`sysdeps/ieee754/flt-32/`: `e_atan2f.c`, `s_atanf.c`, `s_cbrtf.c`, `s_tanf.c`, `k_tanf.c`, `e_rem_pio2f.c`, the last with
//! the reduction of `sinf`). Newer ones are correctly rounded. Subnormals are flushed where they meet arithmetic, as the
//! processor flushes them there.
//!
//! The functions that are Sun's come with this notice: Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
//! Developed at SunPro, a Sun Microsystems, Inc. business. Permission to use, copy, modify, and distribute this software is
//! freely granted, provided that this notice is preserved.

use crate::num::flush_f32;

use super::glibc::less_half_pis;

const fn bits(code: u32) -> f32 {
    f32::from_bits(code)
}

/// pi, and what it lacks.
const PI: f32 = bits(0x4049_0fdb);
const PI_LOW: f32 = bits(0xb3bb_bd2e);
const HALF_PI: f32 = bits(0x3fc9_0fdb);

pub fn arc_tangent_of_quotient(y: f32, x: f32) -> f32 {
    const TINY: f32 = 1e-30;
    if x.is_nan() || y.is_nan() {
        return f32::NAN;
    }
    if x == 1.0 {
        return arc_tangent(y);
    }
    let [hx, hy] = [x, y].map(f32::to_bits);
    let [ix, iy] = [hx, hy].map(|code| (code & 0x7fff_ffff) as i32);
    let behind = |angle: f32| if y.is_sign_negative() { -angle } else { angle };
    let negative = x.is_sign_negative();
    if iy == 0 {
        return if negative { behind(PI) } else { y };
    }
    if ix == 0 {
        return behind(HALF_PI);
    }
    if x.is_infinite() {
        return match (y.is_infinite(), negative) {
            (true, false) => behind(bits(0x3f49_0fdb)),
            (true, true) => behind(3.0 * bits(0x3f49_0fdb) + TINY),
            (false, false) => behind(0.0),
            (false, true) => behind(PI + TINY),
        };
    }
    if y.is_infinite() {
        return behind(HALF_PI);
    }
    let apart = (iy - ix) >> 23;
    let z = if apart > 60 {
        HALF_PI + 0.5 * PI_LOW
    } else if negative && apart < -60 {
        0.0
    } else {
        arc_tangent(flush_f32(flush_f32(y) / flush_f32(x)).abs())
    };
    match (negative, y.is_sign_negative()) {
        (false, false) => z,
        (false, true) => -z,
        (true, false) => PI - (z - PI_LOW),
        (true, true) => (z - PI_LOW) - PI,
    }
}

fn arc_tangent(x: f32) -> f32 {
    const HIGH: [u32; 4] = [0x3eed_6338, 0x3f49_0fda, 0x3f7b_985e, 0x3fc9_0fda];
    const LOW: [u32; 4] = [0x31ac_3769, 0x3322_2168, 0x3314_0fb4, 0x33a2_2168];
    const A: [u32; 11] = [
        0x3eaa_aaab,
        0xbe4c_cccd,
        0x3e12_4925,
        0xbde3_8e38,
        0x3dba_2e6e,
        0xbd9d_8795,
        0x3d88_6b35,
        0xbd6e_f16b,
        0x3d4b_da59,
        0xbd15_a221,
        0x3c85_69d7,
    ];
    let code = x.to_bits() & 0x7fff_ffff;
    if x.is_nan() {
        return f32::NAN;
    }
    if code >= 0x4c00_0000 {
        return (bits(HIGH[3]) + bits(LOW[3])).copysign(x);
    }
    if code < 0x3100_0000 {
        return x;
    }
    let v = x.abs();
    let (part, t) = match code {
        ..0x3ee0_0000 => (None, x),
        0x3ee0_0000..0x3f30_0000 => (Some(0), (2.0 * v - 1.0) / (2.0 + v)),
        0x3f30_0000..0x3f98_0000 => (Some(1), (v - 1.0) / (v + 1.0)),
        0x3f98_0000..0x401c_0000 => (Some(2), (v - 1.5) / (1.0 + 1.5 * v)),
        _ => (Some(3), -1.0 / v),
    };
    let z = t * t;
    let w = z * z;
    // Those of even and of odd powers go side by side.
    let side = |from: usize| A[from..].iter().step_by(2).rev().map(|a| bits(*a)).reduce(|sum, a| a + w * sum);
    let [even, odd] = [side(0), side(1)].map(Option::unwrap_or_default);
    let tail = t * (z * even + w * odd);
    match part {
        None => t - tail,
        Some(part) => (bits(HIGH[part]) - ((tail - bits(LOW[part])) - t)).copysign(x),
    }
}

pub fn cube_root(x: f32) -> f32 {
    const CBRT2: f64 = 1.259_921_049_894_873_2;
    const SQUARE: f64 = 1.587_401_051_968_199_5;
    const FACTORS: [f64; 5] = [1.0 / SQUARE, 1.0 / CBRT2, 1.0, CBRT2, SQUARE];
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    if x.is_subnormal() {
        // Scaled to be normal it is zero, whose exponent the function goes on with.
        return bits(0xa621_4518);
    }
    let code = x.to_bits() & 0x7fff_ffff;
    let exponent = (code >> 23) as i32 - 126;
    let significand = bits(code & 0x007f_ffff | 0x3f00_0000);
    let m = f64::from(significand);
    let u = (0.492_659_620_528_969_55 + (0.697_570_460_207_922_8 - 0.191_502_161_678_719_07 * m) * m) as f32;
    let cube = f64::from(u * u * u);
    let factor = FACTORS[(2 + exponent % 3) as usize];
    let root = (f64::from(u) * (cube + 2.0 * m) / (2.0 * cube + m) * factor) as f32;
    (root * bits(((exponent / 3 + 127) as u32) << 23)).copysign(x)
}

pub fn tangent(x: f32) -> f32 {
    let code = x.to_bits() & 0x7fff_ffff;
    if !x.is_finite() {
        return f32::NAN;
    }
    if code <= 0x3f49_0fda {
        return tangent_near_zero(x, 0.0, false);
    }
    // Halves of pi are taken away in f64, as for the sine, and what is left is cut in two.
    let (left, n) = less_half_pis(x);
    let high = left as f32;
    tangent_near_zero(high, (left - f64::from(high)) as f32, n & 1 != 0)
}

/// tan(x + y) for |x| up to pi/4, or -1 / tan(x + y).
fn tangent_near_zero(mut x: f32, mut y: f32, inverted: bool) -> f32 {
    const T: [u32; 13] = [
        0x3eaa_aaab,
        0x3e08_8889,
        0x3d5d_0dd1,
        0x3cb3_27a4,
        0x3c11_371f,
        0x3b6b_6916,
        0x3abe_de48,
        0x3a1a_26c8,
        0x3981_37b9,
        0x38a3_f445,
        0x3895_c07a,
        0xb79b_ae5f,
        0x37d9_5384,
    ];
    let (sign, code) = (if x.is_sign_negative() { -1.0 } else { 1.0 }, x.to_bits() & 0x7fff_ffff);
    if code < 0x3980_0000 {
        return if inverted { -1.0 / x } else { x };
    }
    let kind: f32 = if inverted { -1.0 } else { 1.0 };
    let beyond = code >= 0x3f2c_a140;
    if beyond {
        if sign < 0.0 {
            (x, y) = (-x, -y);
        }
        let (z, w) = (bits(0x3f49_0fda) - x, bits(0x3322_2168) - y);
        (x, y) = (z + w, 0.0);
        if x.abs() < 2f32.powi(-13) {
            return sign * kind * (1.0 - 2.0 * kind * x);
        }
    }
    let z = x * x;
    let w = z * z;
    let side = |from: usize| T[from..].iter().step_by(2).rev().map(|t| bits(*t)).reduce(|sum, t| t + w * sum);
    let r = side(1).unwrap_or_default();
    let v = z * side(2).unwrap_or_default();
    let s = z * x;
    let r = y + z * (s * (r + v) + y) + bits(T[0]) * s;
    let w = x + r;
    if beyond {
        return sign * (kind - 2.0 * (x - (w * w / (w + kind) - r)));
    }
    if !inverted {
        return w;
    }
    // -1 / (x + r), from parts that are short.
    let short = |v: f32| bits(v.to_bits() & 0xffff_f000);
    let z = short(w);
    let v = r - (z - x);
    let a = -1.0 / w;
    let t = short(a);
    t + a * ((1.0 + t * z) + t * v)
}
