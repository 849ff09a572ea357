//! `ulpgate hlo`: programs as HLO text. One file a subcommand.

mod diff;

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};

use crate::hlo::{Import, lower, parse};

use super::{Exit, Failure};

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List what a compiler or a flag changed in a program's precision
    Diff(diff::Arguments),
}

/// Runs the subcommand.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Diff(arguments) => diff::run(arguments, out),
    }
}

/// A file of HLO text as a program.
fn import(path: &Path) -> Result<Import, Failure> {
    let at = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| format!("failed to read {at}: {e}"))?;
    let module = parse(&text).map_err(|e| format!("{at}: {e}"))?;
    Ok(lower(&module).map_err(|e| format!("{at}:{e}"))?)
}
