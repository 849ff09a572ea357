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
        if let (true, Op::Binary(Binary::Subtract)) = (paths.is_empty(), &instruction.op) {
            paths.extend(path_through_choice(computation, uses, instruction));
        }
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

/// The values from the right operand of a subtraction back to a product, where it is a choice between that and a zero:
/// subtracting nothing is leaving the other operand as it is, so LLVM makes the choice afterwards, among whole registers
/// (`foldSelectWithIdentityConstant`, for processors with AVX-512).
fn path_through_choice(computation: &Computation, uses: &[usize], subtraction: &Instruction) -> Option<Vec<ValueId>> {
    let id = subtraction.operands[1];
    let choice = &computation.instructions[id];
    let &[_, on_true, on_false] = &choice.operands[..] else { return None };
    let register = choice.shape.elements() >= REGISTER;
    if choice.op != Op::Select || uses[id] != 1 || choice.fusion != subtraction.fusion || !register {
        return None;
    }
    let is_zero = spread_number(computation, on_false).is_some_and(|number| number.to_bits() == 0);
    let path = path_to_product(computation, uses, on_true, choice.fusion).filter(|_| is_zero)?;
    Some(path.into_iter().chain([id]).collect())
}

/// Elements of the smallest register of several.
const REGISTER: usize = 4;

/// The f32 that a constant has everywhere.
fn spread_number(computation: &Computation, mut id: ValueId) -> Option<f32> {
    while let Op::Broadcast { .. } = computation.instructions[id].op {
        id = computation.instructions[id].operands[0];
    }
    match &computation.instructions[id].op {
        Op::Constant(value) => value.data().to_f32s().first().copied().filter(|_| value.dims().is_empty()),
        _ => None,
    }
}

/// What a product by -1 negates: LLVM sees no product there.
fn negated(computation: &Computation, id: ValueId) -> Option<ValueId> {
    let &[left, right] = &computation.instructions[id].operands[..] else { return None };
    [(left, right), (right, left)]
        .into_iter()
        .find(|(_, factor)| spread_number(computation, *factor) == Some(-1.0))
        .map(|(other, _)| other)
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
            Op::Binary(Binary::Multiply) => {
                let before = negated(computation, id);
                let before = before.and_then(|before| path_to_product(computation, uses, before, fusion));
                if let Some(before) = before {
                    path.extend(before);
                    return Some(path);
                }
                return varies_inside(computation, id).then_some(path);
            }
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

#[cfg(test)]
mod tests {
    use super::find_contractions;
    use crate::ir::{Binary, Builder, Compare, Fusion, ShapeError, Unary, ValueId};
    use crate::tensor::DType;

    type Built = Result<Vec<ValueId>, ShapeError>;

    /// Which of the values that `body` makes of four arrays, the last one of which is the result, join a sum before they are
    /// rounded.
    fn contracted(body: impl Fn(&mut Builder, [ValueId; 4]) -> Built) -> Vec<bool> {
        let mut builder = Builder::new("m");
        let arrays = ["a", "b", "c", "d"].map(|name| builder.parameter(name, DType::F32, &[8]).unwrap());
        let values = body(&mut builder, arrays).unwrap();
        let mut program = builder.finish(&[("r", values[values.len() - 1])]).unwrap();
        let entry = program.entry;
        let computation = &mut program.computations[entry];
        (arrays.len()..=computation.root)
            .for_each(|id| computation.instructions[id].fusion = Some(Fusion::Compiled(0)));
        let mut uses = computation.uses();
        uses[computation.root] += 1;
        let contracted = find_contractions(computation, &uses, |_| true);
        values.into_iter().map(|id| contracted[id]).collect()
    }

    /// Of two products the one whose operands are there first is contracted: reads are, in the order of the code.
    #[test]
    fn a_product_of_what_is_computed_later_is_rounded() {
        let sum = |depth: usize| {
            contracted(|builder, [a, b, c, d]| {
                let mut deep = a;
                for _ in 0..depth {
                    deep = builder.unary(Unary::Log, deep)?;
                }
                let (left, right) =
                    (builder.binary(Binary::Multiply, deep, b)?, builder.binary(Binary::Multiply, c, d)?);
                Ok(vec![left, right, builder.binary(Binary::Add, left, right)?])
            })
        };
        assert_eq!(sum(0), [true, false, false]);
        // As high as the other: the order stays.
        assert_eq!(sum(3), [true, false, false]);
        assert_eq!(sum(5), [false, true, false]);
    }

    /// The parts of both factors are read before the imaginary part of their product.
    #[test]
    fn the_parts_of_complex_factors_are_there_first() {
        let imaginary = |real_part: bool| {
            contracted(|builder, [a, b, c, d]| {
                let mut deep = b;
                for _ in 0..3 {
                    deep = builder.unary(Unary::Log, deep)?;
                }
                let mut product = |x, y| builder.binary(Binary::Multiply, x, y);
                let [bc, ad, ac, bd] = [product(deep, c)?, product(a, d)?, product(a, c)?, product(deep, d)?];
                let imaginary = builder.binary(Binary::Add, bc, ad)?;
                let other = if real_part { Binary::Subtract } else { Binary::Maximum };
                let real = builder.binary(other, ac, bd)?;
                Ok(vec![bc, ad, builder.binary(Binary::Maximum, imaginary, real)?])
            })
        };
        assert_eq!(imaginary(false), [true, false, false]);
        assert_eq!(imaginary(true), [false, true, false]);
    }

    /// The LLVM IR of Adafactor's update and of `jax.scipy.special.kl_div`.
    #[test]
    fn negations_and_choices_hide_no_product() {
        let by = |factor: f64| {
            contracted(|builder, [a, b, c, _]| {
                let factor = builder.constant(DType::F32, factor)?;
                let factor = builder.splat(factor, &[8])?;
                let product = builder.binary(Binary::Multiply, a, b)?;
                let scaled = builder.binary(Binary::Multiply, product, factor)?;
                Ok(vec![product, scaled, builder.binary(Binary::Add, c, scaled)?])
            })
        };
        assert_eq!(by(-1.0), [true, true, false]);
        assert_eq!(by(-2.0), [false, true, false]);
        let choice = |zero: f64, binary: Binary| {
            contracted(|builder, [a, b, c, d]| {
                let zero = builder.constant(DType::F32, zero)?;
                let zero = builder.splat(zero, &[8])?;
                let predicate = builder.compare(Compare::Gt, d, zero)?;
                let product = builder.binary(Binary::Multiply, a, b)?;
                let chosen = builder.select(predicate, product, zero)?;
                Ok(vec![product, chosen, builder.binary(binary, c, chosen)?])
            })
        };
        assert_eq!(choice(0.0, Binary::Subtract), [true, true, false]);
        assert_eq!(choice(0.0, Binary::Add), [false, false, false]);
        assert_eq!(choice(1.0, Binary::Subtract), [false, false, false]);
    }
}
