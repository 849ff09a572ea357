//! `ulpgate init`: the first files of a repository, a suite of its own that runs unchanged.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Exit, Failure, write_file};

#[derive(Args)]
pub struct InitArguments {
    /// Root of the repository
    #[arg(default_value = ".")]
    folder: PathBuf,
}

/// The files, by their paths in the repository.
const FILES: &[(&str, &str)] = &[
    ("suites/sampler.toml", include_str!("init_files/sampler.toml")),
    ("programs/keep_max.py", include_str!("init_files/keep_max.py")),
    ("programs/keep_max.before.hlo", include_str!("init_files/keep_max.before.hlo")),
    ("programs/keep_max.excess_off.hlo", include_str!("init_files/keep_max.excess_off.hlo")),
    ("programs/keep_max.excess_on.hlo", include_str!("init_files/keep_max.excess_on.hlo")),
    (".github/workflows/ulpgate.yml", include_str!("init_files/ulpgate.yml")),
];

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
        write_file(&path, text)?;
        writeln!(out, "{}", path.display())?;
    }
    writeln!(
        out,
        "\nNext:\n  ulpgate run            # evaluates, and writes reports/\n  ulpgate explain sampler\n  git add suites \
         programs reports .github\nThen `ulpgate gate` is red for any change that nobody accepted with `ulpgate gate --bless`."
    )?;
    Ok(Exit::AsExpected)
}
