//! `ulpgate init`: the first files of a repository, a suite of its own that runs unchanged.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::summary::shell_word;
use super::{Exit, Failure, write_file};

#[derive(Args)]
pub struct InitArguments {
    /// Root of the repository
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Repository of ulpgate on GitHub that the workflow takes it from [default: the variables ULPGATE_REPOSITORY and ULPGATE_REF
    /// of your repository]
    #[arg(long, value_name = "OWNER/NAME", value_parser = repository)]
    repository: Option<String>,
    /// Tag or commit of it; the tag of a release needs no build
    #[arg(long, value_name = "REF", requires = "repository", default_value = "main", hide_default_value = true)]
    at: String,
}

/// The files, by their paths in the repository.
const FILES: &[(&str, &str)] = &[
    ("suites/sampler.toml", include_str!("init_files/sampler.toml")),
    ("programs/keep_max.py", include_str!("init_files/keep_max.py")),
    ("programs/keep_max.before.hlo", include_str!("init_files/keep_max.before.hlo")),
    ("programs/keep_max.excess_off.hlo", include_str!("init_files/keep_max.excess_off.hlo")),
    ("programs/keep_max.excess_on.hlo", include_str!("init_files/keep_max.excess_on.hlo")),
    (WORKFLOW, include_str!("init_files/ulpgate.yml")),
    // Beside the reports, so that nobody's own file is changed.
    ("reports/.gitignore", include_str!("init_files/gitignore")),
];

const WORKFLOW: &str = ".github/workflows/ulpgate.yml";

/// The places of the workflow that name ulpgate's own repository, and a state of it.
const ADDRESS: [&str; 2] = ["${{ vars.ULPGATE_REPOSITORY }}", "${{ vars.ULPGATE_REF }}"];

/// The repository as `OWNER/NAME`.
fn repository(text: &str) -> Result<String, String> {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    match text.split_once('/') {
        Some((owner, name)) if is_name(owner) && is_name(name) => Ok(text.to_string()),
        _ => Err("it is no OWNER/NAME, such as me/ulpgate".to_string()),
    }
}

/// Writes the files, or none if one of them is there.
pub fn run(arguments: &InitArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let at = |name: &str| arguments.folder.join(name);
    // A link is there, wherever it leads.
    let is_there = |name: &&str| std::fs::symlink_metadata(at(name)).is_ok();
    let there: Vec<&str> = FILES.iter().map(|(name, _)| *name).filter(is_there).collect();
    if !there.is_empty() {
        return Err(Failure::Message(format!(
            "{} is there already, and nothing was written: move it away, or give another folder",
            there.join(", ")
        )));
    }
    // Folders first: where one cannot be made, no file is written.
    for (name, _) in FILES {
        let path = at(name);
        let parent = path.parent().unwrap_or(Path::new("."));
        let fail = |error| Failure::Message(format!("failed to make {}: {error}", parent.display()));
        std::fs::create_dir_all(parent).map_err(fail)?;
    }
    for (name, text) in FILES {
        let path = at(name);
        let named = arguments.repository.as_ref().filter(|_| *name == WORKFLOW);
        let text = named.map_or(text.to_string(), |repository| {
            text.replace(ADDRESS[0], repository).replace(ADDRESS[1], &arguments.at)
        });
        write_file(&path, &text)?;
        writeln!(out, "{}", path.display())?;
    }
    let folder = match arguments.folder.as_path() {
        here if here == Path::new(".") => String::new(),
        folder => format!("\n  cd {}", shell_word(&folder.display().to_string())),
    };
    writeln!(
        out,
        "\nNext:{folder}\n  ulpgate run            # evaluates, and writes reports/\n  ulpgate explain sampler\n  git add suites \
         programs reports .github\nThen `ulpgate gate` is red for any change that nobody accepted with `ulpgate gate --bless`."
    )?;
    if arguments.repository.is_none() {
        writeln!(
            out,
            "{WORKFLOW} takes ulpgate from its own repository: set the variable\nULPGATE_REPOSITORY of your repository \
             on GitHub to its OWNER/NAME, or begin with\n`ulpgate init --repository OWNER/NAME --at TAG`."
        )?;
    }
    Ok(Exit::AsExpected)
}
