//! The quotient of an input and its scale, as libraries round it before it becomes an element.

use super::affine::middle;
use super::element_type::{Element, Rounded, Rounding};
use super::exponent::Maximum;
use super::scale_type::ScaleType;

/// Form of `x / (s g)`, where `s` is the block's scale and `g` the per-tensor scale, 1 where there is none. An integer zero point `z` is
/// added to the rounded quotient, but where the form has another place for it.
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
    /// `x (1 / s)` in the type of the input (AQT, torchao).
    ReciprocalInType,
    /// `x / s + z` in the type of the input, and rounded then (qwix).
    PlusZeroPoint,
    /// `(x - z) / s` in the type of the input, `z` being a float (KIVI).
    LessZeroPoint,
    /// `(x - (z - s mid)) / s` in the type of the input, `z` being a float and `mid` the middle element (torchao for tinygemm).
    LessMiddle,
}

impl Quotient {
    /// Forms without a zero point, the real one first.
    pub const ALL: [Quotient; 7] = [
        Quotient::Exact,
        Quotient::OfProduct,
        Quotient::ReciprocalOfProduct,
        Quotient::Reciprocals,
        Quotient::Twice,
        Quotient::InTypeOfInput,
        Quotient::ReciprocalInType,
    ];

    /// Forms with a zero point, the real one first.
    pub const WITH_ZERO_POINT: [Quotient; 8] = [
        Quotient::Exact,
        Quotient::OfProduct,
        Quotient::Reciprocals,
        Quotient::InTypeOfInput,
        Quotient::ReciprocalInType,
        Quotient::PlusZeroPoint,
        Quotient::LessZeroPoint,
        Quotient::LessMiddle,
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
            Quotient::ReciprocalInType => "x (1 / s) in the type of the input",
            Quotient::PlusZeroPoint => "x / s + z in the type of the input",
            Quotient::LessZeroPoint => "(x - z) / s in the type of the input",
            Quotient::LessMiddle => "(x - (z - s mid)) / s in the type of the input",
        }
    }

    /// The forms that may differ under scales of a type: powers of two divide exactly.
    pub fn of_scales(scales: ScaleType, has_zero_point: bool) -> &'static [Quotient] {
        match scales {
            _ if has_zero_point => &Quotient::WITH_ZERO_POINT,
            ScaleType::E8M0 => &[Quotient::Exact],
            ScaleType::E4M3 | ScaleType::Float(_) | ScaleType::Inverse(_) => &Quotient::ALL,
        }
    }

    /// Whether the form is of the type of the input, which knows no per-tensor scale.
    pub fn is_in_type(self) -> bool {
        use Quotient::*;
        matches!(self, InTypeOfInput | ReciprocalInType | PlusZeroPoint | LessZeroPoint | LessMiddle)
    }

    /// A dividend and a divisor whose real quotient this is: of rounded forms the divisor is 1. `x` holds the input as the largest of a
    /// block, for its type.
    pub fn operands(self, x: &Maximum, s: f64, g: f32) -> (f64, f64) {
        let (value, scale) = (x.value, s as f32);
        // The reciprocal of a scale that is stored as one is that f32 again.
        let reciprocal = (1.0 / s) as f32;
        let rounded = match self {
            Quotient::Exact => return (f64::from(value), s * f64::from(g)),
            Quotient::OfProduct => value / (scale * g),
            Quotient::ReciprocalOfProduct => value * ((1.0 / g) / scale),
            Quotient::Reciprocals => value * (1.0 / g) * reciprocal,
            Quotient::Twice => value / g / scale,
            Quotient::ReciprocalInType => x.in_type(value * x.in_type(reciprocal)),
            Quotient::InTypeOfInput | Quotient::PlusZeroPoint | Quotient::LessZeroPoint | Quotient::LessMiddle => {
                x.in_type(value / scale)
            }
        };
        (f64::from(rounded), 1.0)
    }

    /// The element of an input under a scale and a zero point, where there is one; `None` where the quotient is no finite number.
    pub fn element(
        self,
        x: &Maximum,
        [s, zero]: [f64; 2],
        g: f32,
        element: &Element,
        rounding: Rounding,
    ) -> Option<Rounded> {
        let (scale, z) = (s as f32, zero as f32);
        let whole =
            |quotient: f32| quotient.is_finite().then(|| element.round_over(quotient.into(), 1.0, 0.0, rounding));
        match self {
            Quotient::PlusZeroPoint => whole(x.in_type(x.in_type(x.value / scale) + z)),
            Quotient::LessZeroPoint => whole(x.in_type(x.in_type(x.value - z) / scale)),
            Quotient::LessMiddle => {
                let least = x.in_type(z - x.in_type(scale * middle(element) as f32));
                whole(x.in_type(x.in_type(x.value - least) / scale))
            }
            _ => {
                let (dividend, divisor) = self.operands(x, s, g);
                dividend.is_finite().then(|| match zero {
                    0.0 => element.round(dividend, divisor, rounding),
                    _ => element.round_over(dividend, divisor, zero, rounding),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    /// Bits of the four f32 forms with two scales, by NumPy 2: each pair of forms differs in some line, and so does each from
    /// `x (1 / (s g))`, which is none.
    #[test]
    fn forms_round_as_numpy_does() {
        let forms = [Quotient::OfProduct, Quotient::ReciprocalOfProduct, Quotient::Reciprocals, Quotient::Twice];
        for (value, s, g, bits) in [
            (0.78125, 2.0, 6.4296875, [0x3d78_d87f, 0x3d78_d880, 0x3d78_d880, 0x3d78_d87f]),
            (4.703125, 0.875, 3.5234375, [0x3fc3_438c, 0x3fc3_438c, 0x3fc3_438d, 0x3fc3_438d]),
            (1.828125, 6.625, 5.296875, [0x3d55_621a, 0x3d55_6219, 0x3d55_621a, 0x3d55_6219]),
        ] {
            for sign in [1.0f32, -1.0] {
                let x = Maximum { value: sign * value, dtype: DType::F32 };
                let found = forms.map(|form| form.operands(&x, s, g));
                let expected = bits.map(|bits| (f64::from(sign * f32::from_bits(bits)), 1.0));
                assert_eq!(found, expected, "{value} {s} {g}");
            }
        }
    }
}
