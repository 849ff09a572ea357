//! The command line: one file a subcommand. [`main`] is all of the binary; `summary` prints records for several
//! subcommands.

mod against;
mod choice_text;
mod ci;
mod counterexample_files;
mod explain;
mod explore;
mod explored_rows;
mod folder_pair;
mod gate;
mod glossary;
mod hlo;
mod init;
mod job_array;
mod judge;
mod layers;
mod list;
mod merge;
mod output;
mod page_file;
mod port;
mod probe;
mod program_argument;
mod progress;
mod report;
mod reports_folder;
mod run;
mod same;
mod scales;
mod seconds;
mod shell;
mod summary;
mod terminal;
mod threads;
mod tolerance;
mod tolerance_flags;
mod vectors;
mod watch;
mod worst_rows;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use ulpgate_front::budget;
use ulpgate_front::file::write_whole;
use ulpgate_front::name::hint;
use ulpgate_front::run::LockedFolder;
use ulpgate_front::suite::{self, Suite};

use output::Output;
use terminal::Terminal;
use threads::start_threads;
use watch::Watch;

/// Folders of suites and of committed reports, in the current directory.
const SUITES: &str = "suites";
const REPORTS: &str = "reports";

#[derive(Parser)]
#[command(
    name = "ulpgate",
    version,
    long_version = concat!(
        env!("CARGO_PKG_VERSION"),
        "\nMIT or Apache-2.0, at your choice. Linked with GMP, MPFR and rug, which are under the GNU Lesser General Public\n\
        License, version 3 or later: NOTICE.md of the sources."
    ),
    about = "Whether a compiler, a chip or a flag changes tokens, and which result is right: programs in emulated TPU and CPU arithmetic, judged by a proven truth",
    after_help = "Without a subcommand: run all suites, print the summary, write reports/.\n\n\
        Exit codes:\n  \
        0  all as expected; known findings are printed and are still 0\n  \
        1  something was found: a finding that no suite expects, one that is gone,\n     \
        a changed gate, programs that differ, a result outside of what is\n     \
        permitted, a row that is not proven\n  \
        2  could not judge: a bad file, an unknown name, an unsupported operation,\n     \
        nothing decided, the time of --seconds over, another process in the same\n     \
        folder\n\
        `COMMAND --help` says what each command finds. The code is the verdict, however much of the output is printed.\n\n\
        Environment:\n  \
        ULPGATE_MEMORY=8G     memory that arrays may take at once\n                        \
        [default: what the system leaves]\n  \
        RAYON_NUM_THREADS=4   threads that share work"
)]
struct CliArguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Colour [default: on a terminal, unless NO_COLOR is set]
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t, hide_default_value = true)]
    color: clap::ColorChoice,
}

#[derive(Subcommand)]
enum Command {
    /// Run suites and write their reports
    Run(run::RunArguments),
    /// Evaluate afresh and compare with the committed reports
    Gate(gate::GateArguments),
    /// Write the reports of an earlier run again, from the records it kept
    Report(report::ReportArguments),
    /// Join the records of runs that shared the cases between them (run --shard), and write their reports
    Merge(merge::MergeArguments),
    /// List what there is, a line each: chips, programs, inputs, metrics, checks, suites, ...
    List(list::ListArguments),
    /// Run, show and compare programs that compilers dump, and say why a token flipped
    #[command(subcommand)]
    Hlo(hlo::HloCommand),
    /// Prove that two programs give the same bits for all inputs, or find an input that parts them
    Same(same::SameArguments),
    /// Tell which rows keep their token whatever a compiler's flags permit, and which do not
    Explore(explore::ExploreArguments),
    /// Tell what changes when a program moves to another chip, and whether a test's tolerance survives
    Port(port::PortArguments),
    /// Judge results from elsewhere: same bits as a mode, conforming, or outside, and what is wrong
    Judge(judge::JudgeArguments),
    /// Name the first layer of a model whose drift its roundings do not explain, from two recordings of its values
    Layers(layers::LayersArguments),
    /// Name the rule that made the scales of a quantised tensor (MX formats, NVFP4, int8, int4)
    Scales(scales::ScalesArguments),
    /// Write test vectors of scaled block dots for hardware, with their exact results
    Vectors(vectors::VectorsArguments),
    /// Name the mode that a chip, a compiler or a framework computes in, by its answers to questions
    Probe(probe::ProbeArguments),
    /// Tell whether honest results keep to a test's tolerance, and which faults it lets pass
    Tolerance(tolerance::ToleranceArguments),
    /// Write a first suite, a program and a CI workflow into a repository
    Init(init::InitArguments),
    /// Print the completions of a shell, such as bash, zsh or fish
    Completions(shell::CompletionsArguments),
    /// Print the manual page, or write the pages of all commands
    Man(shell::ManArguments),
    /// Explain a name, a word of the output, a mode, a suite or a case, with the rows that show what it found
    Explain(explain::ExplainArguments),
}

impl Command {
    /// Whether the output is read by a program, so that nothing of it may be left out.
    fn is_for_programs(&self) -> bool {
        match self {
            Command::Run(arguments) => arguments.json,
            Command::Gate(arguments) => arguments.json,
            Command::Report(arguments) => arguments.form.json,
            Command::Merge(arguments) => arguments.form.json,
            Command::List(arguments) => arguments.json,
            Command::Hlo(command) => command.is_for_programs(),
            Command::Same(arguments) => arguments.json,
            Command::Scales(arguments) => arguments.json,
            Command::Explore(arguments) => arguments.json,
            Command::Judge(arguments) => arguments.json,
            Command::Port(arguments) => arguments.json,
            Command::Layers(arguments) => arguments.json,
            Command::Probe(arguments) => arguments.json,
            Command::Tolerance(arguments) => arguments.json,
            Command::Vectors(_)
            | Command::Init(_)
            | Command::Explain(_)
            | Command::Completions(_)
            | Command::Man(_) => false,
        }
    }

    /// The seconds that it may take as a whole. `same` and `explore` take them apart: what they have found by then stands.
    fn seconds(&self) -> Option<u64> {
        match self {
            Command::Run(arguments) => arguments.limit.seconds,
            Command::Gate(arguments) => arguments.limit.seconds,
            Command::Hlo(command) => command.seconds(),
            Command::Judge(arguments) => arguments.limit.seconds,
            Command::Port(arguments) => arguments.limit.seconds,
            Command::Layers(arguments) => arguments.limit.seconds,
            Command::Probe(arguments) => arguments.limit.seconds,
            Command::Tolerance(arguments) => arguments.limit.seconds,
            Command::Vectors(arguments) => arguments.limit.seconds,
            Command::Explain(arguments) => arguments.limit.seconds,
            Command::Report(_)
            | Command::Merge(_)
            | Command::List(_)
            | Command::Same(_)
            | Command::Scales(_)
            | Command::Explore(_)
            | Command::Init(_)
            | Command::Completions(_)
            | Command::Man(_) => None,
        }
    }

    /// Whether it computes, on as many threads as the processor runs; `run` and `gate` start as many as they are told.
    fn evaluates(&self) -> bool {
        match self {
            Command::Run(_)
            | Command::Gate(_)
            | Command::Report(_)
            | Command::Merge(_)
            | Command::List(_)
            | Command::Scales(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Init(_) => false,
            Command::Hlo(_)
            | Command::Same(_)
            | Command::Explore(_)
            | Command::Judge(_)
            | Command::Port(_)
            | Command::Layers(_)
            | Command::Probe(_)
            | Command::Tolerance(_)
            | Command::Vectors(_)
            | Command::Explain(_) => true,
        }
    }
}

/// The outcome of a subcommand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is as the suites expect, or the command only lists or shows: exit code 0.
    AsExpected,
    /// A finding that no suite expects, a missing one, an undecided check, a changed gate, or programs that differ:
    /// exit code 1.
    Found,
}

/// Runs the command line of this process: what `ulpgate` does.
pub fn main() -> ExitCode {
    ExitCode::from(run_command(std::env::args_os()))
}

/// Runs a command line, the program's name first, and returns its exit code. A command that could not be judged gives
/// one line on standard error, and exit code 2.
pub fn run_command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match CliArguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return no_command(&error),
    };
    match arguments.color {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    if let Err(why) = budget::from_environment() {
        return could_not_judge(&why);
    }
    let command = arguments.command.unwrap_or(Command::Run(run::RunArguments::default()));
    if command.evaluates()
        && let Err(why) = start_threads(None)
    {
        return could_not_judge(&why);
    }
    let _watch = Watch::start();
    let stdout = anstream::AutoStream::auto(std::io::stdout().lock());
    let mut out = Output::new(Terminal::new(stdout, command.is_for_programs()));
    let seconds = command.seconds();
    let result = seconds::within(seconds, || match command {
        Command::Run(arguments) => run::run(&arguments, &mut out),
        Command::Gate(arguments) => gate::run(&arguments, &mut out),
        Command::Report(arguments) => report::run(&arguments, &mut out),
        Command::Init(arguments) => init::run(&arguments, &mut out),
        Command::Completions(arguments) => shell::completions(&arguments, &mut out),
        Command::Man(arguments) => shell::man(&arguments, &mut out),
        Command::Merge(arguments) => merge::run(&arguments, &mut out),
        Command::List(arguments) => list::run(&arguments, &mut out),
        Command::Explain(arguments) => explain::run(&arguments, &mut out),
        Command::Explore(arguments) => explore::run(&arguments, &mut out),
        Command::Hlo(command) => hlo::run(&command, &mut out),
        Command::Same(arguments) => same::run(&arguments, &mut out),
        Command::Judge(arguments) => judge::run(&arguments, &mut out),
        Command::Port(arguments) => port::run(&arguments, &mut out),
        Command::Layers(arguments) => layers::run(&arguments, &mut out),
        Command::Scales(arguments) => scales::run(&arguments, &mut out),
        Command::Vectors(arguments) => vectors::run(&arguments, &mut out),
        Command::Probe(arguments) => probe::run(&arguments, &mut out),
        Command::Tolerance(arguments) => tolerance::run(&arguments, &mut out),
    });
    // The verdict stands, whoever reads it; output that was lost on a full disk is none.
    let written = out.finish();
    match result.and_then(|exit| written.map(|()| exit)) {
        Ok(Exit::AsExpected) => 0,
        Ok(Exit::Found) => 1,
        Err(Failure::Message(message)) => could_not_judge(&message),
    }
}

/// Prints help, the version, or the error of a command line that names no command, and returns the exit code.
fn no_command(error: &clap::Error) -> u8 {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return could_not_judge("a subcommand is missing: diff, eval, show or why; see `ulpgate hlo --help`");
    }
    if error.use_stderr() {
        return could_not_judge(&usage_error(&error.to_string()));
    }
    // Help and version are no errors; a reader that closes the pipe early is none either.
    match error.print().and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            could_not_judge(&format!("failed to write the output: {error}"))
        }
        _ => 0,
    }
}

/// Says why on one line of standard error, whatever a name or a path in the message holds.
fn could_not_judge(message: &str) -> u8 {
    terminal::note(&format!("ulpgate: {message}"));
    2
}

/// The error of the command line's parser on one line, with the name of the command in place of its usage.
fn usage_error(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let said: Vec<&str> =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")).collect();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    // The program and its subcommands, up to the first option or argument.
    let is_command = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let command: Vec<&str> = usage.unwrap_or("ulpgate").split(' ').take_while(is_command).collect();
    format!("{}; see `{} --help`", said.join(" ").trim_start_matches("error: "), command.join(" "))
}

/// Why nothing could be judged.
pub enum Failure {
    /// A sentence for the terminal about what could not be read, understood, evaluated or written.
    Message(String),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Message(format!("failed to write the output: {error}"))
    }
}

/// Checks that a command can write a file, before the command takes its time: the path is no folder, its folder exists,
/// and the command does not read the file.
fn check_target(path: &Path, read: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    let refuse = |why: String| Err(Failure::Message(format!("{} cannot be written: {why}", path.display())));
    if path.is_dir() {
        return refuse("it is a folder".to_string());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        return refuse(format!("there is no folder {}", parent.display()));
    }
    let Ok(target) = std::fs::canonicalize(path) else { return Ok(()) };
    match read.into_iter().find(|file| std::fs::canonicalize(file).is_ok_and(|file| file == target)) {
        Some(_) => refuse("the command reads it".to_string()),
        None => Ok(()),
    }
}

/// As [`check_target`], for a file of tensors: one that is called as another format would be taken for that.
fn check_tensors_target(path: &Path, read: impl IntoIterator<Item = PathBuf>) -> Result<(), Failure> {
    check_target(path, read)?;
    let is_other = |ending: &OsStr| ["npz", "npy", "hlo"].iter().any(|other| ending.eq_ignore_ascii_case(other));
    if path.extension().is_some_and(is_other) {
        let why = "tensors are written as safetensors; give a name that ends in .safetensors";
        return Err(Failure::Message(format!("{} cannot be written: {why}", path.display())));
    }
    Ok(())
}

/// Writes a whole file that was asked for, or says which could not be written.
fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let fail = |error| Failure::Message(format!("failed to write {}: {error}", path.display()));
    write_whole(path, text.as_bytes()).map_err(fail)
}

/// Errors of the library, each with a message of its own.
macro_rules! failures {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::Message(error.to_string())
            }
        })*
    };
}

failures!(
    suite::SuiteError,
    ulpgate_front::run::RunError,
    ulpgate_front::run::JournalError,
    ulpgate_front::run::LockError,
    ulpgate_front::record::FileError,
    ulpgate_front::record::MergeError,
    ulpgate_front::report::ReportError,
    ulpgate_front::gate::GateError,
    ulpgate_front::explore::ExploreError,
    ulpgate_front::port::PortError,
    ulpgate_front::probe::ProbeError,
    String
);

/// The suites of the current directory: all, or those named.
fn suites(names: &[String]) -> Result<Vec<Suite>, Failure> {
    let all = suite::load_folder(Path::new(SUITES))?;
    let known: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Failure::Message(format!("unknown suite `{unknown}`; {}", hint(unknown, known.iter().copied()))));
    }
    Ok(all.into_iter().filter(|s| names.is_empty() || names.contains(&s.name)).collect())
}

/// A folder for files that may not exist yet, and is nothing else.
fn folder(given: &Option<PathBuf>, default: &Path) -> Result<PathBuf, Failure> {
    let path = given.clone().unwrap_or_else(|| default.to_path_buf());
    if path.exists() && !path.is_dir() {
        let why = format!("{} is no folder: reports are several files, so choose a folder with --out", path.display());
        return Err(Failure::Message(why));
    }
    Ok(path)
}

/// A folder that this command alone writes, until it ends.
fn locked(path: &Path) -> Result<LockedFolder, Failure> {
    let folder = LockedFolder::lock(path)?;
    if !folder.is_exclusive() {
        let why = format!("the file system of {} has no locks: let no other run write there", path.display());
        terminal::note(&format!("ulpgate: note: {why}"));
    }
    Ok(folder)
}

/// The files that suites are made of.
fn files_of(suites: &[Suite]) -> impl Iterator<Item = PathBuf> + Clone {
    suites.iter().flat_map(|suite| suite.fingerprints.keys()).map(|file| Path::new(SUITES).join(file))
}
