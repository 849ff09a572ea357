//! The command that follows a red `hlo diff`.

use std::io::Write;
use std::path::Path;

use crate::machine::Mode;

use super::super::Failure;
use super::super::summary::{shell_word, wrap};

/// A comparison that found something.
pub struct Compared<'a> {
    /// The program as it was, or a folder.
    pub before: &'a Path,
    /// The program as it is now, or a folder.
    pub after: &'a Path,
    /// The arguments that both ran on.
    pub inputs: Option<&'a Path>,
    /// The list of accepted changes.
    pub accept: Option<&'a Path>,
    /// The machine, where one was named.
    pub mode: Option<&'a Mode>,
    /// Whether the results of these inputs are equal bit for bit.
    pub is_equal: bool,
}

impl Compared<'_> {
    /// The sentence that names the next command.
    pub fn next(&self) -> String {
        let shown = |path: &Path| shell_word(&path.display().to_string());
        let (before, after) = (shown(self.before), shown(self.after));
        let mode = self.mode.map(|mode| format!(" --mode {}", shell_word(&mode.to_string()))).unwrap_or_default();
        if self.accept.is_some() {
            return "Next: `ulpgate same` says whether a change shows in any bit; the same command with --bless accepts what \
                    there is now."
                .to_string();
        }
        match self.inputs {
            Some(_) if self.is_equal => format!(
                "Next: `ulpgate same {before} {after}{mode}` says whether any input gives other bits; `--accept FILE --bless` accepts it."
            ),
            None => format!(
                "Next: --inputs IN.safetensors shows what that does to results; `ulpgate same {before} {after}` says whether any \
                 bit changes."
            ),
            Some(inputs) => {
                let source = source_of(self.before);
                let source = source.as_deref().map_or("PROGRAM.before.hlo".to_string(), shown);
                let inputs = shown(inputs);
                format!(
                    "Next: `ulpgate explore {source} --inputs {inputs} --repair` finds the guards that forbid it; `--accept \
                     FILE --bless` accepts it."
                )
            }
        }
    }

    /// Prints the sentence.
    pub fn tell(&self, out: &mut dyn Write) -> Result<(), Failure> {
        wrap(&self.next(), "    ", out)
    }
}

/// The dump of the same function before compilation, `f.before.hlo` beside `f.excess_on.hlo`, if it is there.
fn source_of(before: &Path) -> Option<std::path::PathBuf> {
    let name = before.file_name()?.to_str()?;
    if name.ends_with(".before.hlo") {
        return Some(before.to_path_buf());
    }
    let stem = name.split('.').next()?;
    let source = before.with_file_name(format!("{stem}.before.hlo"));
    source.is_file().then_some(source)
}
