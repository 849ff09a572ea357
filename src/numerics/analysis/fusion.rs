//! What is not rounded inside a fusion: products that are added at once, and values that a library keeps wide.

use std::collections::HashMap;

use crate::ir::{Binary, Computation, ComputationId, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::emission::{Emission, keeps_innermost};

/// For each value of a computation, whether it is an f32 product, or one moved or negated, whose only reader adds or
/// subtracts it in the same fusion, or sums it up with others (`sums` says which regions do): a compiler that contracts
/// (LLVM's `AllowFPOpFusion::Fast`, as XLA:CPU sets it) makes one fused multiply-add of both. Of two products the left one
/// is contracted, as in LLVM's `visitFADDForFMACombine`; the left operand of an addition is the one of lower rank
/// (`Emission::sort_operands`).
///
/// A product that does not change along the innermost dim is computed before the innermost loop, and rounded there. `uses`
/// is how often each value is read, the root once more.
pub fn find_contractions(computation: &Computation, uses: &[usize], sums: impl Fn(ComputationId) -> bool) -> Vec<bool> {
    let instructions = &computation.instructions;
    let mut contracted = vec![false; instructions.len()];
    let mut emissions: HashMap<Fusion, Emission> = HashMap::new();
    for (id, instruction) in instructions.iter().enumerate() {
        let compiled = matches!(instruction.fusion, Some(Fusion::Compiled(_)));
        let adds = match instruction.op {
            Op::Binary(Binary::Add | Binary::Subtract) => true,
            Op::Reduce { to_apply, .. } => sums(to_apply),
            _ => false,
        };
        if !compiled || !adds || instruction.shape.dtype() != Some(DType::F32) {
            continue;
        }
        let path = |operand: &ValueId| path_to_product(computation, uses, *operand, instruction.fusion);
        let mut paths: Vec<Vec<ValueId>> = instruction.operands.iter().filter_map(path).collect();
        if let ([_, _], Op::Binary(Binary::Add), Some(fusion)) = (&paths[..], &instruction.op, instruction.fusion) {
            let emission = emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion)));
            emission.sort_operands(id, &mut paths);
        }
        paths.into_iter().next().unwrap_or_default().into_iter().for_each(|id| contracted[id] = true);
    }
    contracted
}

/// For each value of a computation, whether it rounds f32 to bf16 for nobody but a conversion back to f32 in the same custom
/// fusion: the library that XLA:CPU leaves such fusions to keeps the value as it is (FACTS 10.3). `uses` is how often each
/// value is read, the root once more.
pub fn find_kept_wide(computation: &Computation, uses: &[usize]) -> Vec<bool> {
    let instructions = &computation.instructions;
    let mut kept = vec![false; instructions.len()];
    for wide in instructions {
        let (Op::Convert, Some(DType::F32), Some(Fusion::Custom(_))) = (&wide.op, wide.shape.dtype(), wide.fusion)
        else {
            continue;
        };
        let narrow = wide.operands[0];
        let Instruction { op, operands, shape, fusion, .. } = &instructions[narrow];
        if *op == Op::Convert
            && *fusion == wide.fusion
            && shape.dtype() == Some(DType::BF16)
            && instructions[operands[0]].shape.dtype() == Some(DType::F32)
            && uses[narrow] == 1
        {
            kept[narrow] = true;
        }
    }
    kept
}

/// The values from `id` back to a product of the same fusion, each read once.
fn path_to_product(
    computation: &Computation,
    uses: &[usize],
    mut id: ValueId,
    fusion: Option<Fusion>,
) -> Option<Vec<ValueId>> {
    let mut path = Vec::new();
    loop {
        let instruction = &computation.instructions[id];
        if uses[id] != 1 || instruction.fusion != fusion {
            return None;
        }
        path.push(id);
        match &instruction.op {
            Op::Binary(Binary::Multiply) => return varies_inside(computation, id).then_some(path),
            Op::Broadcast { dims } if !keeps_innermost(dims, instruction.shape.dims()) => return None,
            Op::Unary(Unary::Negate)
            | Op::Broadcast { .. }
            | Op::Copy
            | Op::DynamicSlice { .. }
            | Op::Reshape
            | Op::Reverse { .. }
            | Op::Slice { .. }
            | Op::Transpose { .. } => id = instruction.operands[0],
            _ => return None,
        }
    }
}

/// Whether a value changes along its innermost dim, as far as broadcasts tell. A scalar stands in no loop.
fn varies_inside(computation: &Computation, id: ValueId) -> bool {
    let instruction = &computation.instructions[id];
    match &instruction.op {
        Op::Broadcast { dims } => keeps_innermost(dims, instruction.shape.dims()),
        Op::Constant(_) => instruction.shape.elements() != 1,
        Op::Binary(_) if !instruction.shape.dims().is_empty() => {
            instruction.operands.iter().any(|operand| varies_inside(computation, *operand))
        }
        Op::Unary(_) if !instruction.shape.dims().is_empty() => varies_inside(computation, instruction.operands[0]),
        _ => true,
    }
}
