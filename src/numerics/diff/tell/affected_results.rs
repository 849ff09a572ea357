//! Results that a reported change can reach: those downstream of its value, in either program.

use std::collections::BTreeSet;

use crate::ir::{ComputationId, Op, ValueId};

use super::super::change::Difference;
use super::super::expression::ExpressionId;
use super::super::graph::Graph;
use super::super::matching::Pair;

/// For each result, whether some told change or value without a counterpart lies upstream of it, in either program. A change
/// whose place is not known, such as a setting of the whole module, is upstream of all.
pub fn reach(pair: &Pair, found: &Difference) -> Vec<bool> {
    let graphs = [&pair.before, &pair.after];
    let told: BTreeSet<&str> = found.machine_changes().map(|change| change.name.as_str()).collect();
    let known = graphs.map(names);
    let understood = found.not_understood.apart.iter().all(Vec::is_empty);
    if !understood || told.iter().any(|name| known.iter().all(|known| !known.contains(name))) {
        return vec![true; pair.before.import.program.outputs().len()];
    }
    // One expression may have several instances, of which a change names the first.
    let mut expressions: BTreeSet<ExpressionId> = BTreeSet::new();
    let mut places = [0, 1].map(|side: usize| -> BTreeSet<ValueId> {
        let unmatched: BTreeSet<&str> = found.unmatched[side].iter().map(String::as_str).collect();
        let is_told = |id: &ValueId| {
            let holds = |names: &BTreeSet<&str>| holds_name(graphs[side], *id, names);
            holds(&told) || holds(&unmatched)
        };
        (0..graphs[side].values.len()).filter(is_told).collect()
    });
    for (graph, places) in graphs.iter().zip(&places) {
        expressions.extend(places.iter().flat_map(|id| &graph.values[*id].unsigned));
    }
    for (graph, places) in graphs.iter().zip(&mut places) {
        places.extend(expressions.iter().flat_map(|id| graph.instances(*id)));
    }
    let below = [0, 1].map(|side: usize| below(graphs[side], &places[side]));
    let outputs = graphs.map(|graph| graph.import.program.outputs());
    let is_reached = |(one, other): (&ValueId, &ValueId)| below[0][*one] || below[1][*other];
    outputs[0].iter().zip(&outputs[1]).map(is_reached).collect()
}

/// The values below some, themselves among them.
fn below(graph: &Graph, places: &BTreeSet<ValueId>) -> Vec<bool> {
    let mut below = vec![false; graph.values.len()];
    for (id, instruction) in graph.entry().instructions.iter().enumerate() {
        let is_element = |element: usize| {
            let group = instruction.operands[0];
            let slots = graph.entry().instructions[group].operands.iter().enumerate();
            let of_slots = slots.filter(|(slot, _)| graph.feeds(group, *slot, element)).any(|(_, id)| below[*id]);
            places.contains(&group) || of_slots
        };
        below[id] = places.contains(&id)
            || match instruction.op {
                Op::GetTupleElement(element) => is_element(element),
                _ => instruction.operands.iter().any(|operand| below[*operand]),
            };
    }
    below
}

/// All names by which a change may be told.
fn names<'a>(graph: &Graph<'a>) -> BTreeSet<&'a str> {
    let inner = graph.import.program.instructions();
    let own = (0..graph.values.len()).map(|id| graph.name(id));
    own.chain(inner.map(|instruction| instruction.name.as_str())).collect()
}

/// Whether a value, or an instruction of a computation that it calls, has one of these names.
fn holds_name(graph: &Graph, id: ValueId, names: &BTreeSet<&str>) -> bool {
    if names.contains(graph.name(id)) {
        return true;
    }
    let computations = &graph.import.program.computations;
    let mut left: Vec<ComputationId> = graph.entry().instructions[id].op.callees().collect();
    let mut seen = BTreeSet::new();
    while let Some(callee) = left.pop() {
        if seen.insert(callee) {
            let instructions = &computations[callee].instructions;
            if instructions.iter().any(|instruction| names.contains(instruction.name.as_str())) {
                return true;
            }
            left.extend(instructions.iter().flat_map(|instruction| instruction.op.callees()));
        }
    }
    false
}
