//! `ulpgate hlo why`: which operations' errors flipped a token.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use ulpgate_front::file::safetensors;
use ulpgate_front::hlo::{Import, Sources};
use ulpgate_front::ir::{Class, Op, Program, Shape};
use ulpgate_front::machine::Mode;
use ulpgate_front::name::hint;
use ulpgate_front::run::{World, check_memory};
use ulpgate_front::subject;
use ulpgate_front::tensor::{DType, Tensor};
use ulpgate_front::why::{
    Explanation, Flip, Operation, ProgramOnMachine, Undone, WhyError, count_flips, evaluate_wide, explain, find_flips,
    tokens, tops, undo,
};

use super::super::seconds::Limit;
use super::super::summary::{shell_word, wrap};
use super::super::{Exit, Failure};
use super::{announcer, note_second_compilation, read};

#[derive(Args)]
#[command(
    after_help = "A row of scores names the token of its largest. It is flipped where the machine names another \
    token than the truth, which is proven. A margin is the score of the truth's token less that of the machine's.\n\n\
    For each --row a table: what the error of one operation alone, the rest computed in f64, makes of the margin, and its \
    share of what all errors made of it; a line for each trip of a loop. Then runs of the machine with operations kept wide \
    (in f32 instead of bf16, f64 instead of f32, dots at the highest precision), the largest first, in all trips of a loop, \
    until the row names the truth's token and the table says why: the margin \
    then, and in brackets what it would be with those errors alone gone. What rounds later rounds other numbers then, which \
    may turn a token back or keep it, too.\n\n\
    Arguments are looked up by name: arg0 or the parameter's own name, without the number behind it.\n\n\
    Exit codes: 0 no row is flipped; 1 one is; 2 could not judge."
)]
pub struct HloWhyArguments {
    /// The program as it is run: compiled, or as JAX hands it over
    file: PathBuf,
    /// Files with the arguments; may be given several times
    #[arg(long, value_name = "IN.safetensors", required = true)]
    inputs: Vec<PathBuf>,
    /// An argument's tensor, where it has another name: tokens=held_out
    #[arg(long, value_name = "ARGUMENT=TENSOR")]
    bind: Vec<String>,
    /// Runs of the program, each on the next rows of its first argument
    #[arg(long, value_name = "N", default_value_t = 1)]
    windows: usize,
    /// The program that says what is true [default: FILE], on the same arguments
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// The result that ranks tokens along its last dim
    #[arg(long, value_name = "NAME", default_value = "out0")]
    scores: String,
    /// Machine, as chip/precision/excess[+key=value...]
    #[arg(long, value_name = "MODE", default_value = "v5e/default/as-compiled")]
    mode: Mode,
    /// A flipped row to explain, counted through all windows; may be given several times
    #[arg(long, value_name = "N")]
    row: Vec<usize>,
    /// Explain every flipped row
    #[arg(long, conflicts_with = "row")]
    every: bool,
    /// Lines of a table
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Count the flips with these operations kept wide: those with a word in their name, op_name or place in the
    /// source, such as rms_norm; words with | between them; all for all operations
    #[arg(long, value_name = "WORD|WORD")]
    keep: Vec<String>,
    /// Print as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
}

/// Runs that are made before all operations with a share are kept wide at once.
const TRIALS: usize = 12;

/// The program with the places of its values in the source.
struct ToldResult<'a> {
    program: &'a Program,
    sources: Sources<'a>,
}

impl ToldResult<'_> {
    fn name(&self, (computation, id): Operation) -> &str {
        &self.program.computations[computation].instructions[id].name
    }

    /// `op_name` and the place in the source, of the instruction or of the fusion that it stands in.
    fn origin(&self, operation: Operation) -> String {
        self.sources.origin(self.name(operation))
    }

    /// `convert.3 convert bf16[64,96] (jit(f)/mul, decoder.py:32 in rms_norm)`.
    fn describe(&self, operation: Operation) -> String {
        let instruction = &self.program.computations[operation.0].instructions[operation.1];
        let (name, opcode, shape, origin) =
            (self.name(operation), instruction.op.opcode(), &instruction.shape, self.origin(operation));
        let origin = if origin.is_empty() { origin } else { format!(" ({origin})") };
        format!("{name} {opcode} {shape}{origin}")
    }

    /// Operations with one of these words in them that can be kept wide: those that compute floats, outside of
    /// reducers.
    fn matching(&self, words: &str) -> Vec<Operation> {
        let mut computations = BTreeSet::from([self.program.entry]);
        for (id, computation) in self.program.computations.iter().enumerate().rev() {
            if computations.contains(&id) {
                let bodies = computation.instructions.iter().filter(|i| matches!(i.op, Op::While { .. }));
                let bodies: Vec<usize> = bodies.flat_map(|i| i.op.callees()).collect();
                computations.extend(bodies);
            }
        }
        let computes = |(computation, id): &Operation| {
            let instruction = &self.program.computations[*computation].instructions[*id];
            let class = instruction.op.class();
            instruction.shape.dtype().is_some_and(DType::is_float)
                && (matches!(class, Class::Elementwise | Class::Combines)
                    || class == Class::Converts && instruction.op != Op::BitcastConvert)
        };
        let all =
            computations.iter().flat_map(|c| (0..self.program.computations[*c].instructions.len()).map(|id| (*c, id)));
        let is_asked = |operation: &Operation| {
            let (name, origin) = (self.name(*operation), self.origin(*operation));
            words == "all" || words.split('|').any(|word| name.contains(word) || origin.contains(word))
        };
        all.filter(computes).filter(is_asked).collect()
    }
}

/// Prints the flipped rows and why they are; finds something where there is one.
#[expect(clippy::too_many_lines, reason = "the steps of one command, in order")]
pub fn run(arguments: &HloWhyArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.file.display()));
    let (module, import) = read(&arguments.file)?;
    note_second_compilation(&arguments.file, &module, &arguments.mode);
    let truth = arguments.truth.as_deref().map(read).transpose()?;
    let truth = truth.as_ref().map_or(&import.program, |(_, import)| &import.program);
    if truth.entry().parameter_shapes() != import.program.entry().parameter_shapes() {
        return Err(fail(&"the program and its truth take different arguments"));
    }
    for (program, world) in [(&import.program, World::Machine), (truth, World::Truth)] {
        check_memory(program, world).map_err(|error| fail(&error))?;
    }
    let scores = output(&import.program, &arguments.scores).map_err(|why| fail(&why))?;
    let true_scores = output(truth, &arguments.scores).map_err(|why| fail(&why))?;
    let program = subject::compile(&import.program, &arguments.mode);
    let setting = ProgramOnMachine { program: &program, mode: &arguments.mode, scores };
    let named = ToldResult { program: &program, sources: Sources::new(&module) };
    let windows = windows(arguments, &import)?;
    let kept: Vec<Vec<Operation>> = arguments.keep.iter().map(|words| named.matching(words)).collect();
    if let Some(at) = kept.iter().position(Vec::is_empty) {
        return Err(fail(&format!("no operation has `{}` in its name or place", arguments.keep[at])));
    }
    let (mut rows, mut undecided, mut all, mut explained) = (0, 0, Vec::new(), Vec::new());
    let mut left = vec![0; kept.len()];
    for given in &windows {
        let tops = tops(truth, true_scores, given, &mut announcer()).map_err(|error| fail(&hinted(&error)))?;
        let found = find_flips(&setting, given, &tops).map_err(|error| fail(&hinted(&error)))?;
        let is_asked = |flip: &&Flip| arguments.every || arguments.row.contains(&(rows + flip.row));
        let asked: Vec<Flip> = found.flips.iter().filter(is_asked).copied().collect();
        if !asked.is_empty() {
            for explanation in explain(&setting, given, &asked).map_err(|error| fail(&error))? {
                let undone = undo(&setting, given, &explanation, TRIALS).map_err(|error| fail(&error))?;
                explained.push((rows + explanation.flip.row, explanation, undone));
            }
        }
        for (kept, left) in kept.iter().zip(&mut left) {
            let scores = evaluate_wide(&setting, given, kept).map_err(|error| fail(&error))?;
            *left += count_flips(&tokens(&scores), &tops).flips.len();
        }
        all.extend(found.flips.iter().map(|flip| Flip { row: rows + flip.row, ..*flip }));
        undecided += found.undecided;
        rows += found.rows;
    }
    if let Some(row) = arguments.row.iter().find(|row| !all.iter().any(|flip| flip.row == **row)) {
        let flipped: Vec<String> = all.iter().map(|flip| flip.row.to_string()).collect();
        let flipped =
            if flipped.is_empty() { "none is".to_string() } else { format!("these are: {}", flipped.join(", ")) };
        return Err(fail(&format!("row {row} is not flipped; of {rows} rows {flipped}")));
    }
    if arguments.json {
        let explained: Vec<_> = explained.iter().map(|explained| as_json(explained, &named)).collect();
        let kept = arguments.keep.iter().zip(&kept).zip(&left);
        let kept: Vec<_> = kept
            .map(|((words, kept), left)| json!({"words": words, "operations": kept.len(), "flipped": left}))
            .collect();
        let value = json!({"mode": arguments.mode.to_string(), "rows": rows, "undecided": undecided, "flips": all,
            "explained": explained, "kept": kept});
        writeln!(out, "{value:#}")?;
    } else {
        write!(out, "{} of {rows} rows name another token than the truth", all.len())?;
        writeln!(out, "{}", if undecided > 0 { format!("; {undecided} are undecided") } else { String::new() })?;
        let is_told = |flip: &&Flip| !explained.iter().any(|(row, ..)| *row == flip.row);
        for Flip { row, exact, emitted } in all.iter().filter(is_told) {
            writeln!(out, "row {row}: token {exact} in truth, {emitted} on the machine")?;
        }
        for explained in &explained {
            write_explained(explained, &named, arguments.top, out)?;
        }
        for ((words, kept), left) in arguments.keep.iter().zip(&kept).zip(&left) {
            writeln!(out, "kept wide `{words}`, {} operations: {left} of {rows} rows", kept.len())?;
        }
        if let Some(next) = next_step(&all, &explained, &named) {
            wrap(&next, "    ", out)?;
        }
    }
    if all.is_empty() && (undecided > 0 || rows == 0) {
        return Err(fail(&format!(
            "{undecided} of {rows} rows were not judged: their truth is undecided; no other row is flipped"
        )));
    }
    Ok(if all.is_empty() { Exit::AsExpected } else { Exit::Found })
}

/// An error, with the command that asks of results without a largest score.
fn hinted(error: &WhyError) -> String {
    match error {
        WhyError::Scores { .. } => format!("{error}; of a kept set `ulpgate explore` says which rows may change"),
        _ => error.to_string(),
    }
}

/// The command that tells more of rows that are flipped.
fn next_step(all: &[Flip], explained: &[(usize, Explanation, Undone)], named: &ToldResult) -> Option<String> {
    let first = all.first()?;
    let Some(fewest) = explained.iter().find_map(|(.., undone)| undone.fewest.as_ref()) else {
        return Some(match explained.is_empty() {
            true => format!(
                "Next: the same command with --row {} says which operations flipped that row, with --every all rows.",
                first.row
            ),
            false => "Next: --keep WORD counts the flips of all rows with the operations of that name kept wide, --keep all with \
                      all operations."
                .to_string(),
        });
    };
    let names: Vec<&str> = fewest.kept.iter().take(TRIALS).map(|operation| named.name(*operation)).collect();
    Some(format!("Next: --keep {} counts the flips of all rows with these kept wide.", shell_word(&names.join("|"))))
}

fn write_explained(
    (row, explanation, undone): &(usize, Explanation, Undone),
    named: &ToldResult,
    top: usize,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let Explanation { flip, exact_margin, machine_margin, lines } = explanation;
    let (whole, sum) = (explanation.whole(), explanation.sum());
    writeln!(out, "row {row}: token {} in truth, {} on the machine", flip.exact, flip.emitted)?;
    writeln!(
        out,
        "  margin {exact_margin:.6} without errors, {machine_margin:.6} on the machine: changed by {whole:.6}"
    )?;
    writeln!(out, "     share      change  error up to  trip  operation")?;
    for line in lines.iter().filter(|line| line.change < 0.0).take(top) {
        let (share, operation) = (100.0 * line.change / whole, (line.place.computation, line.place.instruction));
        let (change, largest, trip) = (line.change, line.largest, trip(&line.place.path));
        writeln!(out, "  {share:6.1} %  {change:10.6}  {largest:11.3e}  {trip:>4}  {}", named.describe(operation))?;
    }
    let against: f64 = lines.iter().map(|line| line.change.max(0.0)).sum();
    let (towards, count) = (sum - against, lines.len());
    writeln!(out, "  {count} errors: {towards:.6} towards the machine's token, {against:+.6} against it; their sum")?;
    writeln!(out, "  {sum:.6} is {:.1} % of the change: the rest is not linear", 100.0 * sum / whole)?;
    for trial in &undone.trials {
        let names: Vec<&str> = trial.kept.iter().map(|operation| named.name(*operation)).collect();
        let names = match &names[..] {
            many if many.len() > TRIALS => format!("all {} that move it there", many.len()),
            few => few.join(", "),
        };
        let (emitted, margin, expected) = (trial.emitted, trial.margin, trial.expected);
        let turned = match emitted == flip.exact {
            true if trial.is_explained(flip.exact) => "turned back",
            true => "turned back, by roundings that come after",
            false => "still flipped",
        };
        writeln!(
            out,
            "  run with {names} kept wide: token {emitted}, margin {margin:.6} ({expected:.6} by the table): {turned}"
        )?;
    }
    match &undone.fewest {
        None => writeln!(out, "  no run turned it back"),
        Some(trial) => {
            writeln!(out, "  to be changed:")?;
            trial.kept.iter().take(TRIALS).try_for_each(|operation| writeln!(out, "    {}", change(named, *operation)))
        }
    }
}

/// The line of HLO that is to be written otherwise.
fn change(named: &ToldResult, operation: Operation) -> String {
    let instruction = &named.program.computations[operation.0].instructions[operation.1];
    let wide = match instruction.shape.dtype() {
        Some(DType::F32) if matches!(instruction.op, Op::Dot { .. }) => "at precision highest".to_string(),
        Some(DType::F32 | DType::F64) => format!("as {}", instruction.shape.with_dtype(DType::F64)),
        _ => format!("as {}", instruction.shape.with_dtype(DType::F32)),
    };
    format!("{} -> {wide}, and read so", named.describe(operation))
}

/// The trips of the loops around a line, from the outermost: `2`, `31.2`, or `-`.
fn trip(path: &[(usize, Option<usize>)]) -> String {
    let trips: Vec<String> = path.iter().filter_map(|(_, trip)| trip.map(|trip| trip.to_string())).collect();
    if trips.is_empty() { "-".to_string() } else { trips.join(".") }
}

fn as_json((row, explanation, undone): &(usize, Explanation, Undone), named: &ToldResult) -> serde_json::Value {
    let names = |kept: &[Operation]| kept.iter().map(|o| named.name(*o).to_string()).collect::<Vec<_>>();
    let line = |line: &ulpgate_front::why::Line| {
        let operation = (line.place.computation, line.place.instruction);
        let instruction = &named.program.computations[operation.0].instructions[operation.1];
        json!({"name": named.name(operation), "opcode": instruction.op.opcode(),
            "shape": instruction.shape.to_string(), "origin": named.origin(operation), "trip": trip(&line.place.path),
            "largest_error": line.largest, "change": line.change})
    };
    json!({
        "row": row, "exact": explanation.flip.exact, "emitted": explanation.flip.emitted,
        "exact_margin": explanation.exact_margin, "machine_margin": explanation.machine_margin,
        "sum": explanation.sum(), "lines": explanation.lines.iter().map(line).collect::<Vec<_>>(),
        "trials": undone.trials.iter().map(|t| json!({"kept": names(&t.kept), "emitted": t.emitted, "margin": t.margin, "expected": t.expected}))
            .collect::<Vec<_>>(),
        "fewest": undone.fewest.as_ref().map(|trial| names(&trial.kept)),
    })
}

/// The position of a result.
fn output(program: &Program, name: &str) -> Result<usize, String> {
    let names = || program.output_names.iter().map(String::as_str);
    program.output(name).ok_or_else(|| format!("there is no result `{name}`; {}", hint(name, names())))
}

/// The arguments of each window: the first argument's next rows, the others as they are.
fn windows(arguments: &HloWhyArguments, import: &Import) -> Result<Vec<Vec<Tensor>>, Failure> {
    let mut files: Vec<(&Path, Vec<(String, Tensor)>)> = Vec::new();
    for path in &arguments.inputs {
        files.push((path, safetensors::read(path).map_err(|error| Failure::Message(error.to_string()))?));
    }
    let entry = import.program.entry();
    let mut tensors: Vec<Tensor> = Vec::new();
    for (number, (name, shape)) in import.argument_names.iter().zip(entry.parameter_shapes()).enumerate() {
        let parameter = entry.instructions.iter().find(|i| i.op == Op::Parameter(number)).map_or("", |i| &i.name);
        let own = parameter.rsplit_once('.').map_or(parameter, |(own, _)| own);
        let bound = arguments.bind.iter().filter_map(|bind| bind.split_once('='));
        let bound = bound.filter(|(argument, _)| [name, parameter, own].contains(argument)).map(|(_, tensor)| tensor);
        let names: Vec<&str> = bound.chain([name.as_str(), parameter, own]).collect();
        let found = names.iter().find_map(|name| {
            let mut all = files.iter().flat_map(|(_, tensors)| tensors);
            all.find(|(other, _)| other == name).map(|(_, tensor)| tensor)
        });
        let missing = || Failure::Message(format!("no file has `{name}` or `{own}`, which must be {shape}"));
        tensors.push(found.ok_or_else(missing)?.clone());
        let given = &tensors[number];
        let rows = |dims: &[usize]| if number == 0 { dims.iter().skip(1).copied().collect() } else { dims.to_vec() };
        if Some(given.dtype()) != shape.dtype() || rows(given.dims()) != rows(shape.dims()) {
            let found = Shape::array(given.dtype(), given.dims());
            return Err(Failure::Message(format!("`{name}` or `{own}` is {found}, but the program takes {shape}")));
        }
    }
    let Some(first) = tensors.first().cloned() else { return Ok(vec![tensors]) };
    let parameters = entry.parameter_shapes();
    let each = parameters[0].dims().first().copied().unwrap_or(1);
    let has = first.dims().first().copied().unwrap_or(1);
    let asked = each.checked_mul(arguments.windows);
    if arguments.windows == 0 || asked.is_none_or(|asked| has < asked) {
        let why = format!("the first argument has {has} rows; {} windows of {each} are asked for", arguments.windows);
        return Err(Failure::Message(why));
    }
    let window = |at: usize| {
        let rows = if first.dims().is_empty() { first.clone() } else { first.rows(at * each..(at + 1) * each) };
        std::iter::once(rows).chain(tensors[1..].iter().cloned()).collect()
    };
    Ok((0..arguments.windows).map(window).collect())
}
