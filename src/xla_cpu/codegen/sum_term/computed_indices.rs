//! Values of a term that are computed from indices alone.

use super::super::along::{Along, changes_with};
use super::Term;
use crate::ir::{Class, Op, ValueId};

/// The dims of a value whose indices, with constants, determine it; `None` if it depends on an array or on an operation
/// that is not followed.
pub type Counted = Option<Vec<usize>>;

impl Term<'_> {
    /// Whether a value is invariant along the dim `from` of the term. Either none of its own dims runs along that dim,
    /// or the value is computed from the indices of dims that do not.
    pub(super) fn is_counted_apart(&mut self, id: ValueId, along: &Along, from: usize) -> bool {
        let dims = self.counted(id);
        let is_counted = |dims: Vec<usize>| dims.iter().all(|dim| !changes_with(&vec![along[*dim].clone()], from));
        !changes_with(along, from) || dims.is_some_and(is_counted)
    }

    fn counted(&mut self, id: ValueId) -> Counted {
        if let Some(known) = self.counted.get(&id) {
            return known.clone();
        }
        let computation = self.computation;
        let instruction = &computation.instructions[id];
        let is_inside = instruction.fusion() == self.fusion;
        let mut of_operand = |at: usize| self.counted(instruction.operands[at]);
        let dims = match &instruction.op {
            Op::Constant(value) if value.len() == 1 => Some(Vec::new()),
            _ if !is_inside => None,
            Op::Iota { dim } => Some(vec![*dim]),
            Op::Broadcast { dims } => of_operand(0).map(|own| own.into_iter().map(|dim| dims[dim]).collect()),
            op if matches!(op.class(), Class::Elementwise | Class::Converts) => {
                let parts: Option<Vec<Vec<usize>>> = (0..instruction.operands.len()).map(of_operand).collect();
                parts.map(|parts| parts.concat())
            }
            _ => None,
        };
        let dims = dims.map(|mut dims| {
            dims.sort_unstable();
            dims.dedup();
            dims
        });
        self.counted.insert(id, dims.clone());
        dims
    }
}
