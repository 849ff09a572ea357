//! Functions of elements, comparisons and precisions, by their names in HLO text.

use crate::tensor::DType;

/// An enum whose variants have names in HLO text, and a list of them all.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The name in HLO text.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// The one that HLO text calls so.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// A function of one operand, of its shape, element by element. Special values: FACTS 4.1.
    pub enum Unary {
        /// The magnitude: a float without its sign bit, the most negative integer as it is.
        Abs = "abs",
        /// The cube root.
        Cbrt = "cbrt",
        /// The least integer that is not below a float.
        Ceil = "ceil",
        /// The cosine of an angle in radians.
        Cosine = "cosine",
        /// The number of leading zeros of an integer's bits.
        CountLeadingZeros = "count-leading-zeros",
        /// The error function, `2 / sqrt(pi)` times the integral of `e^-t^2` from 0 to x.
        Erf = "erf",
        /// `e^x`.
        Exponential = "exponential",
        /// `e^x - 1`.
        ExponentialMinusOne = "exponential-minus-one",
        /// The greatest integer that is not above a float.
        Floor = "floor",
        /// Whether a float is neither an infinity nor NaN, as a predicate.
        IsFinite = "is-finite",
        /// The natural logarithm.
        Log = "log",
        /// `ln(1 + x)`.
        LogPlusOne = "log-plus-one",
        /// `1 / (1 + e^-x)`.
        Logistic = "logistic",
        /// The other sign: the sign bit of a float flipped, an integer wrapped.
        Negate = "negate",
        /// Every bit of an integer flipped; of a predicate, its negation.
        Not = "not",
        /// The number of bits set in an integer.
        PopulationCount = "popcnt",
        /// The nearest integer to a float, ties away from zero.
        RoundNearestAfz = "round-nearest-afz",
        /// The nearest integer to a float, ties to even.
        RoundNearestEven = "round-nearest-even",
        /// `1 / sqrt(x)`.
        Rsqrt = "rsqrt",
        /// -1, 0 or 1 by the sign; of a float, zeros and NaN stay as they are.
        Sign = "sign",
        /// The sine of an angle in radians.
        Sine = "sine",
        /// The square root.
        Sqrt = "sqrt",
        /// The tangent of an angle in radians.
        Tan = "tan",
        /// The hyperbolic tangent.
        Tanh = "tanh",
    }
}

impl Unary {
    /// Whether it has a meaning for elements of this type.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Unary::Abs | Unary::Negate | Unary::Sign => dtype.is_float() || dtype.is_integer(),
            Unary::Not => !dtype.is_float(),
            Unary::CountLeadingZeros | Unary::PopulationCount => dtype.is_integer(),
            Unary::Cbrt
            | Unary::Ceil
            | Unary::Cosine
            | Unary::Erf
            | Unary::Exponential
            | Unary::ExponentialMinusOne
            | Unary::Floor
            | Unary::IsFinite
            | Unary::Log
            | Unary::LogPlusOne
            | Unary::Logistic
            | Unary::RoundNearestAfz
            | Unary::RoundNearestEven
            | Unary::Rsqrt
            | Unary::Sine
            | Unary::Sqrt
            | Unary::Tan
            | Unary::Tanh => dtype.is_float(),
        }
    }
}

named! {
    /// A function of two operands of one shape, element by element. Special values: FACTS 4.1.
    pub enum Binary {
        /// The sum; integers wrap.
        Add = "add",
        /// Both bits set, or both predicates true.
        And = "and",
        /// The angle of the point whose ordinate and abscissa the operands are, in radians from -pi to pi.
        Atan2 = "atan2",
        /// The quotient; of integers truncated toward zero, and with all bits set where the divisor is 0.
        Divide = "divide",
        /// The larger, or NaN where either is one; of predicates, whether either is true.
        Maximum = "maximum",
        /// The smaller, or NaN where either is one; of predicates, whether both are true.
        Minimum = "minimum",
        /// The product; integers wrap.
        Multiply = "multiply",
        /// The upper half of the product of two integers, of which `multiply` gives the lower one.
        MultiplyHigh = "mulhi",
        /// Either bit set, or either predicate true.
        Or = "or",
        /// The first operand to the power of the second, as C's `pow`; an integer's negative powers are truncated toward zero.
        Power = "power",
        /// The remainder of a division truncated toward zero (`fmod`); the dividend if an integer divisor is 0.
        Remainder = "remainder",
        /// The bits moved up by the second operand, zeros moved in; 0 from the width on.
        ShiftLeft = "shift-left",
        /// The bits moved down, copies of the top bit moved in, in unsigned types as well.
        ShiftRightArithmetic = "shift-right-arithmetic",
        /// The bits moved down, zeros moved in; 0 from the width on.
        ShiftRightLogical = "shift-right-logical",
        /// The difference; integers wrap.
        Subtract = "subtract",
        /// The bits in which the two differ, or whether the two predicates differ.
        Xor = "xor",
    }
}

impl Binary {
    /// Whether it has a meaning for elements of this type.
    pub fn takes(self, dtype: DType) -> bool {
        match self {
            Binary::And | Binary::Or | Binary::Xor => !dtype.is_float(),
            Binary::MultiplyHigh | Binary::ShiftLeft | Binary::ShiftRightArithmetic | Binary::ShiftRightLogical => {
                dtype.is_integer()
            }
            Binary::Maximum | Binary::Minimum => true,
            Binary::Atan2 => dtype.is_float(),
            Binary::Add | Binary::Divide | Binary::Multiply | Binary::Power | Binary::Remainder | Binary::Subtract => {
                dtype.is_float() || dtype.is_integer()
            }
        }
    }

    /// Whether the order of the operands is no matter.
    pub const fn commutes(self) -> bool {
        match self {
            Binary::Add
            | Binary::And
            | Binary::Maximum
            | Binary::Minimum
            | Binary::Multiply
            | Binary::MultiplyHigh
            | Binary::Or
            | Binary::Xor => true,
            Binary::Atan2
            | Binary::Divide
            | Binary::Power
            | Binary::Remainder
            | Binary::ShiftLeft
            | Binary::ShiftRightArithmetic
            | Binary::ShiftRightLogical
            | Binary::Subtract => false,
        }
    }
}

named! {
    /// The relation that `compare` tests on two operands.
    pub enum Compare {
        /// Equal.
        Eq = "EQ",
        /// Not equal; also of unordered operands.
        Ne = "NE",
        /// The first is greater or equal.
        Ge = "GE",
        /// The first is greater.
        Gt = "GT",
        /// The first is less or equal.
        Le = "LE",
        /// The first is less.
        Lt = "LT",
    }
}

impl Compare {
    /// EQ, LT or LE in its place, whether its operands are exchanged, and whether the answer is then negated: a > b is b < a; where
    /// any two are in order, as `total` says, a <= b is that b < a does not hold. NE is that EQ does not hold.
    pub fn basic(self, total: bool) -> (Compare, bool, bool) {
        match self {
            Compare::Gt => (Compare::Lt, true, false),
            Compare::Ge if total => (Compare::Lt, false, true),
            Compare::Ge => (Compare::Le, true, false),
            Compare::Le if total => (Compare::Lt, true, true),
            Compare::Ne => (Compare::Eq, false, true),
            same => (same, false, false),
        }
    }

    /// The answer for operands in this order; `None` means unordered (a NaN), where only NE holds.
    pub fn of(self, ordering: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match (self, ordering) {
            (Compare::Eq, o) => o == Some(Equal),
            (Compare::Ne, o) => o != Some(Equal),
            (_, None) => false,
            (Compare::Ge, Some(o)) => o != Less,
            (Compare::Gt, Some(o)) => o == Greater,
            (Compare::Le, Some(o)) => o != Greater,
            (Compare::Lt, Some(o)) => o == Less,
        }
    }
}

/// The order in which `compare` puts floats. Integers and predicates have one order only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOrder {
    /// IEEE comparison: NaN is unordered, -0 equals +0.
    Partial,
    /// IEEE totalOrder on the bits: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
    Total,
}

/// The precision that a dot asks for one of its operands (`operand_precision`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// The cheapest: on a TPU one bf16 pass over f32 operands (FACTS 2.1).
    Default,
    /// On a TPU three bf16 passes.
    High,
    /// On a TPU six bf16 passes.
    Highest,
}

impl Precision {
    /// The name in HLO text.
    pub const fn name(self) -> &'static str {
        match self {
            Precision::Default => "default",
            Precision::High => "high",
            Precision::Highest => "highest",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{self, Equal, Greater, Less};

    use super::{Binary, Compare, Unary};
    use crate::tensor::{DTYPES, DType};

    /// Rust's operators have the order of IEEE 754: a NaN is unordered, and -0 equals +0.
    #[test]
    fn relations_are_those_of_ieee() {
        let values = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN];
        for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
            for (direction, expected) in [
                (Compare::Eq, a == b),
                (Compare::Ne, a != b),
                (Compare::Ge, a >= b),
                (Compare::Gt, a > b),
                (Compare::Le, a <= b),
                (Compare::Lt, a < b),
            ] {
                assert_eq!(direction.of(a.partial_cmp(&b)), expected, "{a} {} {b}", direction.name());
            }
        }
    }

    /// In a total order no two values are unordered, so that two relations answer for all six.
    #[test]
    fn basic_relations_answer_for_all() {
        for direction in Compare::ALL {
            for total in [false, true] {
                let (one, exchanges, negates) = direction.basic(total);
                assert!(matches!(one, Compare::Eq | Compare::Lt) || one == Compare::Le && !total);
                for ordering in [Some(Less), Some(Equal), Some(Greater), None] {
                    if total && ordering.is_none() {
                        continue;
                    }
                    let given = if exchanges { ordering.map(Ordering::reverse) } else { ordering };
                    let answer = one.of(given) != negates;
                    assert_eq!(answer, direction.of(ordering), "{} {total} {ordering:?}", direction.name());
                }
            }
        }
    }

    /// For each operation, whether it takes predicates, integers and floats (StableHLO's constraints).
    #[test]
    fn operations_take_the_types_of_their_meaning() {
        let kind = |dtype: DType| match &dtype.name()[..1] {
            "p" => 0,
            "s" | "u" => 1,
            _ => 2,
        };
        for dtype in DTYPES {
            for unary in Unary::ALL {
                let takes = match unary.name() {
                    "not" => [true, true, false],
                    "count-leading-zeros" | "popcnt" => [false, true, false],
                    "abs" | "negate" | "sign" => [false, true, true],
                    _ => [false, false, true],
                };
                assert_eq!(unary.takes(dtype), takes[kind(dtype)], "{} of {dtype}", unary.name());
            }
            for binary in Binary::ALL {
                let takes = match binary.name() {
                    "and" | "or" | "xor" => [true, true, false],
                    "maximum" | "minimum" => [true; 3],
                    "atan2" => [false, false, true],
                    "mulhi" | "shift-left" | "shift-right-arithmetic" | "shift-right-logical" => [false, true, false],
                    _ => [false, true, true],
                };
                assert_eq!(binary.takes(dtype), takes[kind(dtype)], "{} of {dtype}", binary.name());
            }
        }
    }

    /// Small numbers show the order of operands wherever it matters.
    #[test]
    fn operands_change_places_where_no_number_shows_it() {
        for binary in Binary::ALL {
            let apply = |a: i32, b: i32| match binary {
                Binary::Add => a + b,
                Binary::And => a & b,
                Binary::Atan2 => (f64::from(a).atan2(f64::from(b)) * 1000.0) as i32,
                Binary::Divide => a / b,
                Binary::Maximum => a.max(b),
                Binary::Minimum => a.min(b),
                Binary::Multiply => a * b,
                Binary::MultiplyHigh => ((i64::from(a << 16) * i64::from(b << 16)) >> 32) as i32,
                Binary::Or => a | b,
                Binary::Power => a.pow(b.unsigned_abs()),
                Binary::Remainder => a % b,
                Binary::ShiftLeft => a << b,
                Binary::ShiftRightArithmetic | Binary::ShiftRightLogical => a >> b,
                Binary::Subtract => a - b,
                Binary::Xor => a ^ b,
            };
            let commutes = (1..8).all(|a| (1..8).all(|b| apply(a, b) == apply(b, a)));
            assert_eq!(binary.commutes(), commutes, "{}", binary.name());
        }
    }
}
