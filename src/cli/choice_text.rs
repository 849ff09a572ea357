//! A compiler's choices in words.

use crate::ir::Op;
use crate::rewrite::{Choices, Freedom, Place};

/// The choices that differ from the declared ones, a line each.
pub fn tell_choices(choices: &Choices, taken: &[usize]) -> Vec<String> {
    let taken = choices.points.iter().zip(taken).filter(|(_, option)| **option > 0);
    let line = taken.map(|(point, option)| {
        let readers = point.readers.join(", ");
        let option_at = |place: &Place| &choices.program.entry().instructions[place.options[*option]];
        let text = match point.freedom {
            Freedom::Narrowing if *option + 1 < point.options() => {
                format!("{} is a sum of bf16 terms, rounded once (narrowing)", point.name)
            }
            Freedom::Narrowing => format!("{} is a bf16 sum (narrowing)", point.name),
            Freedom::Accumulation => {
                let rounds = point.places.first().is_some_and(|place| option_at(place).op == Op::Convert);
                let how = if rounds { "rounds every addition" } else { "is rounded once" };
                format!("the bf16 sum {} {how} (accumulation)", point.name)
            }
            Freedom::Contraction => format!("{} is added before it is rounded (contraction)", point.name),
            Freedom::Reciprocal if *option == 1 => {
                format!("{} is a product with the reciprocal (reciprocal)", point.name)
            }
            Freedom::Reciprocal => format!("{} is a product with the reciprocal in bf16 (reciprocal)", point.name),
            Freedom::Algebra => {
                let form = point.places.first().map(option_at).map_or("another operation", |other| other.op.opcode());
                format!("{} is computed in another form, which ends in {form} (algebra)", point.name)
            }
            Freedom::Order => {
                let tiling = point.places.first().and_then(|place| option_at(place).tiling());
                let block = tiling.and_then(|tiling| tiling.k_block).unwrap_or_default();
                format!("{} adds up blocks of {block} products (order)", point.name)
            }
            Freedom::Functions => format!("{} errs within the published bounds (functions)", point.name),
            Freedom::Mesh => {
                let order = ["from the last device to the first", "from a device halfway on", "in pairs of devices"];
                format!("{} is added up {} (mesh)", point.name, order[(*option - 1).min(2)])
            }
            Freedom::Rounding if *option + 1 < point.options() => {
                format!(
                    "{} is rounded once less for {readers}: a conversion down and up again is dropped (rule A)",
                    point.name
                )
            }
            Freedom::Rounding => {
                let take = if point.readers.len() == 1 { "takes" } else { "take" };
                format!("{} is not rounded for {readers}, which {take} the wider value (rules A, B)", point.name)
            }
        };
        // A body is compiled once.
        match (&point.loops[..], point.places.len()) {
            ([.., innermost], 1) => format!("{text}; in the one trip of {innermost}"),
            ([.., innermost], trips) => format!("{text}; in all {trips} trips of {innermost}"),
            ([], _) => text,
        }
    });
    line.collect()
}
