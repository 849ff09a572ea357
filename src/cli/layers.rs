//! `ulpgate layers`: two recordings of one model's intermediate values.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use ulpgate_front::file::{read_whole, repeated_name};
use ulpgate_front::judge::{Recording, Verdict, bind};
use ulpgate_front::layers::{Settings, layers};
use ulpgate_front::machine::Mode;

use super::judge::{NamedChip, chip, pair};
use super::program_argument::{NamedProgram, named_program};
use super::seconds::Limit;
use super::{Exit, Failure};

#[derive(Args)]
#[command(
    after_help = "A layer is a recorded value. It is computed again from the recorded values before it, and is OUTSIDE if it errs by more \
    than the roundings in between explain. So a fault is named where it is made. Columns: the drift of the two recordings; the \
    drift that their inputs bring; the drift that roundings explain; and of each recording `bits` (the bits of a mode), or its \
    error over the explained one.\n\n\
    An array is found by the name of a result (out0, ...) or of an instruction of the program's entry, or by --map.\n\n\
    Exit codes: 0 all layers are bits or conforming; 1 a layer is outside; 2 a layer is unknown, or nothing could be judged."
)]
pub struct LayersArguments {
    /// Intermediate values of one framework or compiler: .safetensors, .npz or .npy
    a: PathBuf,
    /// Those of the other
    b: PathBuf,
    /// The program that both are of: HLO text before compilation, or a built-in one
    #[arg(long, value_name = "PROGRAM")]
    program: String,
    /// Its arguments: arg0, arg1, ..., or by their names, such as weights; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Size of a built-in program
    #[arg(long = "n", value_name = "N", default_value_t = 1024)]
    size: usize,
    /// The result or instruction that an array is, or a JSON file of such pairs; may be given several times
    #[arg(long = "map", value_name = "NAME=INSTRUCTION|FILE.json")]
    mapping: Vec<String>,
    /// The mode that both recordings are said to be of, as chip/precision/excess[+key=value...] [default: the most accurate
    /// precision in which at least half of the layers are honest]
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// The mode of A alone
    #[arg(long, value_name = "MODE", conflicts_with = "mode")]
    mode_a: Option<Mode>,
    /// The mode of B alone
    #[arg(long, value_name = "MODE", conflicts_with = "mode")]
    mode_b: Option<Mode>,
    /// A chip whose modes are tried where none is named; may be given several times [default: cpu and v5e]
    #[arg(long = "chip", value_name = "CHIP", value_parser = chip)]
    chips: Vec<NamedChip>,
    /// Print as JSON; docs/schema/layers.json has its schema
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
}

pub fn run(arguments: &LayersArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::Message(why.to_string());
    let NamedProgram { program, argument_names, is_compiled } = named_program(&arguments.program, arguments.size)?;
    if is_compiled {
        let told = "it is compiled already: --program takes the program before compilation";
        return Err(Failure::Message(format!("{}: {told}", arguments.program)));
    }
    let open = |path: &PathBuf| Recording::open(path).map_err(|error| fail(&error));
    let inputs: Vec<Recording> = arguments.inputs.iter().map(open).collect::<Result<_, _>>()?;
    let tensors = bind(&program, &argument_names, &inputs).map_err(|error| fail(&error))?;
    let (a, b) = (open(&arguments.a)?, open(&arguments.b)?);
    let mut mapping: Vec<(String, String)> = Vec::new();
    for text in &arguments.mapping {
        for (name, value) in mapped(text)? {
            if mapping.iter().any(|(other, _)| *other == name) {
                return Err(Failure::Message(format!("--map {name} is given twice")));
            }
            mapping.push((name, value));
        }
    }
    let of = |own: &Option<Mode>| own.clone().or_else(|| arguments.mode.clone());
    let settings = Settings {
        modes: [of(&arguments.mode_a), of(&arguments.mode_b)],
        chips: arguments.chips.iter().map(|chip| chip.0).collect(),
        mapping,
    };
    let judged = layers(&program, &tensors, [&a, &b], &settings).map_err(|error| fail(&error))?;
    if arguments.json {
        let page = judged.to_json(&arguments.program);
        writeln!(out, "{}", serde_json::to_string_pretty(&page).map_err(|error| fail(&error))?)?;
    } else {
        judged.lines().iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    match judged.verdict() {
        Verdict::Bits | Verdict::Conforming => Ok(Exit::AsExpected),
        Verdict::Outside => Ok(Exit::Found),
        Verdict::Unknown => {
            let is_open = |layer: &&ulpgate_front::layers::Layer| {
                [&layer.a, &layer.b].into_iter().flatten().any(|side| side.verdict == Verdict::Unknown)
            };
            let open: Vec<&str> = judged.layers.iter().filter(is_open).map(|layer| layer.name.as_str()).collect();
            Err(Failure::Message(format!("not judged: {}", open.join(", "))))
        }
    }
}

/// The pairs of `NAME=INSTRUCTION`, or of a file of JSON whose names have instructions.
fn mapped(text: &str) -> Result<Vec<(String, String)>, Failure> {
    if !text.ends_with(".json") {
        return pair(text).map(|pair| vec![pair]).map_err(|why| Failure::Message(format!("--map {text}: {why}")));
    }
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("--map {text}: {why}"));
    let bytes = read_whole(Path::new(text)).map_err(|error| fail(&format!("failed to read it: {error}")))?;
    let pairs: std::collections::BTreeMap<String, String> =
        serde_json::from_slice(&bytes).map_err(|error| fail(&format!("it is no object of names: {error}")))?;
    if let Some(name) = repeated_name(&bytes) {
        return Err(fail(&format!("it names {name:?} twice")));
    }
    Ok(pairs.into_iter().collect())
}
