//! glibc's `sinf` and `cosf`, which XLA:CPU calls: those of ARM's optimized routines (glibc 2.28 and later,
//! `sysdeps/ieee754/flt-32/s_sincosf.h`), as compiled with fused multiply-adds. With them all 6144 results of a rotation by
//! products of complex numbers come out as jaxlib 0.10.2 computed them; correctly rounded ones differ in 51.

/// 2^24 times 2/pi, and pi/2.
const INVERSE: f64 = f64::from_bits(0x4164_5f30_6dc9_c883);
const HALF_PI: f64 = std::f64::consts::FRAC_PI_2;

/// Below this no argument is reduced: pi/4 by its first twelve bits.
const SMALL: u32 = 0x3f4;
/// From here on an argument is reduced by all the bits of 2/pi: 120.
const LARGE: u32 = 0x42f;

/// The first twelve bits of |y|, sign left out.
fn top(y: f32) -> u32 {
    y.to_bits() >> 20 & 0x7ff
}

#[inline(always)]
pub fn sine(y: f32) -> f32 {
    // Below 2^-12 it is y.
    if top(y) < 0x398 { y } else { at_quadrant(y, 0) }
}

#[inline(always)]
pub fn cosine(y: f32) -> f32 {
    if top(y) < 0x398 { 1.0 } else { at_quadrant(y, 1) }
}

/// sin(y + quadrant pi/2).
#[inline(always)]
fn at_quadrant(y: f32, quadrant: i32) -> f32 {
    let x = f64::from(y);
    if top(y) < SMALL {
        polynomial(x, x * x, quadrant, false)
    } else if top(y) < LARGE {
        let n = ((x * INVERSE) as i32 + 0x80_0000) >> 24;
        let x = (-f64::from(n)).mul_add(HALF_PI, x);
        turned(x, n, n, quadrant)
    } else if y.is_finite() {
        let (x, n) = reduce_large(y.to_bits());
        turned(x, n, n + (y.to_bits() >> 31) as i32 * (1 - quadrant), quadrant)
    } else {
        f32::NAN
    }
}

/// Remainder of a number modulo half of pi, without fused multiply-adds, and the number of halves of pi subtracted.
pub(super) fn less_half_pis(y: f32) -> (f64, i32) {
    let x = f64::from(y);
    if top(y) < LARGE {
        let n = ((x * INVERSE) as i32 + 0x80_0000) >> 24;
        return (x - f64::from(n) * HALF_PI, n);
    }
    let (left, n) = reduce_large(y.to_bits());
    (if y < 0.0 { -left } else { left }, n)
}

/// The value `n` quadrants on; `turn` decides signs.
#[inline(always)]
fn turned(x: f64, n: i32, turn: i32, quadrant: i32) -> f32 {
    let sign = if matches!(turn & 3, 1 | 2) { -1.0 } else { 1.0 };
    polynomial(x * sign, x * x, n ^ quadrant, turn & 2 != 0)
}

/// sin(x) where `n` is even, cos(x) where it is odd, the latter negated on demand.
#[inline(always)]
fn polynomial(x: f64, square: f64, n: i32, negated: bool) -> f32 {
    const S: [f64; 3] = [
        f64::from_bits(0xbfc5_5554_5995_a603),
        f64::from_bits(0x3f81_1076_0523_0bc4),
        f64::from_bits(0xbf29_94eb_3774_cf24),
    ];
    const C: [f64; 5] = [
        1.0,
        f64::from_bits(0xbfdf_ffff_fd0c_621c),
        f64::from_bits(0x3fa5_5553_e106_8f19),
        f64::from_bits(0xbf56_c087_e89a_359d),
        f64::from_bits(0x3ef9_9343_027b_f8c3),
    ];
    if n & 1 == 0 {
        let cube = x * square;
        let high = square.mul_add(S[2], S[1]);
        (cube * square).mul_add(high, cube.mul_add(S[0], x)) as f32
    } else {
        let c = C.map(|c| if negated { -c } else { c });
        let fourth = square * square;
        let high = square.mul_add(c[4], c[3]);
        (fourth * square).mul_add(high, fourth.mul_add(c[2], square.mul_add(c[1], c[0]))) as f32
    }
}

/// An argument of any size, by 96 bits of 2/pi: what is left of it, and the quadrant.
fn reduce_large(bits: u32) -> (f64, i32) {
    const INVERSE_BITS: [u32; 24] = [
        0xa2, 0xa2f9, 0xa2f983, 0xa2f9836e, 0xf9836e4e, 0x836e4e44, 0x6e4e4415, 0x4e441529, 0x441529fc, 0x1529fc27,
        0x29fc2757, 0xfc2757d1, 0x2757d1f5, 0x57d1f534, 0xd1f534dd, 0xf534ddc0, 0x34ddc0db, 0xddc0db62, 0xc0db6295,
        0xdb629599, 0x6295993c, 0x95993c43, 0x993c4390, 0x3c439041,
    ];
    let at = (bits >> 26 & 15) as usize;
    let significand = (bits & 0x00ff_ffff | 0x0080_0000) << (bits >> 23 & 7);
    let product = |i: usize| u64::from(significand).wrapping_mul(u64::from(INVERSE_BITS[at + i]));
    let high = u64::from(significand.wrapping_mul(INVERSE_BITS[at]));
    let fixed = (product(8) >> 32 | high << 32).wrapping_add(product(4));
    let n = fixed.wrapping_add(1 << 61) >> 62;
    let left = fixed.wrapping_sub(n << 62) as i64;
    // pi / 2^63.
    (left as f64 * f64::from_bits(0x3c19_21fb_5444_2d18), n as i32)
}

#[cfg(test)]
mod tests {
    use super::{cosine, sine};
    use crate::machine::probe::{hash, of_all_sizes};

    /// FNV-1a over the bits that glibc 2.36 gives for 30,000 arguments of all sizes.
    #[test]
    fn all_bits_are_those_of_glibc() {
        let of = |function: fn(f32) -> f32| hash(of_all_sizes(30_000).into_iter().map(function));
        assert_eq!([of(sine), of(cosine)], [0xb3bd_ad30_b7cd_ef0a, 0xfd15_2c10_e95f_f980]);
        assert!(sine(f32::INFINITY).is_nan() && cosine(f32::NAN).is_nan() && sine(-0.0).is_sign_negative());
    }
}
