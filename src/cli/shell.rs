//! `ulpgate completions` and `ulpgate man`: files for a shell and for the system's manual, made of the command line's own help.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{CliArguments, Exit, Failure, write_file};

/// The name of the program in both.
const NAME: &str = "ulpgate";

#[derive(Args)]
#[command(after_help = "Bash: ulpgate completions bash > ~/.local/share/bash-completion/completions/ulpgate\n\
    Zsh: ulpgate completions zsh > a file _ulpgate in a folder of $fpath\n\
    Fish: ulpgate completions fish > ~/.config/fish/completions/ulpgate.fish")]
pub struct CompletionsArguments {
    /// Shell that completes
    shell: Shell,
}

#[derive(Args)]
#[command(after_help = "ulpgate man > ulpgate.1 && man ./ulpgate.1")]
pub struct ManArguments {
    /// Folder for the pages of all commands: ulpgate.1, ulpgate-run.1, ...
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the script that completes commands, options and their values.
pub fn completions(arguments: &CompletionsArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut CliArguments::command(), NAME, &mut script);
    out.write_all(&script)?;
    Ok(Exit::AsExpected)
}

/// Prints the page of the program, or writes a page for each command.
pub fn man(arguments: &ManArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut command = CliArguments::command();
    command.build();
    let Some(folder) = &arguments.out else {
        out.write_all(&page(command)?)?;
        return Ok(Exit::AsExpected);
    };
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::Message(format!("failed to make {}: {error}", folder.display())))?;
    let mut open = vec![(NAME.to_string(), command)];
    while let Some((name, command)) = open.pop() {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        open.extend(below.map(|below| (format!("{name}-{}", below.get_name()), below.clone())));
        let path = folder.join(format!("{name}.1"));
        let text = page(command)?;
        write_file(&path, &String::from_utf8_lossy(&text))?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(Exit::AsExpected)
}

/// A page in roff.
fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(text)
}
