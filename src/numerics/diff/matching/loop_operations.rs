//! Operations that only one of two loops has.

use std::collections::{HashMap, HashSet};

use crate::ir::{Binary, Compare, Unary};

use super::super::expression::{Edge, ExpressionHead, ExpressionId, Expressions, ReductionOperation};

/// Whether an operation makes bits that no operand has, which are rounded.
pub fn makes_bits(head: &ExpressionHead) -> bool {
    use Binary::{Maximum, Minimum};
    match head {
        ExpressionHead::Unary(unary) => !matches!(unary, Unary::Negate | Unary::Abs | Unary::Sign),
        ExpressionHead::Binary(binary) => !matches!(binary, Maximum | Minimum),
        ExpressionHead::Reduce { by, .. } | ExpressionHead::Scan { by, .. } | ExpressionHead::Window { by, .. } => {
            !matches!(by, ReductionOperation::Known(Maximum | Minimum))
        }
        ExpressionHead::Reciprocal | ExpressionHead::FromIntegers | ExpressionHead::Constant(_) => true,
        ExpressionHead::Rounded(_) | ExpressionHead::Accumulated(_) | ExpressionHead::Fused => true,
        _ => false,
    }
}

/// Whether an expression has no operands.
pub fn is_leaf(expressions: &Expressions, id: ExpressionId) -> bool {
    expressions.get(id).1.is_empty()
}

/// Operations that only one of two expressions has anywhere below. Loops carry values that the compiler chooses, in any
/// order, so places are left out. The number of times counts if both loops carry as many values, and so as many
/// counters. Roundings are always counted.
pub fn differences(expressions: &Expressions, sides: [ExpressionId; 2]) -> [Vec<ExpressionHead>; 2] {
    let [one, other] = sides.map(|id| expressions.get(id).1.len());
    // With other carried values come other counters: then how often an operation is there says nothing.
    let counts = one == other;
    let [left, right] = sides.map(|id| {
        let mut operations = HashMap::<ExpressionHead, usize>::new();
        for part in expressions.parts([id]).into_iter().filter(|part| !is_of_the_loop(expressions, *part)) {
            *operations.entry(without_sizes(expressions.get(part).0)).or_default() += 1;
        }
        operations
    });
    let only = |own: &HashMap<ExpressionHead, usize>, other: &HashMap<ExpressionHead, usize>| -> Vec<ExpressionHead> {
        let is_more = |head: &ExpressionHead, count: usize| match other.get(head) {
            Some(others) => (counts || matches!(head, ExpressionHead::Rounded(_))) && *others < count,
            None => true,
        };
        own.iter().filter(|(head, count)| is_more(head, **count)).map(|(head, _)| head.clone()).collect()
    };
    match [only(&left, &right), only(&right, &left)] {
        [one, other] if one.is_empty() && other.is_empty() => {
            let [left, right] = sides.map(|id| uses_of_roundings(expressions, id));
            [more_used(&left, &right), more_used(&right, &left)]
        }
        found => found,
    }
}

/// A rounding, and the operation that has it as an operand.
type RoundingUse = (ExpressionHead, ExpressionHead);

/// The number of times that each rounding below an expression is an operand of each operation that computes. A value that is
/// rounded for one user and not for another is the same operations as one that is rounded for both.
fn uses_of_roundings(expressions: &Expressions, id: ExpressionId) -> HashMap<RoundingUse, usize> {
    let mut uses = HashMap::new();
    for part in expressions.parts([id]).into_iter().filter(|part| !is_of_the_loop(expressions, *part)) {
        let (head, operands) = expressions.get(part);
        for operand in operands {
            let rounding = expressions.get(*operand).0;
            if matches!(rounding, ExpressionHead::Rounded(_)) && !matches!(head, ExpressionHead::Rounded(_)) {
                *uses.entry((rounding.clone(), without_sizes(head))).or_default() += 1;
            }
        }
    }
    uses
}

/// Roundings with more uses than in another loop.
fn more_used(own: &HashMap<RoundingUse, usize>, other: &HashMap<RoundingUse, usize>) -> Vec<ExpressionHead> {
    let more = own.iter().filter(|(of, count)| other.get(of).is_none_or(|others| others < *count));
    let roundings: HashSet<&ExpressionHead> = more.map(|((rounding, _), _)| rounding).collect();
    roundings.into_iter().cloned().collect()
}

/// An operation without the sizes of its arrays and the region of its own, which loops of two compilers choose freely.
fn without_sizes(head: &ExpressionHead) -> ExpressionHead {
    let known = |by: &ReductionOperation| match by {
        ReductionOperation::Known(binary) => ReductionOperation::Known(*binary),
        ReductionOperation::Region(_) => ReductionOperation::Region(0),
    };
    match head {
        ExpressionHead::Table(_) => ExpressionHead::Table(0),
        ExpressionHead::Reduce { by, .. } => ExpressionHead::Reduce { by: known(by), results: 0 },
        ExpressionHead::Index { largest, .. } => ExpressionHead::Index { largest: *largest, results: 0 },
        ExpressionHead::Scan { by, .. } => ExpressionHead::Scan { by: known(by), rows: 0 },
        ExpressionHead::Window { window, by } => ExpressionHead::Window { window: window.clone(), by: known(by) },
        ExpressionHead::Pad(edges) => ExpressionHead::Pad(edges.iter().map(|edge| Edge { size: 0, ..*edge }).collect()),
        ExpressionHead::Scatter { by, .. } => ExpressionHead::Scatter { by: known(by), part: 0 },
        ExpressionHead::Opaque(opaque) => ExpressionHead::Other(opaque.name.clone()),
        head => head.clone(),
    }
}

/// Whether an expression has to do with how a loop runs: what it carries, what its first trip takes instead, and where
/// elements lie.
fn is_of_the_loop(expressions: &Expressions, id: ExpressionId) -> bool {
    let (head, operands) = expressions.get(id);
    match head {
        ExpressionHead::Loop(_) | ExpressionHead::Argument(_) | ExpressionHead::Integers | ExpressionHead::Select => {
            true
        }
        ExpressionHead::Slice(_)
        | ExpressionHead::Gather { .. }
        | ExpressionHead::Reverse
        | ExpressionHead::Concatenate
        | ExpressionHead::Update => true,
        ExpressionHead::Compare(Compare::Eq | Compare::Ne) => operands.iter().all(|id| is_leaf(expressions, *id)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Precision;
    use crate::tensor::DType;

    #[test]
    fn sizes_are_no_part_of_what_a_loop_does() {
        let mut expressions = Expressions::default();
        let add = ReductionOperation::Known(Binary::Add);
        let mut looping = |head: ExpressionHead| {
            let x = expressions.leaf(ExpressionHead::Argument(0));
            let body = expressions.apply(head, vec![x]);
            expressions.apply(ExpressionHead::Loop(0), vec![body])
        };
        let rows = looping(ExpressionHead::Reduce { by: add, results: 8 });
        let columns = looping(ExpressionHead::Reduce { by: add, results: 16 });
        let largest = looping(ExpressionHead::Reduce { by: ReductionOperation::Known(Binary::Maximum), results: 8 });
        assert!(differences(&expressions, [rows, columns]).iter().all(Vec::is_empty));
        assert!(differences(&expressions, [rows, largest]).iter().all(|only| only.len() == 1));
    }

    /// Both loops round one value for one user, and only the first rounds it for the other user as well.
    #[test]
    fn a_rounding_for_fewer_users_is_a_difference() {
        let mut expressions = Expressions::default();
        let bf16 = Precision::of_dtype(DType::BF16).unwrap();
        let mut looping = |is_rounded: bool| {
            let x = expressions.leaf(ExpressionHead::Argument(0));
            let wide = expressions.apply(ExpressionHead::Unary(Unary::Tanh), vec![x]);
            let narrow = expressions.apply(ExpressionHead::Rounded(bf16), vec![wide]);
            let of = if is_rounded { narrow } else { wide };
            let users = [(Unary::Log, narrow), (Unary::Exponential, of)];
            let body = users.map(|(unary, of)| expressions.apply(ExpressionHead::Unary(unary), vec![of]));
            expressions.apply(ExpressionHead::Loop(0), body.to_vec())
        };
        let [both, one] = [looping(true), looping(false)];
        let rounding = vec![ExpressionHead::Rounded(bf16)];
        assert_eq!(differences(&expressions, [both, one]), [rounding.clone(), vec![]]);
        assert_eq!(differences(&expressions, [one, both]), [vec![], rounding]);
    }
}
