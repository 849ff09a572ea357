//! The faults: those written down in `tests/mutations.toml` or another list, and those that cargo-mutants makes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Failure;

/// An edit of one file that some test must notice.
#[derive(Clone)]
pub struct Fault {
    /// Its name in the output.
    pub name: String,
    /// The file, from the root of the project.
    pub file: PathBuf,
    /// The bytes that are replaced.
    pub range: Range<usize>,
    /// The text that takes their place.
    pub to: String,
    /// The tests that must notice it, as arguments of `cargo test`; empty if they are to be found out.
    pub test: Vec<String>,
    /// The fault that would go unseen if nothing noticed it.
    pub why: String,
}

impl Fault {
    /// Its name in cargo-mutants, without its place.
    fn mutation(&self) -> &str {
        self.name.split_once(": ").map_or("", |(_, mutation)| mutation)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutation: Vec<Mutation>,
}

/// One fault: a text that stands once in a file, what takes its place, the `cargo test` arguments that must fail, and
/// what would go unseen if they did not.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutation {
    name: String,
    file: PathBuf,
    from: String,
    to: String,
    #[serde(default)]
    test: Vec<String>,
    #[serde(default)]
    why: String,
}

/// The faults of `tests/mutations.toml`, in order.
pub fn listed(root: &Path) -> Result<Vec<Fault>, Failure> {
    let faults = of_list(root, &root.join("tests/mutations.toml"))?;
    match faults.iter().find(|fault| fault.test.is_empty() || fault.why.is_empty()) {
        Some(fault) => Err(format!("{}: it names no test, or not what would go unseen", fault.name).into()),
        None => Ok(faults),
    }
}

/// The faults of a list, in order. Test and reason may be missing.
pub fn of_list(root: &Path, path: &Path) -> Result<Vec<Fault>, Failure> {
    let list: List = toml::from_str(&std::fs::read_to_string(path)?)?;
    let mut faults = Vec::new();
    for Mutation { name, file, from, to, test, why } in list.mutation {
        let text = std::fs::read_to_string(root.join(&file)).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut places = text.match_indices(&from);
        let (Some((at, _)), None) = (places.next(), places.next()) else {
            return Err(format!("{name}: its text does not stand exactly once in {}", file.display()).into());
        };
        faults.push(Fault { name, file, range: at..at + from.len(), to, test, why });
    }
    Ok(faults)
}

#[derive(Deserialize)]
struct Generated {
    name: String,
    file: PathBuf,
    replacement: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Place,
    end: Place,
}

/// Line and column from 1; columns count characters.
#[derive(Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Place {
    fn offset(&self, text: &str) -> usize {
        let line: usize = text.split_inclusive('\n').take(self.line - 1).map(str::len).sum();
        line + text[line..].chars().take(self.column - 1).map(char::len_utf8).sum::<usize>()
    }
}

/// The faults that cargo-mutants makes in the files whose path begins with one of these.
pub fn generated(root: &Path, places: &[String]) -> Result<Vec<Fault>, Failure> {
    let listed = Command::new(env!("CARGO"))
        .args(["mutants", "--workspace", "--list", "--json"])
        .current_dir(root)
        .stdin(Stdio::null())
        .output()?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr).into_owned();
        return Err(format!("cargo mutants (`cargo install cargo-mutants --locked`): {said}").into());
    }
    let all: Vec<Generated> = serde_json::from_slice(&listed.stdout)?;
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut faults = Vec::new();
    for Generated { name, file, replacement, span } in all {
        let path = file.to_string_lossy().replace('\\', "/");
        if !places.iter().any(|place| path.starts_with(place.as_str())) {
            continue;
        }
        if !texts.contains_key(&file) {
            texts.insert(file.clone(), std::fs::read_to_string(root.join(&file))?);
        }
        let text = &texts[&file];
        let range = span.start.offset(text)..span.end.offset(text);
        faults.push(Fault { name, file, range, to: replacement, test: Vec::new(), why: String::new() });
    }
    Ok(faults)
}

/// Generated faults of one line that change nothing that can be seen, and why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equivalent {
    /// The file, from the root of the project.
    file: PathBuf,
    /// The line where they stand, without the space around it.
    line: String,
    /// Their names in cargo-mutants, without their places.
    mutations: Vec<String>,
    /// Why no test can tell them from the original.
    #[allow(dead_code)]
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Equivalents {
    #[serde(default)]
    equivalent: Vec<Equivalent>,
}

/// Takes out the faults of `tests/mutations-equivalent.toml`, and returns how many. An entry about one of these files
/// that is no longer met is an error: the code has changed, and the reason may have gone with it.
pub fn without_equivalents(root: &Path, faults: &mut Vec<Fault>) -> Result<usize, Failure> {
    let path = root.join("tests/mutations-equivalent.toml");
    let list: Equivalents = toml::from_str(&std::fs::read_to_string(path)?)?;
    let before = faults.len();
    for Equivalent { file, line, mutations, .. } in list.equivalent {
        if !faults.iter().any(|fault| fault.file == file) {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&file))?;
        for mutation in mutations {
            let left = faults.len();
            faults.retain(|fault| {
                !(fault.mutation() == mutation && fault.file == file && line_of(&text, fault.range.start).1 == line)
            });
            if faults.len() == left {
                return Err(format!("{}: `{mutation}` is no mutation of `{line}` any more", file.display()).into());
            }
        }
    }
    Ok(before - faults.len())
}

/// Keeps the faults of a table of survivors: by file, name and line, wherever the line stands by now.
pub fn retain_those_of(root: &Path, table: &Path, faults: &mut Vec<Fault>) -> Result<(), Failure> {
    let table = std::fs::read_to_string(table)?;
    let mut wanted = BTreeSet::new();
    for row in table.lines() {
        let [_, name, line] = row.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("`{row}` is no row of a table of survivors").into());
        };
        let (place, mutation) = name.split_once(": ").ok_or("a survivor has no place")?;
        wanted.insert((place.split(':').next().unwrap_or(place), mutation, line));
    }
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    for fault in faults.iter() {
        if !texts.contains_key(&fault.file) {
            texts.insert(fault.file.clone(), std::fs::read_to_string(root.join(&fault.file))?);
        }
    }
    faults.retain(|fault| {
        let (_, line) = line_of(&texts[&fault.file], fault.range.start);
        wanted.contains(&(fault.file.to_str().unwrap_or_default(), fault.mutation(), line))
    });
    Ok(())
}

/// Number and text of the line that holds this byte.
pub fn line_of(text: &str, at: usize) -> (usize, &str) {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
    (text[..at].matches('\n').count() + 1, text[start..end].trim())
}
