//! Loops over indices and constants alone, which LLVM unrolls and computes when it compiles: there it rounds each operation.

use crate::ir::{Binary, Computation, Fusion, Op, Unary, ValueId};

use super::unroll::{ANALYZED, is_small};

/// Where the products of a value are rounded although they are added: columns that a compiler has computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldedColumns {
    /// The columns of the value, along its innermost dim of more than one element.
    pub width: usize,
    /// The first of them that is folded; all behind it are.
    pub first: usize,
}

/// For each product that is contracted ([`super::find_contractions`]), the columns that LLVM folds nevertheless: those of
/// a compiled fusion that reads nothing, as far as the product depends on constants and on the index of the innermost loop.
///
/// That loop takes 32 elements a step (8 lanes, 4 at a time). Up to 10 steps LLVM looks what unrolling saves
/// (`UnrollMaxIterationsCountToAnalyze`), which is all; longer ones it unrolls below 300 instructions
/// (`UnrollThreshold`). What is left over behind the last full step is always folded (FACTS 3.2).
pub fn find_folded_columns(computation: &Computation, products: &[bool]) -> Vec<Option<FoldedColumns>> {
    let mut found = vec![None; products.len()];
    for (id, _) in products.iter().enumerate().filter(|(_, contracted)| **contracted) {
        let instruction = &computation.instructions[id];
        let Some(operations) = instruction.fusion.and_then(|fusion| operations(computation, fusion)) else { continue };
        let dims = instruction.shape.dims();
        let Some(innermost) = dims.iter().rposition(|extent| *extent > 1) else { continue };
        if !depends_on(computation, id, innermost) {
            continue;
        }
        let width = dims[innermost];
        let steps = width / STEP;
        let unrolled = steps <= ANALYZED || is_small(steps, OVERHEAD + LANES_AT_A_TIME * (operations + 2));
        found[id] = Some(FoldedColumns { width, first: if unrolled { 0 } else { steps * STEP } });
    }
    found
}

/// Elements of a step of a vectorized loop: 8 lanes, 4 at a time.
const STEP: usize = 8 * LANES_AT_A_TIME;
const LANES_AT_A_TIME: usize = 4;

/// Instructions of a step beside those for its elements and those of the loop: 3 other indices and the address.
const OVERHEAD: usize = 4;

/// How many instructions a fusion's operations are for each element, beside the index made a float and the store; `None`
/// where it reads anything, or has operations that are not folded.
fn operations(computation: &Computation, fusion: Fusion) -> Option<usize> {
    let instructions = &computation.instructions;
    let mut inside = instructions.iter().filter(|instruction| instruction.fusion == Some(fusion));
    inside.try_fold(0, |sum, instruction| {
        let reads = instruction.operands.iter().any(|operand| instructions[*operand].fusion != Some(fusion));
        let steps = match instruction.op {
            _ if reads => None,
            Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. } | Op::Convert | Op::Concatenate { .. } => Some(0),
            Op::Binary(Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide) => Some(1),
            // Two comparisons and a choice.
            Op::Binary(Binary::Maximum | Binary::Minimum) => Some(3),
            Op::Unary(Unary::Negate | Unary::Abs) | Op::Compare { .. } | Op::Select => Some(1),
            _ => None,
        };
        steps.map(|steps| sum + steps)
    })
}

/// Whether a value that reads nothing depends on no other index than that of the dim.
fn depends_on(computation: &Computation, id: ValueId, dim: usize) -> bool {
    let instruction = &computation.instructions[id];
    match &instruction.op {
        Op::Iota { dim: counted } => *counted == dim,
        Op::Constant(value) => value.len() == 1,
        Op::Broadcast { dims } => match dims.iter().position(|to| *to == dim) {
            Some(from) => depends_on(computation, instruction.operands[0], from),
            None => computation.instructions[instruction.operands[0]].shape.elements() == 1,
        },
        Op::Concatenate { .. } => false,
        _ => instruction.operands.iter().all(|operand| depends_on(computation, *operand, dim)),
    }
}
