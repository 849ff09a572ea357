//! What is not rounded inside a fusion: products that are added at once, and values that a library keeps wide.

use std::collections::HashMap;

use crate::ir::{Binary, Computation, ComputationId, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::codegen::Codegen;
use super::emission::{Emission, keeps_innermost};
use super::known::{known_number, negated_by};
use super::library_dot::LibraryDot;

/// For each value of a computation, whether it is an f32 product, or one moved or negated, whose only reader adds or
/// subtracts it in the same fusion, or sums it up with others (`sums` says which regions do): a compiler that contracts
/// (LLVM's `AllowFPOpFusion::Fast`, as XLA:CPU sets it) makes one fused multiply-add of both. Of two products the left one
/// is contracted, as in LLVM's `visitFADDForFMACombine`; the left operand of an addition is the one of lower rank
/// (`Emission::exchanges`), or what a negated product is subtracted from. An exponential ends in a product, and is exact
/// however that is taken: where it is the left one, the other is rounded.
///
/// A library that takes a sum of products for a dot does not round them either ([`LibraryDot`]).
///
/// A product that does not change along the innermost dim is computed before the innermost loop, and rounded there; so is one
/// before branches behind which the sum is. `uses` is how often each value is read, the root once more.
pub fn find_contractions(
    computation: &Computation,
    uses: &[usize],
    codegen: &Codegen,
    sums: impl Fn(ComputationId) -> bool,
) -> Vec<bool> {
    let instructions = &computation.instructions;
    let mut contracted = vec![false; instructions.len()];
    let mut emissions: HashMap<Fusion, Emission> = HashMap::new();
    for (id, instruction) in instructions.iter().enumerate() {
        contracted[id] |= instruction.fusion == Some(Fusion::Joined);
        let in_library = matches!(instruction.fusion, Some(Fusion::Custom(_))) && codegen.sums_are_dots;
        if in_library
            && let Op::Reduce { to_apply, .. } = instruction.op
            && sums(to_apply)
            && LibraryDot::of_sum(computation, instruction, uses).is_some()
        {
            contracted[instruction.operands[0]] = true;
        }
        let compiled = instruction.fusion.is_some_and(Fusion::is_compiled);
        let adds = match instruction.op {
            Op::Binary(Binary::Add | Binary::Subtract) => true,
            Op::Reduce { to_apply, .. } => sums(to_apply),
            _ => false,
        };
        if !compiled || !adds || instruction.shape.dtype() != Some(DType::F32) {
            continue;
        }
        let term = |operand: &ValueId| product_behind(computation, uses, *operand, instruction.fusion);
        let mut terms: Vec<Product> = match equal_choices(computation, uses, instruction) {
            Some(choices) => {
                choices.iter().filter_map(|[choice, chosen]| Some(term(chosen)?.by_way_of(*choice))).collect()
            }
            None => instruction.operands.iter().filter_map(term).collect(),
        };
        if let (true, Op::Binary(Binary::Subtract)) = (terms.is_empty(), &instruction.op) {
            terms.extend(product_behind_choice(computation, uses, instruction));
        }
        if let (Some(fusion), Op::Binary(_)) = (instruction.fusion, &instruction.op) {
            let emission = emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion), codegen));
            terms.retain(|term| !term.path.last().is_some_and(|product| emission.parts(*product, id)));
        }
        let first = match (&terms[..], &instruction.op, instruction.fusion) {
            ([left, right], Op::Binary(binary), Some(fusion)) => {
                let subtracts = *binary == Binary::Subtract;
                match (left.negated, right.negated != subtracts) {
                    // So does its Reassociate with a negative constant factor of one of them.
                    (false, false) if left.opposite != right.opposite => {
                        if left.opposite {
                            right
                        } else {
                            left
                        }
                    }
                    // A sum of both, in the order of their ranks.
                    (false, false) => {
                        let emission = emissions
                            .entry(fusion)
                            .or_insert_with(|| Emission::new(computation, Some(fusion), codegen));
                        let [one, other] = [left.path[0], right.path[0]];
                        if emission.exchanges(id, [one, other]) { right } else { left }
                    }
                    // LLVM's InstCombine makes c - ab of (-a)b + c.
                    (true, false) => right,
                    (true, true) if !subtracts || left.exponential => right,
                    (_, true) => left,
                }
            }
            ([only], ..) => only,
            _ => continue,
        };
        if !first.exponential {
            first.path.iter().for_each(|id| contracted[*id] = true);
        }
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

/// An operand of an addition that is a product.
struct Product {
    /// The values from the operand back to the product.
    path: Vec<ValueId>,
    /// Whether it is negated, on the way or by one of its factors, and no factor is a constant.
    negated: bool,
    /// Whether a constant factor is negative, after it has taken up such a sign.
    opposite: bool,
    /// Whether it is the last product of an exponential: that with a power of two, which is exact.
    exponential: bool,
}

impl Product {
    /// The same behind one value more.
    fn by_way_of(mut self, id: ValueId) -> Product {
        self.path.push(id);
        self
    }
}

/// The product behind the right operand of a subtraction, where that is a choice between it and a zero: subtracting nothing
/// is leaving the other operand as it is, so LLVM makes the choice afterwards, among whole registers
/// (`foldSelectWithIdentityConstant`, for processors with AVX-512).
fn product_behind_choice(computation: &Computation, uses: &[usize], subtraction: &Instruction) -> Option<Product> {
    let id = subtraction.operands[1];
    let choice = &computation.instructions[id];
    let &[_, on_true, on_false] = &choice.operands[..] else { return None };
    let register = choice.shape.elements() >= REGISTER;
    if choice.op != Op::Select || uses[id] != 1 || choice.fusion != subtraction.fusion || !register {
        return None;
    }
    let is_zero = known_number(computation, on_false, choice.fusion).is_some_and(|number| number.to_bits() == 0);
    Some(product_behind(computation, uses, on_true, choice.fusion).filter(|_| is_zero)?.by_way_of(id))
}

/// Both operands of an addition or subtraction, if they are choices by the same predicate between a value and a known number, each
/// with that value: LLVM adds the values and chooses afterwards, as the sum of the numbers is known
/// (`InstCombinerImpl::SimplifySelectsFeedingBinaryOp`).
fn equal_choices(computation: &Computation, uses: &[usize], sum: &Instruction) -> Option<[[ValueId; 2]; 2]> {
    let &[left, right] = &sum.operands[..] else { return None };
    let predicate = |id: ValueId| computation.instructions[id].operands[0];
    let is_choice = |id: ValueId| {
        let choice = &computation.instructions[id];
        choice.op == Op::Select && uses[id] == 1 && choice.fusion == sum.fusion
    };
    if !is_choice(left) || !is_choice(right) || predicate(left) != predicate(right) {
        return None;
    }
    let parts = [left, right].map(|id| [1, 2].map(|side| computation.instructions[id].operands[side]));
    let known = |side: usize| parts.iter().all(|part| known_number(computation, part[side], sum.fusion).is_some());
    let side = [1, 0].into_iter().find(|side| known(*side))?;
    Some([[left, parts[0][1 - side]], [right, parts[1][1 - side]]])
}

/// Elements of the smallest register of several.
const REGISTER: usize = 4;

/// The product of the same fusion that `id` is, each value on the way read once.
fn product_behind(
    computation: &Computation,
    uses: &[usize],
    mut id: ValueId,
    fusion: Option<Fusion>,
) -> Option<Product> {
    let is_bare =
        |id: &ValueId| computation.instructions[*id].fusion == fusion && negated_by(computation, *id).is_some();
    let known = |id: &ValueId| known_number(computation, *id, fusion);
    let mut path = Vec::new();
    let mut negated = false;
    loop {
        let instruction = &computation.instructions[id];
        if uses[id] != 1 || instruction.fusion != fusion {
            return None;
        }
        path.push(id);
        if let Some(operand) = negated_by(computation, id) {
            negated = !negated;
            id = operand;
            continue;
        }
        match &instruction.op {
            // LLVM's InstCombine makes |ab| of |a| |b|.
            Op::Binary(Binary::Multiply) if is_product_of_magnitudes(computation, uses, instruction) => return None,
            op @ (Op::Binary(Binary::Multiply) | Op::Unary(Unary::Exponential)) => {
                let exponential = *op == Op::Unary(Unary::Exponential);
                negated ^= !exponential && instruction.operands.iter().filter(|id| is_bare(id)).count() == 1;
                let constant = instruction.operands.iter().filter(|_| !exponential).find_map(known);
                let opposite = constant.is_some_and(|factor| factor.is_sign_negative() != negated);
                negated &= constant.is_none();
                return varies_inside(computation, id).then_some(Product { path, negated, opposite, exponential });
            }
            Op::Broadcast { dims } if !keeps_innermost(dims, instruction.shape.dims()) => return None,
            Op::Broadcast { .. }
            | Op::Copy
            | Op::DynamicSlice { .. }
            | Op::Reshape
            | Op::Reverse { .. }
            | Op::Slice { .. }
            | Op::Transpose { .. } => {
                id = instruction.operands[0];
            }
            _ => return None,
        }
    }
}

fn is_product_of_magnitudes(computation: &Computation, uses: &[usize], product: &Instruction) -> bool {
    let [a, b] = product.operands[..] else { return false };
    let is_magnitude = |id: ValueId| {
        let Instruction { op, fusion, .. } = &computation.instructions[id];
        *op == Op::Unary(Unary::Abs) && *fusion == product.fusion
    };
    a != b && is_magnitude(a) && is_magnitude(b) && (uses[a] == 1 || uses[b] == 1)
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

#[cfg(test)]
mod tests;
