//! Two folders whose files of one name are compared.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Exit, Failure};

/// Two folders.
pub struct FolderPair {
    folders: [PathBuf; 2],
    /// Paths below both.
    common: Vec<PathBuf>,
    /// Paths below one of them.
    alone: Vec<PathBuf>,
}

/// The comparison of two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing differs.
    Same,
    /// Something does.
    Differs,
    /// Neither is known, and the report on the pair says why.
    Open,
}

impl FolderPair {
    /// Two folders with their `.hlo` files; `None` where both are files.
    pub fn of(one: &Path, other: &Path) -> Result<Option<FolderPair>, Failure> {
        match (one.is_dir(), other.is_dir()) {
            (false, false) => return Ok(None),
            (true, true) => {}
            (folder, _) => {
                let [folder, file] = if folder { [one, other] } else { [other, one] };
                let is = if file.exists() { "is a file; give two of a kind" } else { "does not exist" };
                let why = format!("{} is a folder, and {} {is}", folder.display(), file.display());
                return Err(Failure::Message(why));
            }
        }
        let [left, right] = [files(one)?, files(other)?];
        let common: Vec<PathBuf> = left.intersection(&right).cloned().collect();
        let alone = left.symmetric_difference(&right).cloned().collect();
        if common.is_empty() {
            let why = format!("{} and {} have no .hlo file of one name", one.display(), other.display());
            return Err(Failure::Message(why));
        }
        Ok(Some(FolderPair { folders: [one.to_path_buf(), other.to_path_buf()], common, alone }))
    }

    /// The files whose path has one of these in it, folder for folder, as `tpu` or `tpu/v5e`; all, where none is given.
    ///
    /// # Errors
    /// If one of them takes no pair.
    pub fn only(mut self, parts: &[PathBuf]) -> Result<FolderPair, Failure> {
        let has = |path: &Path, part: &Path| {
            let (path, part): (Vec<_>, Vec<_>) = (path.components().collect(), part.components().collect());
            !part.is_empty() && path.windows(part.len()).any(|window| window == part)
        };
        for part in parts {
            if !self.common.iter().any(|path| has(path, part)) {
                let folders: BTreeSet<String> = self
                    .common
                    .iter()
                    .filter_map(|path| path.parent())
                    .map(|folder| folder.display().to_string())
                    .filter(|folder| !folder.is_empty())
                    .collect();
                let there = folders.into_iter().collect::<Vec<_>>().join(", ");
                let there = if there.is_empty() { "files lie in no folders of their own".to_string() } else { there };
                return Err(Failure::Message(format!(
                    "--only {}: no pair lies there; there are: {there}",
                    part.display()
                )));
            }
        }
        if !parts.is_empty() {
            let is_asked = |path: &PathBuf| parts.iter().any(|part| has(path, part));
            self.common.retain(is_asked);
            self.alone.retain(is_asked);
        }
        Ok(self)
    }

    /// The files of both folders that are compared.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.folders.iter().flat_map(|folder| self.common.iter().map(move |path| folder.join(path))).collect()
    }

    /// The files without a counterpart, by their paths in their folders.
    pub fn alone(&self) -> &[PathBuf] {
        &self.alone
    }

    /// Puts a question to each pair, under the pair's name, and sums up. `words` describe pairs that are the same, and
    /// pairs that differ. Any pair that differs makes the exit code 1, else one that could not be judged makes it 2.
    pub fn judge(
        &self,
        words: [&str; 2],
        out: &mut dyn Write,
        mut question: impl FnMut(&Path, &Path, &mut dyn Write) -> Result<Outcome, Failure>,
    ) -> Result<Exit, Failure> {
        let mut counts = [0usize; 3];
        for path in &self.common {
            writeln!(out, "{}", path.display())?;
            let [one, other] = [0, 1].map(|side| self.folders[side].join(path));
            counts[match question(&one, &other, out) {
                Ok(Outcome::Same) => 0,
                Ok(Outcome::Differs) => 1,
                Ok(Outcome::Open) => 2,
                Err(Failure::Message(message)) => {
                    writeln!(out, "  not judged: {}", message.replace(['\n', '\r'], " "))?;
                    2
                }
            }] += 1;
        }
        for path in &self.alone {
            writeln!(out, "{}\n  in one folder alone", path.display())?;
        }
        let ([same, differ, open], [is_same, differs]) = (counts, words);
        let alone = self.alone.len();
        write!(out, "{} pairs: {same} {is_same}, {differ} {differs}, {open} not judged", self.common.len())?;
        writeln!(out, "; {alone} files without a counterpart")?;
        match counts {
            [_, 0, 0] if alone == 0 => Ok(Exit::AsExpected),
            [_, 0, _] => Err(Failure::Message(format!("{open} pairs not judged, {alone} files without a counterpart"))),
            _ => Ok(Exit::Found),
        }
    }
}

/// The `.hlo` files below a folder, by their paths from there.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let mut found = BTreeSet::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let at = folder.join(&below);
        let fail = |error: std::io::Error| Failure::Message(format!("{}: failed to list it: {error}", at.display()));
        for entry in std::fs::read_dir(&at).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = below.join(entry.file_name());
            // Links are not followed, so that there is an end.
            match entry.file_type().map_err(fail)? {
                kind if kind.is_dir() => open.push(path),
                _ if path.extension().is_some_and(|extension| extension == "hlo") => {
                    name_in_list(&path)?;
                    found.insert(path);
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// A path as lists name it: on one line that stands for no other path.
pub fn name_in_list(path: &Path) -> Result<&str, Failure> {
    let refuse = |why: &str| {
        let shown = path.display().to_string();
        Failure::Message(format!("`{}`: its name {why}: rename it", shown.escape_debug()))
    };
    let name = path.to_str().ok_or_else(|| refuse("is no UTF-8 text"))?;
    if name.chars().any(char::is_control) {
        return Err(refuse("has a control character"));
    }
    if name.trim() != name || name.starts_with('#') {
        return Err(refuse("begins with `#` or a space, or ends with one"));
    }
    Ok(name)
}
