//! glibc's `powf`, which XLA:CPU calls: that of ARM's optimized routines (glibc 2.28 and later, `sysdeps/ieee754/flt-32/`
//! `e_powf.c`; its tables are under the MIT licence), as compiled with fused multiply-adds, and as it runs where subnormals
//! are flushed: x is raised from 2^-150 where it is subnormal.

/// 1/c and log2(c) for the middles of sixteen intervals of a significand.
const LOG2: [[u64; 2]; 16] = [
    [0x3ff6_61ec_79f8_f3be, 0xbfde_fec6_5b96_3019],
    [0x3ff5_71ed_4aaf_883d, 0xbfdb_0b68_32d4_fca4],
    [0x3ff4_9539_f0f0_10b0, 0xbfd7_418b_0a1f_b77b],
    [0x3ff3_c995_b0b8_0385, 0xbfd3_9de9_1a6d_cf7b],
    [0x3ff3_0d19_0c88_64a5, 0xbfd0_1d9b_f3f2_b631],
    [0x3ff2_5e22_7b0b_8ea0, 0xbfc9_7c1d_1b3b_7af0],
    [0x3ff1_bb4a_4a1a_343f, 0xbfc2_f9e3_93af_3c9f],
    [0x3ff1_2358_f08a_e5ba, 0xbfb9_60cb_bf78_8d5c],
    [0x3ff0_953f_4199_00a7, 0xbfaa_6f9d_b647_5fce],
    [0x3ff0_0000_0000_0000, 0x0000_0000_0000_0000],
    [0x3fee_608c_fd9a_47ac, 0x3fb3_38ca_9f24_f53d],
    [0x3fec_a4b3_1f02_6aa0, 0x3fc4_76a9_5438_91ba],
    [0x3feb_2036_576a_fce6, 0x3fce_840b_4ac4_e4d2],
    [0x3fe9_c2d1_63a1_aa2d, 0x3fd4_0645_f0c6_651c],
    [0x3fe8_86e6_0378_41ed, 0x3fd8_8e9c_2c1b_9ff8],
    [0x3fe7_67dc_f553_4862, 0x3fdc_e0a4_4eb1_7bcc],
];
/// log2(1 + r) by powers of r, highest first.
const LOG2_POLYNOMIAL: [u64; 5] =
    [0x3fd2_7616_c949_6e0b, 0xbfd7_1969_a075_c67a, 0x3fde_c70a_6ca7_badd, 0xbfe7_1547_48be_f6c8, 0x3ff7_1547_652a_b82b];
/// 2^(i/32), less i in the last five bits of the exponent's place.
const EXP2: [u64; 32] = [
    0x3ff0_0000_0000_0000,
    0x3fef_d9b0_d315_8574,
    0x3fef_b558_6cf9_890f,
    0x3fef_9301_d012_5b51,
    0x3fef_72b8_3c7d_517b,
    0x3fef_5487_3168_b9aa,
    0x3fef_387a_6e75_6238,
    0x3fef_1e9d_f51f_dee1,
    0x3fef_06fe_0a31_b715,
    0x3fee_f1a7_373a_a9cb,
    0x3fee_dea6_4c12_3422,
    0x3fee_ce08_6061_892d,
    0x3fee_bfda_d536_2a27,
    0x3fee_b42b_569d_4f82,
    0x3fee_ab07_dd48_5429,
    0x3fee_a47e_b03a_5585,
    0x3fee_a09e_667f_3bcd,
    0x3fee_9f75_e8ec_5f74,
    0x3fee_a114_73eb_0187,
    0x3fee_a589_994c_ce13,
    0x3fee_ace5_422a_a0db,
    0x3fee_b737_b0cd_c5e5,
    0x3fee_c491_82a3_f090,
    0x3fee_d503_b23e_255d,
    0x3fee_e89f_995a_d3ad,
    0x3fee_ff76_f2fb_5e47,
    0x3fef_199b_dd85_529c,
    0x3fef_3720_dcef_9069,
    0x3fef_5818_dcfb_a487,
    0x3fef_7c97_337b_9b5f,
    0x3fef_a4af_a2a4_90da,
    0x3fef_d076_5b6e_4540,
];
/// 2^r by powers of r, highest first, without the last, 1.
const EXP2_POLYNOMIAL: [u64; 3] = [0x3fac_6af8_4b91_2394, 0x3fce_bfce_50fa_c4f3, 0x3fe6_2e42_ff0c_52d6];

/// The code of 1.
pub(super) const ONE: u32 = 0x3f80_0000;
pub(super) const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;

/// x^y; neither operand is flushed before.
pub fn power(x: f32, y: f32) -> f32 {
    let (mut ix, iy) = (x.to_bits(), y.to_bits());
    let special = |bits: u32| (bits << 1).wrapping_sub(1) >= (INFINITY << 1) - 1;
    if special(iy) {
        return match (ix & !SIGN, iy & !SIGN) {
            (_, 0) => 1.0,
            _ if ix == ONE => 1.0,
            _ if x.is_nan() || y.is_nan() => f32::NAN,
            (ONE, _) => 1.0,
            (magnitude, _) if (magnitude < ONE) == (iy & SIGN == 0) => 0.0,
            _ => f32::INFINITY,
        };
    }
    let parity = parity(iy);
    if special(ix) {
        let square = if parity == Parity::Odd { (x * x).copysign(x) } else { x * x };
        return if iy & SIGN != 0 { 1.0 / square } else { square };
    }
    if ix & SIGN != 0 && parity == Parity::Fraction {
        return f32::NAN;
    }
    let sign = if ix & SIGN != 0 && parity == Parity::Odd { -1.0f32 } else { 1.0 };
    ix &= !SIGN;
    if ix < f32::MIN_POSITIVE.to_bits() {
        // Scaled by 2^23 it stays a subnormal that counts as zero.
        ix = 0u32.wrapping_sub(23 << 23);
    }
    let exponent = f64::from(y) * log2(ix);
    if exponent > f64::from_bits(0x405f_ffff_ffd1_d571) {
        return sign * f32::INFINITY;
    }
    if exponent <= -150.0 {
        return sign * 0.0;
    }
    sign * exp2(exponent) as f32
}

#[derive(Clone, Copy, PartialEq)]
enum Parity {
    Fraction,
    Odd,
    Even,
}

/// Kind of the number with these bits, a fraction, odd or even; zero and infinity aside.
fn parity(bits: u32) -> Parity {
    let exponent = bits >> 23 & 0xff;
    match exponent {
        0..0x7f => Parity::Fraction,
        _ if exponent > 0x7f + 23 => Parity::Even,
        _ => {
            let unit = 1 << (0x7f + 23 - exponent);
            match (bits & (unit - 1), bits & unit) {
                (0, 0) => Parity::Even,
                (0, _) => Parity::Odd,
                _ => Parity::Fraction,
            }
        }
    }
}

/// The number with these bits as `z 2^k`: z and k, in which interval c of the sixteen z lies, and 1/c.
pub(super) fn interval(ix: u32) -> (f64, f64, usize, f64) {
    let offset = ix.wrapping_sub(0x3f33_0000);
    let i = (offset >> 19) as usize % 16;
    let top = offset & 0xff80_0000;
    let z = f64::from(f32::from_bits(ix.wrapping_sub(top)));
    (z, f64::from(top as i32 >> 23), i, f64::from_bits(LOG2[i][0]))
}

/// log2 of the number with these bits.
fn log2(ix: u32) -> f64 {
    let (z, k, i, inverse) = interval(ix);
    let a = LOG2_POLYNOMIAL.map(f64::from_bits);
    let r = z.mul_add(inverse, -1.0);
    let whole = f64::from_bits(LOG2[i][1]) + k;
    let square = r * r;
    let low = a[2].mul_add(r, a[3]).mul_add(square, a[4].mul_add(r, whole));
    a[0].mul_add(r, a[1]).mul_add(square * square, low)
}

/// 2^x, before it is rounded to f32.
fn exp2(x: f64) -> f64 {
    // Rounds to a 32nd.
    const SHIFT: f64 = 6_755_399_441_055_744.0 / 32.0;
    let shifted = x + SHIFT;
    let ki = shifted.to_bits();
    let r = x - (shifted - SHIFT);
    let power = f64::from_bits(EXP2[ki as usize % 32].wrapping_add(ki << 47));
    let c = EXP2_POLYNOMIAL.map(f64::from_bits);
    c[0].mul_add(r, c[1]).mul_add(r * r, c[2].mul_add(r, 1.0)) * power
}
