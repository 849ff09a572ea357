//! Dots as the matrix units of GPUs sum products of FP8: 32 at once, aligned to the largest and cut.
//!
//! The arithmetic is that of Hopper as MMA-Sim (arXiv 2511.10909) has it, and gives every bit of an H200's results
//! (`tests/data/judge_gpu`): products are aligned by the sums of their operands' exponents, the sum so far among them, and what lies
//! below the last bit is cut. TF32 and bf16 there are aligned likewise, two bits below f32's last one: as orders of sums differ.

use std::collections::HashMap;

use crate::ir::Op;
use crate::tensor::Tensor;

use super::super::evidence::{EXPLAINS, Pattern, Runner};
use super::super::marked::{Sum, sums};
use super::narrow_sums::{MOST_TERMS, Products, terms_of, with_sums};

/// A sum of FP8 products on NVIDIA's Hopper.
#[derive(Clone, Copy, Debug)]
struct HopperSum {
    /// Its name, for listings.
    name: &'static str,
    /// Whether the sum is moved to an f32 accumulator after [`MOVED_AFTER`] products.
    is_moved: bool,
}

/// Products that are added to the sum so far at once.
const STRETCH: usize = 32;

/// Bits that are kept below the largest term's exponent, and below the sum's leading bit.
const BITS_BELOW: i32 = 13;

/// Products after which a sum is moved, without fast accumulation.
const MOVED_AFTER: usize = 128;

/// The sums that are tried.
const UNITS: [HopperSum; 2] = [
    HopperSum {
        name: "sums of 14 bits, 32 products at once, as NVIDIA Hopper's FP8 with fast accumulation",
        is_moved: false,
    },
    HopperSum {
        name: "sums of 14 bits, 32 products at once, moved to f32 after 128, as NVIDIA Hopper's FP8 without fast accumulation",
        is_moved: true,
    },
];

/// Products of all dots together, at most: it has one order, where a narrow sum has many.
const LARGEST_WORK: usize = 4 * MOST_TERMS;

/// The exponent of a number: that of zero is below all others.
fn exponent(value: f64) -> i32 {
    const ZERO: i32 = -4000;
    let bits = value.to_bits();
    match (bits >> 52 & 0x7ff) as i32 {
        _ if value == 0.0 => ZERO,
        // Sums and products of narrow floats are no subnormals of f64.
        biased => biased - 1023,
    }
}

/// The value cut toward zero at the bit of this exponent.
fn cut(value: f64, last: i32) -> f64 {
    let unit = core_math::exp2(f64::from(last));
    (value / unit).trunc() * unit
}

impl HopperSum {
    /// The sum of the products of these pairs.
    fn sum(self, pairs: &[[f64; 2]]) -> f64 {
        let (mut moved, mut sum) = (0.0f64, 0.0f64);
        for (at, stretch) in pairs.chunks(STRETCH).enumerate() {
            let exponents = stretch.iter().filter(|[x, y]| x * y != 0.0).map(|[x, y]| exponent(*x) + exponent(*y));
            let last = exponents.fold(exponent(sum), i32::max).max(-1000) - BITS_BELOW;
            sum = cut(sum, last) + stretch.iter().map(|[x, y]| cut(x * y, last)).sum::<f64>();
            sum = cut(sum, exponent(sum).max(-1000) - BITS_BELOW);
            if self.is_moved && ((at + 1) * STRETCH).is_multiple_of(MOVED_AFTER) {
                moved = f64::from((moved + sum) as f32);
                sum = 0.0;
            }
        }
        if self.is_moved { f64::from((moved + sum) as f32) } else { sum }
    }
}

/// Dots of the program, all of which a GPU's matrix unit sums.
pub(super) fn gpu_units(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let is_dot = |sum: &Sum| matches!(entry.instructions[sum.value].op, Op::Dot { .. });
    let dots: Vec<Sum> = sums(evidence.ground.program).into_iter().filter(is_dot).collect();
    let work: usize = dots.iter().map(|dot| terms_of(evidence, dot)).sum();
    if dots.is_empty() || work > LARGEST_WORK {
        return None;
    }
    let mut plain = HashMap::new();
    let mut best: Option<Pattern> = None;
    for unit in UNITS {
        let add_up = |op: &Op, operands: &[Tensor]| {
            let (Op::Dot { dims, .. }, [lhs, rhs]) = (op, operands) else { return None };
            let mut values = Vec::new();
            Products::new(lhs, rhs, dims).each(|pairs| values.push(unit.sum(pairs)));
            Some(values)
        };
        let Some(values) = with_sums(runner, &mut plain, &dots, add_up) else { break };
        let explained = evidence.least_share(&values);
        if explained > EXPLAINS && best.as_ref().is_none_or(|best| explained > best.explained) {
            let which = match dots.as_slice() {
                [one] => format!("{} is", entry.instructions[one.value].name),
                all => format!("all {} dots are", all.len()),
            };
            let says = format!("{which} computed by a matrix unit of a GPU: {}", unit.name);
            best = Some(Pattern::new("gpu-unit", says, explained));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A large product and ones: of 14 bits none of the ones is left.
    #[test]
    fn what_is_far_below_the_largest_product_is_cut() {
        let mut pairs = vec![[1.0, 1.0]; 64];
        pairs[0] = [1024.0, 1024.0];
        let [fast, slow] = UNITS;
        assert_eq!(fast.sum(&pairs), 1_048_576.0);
        // The ones after 128 products have an accumulator of their own, until they join the others in f32.
        let mut long = vec![[1.0, 1.0]; 256];
        long[0] = [1024.0, 1024.0];
        assert_eq!([fast.sum(&long), slow.sum(&long)], [1_048_576.0, 1_048_576.0 + 128.0]);
    }

    /// Products are aligned before they are normalised: 1.5 times 1.5 has the exponent 0 there.
    #[test]
    fn products_are_aligned_by_the_exponents_of_their_factors() {
        let small = core_math::exp2(-13.0);
        assert_eq!(UNITS[0].sum(&[[1.5, 1.5], [small, 1.0], [small, 1.0]]), 2.25 + 2.0 * small);
        assert_eq!(UNITS[0].sum(&[[4.5, 0.5], [small, 1.0], [small, 1.0]]), 2.25);
    }
}
