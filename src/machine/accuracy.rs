//! Implementations of functions that TPU compilers take for an accuracy that is asked of them.

use crate::ir::{Instruction, Op, ResultAccuracy, Setting, Unary};

use super::chip::CHIPS;
use super::vector::{Eup, Implementation, choose, has_two};

/// The implementation of a function that the compiler of each TPU takes for an accuracy (FACTS 3.3), in words: `the default
/// implementation on v6e, the more accurate implementation on v5e`.
pub fn implementations(unary: Unary, accuracy: ResultAccuracy) -> String {
    let those = |what: &str, is_meant: &dyn Fn(Eup) -> bool| {
        let chips = CHIPS.iter().filter(|chip| chip.eup != Eup::Exact && is_meant(chip.eup));
        let names: Vec<&str> = chips.map(|chip| chip.name).collect();
        (!names.is_empty()).then(|| format!("{what} on {}", names.join(", ")))
    };
    let is = |which: Implementation| move |eup: Eup| has_two(eup, unary) && choose(eup, unary, Some(accuracy)) == which;
    let parts = [
        those("the default implementation", &is(Implementation::Default)),
        those("the more accurate implementation", &is(Implementation::Highest)),
        those("the only one", &|eup| !has_two(eup, unary)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// An accuracy that is asked of a function, with the implementations that TPU compilers take for it.
pub fn accuracy_in_words(unary: Unary, accuracy: ResultAccuracy) -> String {
    format!("{} ({})", Setting::Accuracy(accuracy), implementations(unary, accuracy))
}

/// Packed code of bf16, in words.
pub const PACKED: &str = "packed code of bf16 (tpu7x, FACTS 3.3)";

/// The facts of a file about the code of a function, in words: the accuracy that is asked of it, and packed code.
pub fn function_code(instruction: &Instruction) -> Vec<String> {
    let accuracy = match (&instruction.op, instruction.accuracy()) {
        (Op::Unary(unary), Some(accuracy)) => Some(accuracy_in_words(*unary, accuracy)),
        _ => None,
    };
    accuracy.into_iter().chain(instruction.is_packed().then(|| PACKED.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each TPU is named once for every function and accuracy, with one implementation.
    #[test]
    fn every_chip_has_one_implementation() {
        let tolerance = |exponent: i32| {
            let bits = 2f64.powi(exponent).to_bits();
            ResultAccuracy::Tolerance { atol: bits, rtol: bits, ulps: 0 }
        };
        for accuracy in [ResultAccuracy::Highest, tolerance(-4), tolerance(-20)] {
            for unary in Unary::ALL.iter().copied() {
                let text = implementations(unary, accuracy);
                let words: Vec<&str> = text.split([' ', ',']).collect();
                for chip in CHIPS.iter().filter(|chip| chip.eup != Eup::Exact) {
                    let count = words.iter().filter(|word| **word == chip.name).count();
                    assert_eq!(count, 1, "{} in `{text}` of {}", chip.name, unary.name());
                }
            }
        }
        let text = implementations(Unary::Exponential, ResultAccuracy::Highest);
        assert!(
            text.starts_with("the more accurate implementation on v2, ") && text.contains("the only one on "),
            "{text}"
        );
        assert!(implementations(Unary::Negate, ResultAccuracy::Highest).starts_with("the only one on v2, "));
    }
}
