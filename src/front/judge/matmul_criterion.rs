//! The statistical criterion ([`crate::criterion`]) for results that are matmuls of arguments.

use crate::analysis::plain_matmul;
use crate::criterion::{Criterion, DotArithmetic, Dots, Honest, Observation, Standing};
use crate::machine::DotSite;
use crate::num::Format;

use super::Ground;
use super::members::base_mode;

/// Products that the statistics are taken over, at most: outputs are sampled beyond.
const MOST_PRODUCTS: usize = 4_000_000;

/// A matmul of arguments: its operands as numbers, its sizes, and the least accurate permitted arithmetic.
struct JudgedMatmul {
    operands: [Vec<f64>; 2],
    sizes: [usize; 3],
    arithmetic: DotArithmetic,
}

fn matmul(ground: &Ground, output: usize, format: &'static Format) -> Option<JudgedMatmul> {
    let entry = ground.program.entry();
    let value = *ground.program.outputs().get(output)?;
    let plain = plain_matmul(entry, value)?;
    let mode = base_mode(ground.settings)?;
    let site = DotSite::within(entry, &entry.instructions[value])?;
    let arithmetic = DotArithmetic::of_mode(&mode, &site, format)?;
    let operands = plain.parameters.map(|number| ground.arguments[number].data().to_f64s());
    Some(JudgedMatmul { operands, sizes: plain.sizes, arithmetic })
}

impl JudgedMatmul {
    fn dots(&self) -> Option<Dots<'_>> {
        let [m, k, n] = self.sizes;
        let outputs = Dots::sample(m * n, k, MOST_PRODUCTS);
        Dots::new(&self.operands[0], &self.operands[1], self.sizes, outputs).ok()
    }
}

/// The reasons for which the criterion rejects a result; `None` if it does not, or does not apply.
pub(super) fn rejection(
    ground: &Ground,
    output: usize,
    observed: &[f64],
    truth: &[f64],
    format: &'static Format,
) -> Option<String> {
    let matmul = matmul(ground, output, format)?;
    let dots = matmul.dots()?;
    let of = |values: &[f64]| -> Vec<f64> { dots.outputs().iter().map(|at| values[*at]).collect() };
    let (computed, truth) = (of(observed), of(truth));
    let honest: Vec<Honest> =
        matmul.arithmetic.alternatives().iter().map(|arithmetic| Honest::of_dots(arithmetic, &dots)).collect();
    let observation = Observation { computed: &computed, truth: &truth, format };
    let decision = Criterion::DEFAULT.decide_any(&honest, &observation, Some(&dots), None).ok()?;
    let reasons: Vec<String> = decision.reasons.iter().map(ToString::to_string).collect();
    (decision.standing == Standing::Outside)
        .then(|| format!("errors are not those of {}: {}", decision.arithmetic, reasons.join("; ")))
}

/// The smallest faults that are told apart in a result with these truths.
pub(super) fn detectable(ground: &Ground, output: usize, truth: &[f64], format: &'static Format) -> Option<String> {
    let matmul = matmul(ground, output, format)?;
    let dots = matmul.dots()?;
    let truth: Vec<f64> = dots.outputs().iter().map(|at| truth[*at]).collect();
    let honest = Honest::of_dots(&matmul.arithmetic, &dots);
    let found = Criterion::DEFAULT.minimum_detectable(&honest, &truth, format, Some(&dots), &[]).ok()?;
    Some(format!("by errors of {}: {found}", honest.name))
}

#[cfg(test)]
mod tests {
    use super::super::members::Members;
    use super::super::{Part, Settings};
    use super::*;
    use crate::hlo::{lower, parse};
    use crate::num::F32;
    use crate::subject::evaluate;
    use crate::tensor::{Data, Tensor};

    const SIZES: [usize; 3] = [5, 2048, 5];

    /// Numbers of either sign, below 1.
    fn drawn(dims: &[usize], seed: u32) -> Tensor {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1u32 << 23) as f32 - 1.0
        };
        let count = dims.iter().product();
        Tensor::new(dims, Data::F32((0..count).map(|_| next()).collect()))
    }

    /// A product of one bf16 pass is held to what such a pass errs by, in any order of its sums: an error that all outputs share, three
    /// times the honest size, is no order.
    #[test]
    fn a_common_error_is_rejected_and_an_order_is_not() {
        let [m, k, n] = SIZES;
        let text = format!(
            "HloModule m\nENTRY e {{\n  x = f32[{m},{k}] parameter(0)\n  y = f32[{k},{n}] parameter(1)\n  \
             ROOT r = f32[{m},{n}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
        );
        let program = lower(&parse(&text).unwrap()).unwrap().program;
        let arguments = [drawn(&[m, k], 7), drawn(&[k, n], 11)];
        // The criterion asks no member: those of one number are enough.
        let few = "HloModule f\nENTRY e {\n  x = f32[1] parameter(0)\n  ROOT r = f32[1] negate(x)\n}\n";
        let few = lower(&parse(few).unwrap()).unwrap().program;
        let [lhs, rhs] = [0, 1].map(|at: usize| arguments[at].data().to_f64s());
        let sum = |at: usize| (0..k).map(|l| lhs[at / n * k + l] * rhs[l * n + at % n]).sum::<f64>();
        let truth: Vec<f64> = (0..m * n).map(sum).collect();
        let of = |mode: &str| {
            let results = evaluate(&program, &mode.parse().unwrap(), &arguments).unwrap();
            results[0].data().to_f64s()
        };
        let rejected = |mode: &str, observed: &[f64]| {
            let settings = Settings { mode: Some(mode.parse().unwrap()), ..Settings::default() };
            let members = Members::new(&few, &[drawn(&[1], 1)], &settings, &mut Vec::new()).unwrap();
            let ground = Ground {
                program: &program,
                extended: program.clone(),
                arguments: &arguments,
                settings: &settings,
                part: Part::Whole,
                members,
                enclosed: None,
                truth: None,
                scores: vec![None],
                notes: Vec::new(),
            };
            rejection(&ground, 0, observed, &truth, &F32)
        };
        // Of f32 products the order is what errs: one chain errs four times as much as the chip's own blocks.
        for (mode, order) in [("default", ""), ("default", "+acc=pairwise"), ("f32", ""), ("f32", "+acc=chain")] {
            let mode = format!("v5e/{mode}/off");
            assert_eq!(rejected(&mode, &of(&format!("{mode}{order}"))), None, "{mode}{order}");
        }
        let honest = of("v5e/default/off");
        let rms = (honest.iter().zip(&truth).map(|(y, t)| (y - t).powi(2)).sum::<f64>() / truth.len() as f64).sqrt();
        let shifted: Vec<f64> = truth.iter().map(|t| f64::from((t + 3.0 * rms) as f32)).collect();
        let why = rejected("v5e/default/off", &shifted).unwrap();
        assert!(why.starts_with("errors are not those of ") && why.contains("standard deviations"), "{why}");
    }
}
