//! The machine that dumps were compiled for, as their paths say it.

use std::path::Path;

use ulpgate_front::machine::{EmulatedCompiler, Mode, chip_of_dumps, emulated_compilers};

use super::super::Failure;
use super::super::summary::shell_word;

/// The machine that both files of a pair run on where neither a flag nor both paths say another.
const DEFAULT_MODE: &str = "v5e/default/as-compiled";

/// The machine of a pair: the one that was asked for, else the one for which both files were compiled by their paths, else v5e. A
/// folder `tpu` may be anyone's: what is no chip below it says nothing.
pub(crate) fn mode_or_that_of_paths(asked: Option<&Mode>, paths: [&Path; 2]) -> Result<Mode, Failure> {
    if let Some(mode) = asked {
        return Ok(mode.clone());
    }
    match mode_of_paths(paths) {
        Some(mode) => Ok(mode),
        None => DEFAULT_MODE.parse().map_err(|error| Failure::Message(format!("{DEFAULT_MODE}: {error}"))),
    }
}

/// The machine that both paths of two files say; `None` where one says nothing or another.
pub(crate) fn mode_of_paths(paths: [&Path; 2]) -> Option<Mode> {
    match paths.map(|path| mode_of(path).ok().flatten()) {
        [Some(one), Some(other)] if one == other => Some(one),
        _ => None,
    }
}

/// The flags that ask for the machines of both programs, each behind a space; nothing for one that is not asked for.
pub(crate) fn mode_flags(modes: [Option<&Mode>; 2]) -> String {
    let flags = ["--mode", "--other-mode"].into_iter().zip(modes);
    flags.filter_map(|(flag, mode)| mode.map(|mode| format!(" {flag} {}", shell_word(&mode.to_string())))).collect()
}

/// The help of `--mode`, which lists the folders of the compilers that this build emulates.
pub(crate) fn mode_help() -> String {
    let below = |compiler: EmulatedCompiler| {
        format!(", and {}/default/as-compiled below {}", compiler.off.chip.name, compiler.dump_folder)
    };
    let below: String = emulated_compilers().into_iter().map(below).collect();
    format!(
        "Machine to run them on, as chip/precision/excess[+key=value...] [default: {DEFAULT_MODE}; of two files below \
         tpu/CHIP its CHIP/default/as-compiled{below}]"
    )
}

/// The machine that a file of a folder was compiled for, by its path there, as `scripts/dump_hlo.py` lays files out;
/// `None` where the path does not say.
pub(super) fn mode_of(path: &Path) -> Result<Option<Mode>, Failure> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let folders: Vec<&str> = parent.iter().filter_map(|part| part.to_str()).collect();
    let mode = |chip: &str| format!("{chip}/default/as-compiled").parse::<Mode>();
    // The innermost folder that names one: folders of one's own around it may be called tpu as well.
    let below_tpu = |at: usize| at.checked_sub(1).is_some_and(|outer| folders[outer] == "tpu");
    let known = folders.iter().enumerate().rev().find_map(|(at, folder)| match chip_of_dumps(folder) {
        Some(chip) => mode(chip).ok(),
        None => below_tpu(at).then(|| mode(folder).ok()).flatten(),
    });
    let unknown = folders.iter().position(|folder| *folder == "tpu").and_then(|at| folders.get(at + 1));
    let (None, Some(chip)) = (&known, unknown) else { return Ok(known) };
    mode(chip)
        .map(Some)
        .map_err(|error| Failure::Message(format!("{} says no machine ({error}); --mode does", parent.display())))
}
