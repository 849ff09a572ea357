//! The command that follows a red `hlo diff`, and its changes as annotations for GitHub.

use std::io::Write;
use std::path::Path;

use super::super::Failure;
use super::super::ci::{Group, Problem, Test, github};
use super::super::summary::{quoted, wrap};

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
}

impl Compared<'_> {
    /// The sentence that names the next command.
    pub fn next(&self) -> String {
        let shown = |path: &Path| quoted(&path.display().to_string());
        let (before, after) = (shown(self.before), shown(self.after));
        if self.accept.is_some() {
            return "Next: `ulpgate same` says whether a change shows in any bit; the same command with --bless accepts what \
                    there is now."
                .to_string();
        }
        match self.inputs {
            None => format!(
                "Next: --inputs IN.safetensors shows what that does to results; `ulpgate same {before} {after}` says whether any \
                 bit changes."
            ),
            Some(inputs) => {
                let source = source_of(self.before);
                let source = source.as_deref().map_or("the program before compilation".to_string(), shown);
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

    /// Prints an annotation for each change among the lines that were printed.
    pub fn annotate(&self, printed: &str, out: &mut dyn Write) -> Result<(), Failure> {
        let is_folder = self.after.is_dir();
        let mut file = self.after.to_path_buf();
        let mut tests = Vec::new();
        for line in printed.lines() {
            if is_folder && line.ends_with(".hlo") && !line.contains(' ') {
                file = self.after.join(line);
            }
            let first = line.split([' ', ':']).next().unwrap_or_default();
            if !WORDS.contains(&first) || line.starts_with("results:") {
                continue;
            }
            let place = (file.display().to_string(), 1);
            let problem = Problem {
                rule: first.to_string(),
                verdict: "differs".to_string(),
                message: line.to_string(),
                evidence: vec![self.next()],
                place,
            };
            let name = file.display().to_string();
            tests.push(Test { name, is_judged: true, known: Vec::new(), problems: vec![problem] });
        }
        github::annotate(&[Group { name: "hlo diff".to_string(), tests }], out)
    }
}

/// Words that begin a line of something found.
const WORDS: [&str; 13] = [
    "rounding-removed",
    "rounding-added",
    "narrowed",
    "widened",
    "reordered",
    "precision-changed",
    "operation-changed",
    "plan-changed",
    "topk-changed",
    "attribute-changed",
    "result",
    "new",
    "gone",
];

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
