//! `ulpgate hlo`: programs that compilers dump.

mod accepted;
mod diff;
mod diff_problems;
mod dump_manifest;
mod dump_mode;
mod eval;
mod input_files;
mod next_command;
mod show;
mod verdict_reason;
mod why;

pub(super) use dump_manifest::DumpManifest;
pub(super) use dump_mode::{mode_flags, mode_help, mode_or_that_of_paths};
pub(super) use eval::inputs;
pub(super) use input_files::{inputs_beside, inputs_of};

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use clap::Subcommand;

use ulpgate_front::file::read_whole;
use ulpgate_front::hlo::ast::Module;
use ulpgate_front::hlo::{Import, LowerError, exchanged_form, lower_with_libraries, lower_with_opaque, parse};
use ulpgate_front::ir::{Program, Setting};
use ulpgate_front::machine::Mode;
use ulpgate_front::oracle::{Ahead, Rung};

use super::terminal::{note, passing_note};
use super::{Exit, Failure};

#[derive(Subcommand)]
pub enum HloCommand {
    /// List what a compiler or a flag changed in a program's precision
    Diff(diff::HloDiffArguments),
    /// Run an HLO file on the machine, or over the real numbers
    Eval(eval::HloEvalArguments),
    /// The precision flow: each float operation, its dtype, where it is rounded, who sees it, what may be elided
    Show(show::HloShowArguments),
    /// Why tokens flip: each operation's share, and which of them kept wide turns a token back
    Why(why::HloWhyArguments),
}

impl HloCommand {
    /// The seconds that it may take.
    pub(super) fn seconds(&self) -> Option<u64> {
        match self {
            HloCommand::Diff(arguments) => arguments.limit.seconds,
            HloCommand::Eval(arguments) => arguments.limit.seconds,
            HloCommand::Show(_) => None,
            HloCommand::Why(arguments) => arguments.limit.seconds,
        }
    }

    /// Whether the output is read by a program, so that nothing of it may be left out.
    pub(super) fn is_for_programs(&self) -> bool {
        match self {
            HloCommand::Diff(arguments) => arguments.json,
            HloCommand::Eval(arguments) => arguments.json,
            HloCommand::Show(arguments) => arguments.json || arguments.dot,
            HloCommand::Why(arguments) => arguments.json,
        }
    }
}

pub fn run(command: &HloCommand, out: &mut dyn Write) -> Result<Exit, Failure> {
    match command {
        HloCommand::Diff(arguments) => diff::run(arguments, out),
        HloCommand::Eval(arguments) => eval::run(arguments, out),
        HloCommand::Show(arguments) => show::run(arguments, out),
        HloCommand::Why(arguments) => why::run(arguments, out),
    }
}

/// A file and the program in it, to be run. The error names the file and the place in it.
pub(super) fn read(path: &Path) -> Result<(Module, Import), Failure> {
    read_by(path, lower_with_libraries)
}

/// A file and the program in it, to be read. An instruction without a meaning here is [`ulpgate_front::ir::Op::Opaque`].
fn read_with_opaque(path: &Path) -> Result<(Module, Import), Failure> {
    read_by(path, lower_with_opaque)
}

pub(super) fn read_by(
    path: &Path,
    lower: impl Fn(&Module) -> Result<Import, LowerError>,
) -> Result<(Module, Import), Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", path.display()));
    let text = read_whole(path).map_err(|error| fail(&format!("failed to read it: {error}")))?;
    if let Some(why) = exchanged_form(path, &text) {
        return Err(fail(&why));
    }
    let text = String::from_utf8(text).map_err(|error| fail(&format!("it is no text: {error}")))?;
    let module = parse(&text).map_err(|error| fail(&error))?;
    let import = lower(&module).map_err(|error| fail(&error))?;
    note_unknown_attributes(path, &import.program);
    Ok((module, import))
}

/// Says which attributes are read past: whatever a newer release means by them is not in the results.
fn note_unknown_attributes(path: &Path, program: &Program) {
    let mut unknown: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for instruction in program.instructions() {
        for setting in instruction.settings.as_deref().unwrap_or_default() {
            let Setting::Other { name, .. } = setting else { continue };
            // Keys of configurations are a compiler's own. Integers compare in the order of their type, whatever `type` says.
            if !setting.is_of_compiler() && !name.contains('.') && name != "type" {
                unknown.entry(name).or_default().push(&instruction.name);
            }
        }
    }
    for (name, instructions) in unknown {
        let more = match instructions.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let what = format!("attribute `{name}` of {}{more} is not known", instructions[0]);
        note(&format!("note: {}: {what}, and what it changes is not computed", path.display()));
    }
}

/// Operations in MPFR at 128 bits, and in pairs of f64, from which on they are announced: about a second's.
const MANY: usize = 1_000_000;
const MANY_IN_PAIRS: usize = 20_000_000;

/// The multiple of the operations of the step that was announced last from which on the next one is. Each step has twice the bits of
/// the one before: a line for each would bury the answer.
const MULTIPLE: usize = 8;

/// Announces steps of a search for the truth that take long, each of them far longer than the one that it announced last.
pub(super) fn announcer() -> impl FnMut(Ahead) {
    let mut announced = 0;
    move |Ahead { rung, bits, open, operations }| {
        let (many, way) = match rung {
            Rung::Mpfr => (MANY * 128 / bits as usize, format!("MPFR at {bits} bits takes")),
            Rung::Intervals | Rung::Pairs => (MANY_IN_PAIRS, "pairs of f64 take".to_string()),
        };
        if operations >= many && operations / MULTIPLE >= announced {
            announced = operations;
            let work = format!("{open} elements are undecided; {way} about {operations} operations");
            passing_note(&format!("note: {work}"));
        }
    }
}

/// Says so if a mode would rewrite a compiler's output.
fn note_second_compilation(path: &Path, module: &Module, mode: &Mode) {
    if module.is_compiled() && mode.excess.rewrites() {
        let what = format!("{} is compiled already, and {mode} rewrites it again", path.display());
        note(&format!("note: {what}; as-compiled runs it as it stands"));
    }
}
