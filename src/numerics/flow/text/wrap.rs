//! Lines of a page.

use std::fmt::Write;

use crate::flow::node::Use;

/// The widest line, unless a name alone is wider.
pub(super) const COLUMNS: usize = 100;

/// A paragraph in lines of at most [`COLUMNS`], broken at blanks: `first` stands before the first, `rest` before the
/// others.
pub(super) fn wrap(out: &mut String, first: &str, rest: &str, text: &str) {
    let mut line = first.to_string();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            let _ = writeln!(out, "{}", line.trim_end());
            line = rest.to_string();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// A name without the fusion that the reader is in already.
pub(super) fn short<'a>(name: &'a str, fusion: Option<&str>) -> &'a str {
    let inside = fusion.and_then(|fusion| name.strip_prefix(fusion)?.strip_prefix('/'));
    inside.unwrap_or(name)
}

/// A reader, seen from inside a fusion.
pub(super) fn reader(one: &Use, fusion: Option<&str>) -> String {
    name_with_kind(&one.reader, &one.what, fusion)
}

/// A name, with its kind unless the name says it already: `exp.5`, `reduce.8 (argmax)`, `result out0`.
pub(super) fn name_with_kind(name: &str, what: &str, fusion: Option<&str>) -> String {
    if what == "result" {
        return format!("result {name}");
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    match what.get(..3).is_some_and(|start| last.starts_with(start)) {
        true => short(name, fusion).to_string(),
        false => format!("{} ({what})", short(name, fusion)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks() {
        let mut out = String::new();
        let word = "w".repeat(45);
        wrap(&mut out, "- ", "  ", &format!("{word} {word} {word}"));
        assert_eq!(out, format!("- {word} {word}\n  {word}\n"));
    }

    #[test]
    fn names_say_what_they_are_once() {
        assert_eq!(name_with_kind("fusion.1/exp.5", "exponential", Some("fusion.1")), "exp.5");
        assert_eq!(name_with_kind("fusion.1/reduce.8", "argmax", None), "fusion.1/reduce.8 (argmax)");
        assert_eq!(name_with_kind("out0", "result", None), "result out0");
    }
}
