//! The copy of the project in which faults live, and its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::Failure;
use crate::fault::Fault;
use crate::schema::{Edit, Rendered, Schema};

/// The copy, with each fault behind its switch where that compiles.
pub struct Project {
    root: PathBuf,
    copy: PathBuf,
    schemas: BTreeMap<PathBuf, Schema>,
    faults: BTreeMap<u32, PathBuf>,
    /// Whether the compiler optimises, which takes most of the time unless the tests do.
    optimized: bool,
    /// Test executables by what chooses them, such as `--lib ulpgate` or `--test machine`.
    executables: BTreeMap<String, PathBuf>,
}

/// The libraries, each with its folder; a file belongs to the one with the longest folder around it.
pub const LIBRARIES: [(&str, &str); 9] = [
    ("ulpgate", "src"),
    ("ulpgate-cli", "src/cli"),
    ("ulpgate-front", "src/front"),
    ("ulpgate-hlo", "src/hlo"),
    ("ulpgate-ir", LOWEST),
    ("ulpgate-machine", "src/machine"),
    ("ulpgate-numerics", "src/numerics"),
    ("ulpgate-oracle", "src/oracle"),
    ("ulpgate-xla-cpu", "src/xla_cpu"),
];

/// The folder of the library that all others depend on.
const LOWEST: &str = "src/ir";

/// The files that are copied.
const PARTS: [&str; 12] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo",
    "gmp.site",
    "src",
    "tests",
    "docs",
    "suites",
    "examples",
    "reports",
    "benches",
    "mutate",
];

/// The switch's place in the copy.
const SWITCH: &str = "src/ir/mutant.rs";

/// A fault may make the compiler suspicious.
const UNSUSPICIOUS: [u8; 62] = *b"#![allow(warnings, arithmetic_overflow, unconditional_panic)] ";

/// The compiler's messages in JSON, as far as they are read.
#[derive(Deserialize)]
struct Message {
    reason: String,
    message: Option<Diagnostic>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    spans: Vec<Span>,
    children: Vec<Diagnostic>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Span {
    file_name: PathBuf,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Project {
    /// Copies the project and puts a switch around each fault; the number of a fault is its place in the list, from 1.
    pub fn new(root: &Path, copy: PathBuf, faults: &[Fault], optimized: bool) -> Result<Self, Failure> {
        let mut edits: BTreeMap<PathBuf, Vec<Edit>> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for (number, Fault { file, range, to, .. }) in (1..).zip(faults) {
            let edit = Edit { fault: number, range: range.clone(), to: to.clone() };
            edits.entry(file.clone()).or_default().push(edit);
            numbers.insert(number, file.clone());
        }
        let mut schemas = BTreeMap::new();
        for (file, edits) in edits {
            let text = std::fs::read_to_string(root.join(&file))?;
            schemas.insert(file, Schema::new(text, edits)?);
        }
        let (root, executables) = (root.to_path_buf(), BTreeMap::new());
        let project = Self { root, copy, schemas, faults: numbers, optimized, executables };
        project.update(None)?;
        Ok(project)
    }

    /// The folder of the copy.
    pub fn folder(&self) -> &Path {
        &self.copy
    }

    /// The faults that have no switch.
    pub fn alone(&self) -> BTreeSet<u32> {
        self.schemas.values().flat_map(Schema::alone).collect()
    }

    /// The executable of the tests that `--lib LIBRARY` or `--test NAME` choose.
    pub fn executable(&self, target: &str) -> Result<&Path, Failure> {
        let found = self.executables.get(target).map(PathBuf::as_path);
        found.ok_or_else(|| format!("there is no test executable for {target}").into())
    }

    /// Builds the copy for these targets, taking switches away where they do not compile.
    pub fn build(&mut self, targets: &BTreeSet<String>) -> Result<(), Failure> {
        loop {
            let errors = self.compile(targets)?;
            if errors.is_empty() {
                return Ok(());
            }
            let rendered: BTreeMap<&PathBuf, Rendered> =
                self.schemas.iter().map(|(file, schema)| (file, schema.render(None))).collect();
            let blamed: BTreeSet<u32> = errors.iter().flat_map(|error| blamed(error, &rendered)).collect();
            if blamed.is_empty() {
                let text: String = errors.into_iter().filter_map(|error| error.rendered).collect();
                return Err(format!("the project does not build:\n{text}").into());
            }
            for fault in blamed {
                if let Some(schema) = self.schemas.get_mut(&self.faults[&fault]) {
                    schema.refuse(fault);
                }
            }
            self.update(None)?;
        }
    }

    /// Builds the copy with a fault that has no switch. Whether it compiles.
    pub fn plant(&mut self, fault: u32, targets: &BTreeSet<String>) -> Result<bool, Failure> {
        self.update(Some(fault))?;
        Ok(self.compile(targets)?.is_empty())
    }

    /// Brings the copy up to date. Files that are the same stay untouched, and so does what was built of them.
    pub fn update(&self, planted: Option<u32>) -> Result<(), Failure> {
        let mut files = BTreeSet::new();
        for part in PARTS {
            list(&self.root, Path::new(part), &mut files)?;
        }
        for file in &files {
            let mut bytes = match self.schemas.get(file) {
                Some(schema) => schema.render(planted).text.into_bytes(),
                None => std::fs::read(self.root.join(file))?,
            };
            if let Some((_, folder)) = LIBRARIES.iter().find(|(_, folder)| *file == Path::new(folder).join("lib.rs")) {
                bytes.splice(..0, UNSUSPICIOUS);
                let switch: &[u8] = match *folder {
                    LOWEST => b"pub mod mutant;\n",
                    // These have no dependency of their own on the lowest library.
                    "src" | "src/cli" => b"pub use ulpgate_front::mutant;\n",
                    "src/front" => b"pub use ulpgate_hlo::mutant;\n",
                    _ => b"pub use ulpgate_ir::mutant;\n",
                };
                bytes.extend(switch);
            } else if let Some("Cargo.toml" | "Cargo.lock") = file.to_str() {
                bytes = self.renamed(&String::from_utf8(bytes)?).into_bytes();
            }
            write(&self.copy.join(file), &bytes)?;
        }
        write(&self.copy.join(SWITCH), include_bytes!("switch.rs"))?;
        let mut there = BTreeSet::new();
        list(&self.copy, Path::new(""), &mut there)?;
        for old in there.iter().filter(|file| !files.contains(*file) && **file != Path::new(SWITCH)) {
            std::fs::remove_file(self.copy.join(old))?;
        }
        Ok(())
    }

    /// The manifest or the lock file with another version of the packages: cargo tells what it builds apart by name and
    /// version, not by folder, and must not take the copy's libraries for the project's.
    fn renamed(&self, text: &str) -> String {
        let old = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
        let folder = self.copy.file_name().unwrap_or_default().to_string_lossy();
        let new = format!("{}-{folder}\"", old.trim_end_matches('"'));
        let mut before = "";
        let mut renamed = String::new();
        for line in text.split_inclusive('\n') {
            let is_head = before.starts_with("name = \"ulpgate") || before.starts_with("[workspace.package]");
            let is_own = is_head || line.starts_with("ulpgate-") && line.contains("path = ");
            renamed.push_str(&if is_own { line.replacen(&old, &new, 1) } else { line.to_string() });
            before = line;
        }
        renamed
    }

    /// Builds the tests of these targets: the errors, if any.
    fn compile(&mut self, targets: &BTreeSet<String>) -> Result<Vec<Diagnostic>, Failure> {
        // One flag builds both libraries, and cargo takes it once.
        let (libraries, others): (Vec<&String>, Vec<&String>) = targets.iter().partition(|t| t.starts_with("--lib "));
        // Tests start the binary that lies there: that of another run must not replace it.
        let own = self.root.join("target/mutate/build").join(self.copy.file_name().unwrap_or_default());
        let built = Command::new(env!("CARGO"))
            .args(["test", "--no-run", "--message-format=json"])
            .args(libraries.first().map(|_| "--lib"))
            .args(others.iter().flat_map(|target| target.split(' ')))
            .args(LIBRARIES.iter().filter(|_| !self.optimized).flat_map(|(package, _)| {
                ["--config".to_string(), format!("profile.dev.package.{package}.opt-level=0")]
            }))
            .current_dir(&self.copy)
            .env("CARGO_TARGET_DIR", own)
            .env("CARGO_BUILD_BUILD_DIR", self.root.join("target"))
            .stdin(Stdio::null())
            .output()?;
        let mut errors = Vec::new();
        for line in String::from_utf8_lossy(&built.stdout).lines().filter(|line| line.starts_with('{')) {
            let message: Message = serde_json::from_str(line)?;
            match message {
                Message { reason, message: Some(said), .. } if reason == "compiler-message" => {
                    errors.extend((said.level == "error").then_some(said));
                }
                Message {
                    target: Some(target), profile: Some(Profile { test: true }), executable: Some(path), ..
                } => {
                    let is_library = target.kind.iter().any(|kind| kind == "lib");
                    let name =
                        if is_library { format!("--lib {}", target.name) } else { format!("--test {}", target.name) };
                    self.executables.insert(name, path);
                }
                _ => {}
            }
        }
        // Errors without a place sum up those with one.
        errors.retain(|error| !error.spans.is_empty());
        if !built.status.success() && errors.is_empty() {
            return Err(format!("the project does not build:\n{}", String::from_utf8_lossy(&built.stderr)).into());
        }
        Ok(errors)
    }
}

/// The library whose tests an argument of `--lib` names, and the part of their names that it asks for: `machine::select` is
/// `select` in the library of `machine`, `explore::tests` the tests of the library with the room `explore`, and any other part
/// one of the library that the faulty file belongs to. Of several libraries with such a room, the one that has most of the path.
pub fn library(root: &Path, file: &Path, filter: &str) -> (&'static str, String) {
    let own = LIBRARIES.iter().filter(|(_, folder)| file.starts_with(folder)).max_by_key(|(_, folder)| folder.len());
    let (own, own_folder) = own.copied().unwrap_or(LIBRARIES[0]);
    if filter.is_empty() {
        return (own, String::new());
    }
    if rooms(root, own_folder, filter) > 0 {
        return (own, filter.to_string());
    }
    let (room, rest) = filter.split_once("::").unwrap_or((filter, ""));
    if let Some((library, _)) = LIBRARIES.iter().find(|(_, folder)| *folder == format!("src/{room}")) {
        return (library, rest.to_string());
    }
    let beside = LIBRARIES.iter().map(|(library, folder)| (rooms(root, folder, filter), *library));
    let most = beside.filter(|(rooms, _)| *rooms > 0).max_by_key(|(rooms, _)| *rooms);
    (most.map_or(own, |(_, library)| library), filter.to_string())
}

/// The number of parts of a path of modules are files or folders of a library, from its first part on.
fn rooms(root: &Path, folder: &str, path: &str) -> usize {
    let mut at = root.join(folder);
    let mut count = 0;
    for part in path.split("::") {
        at.push(part);
        let is_crate = at.join("Cargo.toml").exists();
        if is_crate || !(at.is_dir() || at.with_extension("rs").exists()) {
            break;
        }
        count += 1;
    }
    count
}

/// The faults to blame for an error: first by what it points at, then by what it mentions; faults that would run there
/// before those that are switched there.
fn blamed(error: &Diagnostic, rendered: &BTreeMap<&PathBuf, Rendered>) -> Vec<u32> {
    let mut places = Vec::new();
    collect(error, 0, &mut places);
    let mut suspects = Vec::new();
    for (distance, file, bytes) in &places {
        if let Some((faulty, faults)) = rendered.get(file).and_then(|file| file.blamed(bytes)) {
            suspects.push((!faulty, *distance, faults));
        }
    }
    suspects.sort_by_key(|(innocent, distance, _)| (*innocent, *distance));
    suspects.first().map(|(_, _, faults)| faults.to_vec()).unwrap_or_default()
}

/// All places that an error names, each with how far from its point.
fn collect(error: &Diagnostic, depth: usize, places: &mut Vec<(usize, PathBuf, Range<usize>)>) {
    for mut span in &error.spans {
        let distance = 2 * depth + usize::from(!span.is_primary);
        places.push((distance, span.file_name.clone(), span.byte_start..span.byte_end));
        // Code that a macro wrote stands where the macro is used.
        while let Some(expansion) = &span.expansion {
            span = &expansion.span;
            places.push((distance, span.file_name.clone(), span.byte_start..span.byte_end));
        }
    }
    for child in &error.children {
        collect(child, depth + 1, places);
    }
}

/// The files at or below a path, from the root.
fn list(root: &Path, path: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), Failure> {
    if !root.join(path).is_dir() {
        files.insert(path.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(root.join(path))? {
        list(root, &path.join(entry?.file_name()), files)?;
    }
    Ok(())
}

/// Writes a file that is not yet so.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(path, bytes)?)
}
