//! Programs that a suite names by their file: each is read, parsed and lowered once a suite.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hlo::{Import, lower, parse};
use crate::input::{Argument, Binding, InputError, InputSpec};
use crate::ir::{Op, ValueId};
use crate::machine::Mode;
use crate::program::{Imported, ProgramSpec};
use crate::rewrite::{Policy, policy_named};
use crate::subject::Recorded;

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
    pub fn binding(&self, text: &str) -> Result<Binding, InputError> {
        Binding::parse(text, &self.folder)
    }

    /// The results recorded in a file.
    pub fn recorded(&mut self, name: &str, promise: &Mode) -> Result<Recorded, String> {
        let path = self.folder.join(name);
        if !self.arrays.contains_key(&path) {
            let bytes = std::fs::read(&path).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
            self.arrays.insert(path.clone(), bytes);
        }
        let bytes = self.arrays.get(&path).map_or(&[] as &[u8], Vec::as_slice);
        Recorded::new(&path, bytes, promise.clone()).map_err(|error| error.to_string())
    }

    /// The program in a file. The error names the file, and the place in it where it has one.
    pub fn program(
        &mut self,
        name: &str,
        results: Option<&[String]>,
        scores: Option<&str>,
    ) -> Result<ProgramSpec, String> {
        let path = self.folder.join(name);
        let read = self.read(&path)?;
        let imported = Imported::new(path.clone(), read.import.program.clone(), results, scores);
        let imported = imported.map_err(|error| located(&path, &read.import, error.value, &error.why))?;
        Ok(ProgramSpec::imported(Arc::new(imported)))
    }

    fn read(&mut self, path: &Path) -> Result<&Read, String> {
        if !self.read.contains_key(path) {
            let shown = path.display();
            let bytes = std::fs::read(path).map_err(|error| format!("failed to read {shown}: {error}"))?;
            let text = String::from_utf8(bytes).map_err(|error| format!("{shown} is no text: {error}"))?;
            let module = parse(&text).map_err(|e| format!("{shown}:{}:{}: {}", e.line, e.column, e.message))?;
            let import =
                lower(&module).map_err(|e| format!("{shown}:{}:{}: {}: {}", e.at.line, e.at.column, e.name, e.why))?;
            let compiled = module.is_compiled();
            self.read.insert(path.to_path_buf(), Read { text, import, compiled });
        }
        self.read.get(path).ok_or_else(|| format!("{} was not read", path.display()))
    }

    /// Whether a mode's excess precision makes sense for a file: what is compiled is not compiled again.
    pub fn check_excess(&self, spec: &ProgramSpec, excess: &str) -> Result<(), String> {
        let read = spec.file().and_then(|file| self.read.get(&file.path));
        let rewrites = policy_named(excess).is_some_and(Policy::rewrites);
        if rewrites && read.is_some_and(|read| read.compiled) {
            return Err(format!("{spec} is compiled already: excess must be `as-compiled` or `off`, not `{excess}`"));
        }
        Ok(())
    }

    /// Whether an input can fill a file's parameters; the error names the file and the first parameter's place.
    pub fn check_input(&self, spec: &ProgramSpec, input: &InputSpec) -> Result<(), String> {
        let Some(file) = spec.file() else { return Ok(()) };
        let Some(read) = self.read.get(&file.path) else { return Ok(()) };
        let arguments = Argument::of_program(file.program());
        let first = |(_, i): &(ValueId, &crate::ir::Instruction)| matches!(i.op, Op::Parameter(0));
        let place = file.program().entry().instructions.iter().enumerate().find(first).map(|(id, _)| id);
        let unfit = |why: String| located(&file.path, &read.import, place, &format!("input {input}: {why}"));
        input.input().check(input, &arguments).map_err(unfit)
    }
}

/// `file:line:column: why`, or without a place if the value has none.
fn located(path: &Path, import: &Import, value: Option<ValueId>, why: &str) -> String {
    let at = value.and_then(|id| import.origins.get(id)).map(|origin| origin.at);
    match at {
        Some(at) => format!("{}:{}:{}: {why}", path.display(), at.line, at.column),
        None => format!("{}: {why}", path.display()),
    }
}
