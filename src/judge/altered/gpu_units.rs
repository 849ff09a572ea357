//! Dots as the matrix units of GPUs sum them: so many products at once, aligned to the largest and cut.
//!
//! The arithmetic is that of Hopper as MMA-Sim (arXiv 2511.10909) has it, and as an H200 answered (docs/probe.md): products are aligned
//! by the sums of their operands' exponents, the sum so far among them, and what lies below the last bit is cut.

use std::collections::HashMap;

use crate::ir::{Op, ValueId};
use crate::tensor::{Data, Tensor};

use super::super::evidence::{EXPLAINS, Evidence, Pattern, Runner};
use super::super::marked::{Sum, sums, with_value};
use super::narrow_sums::{MOST_TERMS, Products, terms_of};
use super::value_of;

/// A matrix unit and what it makes of operands.
#[derive(Clone, Copy, Debug)]
struct MatrixUnit {
    /// Its name, for listings.
    name: &'static str,
    /// Whether operands are rounded to TF32: 11 bits, ties away from zero.
    rounds_to_tf32: bool,
    /// Products that are added to the sum so far at once.
    stretch: usize,
    /// Bits below the largest term's exponent that are kept.
    aligned_bits: i32,
    /// Bits below the leading one that the sum keeps.
    kept_bits: i32,
    /// Products after which the sum is moved to an f32 accumulator, if it is.
    moved_after: Option<usize>,
}

const HOPPER_FP8: MatrixUnit = MatrixUnit {
    name: "sums of 14 bits, 32 products at once, as NVIDIA Hopper's FP8 with fast accumulation",
    rounds_to_tf32: false,
    stretch: 32,
    aligned_bits: 13,
    kept_bits: 13,
    moved_after: None,
};

/// The units that are tried.
const UNITS: [MatrixUnit; 4] = [
    HOPPER_FP8,
    MatrixUnit {
        name: "sums of 14 bits, 32 products at once, moved to f32 after 128, as NVIDIA Hopper's FP8 without fast accumulation",
        moved_after: Some(128),
        ..HOPPER_FP8
    },
    MatrixUnit {
        name: "operands of TF32, 8 products at once, as NVIDIA Hopper's matrix unit",
        rounds_to_tf32: true,
        stretch: 8,
        aligned_bits: 25,
        kept_bits: 23,
        moved_after: None,
    },
    MatrixUnit {
        name: "sums cut below f32, 16 products at once, as NVIDIA Hopper's matrix unit",
        rounds_to_tf32: false,
        stretch: 16,
        aligned_bits: 25,
        kept_bits: 23,
        moved_after: None,
    },
];

/// Products of all dots together, at most: a unit has one order, where a narrow sum has many.
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

/// TF32: 11 bits, ties away from zero.
fn to_tf32(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = core_math::exp2(f64::from(exponent(value) - 10));
    (value / unit).round() * unit
}

impl MatrixUnit {
    fn operand(self, value: f64) -> f64 {
        if self.rounds_to_tf32 { to_tf32(value) } else { value }
    }

    /// The sum of the products of these pairs.
    fn sum(self, pairs: &[[f64; 2]]) -> f64 {
        let (mut moved, mut sum) = (0.0f64, 0.0f64);
        for (at, stretch) in pairs.chunks(self.stretch).enumerate() {
            let exponents = stretch.iter().filter(|[x, y]| x * y != 0.0).map(|[x, y]| exponent(*x) + exponent(*y));
            let last = exponents.fold(exponent(sum), i32::max).max(-1000) - self.aligned_bits;
            sum = cut(sum, last) + stretch.iter().map(|[x, y]| cut(x * y, last)).sum::<f64>();
            sum = cut(sum, exponent(sum).max(-1000) - self.kept_bits);
            if self.moved_after.is_some_and(|after| ((at + 1) * self.stretch).is_multiple_of(after)) {
                moved = f64::from((moved + sum) as f32);
                sum = 0.0;
            }
        }
        if self.moved_after.is_some() { f64::from((moved + sum) as f32) } else { sum }
    }
}

/// Dots of the program that are summed as a matrix unit of a GPU sums them: one, or all.
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
        let Some(values) = with_unit(runner, &mut plain, &dots, unit) else { break };
        let explained = evidence.least_share(&values);
        if explained > EXPLAINS && best.as_ref().is_none_or(|best| explained > best.explained) {
            let which = match dots.as_slice() {
                [one] => format!("{} is", entry.instructions[one.value].name),
                all => format!("all {} dots are", all.len()),
            };
            let says = format!("{which} computed by a matrix unit of a GPU: {}", unit.name);
            best = Some(Pattern { kind: "gpu-unit", says, explained, places: Vec::new(), factor: None });
        }
    }
    best
}

/// The result with all dots by this unit; `None` beyond the budget.
fn with_unit(
    runner: &mut Runner,
    plain: &mut HashMap<ValueId, Option<Tensor>>,
    dots: &[Sum],
    unit: MatrixUnit,
) -> Option<Vec<f64>> {
    let evidence: &Evidence = runner.evidence;
    let mut program = evidence.ground.program.clone();
    let mut arguments = evidence.ground.arguments.to_vec();
    for (at, dot) in dots.iter().enumerate() {
        runner.left = runner.left.checked_sub(1)?;
        let instruction = &program.entry().instructions[dot.value];
        let operands = instruction.operands.clone();
        let (dtype, extents) = (instruction.shape.dtype()?, instruction.shape.dims().to_vec());
        let Op::Dot { dims, .. } = instruction.op.clone() else { return None };
        let mut value = |id: ValueId| match at {
            0 => plain.entry(id).or_insert_with(|| value_of(evidence, &program, &arguments, id)).clone(),
            _ => value_of(evidence, &program, &arguments, id),
        };
        let (lhs, rhs) = (value(operands[0])?, value(operands[1])?);
        let mut values = Vec::new();
        Products::new(&lhs, &rhs, &dims).each(|pairs| {
            pairs.iter_mut().for_each(|pair| *pair = pair.map(|x| unit.operand(x)));
            values.push(unit.sum(pairs));
        });
        arguments.push(Tensor::new(&extents, Data::from_f64s(dtype, &values)?));
        program = with_value(&program, dot.value);
    }
    runner.run(&program, &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A large product and ones: of 14 bits none of the ones is left.
    #[test]
    fn what_is_far_below_the_largest_product_is_cut() {
        let mut pairs = vec![[1.0, 1.0]; 64];
        pairs[0] = [1024.0, 1024.0];
        let [fast, slow, tf32, bf16] = UNITS;
        assert_eq!(fast.sum(&pairs), 1_048_576.0);
        assert_eq!(slow.sum(&pairs), 1_048_576.0);
        assert_eq!(bf16.sum(&pairs), 1_048_639.0);
        // The ones before it are one term when 8 products are taken at once, and cut when 16 are.
        let mut pairs = vec![[1.0, 1.0]; 16];
        pairs[8] = [4096.0, 16_384.0];
        assert_eq!(bf16.sum(&pairs), 67_108_864.0);
        assert_eq!(tf32.sum(&pairs), 67_108_872.0);
    }

    /// Products are aligned before they are normalised: 1.5 times 1.5 has the exponent 0 there.
    #[test]
    fn products_are_aligned_by_the_exponents_of_their_factors() {
        let small = core_math::exp2(-13.0);
        assert_eq!(HOPPER_FP8.sum(&[[1.5, 1.5], [small, 1.0], [small, 1.0]]), 2.25 + 2.0 * small);
        assert_eq!(HOPPER_FP8.sum(&[[4.5, 0.5], [small, 1.0], [small, 1.0]]), 2.25);
    }

    #[test]
    fn tf32_keeps_eleven_bits_and_rounds_ties_away() {
        let unit = core_math::exp2(-10.0);
        assert_eq!(to_tf32(1.0 + unit / 2.0), 1.0 + unit);
        assert_eq!(to_tf32(-1.0 - unit / 2.0), -1.0 - unit);
        assert_eq!(to_tf32(1.0 + unit * 0.49), 1.0);
        assert_eq!(to_tf32(0.0), 0.0);
    }
}
