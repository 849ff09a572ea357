//! `ulpgate port`: a program's move from one chip to another.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ulpgate_front::criterion::{HonestProgram, Reference};
use ulpgate_front::hlo::Import;
use ulpgate_front::input::{Argument, InputSpec};
use ulpgate_front::judge::{Recording, bind};
use ulpgate_front::machine::{CHIPS, Chip, Mode, chip_of_dumps, find_chip};
use ulpgate_front::name::{hint, quantity};
use ulpgate_front::port::{
    Aspect, HonestInputs, PortReport, Side, SideText, Survival, kept_tolerance, moved_results, operation_changes,
};
use ulpgate_front::run::{World, check_memory};

use super::folder_pair::{FolderPair, Outcome};
use super::hlo::{DumpManifest, announcer, inputs_beside, inputs_of, read};
use super::seconds::Limit;
use super::summary::{shell_word, wrap};
use super::terminal::note;
use super::tolerance_flags::{ToleranceFlags, reference};
use super::{Exit, Failure};

#[derive(Args)]
#[command(
    after_help = "A and B are what the compiler made of one program for two chips. Without B, A is the program before compilation, and \
    --from and --to name two chips: the table of the compiler's choices of a unit says which dots move. Two folders are compared file \
    for file, those of one name, and a line sums up.\n\n\
    First come the tokens that change and each result on the arguments, errors on the first chip -> on the second. With a \
    tolerance, honest runs of both sides are held to the values that the test expects: on given arguments one in each order of \
    sums, else one on each draw. Last come the operations that change, each with its aspect: unit, precision, order, plan or other.\n\n\
    survives: every honest run on the second chip passes. flaky: some fail, with a 95 % interval of their share. unsatisfiable: they \
    fail as a rule. A tolerance that does not survive gets a proposal.\n\n\
    Exit codes: 0 the tolerance survives, or without one nothing changes; 1 it does not, or something changes; 2 could not judge."
)]
pub struct PortArguments {
    /// The program's file for the first chip, or its one source; or a folder of .hlo files, such as dumps/tpu/v6e
    #[arg(value_name = "A")]
    before: PathBuf,
    /// Its file for the second chip; or a folder, whose files of one name are compared
    #[arg(value_name = "B")]
    after: Option<PathBuf>,
    /// First machine: a chip, a topology as v6e:2x2, or chip/precision/excess[+key=value...] [default: of a compiled file, and of
    /// each of two files, the chip that its manifest or its path names; CHIP is CHIP/default/as-compiled of a compiled file, and
    /// CHIP/default/off of a source]
    #[arg(long, value_name = "CHIP", value_parser = machine)]
    from: Option<PortMachine>,
    /// Second machine, likewise
    #[arg(long, value_name = "CHIP", value_parser = machine)]
    to: Option<PortMachine>,
    /// Arguments: arg0, arg1, ..., by their names, or by position; .safetensors, .npz or .npy; of a folder
    /// NAME.inputs.safetensors for each NAME.*.hlo, as `ulpgate hlo diff` finds it [default: they are drawn]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "runs"])]
    inputs: Option<PathBuf>,
    /// Distribution of arguments that are drawn; see `ulpgate list inputs`
    #[arg(long, value_name = "INPUT", default_value = "normal")]
    input: InputSpec,
    /// Runs that a tolerance is held to, where arguments are drawn
    #[arg(long, value_name = "RUNS", default_value_t = 40)]
    runs: u64,
    #[command(flatten)]
    tolerance: ToleranceFlags,
    /// Values that the test expects: truth, rounded (the truth in the result's type), from (the results on the first machine), or
    /// another machine's mode
    #[arg(long, value_name = "WHAT", default_value = "truth", value_parser = expected)]
    reference: Expected,
    /// Print as JSON; docs/schema/port.json has its schema
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
}

/// A machine, as the command line has it.
#[derive(Clone)]
enum PortMachine {
    Chip(&'static Chip),
    Mode(Box<Mode>),
}

fn machine(text: &str) -> Result<PortMachine, String> {
    if text.contains('/') {
        return text.parse().map(|mode| PortMachine::Mode(Box::new(mode))).map_err(|error| format!("{error}"));
    }
    let name = text.split(':').next().unwrap_or(text);
    let known = CHIPS.iter().map(|chip| chip.name);
    find_chip(name).map(PortMachine::Chip).ok_or_else(|| format!("no chip is called {name}; {}", hint(name, known)))
}

/// The values that a test expects, as the command line has them.
#[derive(Clone)]
enum Expected {
    /// The results on the first machine.
    First,
    Other(Reference),
}

fn expected(text: &str) -> Result<Expected, String> {
    match text {
        "from" => Ok(Expected::First),
        other => reference(other).map(Expected::Other).map_err(|error| format!("not `from`, {error}")),
    }
}

/// A file with its program.
struct ProgramFile {
    name: String,
    path: PathBuf,
    import: Import,
}

impl ProgramFile {
    fn read(path: &Path) -> Result<ProgramFile, Failure> {
        let name = path.display().to_string();
        if path.is_dir() {
            let why = "is a folder: name two files of it, such as f.excess_on.hlo, or a second folder";
            return Err(Failure::Message(format!("{name} {why}")));
        }
        let (_, import) = read(path)?;
        Ok(ProgramFile { name, path: path.to_path_buf(), import })
    }

    /// The machine that runs it: the given one, or the chip that the file is for. The one source for two chips is for neither.
    fn mode(&self, given: Option<&PortMachine>, flag: &str, is_one_source: bool) -> Result<Mode, Failure> {
        let excess = if self.import.is_compiled { "as-compiled" } else { "off" };
        let chip = match given {
            Some(PortMachine::Mode(mode)) => {
                if self.import.is_compiled && mode.excess.rewrites() {
                    let why =
                        format!("{}: it is compiled already, and {mode} rewrites it again: use as-compiled", self.name);
                    return Err(Failure::Message(why));
                }
                return Ok(mode.as_ref().clone());
            }
            Some(PortMachine::Chip(chip)) => chip,
            None => (if is_one_source { None } else { self.chip()? }).ok_or_else(|| {
                Failure::Message(format!("{} does not say which chip it is for: name it by {flag} CHIP", self.name))
            })?,
        };
        format!("{}/default/{excess}", chip.name).parse().map_err(|error| Failure::Message(format!("{error}")))
    }

    /// The chip that the manifest beside the file names, or the file's own path: `tpu/v6e/f.excess_on.hlo`, `v6e.hlo`.
    fn chip(&self) -> Result<Option<&'static Chip>, Failure> {
        let manifest = DumpManifest::of(&self.path)?;
        let topology = manifest.as_ref().and_then(DumpManifest::topology).and_then(|name| name.split(':').next());
        let topology = topology.map(|name| chip_of_dumps(name).unwrap_or(name));
        if let Some(chip) = topology.and_then(find_chip) {
            return Ok(Some(chip));
        }
        let parts: Vec<String> = self.path.iter().rev().map(|part| part.to_string_lossy().into_owned()).collect();
        let words = parts.iter().flat_map(|part| part.split(['.', '_', '-']));
        let named = words.filter(|word| chip_of_dumps(word).is_none()).find_map(find_chip);
        Ok(named.or_else(|| parts.iter().find_map(|part| chip_of_dumps(part)).and_then(find_chip)))
    }
}

/// Prints the report on a move, or one for each pair of files.
pub fn run(arguments: &PortArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let pair = match &arguments.after {
        Some(after) => FolderPair::of(&arguments.before, after)?,
        None => None,
    };
    let Some(pair) = pair else {
        let files = (arguments.before.as_path(), arguments.after.as_deref());
        let report = run_pair(arguments, files, arguments.inputs.as_deref(), out)?;
        if !arguments.json {
            tell_next(&report, out)?;
        }
        return Ok(if report.is_kept() { Exit::AsExpected } else { Exit::Found });
    };
    if arguments.json {
        let why = "--json prints the report on one move: name two files of the folders";
        return Err(Failure::Message(why.to_string()));
    }
    pair.judge(["kept", "changed"], out, |one, other, out| {
        let name = other.strip_prefix(arguments.after.as_deref().unwrap_or(other)).unwrap_or(other);
        let inputs = arguments.inputs.as_deref().map(|given| inputs_of(given, name)).transpose()?;
        let report = run_pair(arguments, (one, Some(other)), inputs.as_deref(), out)?;
        Ok(if report.is_kept() { Outcome::Same } else { Outcome::Differs })
    })
}

/// Prints the report on one move: of two files, or of the one source that the first is.
fn run_pair(
    arguments: &PortArguments,
    (before, after): (&Path, Option<&Path>),
    inputs: Option<&Path>,
    out: &mut dyn Write,
) -> Result<PortReport, Failure> {
    let before = ProgramFile::read(before)?;
    let after = after.map(ProgramFile::read).transpose()?;
    let is_one_source = after.is_none();
    if is_one_source && before.import.is_compiled {
        let why = "it is compiled for one chip already: name the file for the other chip as well, or the source alone";
        return Err(Failure::Message(format!("{}: {why}", before.name)));
    }
    let of_after = after.as_ref().unwrap_or(&before);
    let modes = [
        before.mode(arguments.from.as_ref(), "--from", is_one_source)?,
        of_after.mode(arguments.to.as_ref(), "--to", is_one_source)?,
    ];
    let one = Side { name: &before.name, import: &before.import, mode: &modes[0] };
    let other = Side { name: &of_after.name, import: &of_after.import, mode: &modes[1] };
    let report = report(arguments, one, other, is_one_source, inputs)?;
    if arguments.json {
        let page = serde_json::to_string_pretty(&report).map_err(|error| Failure::Message(error.to_string()))?;
        writeln!(out, "{page}")?;
    } else {
        report.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    if inputs.is_none()
        && let Some(path) = inputs_beside(&before.path)
    {
        note(&format!(
            "note: arguments are drawn; the dump has its own: --inputs {}",
            shell_word(&path.to_string_lossy())
        ));
    }
    report.operations.open.iter().for_each(|open| note(&format!("ulpgate: {open}: nothing is known about it")));
    if report.is_kept() && report.tolerance.is_none() && !report.operations.open.is_empty() {
        return Err(Failure::Message(format!("not judged: {}", report.operations.open.join("; "))));
    }
    Ok(report)
}

fn report(
    arguments: &PortArguments,
    one: Side,
    other: Side,
    is_one_source: bool,
    inputs: Option<&Path>,
) -> Result<PortReport, Failure> {
    let operations = operation_changes(one, other, is_one_source)?;
    let program = &one.import.program;
    let expected = match &arguments.reference {
        Expected::First => Reference::Mode(one.mode.clone()),
        Expected::Other(reference) => reference.clone(),
    };
    let (given, inputs, honest) = match inputs {
        Some(path) => {
            let fail = |error: &dyn std::fmt::Display| Failure::Message(error.to_string());
            let recording = Recording::open(path).map_err(|error| fail(&error))?;
            let bound = bind(program, &one.import.argument_names, std::slice::from_ref(&recording))
                .map_err(|error| fail(&error))?;
            (bound.clone(), path.display().to_string(), HonestInputs::Given(bound))
        }
        None => {
            let n = Argument::of_program(program).first().map_or(1, Argument::width);
            let (name, mode, reference) = (one.name.to_string(), one.mode.clone(), expected.clone());
            let drawn = HonestProgram { name, program: program.clone(), mode, reference }.draw_arguments(
                &arguments.input,
                n,
                0,
            );
            let distribution = arguments.input.clone();
            let honest = HonestInputs::Drawn { distribution, n, runs: arguments.runs };
            (
                drawn.map_err(|error| Failure::Message(format!("{}: {error}", one.name)))?,
                format!("{}, seed 0", arguments.input),
                honest,
            )
        }
    };
    let results = moved_results(one, other, &given, inputs, &mut announcer())?;
    let tolerance = match arguments.tolerance.tolerance() {
        Some(tolerance) => {
            check_memory(program, World::Truth).map_err(|error| Failure::Message(format!("{}: {error}", one.name)))?;
            Some(kept_tolerance(one, other, &tolerance, &expected, &honest)?)
        }
        None => None,
    };
    let text = |side: Side| SideText { file: side.name.to_string(), mode: side.mode.to_string() };
    Ok(PortReport { version: 1, from: text(one), to: text(other), operations, results, tolerance })
}

/// The command that finds why rows have other tokens, and what keeps them.
fn next_of_tokens(report: &PortReport, flipped: usize) -> String {
    let [from, to] = [&report.from.file, &report.to.file].map(|file| shell_word(file));
    let rows = quantity(flipped, "row");
    match from == to {
        true => format!(
            "Next: {rows} with another token: `ulpgate explore {from} --repair`, with the same inputs, finds the guards that keep them."
        ),
        false => format!(
            "Next: {rows} with another token: `ulpgate same {from} {to}` names the first operation whose values part; `ulpgate explore \
             SOURCE --repair`, of the program before compilation, finds the guards that keep them."
        ),
    }
}

/// Prints the sentence that names the next command, where there is one.
fn tell_next(report: &PortReport, out: &mut dyn Write) -> Result<(), Failure> {
    let is_of_unit = report.operations.changes.iter().any(|change| change.aspect == Aspect::Unit);
    let flipped: usize = report.results.tokens.iter().map(|tokens| tokens.changed).sum();
    let next = match &report.tolerance {
        None if report.is_kept() => return Ok(()),
        None if flipped > 0 => next_of_tokens(report, flipped),
        None => "Next: --atol and --rtol (--ulp, --nmse) say whether a test's tolerance survives.".to_string(),
        Some(kept) if kept.verdict == Survival::Survives => return Ok(()),
        Some(_) if is_of_unit => {
            "Next: precision=lax.Precision.HIGHEST on the dots that change their unit keeps f32 products in six \
             bf16 passes; else the proposal holds on both chips."
                .to_string()
        }
        Some(_) => {
            "Next: the proposal holds on both chips; `ulpgate tolerance` says which faults it lets pass.".to_string()
        }
    };
    wrap(&next, "    ", out)
}
