//! Faults in the text of a committed report, apart from its content.

/// The mark that some editors put before a text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Beginnings of the lines of a merge that was not finished.
const MARKERS: [&str; 3] = ["<<<<<<< ", "=======", ">>>>>>> "];

/// The fault of a text that no report has, with its remedy.
pub(super) fn of_text(text: &str) -> Option<String> {
    let marker = text.lines().position(|line| MARKERS.iter().any(|marker| line.starts_with(marker)));
    if let Some(at) = marker {
        return Some(format!("line {} is the marker of a merge: take either side, then `gate --bless`", at + 1));
    }
    if text.starts_with(BYTE_ORDER_MARK) {
        return Some("it begins with a byte order mark: save it as UTF-8 without one".to_string());
    }
    if text.contains("\r\n") {
        return Some(
            "its lines end in CR LF: let git leave them alone (`reports/* -text` in .gitattributes)".to_string(),
        );
    }
    None
}

/// The first difference of two texts that differ.
pub(super) fn first_difference(old: &str, fresh: &str) -> String {
    let (mut ours, mut theirs) = (old.lines(), fresh.lines());
    for line in 1.. {
        match (ours.next(), theirs.next()) {
            (Some(old), Some(fresh)) if old == fresh => {}
            (None, None) => break,
            (old, fresh) => {
                let quoted = |line: Option<&str>| line.map_or("nothing".to_string(), |line| format!("`{}`", cut(line)));
                return format!("line {line}: {} -> {}", quoted(old), quoted(fresh));
            }
        }
    }
    "the last line ends otherwise".to_string()
}

/// Characters of a line that are shown.
const SHOWN: usize = 60;

fn cut(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_string(),
    }
}
