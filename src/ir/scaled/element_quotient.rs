//! The quotient of an input and its scale, as libraries round it before it becomes an element.

use super::exponent::Maximum;
use super::scale_rule::ScaleType;

/// Form of `x / (s g)`, where `s` is the block's scale and `g` the per-tensor scale, 1 where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quotient {
    /// The real quotient.
    Exact,
    /// `x / (s g)`, both in f32 (modelopt).
    OfProduct,
    /// `x ((1 / g) / s)` in f32 (torchao).
    ReciprocalOfProduct,
    /// `x (1 / g) (1 / s)` in f32 (jax on a CPU).
    Reciprocals,
    /// `x / g / s` in f32 (jax).
    Twice,
    /// `x / s` in the type of the input (qwix).
    InTypeOfInput,
}

impl Quotient {
    /// All of them, the real one first.
    pub const ALL: [Quotient; 6] = [
        Quotient::Exact,
        Quotient::OfProduct,
        Quotient::ReciprocalOfProduct,
        Quotient::Reciprocals,
        Quotient::Twice,
        Quotient::InTypeOfInput,
    ];

    /// Its formula.
    pub const fn name(self) -> &'static str {
        match self {
            Quotient::Exact => "exact",
            Quotient::OfProduct => "x / (s g) in f32",
            Quotient::ReciprocalOfProduct => "x ((1 / g) / s) in f32",
            Quotient::Reciprocals => "x (1 / g) (1 / s) in f32",
            Quotient::Twice => "x / g / s in f32",
            Quotient::InTypeOfInput => "x / s in the type of the input",
        }
    }

    /// The forms that may differ under scales of a type: powers of two divide exactly.
    pub fn of_scales(scales: ScaleType) -> &'static [Quotient] {
        match scales {
            ScaleType::E8M0 => &[Quotient::Exact],
            ScaleType::E4M3 | ScaleType::Float(_) => &Quotient::ALL,
        }
    }

    /// A dividend and a divisor whose real quotient this is: of rounded forms the divisor is 1. `x` holds the input as the largest of a
    /// block, for its type.
    pub fn operands(self, x: &Maximum, s: f64, g: f32) -> (f64, f64) {
        let (value, scale) = (x.value, s as f32);
        let rounded = match self {
            Quotient::Exact => return (f64::from(value), s * f64::from(g)),
            Quotient::OfProduct => value / (scale * g),
            Quotient::ReciprocalOfProduct => value * ((1.0 / g) / scale),
            Quotient::Reciprocals => value * (1.0 / g) * (1.0 / scale),
            Quotient::Twice => value / g / scale,
            Quotient::InTypeOfInput => x.in_type(value / scale),
        };
        (f64::from(rounded), 1.0)
    }
}
