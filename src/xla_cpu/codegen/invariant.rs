//! Products that are invariant in a loop around the innermost one. If LLVM unrolls the innermost loop, it computes them
//! before the outer one (`LICM`), in another basic block than their sums, and rounds them there (FACTS 3.11).

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use crate::ir::{Binary, Class, Computation, Fusion, Instruction, Op, Shape, Unary, ValueId};

use super::LANES;
use super::innermost::{keeps_innermost, spreads};
use super::known::known_number;
use super::sum_loop::leaves_no_loop;
use super::sum_weight::{OF_REGISTER_OF_CALLS, is_opaque, is_scalar_call, weight};
use super::unroll::{is_small, is_unrolled};

/// The size of a loop, in instructions, below which LLVM interleaves registers until it reaches that size
/// (`SmallLoopCost`).
const SHORT: usize = 20;

/// Number of interleaved registers in the shortest loop.
const REGISTERS: usize = 4;

pub(crate) use crate::machine::FoldedColumns;

/// The innermost loops of a computation's fusions.
pub struct Invariants<'c> {
    computation: &'c Computation,
    bodies: RefCell<HashMap<Fusion, Body>>,
    /// For each value, whether it is computed in its fusion's innermost loop.
    inside: OnceCell<Vec<bool>>,
    /// For each value, the sum of whose terms it is part.
    sums: OnceCell<Vec<Option<ValueId>>>,
}

/// The innermost loop of a fusion, for each element.
#[derive(Clone, Default)]
struct Body {
    instructions: usize,
    /// The calls of functions that LLVM knows nothing of.
    calls: Vec<ValueId>,
    /// Number of iterations: elements of the last value's innermost dim.
    columns: usize,
}

impl<'c> Invariants<'c> {
    /// The innermost loops of one computation, analysed when they are asked for.
    pub fn new(computation: &'c Computation) -> Invariants<'c> {
        Invariants { computation, bodies: RefCell::default(), inside: OnceCell::new(), sums: OnceCell::new() }
    }

    /// Whether a product is computed before the loop of its sum.
    pub fn leaves(&self, product: ValueId) -> bool {
        let Some(fusion) = self.computation.instructions[product].fusion() else { return false };
        if !is_same_for_all_rows(self.computation, fusion, product) {
            return false;
        }
        match self.sums.get_or_init(|| sums_along(self.computation))[product] {
            Some(sum) => leaves_no_loop(self.computation, sum),
            None => self.left(product).is_some_and(|(body, _)| body.calls.is_empty() || body.is_unrolled_first()),
        }
    }

    /// The columns of a product that are computed before the loop of its sum, if that loop calls functions that may not
    /// return. Reads behind the first call stay in the loop (`isGuaranteedToExecute`), and with them all columns but
    /// those of the first step.
    pub fn first_step(&self, product: ValueId) -> Option<FoldedColumns> {
        let (body, step) = self.left(product).filter(|(body, _)| !body.is_unrolled_first())?;
        let is_before = body.calls.iter().any(|call| depends(self.computation, *call, product));
        let width = self.computation.instructions[product].shape.elements();
        (!body.calls.is_empty()).then_some(FoldedColumns { width, first: 0, end: if is_before { step } else { 0 } })
    }

    /// The columns of a product that leave loops whose two branches both add it, if the columns are unrolled. Code in a
    /// branch stays there if the index of the loop around the columns decides the branch. But both branches end with
    /// the same code, that of the last column, and LLVM merges it behind them (`SimplifyCFG`).
    pub fn leave_branches(&self, product: ValueId) -> Option<FoldedColumns> {
        let instructions = &self.computation.instructions;
        let Instruction { shape, .. } = &instructions[product];
        let fusion = instructions[product].fusion()?;
        let mut behind = readers(self.computation, fusion, product);
        let update = behind.find(|reader| instructions[*reader].op == Op::DynamicUpdateSlice)?;
        let width = shape.elements();
        let sides = &instructions[update].operands[..2];
        let instructions = sides.iter().map(|side| instructions_that_add(self.computation, (fusion, *side), product));
        let leaves = instructions.map(|count| is_small(width, STORE + count?).then_some(())).collect::<Option<()>>();
        let first = if is_decided_around_columns(self.computation, update)? { width - 1 } else { 0 };
        leaves.map(|()| FoldedColumns { width, first, end: width })
    }

    /// The loop that a product can leave if there are no calls in it, and the number of elements of a step.
    fn left(&self, product: ValueId) -> Option<(Body, usize)> {
        let Instruction { shape, .. } = &self.computation.instructions[product];
        let fusion = self.computation.instructions[product].fusion()?;
        let inside = self.inside.get_or_init(|| stand_in_the_innermost_loop(self.computation));
        if !inside[product] || !is_same_for_all_rows(self.computation, fusion, product) {
            return None;
        }
        let mut bodies = self.bodies.borrow_mut();
        let body = bodies.entry(fusion).or_insert_with(|| Body::new(self.computation, fusion, inside));
        let turns = (SHORT / body.instructions.max(1)).clamp(1, REGISTERS);
        let registers = 1 << turns.ilog2();
        let step = LANES * registers;
        let columns = shape.elements().min(body.columns);
        // Beside these there is an address for each register.
        is_unrolled(columns / step, registers * (body.instructions + 1)).then(|| (body.clone(), step))
    }
}

impl Body {
    /// Whether the loop is unrolled before it is vectorized. Each read then has a known address in its array, and is
    /// valid whatever is called before it.
    fn is_unrolled_first(&self) -> bool {
        is_small(self.columns, self.instructions)
    }

    fn new(computation: &Computation, fusion: Fusion, inside: &[bool]) -> Body {
        let instructions = &computation.instructions;
        let mut read = HashSet::new();
        // The store.
        let mut body = Body { instructions: 1, ..Body::default() };
        for (id, instruction) in instructions.iter().enumerate().filter(|(_, i)| i.fusion() == Some(fusion)) {
            body.columns = last_extent(instruction).unwrap_or(1);
            if spreads(instruction) || !inside[id] || instruction.shape.elements() == 1 {
                continue;
            }
            let outside =
                instruction.operands.iter().filter(|operand| instructions[**operand].fusion() != Some(fusion));
            let arrays = outside.filter(|operand| instructions[**operand].shape.elements() > 1);
            body.instructions += arrays.filter(|operand| read.insert(**operand)).count();
            body.calls.extend(is_opaque(instruction).then_some(id));
            body.instructions += match &instruction.op {
                Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. } | Op::Concatenate { .. } => 0,
                Op::Copy | Op::Reshape | Op::Slice { .. } | Op::Transpose { .. } | Op::Tuple => 0,
                // A factor has the opposite sign, or a sum is a difference.
                Op::Unary(Unary::Negate) => 0,
                Op::Unary(Unary::Abs) => 1,
                op if is_scalar_call(op) => OF_REGISTER_OF_CALLS,
                // The loop is one of two then.
                Op::Select if spreads(&instructions[instruction.operands[0]]) => 0,
                _ => weight(computation, id).0,
            };
        }
        body
    }
}

/// Instructions of a store.
const STORE: usize = 1;

/// Whether the index of the loop around the columns decides the branch of an update; `None` if that is not known. A
/// transpose that is not copied moves nothing: the loops are those of the updated array.
fn is_decided_around_columns(computation: &Computation, update: ValueId) -> Option<bool> {
    let instructions = &computation.instructions;
    let Instruction { shape, operands, .. } = &instructions[update];
    let fusion = instructions[update].fusion();
    let [all, part] = [shape, &instructions[operands[1]].shape].map(Shape::dims);
    let mut loops: Vec<usize> = (0..all.len()).collect();
    let moves: Vec<&Op> = readers(computation, fusion?, update).map(|reader| &instructions[reader].op).collect();
    match moves[..] {
        [] | [Op::Transpose { .. }] => {}
        [Op::Transpose { permutation }, Op::Copy] => loops.clone_from(permutation),
        _ => return None,
    }
    let mut inner = loops.into_iter().rev().filter(|dim| all[*dim] > 1);
    let [columns, around] = [inner.next()?, inner.next()?];
    let is_cut = |dim: usize| all[dim] != part[dim];
    (columns + 1 == all.len() && !is_cut(columns)).then(|| is_cut(around))
}

/// Number of instructions that compute an element of a value, reads included, if it adds the row that is the same for
/// all rows.
fn instructions_that_add(computation: &Computation, (fusion, id): (Fusion, ValueId), row: ValueId) -> Option<usize> {
    let instructions = &computation.instructions;
    let (mut seen, mut left, mut count, mut adds) = (HashSet::from([id]), vec![id], 0, false);
    let spreads_row = |operand: &ValueId| {
        matches!(instructions[*operand].op, Op::Broadcast { .. }) && instructions[*operand].operands == [row]
    };
    while let Some(id) = left.pop() {
        let instruction = &instructions[id];
        let is_number = instruction.shape.elements() == 1 || known_number(computation, id, Some(fusion)).is_some();
        count += match instruction.op.class() {
            _ if is_number => continue,
            _ if instruction.fusion() != Some(fusion) => 1,
            Class::Elementwise | Class::Converts => weight(computation, id).0,
            _ => 0,
        };
        if instruction.fusion() == Some(fusion) {
            let sums = matches!(instruction.op, Op::Binary(Binary::Add | Binary::Subtract));
            adds |= sums && instruction.operands.iter().any(spreads_row);
            left.extend(instruction.operands.iter().copied().filter(|operand| seen.insert(*operand)));
        }
    }
    adds.then_some(count)
}

/// Whether a value depends on another one.
fn depends(computation: &Computation, id: ValueId, on: ValueId) -> bool {
    let mut reached = vec![false; computation.instructions.len()];
    reached[id] = true;
    for at in (on..=id).rev().filter(|at| *at != on) {
        if reached[at] {
            computation.instructions[at].operands.iter().for_each(|operand| reached[*operand] = true);
        }
    }
    reached[on]
}

/// Whether a product is one row, and is added to rows.
fn is_same_for_all_rows(computation: &Computation, fusion: Fusion, product: ValueId) -> bool {
    extents_spread(computation, fusion, product).len() == 1
        && is_added_to_more(computation, fusion, product, |op| {
            matches!(op, Op::Broadcast { .. } | Op::Copy | Op::Reshape)
        })
}

/// The extents above 1 of a value, after the copies and reshapes that follow it.
pub fn extents_spread(computation: &Computation, fusion: Fusion, id: ValueId) -> Vec<usize> {
    let instructions = &computation.instructions;
    let mut as_they_are = readers(computation, fusion, id)
        .take_while(|reader| matches!(instructions[*reader].op, Op::Copy | Op::Reshape));
    let shape = &instructions[as_they_are.by_ref().last().unwrap_or(id)].shape;
    shape.dims().iter().copied().filter(|extent| *extent > 1).collect()
}

/// Whether a product is added to an array of more elements, through operations that `passes` admits.
pub fn is_added_to_more(
    computation: &Computation,
    fusion: Fusion,
    product: ValueId,
    passes: impl Fn(&Op) -> bool,
) -> bool {
    let shape_of = |id: ValueId| &computation.instructions[id].shape;
    let op_of = |id: ValueId| &computation.instructions[id].op;
    let sum = readers(computation, fusion, product).find(|reader| !passes(op_of(*reader)));
    sum.is_some_and(|sum| {
        let adds = matches!(op_of(sum), Op::Binary(Binary::Add | Binary::Subtract));
        adds && shape_of(sum).elements() > shape_of(product).elements()
    })
}

/// The first user of a value, the first user of that, and so on within the fusion.
pub fn readers(computation: &Computation, fusion: Fusion, id: ValueId) -> impl Iterator<Item = ValueId> {
    let instructions = &computation.instructions;
    let reader_of = move |id: ValueId| {
        let reader = (id + 1..instructions.len()).find(|reader| instructions[*reader].operands.contains(&id))?;
        (instructions[reader].fusion() == Some(fusion)).then_some(reader)
    };
    std::iter::successors(reader_of(id), move |id| reader_of(*id))
}

/// For each value of a computation, whether its innermost dim is that of all values that its fusion computes from it.
pub fn stand_in_the_innermost_loop(computation: &Computation) -> Vec<bool> {
    let instructions = &computation.instructions;
    let mut inside = vec![true; instructions.len()];
    for (id, reader) in instructions.iter().enumerate().rev() {
        // The place is known.
        if reader.shape.elements() == 1 {
            continue;
        }
        let keeps = keeps_loop(computation, reader);
        for operand in reader.operands.iter().filter(|operand| instructions[**operand].fusion() == reader.fusion()) {
            inside[*operand] &= reader.fusion().is_some() && keeps && inside[id];
        }
    }
    inside
}

/// For each value of a computation, the sum over its innermost dim of whose terms it is part.
fn sums_along(computation: &Computation) -> Vec<Option<ValueId>> {
    let instructions = &computation.instructions;
    let mut along = vec![None; instructions.len()];
    for (id, reader) in instructions.iter().enumerate().rev() {
        let of_reader = match (&reader.op, &reader.operands[..]) {
            (Op::Reduce { dims, .. }, &[term, _]) => {
                let innermost = instructions[term].shape.dims().iter().rposition(|extent| *extent > 1);
                innermost.filter(|dim| dims.contains(dim)).map(|_| id)
            }
            _ => along[id].filter(|_| keeps_loop(computation, reader)),
        };
        for operand in reader.operands.iter().filter(|operand| instructions[**operand].fusion() == reader.fusion()) {
            along[*operand] = along[*operand].or(of_reader).filter(|_| reader.fusion().is_some());
        }
    }
    along
}

/// Whether an operation's innermost dim is that of its operands.
fn keeps_loop(computation: &Computation, reader: &Instruction) -> bool {
    match &reader.op {
        Op::Broadcast { dims } => keeps_innermost(dims, reader.shape.dims()),
        Op::Reshape => {
            let [from, to] = [&computation.instructions[reader.operands[0]], reader].map(last_extent);
            from.zip(to).is_some_and(|(from, to)| from.is_multiple_of(to))
        }
        Op::Transpose { permutation } => permutation.last().is_some_and(|from| from + 1 == permutation.len()),
        Op::Slice { .. } | Op::Concatenate { .. } | Op::Copy | Op::Convert | Op::Tuple => true,
        Op::Unary(_) | Op::Binary(_) | Op::Compare { .. } | Op::Select | Op::Clamp => true,
        _ => false,
    }
}

/// The extent of the innermost dim of several elements.
fn last_extent(instruction: &Instruction) -> Option<usize> {
    instruction.shape.dims().iter().copied().rfind(|extent| *extent > 1)
}
