//! Products with numbers, one after another: compilers put them together.

use crate::ir::Binary;

use super::change::number;
use super::expression::ExpressionId;

/// What a value is times a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    /// The expression that is scaled.
    pub of: ExpressionId,
    /// By how much in all.
    pub factor: f64,
    /// The steps that round: what each multiplies with, or divides by. One that does not round is part of its neighbour,
    /// or stands alone.
    steps: Vec<(Binary, f64)>,
}

impl Scale {
    /// `of`, which `before` says to be scaled already, multiplied with or divided by a number.
    pub fn new(of: ExpressionId, before: Option<&Scale>, binary: Binary, by: f64) -> Scale {
        let factor = if binary == Binary::Divide { 1.0 / by } else { by };
        let Some(before) = before else {
            let step = if is_exact(factor) { (Binary::Multiply, factor) } else { (binary, by) };
            return Scale { of, factor, steps: vec![step] };
        };
        let mut steps = before.steps.clone();
        match steps.last_mut() {
            Some((last, number)) if is_exact(factor) => {
                *number = if *last == Binary::Divide { *number / factor } else { *number * factor };
            }
            Some(last) if is_exact(last.1) => {
                *last = (binary, if binary == Binary::Divide { by / last.1 } else { by * last.1 });
            }
            _ => steps.push((binary, by)),
        }
        Scale { of: before.of, factor: before.factor * factor, steps }
    }

    /// What it is called when it is compared with another way to the same product, and the number it is by where that is
    /// one step.
    pub fn form(&self) -> (String, Option<f64>) {
        match self.steps[..] {
            [(binary, by)] => (binary.name().to_string(), Some(by)),
            _ => {
                let step = |(binary, by): &(Binary, f64)| format!("{} by {}", binary.name(), number(*by));
                (self.steps.iter().map(step).collect::<Vec<_>>().join(", then "), None)
            }
        }
    }
}

/// Whether multiplying with this number rounds nothing, subnormal numbers apart.
fn is_exact(factor: f64) -> bool {
    factor.is_normal() && factor.to_bits() << 12 == 0
}
