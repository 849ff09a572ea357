//! Edits between two files that are the same but for a few operations. The expressions leave out integers that no float
//! has part in, the control of loops and the layout of elements. Here each operation is compared with the one in its
//! place.

use std::collections::HashMap;

use crate::analysis::{Equality, Numbering};
use crate::ir::{Instruction, Op, ValueId};

use super::super::expression::Expressions;
use super::super::graph::Graph;

/// An operation that does something else in AFTER.
pub struct Edit {
    /// BEFORE's value.
    pub value: ValueId,
    /// AFTER's value in its place.
    pub other: ValueId,
    /// Whether the expressions see that the two differ, so that another line may report it.
    pub seen: bool,
}

/// All edits; none unless both programs have the same values, by name or in the same order. Compilers compute integers
/// and move elements as they please, so nothing is to be said of other programs.
pub fn find_edits(before: &Graph, after: &Graph, expressions: &Expressions) -> Vec<Edit> {
    let mut numbering = Numbering::new(Equality::ButForRounding);
    let Some(counterparts) = counterparts(before, after, &numbering) else { return Vec::new() };
    let [left, right] = [before, after].map(|graph| numbering.program(graph.analysis.program, &graph.analysis.regions));
    let (own, others) = (&left.values, &right.values);
    let mut edits = Vec::new();
    for (value, other) in counterparts.iter().copied().enumerate().filter(|(id, _)| before.values[*id].live) {
        // Numbers of the two programs are from one numbering: equal numbers are equal values.
        if own[value] == others[other] {
            continue;
        }
        let sides = [&before.entry().instructions[value], &after.entry().instructions[other]];
        // Edits of operands are reported at the operands.
        let in_place = |id: &ValueId| others[counterparts[*id]];
        let normal =
            |graph: &Graph, side: &Instruction, operands| numbering.normal(&side.op, operands, &graph.analysis.regions);
        let (a, of_a) = normal(before, sides[0], sides[0].operands.iter().map(in_place).collect());
        let (b, of_b) = normal(after, sides[1], sides[1].operands.iter().map(|id| others[*id]).collect());
        let both_pass =
            numbering.is_transparent(before.entry(), sides[0]) && numbering.is_transparent(after.entry(), sides[1]);
        let same_region = left.callees(&sides[0].op) == right.callees(&sides[1].op);
        let same_op = both_pass || (same_region && numbering.same_operation(&a, &b));
        if same_op && of_a == of_b {
            continue;
        }
        // What nothing here has a meaning for is named apart.
        if !same_op && [&a, &b].iter().any(|op| matches!(op, Op::Opaque(_))) {
            continue;
        }
        // Top-k are compared by what they select.
        if [&a, &b].iter().all(|op| matches!(op, Op::ApproxTopK(_) | Op::PartialReduce(_))) && of_a == of_b {
            continue;
        }
        // Arithmetic that computes the same up to rounding, which the expressions know.
        let arithmetic = |op: &Op| matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Constant(_));
        if !same_op && before.values[value].float && arithmetic(&a) && arithmetic(&b) {
            continue;
        }
        let of_both = [&before.values[value], &after.values[other]].map(|v| &v.expressions);
        let seen = of_both[0] != of_both[1]
            || expressions.substitutions().any(|(_, stands_as)| of_both[0].contains(&stands_as));
        edits.push(Edit { value, other, seen });
    }
    edits
}

/// AFTER's value for each of BEFORE, if the two programs have the same values.
fn counterparts(before: &Graph, after: &Graph, numbering: &Numbering) -> Option<Vec<ValueId>> {
    let [left, right] = [before, after].map(|graph| &graph.entry().instructions);
    if left.len() != right.len() {
        return None;
    }
    let alike = |ids: &[ValueId]| left.iter().zip(ids).all(|(a, id)| numbering.same_shape(&a.shape, &right[*id].shape));
    let named: HashMap<&str, ValueId> = right.iter().enumerate().map(|(id, b)| (b.name.as_str(), id)).collect();
    let by_name: Option<Vec<ValueId>> = left.iter().map(|a| named.get(a.name.as_str()).copied()).collect();
    // Parameters may be listed in another order.
    let same_parameters = left.iter().zip(right).all(|(a, b)| match (&a.op, &b.op) {
        (Op::Parameter(one), Op::Parameter(other)) => one == other,
        _ => true,
    });
    let in_order = (0..right.len()).collect();
    [by_name.filter(|_| named.len() == right.len()), Some(in_order).filter(|_| same_parameters)]
        .into_iter()
        .flatten()
        .find(|ids| alike(ids))
}
