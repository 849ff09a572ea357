//! Names in messages: what to say about one that is not in a list, how many things there are, and what of any text may reach a
//! terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal would obey this character instead of showing it: a control character, the end of a line, or one that turns
/// the direction of what follows.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Writes a character that [`is_obeyed`] as JSON has it, `\u001b`: of a JSON text, the meaning stays.
pub fn push_escaped(c: char, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(text, "\\u{:04x}", u32::from(c));
}

/// A text of which a terminal obeys nothing: such characters are escaped, ends of lines as well.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| if is_obeyed(c) { push_escaped(c, &mut shown) } else { shown.push(c) });
    Cow::Owned(shown)
}

/// The longest line for people, in characters: a screen of them.
pub const LONGEST_LINE: usize = 4000;

/// The end of a line of which so many characters were left out.
pub fn left_out(characters: usize) -> String {
    format!("... ({characters} more characters)")
}

/// A message as one line: ends of lines are blanks, nothing in it is obeyed, and what is too long is cut with a note.
pub fn one_line(message: &str) -> String {
    let message = message.replace(['\n', '\r'], " ");
    let message = printable(&message);
    match message.char_indices().nth(LONGEST_LINE) {
        None => message.into_owned(),
        Some((end, _)) => message[..end].to_string() + &left_out(message[end..].chars().count()),
    }
}

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

/// [`printable`] lines: a name in one of them may hold an end of line, and what looks like a verdict behind it.
pub fn printable_lines(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    lines.into_iter().map(|line| printable(&line).into_owned()).collect()
}

/// The end of an error message about an unknown name: ``did you mean `NAME`?`` with the nearest one, else `known:` and
/// all of them, or that there is none.
pub fn hint<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(wanted, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => match known.into_iter().collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "there is none".to_string(),
            all => format!("known: {all}"),
        },
    }
}

/// A number of things, such as `1 case` and `2 cases`.
pub fn quantity(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The verb of so many subjects.
pub fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LINE, are, hint, nearest, one_line, printable, quantity};

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let known = ["normal", "near-tie", "uniform"];
        assert_eq!(nearest("nromal", known), Some("normal"));
        assert_eq!(nearest("near_tie", known), Some("near-tie"));
        assert_eq!(nearest("cauchy", known), None);
        assert_eq!(hint("unifrom", known), "did you mean `uniform`?");
        assert_eq!(hint("cauchy", known), "known: normal, near-tie, uniform");
        assert_eq!(hint("cauchy", []), "there is none");
    }

    #[test]
    fn nothing_in_a_message_is_obeyed_or_without_end() {
        assert_eq!(printable("\u{1b}[31mred\u{9b}\u{7f}\n\u{202e}"), "\\u001b[31mred\\u009b\\u007f\\u000a\\u202e");
        assert_eq!(printable("häkchen ✓"), "häkchen ✓");
        assert_eq!(one_line("two\nlines\u{7}"), "two lines\\u0007");
        let long = one_line(&"ä".repeat(LONGEST_LINE + 7));
        assert!(long.ends_with("ä... (7 more characters)"), "{long}");
        assert_eq!(one_line(&"x".repeat(LONGEST_LINE)).len(), LONGEST_LINE);
    }

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([quantity(0, "row"), quantity(1, "row"), quantity(2, "row")], ["0 rows", "1 row", "2 rows"]);
        assert_eq!([are(1), are(0), are(2)], ["is", "are", "are"]);
    }
}
