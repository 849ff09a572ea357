//! The command that follows a red `hlo diff`.

use std::io::Write;
use std::path::Path;

use ulpgate_front::machine::Mode;

use super::super::Failure;
use super::super::summary::{shell_word, wrap};
use super::diff_problems::EqualFor;
use super::dump_mode::mode_flags;

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
    /// The machines of both programs, where they were named.
    pub modes: [Option<&'a Mode>; 2],
    /// The inputs for which all results are equal bit for bit, if they are.
    pub equal: Option<EqualFor>,
    /// Whether results of tokens are there, and equal for these inputs.
    pub has_equal_tokens: bool,
}

impl Compared<'_> {
    /// The sentence that names the next command.
    pub fn next(&self) -> String {
        let shown = |path: &Path| shell_word(&path.display().to_string());
        let (before, after) = (shown(self.before), shown(self.after));
        let modes = mode_flags(self.modes);
        if self.accept.is_some() {
            let accepts = "the same command with --bless accepts what there is now.";
            // Where results differ for the inputs at hand, a change shows.
            return match (self.inputs, self.equal) {
                (Some(_), None) => format!("Next: results differ above; {accepts}"),
                (Some(_), Some(EqualFor::AllInputs)) => format!("Next: no input gives other bits; {accepts}"),
                _ => format!(
                    "Next: `ulpgate same {before} {after}{modes}` says whether a change shows in any bit; {accepts}"
                ),
            };
        }
        if is_source(self.before) && is_source(self.after) && self.equal != Some(EqualFor::AllInputs) {
            return format!(
                "Next: both are programs before compilation, so the function changed, or JAX lowers it otherwise; `ulpgate same \
                 {before} {after}{modes}` says whether any bit changes; `--accept FILE --bless` accepts it."
            );
        }
        match (self.inputs, self.equal) {
            (Some(_), Some(EqualFor::AllInputs)) => {
                "Next: no input gives other bits, so `--accept FILE --bless` may accept it.".to_string()
            }
            (Some(_), Some(EqualFor::TheseInputs)) => format!(
                "Next: `ulpgate same {before} {after}{modes}` says whether any input gives other bits; `--accept FILE --bless` accepts it."
            ),
            (None, _) => format!(
                "Next: --inputs IN.safetensors shows what that does to results; `ulpgate same {before} {after}` says whether any \
                 bit changes."
            ),
            (Some(inputs), None) => {
                let source = source_of(self.before);
                // Of folders one pair is named: `explore` takes a file.
                let of_pair = |folder: &Path, ending: &str| shown(&folder.join(format!("PROGRAM.{ending}")));
                let source = match source.as_deref() {
                    Some(source) => shown(source),
                    None if self.before.is_dir() => of_pair(self.before, "before.hlo"),
                    None => "PROGRAM.before.hlo".to_string(),
                };
                let inputs = if inputs.is_dir() { of_pair(inputs, "inputs.safetensors") } else { shown(inputs) };
                if self.has_equal_tokens {
                    return format!(
                        "Next: the tokens are equal for these inputs; `ulpgate explore {source} --inputs {inputs}` says whether any \
                         permitted choice changes them; `--accept FILE --bless` accepts it."
                    );
                }
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
    if is_source(before) {
        return Some(before.to_path_buf());
    }
    let name = before.file_name()?.to_str()?;
    let stem = name.split('.').next()?;
    let source = before.with_file_name(format!("{stem}.before.hlo"));
    source.is_file().then_some(source)
}

/// Whether a path is that of a dump before compilation.
fn is_source(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(".before.hlo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `explore` takes a file: of folders the files of one pair are named.
    #[test]
    fn the_next_command_after_folders_names_files() {
        let folder = Path::new(".");
        let compared = Compared {
            before: folder,
            after: folder,
            inputs: Some(folder),
            accept: None,
            modes: [None, None],
            equal: None,
            has_equal_tokens: false,
        };
        let next = compared.next();
        assert!(
            next.contains("`ulpgate explore ./PROGRAM.before.hlo --inputs ./PROGRAM.inputs.safetensors --repair`"),
            "{next}"
        );
    }
}
