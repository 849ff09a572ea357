//! Programs that a suite names by their file: each is read, parsed and lowered once a suite.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file::{read_whole, safetensors};
use crate::hlo::{Import, LowerError, ParseError, ast::Position, lower, parse};
use crate::input::{Argument, Binding, InputError, InputSpec, Unfit};
use crate::ir::{Op, ValueId};
use crate::machine::Mode;
use crate::program::{Imported, ImportedError, ProgramSpec};
use crate::rewrite::{Policy, find_policy};
use crate::subject::Recorded;

/// Why a suite cannot use the program in a file.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileError {
    #[error("failed to read {path}: {source}", path = path.display())]
    Unread { path: PathBuf, source: std::io::Error },
    #[error("{path} is no text: {source}", path = path.display())]
    NoText { path: PathBuf, source: std::string::FromUtf8Error },
    #[error("{path}:{}:{}: {}", source.line, source.column, source.message, path = path.display())]
    NoHlo { path: PathBuf, source: ParseError },
    #[error("{}: {}: {}", Place { path, at: Some(source.at) }, source.name, source.why)]
    NoProgram { path: PathBuf, source: LowerError },
    #[error("{}: {source}", Place { path, at: *at })]
    Unusable { path: PathBuf, at: Option<Position>, source: Box<ImportedError> },
    #[error("{}: input {input}: {source}", Place { path, at: *at })]
    Unfit { path: PathBuf, at: Option<Position>, input: String, source: Unfit },
    #[error("{program} is compiled already: excess must be `as-compiled` or `off`, not `{excess}`")]
    Compiled { program: String, excess: String },
    #[error(transparent)]
    Recorded(#[from] safetensors::FileError),
}

impl FileError {
    /// The key of the matrix that names what does not fit, where it is not the file.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            FileError::Unusable { source, .. } => source.key(),
            _ => None,
        }
    }
}

/// A file, or a place in it.
struct Place<'a> {
    path: &'a Path,
    at: Option<Position>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        match self.at {
            Some(Position { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

type Result<T> = std::result::Result<T, FileError>;

/// How the files of programs end: as people name them, and as XLA dumps them (`--xla_dump_to`).
const ENDINGS: [&str; 2] = [".hlo", ".txt"];

/// Whether the name of a program is that of a file.
pub(super) fn is_file(program: &str) -> bool {
    ENDINGS.iter().any(|ending| program.ends_with(ending))
}

/// The files of one suite.
pub(super) struct Files {
    /// The suite's own folder, which paths are relative to.
    folder: PathBuf,
    read: BTreeMap<PathBuf, Read>,
    /// The bytes of files of arrays.
    arrays: BTreeMap<PathBuf, Vec<u8>>,
}

struct Read {
    text: String,
    import: Import,
    /// Whether a compiler has been at it.
    compiled: bool,
}

impl Files {
    /// No files yet, for the suite at this path.
    pub fn beside(suite: &Path) -> Files {
        Files {
            folder: suite.parent().unwrap_or(Path::new("")).to_path_buf(),
            read: BTreeMap::new(),
            arrays: BTreeMap::new(),
        }
    }

    /// What stands in all files read: programs first, each kind in the order of its paths.
    pub fn contents(&self) -> impl Iterator<Item = &[u8]> {
        self.read.values().map(|read| read.text.as_bytes()).chain(self.arrays.values().map(Vec::as_slice))
    }

    /// What an argument is bound to.
    pub fn binding(&self, text: &str) -> std::result::Result<Binding, InputError> {
        Binding::parse(text, &self.folder)
    }

    /// The results recorded in a file.
    pub fn read_results(&mut self, name: &str, promise: &Mode) -> Result<Recorded> {
        let path = self.folder.join(name);
        let bytes = match self.arrays.entry(path.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let bytes = read_whole(&path);
                entry.insert(bytes.map_err(|source| FileError::Unread { path: path.clone(), source })?)
            }
        };
        Ok(Recorded::new(&path, bytes, promise.clone())?)
    }

    /// The program in a file.
    pub fn program(&mut self, name: &str, results: Option<&[String]>, scores: Option<&str>) -> Result<ProgramSpec> {
        let path = self.folder.join(name);
        let read = self.read(&path)?;
        let imported = Imported::new(path.clone(), read.import.program.clone(), results, scores);
        match imported {
            Ok(imported) => Ok(ProgramSpec::from_file(Arc::new(imported))),
            Err(source) => Err(FileError::Unusable { at: read.place(source.value()), path, source: Box::new(source) }),
        }
    }

    fn read(&mut self, path: &Path) -> Result<&Read> {
        match self.read.entry(path.to_path_buf()) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(Read::of(path)?)),
        }
    }

    /// Whether a mode's excess precision makes sense for a file: what is compiled is not compiled again.
    pub fn check_excess(&self, spec: &ProgramSpec, excess: &str) -> Result<()> {
        let read = spec.file().and_then(|file| self.read.get(&file.path));
        let rewrites = find_policy(excess).is_some_and(Policy::rewrites);
        if rewrites && read.is_some_and(|read| read.compiled) {
            return Err(FileError::Compiled { program: spec.to_string(), excess: excess.to_string() });
        }
        Ok(())
    }

    /// Whether an input can fill a file's parameters; without one to blame, the error is placed at the first.
    pub fn check_input(&self, spec: &ProgramSpec, input: &InputSpec) -> Result<()> {
        let Some(file) = spec.file() else { return Ok(()) };
        let Some(read) = self.read.get(&file.path) else { return Ok(()) };
        input.input().check(input, &Argument::of_program(file.program())).map_err(|source| {
            let number = source.argument.unwrap_or(0);
            let value = file.program().entry().instructions.iter().position(|i| i.op == Op::Parameter(number));
            let at = read.place(value);
            FileError::Unfit { path: file.path.clone(), at, input: input.to_string(), source }
        })
    }
}

impl Read {
    fn of(path: &Path) -> Result<Read> {
        let here = || path.to_path_buf();
        let bytes = read_whole(path).map_err(|source| FileError::Unread { path: here(), source })?;
        let text = String::from_utf8(bytes).map_err(|source| FileError::NoText { path: here(), source })?;
        let module = parse(&text).map_err(|source| FileError::NoHlo { path: here(), source })?;
        let import = lower(&module).map_err(|source| FileError::NoProgram { path: here(), source })?;
        Ok(Read { text, import, compiled: module.is_compiled() })
    }

    /// Where a value stands in the file.
    fn place(&self, value: Option<ValueId>) -> Option<Position> {
        value.and_then(|id| self.import.origins.get(id)).map(|origin| origin.at)
    }
}
