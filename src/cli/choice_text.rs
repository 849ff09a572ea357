//! A compiler's choices in words.

use ulpgate_front::hlo::Sources;
use ulpgate_front::ir::Op;
use ulpgate_front::rewrite::{Choices, Freedom, Place};

/// The place of a value in the source, in brackets behind a space; nothing where the file says none.
pub fn origin_in_brackets(sources: Option<&Sources>, name: &str) -> String {
    match sources.map(|sources| sources.origin(name)) {
        Some(origin) if !origin.is_empty() => format!(" ({origin})"),
        _ => String::new(),
    }
}

/// The choices that differ from the declared ones, a line each; values have their places in the source, where a file says them.
pub fn tell_choices(choices: &Choices, taken: &[usize], sources: Option<&Sources>) -> Vec<String> {
    let taken = choices.points.iter().zip(taken).filter(|(_, option)| **option > 0);
    let line = taken.map(|(point, option)| {
        let readers = point.readers.join(", ");
        let name = format!("{}{}", point.name, origin_in_brackets(sources, &point.name));
        let option_at = |place: &Place| &choices.program.entry().instructions[place.options[*option]];
        let text = match point.freedom {
            Freedom::Narrowing if *option + 1 < point.options() => {
                format!("{name} is a sum of bf16 terms, rounded once (narrowing)")
            }
            Freedom::Narrowing => format!("{name} is a bf16 sum (narrowing)"),
            Freedom::Accumulation => {
                let rounds = point.places.first().is_some_and(|place| option_at(place).op == Op::Convert);
                let how = if rounds { "rounds every addition" } else { "is rounded once" };
                format!("the bf16 sum {name} {how} (accumulation)")
            }
            Freedom::Contraction => format!("{name} is added before it is rounded (contraction)"),
            Freedom::Reciprocal if *option == 1 => {
                format!("{name} is a product with the reciprocal (reciprocal)")
            }
            Freedom::Reciprocal => format!("{name} is a product with the reciprocal in bf16 (reciprocal)"),
            Freedom::Algebra => {
                let form = point.places.first().map(option_at).map_or("another operation", |other| other.op.opcode());
                format!("{name} is computed in another form, which ends in {form} (algebra)")
            }
            Freedom::Order => {
                let tiling = point.places.first().and_then(|place| option_at(place).tiling());
                let block = tiling.and_then(|tiling| tiling.k_block).unwrap_or_default();
                format!("{name} adds up blocks of {block} products (order)")
            }
            Freedom::Functions => format!("{name} errs within the published bounds (functions)"),
            Freedom::Mesh => {
                let order = ["from the last device to the first", "from a device halfway on", "in pairs of devices"];
                format!("{name} is added up {} (mesh)", order[(*option - 1).min(2)])
            }
            Freedom::Rounding if *option + 1 < point.options() => {
                format!("{name} is rounded once less for {readers}: a conversion down and up again is dropped (rule A)")
            }
            Freedom::Rounding => {
                let take = if point.readers.len() == 1 { "takes" } else { "take" };
                format!("{name} is not rounded for {readers}, which {take} the wider value (rules A, B)")
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
