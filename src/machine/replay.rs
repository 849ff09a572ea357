//! A program evaluated again and again, with little of it changed each time.

use crate::ir::{Op, ValueId};
use crate::tensor::Tensor;

use super::eval_error::{EvalError, refuse};
use super::mode::Arithmetic;
use super::operand::Operand;
use super::prepared::{Bound, Prepared};
use super::value::Value;

/// All values of a program's entry, for copies that may read one value or another: what does not change is not computed
/// again, and what no result depends on not before one does. The same bits as [`Prepared::evaluate`] of the program in which
/// they read so.
pub struct Replay<'p> {
    prepared: &'p Prepared<'p>,
    mode: &'p Arithmetic,
    /// Value that each copy reads in place of its operand.
    reads: Vec<Option<ValueId>>,
    values: Vec<Option<Operand>>,
    /// Values that are not computed, or of which something that they depend on changed when no result depended on them.
    is_stale: Vec<bool>,
}

impl<'p> Replay<'p> {
    /// Evaluates the program as it stands.
    ///
    /// # Errors
    /// If an operation is not supported for its types.
    pub fn new(prepared: &'p Prepared<'p>, mode: &'p Arithmetic, arguments: &Bound) -> Result<Replay<'p>, EvalError> {
        let count = prepared.program.entry().instructions.len();
        let mut replay =
            Replay { prepared, mode, reads: vec![None; count], values: vec![None; count], is_stale: vec![true; count] };
        for (id, instruction) in prepared.program.entry().instructions.iter().enumerate() {
            if let Op::Parameter(number) = instruction.op {
                replay.values[id] = arguments.argument(number).map(Operand::whole);
                replay.is_stale[id] = false;
            }
        }
        replay.update()?;
        Ok(replay)
    }

    /// Makes a copy read another value, an earlier one of its shape, from the next update on.
    pub fn read(&mut self, copy: ValueId, source: ValueId) {
        self.reads[copy] = Some(source);
        self.is_stale[copy] = true;
    }

    /// Computes what depends on the copies that read something else now; says which values are others than before.
    ///
    /// # Errors
    /// If an operation is not supported for its types.
    pub fn update(&mut self) -> Result<Vec<bool>, EvalError> {
        let program = self.prepared.program;
        let machine = self.prepared.machine(self.mode)?;
        let (entry, frame) = (program.entry(), &machine.frames()[program.entry]);
        let is_needed = self.needed();
        let mut has_changed = vec![false; entry.instructions.len()];
        for (id, instruction) in entry.instructions.iter().enumerate() {
            let read = self.reads[id];
            let operands: &[ValueId] = read.as_ref().map_or(&instruction.operands, std::slice::from_ref);
            let is_listing = id == entry.root && instruction.op == Op::Tuple;
            self.is_stale[id] |= operands.iter().any(|operand| has_changed[*operand] || self.is_stale[*operand]);
            if is_listing || !self.is_stale[id] || !is_needed[id] {
                continue;
            }
            self.is_stale[id] = false;
            let value = if let Some(constant) = &frame.constants[id] {
                Operand::whole(constant.clone())
            } else if let Some(source) = read {
                self.values[source].clone().ok_or_else(|| refuse(instruction, "it reads what is not computed"))?
            } else {
                let operands =
                    instruction.operands.iter().filter_map(|operand| self.values[*operand].clone()).collect();
                let shapes: Vec<_> = instruction.operands.iter().map(|o| &entry.instructions[*o].shape).collect();
                machine.instruction(instruction, &frame.kernels[id], operands, &shapes)?
            };
            let same = self.values[id].as_ref().is_some_and(|before| before.has_bits_of(&value));
            has_changed[id] = !same;
            if !same {
                self.values[id] = Some(value);
            }
        }
        Ok(has_changed)
    }

    /// Whether results depend on each value, as copies read now.
    fn needed(&self) -> Vec<bool> {
        let entry = self.prepared.program.entry();
        let mut is_needed = vec![false; entry.instructions.len()];
        is_needed[entry.root] = true;
        for (id, instruction) in entry.instructions.iter().enumerate().rev() {
            let operands: &[ValueId] = self.reads[id].as_ref().map_or(&instruction.operands, std::slice::from_ref);
            if is_needed[id] {
                operands.iter().for_each(|operand| is_needed[*operand] = true);
            }
        }
        is_needed
    }

    /// The array of a value of the entry on which a result depends.
    ///
    /// # Errors
    /// If the value is no such array.
    pub fn tensor(&self, id: ValueId) -> Result<Tensor, EvalError> {
        let instruction = &self.prepared.program.entry().instructions[id];
        let whole: Option<Value> = self.values[id].clone().map(|value| value.into_whole(instruction.shape.elements()));
        let tensor = whole.and_then(|value| value.into_tensor(instruction.shape.dims()));
        tensor.ok_or_else(|| refuse(instruction, "it is no array that a result depends on"))
    }
}
