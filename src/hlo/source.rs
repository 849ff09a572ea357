//! Position of an instruction in the user's program, as its metadata says.

use std::collections::HashMap;

use super::ast::{Instruction, Module, Value};
use super::view::Attributes;

/// The instructions of a file by name, with their places in the user's program.
pub struct Sources<'a> {
    module: &'a Module,
    instructions: HashMap<&'a str, &'a Instruction>,
}

impl<'a> Sources<'a> {
    /// Of all instructions of a file.
    pub fn new(module: &'a Module) -> Sources<'a> {
        let all = module.computations.iter().flat_map(|c| &c.instructions);
        Sources { module, instructions: all.map(|i| (i.name.as_str(), i)).collect() }
    }

    /// The instruction of the file that a value of the lowered program comes from, by the value's name: `fusion.3/dot.5`,
    /// and with a number or a type behind it where one instruction became several.
    pub fn instruction(&self, name: &str) -> Option<&'a Instruction> {
        let mut name = name.rsplit('/').next()?;
        loop {
            if let Some(instruction) = self.instructions.get(name) {
                return Some(instruction);
            }
            name = name.rsplit_once(['.', '@'])?.0;
        }
    }

    /// `op_name` of an instruction's metadata.
    pub fn op_name(&self, instruction: &Instruction) -> Option<String> {
        Attributes::of(instruction).op_name()
    }

    /// `FILE:LINE`, and the function where the file says it: `decoder.py:32 in rms_norm`.
    pub fn place(&self, instruction: &Instruction) -> Option<String> {
        let metadata = instruction.attributes.iter().find(|attribute| attribute.name == "metadata")?;
        let Value::Braces(metadata) = &metadata.value else { return None };
        if let Some(file) = field(metadata, "source_file") {
            let line = field(metadata, "source_line").map(|line| format!(":{line}")).unwrap_or_default();
            return Some(format!("{}{line}", base_name(file)));
        }
        let frame = self.row("StackFrames", field(metadata, "stack_frame_id")?)?;
        let location = self.row("FileLocations", field(frame, "file_location_id")?)?;
        let file = self.row("FileNames", field(location, "file_name_id")?)?.trim_matches('"');
        let function = field(location, "function_name_id").and_then(|id| self.row("FunctionNames", id));
        let function = function.map(|name| format!(" in {}", name.trim_matches('"'))).unwrap_or_default();
        Some(format!("{}:{}{function}", base_name(file), field(location, "line")?))
    }

    /// The operation and the place in the source of a value of the lowered program: of its instruction, or of the fusion that it
    /// stands in. `jit(f)/mul, decoder.py:32 in rms_norm`; empty where the file says neither.
    pub fn origin(&self, name: &str) -> String {
        let within = name.split('/').next().unwrap_or(name);
        let places = [name, within].into_iter().filter_map(|name| self.instruction(name));
        let told = places.map(|i| [self.op_name(i), self.place(i)].into_iter().flatten().collect());
        told.map(|parts: Vec<String>| parts.join(", ")).find(|told| !told.is_empty()).unwrap_or_default()
    }

    /// Row of a side table behind its number.
    fn row(&self, table: &str, number: &str) -> Option<&'a str> {
        let table = self.module.tables.iter().find(|t| t.heading == table)?;
        table
            .lines
            .iter()
            .find_map(|line| line.trim().split_once(' ').filter(|(id, _)| *id == number))
            .map(|(_, row)| row)
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `NAME=VALUE` in braces; a value in quotation marks without them.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = text.match_indices(name).find_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_word = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        text[at + name.len()..].strip_prefix('=').filter(|_| is_word)
    })?;
    match start.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => start.split([' ', '}']).next(),
    }
}
