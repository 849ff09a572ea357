use std::sync::Arc;

use super::find_contractions;
use crate::ir::{Binary, Builder, Compare, Fusion, LibraryFunction, Op, ShapeError, Unary, ValueId};
use crate::tensor::DType;

type Built = Result<Vec<ValueId>, ShapeError>;

/// For each of the values that `body` makes of four arrays, the last one being the result, whether it joins a sum
/// before it is rounded.
fn contracted(body: impl Fn(&mut Builder, [ValueId; 4]) -> Built) -> Vec<bool> {
    contracted_in(false, body)
}

/// The same; `complex` says whether the sums and differences are parts of complex products.
fn contracted_in(complex: bool, body: impl Fn(&mut Builder, [ValueId; 4]) -> Built) -> Vec<bool> {
    let mut builder = Builder::new("m");
    let arrays = ["a", "b", "c", "d"].map(|name| builder.parameter(name, DType::F32, &[8]).unwrap());
    let values = body(&mut builder, arrays).unwrap();
    let result = values[values.len() - 1];
    let mut program = builder.finish(&[("r", result)]).unwrap();
    let entry = program.entry;
    let computation = &mut program.computations[entry];
    for instruction in &mut computation.instructions[arrays.len()..=result] {
        instruction.record(|compiled| compiled.fusion = Some(Fusion::Compiled(0)));
        let is_part = complex && matches!(instruction.op, Op::Binary(Binary::Add | Binary::Subtract));
        instruction.record(|compiled| compiled.library = is_part.then(|| Arc::new(LibraryFunction::ComplexProduct)));
    }
    let mut uses = computation.uses();
    uses[computation.root] += 1;
    let contracted = find_contractions(computation, &uses, |_| true);
    values.into_iter().map(|id| contracted.products[id]).collect()
}

/// A product that a sum reads beside other users has code of its own there: it is not rounded before that addition.
/// Users of the same elements share the code.
#[test]
fn a_product_is_contracted_where_it_is_read_alone() {
    let sum = |along: usize| {
        let mut builder = Builder::new("m");
        let [a, b] = ["a", "b"].map(|name| builder.parameter(name, DType::F32, &[8]).unwrap());
        let product = builder.binary(Binary::Multiply, a, b).unwrap();
        let spread = builder.broadcast(product, &[8, 8], &[along]).unwrap();
        let root = builder.unary(Unary::Sqrt, spread).unwrap();
        let sum = builder.reduce(Binary::Add, root, 0.0, &[1]).unwrap();
        let result = builder.binary(Binary::Add, product, sum).unwrap();
        let mut program = builder.finish(&[("r", result)]).unwrap();
        let entry = program.entry;
        let computation = &mut program.computations[entry];
        (product..=result)
            .for_each(|id| computation.instructions[id].record(|compiled| compiled.fusion = Some(Fusion::Compiled(0))));
        let mut uses = computation.uses();
        uses[computation.root] += 1;
        let found = find_contractions(computation, &uses, |_| false);
        let exact = [(result, 0), (spread, 0)].map(|(reader, at)| found.is_exact_for(reader, at, product));
        (found.products[product], exact)
    };
    assert_eq!(sum(1), (true, [true, false]));
    // Along the other dim it is the same in every step of the sum's loop, and computed once.
    assert_eq!(sum(0), (false, [false, false]));
}

/// Of two products the one whose operands are available first is contracted. Reads are available in the order of the
/// code.
#[test]
fn a_product_of_what_is_computed_later_is_rounded() {
    let sum = |depth: usize| {
        contracted(|builder, [a, b, c, d]| {
            let mut deep = a;
            for _ in 0..depth {
                deep = builder.unary(Unary::Log, deep)?;
            }
            let (left, right) = (builder.binary(Binary::Multiply, deep, b)?, builder.binary(Binary::Multiply, c, d)?);
            Ok(vec![left, right, builder.binary(Binary::Add, left, right)?])
        })
    };
    assert_eq!(sum(0), [true, false, false]);
    // As high as the other: the order stays.
    assert_eq!(sum(3), [true, false, false]);
    assert_eq!(sum(5), [false, true, false]);
}

/// A call keeps its position, however deep its argument: the LLVM IR of a GRU, whose left product has a tanh in it.
#[test]
fn what_is_called_is_there_when_reads_are() {
    let sum = |last: Unary| {
        contracted(|builder, [a, b, c, d]| {
            let path = [[Unary::Log; 5].as_slice(), &[last]].concat();
            let deep = path.into_iter().try_fold(a, |deep, unary| builder.unary(unary, deep))?;
            let (left, right) = (builder.binary(Binary::Multiply, deep, b)?, builder.binary(Binary::Multiply, c, d)?);
            Ok(vec![left, builder.binary(Binary::Add, left, right)?])
        })
    };
    for called in [Unary::Cbrt, Unary::Erf, Unary::LogPlusOne, Unary::Rsqrt, Unary::Tanh] {
        assert_eq!(sum(called), [true, false], "{}", called.name());
    }
    for intrinsic in [Unary::Cosine, Unary::Exponential, Unary::Log, Unary::Sine, Unary::Sqrt, Unary::Tan] {
        assert_eq!(sum(intrinsic), [false, false], "{}", intrinsic.name());
    }
}

/// The parts of both factors are read before the imaginary part of their product.
#[test]
fn the_parts_of_complex_factors_are_there_first() {
    let imaginary = |complex: bool, real_part: bool| {
        contracted_in(complex, |builder, [a, b, c, d]| {
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
    assert_eq!(imaginary(false, false), [true, false, false]);
    assert_eq!(imaginary(true, true), [false, true, false]);
    // Real numbers that are multiplied and added so are none, and an imaginary part alone is one.
    assert_eq!(imaginary(false, true), [true, false, false]);
    assert_eq!(imaginary(true, false), [false, true, false]);
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

/// LLVM contracts block by block: a product before a concatenate is in another block than a sum behind it.
#[test]
fn a_product_before_branches_is_rounded() {
    let sum = |product_first: bool| {
        contracted(|builder, [a, b, c, d]| {
            let mut half = |x| {
                let slice = Op::Slice { start: vec![0], limit: vec![4], stride: vec![1] };
                let half = builder.op(slice, &[x])?;
                builder.unary(Unary::Sqrt, half)
            };
            let [c, d] = [half(c)?, half(d)?];
            let product = builder.binary(Binary::Multiply, a, b)?;
            // One concatenate alone would be split into its operands, each in a loop of its own.
            let joined = builder.op(Op::Concatenate { dim: 0 }, &[c, d])?;
            let exchanged = builder.op(Op::Concatenate { dim: 0 }, &[d, c])?;
            let joined = builder.binary(Binary::Add, joined, exchanged)?;
            // The code of the farthest operand comes first.
            let far = builder.unary(Unary::Negate, if product_first { product } else { joined })?;
            Ok(vec![product, builder.binary(Binary::Add, far, if product_first { joined } else { product })?])
        })
    };
    assert_eq!(sum(true), [false, false]);
    assert_eq!(sum(false), [true, false]);
}

/// The LLVM IR of `jax.scipy.special.kl_div` in jaxlib 0.8.1: one choice, after the difference.
#[test]
fn choices_by_one_predicate_are_made_after_the_sum() {
    let difference = |known: bool| {
        contracted(|builder, [a, b, c, d]| {
            let zero = builder.constant(DType::F32, 0.0)?;
            let zero = builder.splat(zero, &[8])?;
            let predicate = builder.compare(Compare::Gt, d, zero)?;
            let mut choice = |x, y| -> Result<[ValueId; 2], ShapeError> {
                let product = builder.binary(Binary::Multiply, x, y)?;
                let chosen = builder.select(predicate, product, if known { zero } else { x })?;
                Ok([product, chosen])
            };
            let (left, right) = (choice(a, b)?, choice(b, c)?);
            Ok(vec![left[0], left[1], right[0], builder.binary(Binary::Subtract, left[1], right[1])?])
        })
    };
    assert_eq!(difference(true), [true, true, false, false]);
    assert_eq!(difference(false), [false; 4]);
}
