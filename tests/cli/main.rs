//! The command line from outside: exit codes, messages, reports, gate and journal, each in a folder of its own.

mod action;
mod closed_output;
mod examples;
mod explain;
mod explore;
mod formats;
mod gate;
mod harm;
mod hlo_diff_formats;
mod html;
mod init;
mod journal;
mod judge;
mod judge_altered;
mod judge_decimals;
mod judge_forms;
mod judge_formulas;
mod judge_gpu;
mod judge_recordings;
mod layers;
mod memory;
mod merged;
mod port;
mod readme;
mod records;
mod refused;
mod same_pairs;
mod schema;
mod seconds;
mod selection;
mod terminal;
mod tolerance;
mod two_runs;
mod unjudged;
mod verdicts;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A suite of one case in which nothing is found. Tests change single lines of it.
const TINY: &str = r#"claim = "The most probable token survives"
why = "A token that is lost is never sampled"
source = "FACTS 1.5"

[[matrix]]
program = ["argmax"]
chip = ["v5e"]
input = ["normal"]
n = [8]
rows = [2]
check = [{ kind = "dropped_token" }]
"#;

/// A suite whose mask loses tokens under the CPU compiler's excess precision, and none without it.
const KEEP: &str = r#"claim = "The mask keeps the most probable token"
why = "A token that is lost is never sampled"
source = "FACTS 1.5"

[[matrix]]
program = ["keep_max"]
chip = ["v5e"]
excess = ["EXCESS"]
input = ["normal"]
n = [256]
rows = [64]

[[matrix.check]]
kind = "dropped_token"
"#;

/// A suite with several subjects, metrics, a bound and a fit.
const SOFTMAX: &str = r#"claim = "Softmax stays inside its bound"
why = "Samplers decide on it"
source = "FACTS 4"

[[matrix]]
program = ["softmax"]
chip = ["v5e", "cpu"]
input = ["normal"]
n = [8, 16, 32, 64]
rows = [4]
metric = ["max_ulp", "mean_ulp"]

[[matrix.check]]
kind = "bound"

[[matrix.check]]
kind = "growth"
metric = "max_ulp"
slope = 0.0
expect = "report"
because = "Sizes are too small to say much."
"#;

/// A working directory with suites of its own, removed at the end.
struct Folder(TempDir);

/// The exit code and texts of a run of the program.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl From<Output> for Ran {
    fn from(Output { status, stdout, stderr }: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
    }
}

impl Folder {
    fn new(suites: &[(&str, &str)]) -> Folder {
        let folder = Folder(TempDir::new().unwrap());
        fs::create_dir_all(folder.0.path().join("suites")).unwrap();
        suites.iter().for_each(|(name, text)| folder.write(&format!("suites/{name}.toml"), text));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names in a folder, sorted; none if it does not exist.
    fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).into_iter().flatten();
        let names: BTreeSet<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.into_iter().collect()
    }

    /// All files below a folder with their bytes, by their paths in it.
    fn bytes(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for file in self.names(name) {
            let path = format!("{name}/{file}");
            if self.path(&path).is_dir() {
                found.extend(self.bytes(&path).into_iter().map(|(inner, bytes)| (format!("{file}/{inner}"), bytes)));
            } else {
                found.push((file, fs::read(self.path(&path)).unwrap()));
            }
        }
        found
    }

    fn ran(&self, arguments: &[&str]) -> Ran {
        Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).current_dir(&self.0).output().unwrap().into()
    }

    /// Runs a command line under settings of the shell that starts it; the exit code is -1 where the system ended it.
    fn limited(&self, settings: &str, line: &str) -> Ran {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{settings}; exec \"$0\" {line}"), env!("CARGO_BIN_EXE_ulpgate")]);
        shell.current_dir(&self.0).output().unwrap().into()
    }

    /// Runs and holds the exit code to `code`; an error is one line on standard error.
    #[track_caller]
    fn exits(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.ran(arguments);
        assert_eq!(ran.code, code, "{arguments:?}\n{}\n{}", ran.out, ran.err);
        if code == 2 {
            assert_eq!(ran.err.lines().count(), 1, "{arguments:?}: {}", ran.err);
            assert!(ran.err.starts_with("ulpgate: ") && ran.err.ends_with('\n'), "{}", ran.err);
        }
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }
}

/// A suite with single texts replaced, each of which must be there once.
#[track_caller]
fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_string(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    })
}

/// FNV-1a, 64 bits.
fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A file of records with the check that it would have, had a run written these lines.
fn with_check(records: &str) -> String {
    let lines: Vec<&str> = records.split_inclusive('\n').filter(|line| !line.starts_with("{\"check\":")).collect();
    let text = lines.concat();
    format!("{text}{{\"check\":\"{:016x}\"}}\n", fnv(text.bytes()))
}
