//! Products with numbers, one after another, and sums with numbers: compilers put them together.

use crate::ir::Binary;

use super::expressions::ExpressionId;

/// A number by its bits, for sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumberBits(u64);

impl NumberBits {
    /// The bits of a number.
    pub fn of(number: f64) -> NumberBits {
        NumberBits(number.to_bits())
    }

    /// The number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// A value as another one times a number, or plus a number.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberScale {
    /// The expression that is scaled.
    pub of: ExpressionId,
    /// By how much in all: the factor, or the summand.
    pub by: f64,
    /// The steps that round: what each multiplies with, divides by, or adds. A product that does not round is part of its
    /// neighbour, or stands alone.
    steps: Vec<(Binary, f64)>,
}

impl NumberScale {
    /// `of`, which `before` says to be scaled already, multiplied with a number, divided by one, or with one added.
    pub fn new(of: ExpressionId, before: Option<&NumberScale>, binary: Binary, by: f64) -> NumberScale {
        let factor = if binary == Binary::Divide { 1.0 / by } else { by };
        let is_exact = |factor: f64| binary != Binary::Add && is_exact(factor);
        let Some(before) = before else {
            let step = if is_exact(factor) { (Binary::Multiply, factor) } else { (binary, by) };
            return NumberScale { of, by: factor, steps: vec![step] };
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
        let whole = if before.adds() { before.by + by } else { before.by * factor };
        NumberScale { of: before.of, by: whole, steps }
    }

    /// A quotient of values that are themselves scaled, or quotients: `of`, by so much in all. What comes after it is told
    /// of alone.
    pub fn quotient(of: ExpressionId, by: f64) -> NumberScale {
        NumberScale { of, by, steps: Vec::new() }
    }

    /// A product's, of the negative value.
    pub fn negate(self) -> NumberScale {
        NumberScale { by: -self.by, ..self }
    }

    /// Whether numbers are added, and not factors.
    pub fn adds(&self) -> bool {
        matches!(self.steps[..], [(Binary::Add, _), ..])
    }

    /// Whether it is the value itself or its negative again, as far as numbers in f32 say.
    pub fn is_undone(&self) -> bool {
        !self.adds() && is_nearly_one(self.by.abs())
    }

    /// Whether a step rounds.
    pub fn rounds(&self) -> bool {
        self.adds() || self.steps.iter().any(|(_, by)| !is_exact(*by))
    }

    /// The steps that round, in order.
    pub fn steps(&self) -> Vec<(Binary, NumberBits)> {
        self.steps.iter().map(|(binary, by)| (*binary, NumberBits::of(*by))).collect()
    }
}

/// Whether a number is one, up to what f32 leaves of it where it was computed: `1 - 0.999` is 0.00099998713.
pub fn is_nearly_one(number: f64) -> bool {
    (number - 1.0).abs() < 2f64.powi(-12)
}

/// Whether multiplying with this number rounds nothing, subnormal numbers apart.
fn is_exact(factor: f64) -> bool {
    factor.is_normal() && factor.to_bits() << 12 == 0
}
