//! Values that depend on indices and constants alone: where LLVM unrolls the loop over them it computes them when it compiles, and
//! rounds each operation.

use std::collections::{HashMap, HashSet};

use crate::ir::{Binary, Computation, Fusion, Instruction, Op, Unary, ValueId};

use super::emission::keeps_innermost;
use super::invariant::{FoldedColumns, Invariants, stand_in_the_innermost_loop};
use super::unroll::{ANALYZED, LOOP, is_small, is_worth_unrolling};

/// For each product that is contracted ([`super::find_contractions`]), the columns that LLVM folds nevertheless: those of
/// a compiled fusion, as far as the product depends on constants and on the index of the innermost loop.
///
/// That loop takes 32 elements a step (8 lanes, 4 at a time), or 8 where it is long and reads arrays. LLVM unrolls it below 300
/// instructions (`UnrollThreshold`); up to 10 steps it looks what unrolling saves (`UnrollMaxIterationsCountToAnalyze`): all
/// where nothing is read. What is left over behind the last full step is always folded (FACTS 3.2).
pub fn find_folded_columns(computation: &Computation, products: &[bool]) -> Vec<Option<FoldedColumns>> {
    let mut found = vec![None; products.len()];
    let mut codes: HashMap<Fusion, Option<Code>> = HashMap::new();
    let mut known = Known::new();
    let mut inside: Option<Vec<bool>> = None;
    let invariants = Invariants::new(computation);
    for (id, _) in products.iter().enumerate().filter(|(_, contracted)| **contracted) {
        let Instruction { fusion: Some(fusion), shape, .. } = &computation.instructions[id] else { continue };
        let dims = shape.dims();
        let Some(innermost) = dims.iter().rposition(|extent| *extent > 1) else { continue };
        let is_known = depends_on(computation, *fusion, (id, innermost), &mut known);
        if !is_known {
            found[id] = invariants.first_step(id);
            continue;
        }
        let code = codes.entry(*fusion).or_insert_with(|| Code::new(computation, *fusion, &mut known));
        let Some(code) = code else { continue };
        let mut is_inside = || inside.get_or_insert_with(|| stand_in_the_innermost_loop(computation))[id];
        if code.reads == 0 || is_inside() {
            let columns = loop_over(computation, *fusion, (id, innermost), &mut HashMap::new());
            found[id] =
                Some(FoldedColumns { width: dims[innermost], first: code.first_folded(columns), end: dims[innermost] });
        }
    }
    found
}

/// Elements of a register.
const LANES: usize = 8;

/// Registers that take turns in a short loop.
const REGISTERS: usize = 4;

/// Operations and reads of the longest loop that is a short one (LLVM's `SmallLoopCost`, 20, less what each loop has).
const SHORT: usize = 13;

/// The innermost loop of a fusion.
struct Code {
    /// Operations for each element, beside the index made a float and the store.
    operations: usize,
    /// Those of them that are folded if the loop is unrolled.
    folded: usize,
    /// Reads that change from element to element, and others, of which one is counted.
    reads: usize,
    reads_rows: bool,
}

impl Code {
    /// `None` where there are operations that are not folded, or whose cost is not known.
    fn new(computation: &Computation, fusion: Fusion, known: &mut Known) -> Option<Code> {
        let instructions = &computation.instructions;
        let mut code = Code { operations: 0, folded: 0, reads: 0, reads_rows: false };
        let mut read = HashSet::new();
        for (id, instruction) in instructions.iter().enumerate().filter(|(_, i)| i.fusion == Some(fusion)) {
            let dims = instruction.shape.dims();
            let spreads = matches!(&instruction.op, Op::Broadcast { dims: to } if !keeps_innermost(to, dims));
            let outside = instruction.operands.iter().filter(|operand| instructions[**operand].fusion != Some(fusion));
            for operand in outside.filter(|operand| !matches!(instructions[**operand].op, Op::Constant(_))) {
                code.reads_rows |= spreads;
                code.reads += usize::from(!spreads && read.insert(*operand));
            }
            let operations = operations(&instruction.op)?;
            if dims.iter().all(|extent| *extent == 1) {
                continue;
            }
            code.operations += operations;
            let innermost = dims.iter().rposition(|extent| *extent > 1);
            if innermost.is_some_and(|dim| operations > 0 && depends_on(computation, fusion, (id, dim), known)) {
                code.folded += operations;
            }
        }
        code.reads = code.reads.max(usize::from(code.reads_rows));
        Some(code)
    }

    /// The first of so many columns that is folded, with all behind it.
    fn first_folded(&self, width: usize) -> usize {
        let Code { operations, folded, reads, .. } = *self;
        let operations = operations + reads;
        let registers = if reads > 0 && operations > SHORT { 1 } else { REGISTERS };
        let step = LANES * registers;
        let steps = width / step;
        // Beside the operations there are the index made a float and the store, an index and an address for each register, and
        // where arrays are read another index.
        let instructions = registers * (operations + 2) + registers + usize::from(reads > 0);
        let saved = registers * (folded + 1) + registers + LOOP;
        let unrolled = is_small(steps, instructions)
            || steps <= ANALYZED && (reads == 0 || is_worth_unrolling(steps, instructions + LOOP, saved));
        if unrolled { 0 } else { steps * step }
    }
}

/// How many instructions an operation is for each element; `None` for those that are not folded.
fn operations(op: &Op) -> Option<usize> {
    Some(match op {
        Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. } | Op::Convert | Op::Concatenate { .. } => 0,
        Op::Copy | Op::Reshape | Op::Slice { .. } => 0,
        Op::Binary(Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide) => 1,
        // Two comparisons and a choice.
        Op::Binary(Binary::Maximum | Binary::Minimum) => 3,
        Op::Clamp => 6,
        Op::Unary(Unary::Negate | Unary::Abs) | Op::Compare { .. } | Op::Select => 1,
        _ => return None,
    })
}

/// What is known of values and dims: one and the same value may be read many times.
type Known = HashMap<(ValueId, usize), bool>;

/// Whether a value depends on constants alone and on no other index than that of the dim.
fn depends_on(computation: &Computation, fusion: Fusion, (id, dim): (ValueId, usize), known: &mut Known) -> bool {
    if let Some(depends) = known.get(&(id, dim)) {
        return *depends;
    }
    let instruction = &computation.instructions[id];
    let shape_of = |id: ValueId| &computation.instructions[id].shape;
    let mut of = |operand: ValueId, dim: usize| depends_on(computation, fusion, (operand, dim), known);
    let depends = match &instruction.op {
        Op::Constant(value) => value.len() == 1,
        _ if instruction.fusion != Some(fusion) => return false,
        Op::Iota { dim: counted } => *counted == dim,
        Op::Broadcast { dims: to } => match to.iter().position(|to| *to == dim) {
            Some(from) => of(instruction.operands[0], from),
            None => shape_of(instruction.operands[0]).elements() == 1,
        },
        Op::Reshape if shape_of(instruction.operands[0]).dims() != instruction.shape.dims() => false,
        Op::Concatenate { dim: joined } if *joined != dim => false,
        _ => instruction.operands.iter().all(|operand| of(*operand, dim)),
    };
    known.insert((id, dim), depends);
    depends
}

/// The columns of the loop that a value which depends on one index is computed in: arrays that are joined have loops of their own,
/// of which the longest counts.
fn loop_over(
    computation: &Computation,
    fusion: Fusion,
    (id, dim): (ValueId, usize),
    found: &mut HashMap<ValueId, usize>,
) -> usize {
    if let Some(columns) = found.get(&id) {
        return *columns;
    }
    let instruction = &computation.instructions[id];
    let extent = |id: ValueId| computation.instructions[id].shape.dims().get(dim).copied().unwrap_or(1);
    let columns = match &instruction.op {
        _ if instruction.fusion != Some(fusion) => None,
        Op::Concatenate { .. } => instruction.operands.iter().map(|operand| extent(*operand)).max(),
        Op::Unary(_) | Op::Binary(_) | Op::Convert => {
            instruction.operands.iter().map(|operand| loop_over(computation, fusion, (*operand, dim), found)).min()
        }
        _ => None,
    };
    let columns = columns.unwrap_or_else(|| extent(id)).min(extent(id));
    found.insert(id, columns);
    columns
}
