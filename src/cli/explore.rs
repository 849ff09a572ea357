//! `ulpgate explore`: every outcome that a compiler's flags permit.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use clap::Args;

use ulpgate_front::deadline;
use ulpgate_front::explore::{
    FAMILIES, Family, Guard, NoRepair, Repair, Settings, counterexample, default_families, enclose, explore,
    families_of_results, find_family, repair,
};
use ulpgate_front::hlo::Sources;
use ulpgate_front::hlo::ast::Module;
use ulpgate_front::input::{Argument, InputKey, InputSpec, generate};
use ulpgate_front::ir::Program;
use ulpgate_front::machine::Mode;
use ulpgate_front::name::{hint, printable, quantity};
use ulpgate_front::program::ProgramSpec;
use ulpgate_front::run::{World, check_memory};
use ulpgate_front::suite::is_file;
use ulpgate_front::tensor::Tensor;

use super::against::compare;
use super::choice_text::origin_in_brackets;
use super::explored_rows::{Page, Row};
use super::hlo::{inputs, read};
use super::seconds::from_now;
use super::summary::wrap;
use super::terminal::{note, passing_note};
use super::{Exit, Failure, counterexample_files};

#[derive(Args)]
pub struct ExploreArguments {
    /// HLO text before compilation (FILE.hlo or FILE.txt), or a built-in program such as keep_max[rows=8]
    program: String,
    /// Arguments of a file's program: arg0, arg1, ...
    #[arg(long, value_name = "IN.safetensors", conflicts_with_all = ["input", "size", "seed"])]
    inputs: Option<std::path::PathBuf>,
    /// Or the distribution that they are drawn from
    #[arg(long, value_name = "SPEC", default_value = "normal")]
    input: InputSpec,
    /// Size of a built-in program
    #[arg(long = "n", value_name = "N", default_value_t = 1024)]
    size: usize,
    /// Seed of the distribution's bits
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Machine whose arithmetic is taken, as chip/precision/off[+key=value...]
    #[arg(long, value_name = "MODE", default_value = "v5e/default/off")]
    mode: Mode,
    /// Choices of a compiler, by commas: rounding, narrowing, accumulation, order, contraction, reciprocal, algebra, mesh; and
    /// functions, the chip's own errors [default: all but accumulation and, without --against, functions]
    #[arg(long, value_name = "FAMILIES", value_delimiter = ',', value_parser = family)]
    permit: Vec<&'static Family>,
    /// Take the arithmetic of every mode, not of MODE alone: a row is proven if no chip, no precision and no refinement
    /// can change it, whatever the compiler chooses
    #[arg(long)]
    any_mode: bool,
    /// A result that belongs to the outcome; may be given several times [default: all of integers and predicates]
    #[arg(long = "result", value_name = "NAME")]
    results: Vec<String>,
    /// The most choices to evaluate; where there are no more, all are; 0: search no witnesses
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 16)]
    choices: usize,
    /// The most enclosures to take
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    enclosures: usize,
    /// Tell of every row which step decides it and by how much, not only of those that stay open
    #[arg(long, conflicts_with = "against")]
    margins: bool,
    /// Look for the fewest guards after which every row is proven
    #[arg(long, conflicts_with_all = ["json", "against"])]
    repair: bool,
    /// Make a small program and input of a reachable row that still flips, and write both into this folder, with a file
    /// in JAX that shows it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "against"])]
    counterexample: Option<std::path::PathBuf>,
    /// Results that something else computed, out0, out1, ...: tell instead which of their elements lie outside of what is
    /// permitted. In a .json file they are as they were printed: {"out0": [[0.647502, 1.25], ...]}, each number one of all that
    /// round to it
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    against: Option<std::path::PathBuf>,
    /// Seconds to search for, at most, also within an operation: rows that are not proven by then stay open
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// Print as JSON
    #[arg(long)]
    pub(super) json: bool,
}

fn family(name: &str) -> Result<&'static Family, String> {
    let known = FAMILIES.iter().map(|family| family.name);
    find_family(name).ok_or_else(|| format!("no family of choices is called that; {}", hint(name, known)))
}

pub fn run(arguments: &ExploreArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    counterexample_files::check(arguments.counterexample.as_deref(), &arguments.program, &arguments.inputs)?;
    let until = from_now(arguments.seconds);
    let searched_until = from_now(arguments.seconds.map(|seconds| seconds_of_search(seconds, arguments.repair)));
    let (module, program, tensors) = in_time(arguments, until, || problem(arguments))?;
    let sources = module.as_ref().map(Sources::new);
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.program));
    check_memory(&program, World::Machine).map_err(|error| fail(&error))?;
    let settings = Settings {
        mode: arguments.mode.clone(),
        families: permitted(arguments),
        choices: arguments.choices,
        enclosures: arguments.enclosures,
        margins: arguments.margins,
        any_mode: arguments.any_mode,
        until: searched_until,
        announce,
    };
    if let Some(path) = &arguments.against {
        return in_time(arguments, until, || {
            let (_, enclosed) = enclose(&program, &tensors, &settings).map_err(|error| fail(&error))?;
            not_followed(&program).iter().for_each(|line| note(&format!("note: {line}")));
            compare(&program, &enclosed, path, out)
        });
    }
    let found = explore(&program, &tensors, &arguments.results, &settings).map_err(|error| fail(&error))?;
    let row = |(row, answer)| Row::new(&found, row, answer, sources.as_ref());
    let rows: Vec<Row> = found.answers.iter().enumerate().map(row).collect();
    let is_proven = |row: &Row| row.answer == "proven";
    let is_reachable = |row: &Row| row.answer == "reachable";
    if arguments.json {
        let page = Page { settings: &settings, found: &found, rows: &rows, not_followed: not_followed(&program) };
        writeln!(out, "{}", serde_json::to_string_pretty(&page.json()).map_err(|error| fail(&error))?)?;
    } else {
        Page { settings: &settings, found: &found, rows: &rows, not_followed: not_followed(&program) }.text(out)?;
        if arguments.repair && !rows.iter().all(is_proven) {
            let settings = Settings { until, ..settings.clone() };
            let repair =
                repair(&program, &tensors, &arguments.results, &settings, &found).map_err(|error| fail(&error))?;
            match repair {
                Ok(repair) => tell_repair(&repair, sources.as_ref(), out)?,
                Err(why) => tell_no_repair(why, &settings.families, rows.iter().any(is_reachable), out)?,
            }
        } else if !rows.iter().all(is_proven) {
            wrap("Next: --repair, for the fewest guards after which every row is proven.", "    ", out)?;
        }
        if let Some(folder) = &arguments.counterexample {
            let small = in_time(arguments, until, || {
                counterexample(&program, &tensors, &arguments.results, &settings, &found).map_err(|error| fail(&error))
            })?;
            match small {
                Some(small) => counterexample_files::write(&small, sources.as_ref(), folder, out)?,
                None => tell_no_counterexample(rows.iter().any(is_reachable), out)?,
            }
        }
    }
    if rows.is_empty() {
        return Err(fail(&"the outcome has no row, so that nothing was judged"));
    }
    Ok(if rows.iter().all(is_proven) { Exit::AsExpected } else { Exit::Found })
}

/// Seconds of the search: it takes all that it gets, so that guards have the other half.
fn seconds_of_search(seconds: u64, has_repair: bool) -> u64 {
    if has_repair { seconds.div_ceil(2) } else { seconds }
}

/// The families of choices that are asked for, or that the question has by default.
fn permitted(arguments: &ExploreArguments) -> Vec<&'static Family> {
    match arguments.against {
        _ if !arguments.permit.is_empty() => arguments.permit.clone(),
        Some(_) => families_of_results().collect(),
        None => default_families().collect(),
    }
}

/// The settings that decide bits perhaps and that no choice stands for, in a line, if there are any. Those of a compiler are its own.
fn not_followed(program: &Program) -> Option<String> {
    let own = program.named_settings().filter(|(_, setting)| !setting.is_of_compiler());
    let mut told: Vec<String> = own.map(|(name, setting)| format!("{setting} of {}", printable(name))).collect();
    told.dedup();
    let more = told.len().saturating_sub(SHOWN);
    told.truncate(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!told.is_empty()).then(|| format!("not followed: {}{more}; answers hold if they change no bits", told.join(", ")))
}

/// Settings that a line names.
const SHOWN: usize = 3;

/// Does a part of the work by the time that `--seconds` leaves.
///
/// # Errors
/// If it is over before, or the work has an error.
fn in_time<T>(
    arguments: &ExploreArguments,
    until: Option<Instant>,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(limit) = arguments.seconds else { return work() };
    let fail = |error| Failure::Message(format!("{}: --seconds {limit}: {error}", arguments.program));
    deadline::until(until, work).map_err(fail)?
}

/// Choices from which on they are announced.
const MANY: usize = 1024;

/// Says what may take long.
fn announce(choices: usize) {
    if choices >= MANY {
        passing_note(&format!(
            "note: no enclosure proves all rows; up to {choices} choices are evaluated (--choices N: no more)"
        ));
    }
}

/// Guards that a person writes by hand.
const FEW: usize = 4;

/// The guards, and the rows that they prove.
fn tell_repair(repair: &Repair, sources: Option<&Sources>, out: &mut dyn Write) -> Result<(), Failure> {
    let Repair { guards, program, proven: [proven, rows], is_cut_short } = repair;
    writeln!(out, "with {} {proven} of {rows} rows are proven:", quantity(guards.len(), "guard"))?;
    let text = program.to_string();
    if guards.len() > FEW {
        tell_many(guards, sources, out)?;
    } else {
        tell_each(guards, &text, sources, out)?;
    }
    if guards.len() > FEW && *proven == *rows {
        writeln!(out, "  for fewer, of left-out roundings alone: --permit rounding --repair")?;
    }
    if *is_cut_short {
        writeln!(out, "time ended before every set of guards was explored: fewer may do; --seconds gives more time")?;
    }
    Ok(())
}

/// Many guards: the function that all of them call, once, and below it a line for each value with its place in the source.
fn tell_many(guards: &[Guard], sources: Option<&Sources>, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "  in JAX:")?;
    writeln!(out, "    def guard(x):")?;
    writeln!(out, "        return jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)")?;
    writeln!(out, "  and `x = guard(x)` behind each of these values:")?;
    for guard in guards {
        let within = if guard.within.is_empty() { "" } else { &format!("of {guard}: ") };
        writeln!(out, "    {within}{}{}", guard.definition, origin_in_brackets(sources, &guard.value))?;
    }
    Ok(())
}

/// Each guard as it stands in HLO, and as a line of JAX.
fn tell_each(guards: &[Guard], text: &str, sources: Option<&Sources>, out: &mut dyn Write) -> Result<(), Failure> {
    for guard in guards {
        let value = &guard.value;
        let line = text.lines().find(|line| line.trim_start().starts_with(&format!("{value}.guarded = ")));
        let within = if guard.within.is_empty() { "" } else { &format!("of {guard}: ") };
        // A value of a call stands under another name in the text.
        let short = format!("{value}.guarded = reduce-precision({value}), exponent_bits=8, mantissa_bits=7");
        writeln!(out, "  {within}{}", line.unwrap_or(&short).trim())?;
        let jax = "x = jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)";
        let origin = origin_in_brackets(sources, value);
        writeln!(out, "  in JAX, where x is {}{origin}: {jax}", guard.definition)?;
    }
    Ok(())
}

/// The reason why no counterexample is written.
fn tell_no_counterexample(is_reachable: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let why = match is_reachable {
        true => "no program that was tried flips as the witnesses do",
        false => "no row is reachable",
    };
    Ok(writeln!(out, "no counterexample: {why}")?)
}

/// The reason why no guards are given, and what can be tried instead.
fn tell_no_repair(why: NoRepair, families: &[&Family], is_reachable: bool, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "no repair: {why}")?;
    let is_of_roundings = |family: &&Family| family.name == "rounding";
    let next = match why {
        NoRepair::OutOfTime => {
            "Next: a larger --seconds, fewer rows, or --choices 0, which leaves all the time to proofs."
        }
        _ if !is_reachable => {
            "Next: no choice that was tried flips a row, and no proof was found. `explore` ends here; --margins says how close each row \
             is, and `hlo diff` and `port` judge what a compiler really made."
        }
        _ if !families.iter().all(is_of_roundings) => {
            "Next: choices that no guard forbids flip the row too (orders, algebra, functions): --permit rounding --repair asks of \
             left-out roundings alone. A quotient by a constant c that is told as a product with the reciprocal is written as one: \
             x * jnp.bfloat16(1 / c). Against the others only values that lie farther apart help: compute those that the rows \
             above name in f32, dots at precision highest; --margins says how close each row is."
        }
        _ => {
            "Next: compute the values that the rows above name in f32 to the end, or let the decision take a margin; --margins says \
             how close each row is."
        }
    };
    wrap(next, "    ", out)
}

/// The file, where it is one, the program and its arguments.
fn problem(arguments: &ExploreArguments) -> Result<(Option<Module>, Program, Vec<Tensor>), Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{}: {why}", arguments.program));
    let (module, program) = if is_file(&arguments.program) {
        let (module, import) = read(Path::new(&arguments.program))?;
        if module.is_compiled() {
            return Err(fail(&"it is compiled already: what a compiler may choose is seen before compilation"));
        }
        if let Some(given) = &arguments.inputs {
            let tensors = inputs(given, &import)?;
            return Ok((Some(module), import.program, tensors));
        }
        (Some(module), import.program)
    } else {
        let spec: ProgramSpec = arguments.program.parse().map_err(|error| fail(&error))?;
        (None, spec.build(arguments.size, spec.rows).map_err(|error| fail(&error))?)
    };
    if arguments.inputs.is_some() {
        return Err(fail(&"--inputs is for files; a built-in program takes --input, --n and --seed"));
    }
    let key = InputKey {
        suite: "explore".to_string(),
        input: arguments.input.to_string(),
        n: arguments.size as u64,
        seed: arguments.seed,
    };
    check_memory(&program, World::Machine).map_err(|error| fail(&error))?;
    let taken = Argument::of_program(&program);
    let rows = taken.first().map_or(0, Argument::rows) as u64;
    let tensors = generate(&arguments.input, &key, &taken, 0..rows).map_err(|error| fail(&error))?;
    Ok((module, program, tensors))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many guards are one function and a line for each value, to be pasted and typed; few have each their own line of JAX.
    #[test]
    fn many_guards_are_one_function() {
        let told = |count: usize| {
            let text = "HloModule m\nENTRY e {\n  x = bf16[4] parameter(0)\n  ROOT y = bf16[4] add(x, x)\n}\n";
            let program = ulpgate_front::hlo::lower(&ulpgate_front::hlo::parse(text).unwrap()).unwrap().program;
            let guard = |at: usize| Guard {
                value: format!("v{at}"),
                definition: format!("v{at} = exponential(x)"),
                within: if at == 1 { vec!["loop".to_string()] } else { Vec::new() },
            };
            let guards = (0..count).map(guard).collect();
            let mut out = Vec::new();
            let repair = Repair { guards, program, proven: [8, 8], is_cut_short: false };
            assert!(tell_repair(&repair, None, &mut out).is_ok());
            String::from_utf8(out).unwrap()
        };
        let (few, many) = (told(FEW), told(FEW + 1));
        assert_eq!(few.matches("jax.lax.reduce_precision(x,").count(), FEW, "{few}");
        assert_eq!(many.matches("jax.lax.reduce_precision(x,").count(), 1, "{many}");
        assert!(
            many.contains("    def guard(x):\n        return jax.lax.reduce_precision(x, exponent_bits=8"),
            "{many}"
        );
        assert!(
            many.contains("\n    v0 = exponential(x)\n    of v1 in the body of loop: v1 = exponential(x)\n"),
            "{many}"
        );
        assert!(many.contains("for fewer, of left-out roundings alone"), "{many}");
    }

    /// The advice against a flip is for rows that flip.
    #[test]
    fn open_rows_are_not_said_to_flip() {
        let told = |is_reachable: bool| {
            let mut out = Vec::new();
            assert!(
                tell_no_repair(NoRepair::ProvesNoMore, &default_families().collect::<Vec<_>>(), is_reachable, &mut out)
                    .is_ok()
            );
            String::from_utf8(out).unwrap().replace("\n    ", " ")
        };
        assert!(told(true).contains("flip the row too") && !told(true).contains("ends here"), "{}", told(true));
        assert!(told(false).contains("no choice that was tried flips a row"), "{}", told(false));
        assert!(!told(false).contains("flip the row too"), "{}", told(false));
    }

    #[test]
    fn guards_get_half_of_the_time() {
        assert_eq!(
            [seconds_of_search(60, true), seconds_of_search(1, true), seconds_of_search(60, false)],
            [30, 1, 60]
        );
    }
}
