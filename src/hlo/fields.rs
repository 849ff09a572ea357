//! `name=value` between braces, as `metadata`, `frontend_attributes` and other structures have it.

/// The fields of a text, parted by `separator` outside of strings and brackets; a field without `=` has an empty value.
pub fn fields(text: &str, separator: char) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == separator || c.is_ascii_whitespace());
        if rest.is_empty() {
            return None;
        }
        let end = end(rest, separator);
        let field = &rest[..end];
        rest = &rest[end..];
        Some(field.split_once('=').map_or((field.trim(), ""), |(name, value)| (name.trim(), value.trim())))
    })
}

/// The end of the first field.
fn end(text: &str, separator: char) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn fields_are_parted_outside_of_strings_and_brackets() {
        let all = |text, separator| fields(text, separator).collect::<Vec<_>>();
        assert_eq!(
            all(r#"a="x,\"y}",b={c = #d<["e"=4]>, f="{,"}, g"#, ','),
            [("a", r#""x,\"y}""#), ("b", r#"{c = #d<["e"=4]>, f="{,"}"#), ("g", "")]
        );
        assert_eq!(all("op_name=\"a b\" stack_frame_id=2", ' '), [("op_name", "\"a b\""), ("stack_frame_id", "2")]);
        assert_eq!(all("left = false, transpose = true", ','), [("left", "false"), ("transpose", "true")]);
        assert!(all(" , ,", ',').is_empty());
    }
}
