//! A kept list of changes that a person has reviewed: `ulpgate hlo diff --accept FILE`.
//!
//! The first line names the format. A line at the margin is the path of a pair of files. The indented lines below it
//! are those printed for the pair. A line that begins with `#` says why the next one is accepted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ulpgate_front::diff::line_key;
use ulpgate_front::file::read_text;

use super::super::write_file;
use super::Failure;

/// The first line of a list. A file without it is no list, and is neither believed nor replaced.
const FORMAT: &str = "# ulpgate accepted changes 1";

/// The line below it in a new file.
const HEAD: &str = "# Changes that were reviewed. `ulpgate hlo diff --accept` tells any other, and any that is gone.\n";

/// The list, and the lines that a run has printed so far.
pub struct Accepted {
    path: PathBuf,
    /// The text before the first pair.
    head: String,
    /// The accepted lines of each pair.
    old: BTreeMap<String, Vec<AcceptedLine>>,
    /// The printed lines of each pair.
    fresh: BTreeMap<String, Vec<String>>,
}

/// A line that was accepted, with the comments above it.
struct AcceptedLine {
    comments: Vec<String>,
    text: String,
}

/// The comparison of a pair with its accepted lines.
pub struct ComparedPair {
    /// Lines that were not accepted.
    pub new: Vec<String>,
    /// Accepted lines that were not printed.
    pub gone: Vec<String>,
    /// The number of lines that are as accepted.
    pub accepted: usize,
}

impl Accepted {
    /// Reads the list. One that does not exist, or holds not a byte, is empty if it is to be written
    /// (`is_new_allowed`), else an error.
    pub fn read(path: &Path, is_new_allowed: bool) -> Result<Accepted, Failure> {
        let fail = |why: String| Failure::Message(format!("{}: {why}", path.display()));
        let text = match read_text(path) {
            Ok(text) if text.is_empty() && is_new_allowed => format!("{FORMAT}\n{HEAD}"),
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match is_new_allowed {
                true => format!("{FORMAT}\n{HEAD}"),
                false => return Err(fail("there is no such list; --bless writes a first one".to_string())),
            },
            Err(error) => return Err(fail(format!("failed to read it: {error}"))),
        };
        if text.lines().next().is_none_or(|first| first.trim_end() != FORMAT) {
            return Err(fail(format!(
                "it is no list of accepted changes, whose first line is `{FORMAT}`; give another file, or put that line at its \
                 head if it is one of an earlier version"
            )));
        }
        let mut accepted =
            Accepted { path: path.to_path_buf(), head: String::new(), old: BTreeMap::new(), fresh: BTreeMap::new() };
        let (mut pair, mut comments): (Option<String>, Vec<String>) = (None, Vec::new());
        for (number, line) in text.lines().enumerate() {
            let said = line.trim();
            match (&pair, line.starts_with(char::is_whitespace)) {
                _ if said.is_empty() => {}
                (None, _) if said.starts_with('#') => accepted.head.extend([said, "\n"]),
                (Some(_), _) if said.starts_with('#') => comments.push(said.to_string()),
                (_, false) => {
                    comments.clear();
                    accepted.old.entry(said.to_string()).or_default();
                    pair = Some(said.to_string());
                }
                (Some(pair), true) => {
                    let line = AcceptedLine { comments: std::mem::take(&mut comments), text: said.to_string() };
                    accepted.old.entry(pair.clone()).or_default().push(line);
                }
                (None, true) => {
                    return Err(fail(format!("line {}: a change stands below the path of its files", number + 1)));
                }
            }
        }
        Ok(accepted)
    }

    /// The path of the list.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The accepted lines of a pair.
    fn accepted_of(&self, pair: &str) -> Vec<&AcceptedLine> {
        self.old.get(pair).map_or(Vec::new(), |lines| lines.iter().collect())
    }

    /// Compares the printed lines of a pair with its accepted ones.
    pub fn compare(&mut self, pair: &str, printed: &str) -> ComparedPair {
        let printed: Vec<String> = printed.lines().map(|line| line.trim().to_string()).collect();
        let mut open = self.accepted_of(pair);
        let mut compared = ComparedPair { new: Vec::new(), gone: Vec::new(), accepted: 0 };
        for line in &printed {
            match take_alike(&mut open, line) {
                Some(_) => compared.accepted += 1,
                None => compared.new.push(line.clone()),
            }
        }
        compared.gone = open.into_iter().map(|line| line.text.clone()).collect();
        self.fresh.insert(pair.to_string(), printed);
        compared
    }

    /// Pairs that were not compared at all: their paths, and their numbers of accepted lines.
    pub fn of_other_pairs(&self) -> Vec<(&str, usize)> {
        let other = self.old.iter().filter(|(pair, lines)| !self.fresh.contains_key(*pair) && !lines.is_empty());
        other.map(|(pair, lines)| (pair.as_str(), lines.len())).collect()
    }

    /// Writes the printed lines as the new list; comments above a line stay with it. Returns the number of lines.
    pub fn bless(&self) -> Result<usize, Failure> {
        let mut text = self.head.clone();
        for (pair, lines) in self.fresh.iter().filter(|(_, lines)| !lines.is_empty()) {
            let _ = writeln!(text, "{pair}");
            let mut old = self.accepted_of(pair);
            for line in lines {
                for comment in take_alike(&mut old, line).iter().flat_map(|accepted| &accepted.comments) {
                    let _ = writeln!(text, "  {comment}");
                }
                let _ = writeln!(text, "  {line}");
            }
        }
        write_file(&self.path, &text)?;
        Ok(self.fresh.values().map(Vec::len).sum())
    }
}

/// Takes the first accepted line that is like a printed one.
fn take_alike<'a>(accepted: &mut Vec<&'a AcceptedLine>, printed: &str) -> Option<&'a AcceptedLine> {
    let at = accepted.iter().position(|line| line_key(&line.text) == line_key(printed))?;
    Some(accepted.remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_is_refused_by_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accepted");
        for text in ["", "\n", "{}\n", HEAD, "# ulpgate accepted changes 2\n", "a.hlo\n  narrowed add.1: f32 -> bf16\n"]
        {
            std::fs::write(&path, text).unwrap();
            assert!(Accepted::read(&path, false).is_err(), "{text}");
            assert_eq!(Accepted::read(&path, true).is_ok(), text.is_empty(), "{text}");
        }
        std::fs::write(&path, format!("{FORMAT}\r\n")).unwrap();
        assert!(Accepted::read(&path, false).is_ok());
    }

    #[test]
    fn what_is_new_and_what_is_gone_is_told_and_comments_stay_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accepted");
        assert!(Accepted::read(&path, false).is_err());
        let mut first = Accepted::read(&path, true).unwrap_or_else(|_| panic!("an empty list"));
        let compared = first.compare("a.hlo", "narrowed add.1: f32 -> bf16\nwidened b.2: bf16 -> f32\n");
        assert_eq!((compared.new.len(), compared.gone.len(), compared.accepted), (2, 0, 0));
        assert_eq!(first.bless().ok(), Some(2));
        let text = std::fs::read_to_string(&path).unwrap().replace("  widened", "  # meant: #7\n  widened");
        std::fs::write(&path, &text).unwrap();
        let mut second = Accepted::read(&path, false).unwrap_or_else(|_| panic!("the list"));
        let compared = second.compare("a.hlo", "widened b.9: bf16 -> f32\nreordered c.1: x -> y\n");
        assert_eq!(compared.new, ["reordered c.1: x -> y"]);
        assert_eq!(compared.gone, ["narrowed add.1: f32 -> bf16"]);
        assert_eq!(compared.accepted, 1);
        assert_eq!(second.bless().ok(), Some(2));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(&format!("{FORMAT}\n{HEAD}")), "{text}");
        assert!(text.contains("a.hlo\n  # meant: #7\n  widened b.9: bf16 -> f32\n  reordered c.1: x -> y\n"), "{text}");
        let third = Accepted::read(&path, false).unwrap_or_else(|_| panic!("the list"));
        assert_eq!(third.of_other_pairs(), [("a.hlo", 2)]);
        // A comment below the last line of a pair is of no line of the next.
        std::fs::write(
            &path,
            format!("{FORMAT}\na.hlo\n  reordered c.1: x -> y\n  # stray\nb.hlo\n  widened b.2: x -> y\n"),
        )
        .unwrap();
        let mut fourth = Accepted::read(&path, false).unwrap_or_else(|_| panic!("the list"));
        assert_eq!(fourth.compare("b.hlo", "widened b.2: x -> y\n").accepted, 1);
        assert_eq!(fourth.bless().ok(), Some(1));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("stray"));
    }
}
