//! Operations that only one of two loops has.

use std::collections::HashMap;

use crate::ir::{Binary, Compare, Unary};

use super::super::expression::{Combiner, Edge, ExpressionId, Expressions, Head};

/// Whether an operation makes bits that no operand has, which are rounded.
pub fn makes_bits(head: &Head) -> bool {
    use Binary::{Maximum, Minimum};
    match head {
        Head::Unary(unary) => !matches!(unary, Unary::Negate | Unary::Abs | Unary::Sign),
        Head::Binary(binary) => !matches!(binary, Maximum | Minimum),
        Head::Reduce { by, .. } | Head::Scan { by, .. } | Head::Window { by, .. } => {
            !matches!(by, Combiner::Known(Maximum | Minimum))
        }
        Head::Reciprocal | Head::FromIntegers | Head::Constant(_) => true,
        Head::Rounded(_) | Head::Accumulated(_) | Head::Fused => true,
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
pub fn differences(expressions: &Expressions, sides: [ExpressionId; 2]) -> [Vec<Head>; 2] {
    let [one, other] = sides.map(|id| expressions.get(id).1.len());
    let counts = one == other;
    let [left, right] = sides.map(|id| {
        let mut operations = HashMap::<Head, usize>::new();
        for part in expressions.parts([id]).into_iter().filter(|part| !is_of_the_loop(expressions, *part)) {
            *operations.entry(without_sizes(expressions.get(part).0)).or_default() += 1;
        }
        operations
    });
    let only = |own: &HashMap<Head, usize>, other: &HashMap<Head, usize>| -> Vec<Head> {
        let is_more = |head: &Head, count: usize| match other.get(head) {
            Some(others) => (counts || matches!(head, Head::Rounded(_))) && *others < count,
            None => true,
        };
        own.iter().filter(|(head, count)| is_more(head, **count)).map(|(head, _)| head.clone()).collect()
    };
    [only(&left, &right), only(&right, &left)]
}

/// An operation without the sizes of its arrays and the region of its own, which loops of two compilers choose freely.
fn without_sizes(head: &Head) -> Head {
    let known = |by: &Combiner| match by {
        Combiner::Known(binary) => Combiner::Known(*binary),
        Combiner::Region(_) => Combiner::Region(0),
    };
    match head {
        Head::Table(_) => Head::Table(0),
        Head::Reduce { by, .. } => Head::Reduce { by: known(by), results: 0 },
        Head::Index { largest, .. } => Head::Index { largest: *largest, results: 0 },
        Head::Scan { by, .. } => Head::Scan { by: known(by), rows: 0 },
        Head::Window { window, by } => Head::Window { window: window.clone(), by: known(by) },
        Head::Pad(edges) => Head::Pad(edges.iter().map(|edge| Edge { size: 0, ..*edge }).collect()),
        Head::Scatter { by, .. } => Head::Scatter { by: known(by), part: 0 },
        Head::Opaque(opaque) => Head::Other(opaque.name.clone()),
        head => head.clone(),
    }
}

/// Whether an expression has to do with how a loop runs: what it carries, what its first trip takes instead, and where
/// elements lie.
fn is_of_the_loop(expressions: &Expressions, id: ExpressionId) -> bool {
    let (head, operands) = expressions.get(id);
    match head {
        Head::Loop(_) | Head::Argument(_) | Head::Integers | Head::Select => true,
        Head::Slice(_) | Head::Gather { .. } | Head::Reverse | Head::Concatenate | Head::Update => true,
        Head::Compare(Compare::Eq | Compare::Ne) => operands.iter().all(|id| is_leaf(expressions, *id)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_no_part_of_what_a_loop_does() {
        let mut expressions = Expressions::default();
        let add = Combiner::Known(Binary::Add);
        let mut looping = |head: Head| {
            let x = expressions.leaf(Head::Argument(0));
            let body = expressions.apply(head, vec![x]);
            expressions.apply(Head::Loop(0), vec![body])
        };
        let rows = looping(Head::Reduce { by: add, results: 8 });
        let columns = looping(Head::Reduce { by: add, results: 16 });
        let largest = looping(Head::Reduce { by: Combiner::Known(Binary::Maximum), results: 8 });
        assert!(differences(&expressions, [rows, columns]).iter().all(Vec::is_empty));
        assert!(differences(&expressions, [rows, largest]).iter().all(|only| only.len() == 1));
    }
}
