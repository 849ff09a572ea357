//! What to say about a name that is not in a list, such as a misspelt chip or suite.

/// The known name closest to `wanted`, if it is close enough to be a slip of the keyboard: at most one edit (insertion,
/// deletion, substitution, swap of neighbours) for every three characters begun. Of several at one distance, the first
/// in the alphabet.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = wanted.chars().count().div_ceil(3);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// The end of an error message about an unknown name: ``did you mean `NAME`?`` with the nearest one, else `known:` and
/// all of them.
pub fn hint<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(wanted, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{hint, nearest};

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let known = ["normal", "near-tie", "uniform"];
        assert_eq!(nearest("nromal", known), Some("normal"));
        assert_eq!(nearest("near_tie", known), Some("near-tie"));
        assert_eq!(nearest("cauchy", known), None);
        assert_eq!(hint("unifrom", known), "did you mean `uniform`?");
        assert_eq!(hint("cauchy", known), "known: normal, near-tie, uniform");
    }
}
