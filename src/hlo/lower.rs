//! From what a file says to a [`Program`].
//!
//! Calls, fusions and maps are inlined and tuples dissolve, so that the entry is one flat list: the compiler's passes
//! see through calls as well, and a fusion does not change what its operations mean. Regions (reducers, comparators,
//! loop bodies) stay computations of their own.

use std::collections::{HashMap, HashSet};

use crate::ir::{self, ComputationId, Op, Program, Shape, ValueId, infer};
use crate::tensor::DTYPES;

use super::ast::{self, Element, Layout, Module, Operands, Position};
use super::attribute::Attributes;
use super::operation;

/// Why a file is no program here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {name}: {why}")]
pub struct LowerError {
    pub at: Position,
    /// The instruction's name and opcode, or a computation's name.
    pub name: String,
    pub why: String,
}

impl LowerError {
    pub(super) fn new(instruction: &ast::Instruction, why: impl Into<String>) -> LowerError {
        let name = format!("{} of opcode `{}`", instruction.name, instruction.opcode);
        LowerError { at: instruction.at, name, why: why.into() }
    }
}

type Result<T> = std::result::Result<T, LowerError>;

/// Where a value of the entry comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
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
    pub program: Program,
    pub origins: Vec<Origin>,
}

/// Instructions that inlining may make: a file whose calls double at each level would never end.
const INLINED: usize = 1 << 20;
/// Calls inside calls.
const DEPTH: usize = 128;
/// Elements of one array.
const ELEMENTS: u64 = 1 << 40;

/// Lowers a parsed file.
///
/// Results are called `out0`, `out1`, ... in the entry's order; nested tuples count as their elements.
///
/// # Errors
/// If an operation is not supported, lacks an attribute, or does not fit its operands.
pub fn lower(module: &Module) -> Result<Import> {
    let mut lowering = Lowering {
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
    let output_names = (0..outputs.len()).map(|i| format!("out{i}")).collect();
    let single = matches!(&root, Value::Array(id) if *id + 1 == body.instructions.len());
    if !single {
        let origin = Origin { at: at.at, ..Origin::default() };
        body.push("results", Op::Tuple, outputs, None, &lowering.computations, origin)
            .map_err(|why| LowerError::new(at, why))?;
    }
    let root = body.instructions.len() - 1;
    lowering.computations.push(ir::Computation { name: entry.name.clone(), instructions: body.instructions, root });
    let entry = lowering.computations.len() - 1;
    let program = Program { name: module.name.clone(), computations: lowering.computations, entry, output_names };
    Ok(Import { program, origins: body.origins })
}

/// What an instruction of the file became.
#[derive(Clone, Debug)]
enum Value {
    Array(ValueId),
    Tuple(Vec<Value>),
    /// Something without a value to compute with, such as the context of a copy or a token.
    Nothing,
}

impl Value {
    fn leaves(&self, into: &mut Vec<ValueId>) {
        match self {
            Value::Array(id) => into.push(*id),
            Value::Tuple(parts) => parts.iter().for_each(|part| part.leaves(into)),
            Value::Nothing => {}
        }
    }
}

/// A computation in the making.
#[derive(Default)]
struct Body {
    pub instructions: Vec<ir::Instruction>,
    pub origins: Vec<Origin>,
    names: HashSet<String>,
}

impl Body {
    pub fn shape(&self, id: ValueId) -> &Shape {
        &self.instructions[id].shape
    }

    /// Adds an operation after checking that it fits.
    pub fn push(
        &mut self,
        name: &str,
        op: Op,
        operands: Vec<ValueId>,
        given: Option<Shape>,
        computations: &[ir::Computation],
        origin: Origin,
    ) -> std::result::Result<ValueId, String> {
        let shapes: Vec<&Shape> = operands.iter().map(|o| self.shape(*o)).collect();
        let shape = infer(&op, &shapes, computations, given.as_ref()).map_err(|e| e.to_string())?;
        let mut unique = name.to_string();
        while !self.names.insert(unique.clone()) {
            unique = format!("{name}.{}", self.names.len());
        }
        self.instructions.push(ir::Instruction { name: unique, op, operands, shape });
        self.origins.push(origin);
        Ok(self.instructions.len() - 1)
    }
}

/// What surrounds an instruction that is inlined.
#[derive(Clone, Default)]
struct Scope {
    /// The fusion or call of the entry.
    within: Option<String>,
    op_name: Option<String>,
    /// Dims over which a scalar computation is mapped.
    over: Option<Vec<usize>>,
    depth: usize,
}

struct Lowering<'a> {
    module: &'a Module,
    /// Positions of the file's computations by name.
    places: HashMap<&'a str, usize>,
    computations: Vec<ir::Computation>,
    /// Regions lowered already, by position in the file.
    regions: HashMap<usize, ComputationId>,
}

impl<'a> Lowering<'a> {
    fn callee(&self, instruction: &ast::Instruction, attribute: &str) -> Result<&'a ast::Computation> {
        self.place(instruction, attribute).map(|place| &self.module.computations[place])
    }

    fn place(&self, instruction: &ast::Instruction, attribute: &str) -> Result<usize> {
        let name = Attributes::of(instruction).callee(attribute)?;
        let place = self.places.get(name).copied();
        place.ok_or_else(|| LowerError::new(instruction, format!("{attribute} names no computation: {name}")))
    }

    /// The region that an attribute names, as a computation of its own.
    fn region(&mut self, instruction: &ast::Instruction, attribute: &str, depth: usize) -> Result<ComputationId> {
        let place = self.place(instruction, attribute)?;
        if let Some(id) = self.regions.get(&place) {
            return Ok(*id);
        }
        let computation = &self.module.computations[place];
        let mut body = Body::default();
        let root = self.inline(computation, None, &mut body, &Scope { depth: depth + 1, ..Scope::default() })?;
        let root = match root {
            Value::Array(id) => id,
            other => {
                let mut parts = Vec::new();
                other.leaves(&mut parts);
                body.push("results", Op::Tuple, parts, None, &self.computations, Origin::default())
                    .map_err(|why| LowerError::new(instruction, why))?
            }
        };
        let instructions = body.instructions;
        self.computations.push(ir::Computation { name: computation.name.clone(), instructions, root });
        self.regions.insert(place, self.computations.len() - 1);
        Ok(self.computations.len() - 1)
    }

    /// Adds a computation's instructions to `body` and returns its root. Without arguments its parameters become
    /// parameters of the body.
    fn inline(
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
            let mut emitter = Emitter { lowering: self, body: &mut *body, instruction, sources: Vec::new(), scope };
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
                (Operands::Literal(literal), _) => Value::Array(operation::constant(&mut emitter, literal)?),
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

/// One instruction of the file on its way into a body.
pub(super) struct Emitter<'e, 'a> {
    lowering: &'e mut Lowering<'a>,
    body: &'e mut Body,
    pub instruction: &'a ast::Instruction,
    /// The instructions that its operands name.
    sources: Vec<&'a ast::Instruction>,
    scope: &'e Scope,
}

impl<'a> Emitter<'_, 'a> {
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes::of(self.instruction)
    }

    pub fn fail(&self, why: impl Into<String>) -> LowerError {
        LowerError::new(self.instruction, why)
    }

    pub fn shape(&self, id: ValueId) -> &Shape {
        &self.body.instructions[id].shape
    }

    /// The layout of an operand, where one is written.
    pub fn operand_layout(&self, operand: usize) -> Option<&'a Layout> {
        self.sources.get(operand).and_then(|source| source.shape.layout())
    }

    /// The result's shape as the file claims it, for results that are arrays or tuples of arrays.
    pub fn claimed(&self) -> Result<Shape> {
        shape_of(self.instruction, &self.instruction.shape)
    }

    /// The region that an attribute names.
    pub fn region(&mut self, attribute: &str) -> Result<ComputationId> {
        self.lowering.region(self.instruction, attribute, self.scope.depth)
    }

    pub fn computation(&self, id: ComputationId) -> &ir::Computation {
        &self.lowering.computations[id]
    }

    /// Adds an operation; `shape` is its result's, where operands do not determine it.
    pub fn emit(&mut self, op: Op, operands: Vec<ValueId>, shape: Option<Shape>) -> Result<ValueId> {
        let Some(over) = self.scope.over.clone().filter(|over| !over.is_empty()) else {
            return self.add(op, operands, shape);
        };
        // A scalar computation that is mapped: each of its scalars is an array.
        if let Op::Constant(value) = &op {
            let spread = Shape::array(value.dtype(), &over);
            let scalar = self.add(op, operands, shape)?;
            return self.add(Op::Broadcast { dims: vec![] }, vec![scalar], Some(spread));
        }
        let elementwise = matches!(
            op,
            Op::Unary(_)
                | Op::Binary(_)
                | Op::Compare { .. }
                | Op::Select
                | Op::Clamp
                | Op::Convert
                | Op::BitcastConvert
                | Op::ReducePrecision { .. }
                | Op::Copy
        );
        if !elementwise {
            return Err(self.fail("only elementwise operations can be mapped"));
        }
        let spread = shape.and_then(|s| s.dtype()).map(|dtype| Shape::array(dtype, &over));
        self.add(op, operands, spread)
    }

    fn add(&mut self, op: Op, operands: Vec<ValueId>, shape: Option<Shape>) -> Result<ValueId> {
        let origin = Origin {
            at: self.instruction.at,
            op_name: self.attributes().op_name().or_else(|| self.scope.op_name.clone()),
            within: self.scope.within.clone(),
        };
        let name = match &self.scope.within {
            Some(within) => format!("{within}/{}", self.instruction.name),
            None => self.instruction.name.clone(),
        };
        let added = self.body.push(&name, op, operands, shape, &self.lowering.computations, origin);
        added.map_err(|why| self.fail(why))
    }

    /// A parameter, or one for each array of a tuple.
    fn parameter(&mut self, shape: &ast::Shape, next: &mut usize) -> Result<Value> {
        if let ast::Shape::Tuple(shapes) = shape {
            let parts = shapes.iter().map(|shape| self.parameter(shape, next));
            return Ok(Value::Tuple(parts.collect::<Result<_>>()?));
        }
        let shape = shape_of(self.instruction, shape)?;
        *next += 1;
        Ok(Value::Array(self.add(Op::Parameter(*next - 1), vec![], Some(shape))?))
    }

    fn instruction(&mut self, mut operands: Vec<Value>) -> Result<Value> {
        match self.instruction.opcode.as_str() {
            "fusion" => self.inlined("calls", &operands),
            "call" | "map" => self.inlined("to_apply", &operands),
            "tuple" => Ok(Value::Tuple(operands)),
            "get-tuple-element" => {
                let index = self.attributes().number("index")?;
                match operands.pop() {
                    Some(Value::Tuple(mut parts)) if index < parts.len() => Ok(parts.swap_remove(index)),
                    _ => Err(self.fail(format!("the operand is no tuple with an element {index}"))),
                }
            }
            // (destination, source, context), of which `copy-done` gives the destination.
            "copy-start" => {
                let source = operands.pop().ok_or_else(|| self.fail("the operand is missing"))?;
                Ok(Value::Tuple(vec![source.clone(), source, Value::Nothing]))
            }
            "copy-done" => match operands.pop() {
                Some(Value::Tuple(mut parts)) if !parts.is_empty() => Ok(parts.swap_remove(0)),
                _ => Err(self.fail("the operand is no copy-start")),
            },
            "after-all" => Ok(Value::Nothing),
            "copy" | "opt-barrier" => {
                let op = if self.instruction.opcode == "copy" { Op::Copy } else { Op::OptimizationBarrier };
                let operand = operands.pop().ok_or_else(|| self.fail("the operand is missing"))?;
                self.each_array(&operand, &mut |emitter, id| emitter.emit(op.clone(), vec![id], None))
            }
            "while" => {
                let state = operands.pop().ok_or_else(|| self.fail("the operand is missing"))?;
                let mut arrays = Vec::new();
                state.leaves(&mut arrays);
                let op = Op::While { condition: self.region("condition")?, body: self.region("body")? };
                let looped = self.emit(op, arrays, None)?;
                let mut index = 0;
                self.each_array(&state, &mut |emitter, _| {
                    index += 1;
                    emitter.emit(Op::GetTupleElement(index - 1), vec![looped], None)
                })
            }
            _ => {
                let array = |value: &Value| match value {
                    Value::Array(id) => Ok(*id),
                    _ => Err(self.fail("an operand is a tuple, where an array is needed")),
                };
                let operands = operands.iter().map(array).collect::<Result<_>>()?;
                let result = operation::lower(self, operands)?;
                let Shape::Tuple(parts) = self.shape(result) else { return Ok(Value::Array(result)) };
                let parts = (0..parts.len()).map(|index| {
                    let element = self.emit(Op::GetTupleElement(index), vec![result], None)?;
                    Ok(Value::Array(element))
                });
                Ok(Value::Tuple(parts.collect::<Result<_>>()?))
            }
        }
    }

    fn inlined(&mut self, attribute: &str, arguments: &[Value]) -> Result<Value> {
        let callee = self.lowering.callee(self.instruction, attribute)?;
        let over = match self.instruction.opcode.as_str() {
            "map" => Some(self.claimed()?.dims().to_vec()),
            _ => self.scope.over.clone(),
        };
        let scope = Scope {
            within: self.scope.within.clone().or_else(|| Some(self.instruction.name.clone())),
            op_name: self.attributes().op_name().or_else(|| self.scope.op_name.clone()),
            over,
            depth: self.scope.depth + 1,
        };
        self.lowering.inline(callee, Some(arguments), self.body, &scope)
    }

    /// A value of the same structure, each array replaced by what `change` makes of it.
    fn each_array(
        &mut self,
        value: &Value,
        change: &mut dyn FnMut(&mut Self, ValueId) -> Result<ValueId>,
    ) -> Result<Value> {
        Ok(match value {
            Value::Array(id) => Value::Array(change(self, *id)?),
            Value::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.each_array(part, change));
                Value::Tuple(parts.collect::<Result<_>>()?)
            }
            Value::Nothing => Value::Nothing,
        })
    }
}

/// A written shape with the element types that there is arithmetic for.
fn shape_of(instruction: &ast::Instruction, shape: &ast::Shape) -> Result<Shape> {
    match shape {
        ast::Shape::Array { element: Element::Known(dtype), dims, .. } => {
            let count = dims.iter().try_fold(1u64, |count, d| count.checked_mul(*d)).filter(|c| *c <= ELEMENTS);
            if count.is_none() {
                return Err(LowerError::new(instruction, format!("an array of more than {ELEMENTS} elements")));
            }
            let dims = dims.iter().map(|d| *d as usize).collect();
            Ok(Shape::Array { dtype: *dtype, dims })
        }
        ast::Shape::Array { element: Element::Other(name), .. } => {
            let known: Vec<&str> = DTYPES.iter().map(|d| d.name()).collect();
            let why = format!("element type {name} is not supported; supported are {}", known.join(", "));
            Err(LowerError::new(instruction, why))
        }
        ast::Shape::Tuple(parts) => {
            let parts = parts.iter().map(|part| shape_of(instruction, part));
            Ok(Shape::Tuple(parts.collect::<Result<_>>()?))
        }
    }
}
