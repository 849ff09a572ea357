//! The part of a printed line by which it is accepted, in this run and in later ones.

/// A line without the numbers behind instructions' names (`add.12`), which a compiler gives anew each time: an operation more
/// elsewhere changes them all.
pub fn line_key(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let behind_name = kept.chars().last().is_some_and(|last| last.is_ascii_alphabetic() || last == '_');
        if c == '.' && behind_name && characters.peek().is_some_and(char::is_ascii_digit) {
            while characters.next_if(char::is_ascii_digit).is_some() {}
            continue;
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_instructions_count_for_nothing_and_all_others_do() {
        assert_eq!(
            line_key("narrowed add.12 (jit(f)/add): f32 -> bf16 for ge.0"),
            "narrowed add (jit(f)/add): f32 -> bf16 for ge"
        );
        assert_eq!(line_key("  multiply by 0.0447, 12.5 ulps"), "  multiply by 0.0447, 12.5 ulps");
    }
}
