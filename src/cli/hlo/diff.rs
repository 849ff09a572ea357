//! `ulpgate hlo diff`: changes from one file to the other.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use ulpgate_front::diff::{Change, ChangeKind, Scores, difference, outcomes};
use ulpgate_front::file::safetensors;
use ulpgate_front::hlo::Import;
use ulpgate_front::ir::{Program, Shape};
use ulpgate_front::machine::{Chip, Mode};
use ulpgate_front::tensor::{DType, Tensor};

use super::super::check_target;
use super::super::ci::Formats;
use super::super::folder_pair::{FolderPair, Outcome as PairOutcome, name_in_list};
use super::super::seconds::Limit;
use super::accepted::{Accepted, ComparedPair};
use super::diff_problems::{DiffProblems, EqualFor, PrintedFinding, told};
use super::dump_manifest::DumpManifest;
use super::dump_mode::{mode_help, mode_of, mode_of_paths, mode_or_that_of_paths};
use super::eval::inputs;
use super::input_files::inputs_of;
use super::next_command::Compared;
use super::verdict_reason::{WhyEqual, contradiction, why_equal};
use super::{Exit, Failure, announcer, read, read_with_opaque};

#[derive(Args, Clone)]
#[command(
    after_help = "A line for each change has its kind, the value's name in BEFORE, and what it was and is. Equal programs print `changes: none`. \
    `ulpgate list changes` explains the kinds. An attribute-changed says that no emulated machine follows the attribute.\n\n\
    Where a manifest lies beside both files (NAME.made.json, by scripts/dump_hlo.py), a line `made by:` comes first. It has what \
    differs in releases, topology, flags, function or shapes, and counts as no change.\n\n\
    With --inputs a line `result N ...:` follows for each result that differs, with lines below it:\n  \
    before:    error of BEFORE against the truth: the cost of its dtypes\n  \
    after:     AFTER against BEFORE and the truth: what a compiler, or an edit of the source, changed\n  \
    tokens:    what becomes of tokens, kept sets and the scores that rank them\n  \
    largest:   rows of other floats whose largest element is another one\n\
    The truth is BEFORE's, over the real numbers. Where all results are equal although something changed, a line says why.\n\n\
    Exit codes: 0 no change; 1 a change of precision, or a result that differs; 2 could not judge: a bad file, programs that are not \
    two forms of one, values without a counterpart, operations that are neither understood nor equal, or with --inputs an unsupported \
    operation. A result that differs although nothing that the machine follows changed is an error of ulpgate, and 2 as well."
)]
pub struct HloDiffArguments {
    /// The program as it was: what JAX hands over, or another compiler's output; or a folder of .hlo files
    before: PathBuf,
    /// The program as it is now; or a folder, whose files of one name are compared
    after: PathBuf,
    /// Run both on these arguments as well (arg0, arg1, ...), and BEFORE over the real numbers; of a folder
    /// NAME.inputs.safetensors for each NAME.*.hlo: below it where NAME.*.hlo lies in its own, in it, or in its folder
    /// cpu
    #[arg(long, value_name = "IN.safetensors")]
    inputs: Option<PathBuf>,
    #[arg(long, value_name = "MODE", requires = "inputs", help = mode_help())]
    mode: Option<Mode>,
    /// Machine for AFTER, such as that of another release [default: that of BEFORE]
    #[arg(long, value_name = "MODE", requires = "inputs")]
    other_mode: Option<Mode>,
    /// Scores that rank tokens, a result of BEFORE, an argument (arg0, ...) or FILE.safetensors:NAME: rows that lost
    /// the most probable one are counted
    #[arg(long, value_name = "NAME", requires = "inputs")]
    scores: Option<String>,
    /// List of changes that were reviewed: only others, and those that are gone, count
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    accept: Option<PathBuf>,
    /// Accept what there is now: write it as the new list
    #[arg(long, requires = "accept")]
    bless: bool,
    /// Of two folders, the pairs below folders of this name alone, as tpu or tpu/v5e; may be given several times
    #[arg(long, value_name = "FOLDER")]
    only: Vec<PathBuf>,
    /// List changes by their kind, each kind with its count
    #[arg(long, conflicts_with_all = ["json", "accept"])]
    by_kind: bool,
    /// Print the changes as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
    #[command(flatten)]
    formats: Formats,
}

impl HloDiffArguments {
    /// The comparison, for the next command.
    fn compared(&self, found: &DiffProblems) -> Compared<'_> {
        let HloDiffArguments { before, after, inputs, accept, mode, other_mode, .. } = self;
        Compared {
            before,
            after,
            inputs: inputs.as_deref(),
            accept: accept.as_deref(),
            modes: [mode.as_ref(), other_mode.as_ref()],
            equal: found.equal_for(),
            has_equal_tokens: found.has_equal_tokens(),
        }
    }
}

/// Prints a line for each change of precision, and finds nothing if there is no change. Of two folders, for each pair
/// of files. Names the next command where something was found.
pub fn run(arguments: &HloDiffArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let HloDiffArguments { before, after, accept, bless, .. } = arguments;
    if let Some(path) = accept {
        check_target(path, [before, after].into_iter().chain(&arguments.inputs).cloned())?;
    }
    let pair = FolderPair::of(before, after);
    let of_folders = pair.iter().flatten().flat_map(FolderPair::paths).collect::<Vec<_>>();
    let read = [before, after].into_iter().chain(&arguments.inputs).chain(accept).chain(&of_folders);
    arguments.formats.check(read.cloned())?;
    let opened = opened(arguments, pair);
    let (pair, mut accepted) = arguments.formats.tell_failure("hlo diff", after, opened, out)?;
    let (mut open, mut found) = (0, DiffProblems::default());
    let exit = match pair {
        None => run_accepting(arguments, after, accepted.as_mut(), &mut found, out)
            .inspect_err(|failure| found.add_unjudged(after, failure))
            .and_then(|exit| tell_unchanged(arguments, exit, out)),
        Some(pair) => {
            open = pair.alone().len();
            let without = Failure::Message("it is in one folder alone".to_string());
            pair.alone().iter().for_each(|path| found.add_unjudged(path, &without));
            pair.judge(["unchanged", "changed"], out, |one, other, out| {
                let outcome = run_in_folders(arguments, one, other, accepted.as_mut(), &mut found, out);
                if let Err(failure) = &outcome {
                    found.add_unjudged(other.strip_prefix(after).unwrap_or(other), failure);
                }
                open += usize::from(outcome.is_err());
                outcome
            })
        }
    };
    let compared = arguments.compared(&found);
    arguments.formats.write(&[], || found.groups(&compared.next()), out)?;
    let exit = exit?;
    let Some(accepted) = accepted else {
        if exit == Exit::Found && !arguments.json {
            compared.tell(out)?;
        }
        return Ok(exit);
    };
    if *bless && open > 0 {
        let path = accepted.path().display();
        return Err(Failure::Message(format!("not judged: {open} pairs or files; nothing was accepted into {path}")));
    }
    if *bless {
        writeln!(out, "Accepted into {}: {}.", accepted.path().display(), accepted.bless()?)?;
        return Ok(Exit::AsExpected);
    }
    let left = accepted.of_other_pairs();
    for (pair, lines) in &left {
        writeln!(out, "gone: {pair}, which was not compared; accepted of it: {lines}")?;
    }
    let exit = if left.is_empty() { exit } else { Exit::Found };
    if exit == Exit::Found {
        compared.tell(out)?;
    }
    Ok(exit)
}

/// The pairs of two folders that are asked for, if there are any, and the list of accepted changes.
fn opened(
    arguments: &HloDiffArguments,
    pair: Result<Option<FolderPair>, Failure>,
) -> Result<(Option<FolderPair>, Option<Accepted>), Failure> {
    let HloDiffArguments { accept, bless, only, .. } = arguments;
    let pair = match pair? {
        None if !only.is_empty() => {
            let why = "--only picks among the files of two folders: give two folders";
            return Err(Failure::Message(why.to_string()));
        }
        pair => pair.map(|pair| pair.only(only)).transpose()?,
    };
    Ok((pair, accept.as_ref().map(|path| Accepted::read(path, *bless)).transpose()?))
}

/// A word where two files are compared and nothing is listed: silence would not tell that anything was compared.
fn tell_unchanged(arguments: &HloDiffArguments, exit: Exit, out: &mut dyn Write) -> Result<Exit, Failure> {
    if exit == Exit::AsExpected && !arguments.json {
        let beside = if arguments.accept.is_some() { " beside the accepted ones" } else { "" };
        writeln!(out, "changes: none{beside}")?;
    }
    Ok(exit)
}

/// One pair of two folders, on the machine and the inputs that its place there says.
fn run_in_folders(
    arguments: &HloDiffArguments,
    one: &Path,
    other: &Path,
    accepted: Option<&mut Accepted>,
    found: &mut DiffProblems,
    out: &mut dyn Write,
) -> Result<PairOutcome, Failure> {
    let name = other.strip_prefix(&arguments.after).unwrap_or(other);
    let inputs = arguments.inputs.as_ref().map(|given| inputs_of(given, name)).transpose()?;
    let mode = match &arguments.mode {
        None if inputs.is_some() => mode_of(name)?,
        given => given.clone(),
    };
    let (before, after) = (one.to_path_buf(), other.to_path_buf());
    let pair = HloDiffArguments { before, after, inputs, mode, ..arguments.clone() };
    let exit = run_accepting(&pair, name, accepted, found, out)?;
    Ok(if exit == Exit::AsExpected { PairOutcome::Same } else { PairOutcome::Differs })
}

/// One pair. Its accepted lines are not findings.
fn run_accepting(
    arguments: &HloDiffArguments,
    name: &Path,
    accepted: Option<&mut Accepted>,
    problems: &mut DiffProblems,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let manifests = [DumpManifest::of(&arguments.before)?, DumpManifest::of(&arguments.after)?];
    if let ([Some(before), Some(after)], false) = (&manifests, arguments.json) {
        let made = before.changes(after);
        if !made.is_empty() {
            writeln!(out, "made by: {}", made.join(", "))?;
        }
    }
    let Some(accepted) = accepted else {
        let told = run_pair(arguments, manifests, out)?;
        if let Some(ran) = &told.ran {
            problems.ran(ran.equal_for(), ran.equal_tokens());
            if !arguments.json {
                ran.tell(out)?;
            }
        }
        problems.add(name, told.found.into_iter().map(|told| told.problem));
        return Ok(told.exit);
    };
    let mut printed = Vec::new();
    let told = run_pair(arguments, manifests, &mut printed)?;
    let ComparedPair { new, gone, accepted } =
        accepted.compare(name_in_list(name)?, &String::from_utf8_lossy(&printed));
    problems.add_accepted(name, told.found, &new, &gone);
    new.iter().try_for_each(|line| writeln!(out, "new: {line}"))?;
    gone.iter().try_for_each(|line| writeln!(out, "gone: {line}"))?;
    // A person who reviews the lines needs what they do to results, accepted or not; equal tokens and inputs decide the next step.
    if let Some(ran) = &told.ran {
        problems.ran(ran.equal_for(), ran.equal_tokens());
        if !new.is_empty() {
            ran.tell(out)?;
        }
    }
    if accepted > 0 {
        writeln!(out, "As accepted: {accepted}")?;
    }
    Ok(if new.is_empty() && gone.is_empty() { Exit::AsExpected } else { Exit::Found })
}

/// The report on a pair.
struct ToldPair {
    exit: Exit,
    /// The changes, and the results that differ.
    found: Vec<PrintedFinding>,
    /// The results, where both programs were run.
    ran: Option<RanPair>,
}

/// The results of two programs that were run.
struct RanPair {
    /// The shapes of the results.
    results: Vec<Shape>,
    /// Results that differ, by their numbers.
    differing: Vec<usize>,
    /// Whether NaNs have other bits.
    but_for_nans: bool,
    /// Why all are equal although something changed.
    why: Option<WhyEqual>,
    /// Whether no change was found, and one machine runs both.
    is_unchanged: bool,
}

impl RanPair {
    /// The inputs for which all results are equal, if all are for these.
    fn equal_for(&self) -> Option<EqualFor> {
        let for_all = self.is_unchanged || self.why.as_ref().is_some_and(|why| why.for_all_inputs);
        self.differing.is_empty().then_some(if for_all { EqualFor::AllInputs } else { EqualFor::TheseInputs })
    }

    /// Whether all results of integers or predicates are equal, if there are any.
    fn equal_tokens(&self) -> Option<bool> {
        // Tokens and sets that are kept are integers and predicates.
        let is_of_tokens =
            |shape: &Shape| shape.dtype().is_some_and(|dtype| dtype.is_integer() || dtype == DType::Pred);
        let tokens = self.results.iter().enumerate().filter(|(_, shape)| is_of_tokens(shape));
        tokens.map(|(at, _)| !self.differing.contains(&at)).reduce(|one, other| one && other)
    }

    /// Prints the results that are equal: without the line nothing would tell that they were compared.
    fn tell(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let RanPair { results, differing, but_for_nans, why, .. } = self;
        let of_equal = results.iter().enumerate().filter(|(at, _)| !differing.contains(at));
        let equal: Vec<String> = of_equal.map(|(at, shape)| format!("result {at} {shape}")).collect();
        if equal.is_empty() {
            return Ok(());
        }
        let nans = if *but_for_nans { " but for the bits of NaNs" } else { "" };
        let more = match why {
            Some(why) => format!(": {}", why.text),
            None if differing.is_empty() => String::new(),
            None => format!(": {}", equal.join(", ")),
        };
        writeln!(out, "results: {} of {} equal, bit for bit{nans}{more}", equal.len(), results.len())?;
        Ok(())
    }
}

/// The shapes of a program's results.
fn shapes(program: &Program) -> Vec<Shape> {
    program.outputs().into_iter().map(|id| program.entry().instructions[id].shape.clone()).collect()
}

/// The chip whose code generator decides what two files compute where no machine is asked to run them: that of the folders of
/// two compiled files. A program as written leaves orders open.
fn chip_of_code(arguments: &HloDiffArguments, files: [&Import; 2]) -> Option<&'static Chip> {
    let are_compiled = files.iter().all(|file| file.is_compiled);
    let of_paths = || mode_of_paths([&arguments.before, &arguments.after]).map(|mode| mode.chip);
    if are_compiled { of_paths() } else { None }
}

#[expect(clippy::too_many_lines, reason = "the steps of one command, in order")]
fn run_pair(
    arguments: &HloDiffArguments,
    manifests: [Option<DumpManifest>; 2],
    out: &mut dyn Write,
) -> Result<ToldPair, Failure> {
    // What is run has to be understood.
    let read = if arguments.inputs.is_some() { read } else { read_with_opaque };
    let ((module, before), (_, after)) = (read(&arguments.before)?, read(&arguments.after)?);
    let mode = mode_or_that_of_paths(arguments.mode.as_ref(), [&arguments.before, &arguments.after])?;
    let modes = [&mode, arguments.other_mode.as_ref().unwrap_or(&mode)];
    let chip = arguments.inputs.as_ref().map(|_| mode.chip).or_else(|| chip_of_code(arguments, [&before, &after]));
    let found = difference(&before, &after, chip).map_err(|e| e.to_string())?;
    let results = match &arguments.inputs {
        Some(path) => {
            let name = arguments.before.file_name().map_or(arguments.before.as_path(), Path::new);
            let tensors = inputs(&inputs_of(path, name)?, &before)?;
            let given = arguments.scores.as_deref().map(given_scores).transpose()?.flatten();
            let scores = arguments.scores.as_deref().map(|name| match &given {
                Some(tensor) => Scores::Given(name, tensor),
                None => Scores::Named(name),
            });
            outcomes(&before, &after, modes, &tensors, scores, &mut announcer()).map_err(|e| e.to_string())?
        }
        None => Vec::new(),
    };
    let ([left, right], [lost, new]) = (&found.unmatched, &found.not_understood.apart);
    let differing = results.iter().filter(|r| r.differing > 0).count();
    let is_equal = arguments.inputs.is_some() && differing == 0;
    let why = (is_equal && !found.changes.is_empty()).then(|| why_equal(&found, [&before, &after], modes));
    if arguments.json {
        let results = arguments.inputs.as_ref().map(|_| results.as_slice());
        let mut value = found.to_json(results);
        if let Some(why) = &why {
            value["equal_because"] = json!(why.text);
        }
        if let [Some(before), Some(after)] = &manifests {
            value["made_by"] = json!({"before": before.to_json(), "after": after.to_json()});
        }
        writeln!(out, "{value:#}")?;
    } else {
        match arguments.by_kind {
            true => write_by_kind(&found.changes, out)?,
            false => found.changes.iter().try_for_each(|change| writeln!(out, "{change}"))?,
        }
        for result in &results {
            write!(out, "{result}")?;
        }
    }
    let is_same = found.changes.is_empty() && differing == 0;
    let (one, other) = (arguments.before.display().to_string(), arguments.after.display().to_string());
    let of_both = |sides: [&Vec<String>; 2]| -> String {
        let [left, right] = sides;
        let notes = [without(left, &one, &other), without(right, &other, &one)];
        notes.into_iter().flatten().collect::<Vec<_>>().join("; ")
    };
    let open = [
        ("nothing is known about values without a counterpart", of_both([left, right])),
        ("not understood, and not the same in both files", of_both([lost, new])),
    ];
    let open: Vec<String> = open
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {names}"))
        .collect();
    if is_same && !open.is_empty() {
        return Err(Failure::Message(open.join("; ")));
    }
    let alike = &found.not_understood.alike;
    let alike =
        (!alike.is_empty()).then(|| format!("not understood, but the same in both files: {}", alike.join(", ")));
    for note in open.into_iter().chain(alike) {
        super::note(&format!("ulpgate: {note}"));
    }
    let beyond_zeros = results.iter().filter(|r| r.differing > 0 && !r.is_of_zero_signs()).map(|r| r.result);
    if let Some(why) = contradiction(&found, &beyond_zeros.collect::<Vec<_>>(), modes) {
        return Err(Failure::Message(why));
    }
    Ok(ToldPair {
        found: told(&arguments.before, &module, &found.changes, &results),
        exit: if is_same { Exit::AsExpected } else { Exit::Found },
        ran: arguments.inputs.is_some().then(|| RanPair {
            results: shapes(&before.program),
            differing: results.iter().filter(|r| r.differing > 0).map(|r| r.result).collect(),
            but_for_nans: results.iter().any(|r| r.nans_of_other_bits > 0),
            why,
            is_unchanged: found.changes.is_empty() && modes[0] == modes[1],
        }),
    })
}

/// The changes of each kind below its name and count, kinds in their order.
fn write_by_kind(changes: &[Change], out: &mut dyn Write) -> Result<(), Failure> {
    let mut kinds: BTreeMap<ChangeKind, Vec<&Change>> = BTreeMap::new();
    changes.iter().for_each(|change| kinds.entry(change.kind).or_default().push(change));
    for (kind, changes) in kinds {
        writeln!(out, "{}: {}", kind.name(), changes.len())?;
        for change in changes {
            let line = change.to_string();
            writeln!(out, "  {}", line.strip_prefix(kind.name()).unwrap_or(&line).trim_start())?;
        }
    }
    Ok(())
}

/// The tensor that `FILE.safetensors:NAME` names; `None` for another text.
fn given_scores(text: &str) -> Result<Option<Tensor>, Failure> {
    let Some((path, name)) = text.split_once(".safetensors:") else { return Ok(None) };
    let read = safetensors::read_one(Path::new(&format!("{path}.safetensors")), name);
    read.map(Some).map_err(|error| Failure::Message(error.to_string()))
}

/// The sentence on one file's values that the other does not compute. An instruction that stands for several is named
/// once.
fn without(names: &[String], of: &str, other: &str) -> Option<String> {
    let mut each: Vec<&str> = Vec::new();
    names.iter().for_each(|name| {
        if !each.contains(&name.as_str()) {
            each.push(name)
        }
    });
    (!each.is_empty()).then(|| format!("{of} computes {}, which {other} does not", each.join(", ")))
}
