//! A compiler's choices in words.

use crate::rewrite::{Choices, Rule};

/// What is chosen other than declared, a line each.
pub fn tell_choices(choices: &Choices, taken: &[usize]) -> Vec<String> {
    let taken = choices.points.iter().zip(taken).filter(|(_, option)| **option > 0);
    let line = taken.map(|(point, option)| {
        let readers = point.readers.join(", ");
        match point.rule {
            Rule::Narrowing => format!("{} is a bf16 sum (narrowing)", point.name),
            _ if *option + 1 < point.options.len() => {
                format!(
                    "{} is rounded once less for {readers}: a conversion down and up again is dropped (rule A)",
                    point.name
                )
            }
            _ => {
                format!("{} is not rounded for {readers}: what reads it takes the wider value (rules A, B)", point.name)
            }
        }
    });
    line.collect()
}
