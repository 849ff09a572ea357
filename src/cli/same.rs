//! `ulpgate same`: whether two programs give the same bits for all inputs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use ulpgate_front::file::safetensors;
use ulpgate_front::hlo::{Import, lower_with_libraries, lower_with_opaque};
use ulpgate_front::machine::Mode;
use ulpgate_front::name::printable;
use ulpgate_front::same::{Answer, Assumption, Parting, Settings, Verdict, compare};
use ulpgate_front::tensor::Tensor;

use super::folder_pair::{FolderPair, Outcome};
use super::hlo::{self, mode_help};
use super::summary::shell_word;
use super::{Exit, Failure, check_tensors_target};

#[derive(Args)]
#[command(
    after_help = "PROVEN THE SAME: equal bits for all inputs, up to steps that cannot change a bit (layout, moves, \
    fusion, commuted operands, dead code, rows that nothing mixes), on the machine of --mode and resting on what is \
    listed. PART: the first values that part, and an input for which the machine gives other bits. OPEN: neither, and \
    what is missing.\n\n\
    Where arguments differ in extents, as 8 rows and 64, the smaller program is held against each of the larger one's \
    blocks of rows. Of two folders, files of one name are compared.\n\n\
    A cut of K in the plan of a compiled matmul may change bits or not: where MODE names no acc, both models must agree.\n\n\
    Assumptions: prefix (where extents differ, only the beginnings count), one-zero (-0 and +0 are one number, and no \
    step tells them apart).\n\n\
    Exit codes: 0 the same; 1 they part; 2 open, or could not judge (bad file, arguments of other kinds, an unsupported \
    operation)."
)]
pub struct SameArguments {
    /// A program, as HLO text, or a folder of them
    one: PathBuf,
    /// Another one
    other: PathBuf,
    #[arg(long, value_name = "MODE", help = mode_help())]
    mode: Option<Mode>,
    /// Machine of the second program, if it is another one
    #[arg(long, value_name = "MODE")]
    other_mode: Option<Mode>,
    /// Assumption to take for granted: prefix, one-zero; may be given several times
    #[arg(long = "assume", value_name = "WHAT", value_parser = assumption)]
    assumptions: Vec<Assumption>,
    /// Inputs to try at most where the programs are not proven the same [default: as many as --seconds allows]
    #[arg(long, value_name = "N")]
    trials: Option<u64>,
    /// Seconds that it may take at most, following the programs included [default: 5 to try inputs for, and no limit for following]
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// File for the input that parts them, by the names that `hlo diff --inputs` takes; with a. and b. before them where the two
    /// programs take other arguments
    #[arg(long, value_name = "OUT.safetensors")]
    witness: Option<PathBuf>,
    /// Print the verdict as JSON
    #[arg(long)]
    pub(super) json: bool,
}

fn assumption(name: &str) -> Result<Assumption, String> {
    let names = || Assumption::ALL.iter().map(|assumption| assumption.name());
    let found = Assumption::ALL.iter().copied().find(|assumption| assumption.name() == name);
    found.ok_or_else(|| format!("unknown assumption `{name}`; {}", ulpgate_front::name::hint(name, names())))
}

/// Prints a verdict, or one a pair of files.
pub fn run(arguments: &SameArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let read = [&arguments.one, &arguments.other].map(PathBuf::clone);
    arguments.witness.iter().try_for_each(|path| check_tensors_target(path, read.clone()))?;
    let Some(pair) = FolderPair::of(&arguments.one, &arguments.other)? else {
        let paths = [arguments.one.as_path(), &arguments.other];
        let modes = modes(arguments, paths)?;
        let answer = judge(arguments, paths, &modes)?;
        write_answer(arguments, paths, &modes, &answer, out)?;
        return exit(&answer);
    };
    pair.judge(["the same", "part"], out, |one, other, out| {
        let modes = modes(arguments, [one, other])?;
        let answer = judge(arguments, [one, other], &modes)?;
        write_answer(arguments, [one, other], &modes, &answer, out)?;
        Ok(match answer.verdict {
            Verdict::Same => Outcome::Same,
            Verdict::Part(_) => Outcome::Differs,
            // Its lines say what is missing.
            Verdict::Open(_) => Outcome::Open,
        })
    })
}

fn exit(answer: &Answer) -> Result<Exit, Failure> {
    match &answer.verdict {
        Verdict::Same => Ok(Exit::AsExpected),
        Verdict::Part(_) => Ok(Exit::Found),
        // What is missing stands in the answer.
        Verdict::Open(_) => Err(Failure::Message("neither proven the same nor seen to part".to_string())),
    }
}

/// The machine of each program: those that were asked for, else the one that their paths say.
fn modes(arguments: &SameArguments, paths: [&Path; 2]) -> Result<[Mode; 2], Failure> {
    let mode = hlo::mode_or_that_of_paths(arguments.mode.as_ref(), paths)?;
    let other = arguments.other_mode.clone().unwrap_or_else(|| mode.clone());
    Ok([mode, other])
}

fn judge(arguments: &SameArguments, [one, other]: [&Path; 2], modes: &[Mode; 2]) -> Result<Answer, Failure> {
    let (one, other) = (read(one)?, read(other)?);
    let answer =
        compare(&one, &other, &settings(arguments, modes)).map_err(|error| Failure::Message(error.to_string()))?;
    if let (Some(path), Verdict::Part(parting)) = (&arguments.witness, &answer.verdict) {
        write_witness(path, [&one, &other], parting)?;
    }
    Ok(answer)
}

/// Seconds that inputs are tried for, unless others are asked for.
const PATIENCE: u64 = 5;

/// Settings of the comparison. Results of few bits show a difference in one of thousands of inputs, so that time alone ends the search
/// unless a number of inputs is asked for.
fn settings(arguments: &SameArguments, modes: &[Mode; 2]) -> Settings {
    Settings {
        modes: modes.clone(),
        assumptions: arguments.assumptions.clone(),
        trials: arguments.trials.unwrap_or(u64::MAX),
        elements: 0,
        patience: Duration::from_secs(arguments.seconds.unwrap_or(PATIENCE)),
        limit: arguments.seconds.map(Duration::from_secs),
        ..Settings::new(&modes[0])
    }
}

/// A program to be followed. An instruction without a meaning is a function of its operands.
fn read(path: &Path) -> Result<Import, Failure> {
    let lower = |module: &_| match lower_with_libraries(module) {
        Err(error) if error.is_unknown => lower_with_opaque(module),
        result => result,
    };
    hlo::read_by(path, lower).map(|(_, import)| import)
}

fn write_witness(path: &Path, imports: [&Import; 2], parting: &Parting) -> Result<(), Failure> {
    let named = |side: usize| -> Vec<(String, Tensor)> {
        let name = |at: usize| imports[side].argument_names.get(at).cloned().unwrap_or(format!("arg{at}"));
        parting.inputs[side].iter().enumerate().map(|(at, tensor)| (name(at), tensor.clone())).collect()
    };
    let [one, other] = [named(0), named(1)];
    let tensors: Vec<(String, Tensor)> = if one == other {
        one
    } else {
        let of = |side: &str, named: Vec<(String, Tensor)>| {
            named.into_iter().map(move |(name, tensor)| (format!("{side}.{name}"), tensor)).collect::<Vec<_>>()
        };
        [of("a", one), of("b", other)].concat()
    };
    safetensors::write(path, &tensors).map_err(|error| Failure::Message(error.to_string()))
}

/// The command that tells more of two files that are neither proven the same nor seen to part.
fn next_step(arguments: &SameArguments, paths: [&Path; 2], modes: &[Mode; 2]) -> String {
    let seconds = arguments.seconds.unwrap_or(PATIENCE).saturating_mul(10).max(60);
    format!("{}; or try more inputs: --seconds {seconds}", next_diff(paths, modes, None, "what that does to results"))
}

/// The command that says what a difference does to tokens.
fn next_of_parting(arguments: &SameArguments, paths: [&Path; 2], modes: &[Mode; 2]) -> String {
    next_diff(paths, modes, arguments.witness.as_deref(), "the tokens that change")
}

/// The comparison of two programs, and what it tells of runs on given inputs, for which alone it takes a machine.
fn next_diff([one, other]: [&Path; 2], modes: &[Mode; 2], inputs: Option<&Path>, told: &str) -> String {
    let shown = |path: &Path| shell_word(&path.to_string_lossy());
    let [one, other] = [one, other].map(shown);
    let inputs = inputs.map_or("IN.safetensors".to_string(), shown);
    let asked = hlo::mode_flags([Some(&modes[0]), Some(&modes[1]).filter(|other| **other != modes[0])]);
    format!(
        "`ulpgate hlo diff {one} {other}` names each operation that changed, and with --inputs {inputs}{asked} it says {told}"
    )
}

/// The place where the input that parts them is written, or the flag that writes it.
fn place_of_witness(arguments: &SameArguments) -> String {
    arguments
        .witness
        .as_ref()
        .map_or("--witness writes it".to_string(), |path| format!("written to {}", printable(&path.to_string_lossy())))
}

fn write_answer(
    arguments: &SameArguments,
    paths: [&Path; 2],
    modes: &[Mode; 2],
    answer: &Answer,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Answer { verdict, compared, rests_on, tried } = answer;
    if arguments.json {
        let shown = |shown: &ulpgate_front::same::Shown| {
            let bits = shown.bits.map(|bits| format!("0x{bits:x}"));
            json!({"what": shown.what, "dtype": shown.dtype.name(), "index": shown.index, "bits": bits})
        };
        let mut value = json!({"compared": compared, "rests_on": rests_on, "inputs_tried": tried});
        match verdict {
            Verdict::Same => value["verdict"] = json!("same"),
            Verdict::Part(parting) => {
                value["next"] = json!(next_of_parting(arguments, paths, modes));
                value["verdict"] = json!("part");
                value["at"] = json!(parting.meeting.as_ref().map(ToString::to_string));
                value["value"] = json!(parting.value.as_ref().map(shown));
                value["result"] = shown(&parting.result);
            }
            Verdict::Open(missing) => {
                value["verdict"] = json!("open");
                value["missing"] = json!(missing);
                value["next"] = json!(next_step(arguments, paths, modes));
            }
        }
        writeln!(out, "{value:#}")?;
        return Ok(());
    }
    match verdict {
        Verdict::Same => writeln!(out, "PROVEN THE SAME for all inputs")?,
        Verdict::Part(parting) => {
            writeln!(out, "PART")?;
            if let Some(meeting) = &parting.meeting {
                writeln!(out, "  at     {meeting}")?;
            }
            if let Some(value) = &parting.value {
                writeln!(out, "  value  {value}")?;
            }
            writeln!(out, "  result {}", parting.result)?;
            writeln!(out, "  found by input {tried}; {}", place_of_witness(arguments))?;
            writeln!(out, "  next: {}", next_of_parting(arguments, paths, modes))?;
        }
        Verdict::Open(missing) => {
            writeln!(out, "OPEN")?;
            for one in missing {
                writeln!(out, "  missing: {one}")?;
            }
            writeln!(out, "  next: {}", next_step(arguments, paths, modes))?;
        }
    }
    for one in compared {
        writeln!(out, "  compared: {one}")?;
    }
    if matches!(verdict, Verdict::Same) {
        match modes {
            [mode, other] if mode != other => writeln!(out, "  rests on: the emulated machines {mode} and {other}")?,
            [mode, _] => writeln!(out, "  rests on: the emulated machine {mode}")?,
        }
        for one in rests_on {
            writeln!(out, "  rests on: {one}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: SameArguments,
    }

    /// The next command of an open pair names more seconds: they must be what ends a search.
    #[test]
    fn time_alone_ends_a_search_without_a_number_of_inputs() {
        let mode: Mode = "v5e/default/as-compiled".parse().unwrap();
        let of = |more: &[&str]| {
            let line = Line::try_parse_from([&["same", "a.hlo", "b.hlo"], more].concat()).ok().unwrap();
            let settings = settings(&line.arguments, &[mode.clone(), mode.clone()]);
            (settings.trials, settings.elements, settings.patience, settings.limit)
        };
        let seven = Duration::from_secs(7);
        assert_eq!(of(&["--seconds", "7"]), (u64::MAX, 0, seven, Some(seven)));
        assert_eq!(of(&["--trials", "9"]), (9, 0, Duration::from_secs(5), None));
    }
}
