//! `ulpgate hlo`: what can be done with an HLO file.

mod show;

use std::io::Write;

use clap::Subcommand;

use super::{Exit, Failure};

#[derive(Subcommand)]
pub enum Command {
    /// The precision flow: each float operation, its dtype, where it is rounded, who sees it, what may be elided
    Show(show::Arguments),
}

pub fn run(command: &Command, out: &mut dyn Write) -> Result<Exit, Failure> {
    match command {
        Command::Show(arguments) => show::run(arguments, out),
    }
}
