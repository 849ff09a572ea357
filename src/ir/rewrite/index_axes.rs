//! Axes that indices go over: gathers and scatters, and the arguments and constants that hold or bound an index.

use std::collections::BTreeSet;

use crate::ir::{Class, GatherDims, Instruction, Op, ScatterDims, ValueId};

use super::axes::Finder;

impl Finder<'_> {
    pub fn gather(&mut self, dims: &GatherDims, instruction: &Instruction, out: &[usize]) {
        let (array, indices) = (self.operand(instruction, 0), self.operand(instruction, 1));
        let mut places = indices.clone();
        if dims.index_vector_dim < places.len() {
            places.remove(dims.index_vector_dim);
        }
        let (offsets, batch): (Vec<usize>, Vec<usize>) = (0..out.len()).partition(|d| dims.offset_dims.contains(d));
        places.iter().zip(batch).for_each(|(from, to)| self.join(*from, out[to]));
        let dropped = |d: &usize| dims.collapsed_slice_dims.contains(d) || dims.operand_batching_dims.contains(d);
        let shown = (0..array.len()).filter(|d| !dropped(d));
        shown.zip(offsets).for_each(|(from, to)| self.join(array[from], out[to]));
        let batching = dims.operand_batching_dims.iter().zip(&dims.start_indices_batching_dims);
        batching.for_each(|(from, to)| self.join(array[*from], indices[*to]));
        if let [dim] = dims.start_index_map[..] {
            self.indices(&instruction.operands[1..2], &[array[dim]]);
        }
    }

    pub fn scatter(&mut self, dims: &ScatterDims, instruction: &Instruction, own: &[Vec<usize>]) {
        let count = instruction.operands.len() / 2;
        let (array, indices) = (self.operand(instruction, 0), self.operand(instruction, count));
        let mut places = indices.clone();
        if dims.index_vector_dim < places.len() {
            places.remove(dims.index_vector_dim);
        }
        for (at, own) in own.iter().enumerate().take(count) {
            let (target, update) = (self.operand(instruction, at), self.operand(instruction, count + 1 + at));
            self.join_each(&array, &target);
            self.join_each(&target, own);
            let (windows, batch): (Vec<usize>, Vec<usize>) =
                (0..update.len()).partition(|d| dims.update_window_dims.contains(d));
            places.iter().zip(batch).for_each(|(from, to)| self.join(*from, update[to]));
            let dropped = |d: &usize| dims.inserted_window_dims.contains(d) || dims.input_batching_dims.contains(d);
            let shown = (0..target.len()).filter(|d| !dropped(d));
            shown.zip(windows).for_each(|(from, to)| self.join(target[from], update[to]));
        }
        let batching = dims.input_batching_dims.iter().zip(&dims.scatter_indices_batching_dims);
        batching.for_each(|(from, to)| self.join(array[*from], indices[*to]));
        if let [dim] = dims.scatter_dims_to_operand_dims[..] {
            self.indices(&instruction.operands[count..=count], &[array[dim]]);
        }
    }

    /// Looks for arguments and constants that are indices into these dims, one value of indices each, or that bound
    /// them. The search covers the values that the indices are computed from element by element, and the values that
    /// those are compared with.
    pub fn indices(&mut self, indices: &[ValueId], dims: &[usize]) {
        let entry = self.program.entry();
        for (start, dim) in indices.iter().zip(dims) {
            let mut made_of = BTreeSet::new();
            self.trace(*start, &mut made_of);
            for id in &made_of {
                if let Op::Parameter(number) = entry.instructions[*id].op {
                    self.index_arguments.push((number, *dim));
                }
            }
            for (id, instruction) in entry.instructions.iter().enumerate() {
                if matches!(instruction.op, Op::Compare { .. })
                    && instruction.operands.iter().any(|operand| made_of.contains(operand))
                {
                    self.trace(id, &mut made_of);
                }
            }
            let extent = self.extents[*dim] as i64;
            for id in made_of {
                let Op::Constant(value) = &entry.instructions[id].op else { continue };
                if !value.dims().is_empty() || !value.dtype().is_integer() || extent <= 2 {
                    continue;
                }
                // A number far below zero is further away than can be told.
                if let Some(less @ 0..=1) = extent.checked_sub(value.data().get_i64(0)) {
                    self.bounds.push((id, *dim, less as usize));
                }
            }
        }
    }

    /// Adds to `made_of` a value and all values that it is computed from, through elementwise operations, conversions,
    /// reshapes, broadcasts and copies.
    fn trace(&self, id: ValueId, made_of: &mut BTreeSet<ValueId>) {
        let entry = self.program.entry();
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            let instruction = &entry.instructions[id];
            let follows = matches!(instruction.op.class(), Class::Elementwise | Class::Converts)
                || matches!(instruction.op, Op::Reshape | Op::Broadcast { .. } | Op::Copy);
            if made_of.insert(id) && follows {
                waiting.extend(&instruction.operands);
            }
        }
    }
}
