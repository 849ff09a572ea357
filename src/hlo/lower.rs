//! From what a file says to a [`Program`].
//!
//! Calls, fusions and maps are inlined and tuples dissolve, so that the entry is one flat list: the compiler's passes
//! see through calls as well, and a fusion does not change what its operations mean. Regions (reducers, comparators,
//! loop bodies) stay computations of their own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ir::{self, ComputationId, Fusion, Op, Program, Shape, ShapeError, Tiling, ValueId, infer};

use super::ast::{self, Module, Operands, Position};
use super::asynchronous::Bytes;
use super::emit::Emitter;
use super::error::LowerError;
use super::view::Attributes;
use super::{complex, operation};

type Result<T> = std::result::Result<T, LowerError>;

/// Where a value of the entry comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The instruction's name in the file, behind that of the fusion or call of the entry where it stands in one. One
    /// instruction may become several operations.
    pub name: String,
    /// The instruction's place in the file.
    pub at: Position,
    /// `op_name` of its metadata: where it stands in the user's program.
    pub op_name: Option<String>,
    /// The fusion or call of the entry that it stands in.
    pub within: Option<String>,
}

/// A program, and for each value of its entry where it comes from.
#[derive(Clone, Debug)]
pub struct Import {
    /// The program.
    pub program: Program,
    /// For each value of its entry, its place in the file.
    pub origins: Vec<Origin>,
    /// Whether a TPU compiler wrote the file.
    pub for_tpu: bool,
}

/// Instructions that inlining may make: a file whose calls double at each level would never end.
const INLINED: usize = 1 << 20;
/// Calls inside calls.
const DEPTH: usize = 128;

/// Lowers a parsed file.
///
/// Results are called `out0`, `out1`, ... in the entry's order; nested tuples count as their elements.
///
/// # Errors
/// If an operation is not supported, lacks an attribute, or does not fit its operands.
pub fn lower(module: &Module) -> Result<Import> {
    let mut lowering = Lowering {
        fusions: 0,
        places: module.computations.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect(),
        module,
        computations: Vec::new(),
        regions: HashMap::new(),
    };
    let entry = module.computations.get(module.entry).ok_or_else(|| LowerError {
        at: Position { line: 1, column: 1 },
        name: module.name.clone(),
        why: "the module has no computation".to_string(),
    })?;
    let mut body = Body::default();
    let root = lowering.inline(entry, None, &mut body, &Scope::default())?;
    let mut outputs = Vec::new();
    root.leaves(&mut outputs);
    let at = &entry.instructions[entry.root];
    if outputs.is_empty() {
        return Err(LowerError::new(at, "the program gives no array"));
    }
    if root.has_bytes() {
        return Err(LowerError::new(at, "a piece of an array's memory is no result"));
    }
    if root.is_complex() {
        return Err(LowerError::new(at, "a complex result: give its `real` and its `imag`"));
    }
    let output_names = (0..outputs.len()).map(|i| format!("out{i}")).collect();
    let single = matches!(&root, Value::Array(id) if *id + 1 == body.instructions.len());
    if !single {
        let origin = Origin { name: "results".to_string(), at: at.at, ..Origin::default() };
        body.push(Op::Tuple, outputs, None, &lowering.computations, origin).map_err(|why| LowerError::new(at, why))?;
    }
    let root = body.instructions.len() - 1;
    lowering.computations.push(ir::Computation { name: entry.name.clone(), instructions: body.instructions, root });
    let entry = lowering.computations.len() - 1;
    let program = Program { name: module.name.clone(), computations: lowering.computations, entry, output_names };
    Ok(Import { program, origins: body.origins, for_tpu: module.is_tiled() })
}

/// What an instruction of the file became.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A value whose shape is that of an array, never of a tuple.
    Array(ValueId),
    /// The real and the imaginary part of an array of complex numbers.
    Complex([ValueId; 2]),
    Tuple(Vec<Value>),
    /// A piece of an array's memory.
    Bytes(Box<Bytes>),
    /// Something without a value to compute with, such as the context of a copy or a token.
    Nothing,
}

impl Value {
    pub fn leaves(&self, into: &mut Vec<ValueId>) {
        match self {
            Value::Array(id) => into.push(*id),
            Value::Complex(parts) => into.extend(parts),
            Value::Tuple(parts) => parts.iter().for_each(|part| part.leaves(into)),
            Value::Bytes(_) | Value::Nothing => {}
        }
    }

    fn is_complex(&self) -> bool {
        match self {
            Value::Complex(_) => true,
            Value::Tuple(parts) => parts.iter().any(Value::is_complex),
            Value::Array(_) | Value::Bytes(_) | Value::Nothing => false,
        }
    }

    fn has_bytes(&self) -> bool {
        match self {
            Value::Bytes(_) => true,
            Value::Tuple(parts) => parts.iter().any(Value::has_bytes),
            Value::Array(_) | Value::Complex(_) | Value::Nothing => false,
        }
    }
}

/// A computation in the making.
#[derive(Default)]
pub(super) struct Body {
    pub instructions: Vec<ir::Instruction>,
    pub origins: Vec<Origin>,
    names: HashSet<String>,
}

impl Body {
    pub fn shape(&self, id: ValueId) -> &Shape {
        &self.instructions[id].shape
    }

    /// How many products go into one sum of a dot; none for other values.
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
}

/// What surrounds an instruction that is inlined.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// The fusion or call of the entry.
    pub within: Option<String>,
    pub op_name: Option<String>,
    pub fusion: Option<Fusion>,
    /// The plan of the matmul in the fusion.
    pub tiling: Option<Arc<Tiling>>,
    /// Dims over which a scalar computation is mapped.
    pub over: Option<Vec<usize>>,
    pub depth: usize,
}

pub(super) struct Lowering<'a> {
    module: &'a Module,
    /// Positions of the file's computations by name.
    places: HashMap<&'a str, usize>,
    pub computations: Vec<ir::Computation>,
    /// Regions lowered already, by position in the file, and whether an array is given as a tuple.
    regions: HashMap<(usize, bool), ComputationId>,
    /// How many fusions were inlined.
    pub fusions: usize,
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

    /// The region that an attribute names, as a computation of its own; its result is a tuple if it is one in the file,
    /// or if that is asked for.
    pub fn region(
        &mut self,
        instruction: &ast::Instruction,
        attribute: &str,
        tuple: bool,
        depth: usize,
    ) -> Result<ComputationId> {
        let place = self.place(instruction, Attributes::of(instruction).callee(attribute)?)?;
        if let Some(id) = self.regions.get(&(place, tuple)) {
            return Ok(*id);
        }
        let computation = &self.module.computations[place];
        let mut body = Body::default();
        let root = self.inline(computation, None, &mut body, &Scope { depth: depth + 1, ..Scope::default() })?;
        let root = match root {
            Value::Array(id) if !tuple => id,
            other => {
                let mut parts = Vec::new();
                other.leaves(&mut parts);
                let origin = Origin { name: "results".to_string(), ..Origin::default() };
                body.push(Op::Tuple, parts, None, &self.computations, origin)
                    .map_err(|why| LowerError::new(instruction, why))?
            }
        };
        let instructions = body.instructions;
        self.computations.push(ir::Computation { name: computation.name.clone(), instructions, root });
        self.regions.insert((place, tuple), self.computations.len() - 1);
        Ok(self.computations.len() - 1)
    }

    /// Adds a computation's instructions to `body` and returns its root. Without arguments its parameters become
    /// parameters of the body.
    pub fn inline(
        &mut self,
        computation: &'a ast::Computation,
        arguments: Option<&[Value]>,
        body: &mut Body,
        scope: &Scope,
    ) -> Result<Value> {
        let refuse = |why: String| Err(LowerError { at: computation.at, name: computation.name.clone(), why });
        if scope.depth > DEPTH {
            return refuse(format!("calls lie deeper than {DEPTH}"));
        }
        let mut values: HashMap<&str, (Value, &'a ast::Instruction)> =
            HashMap::with_capacity(computation.instructions.len());
        let numbers = parameter_numbers(computation);
        for instruction in &computation.instructions {
            if body.instructions.len() > INLINED {
                return refuse(format!("calls make more than {INLINED} instructions"));
            }
            let mut emitter =
                Emitter { lowering: self, body: &mut *body, instruction, sources: Vec::new(), scope, part: false };
            let value = match (&instruction.operands, arguments) {
                (Operands::Number(number), Some(given)) => {
                    let given = usize::try_from(*number).ok().and_then(|n| given.get(n)).cloned();
                    given.ok_or_else(|| LowerError::new(instruction, "the caller gives no such argument"))?
                }
                (Operands::Number(number), None) => {
                    let mut next = numbers.get(number).copied().unwrap_or_default();
                    emitter.parameter(&instruction.shape, &mut next)?
                }
                (Operands::Values(list), _) => {
                    let mut operands = Vec::with_capacity(list.len());
                    for operand in list {
                        let why = || LowerError::new(instruction, format!("{} is not defined before", operand.name));
                        let (value, source) = values.get(operand.name.as_str()).ok_or_else(why)?;
                        operands.push(value.clone());
                        emitter.sources.push(source);
                    }
                    emitter.instruction(operands)?
                }
                (Operands::Literal(literal), _) => match complex::constant(&mut emitter, literal)? {
                    Some(complex) => complex,
                    None => Value::Array(operation::constant(&mut emitter, literal)?),
                },
            };
            values.insert(&instruction.name, (value, instruction));
        }
        match computation.instructions.get(computation.root).and_then(|root| values.remove(root.name.as_str())) {
            Some((root, _)) => Ok(root),
            None => refuse("the computation is empty".to_string()),
        }
    }
}

/// For each of a computation's parameters, the number of its first array: tuples count as their elements.
fn parameter_numbers(computation: &ast::Computation) -> HashMap<u64, usize> {
    let mut parameters: Vec<(u64, usize)> = computation
        .instructions
        .iter()
        .filter_map(|i| if let Operands::Number(n) = i.operands { Some((n, i.shape.arrays())) } else { None })
        .collect();
    parameters.sort_unstable();
    let mut next = 0;
    let mut first = |(number, arrays): (u64, usize)| {
        next += arrays;
        (number, next - arrays)
    };
    parameters.into_iter().map(&mut first).collect()
}
