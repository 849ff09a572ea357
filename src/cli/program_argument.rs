//! The program that `--program` names: an HLO file, or a built-in program of a size.

use std::path::Path;

use ulpgate_front::ir::Program;
use ulpgate_front::judge::parameter_names;
use ulpgate_front::program::ProgramSpec;
use ulpgate_front::suite::is_file;

use super::Failure;
use super::hlo::read;

/// A program and the names of its arguments.
pub struct NamedProgram {
    /// The program.
    pub program: Program,
    /// The names of its arguments, in order.
    pub argument_names: Vec<String>,
    /// Whether it is a file of a compiler's output.
    pub is_compiled: bool,
}

/// Reads the file, or builds the program with size `n`.
///
/// # Errors
/// If the file cannot be read, or no built-in program is called that.
pub fn named_program(name: &str, n: usize) -> Result<NamedProgram, Failure> {
    let fail = |why: &dyn std::fmt::Display| Failure::Message(format!("{name}: {why}"));
    if is_file(name) || Path::new(name).is_file() {
        let (module, import) = read(Path::new(name))?;
        let is_compiled = module.is_compiled();
        return Ok(NamedProgram { program: import.program, argument_names: import.argument_names, is_compiled });
    }
    let spec: ProgramSpec = name.parse().map_err(|error| fail(&error))?;
    let program = spec.build(n, spec.rows).map_err(|error| fail(&error))?;
    let argument_names = parameter_names(&program);
    Ok(NamedProgram { program, argument_names, is_compiled: false })
}
