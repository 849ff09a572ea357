//! What is not rounded inside a fusion: products that are added at once, and values that a library keeps wide.

use std::collections::HashMap;

use crate::ir::{Binary, Computation, ComputationId, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::emission::{Emission, is_no_negative_zero, keeps_innermost};

/// For each value of a computation, whether it is an f32 product, or one moved or negated, whose only reader adds or
/// subtracts it in the same fusion, or sums it up with others (`sums` says which regions do): a compiler that contracts
/// (LLVM's `AllowFPOpFusion::Fast`, as XLA:CPU sets it) makes one fused multiply-add of both. Of two products the left one
/// is contracted, as in LLVM's `visitFADDForFMACombine`; the left operand of an addition is the one of lower rank
/// (`Emission::exchanges`), or what a negated product is subtracted from. An exponential ends in a product, and is exact
/// however that is taken: where it is the left one, the other is rounded.
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
        let term = |operand: &ValueId| product_behind(computation, uses, *operand, instruction.fusion);
        let terms: Vec<Product> = instruction.operands.iter().filter_map(term).collect();
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
                        let emission =
                            emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion)));
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

/// For each value of a computation, whether it sums products of f32 in code without a loop, from a zero that is left out: of
/// the first two products the first is contracted then ([`find_contractions`]), the second rounded.
///
/// LLVM unrolls a loop that has less than `UNROLLED` instructions then; `products` are the values that
/// [`find_contractions`] found.
pub fn find_sums_without_zero(computation: &Computation, products: &[bool]) -> Vec<bool> {
    let starts = |instruction: &Instruction| {
        let (Op::Reduce { dims, .. }, Some(Fusion::Compiled(_)), [term, init]) =
            (&instruction.op, instruction.fusion, &instruction.operands[..])
        else {
            return false;
        };
        let terms = &computation.instructions[*term];
        let extents = terms.shape.dims();
        let count: usize = dims.iter().map(|d| extents[*d]).product();
        let zero = is_zero(computation, *init);
        products[*term] && zero && is_no_negative_zero(computation, *term) && {
            let emission = Emission::of_sum(computation, instruction.fusion, *term);
            count * (emission.instructions() as usize + LOOP) + 2 < UNROLLED
        }
    };
    computation.instructions.iter().map(starts).collect()
}

/// For each value of a computation, into how many lanes of rows LLVM's loop vectorizer takes a sum of products over two dims,
/// whose rows' loop is unrolled: 1 where it takes none. Differences make it worth its while, and elements of neighbouring rows
/// that lie side by side (FACTS 3.2); `products` are the values that [`find_contractions`] found.
pub fn find_lanes_of_rows(computation: &Computation, products: &[bool]) -> Vec<usize> {
    let lanes = |instruction: &Instruction| {
        let (Op::Reduce { dims, .. }, [term, init]) = (&instruction.op, &instruction.operands[..]) else { return 1 };
        let terms = &computation.instructions[*term];
        let extents: Vec<usize> = dims.iter().map(|d| terms.shape.dims()[*d]).collect();
        let &[rows, columns] = &extents[..] else { return 1 };
        if !products[*term] || terms.shape.dims().len() != 2 || !is_zero(computation, *init) {
            return 1;
        }
        let emission = Emission::of_sum(computation, instruction.fusion, *term);
        let across = emission.has(|op| matches!(op, Op::Transpose { .. }));
        let worth = across || emission.has(|op| *op == Op::Binary(Binary::Subtract));
        match rows {
            _ if !worth || columns * (emission.instructions() as usize + LOOP) + 2 >= UNROLLED => 1,
            2 if across || emission.reads() == 1 => 2,
            4 => 4,
            _ if rows.is_multiple_of(8) => 8,
            _ => 1,
        }
    };
    computation.instructions.iter().map(lanes).collect()
}

/// LLVM's threshold of a loop's size that is unrolled.
const UNROLLED: usize = 300;

/// Instructions of a loop beside a term's own: the addition, and that of the index.
const LOOP: usize = 2;

fn is_zero(computation: &Computation, id: ValueId) -> bool {
    matches!(&computation.instructions[id].op, Op::Constant(value) if value.data().to_f32s() == [0.0])
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

/// The product of the same fusion that `id` is, each value on the way read once.
fn product_behind(
    computation: &Computation,
    uses: &[usize],
    mut id: ValueId,
    fusion: Option<Fusion>,
) -> Option<Product> {
    let negates = |id: ValueId| computation.instructions[id].op == Op::Unary(Unary::Negate);
    let is_bare = |id: &ValueId| negates(*id) && computation.instructions[*id].fusion == fusion;
    let known =
        |id: &ValueId| spread_number(computation, *id).filter(|_| computation.instructions[*id].fusion == fusion);
    let mut path = Vec::new();
    let mut negated = false;
    loop {
        let instruction = &computation.instructions[id];
        if uses[id] != 1 || instruction.fusion != fusion {
            return None;
        }
        path.push(id);
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
            Op::Unary(Unary::Negate)
            | Op::Broadcast { .. }
            | Op::Copy
            | Op::DynamicSlice { .. }
            | Op::Reshape
            | Op::Reverse { .. }
            | Op::Slice { .. }
            | Op::Transpose { .. } => {
                negated ^= negates(id);
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

/// The number that a value is at all places, where a compiler knows it.
fn spread_number(computation: &Computation, mut id: ValueId) -> Option<f32> {
    while let Op::Broadcast { .. } | Op::Reshape | Op::Copy = computation.instructions[id].op {
        id = computation.instructions[id].operands[0];
    }
    match &computation.instructions[id].op {
        Op::Constant(value) if value.len() == 1 => value.data().to_f32s().first().copied(),
        _ => None,
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
