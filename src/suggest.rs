//! "Did you mean": the nearest known name.

/// `: did you mean ...?` with the nearest of `known`, or the whole list where nothing is near.
pub fn hint(name: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|k| (strsim::damerau_levenshtein(name, k), k)).min();
    match nearest {
        Some((distance, k)) if distance <= 1 + k.len() / 3 => format!(": did you mean `{k}`?"),
        _ => format!("; known are {}", known.join(", ")),
    }
}
