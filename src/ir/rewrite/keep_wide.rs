//! The change to a program by hand that leaves out a rounding: an operation's result kept in a wider type.

use std::collections::BTreeSet;

use crate::analysis::Regions;
use crate::ir::{
    Binary, Class, Computation, ComputationId, Instruction, Op, Precision, Program, Shape, ShapeError, Unary, ValueId,
    infer,
};
use crate::tensor::{DType, Data, Tensor};

/// `program` with the results of these instructions kept in f32, or in f64 if they are f32 already.
///
/// Operations that compute with a kept result read it wide, compute in its type, and round to their own type as before.
/// Operations that move or pick elements hand on the wider type, through loops as well, and so do results of the
/// program. Dots that are kept, or that read a kept value, have the highest precision; a dot of f32 operands stays f32.
///
/// # Errors
/// If the rewritten program is invalid, because an operation does not take the wider type.
pub fn keep_wide(program: &Program, kept: &BTreeSet<(ComputationId, ValueId)>) -> Result<Program, ShapeError> {
    let regions = Regions::new(program);
    let mut widening = Widening {
        program,
        kept,
        regions: &regions,
        parameters: program.computations.iter().map(parameters).collect(),
        shapes: program.computations.iter().map(|c| c.instructions.iter().map(|i| i.shape.clone()).collect()).collect(),
    };
    // Types only ever widen, so this ends.
    while widening.pass() {}
    widening.rewritten()
}

fn parameters(computation: &Computation) -> Vec<Shape> {
    computation.parameter_shapes().into_iter().cloned().collect()
}

/// The type that holds the roundings of results of `dtype`.
fn wider(dtype: DType) -> DType {
    match dtype {
        DType::F32 | DType::F64 => DType::F64,
        narrow if narrow.is_float() => DType::F32,
        other => other,
    }
}

/// A float type that holds both.
fn join(a: DType, b: DType) -> DType {
    match (a, b) {
        (a, b) if a == b || !b.is_float() => a,
        (a, b) if !a.is_float() => b,
        // Two different narrow types meet in f32, which holds both.
        (DType::F64, _) | (_, DType::F64) => DType::F64,
        _ => DType::F32,
    }
}

fn join_shapes(a: &Shape, b: &Shape) -> Shape {
    match (a, b) {
        (Shape::Tuple(a), Shape::Tuple(b)) => Shape::Tuple(a.iter().zip(b).map(|(a, b)| join_shapes(a, b)).collect()),
        _ => match (a.dtype(), b.dtype()) {
            (Some(one), Some(other)) => a.with_dtype(join(one, other)),
            _ => a.clone(),
        },
    }
}

/// The shape with floats in at least this type; integers stay.
fn at_least(shape: &Shape, dtype: DType) -> Shape {
    match shape {
        Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| at_least(part, dtype)).collect()),
        array if array.dtype().is_some_and(DType::is_float) => array.with_dtype(join(array.element_type(), dtype)),
        other => other.clone(),
    }
}

struct Widening<'p> {
    program: &'p Program,
    kept: &'p BTreeSet<(ComputationId, ValueId)>,
    regions: &'p Regions,
    /// The new shapes of each computation's parameters, by their number.
    parameters: Vec<Vec<Shape>>,
    /// The new shape of each value.
    shapes: Vec<Vec<Shape>>,
}

impl Widening<'_> {
    /// Widens what is next to something wide; whether anything changed.
    fn pass(&mut self) -> bool {
        let before = (self.parameters.clone(), self.shapes.clone());
        for (at, computation) in self.program.computations.iter().enumerate() {
            for (id, instruction) in computation.instructions.iter().enumerate() {
                if let Op::While { condition, body } = instruction.op {
                    self.join_state(at, instruction, [condition, body]);
                }
                self.shapes[at][id] = join_shapes(&self.shapes[at][id], &self.becomes(at, id));
            }
        }
        (&self.parameters, &self.shapes) != (&before.0, &before.1)
    }

    /// Widens the state of a loop to the types of its init values and of the body's results.
    fn join_state(&mut self, at: ComputationId, instruction: &Instruction, callees: [ComputationId; 2]) {
        let root = self.program.computations[callees[1]].root;
        let next = self.shapes[callees[1]][root].clone();
        for (number, operand) in instruction.operands.iter().enumerate() {
            let mut state = self.shapes[at][*operand].clone();
            if let Shape::Tuple(parts) = &next {
                state = join_shapes(&state, &parts[number]);
            }
            // Condition and body take one state: what widens for one widens for both.
            for callee in callees {
                state = join_shapes(&state, &self.parameters[callee][number]);
            }
            callees.iter().for_each(|callee| self.parameters[*callee][number] = state.clone());
        }
    }

    /// The type that an instruction's result has beside operands as they are now.
    fn becomes(&self, at: ComputationId, id: ValueId) -> Shape {
        let instruction = &self.program.computations[at].instructions[id];
        let (declared, kept) = (&instruction.shape, self.kept.contains(&(at, id)));
        let operand = |number: usize| &self.shapes[at][instruction.operands[number]];
        match &instruction.op {
            Op::Parameter(number) if at != self.program.entry => self.parameters[at][*number].clone(),
            Op::Tuple => {
                let parts = Shape::Tuple((0..instruction.operands.len()).map(|n| operand(n).clone()).collect());
                // The next state of a loop is as wide as what the loop begins with.
                let state = Some(id).filter(|id| *id == self.program.computations[at].root);
                let state = state.and_then(|_| self.parameters_of_loop(at)).map(|state| Shape::Tuple(state.to_vec()));
                state.map_or(parts.clone(), |state| join_shapes(&parts, &state))
            }
            Op::GetTupleElement(index) => match operand(0) {
                Shape::Tuple(parts) => parts[*index].clone(),
                other => other.clone(),
            },
            Op::While { body, .. } => Shape::Tuple(self.parameters[*body].clone()),
            Op::Convert if kept => match (declared.dtype(), operand(0).dtype()) {
                (Some(to), Some(from)) if from.is_float() => declared.with_dtype(join(to, from)),
                (Some(to), _) => declared.with_dtype(wider(to)),
                _ => declared.clone(),
            },
            Op::ReducePrecision { .. } if kept => operand(0).clone(),
            op if self.hands_on(op) => at_least(declared, self.common(at, instruction)),
            // Already as exact as it is asked for where its operands are.
            Op::Dot { .. } if kept && self.common(at, instruction) == DType::F32 => declared.with_dtype(DType::F32),
            Op::BitcastConvert | Op::Opaque(_) => declared.clone(),
            op if kept && !matches!(op.class(), Class::Source | Class::Calls) => {
                at_least(declared, wider(float_type(declared)))
            }
            _ => declared.clone(),
        }
    }

    /// Whether an operation rounds nothing, so that its result may be as wide as what it is given.
    fn hands_on(&self, op: &Op) -> bool {
        match op {
            Op::Select | Op::Clamp | Op::Unary(Unary::Abs | Unary::Negate) => true,
            Op::Binary(Binary::Maximum | Binary::Minimum) => true,
            Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. } => {
                self.regions.reducer_but_for_rounding(*to_apply).is_some_and(|reducer| reducer.picks())
            }
            _ => matches!(op.class(), Class::Moves | Class::Ranks),
        }
    }

    /// The type that holds all float operands, start indices aside.
    fn common(&self, at: ComputationId, instruction: &Instruction) -> DType {
        let count = instruction.op.first_start().unwrap_or(instruction.operands.len());
        let dtypes = instruction.operands[..count].iter().filter_map(|operand| self.shapes[at][*operand].dtype());
        dtypes.filter(|dtype| dtype.is_float()).reduce(join).unwrap_or(DType::Pred)
    }

    fn rewritten(&self) -> Result<Program, ShapeError> {
        let mut computations: Vec<Computation> = Vec::new();
        let mut moved: Vec<ComputationId> = Vec::new();
        for at in 0..self.program.computations.len() {
            let new = self.computation(at, &moved, &mut computations)?;
            computations.push(new);
            moved.push(computations.len() - 1);
        }
        Ok(Program { computations, entry: moved[self.program.entry], ..self.program.clone() })
    }

    #[expect(clippy::too_many_lines, reason = "one pass with one state")]
    fn computation(
        &self,
        at: ComputationId,
        moved: &[ComputationId],
        computations: &mut Vec<Computation>,
    ) -> Result<Computation, ShapeError> {
        let old = &self.program.computations[at];
        let mut new = Copied { instructions: Vec::new(), values: Vec::new() };
        for (id, instruction) in old.instructions.iter().enumerate() {
            let becomes = &self.shapes[at][id];
            let declared = |o: &ValueId| &old.instructions[*o].shape;
            let is_same = *becomes == instruction.shape
                && instruction.operands.iter().all(|o| self.shapes[at][*o] == *declared(o))
                && !self.kept.contains(&(at, id));
            let mut op = instruction.op.clone();
            op.callees_mut().for_each(|callee| *callee = moved[*callee]);
            let mut computed = becomes.clone();
            let operands: Vec<ValueId> = match &mut op {
                _ if is_same => instruction.operands.iter().map(|o| new.values[*o]).collect(),
                Op::Parameter(_) | Op::Convert | Op::Tuple | Op::GetTupleElement(_) => {
                    let state =
                        (id == old.root && at != self.program.entry).then(|| self.parameters_of_loop(at)).flatten();
                    let wanted = |(n, o): (usize, &ValueId)| match &state {
                        Some(state) => new_operand(&mut new, *o, state[n].dtype()),
                        None => new.values[*o],
                    };
                    instruction.operands.iter().enumerate().map(wanted).collect()
                }
                Op::While { .. } => {
                    let Shape::Tuple(state) = becomes else { return Err(ShapeError("a loop gives a tuple".into())) };
                    let operands = instruction.operands.iter().zip(state);
                    operands.map(|(o, shape)| new_operand(&mut new, *o, shape.dtype())).collect()
                }
                Op::ReducePrecision { .. } if self.kept.contains(&(at, id)) => {
                    op = Op::Copy;
                    vec![new.values[instruction.operands[0]]]
                }
                Op::BitcastConvert | Op::Call { .. } | Op::Opaque(_) => {
                    let operands = instruction.operands.iter();
                    operands.map(|o| new_operand(&mut new, *o, declared(o).dtype())).collect()
                }
                op => {
                    let common = join(self.common(at, instruction), float_type(becomes));
                    // Products of bf16 are exact in f32: such a dot stays as it is but for its result.
                    let narrow = matches!(op, Op::Dot { .. })
                        && common != DType::F64
                        && instruction.operands.iter().all(|o| self.shapes[at][*o] == *declared(o));
                    if let Op::Dot { precision, .. } = op {
                        // What is kept wide is not to be split into passes of bf16.
                        *precision = [Precision::Highest; 2];
                    }
                    let region = match op {
                        Op::Reduce { to_apply, .. }
                        | Op::ReduceWindow { to_apply, .. }
                        | Op::Scatter { to_apply, .. }
                        | Op::Sort { to_apply, .. } => Some(to_apply),
                        _ => None,
                    };
                    if let Some(region) = region {
                        computations.push(in_type(&computations[*region], common));
                        *region = computations.len() - 1;
                    }
                    if !matches!(op, Op::Compare { .. } | Op::Unary(Unary::IsFinite)) {
                        computed = if narrow { becomes.clone() } else { at_least(&instruction.shape, common) };
                    }
                    let operands = instruction.operands.iter();
                    operands
                        .map(|o| match declared(o).dtype() {
                            Some(dtype) if dtype.is_float() && !narrow => new_operand(&mut new, *o, Some(common)),
                            _ => new.values[*o],
                        })
                        .collect()
                }
            };
            // A mark of the truth says what the declared numbers stand for, which other types do not.
            let mark = instruction.mark.clone().filter(|mark| is_same || !mark.is_of_truth());
            let changed = Instruction { op, operands, shape: computed.clone(), mark, ..instruction.clone() };
            let changed = if is_same { changed } else { changed.with_record(|compiled| compiled.library = None) };
            let shapes: Vec<&Shape> = changed.operands.iter().map(|o| &new.instructions[*o].shape).collect();
            let found = infer(&changed.op, &shapes, computations, Some(&computed))?;
            let last = new.push(Instruction { shape: found, ..changed });
            let value = match (&computed, becomes) {
                (Shape::Tuple(parts), Shape::Tuple(wanted)) if parts != wanted => {
                    let parts: Vec<ValueId> = (0..parts.len()).map(|n| new.part(last, n, &wanted[n])).collect();
                    new.add(last, "parts", Op::Tuple, parts, becomes.clone())
                }
                (Shape::Array { .. }, _) if computed != *becomes => {
                    new.add(last, "rounded", Op::Convert, vec![last], becomes.clone())
                }
                _ => last,
            };
            new.values.push(value);
        }
        Ok(Computation { name: old.name.clone(), root: new.values[old.root], instructions: new.instructions })
    }

    /// The shapes of the loop's state, if the computation is a loop's body.
    fn parameters_of_loop(&self, at: ComputationId) -> Option<&[Shape]> {
        let is_body = self.program.instructions().any(|i| matches!(i.op, Op::While { body, .. } if body == at));
        is_body.then(|| &self.parameters[at][..])
    }
}

/// A computation in the making.
struct Copied {
    instructions: Vec<Instruction>,
    /// For each old value, the new one.
    values: Vec<ValueId>,
}

impl Copied {
    fn push(&mut self, instruction: Instruction) -> ValueId {
        self.instructions.push(instruction);
        self.instructions.len() - 1
    }

    /// An instruction that is named after another.
    fn add(&mut self, of: ValueId, what: &str, op: Op, operands: Vec<ValueId>, shape: Shape) -> ValueId {
        let name = format!("{}.{what}.{}", self.instructions[of].name, self.instructions.len());
        self.push(Instruction::new(name, op, operands, shape))
    }

    /// An element of a tuple, in this type.
    fn part(&mut self, tuple: ValueId, index: usize, wanted: &Shape) -> ValueId {
        let Shape::Tuple(parts) = &self.instructions[tuple].shape else { return tuple };
        let shape = parts[index].clone();
        let part = self.add(tuple, "part", Op::GetTupleElement(index), vec![tuple], shape.clone());
        if shape == *wanted { part } else { self.add(part, "rounded", Op::Convert, vec![part], wanted.clone()) }
    }
}

/// The new value of an old one, converted to this type.
fn new_operand(new: &mut Copied, old: ValueId, dtype: Option<DType>) -> ValueId {
    let value = new.values[old];
    let shape = &new.instructions[value].shape;
    match (shape.dtype(), dtype) {
        (Some(has), Some(wanted)) if has != wanted => {
            let shape = shape.with_dtype(wanted);
            new.add(value, "as", Op::Convert, vec![value], shape)
        }
        _ => value,
    }
}

/// The type that holds all floats of a shape; a predicate's where there is none.
fn float_type(shape: &Shape) -> DType {
    match shape {
        Shape::Tuple(parts) => parts.iter().map(float_type).reduce(join).unwrap_or(DType::Pred),
        array => array.dtype().filter(|dtype| dtype.is_float()).unwrap_or(DType::Pred),
    }
}

/// A region with every float in at least this type.
fn in_type(region: &Computation, dtype: DType) -> Computation {
    let mut wide = region.clone();
    for instruction in &mut wide.instructions {
        instruction.shape = at_least(&instruction.shape, dtype);
        if let Op::Constant(value) = &instruction.op
            && value.dtype().is_float()
            && let Some(data) = Data::from_f64s(instruction.shape.element_type(), &value.data().to_f64s())
        {
            instruction.op = Op::Constant(Tensor::new(value.dims(), data));
        }
    }
    wide.name = format!("{}.{dtype}", wide.name);
    wide
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Builder;

    /// A function of a value that is kept rounds to its own type, but for one that only changes signs; a kept one does not.
    #[test]
    fn functions_of_what_is_kept_round_to_their_own_type() {
        for unary in Unary::ALL.iter().copied().filter(|unary| unary.takes(DType::BF16)) {
            let mut b = Builder::new("kept");
            let x = b.parameter("x", DType::BF16, &[4]).unwrap();
            let square = b.binary(Binary::Multiply, x, x).unwrap();
            let result = b.unary(unary, square).unwrap();
            let declared = b.shape(result).dtype();
            let program = b.finish(&[("result", result)]).unwrap();
            let dtype = |kept: &[ValueId]| {
                let wide = keep_wide(&program, &kept.iter().map(|id| (program.entry, *id)).collect()).unwrap();
                wide.entry().instructions[wide.outputs()[0]].shape.dtype()
            };
            let hands_on = matches!(unary, Unary::Abs | Unary::Negate);
            let wide = if declared == Some(DType::BF16) { Some(DType::F32) } else { declared };
            assert_eq!(dtype(&[]), declared, "{unary:?}");
            assert_eq!(dtype(&[square]), if hands_on { wide } else { declared }, "{unary:?}");
            assert_eq!(dtype(&[square, result]), wide, "{unary:?}");
        }
    }

    /// A sum of several arrays is kept in a type beyond that of all their floats, wherever these stand.
    #[test]
    fn sums_of_several_arrays_are_kept_beyond_all_their_floats() {
        let (integer, narrow, wide, widest) = (DType::S32, DType::BF16, DType::F32, DType::F64);
        for (dtypes, kept) in [
            ([integer, narrow], [integer, wide]),
            ([narrow, integer], [wide, integer]),
            ([narrow, wide], [widest; 2]),
            ([wide, narrow], [widest; 2]),
        ] {
            let mut b = Builder::new("sums");
            let arrays = dtypes.map(|dtype| b.parameter(dtype.name(), dtype, &[4]).unwrap());
            let zeros = dtypes.map(|dtype| b.constant(dtype, 0.0).unwrap());
            let region = b.region("both", |b| {
                let before = [b.parameter("before.0", dtypes[0], &[])?, b.parameter("before.1", dtypes[1], &[])?];
                let next = [b.parameter("next.0", dtypes[0], &[])?, b.parameter("next.1", dtypes[1], &[])?];
                let sums = [b.binary(Binary::Add, before[0], next[0])?, b.binary(Binary::Add, before[1], next[1])?];
                b.op(Op::Tuple, &sums)
            });
            let op = Op::Reduce { dims: vec![0], to_apply: region.unwrap() };
            let sums = b.op(op, &[arrays, zeros].concat()).unwrap();
            let parts = [0, 1].map(|at| b.tuple_element(sums, at).unwrap());
            let program = b.finish(&[("one", parts[0]), ("other", parts[1])]).unwrap();
            let rewritten = keep_wide(&program, &[(program.entry, sums)].into()).unwrap();
            let found: Vec<Option<DType>> =
                rewritten.outputs().iter().map(|id| rewritten.entry().instructions[*id].shape.dtype()).collect();
            assert_eq!(found, kept.map(Some), "{dtypes:?}");
        }
    }
}
