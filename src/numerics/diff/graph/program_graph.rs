//! A program as a graph of what it computes.

use std::collections::HashMap;

use crate::analysis::Analysis;
use crate::hlo::Import;
use crate::ir::{Computation, Instruction, Op, ValueId};

use super::super::expression::{ExpressionId, Expressions};
use super::graph_builder::{GraphBuilder, Settle};
use super::graph_value::Value;
use super::roles::ArithmeticHabits;

/// A program with what each value of its entry computes.
pub struct Graph<'a> {
    pub import: &'a Import,
    pub analysis: Analysis<'a>,
    pub habits: ArithmeticHabits,
    pub values: Vec<Value>,
    instances: HashMap<ExpressionId, Vec<ValueId>>,
}

impl<'a> Graph<'a> {
    /// A program whose values are not read yet.
    pub fn new(import: &'a Import, habits: ArithmeticHabits) -> Graph<'a> {
        let analysis = Analysis::new(&import.program);
        Graph { import, analysis, habits, values: Vec::new(), instances: HashMap::new() }
    }

    /// Reads the values; `settle` may take each for another expression than its own before others read it.
    pub fn read(&mut self, expressions: &mut Expressions, settle: &mut Settle) {
        self.values = GraphBuilder::new(&self.analysis, self.habits, expressions).values(settle);
        self.instances.clear();
        for (id, value) in self.values.iter().enumerate().filter(|(_, value)| value.live) {
            if let [expression] = value.unsigned[..] {
                self.instances.entry(expression).or_default().push(id);
            }
        }
    }

    /// All values of one array that are an expression, in order.
    pub fn instances(&self, expression: ExpressionId) -> &[ValueId] {
        self.instances.get(&expression).map(Vec::as_slice).unwrap_or_default()
    }

    /// The value by which an expression is known: the first that is made where one is. Constants are known by those who
    /// use them.
    pub fn instance(&self, expression: ExpressionId) -> Option<ValueId> {
        let plain = self.instances(expression).iter().copied().filter(|id| self.values[*id].scalar.is_none());
        plain.min_by_key(|id| (!self.values[*id].is_made(), *id))
    }

    pub fn entry(&self) -> &'a Computation {
        self.import.program.entry()
    }

    /// The instruction that a value is known by: an element of a tuple goes by the tuple's name.
    fn known_by(&self, id: ValueId) -> ValueId {
        let instruction = &self.entry().instructions[id];
        match instruction.op {
            Op::GetTupleElement(_) => instruction.operands[0],
            _ => id,
        }
    }

    /// Index of a value in the tuple that it is taken from; `None` for a value that is no element of a tuple.
    pub fn element(&self, id: ValueId) -> Option<usize> {
        match self.entry().instructions[id].op {
            Op::GetTupleElement(index) => Some(index),
            _ => None,
        }
    }

    /// The name of the file's instruction that a value comes from.
    pub fn name(&self, id: ValueId) -> &'a str {
        &self.import.origins[self.known_by(id)].name
    }

    pub fn op_name(&self, id: ValueId) -> Option<&'a str> {
        self.import.origins.get(self.known_by(id)).and_then(|o| o.op_name.as_deref())
    }

    /// The JAX primitive that a value comes from, as far as its metadata or name say.
    pub fn base_name(&self, id: ValueId) -> &'a str {
        if let Some(op_name) = self.op_name(id) {
            return op_name.rsplit('/').next().unwrap_or(op_name);
        }
        let name = self.name(id).rsplit('/').next().unwrap_or_default();
        name.split('.').next().unwrap_or(name)
    }

    /// Whether an operand is one that an element of a tuple is made of: an index does not depend on what is carried
    /// beside it.
    pub fn feeds(&self, group: ValueId, slot: usize, element: usize) -> bool {
        let instruction = &self.entry().instructions[group];
        match &instruction.op {
            Op::Sort { .. } => slot == element || self.sort_key(instruction) == Some(slot),
            Op::Reduce { .. } => slot == 0 || slot == element,
            _ => true,
        }
    }

    fn sort_key(&self, instruction: &Instruction) -> Option<usize> {
        let region = instruction.op.callees().next()?;
        self.analysis.regions.comparator_but_for_rounding(region).map(|c| c.key)
    }
}
