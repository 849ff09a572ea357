//! Operands of matrix products that are rounded to fewer bits, as a GPU does that computes in TF32.

use crate::ir::{Instruction, Op, Program};
use crate::machine::Mode;
use crate::num::{BF16, F16, Format, TF32};
use crate::subject::evaluate;
use crate::tensor::DType;

use super::super::evidence::{EXPLAINS, Evidence, Pattern};

/// The types that operands are rounded to, and what such operands are called.
const TYPES: [(&Format, &str); 3] = [
    (&TF32, "operands as TF32 (11 bits, the exponents of f32)"),
    (&F16, "operands as f16"),
    (&BF16, "operands as bf16, in one pass"),
];

/// Orders of the sums, as settings of a mode.
const ORDERS: [&str; 2] = ["acc=exact", "acc=chain"];

/// The rounding of the f32 operands of every matrix product that explains a result best, beside the plain f32 product.
pub fn operands(evidence: &Evidence) -> Option<Pattern> {
    let program = evidence.ground.program;
    let chip = evidence.member.mode.chip;
    let chip = if chip.matrix_unit { chip.name } else { "v5e" };
    let observed = evidence.compared.observed;
    // A rounding of operands makes nothing infinite, and distances leave out what is.
    if observed.iter().zip(evidence.values).any(|(a, b)| a.is_finite() != b.is_finite()) {
        return None;
    }
    let rounded: Vec<(Program, &str)> =
        TYPES.iter().map(|(format, says)| Some((with_operands(program, format)?, *says))).collect::<Option<_>>()?;
    let plain = result_of(evidence, program, chip, ORDERS[0])?;
    let own = evidence.compared.distance(observed, &plain).min(evidence.compared.distance(observed, evidence.values));
    let mut best: Option<Pattern> = None;
    for (rounded, says) in rounded {
        for order in ORDERS {
            let values = result_of(evidence, &rounded, chip, order)?;
            let left = evidence.compared.distance(observed, &values) / own;
            let explained = if own > 0.0 { 1.0 - left * left } else { 0.0 };
            if explained > EXPLAINS && best.as_ref().is_none_or(|best| explained > best.explained) {
                let says = format!("matrix products have {says}");
                best = Some(Pattern::new("operands", says, explained));
            }
        }
    }
    best
}

/// The result in question, its products in f32.
fn result_of(evidence: &Evidence, program: &Program, chip: &str, order: &str) -> Option<Vec<f64>> {
    let mode = Mode::new(chip, "f32", "off", order).ok()?;
    let results = evaluate(program, &mode, evidence.ground.arguments).ok()?;
    Some(results.get(evidence.output)?.data().to_f64s())
}

/// The program with the f32 operands of each product rounded to a format; `None` where there are none.
fn with_operands(program: &Program, format: &Format) -> Option<Program> {
    let mut changed = program.clone();
    let entry = changed.entry;
    let old = std::mem::take(&mut changed.computations[entry].instructions);
    let mut new: Vec<Instruction> = Vec::with_capacity(old.len());
    let mut place = Vec::with_capacity(old.len());
    let mut is_any = false;
    for mut instruction in old {
        instruction.operands.iter_mut().for_each(|id| *id = place[*id]);
        if let Op::Dot { .. } = instruction.op {
            for operand in &mut instruction.operands {
                let shape = new[*operand].shape.clone();
                if shape.dtype() != Some(DType::F32) {
                    continue;
                }
                let op =
                    Op::ReducePrecision { exponent_bits: format.exponent_bits, mantissa_bits: format.fraction_bits };
                new.push(Instruction::new("rounded", op, vec![*operand], shape));
                *operand = new.len() - 1;
                is_any = true;
            }
        }
        place.push(new.len());
        new.push(instruction);
    }
    changed.computations[entry].root = place[changed.computations[entry].root];
    changed.computations[entry].instructions = new;
    is_any.then_some(changed)
}
