//! From what a file says to a [`Program`].
//!
//! Calls, fusions and maps are inlined and tuples dissolve, so that the entry is one flat list: the compiler's passes
//! see through calls as well, and a fusion does not change what its operations mean. Regions (reducers, comparators,
//! loop bodies) stay computations of their own.

mod dispatch;
mod excess;

use crate::ir::{self, Program, ValueId};

use super::ast::{Module, Position};
use super::builder::{Body, Given, Lowering, Scope, Value, inline, unless_known};
use super::error::{LowerError, Unknown};
use super::origin::Origin;
use super::settings;
use crate::devices::device_exchange;
use crate::devices::planned_collective::PlannedCollective;
use dispatch::Dispatch;

type Result<T> = std::result::Result<T, LowerError>;

/// A program, and for each value of its entry where it comes from.
#[derive(Clone, Debug)]
pub struct Import {
    /// The program.
    pub program: Program,
    /// For each value of its entry, its place in the file.
    pub origins: Vec<Origin>,
    /// Names of its arguments: `arg0`, on device 1 `arg0@1`, and parts of complex numbers `arg0.real`, `arg0.imag`.
    pub argument_names: Vec<String>,
    /// Number of devices that run it. Values that differ between devices occur once for each.
    pub devices: usize,
    /// Whether a TPU compiler wrote the file.
    pub for_tpu: bool,
    /// Whether it is a compiler's output: then it has the compiler's plans.
    pub is_compiled: bool,
    /// Instructions that the tool assigns no semantics to, in the file's order. They are [`crate::ir::Op::Opaque`] in the program;
    /// none if [`lower`] took the file.
    pub unknown: Vec<Unknown>,
    /// The collectives that a compiled file has a plan of, in its order.
    pub collectives: Vec<PlannedCollective>,
}

/// Lowers a parsed file.
///
/// Results are called `out0`, `out1`, ... in the entry's order; nested tuples count as their elements. What differs between
/// devices is given for each, as `out0@0`, `out0@1`, ..., and complex numbers as `out0.real` and `out0.imag`.
///
/// # Errors
/// If an operation is not supported, lacks an attribute, or does not fit its operands.
pub fn lower(module: &Module) -> Result<Import> {
    lower_or(module, None, false)
}

/// As [`lower`], but instructions without a meaning here become [`crate::ir::Op::Opaque`], for commands that show a program and do
/// not run it.
///
/// # Errors
/// If the file contradicts itself, or a parameter is of an element type that has no meaning here.
pub fn lower_with_opaque(module: &Module) -> Result<Import> {
    lower_or(module, Some(Vec::new()), false)
}

/// As [`lower`], but an operation that a compiler leaves to a library is a call of its definition beside the library's function, for
/// those who run a program.
///
/// # Errors
/// As [`lower`].
pub fn lower_with_libraries(module: &Module) -> Result<Import> {
    lower_or(module, None, true)
}

fn lower_or(module: &Module, unknown: Option<Vec<Unknown>>, libraries: bool) -> Result<Import> {
    let joined = device_exchange::join_exchanges(module);
    let module = joined.as_ref();
    let mut lowering = Lowering::new(module, unknown, libraries, excess::rounds_everywhere(module))?;
    let entry = module.computations.get(module.entry).ok_or_else(|| LowerError {
        at: Position { line: 1, column: 1 },
        name: module.name.clone(),
        why: "the module has no computation".to_string(),
        is_unknown: false,
    })?;
    let mut body = Body::default();
    let root = inline(&Dispatch, &mut lowering, entry, Given::Entry, &mut body, &Scope::default())?;
    let mut results = Vec::new();
    root.results(&mut 0, &mut results);
    let at = &entry.instructions[entry.root];
    if root.has_bytes() {
        return Err(LowerError::new(at, "a piece of an array's memory is no result"));
    }
    let (output_names, outputs): (Vec<String>, Vec<ValueId>) = results.into_iter().unzip();
    if !matches!(&root, Value::Array(id) if *id + 1 == body.instructions.len()) {
        body.push_results(outputs, at.at, &lowering.computations).map_err(|why| LowerError::new(at, why))?;
    }
    let (name, root) = (entry.name.clone(), body.instructions.len() - 1);
    lowering.computations.push(ir::Computation { name, instructions: body.instructions, root });
    let (name, entry) = (module.name.clone(), lowering.computations.len() - 1);
    let mut settings = settings::of_module(module);
    settings.append(&mut lowering.of_no_array);
    settings.sort();
    settings.dedup();
    let Lowering { computations, double, .. } = lowering;
    let program = Program { name, computations, entry, output_names, settings, double };
    Ok(Import {
        program,
        origins: body.origins,
        argument_names: body.argument_names,
        devices: lowering.devices.count(),
        for_tpu: module.is_tiled(),
        is_compiled: module.is_compiled(),
        unknown: unless_known::in_order(lowering.unknown.unwrap_or_default()),
        collectives: lowering.collectives,
    })
}
