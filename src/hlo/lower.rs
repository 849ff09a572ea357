//! From what a file says to a [`Program`].
//!
//! Calls, fusions and maps are inlined and tuples dissolve, so that the entry is one flat list: the compiler's passes
//! see through calls as well, and a fusion does not change what its operations mean. Regions (reducers, comparators,
//! loop bodies) stay computations of their own.

use std::collections::{HashMap, HashSet};

use crate::ir::{self, Binary, ComputationId, Double, Fusion, Op, Program, Shape, ShapeError, ValueId, infer};

use super::ast::{self, Module, Operands, Position};
use super::collective_algorithm::PlannedCollective;
use super::device::{self, Devices};
use super::emit::{Emitter, OPERATIONS};
use super::error::LowerError;
use super::lowered_value::Value;
use super::opcode::{Opcode, Product, Reduction};
use super::origin::Origin;
use super::surroundings::Scope;
use super::unless_known::{self, Unknown, unless_known};
use super::view::Attributes;
use super::{complex, excess, parameter_list, settings};

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
    /// Instructions that the tool assigns no semantics to, in the file's order. They are [`Op::Opaque`] in the program;
    /// none if [`lower`] took the file.
    pub unknown: Vec<Unknown>,
    /// The collectives that a compiled file has a plan of, in its order.
    pub collectives: Vec<PlannedCollective>,
}

/// Calls inside calls.
const DEPTH: usize = 128;

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

/// As [`lower`], but what has no meaning here becomes [`Op::Opaque`], for those who read a program and do not run it.
///
/// # Errors
/// If the file contradicts itself, or a parameter is of an element type that has no meaning here.
pub fn lower_with_opaque(module: &Module) -> Result<Import> {
    lower_or(module, Some(Vec::new()), false)
}

/// As [`lower`], but what XLA:CPU leaves to libraries stands as a call of its definition beside the library's function, for
/// those who run a program.
///
/// # Errors
/// As [`lower`].
pub fn lower_with_libraries(module: &Module) -> Result<Import> {
    lower_or(module, None, true)
}

fn lower_or(module: &Module, unknown: Option<Vec<Unknown>>, libraries: bool) -> Result<Import> {
    let devices = Devices::of(module)?;
    let mut lowering = Lowering {
        devices,
        telling: if devices.count() > 1 { device::tellers(module) } else { Vec::new() },
        fusions: 0,
        unknown,
        libraries,
        is_code: module.is_compiled() && !module.is_tiled(),
        for_tpu: module.is_compiled_for_tpu(),
        rounds: excess::rounds_everywhere(module),
        settings: settings::Read::default(),
        collectives: Vec::new(),
        places: module.computations.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect(),
        module,
        computations: Vec::new(),
        regions: HashMap::new(),
        double: None,
    };
    let entry = module.computations.get(module.entry).ok_or_else(|| LowerError {
        at: Position { line: 1, column: 1 },
        name: module.name.clone(),
        why: "the module has no computation".to_string(),
        is_unknown: false,
    })?;
    let mut body = Body::default();
    let root = lowering.inline(entry, Given::Entry, &mut body, &Scope::default())?;
    let mut results = Vec::new();
    root.results(&mut 0, &mut results);
    let at = &entry.instructions[entry.root];
    if results.is_empty() {
        return Err(LowerError::new(at, "the program gives no array"));
    }
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
    let settings = settings::of_module(module);
    let Lowering { computations, double, .. } = lowering;
    let program = Program { name, computations, entry, output_names, settings, double };
    Ok(Import {
        program,
        origins: body.origins,
        argument_names: body.argument_names,
        devices: devices.count(),
        for_tpu: module.is_tiled(),
        is_compiled: module.is_compiled(),
        unknown: unless_known::in_order(lowering.unknown.unwrap_or_default()),
        collectives: lowering.collectives,
    })
}

/// A computation in the making.
#[derive(Default)]
pub(super) struct Body {
    pub instructions: Vec<ir::Instruction>,
    pub origins: Vec<Origin>,
    /// Of the entry: the names of its parameters.
    pub argument_names: Vec<String>,
    names: HashSet<String>,
}

impl Body {
    pub fn shape(&self, id: ValueId) -> &Shape {
        &self.instructions[id].shape
    }

    /// Number of products in one sum of a dot; `None` for other values.
    pub fn products(&self, id: ValueId) -> Option<usize> {
        let ir::Instruction { op: Op::Dot { dims, .. }, operands, .. } = &self.instructions[id] else { return None };
        Some(dims.products(self.shape(operands[0]).dims()))
    }

    /// Adds an operation after checking that it fits.
    pub fn push(
        &mut self,
        op: Op,
        operands: Vec<ValueId>,
        given: Option<Shape>,
        computations: &[ir::Computation],
        origin: Origin,
    ) -> std::result::Result<ValueId, ShapeError> {
        let shapes: Vec<&Shape> = operands.iter().map(|o| self.shape(*o)).collect();
        let shape = infer(&op, &shapes, computations, given.as_ref())?;
        let mut unique = origin.name.clone();
        while !self.names.insert(unique.clone()) {
            unique = format!("{}.{}", origin.name, self.names.len());
        }
        self.instructions.push(ir::Instruction::new(unique, op, operands, shape));
        self.origins.push(origin);
        Ok(self.instructions.len() - 1)
    }

    /// Adds the tuple of a computation's results, which no instruction of the file stands for.
    pub fn push_results(
        &mut self,
        results: Vec<ValueId>,
        at: Position,
        computations: &[ir::Computation],
    ) -> std::result::Result<ValueId, ShapeError> {
        let origin = Origin { name: "results".to_string(), at, ..Origin::default() };
        self.push(Op::Tuple, results, None, computations, origin)
    }
}

/// Values of a computation's parameters.
#[derive(Clone, Copy)]
pub(super) enum Given<'g> {
    /// The arguments of a call.
    Arguments(&'g [Value]),
    /// Parameters of a region.
    Parameters,
    /// Parameters of a region that takes one value, with what differs between devices apart.
    Like(&'g Value),
    /// Arguments of the program.
    Entry,
}

pub(super) struct Lowering<'a> {
    module: &'a Module,
    pub devices: Devices,
    /// Whether devices tell themselves apart in a computation, by position; empty for one device.
    telling: Vec<bool>,
    /// Positions of the file's computations by name.
    places: HashMap<&'a str, usize>,
    pub computations: Vec<ir::Computation>,
    /// Regions lowered already, by position in the file, and whether an array is given as a tuple.
    regions: HashMap<(usize, bool, bool), ComputationId>,
    /// Number of fusions that were inlined.
    pub fusions: usize,
    /// Instructions without semantics that were found so far; `None` if they are errors.
    pub unknown: Option<Vec<Unknown>>,
    /// Whether what XLA:CPU leaves to libraries stands as a call.
    pub libraries: bool,
    /// Whether instructions outside of fusions are code of their own: in what XLA:CPU has compiled.
    pub is_code: bool,
    /// Whether a TPU's compiler wrote the file, which has left dots to the matrix unit alone.
    pub for_tpu: bool,
    /// Whether it was compiled without excess precision, as far as it says.
    pub rounds: bool,
    /// Settings of instructions that the machine does not follow.
    pub settings: settings::Read,
    /// The first instruction that computes in f64.
    pub double: Option<Double>,
    /// Collectives that the file has a plan of.
    pub collectives: Vec<PlannedCollective>,
}

impl<'a> Lowering<'a> {
    /// The computation of this name.
    pub fn computation(&self, instruction: &ast::Instruction, name: &str) -> Result<&'a ast::Computation> {
        self.place(instruction, name).map(|place| &self.module.computations[place])
    }

    fn place(&self, instruction: &ast::Instruction, name: &str) -> Result<usize> {
        let place = self.places.get(name).copied();
        place.ok_or_else(|| LowerError::new(instruction, format!("no computation is called {name}")))
    }

    /// The computation of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<&'a ast::Computation> {
        self.places.get(name).map(|place| &self.module.computations[*place])
    }

    /// The region that an attribute names, as a computation of its own; its result is a tuple if it is one in the file,
    /// or if that is asked for.
    pub fn region(
        &mut self,
        instruction: &ast::Instruction,
        attribute: &str,
        tuple: bool,
        scope: &Scope,
    ) -> Result<ComputationId> {
        let place = self.place(instruction, Attributes::of(instruction).callee(attribute)?)?;
        let key = (place, tuple, scope.small_call);
        if let Some(id) = self.regions.get(&key) {
            return Ok(*id);
        }
        let computation = &self.module.computations[place];
        let mut body = Body::default();
        let root = self.inline(computation, Given::Parameters, &mut body, &scope.of_region())?;
        let root = match root {
            Value::Array(id) if !tuple => id,
            other => {
                let mut parts = Vec::new();
                other.leaves(&mut parts);
                body.push_results(parts, Position::default(), &self.computations)
                    .map_err(|why| LowerError::new(instruction, why))?
            }
        };
        let instructions = body.instructions;
        self.computations.push(ir::Computation { name: computation.name.clone(), instructions, root });
        self.regions.insert(key, self.computations.len() - 1);
        Ok(self.computations.len() - 1)
    }

    /// Attributes behind the module's name.
    pub fn header(&self) -> &'a [ast::Attribute] {
        &self.module.attributes
    }

    /// Whether devices tell themselves apart in the computations that an instruction calls.
    pub fn tells(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.places.get(name).and_then(|place| self.telling.get(*place)) == Some(&true))
    }

    /// A region that takes a value like `state`, and its root.
    pub fn open_region(
        &mut self,
        instruction: &ast::Instruction,
        attribute: &str,
        state: &Value,
        scope: &Scope,
    ) -> Result<(Body, Value)> {
        let place = self.place(instruction, Attributes::of(instruction).callee(attribute)?)?;
        let mut body = Body::default();
        let root = self.inline(&self.module.computations[place], Given::Like(state), &mut body, &scope.of_region())?;
        Ok((body, root))
    }

    /// The region that was opened, with its root.
    pub fn close_region(
        &mut self,
        instruction: &ast::Instruction,
        attribute: &str,
        body: Body,
        root: ValueId,
    ) -> Result<ComputationId> {
        let name = Attributes::of(instruction).callee(attribute)?.to_string();
        self.computations.push(ir::Computation { name, instructions: body.instructions, root });
        Ok(self.computations.len() - 1)
    }

    /// The scope of a sum or of a product of complex numbers that no fusion holds, as older releases of XLA:CPU leave them, whose
    /// parts are one code as those of a fusion are, and of a dot that is compiled along with a small loop.
    fn code_of_its_own(&mut self, instruction: &ast::Instruction, scope: &Scope) -> Option<Scope> {
        let is_code_of_its_own = match (&instruction.opcode, parameter_list::is_complex(&instruction.shape)) {
            (Opcode::Reduction(Reduction::Reduce), _) | (Opcode::Binary(Binary::Multiply), true) => true,
            (Opcode::Product(Product::Dot), false) => scope.small_call,
            _ => false,
        };
        if !self.is_code || scope.fusion.is_some() || !is_code_of_its_own {
            return None;
        }
        self.fusions += 1;
        let fusion = if scope.small_call { Fusion::SmallCall(self.fusions) } else { Fusion::Compiled(self.fusions) };
        Some(Scope { fusion: Some(fusion), ..scope.clone() })
    }

    /// Adds a computation's instructions to `body` and returns its root.
    pub fn inline(
        &mut self,
        computation: &'a ast::Computation,
        given: Given,
        body: &mut Body,
        scope: &Scope,
    ) -> Result<Value> {
        let name = || computation.name.clone();
        let refuse = |why: String| Err(LowerError { at: computation.at, name: name(), why, is_unknown: false });
        if scope.depth > DEPTH {
            return refuse(format!("calls lie deeper than {DEPTH}"));
        }
        let mut values: HashMap<&str, (Value, &'a ast::Instruction)> =
            HashMap::with_capacity(computation.instructions.len());
        let firsts = parameter_list::firsts(computation, given, self.devices);
        for instruction in &computation.instructions {
            // A file whose calls double at each level would never end.
            if body.instructions.len() > OPERATIONS {
                return refuse(format!("calls make more than {OPERATIONS} instructions"));
            }
            let (body, sources) = (&mut *body, Vec::new());
            let own = self.code_of_its_own(instruction, scope);
            let scope = own.as_ref().unwrap_or(scope);
            let settings = self.settings_of(instruction, scope);
            let asks = settings.is_some() && self.asks(instruction);
            let before = body.instructions.len();
            let lowering = &mut *self;
            let mut emitter =
                Emitter { lowering, body, instruction, sources, scope, settings, part: false, device: None };
            let value = match &instruction.operands {
                Operands::Number(number) => match given {
                    Given::Arguments(list) => {
                        let argument = usize::try_from(*number).ok().and_then(|n| list.get(n)).cloned();
                        argument.ok_or_else(|| LowerError::new(instruction, "the caller gives no such argument"))?
                    }
                    _ => parameter_list::lower(&mut emitter, given, firsts.get(number).copied().unwrap_or_default())?,
                },
                Operands::Values(list) => {
                    let mut operands = Vec::with_capacity(list.len());
                    for operand in list {
                        let why = || LowerError::new(instruction, format!("{} is not defined before", operand.name));
                        let (value, source) = values.get(operand.name.as_str()).ok_or_else(why)?;
                        operands.push(value.clone());
                        emitter.sources.push(source);
                    }
                    unless_known(&mut emitter, operands, |e, operands| e.instruction(operands))?
                }
                Operands::Literal(literal) => {
                    unless_known(&mut emitter, Vec::new(), |e, _| complex::any_constant(e, literal))?
                }
            };
            let value = if asks { emitter.under_settings(value, before)? } else { value };
            values.insert(&instruction.name, (value, instruction));
        }
        match computation.instructions.get(computation.root).and_then(|root| values.remove(root.name.as_str())) {
            Some((root, _)) => Ok(root),
            None => refuse("the computation is empty".to_string()),
        }
    }
}
