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
