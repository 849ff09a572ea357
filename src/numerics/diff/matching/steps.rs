//! Steps towards reported values: values without a counterpart that only reported ones read.

use std::collections::BTreeSet;

use crate::ir::ValueId;

use super::super::expression::ExpressionId;
use super::super::graph::Graph;
use super::super::graph::ValueRole;

/// Those of `alone`, the values without a counterpart, that are no steps. A step is read only by other steps, by the
/// values `told`, which are made otherwise than in the other program, or by values that are compared element by element
/// (`is_compared`). The report on these covers their steps.
pub fn without_steps(
    graph: &Graph,
    alone: Vec<ValueId>,
    told: &BTreeSet<ExpressionId>,
    is_compared: &dyn Fn(ValueId) -> bool,
) -> Vec<ValueId> {
    let instructions = &graph.entry().instructions;
    let own: BTreeSet<ExpressionId> = alone.iter().map(|id| graph.values[*id].expression()).collect();
    // What is read by one that is no step, and what is read at all. Readers stand behind what they read.
    let (mut has_other, mut has_reader) = (vec![false; instructions.len()], vec![false; instructions.len()]);
    for (id, instruction) in instructions.iter().enumerate().rev() {
        let value = &graph.values[id];
        if !value.live {
            continue;
        }
        let is_step = match value.role {
            ValueRole::Computes | ValueRole::Moves { .. } if is_compared(id) => true,
            ValueRole::Moves { .. } => has_reader[id] && !has_other[id],
            ValueRole::Computes if told.contains(&value.expression()) => true,
            ValueRole::Computes if own.contains(&value.expression()) => has_reader[id] && !has_other[id],
            _ => false,
        };
        for operand in &instruction.operands {
            has_reader[*operand] = true;
            has_other[*operand] |= !is_step;
        }
    }
    let is_step = |id: &ValueId| has_reader[*id] && !has_other[*id];
    let mut alone = alone;
    alone.retain(|id| !graph.instances(graph.values[*id].expression()).iter().all(is_step));
    alone
}
