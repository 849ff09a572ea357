//! A computation in the making: instructions, each with its place in the file.

use std::collections::HashSet;

use crate::ast::Position;
use crate::ir::{self, Op, Shape, ShapeError, ValueId, infer};
use crate::origin::Origin;

/// A computation in the making.
#[derive(Default)]
pub struct Body {
    pub instructions: Vec<ir::Instruction>,
    pub origins: Vec<Origin>,
    /// Of the entry: the names of its parameters.
    pub argument_names: Vec<String>,
    names: HashSet<String>,
}

impl Body {
    pub fn shape(&self, id: ValueId) -> &Shape {
        &self.instructions[id].shape
    }

    /// Number of products in one sum of a dot; `None` for other values.
    pub fn products(&self, id: ValueId) -> Option<usize> {
        let ir::Instruction { op: Op::Dot { dims, .. }, operands, .. } = &self.instructions[id] else { return None };
        Some(dims.products(self.shape(operands[0]).dims()))
    }

    /// Adds an operation after checking that it fits.
    pub fn push(
        &mut self,
        op: Op,
        operands: Vec<ValueId>,
        given: Option<Shape>,
        computations: &[ir::Computation],
        origin: Origin,
    ) -> std::result::Result<ValueId, ShapeError> {
        let shapes: Vec<&Shape> = operands.iter().map(|o| self.shape(*o)).collect();
        let shape = infer(&op, &shapes, computations, given.as_ref())?;
        let mut unique = origin.name.clone();
        while !self.names.insert(unique.clone()) {
            unique = format!("{}.{}", origin.name, self.names.len());
        }
        self.instructions.push(ir::Instruction::new(unique, op, operands, shape));
        self.origins.push(origin);
        Ok(self.instructions.len() - 1)
    }

    /// Adds the tuple of a computation's results, which no instruction of the file stands for.
    pub fn push_results(
        &mut self,
        results: Vec<ValueId>,
        at: Position,
        computations: &[ir::Computation],
    ) -> std::result::Result<ValueId, ShapeError> {
        let origin = Origin { name: "results".to_string(), at, ..Origin::default() };
        self.push(Op::Tuple, results, None, computations, origin)
    }
}
