//! `ulpgate hlo show`: the precision flow of an HLO file.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use ulpgate_front::flow;
use ulpgate_front::machine::Mode;

use super::{Exit, Failure, read_with_opaque};

#[derive(Args)]
pub struct HloShowArguments {
    /// HLO text, before or after optimization
    file: PathBuf,
    #[arg(long, help = mode_help())]
    mode: Option<String>,
    /// Print as JSON
    #[arg(long, conflicts_with = "dot")]
    pub(super) json: bool,
    /// Print as a drawing for Graphviz, coloured by precision
    #[arg(long)]
    pub(super) dot: bool,
    /// Values that only move or convert as well
    #[arg(long)]
    all: bool,
}

/// The help of `--mode`, which lists the modes that this build asks.
fn mode_help() -> String {
    let asked = flow::compilers(None, false).unwrap_or_default();
    let asked: Vec<String> = asked.iter().map(Mode::to_string).collect();
    let asked = asked.join(", ");
    format!(
        "Compiler to ask for its elisions (chip/precision/excess); without it, for a file that is not compiled yet: {asked}"
    )
}

pub fn run(arguments: &HloShowArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let (module, import) = read_with_opaque(&arguments.file)?;
    let compiled = module.is_compiled();
    let modes = flow::compilers(arguments.mode.as_deref(), compiled).map_err(|e| e.to_string())?;
    let flow = flow::flow(&import, compiled, &modes);
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&flow).map_err(|e| e.to_string())?)?;
    } else if arguments.dot {
        write!(out, "{}", flow::dot(&flow, arguments.all))?;
    } else {
        write!(out, "{}", flow::text(&flow, arguments.all))?;
    }
    Ok(Exit::AsExpected)
}
