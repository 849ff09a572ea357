//! Sums near the largest number: a program that multiplies before it divides parts from one that does not.

use ulpgate::same::Verdict;

use crate::ask;

/// Means of two columns in bf16, their sum by a weight that is divided and multiplied, or made one: a load-balancing loss has this form.
/// Only sums that end at the largest number part the two, and only where a mean is rounded up to it.
#[test]
fn a_weighted_mean_of_the_largest_numbers_parts() {
    let text = |steps: &str| {
        format!(
            "HloModule m\nadd {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}}\nENTRY main {{\n \
             x = bf16[16,2] parameter(0)\n w = f32[16,2] convert(x)\n zero = f32[] constant(0)\n \
             s = f32[2] reduce(w, zero), dimensions={{0}}, to_apply=add\n k = f32[] constant(0.0625)\n \
             ks = f32[2] broadcast(k), dimensions={{}}\n m = f32[2] multiply(s, ks)\n n = bf16[2] convert(m)\n \
             v = f32[2] convert(n)\n t = f32[] reduce(v, zero), dimensions={{0}}, to_apply=add\n {steps}\n}}\n"
        )
    };
    let one = text(
        "e = f32[] constant(8)\n u = f32[] multiply(t, e)\n f = f32[] constant(0.01)\n ROOT r = f32[] multiply(u, f)",
    );
    let other = text("f = f32[] constant(0.08)\n ROOT r = f32[] multiply(t, f)");
    let Verdict::Part(parting) = ask(&one, &other, "v5e/default/as-compiled", &[]).verdict else {
        panic!("not seen to part")
    };
    let infinity = u64::from(f32::INFINITY.to_bits());
    assert!(parting.result.bits[0] & !(1 << 31) == infinity && parting.result.bits[1] & !(1 << 31) != infinity);
}
