//! YNNPACK's own f32 exponential: `exp_taylor2` of google/XNNPACK, `ynnpack/base/simd/target_independent.inc` (August
//! 2026), with fused multiply-adds. With it and its sums all 8192 results of `tests/data/hlo/cpu/softmax_f32` come out.

use crate::machine::vector::{Loop, run_loop};
use crate::num::flush_f32;

/// e^x of each value.
pub fn library_exponential(values: &mut [f32], flush: bool) {
    if flush {
        values.iter_mut().for_each(|v| *v = flush_f32(*v));
    }
    run_loop::<Exponential>(values);
    if flush {
        values.iter_mut().for_each(|v| *v = flush_f32(*v));
    }
}

struct Exponential;

impl Loop for Exponential {
    /// Fused multiply-adds are part of the results here, so they are used either way.
    #[inline(always)]
    fn run<const FMA: bool>(values: &mut [f32]) {
        values.iter_mut().for_each(|v| *v = exponential(*v));
    }
}

#[inline(always)]
fn exponential(x: f32) -> f32 {
    // e^r = 1 + r + r^2 P(r), highest term first: those of even and of odd powers go side by side.
    const EVEN: [f32; 4] = [-4.986_662e-5, 1.413_246_2e-3, 4.166_563e-2, 0.499_999_94];
    const ODD: [f32; 3] = [2.277_378_4e-4, 8.324_293e-3, 0.166_667_25];
    // Rounds to an integer: beyond 2^23 there are no others.
    const MAGIC: f32 = 1.5 * 8_388_608.0;
    let clamped = x.clamp(-88.029_69, 88.722_84);
    let n = (MAGIC + clamped * std::f32::consts::LOG2_E) - MAGIC;
    // ln 2 in two parts.
    let r = n.mul_add(-1.428_606_8e-6, n.mul_add(-0.693_145_75, clamped));
    let square = r * r;
    let horner = |p: &[f32]| p[1..].iter().fold(p[0], |sum, c| square.mul_add(sum, *c));
    let p = r.mul_add(horner(&ODD), horner(&EVEN));
    // 2^n by its code: n lies between -127, which gives 0, and 128, which gives infinity.
    let power = if x.is_nan() { x } else { f32::from_bits(((n as i32 + 127) << 23) as u32) };
    if power.is_infinite() { power } else { power.mul_add(square.mul_add(p, r), power) }
}
