//! glibc's `logf`, which some releases of XLA:CPU call: that of ARM's optimized routines (glibc 2.28 and later,
//! `sysdeps/ieee754/flt-32/e_logf.c`; its tables are under the MIT licence), as compiled with fused multiply-adds, and as it
//! runs where subnormals count as zeros.

use super::glibc_power::{INFINITY, ONE, interval};

/// log(c) for the middles c of sixteen intervals of a significand.
const LOG: [u64; 16] = [
    0xbfd5_7bf7_808c_aade,
    0xbfd2_bef0_a7c0_6ddb,
    0xbfd0_1eae_7f51_3a67,
    0xbfcb_31d8_a682_24e9,
    0xbfc6_574f_0ac0_7758,
    0xbfc1_aa2b_c79c_8100,
    0xbfba_4e76_ce8c_0e5e,
    0xbfb1_973c_5a61_1ccc,
    0xbfa2_52f4_38e1_0c1e,
    0x0000_0000_0000_0000,
    0x3faa_a5aa_5df2_5984,
    0x3fbc_5e53_aa36_2eb4,
    0x3fc5_26e5_7720_db08,
    0x3fcb_c286_0d22_4770,
    0x3fd1_058b_c8a0_7ee1,
    0x3fd4_0430_57b6_ee09,
];
/// log(1 + r) by powers of r from its square on, highest first.
const POLYNOMIAL: [u64; 3] = [0xbfd0_0ea3_48b8_8334, 0x3fd5_575b_0be0_0b6a, 0xbfdf_fffe_f20a_4123];

/// log(x).
pub fn logarithm(x: f32) -> f32 {
    let code = x.to_bits();
    match code {
        ONE => return 0.0,
        INFINITY => return x,
        _ if x.abs() < f32::MIN_POSITIVE => return f32::NEG_INFINITY,
        _ if code > INFINITY => return f32::NAN,
        _ => {}
    }
    let (z, k, i, inverse) = interval(code);
    let [a, b, c] = POLYNOMIAL.map(f64::from_bits);
    let r = z.mul_add(inverse, -1.0);
    let start = k.mul_add(std::f64::consts::LN_2, f64::from_bits(LOG[i]));
    let square = r * r;
    let middle = a.mul_add(square, b.mul_add(r, c));
    middle.mul_add(square, start + r) as f32
}

#[cfg(test)]
mod tests {
    use super::logarithm;

    #[test]
    fn logarithms_are_glibcs() {
        // glibc 2.36 on x86-64 with fused multiply-adds.
        let of = |x: f32| logarithm(x).to_bits();
        assert_eq!([1.5957, 1.414, 3.0, 0.1].map(of), [0x3eef_4396, 0x3eb1_5e4d, 0x3f8c_9f54, 0xc013_5d8e]);
        assert_eq!(
            [1e-30, 2.718_281_7, 1.000_000_1, 1e38].map(of),
            [0xc28a_27b5, 0x3f7f_ffff, 0x33ff_ffff, 0x42ae_ff18]
        );
        assert_eq!([1.0, 0.0, f32::INFINITY].map(logarithm), [0.0, f32::NEG_INFINITY, f32::INFINITY]);
        assert!(logarithm(-1.0).is_nan() && logarithm(f32::NAN).is_nan());
    }
}
