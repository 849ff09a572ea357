//! Programs that a suite names by their file: each is read, parsed and lowered once a suite.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file::{self, read_whole, safetensors};
use crate::hlo::{Import, LowerError, ParseError, ast::Position, exchanged_form, lower, parse};
use crate::input::{Argument, Binding, InputError, Inputs, Unfit, Weights};
use crate::ir::{Op, Program, Shape, ValueId};
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
    #[error("{}: {why}", path.display())]
    Exchanged { path: PathBuf, why: String },
    #[error("{}: {}: {}", Place { path, at: Some(source.at) }, source.name, source.why)]
    NoProgram { path: PathBuf, source: LowerError },
    #[error("{}: {source}", Place { path, at: *at })]
    Unusable { path: PathBuf, at: Option<Position>, source: Box<ImportedError> },
    #[error("{}: input {input}: {source}", Place { path, at: *at })]
    Unfit { path: PathBuf, at: Option<Position>, input: String, source: Unfit },
    #[error("{program} is compiled already: excess must be `as-compiled` or `off`, not `{excess}`")]
    Compiled { program: String, excess: String },
    #[error("{}: the rows of `{name}` are integers, such as token ids, which no input draws: bind it with `arguments`", path.display())]
    Unbound { path: PathBuf, name: String },
    #[error("{truth} is not the truth of {program}: {why}")]
    OtherTruth { truth: String, program: String, why: String },
    #[error(transparent)]
    Arrays(#[from] safetensors::FileError),
    #[error(transparent)]
    Input(#[from] InputError),
}

impl FileError {
    /// The key of the matrix that names the misfit, if it is not the file.
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

/// Endings of programs' files: as people name them, and as XLA dumps them (`--xla_dump_to`).
const ENDINGS: [&str; 2] = [".hlo", ".txt"];

/// Whether the name of a program is that of a file.
pub fn is_file(program: &str) -> bool {
    ENDINGS.iter().any(|ending| program.ends_with(ending))
}

/// The files of one suite.
pub(super) struct Files {
    /// The suite's own folder, which paths are relative to.
    folder: PathBuf,
    read: BTreeMap<PathBuf, ReadSuite>,
    /// The bytes of files of arrays.
    arrays: BTreeMap<PathBuf, Vec<u8>>,
    /// The arrays of files that hold weights: all matrices share them.
    weights: BTreeMap<PathBuf, Weights>,
}

struct ReadSuite {
    text: String,
    import: Import,
    /// Whether it is a compiler's output.
    compiled: bool,
}

impl Files {
    /// No files yet, for the suite at this path.
    pub fn beside(suite: &Path) -> Files {
        Files {
            folder: suite.parent().unwrap_or(Path::new("")).to_path_buf(),
            read: BTreeMap::new(),
            arrays: BTreeMap::new(),
            weights: BTreeMap::new(),
        }
    }

    /// The contents of all files read, by their paths from the suite's folder.
    pub fn contents(&self) -> impl Iterator<Item = (String, &[u8])> {
        let programs = self.read.iter().map(|(path, read)| (path, read.text.as_bytes()));
        let arrays = self.arrays.iter().map(|(path, bytes)| (path, bytes.as_slice()));
        let name = |path: &Path| path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
        programs.chain(arrays).map(move |(path, bytes)| (name(path), bytes))
    }

    /// The binding of an argument.
    pub fn binding(&mut self, text: &str) -> Result<Binding> {
        let binding = Binding::parse(text, &self.folder)?;
        if let Some(entry) = file::Entry::parse(text) {
            self.bytes(self.folder.join(entry.file()))?;
        }
        Ok(binding)
    }

    /// The arrays of a file of weights, read once for all matrices.
    pub fn weights(&mut self, name: &str) -> Result<Weights> {
        let path = self.folder.join(name);
        if let Some(known) = self.weights.get(&path) {
            return Ok(known.clone());
        }
        let weights = Weights::new(name, safetensors::parse(&path, self.bytes(path.clone())?)?);
        self.weights.insert(path, weights.clone());
        Ok(weights)
    }

    /// The bytes of a file of arrays, read once.
    fn bytes(&mut self, path: PathBuf) -> Result<&[u8]> {
        Ok(match self.arrays.entry(path) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let path = entry.key().clone();
                entry.insert(read_whole(&path).map_err(|source| FileError::Unread { path, source })?)
            }
        })
    }

    /// The results recorded in a file.
    pub fn read_results(&mut self, name: &str, promise: &Mode) -> Result<Recorded> {
        let path = self.folder.join(name);
        Ok(Recorded::new(&path, self.bytes(path.clone())?, promise.clone())?)
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

    fn read(&mut self, path: &Path) -> Result<&ReadSuite> {
        match self.read.entry(path.to_path_buf()) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(ReadSuite::of(path)?)),
        }
    }

    /// Checks that a file's results can be the truth of a program: it takes the same arguments and gives the same
    /// shapes.
    pub fn check_truth(&self, truth: &ProgramSpec, spec: &ProgramSpec) -> Result<()> {
        let other = |why: String| FileError::OtherTruth { truth: truth.to_string(), program: spec.to_string(), why };
        let (Some(ours), Some(theirs)) = (spec.file(), truth.file()) else {
            return Err(other("both must be files".to_string()));
        };
        let (ours, theirs) = (ours.program(), theirs.program());
        let shapes = |program: &Program| -> [Vec<Shape>; 2] {
            let entry = program.entry();
            let given = program.outputs().into_iter().map(|id| entry.instructions[id].shape.clone()).collect();
            [entry.parameter_shapes().into_iter().cloned().collect(), given]
        };
        let told = |shapes: &[Shape]| shapes.iter().map(Shape::to_string).collect::<Vec<_>>().join(", ");
        let ([taken, given], [its_taken, its_given]) = (shapes(ours), shapes(theirs));
        if taken != its_taken {
            return Err(other(format!("it takes {}, not {}", told(&its_taken), told(&taken))));
        }
        let shaped = |shapes: &[Shape]| shapes.iter().map(|s| s.dims().to_vec()).collect::<Vec<_>>();
        if shaped(&given) != shaped(&its_given) {
            return Err(other(format!("it gives {}, not {}", told(&its_given), told(&given))));
        }
        Ok(())
    }

    /// Checks that a mode's excess precision makes sense for a file: a compiled program is not compiled again.
    pub fn check_excess(&self, spec: &ProgramSpec, excess: &str) -> Result<()> {
        let read = spec.file().and_then(|file| self.read.get(&file.path));
        let rewrites = find_policy(excess).is_some_and(Policy::rewrites);
        if rewrites && read.is_some_and(|read| read.compiled) {
            return Err(FileError::Compiled { program: spec.to_string(), excess: excess.to_string() });
        }
        Ok(())
    }

    /// Checks that inputs can fill a file's parameters; without one to blame, the error is placed at the first.
    pub fn check_input(&self, spec: &ProgramSpec, inputs: &Inputs) -> Result<()> {
        let Some(file) = spec.file() else { return Ok(()) };
        let Some(read) = self.read.get(&file.path) else { return Ok(()) };
        let (taken, input) = (Argument::of_program(file.program()), &inputs.drawn);
        let ids = taken.first().filter(|first| !first.dtype.is_float() && inputs.binding(0, first).is_none());
        if let Some(Argument { name, .. }) = ids {
            return Err(FileError::Unbound { path: file.path.clone(), name: name.clone() });
        }
        input.input().check(input, &taken).map_err(|source| {
            let number = source.argument.unwrap_or(0);
            let value = file.program().entry().instructions.iter().position(|i| i.op == Op::Parameter(number));
            let at = read.place(value);
            FileError::Unfit { path: file.path.clone(), at, input: input.to_string(), source }
        })
    }
}

impl ReadSuite {
    fn of(path: &Path) -> Result<ReadSuite> {
        let here = || path.to_path_buf();
        let bytes = read_whole(path).map_err(|source| FileError::Unread { path: here(), source })?;
        if let Some(why) = exchanged_form(path, &bytes) {
            return Err(FileError::Exchanged { path: here(), why });
        }
        let text = String::from_utf8(bytes).map_err(|source| FileError::NoText { path: here(), source })?;
        let module = parse(&text).map_err(|source| FileError::NoHlo { path: here(), source })?;
        let import = lower(&module).map_err(|source| FileError::NoProgram { path: here(), source })?;
        Ok(ReadSuite { text, import, compiled: module.is_compiled() })
    }

    /// The position of a value in the file.
    fn place(&self, value: Option<ValueId>) -> Option<Position> {
        value.and_then(|id| self.import.origins.get(id)).map(|origin| origin.at)
    }
}
