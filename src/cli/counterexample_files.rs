//! Files of `explore --counterexample`: a program, its inputs, and a file in JAX.

use std::io::Write;
use std::path::{Path, PathBuf};

use ulpgate_front::explore::{Counterexample, Seen, jax_function, numpy_array};
use ulpgate_front::file::safetensors;
use ulpgate_front::hlo::Sources;
use ulpgate_front::ir::Program;
use ulpgate_front::tensor::Tensor;

use super::choice_text::tell_choices;
use super::{Failure, check_target, locked, write_file};

/// The files that are written.
const FILES: [&str; 3] = ["program.hlo", "inputs.safetensors", "counterexample.py"];

/// Holds the files of a counterexample to what can be written, before anything is searched, and to be none of those
/// that the command reads.
pub fn check(folder: Option<&Path>, program: &str, inputs: &Option<PathBuf>) -> Result<(), Failure> {
    let Some(folder) = folder.filter(|folder| folder.exists()) else { return Ok(()) };
    if !folder.is_dir() {
        return Err(Failure::Message(format!("{} is no folder: a counterexample is several files", folder.display())));
    }
    let read = || std::iter::once(PathBuf::from(program)).chain(inputs.clone());
    FILES.iter().try_for_each(|name| check_target(&folder.join(name), read()))
}

/// Writes `program.hlo`, `inputs.safetensors` and, where each operation has a line in JAX, `counterexample.py`;
/// tells what they hold.
pub fn write(
    small: &Counterexample,
    sources: Option<&Sources>,
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let _locked = locked(folder)?;
    let code = folder.join("counterexample.py");
    match std::fs::remove_file(&code) {
        // What an earlier run left would tell of another program.
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Failure::Message(format!("failed to replace {}: {error}", code.display())));
        }
        _ => {}
    }
    write_file(&folder.join("program.hlo"), &small.program.to_string())?;
    let inputs = small.arguments.iter().enumerate().map(|(at, tensor)| (format!("arg{at}"), tensor.clone()));
    safetensors::write(&folder.join("inputs.safetensors"), &inputs.collect::<Vec<_>>())
        .map_err(|error| Failure::Message(error.to_string()))?;
    let Counterexample { row, elements: [before, now], bits: [given, left], tried, .. } = small;
    writeln!(
        out,
        "counterexample of row {row}: {now} of {before} elements, {left} of {given} significant bits at most; {tried} programs \
         tried"
    )?;
    for line in what(small, sources) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out, "  {}", place(small))?;
    for held in &small.held {
        writeln!(out, "  not made shorter: {held}")?;
    }
    match script(small) {
        Ok(text) => {
            write_file(&code, &text)?;
            writeln!(out, "  {}: program.hlo, inputs.safetensors, counterexample.py", folder.display())?;
        }
        Err(why) => {
            writeln!(out, "  {}: program.hlo, inputs.safetensors; no counterexample.py: {why}", folder.display())?
        }
    }
    Ok(())
}

/// The difference, and the choices that make it.
fn what(small: &Counterexample, sources: Option<&Sources>) -> Vec<String> {
    let differs = small.differs;
    let result = &small.program.output_names[differs.output];
    let (element, chosen, declared) = (differs.element, differs.chosen, differs.declared);
    let mut lines = vec![format!("{result}[{element}] is {chosen} instead of {declared} on {}, if", small.mode)];
    lines.extend(tell_choices(&small.choices, &small.taken, sources).into_iter().map(|choice| format!("  {choice}")));
    lines
}

/// The place at which the difference was seen, in words.
fn place(small: &Counterexample) -> String {
    let Some(compiler) = small.compiler else {
        return format!(
            "seen on {} alone: this build emulates no compiler on which it could be looked for",
            small.mode
        );
    };
    match small.seen {
        Seen::Compiled => format!("{compiler}, as emulated, changes the outcome if the flag is on"),
        Seen::WrittenOut => format!(
            "{compiler}, as emulated, does not take these choices: there the flag changes nothing, and the choices written out do"
        ),
        Seen::Witnessed => format!(
            "not seen on {compiler}, as emulated: neither the flag nor the choices written out need show it there"
        ),
    }
}

/// [`place`] in a word, for `scripts/check_counterexample.py`.
fn shown(seen: Seen) -> &'static str {
    match seen {
        Seen::Compiled => "flag",
        Seen::WrittenOut => "choices",
        Seen::Witnessed => "nothing",
    }
}

/// `counterexample.py`.
fn script(small: &Counterexample) -> Result<String, String> {
    let function = |program: &Program, name: &str| jax_function(program, name).map_err(|error| error.to_string());
    let array = |tensor: &Tensor| {
        numpy_array(tensor).ok_or_else(|| format!("arrays of {} are not written in JAX", tensor.dtype()))
    };
    let arrays = |tensors: Vec<&Tensor>, end: &str| -> Result<String, String> {
        let lines = tensors.into_iter().map(|tensor| Ok(format!("    {}{end},\n", array(tensor)?)));
        lines.collect::<Result<String, String>>()
    };
    let arguments = arrays(small.arguments.iter().collect(), "")?;
    let declared = arrays(small.outcome.iter().map(|result| &result.declared).collect(), ".tolist()")?;
    let chosen = arrays(small.outcome.iter().map(|result| &result.chosen).collect(), ".tolist()")?;
    let is_long = |shape: &ulpgate_front::ir::Shape| shape.dtype().is_some_and(|dtype| dtype.bits() == 64);
    let is_long = small.program.entry().instructions.iter().any(|instruction| is_long(&instruction.shape));
    let names = &small.program.output_names;
    let outcome: Vec<String> =
        small.outcome.iter().map(|result| format!("{}: \"{}\"", result.output, names[result.output])).collect();
    let text = TEMPLATE
        .replace("{what}", &what(small, None).iter().map(|line| format!("    {line}\n")).collect::<String>())
        .replace("{place}", &place(small))
        .replace("{compiler}", small.compiler.unwrap_or("a compiler"))
        .replace("{x64}", if is_long { "jax.config.update(\"jax_enable_x64\", True)\n" } else { "" })
        .replace("{arguments}", &arguments)
        .replace("{outcome}", &outcome.join(", "))
        .replace("{declared}", &declared)
        .replace("{chosen}", &chosen)
        .replace("{shown}", shown(small.seen))
        .replace("{program}", &function(&small.program, "program")?)
        .replace("{written_out}", &function(&small.written_out(), "written_out")?);
    Ok(text)
}

const TEMPLATE: &str = r#""""What a compiler may do to this program under xla_allow_excess_precision changes what it says:

{what}
Found by `ulpgate explore --counterexample`. `program` is the program as written, `written_out` the same with these
choices as operations of its own, which therefore needs no flag.
{place}.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

{x64}ARGUMENTS = [
{arguments}]
# The results that make the outcome, by their positions; what they are as written, and with these choices.
OUTCOME = {{outcome}}
DECLARED = [
{declared}]
CHOSEN = [
{chosen}]
# What is expected to change the outcome on {compiler}: the flag, the choices written out, or nothing.
SHOWN_BY = "{shown}"


{program}

{written_out}

def outcome(function, excess):
    options = {"xla_allow_excess_precision": excess}
    results = jax.jit(function, keep_unused=True).lower(*ARGUMENTS).compile(compiler_options=options)(*ARGUMENTS)
    results = results if isinstance(results, tuple) else (results,)
    return [np.asarray(results[position]).tolist() for position in OUTCOME]


if __name__ == "__main__":
    print("outcome             ", *OUTCOME.values())
    print("as written, flag off", *outcome(program, False))
    print("as written, flag on ", *outcome(program, True))
    print("choices written out ", *outcome(written_out, False))
"#;
